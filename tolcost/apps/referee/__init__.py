"""The referee: cost formulas that people typed by hand, held to definitions that pass ONNX's tests."""
