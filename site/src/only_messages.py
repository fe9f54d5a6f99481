"""onnx, as far as a page has it: its messages.  Whatever needs the rest of it fails with an ImportError."""

from onnx.onnx_ml_pb2 import *  # noqa: F403
