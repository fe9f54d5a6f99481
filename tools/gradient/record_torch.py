"""Record gradients of PyTorch for operators of ONNX: ``tests/gradient/torch.json``.

    python tools/gradient/record_torch.py tests/gradient/torch.json

Needs torch and numpy, and nothing of tolcost. Inputs are small, with ties where there is a convention.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional as F  # noqa: N812

RNG = np.random.default_rng(3)


def draw(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).round(3)


def ties(*shape: int) -> np.ndarray:
    return RNG.integers(-1, 2, shape).astype(float)


Case = tuple[str, dict[str, np.ndarray], dict[str, object], Callable[..., torch.Tensor]]
CASES: list[Case] = [
    ("Relu", {"X": ties(4, 5)}, {}, F.relu),
    (
        "Conv",
        {"X": draw(2, 4, 5, 4), "W": draw(6, 2, 3, 2), "B": draw(6)},
        {"group": 2, "strides": [2, 1], "pads": [1, 0, 1, 1], "dilations": [1, 2]},
        lambda x, w, b: F.conv2d(F.pad(x, (0, 1, 1, 1)), w, b, stride=(2, 1), dilation=(1, 2), groups=2),
    ),
    (
        "ConvTranspose",
        {"X": draw(1, 2, 4, 3), "W": draw(2, 3, 3, 2)},
        {"strides": [2, 1]},
        lambda x, w: F.conv_transpose2d(x, w, stride=(2, 1)),
    ),
    (
        "MaxPool",
        {"X": draw(1, 2, 6, 6)},
        {"kernel_shape": [3, 2], "strides": [2, 2]},
        lambda x: F.max_pool2d(x, (3, 2), (2, 2)),
    ),
    (
        "AveragePool",
        {"X": draw(1, 2, 6, 6)},
        {"kernel_shape": [3, 2], "strides": [2, 1]},
        lambda x: F.avg_pool2d(x, (3, 2), (2, 1)),
    ),
    ("Softmax", {"input": draw(4, 5)}, {"axis": 0}, lambda x: x.softmax(0)),
    ("LogSoftmax", {"input": ties(4, 5)}, {}, lambda x: x.log_softmax(-1)),
    ("Gelu", {"X": draw(4, 5)}, {}, F.gelu),
    ("Elu", {"X": draw(4, 5)}, {}, F.elu),
    ("Mish", {"X": draw(4, 5)}, {}, F.mish),
    ("Softplus", {"X": draw(4, 5)}, {}, F.softplus),
    ("Sigmoid", {"X": draw(4, 5)}, {}, torch.sigmoid),
    ("HardSwish", {"X": draw(3, 4) * 3}, {}, F.hardswish),
    ("ReduceMax", {"data": ties(4, 5)}, {"axes": [1]}, lambda x: x.amax(1, keepdim=True)),
    ("ReduceProd", {"data": ties(4, 5)}, {"axes": [1]}, lambda x: x.prod(1, keepdim=True)),
    ("ReduceLogSumExp", {"data": draw(4, 5)}, {"axes": [1]}, lambda x: x.logsumexp(1, keepdim=True)),
    ("ReduceL2", {"data": draw(4, 5)}, {"axes": [1]}, lambda x: x.norm(dim=1, keepdim=True)),
    ("CumSum", {"x": draw(4, 5)}, {"axis": 1}, lambda x: x.cumsum(1)),
    (
        "InstanceNormalization",
        {"input": draw(2, 3, 4, 2), "scale": draw(3), "B": draw(3)},
        {},
        lambda x, s, b: F.instance_norm(x, weight=s, bias=b),
    ),
    ("Gather", {"data": draw(4, 3), "indices": np.array([0, 2, 2, 1, -1])}, {}, lambda x, i: x[i]),
    ("MatMul", {"A": draw(2, 3, 4), "B": draw(4, 5)}, {}, torch.matmul),
    (
        "Gemm",
        {"A": draw(3, 4), "B": draw(5, 4), "C": draw(5)},
        {"transB": 1, "alpha": 0.5, "beta": 2.0},
        lambda a, b, c: 0.5 * (a @ b.T) + 2 * c,
    ),
    ("Pow", {"X": np.abs(draw(3, 4)) + 0.1, "Y": draw(4)}, {}, torch.pow),
]


def record(case: Case) -> dict[str, object]:
    """Return a case with the gradients that torch gives for a random adjoint of its output."""
    name, inputs, attrs, function = case
    tensors = {key: torch.tensor(value) for key, value in inputs.items()}
    real = [key for key, value in inputs.items() if value.dtype.kind == "f"]
    for key in real:
        tensors[key].requires_grad_()
    result = function(*tensors.values())
    adjoint = draw(*result.shape)
    found = torch.autograd.grad(result, [tensors[key] for key in real], torch.tensor(adjoint))
    gradients = {key: g.numpy().round(12).tolist() for key, g in zip(real, found, strict=True)}
    shown = {key: value.tolist() for key, value in inputs.items()}
    return {
        "operator": name,
        "attrs": attrs,
        "inputs": shown,
        "adjoint": adjoint.tolist(),
        "gradients": gradients,
    }


if __name__ == "__main__":
    rows = [json.dumps(record(case)) for case in CASES]
    Path(sys.argv[1]).write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")
