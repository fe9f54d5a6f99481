"""What other tools count for single operators: XLA through jax, and onnx-tool."""
