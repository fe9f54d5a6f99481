"""The referee: checks cost formulas that people typed by hand against definitions that pass ONNX's tests."""
