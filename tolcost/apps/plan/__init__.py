"""Planning language models: from a configuration to memory, time and tokens per second."""
