"""The gate: what programs cost now, held against a lock file, a git revision and budgets."""
