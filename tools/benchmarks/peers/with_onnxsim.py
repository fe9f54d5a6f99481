"""onnxsim's count of a model that consists of one node."""

from __future__ import annotations

from onnxsim.model_info import _MAC_COUNTERS, ModelInfo

from peers.cases import Case
from peers.with_onnx_tool import model_of


def count(case: Case) -> int | None:
    """Give its multiply-accumulates; nothing where it has no rule, and would say 0."""
    return int(ModelInfo(model_of(case)).macs) if case.op in _MAC_COUNTERS else None
