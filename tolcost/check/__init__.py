"""The gate: current costs of programs, checked against a lock file, a git revision and budgets."""
