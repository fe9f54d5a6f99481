"""The protobuf messages of ONNX's files.

They are loaded without the rest of onnx, which needs NumPy: reading a model needs neither, and both take
longer to load than most models take to cost.  Protobuf registers each message once, so these are onnx's own.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

__all__ = [
    "AttributeProto",
    "FunctionProto",
    "GraphProto",
    "ModelProto",
    "NodeProto",
    "OperatorSetIdProto",
    "SparseTensorProto",
    "TensorProto",
    "TypeProto",
    "ValueInfoProto",
]

if TYPE_CHECKING:
    from onnx import (
        AttributeProto,
        FunctionProto,
        GraphProto,
        ModelProto,
        NodeProto,
        OperatorSetIdProto,
        SparseTensorProto,
        TensorProto,
        TypeProto,
        ValueInfoProto,
    )


def _messages() -> Any:
    """Load onnx's module of messages alone; use onnx if it is loaded already, or if that fails."""
    if "onnx" not in sys.modules:
        from importlib.util import find_spec, module_from_spec, spec_from_file_location
        from pathlib import Path

        package = find_spec("onnx")
        file = Path(package.origin).with_name("onnx_ml_pb2.py") if package and package.origin else None
        spec = spec_from_file_location("onnx_messages", file) if file and file.is_file() else None
        if spec and spec.loader:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    import onnx

    return onnx


if not TYPE_CHECKING:
    globals().update({name: getattr(_messages(), name) for name in __all__})
