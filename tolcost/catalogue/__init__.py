"""The ONNX side: element types, operator definitions, binding of nodes, conformance."""
