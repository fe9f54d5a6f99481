"""Whole ONNX models: reading them, and what they cost in their free dimensions."""
