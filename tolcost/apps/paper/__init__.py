"""The paper, reproduced and audited: its tables derived again, held to ONNX and to other counters."""
