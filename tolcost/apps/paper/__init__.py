"""The paper, reproduced and audited: its tables derived again, and compared with ONNX and other counters."""
