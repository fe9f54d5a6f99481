"""Modules of PyTorch, by torch's own exporter."""
