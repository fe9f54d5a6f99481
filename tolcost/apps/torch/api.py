"""The Python function for costing a module of PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tolcost.api import from_onnx
from tolcost.apps.torch.export import check_opset, exported
from tolcost.result.cost import Cost

if TYPE_CHECKING:
    from torch.nn import Module


def from_torch(
    module: Module,
    args: Sequence[object] = (),
    dynamic_shapes: object = None,
    *,
    kwargs: Mapping[str, object] | None = None,
    dims: Mapping[str, int] | None = None,
    specs: Sequence[str | Path] = (),
    opset: int | None = None,
) -> Cost:
    """Cost a module of PyTorch, as torch's own exporter writes it (the extra ``torch``).

    ``args`` and ``kwargs`` are arguments of ``forward``; ``dynamic_shapes`` states which of their lengths are
    open, in torch's notation.  Without ``opset`` the model is exported for the newest one that torch and onnx
    both know, which keeps attention whole.  Modules on the ``meta`` device have no weights, and need none.

    >>> import torch
    >>> from_torch(torch.nn.Linear(16, 4), (torch.zeros(8, 16),), ({0: "batch"},)).macs
    64*batch
    """
    check_opset(opset)
    raw = exported(module, args, kwargs or {}, dynamic_shapes, opset)
    return from_onnx(raw, dims, specs=specs, name=type(module).__name__)
