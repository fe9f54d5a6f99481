"""ONNX beside ToLang: element types, operator definitions, binding of nodes, conformance."""
