"""Whole ONNX models: reading them, and their costs in terms of their free dimensions."""
