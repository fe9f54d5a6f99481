"""Records what PyTorch does in training: values of optimisers, and what autograd keeps for backward.

    python -m tools.gradient.record_training        (needs torch; writes tests/training/torch.json)

``kept`` are the bytes of the storages that autograd saves for a module, without parameters and inputs, as its
hooks show them; ``flops`` is what FlopCounterMode counts forward and backward.  Each module stands beside the
same network as an ONNX graph in text.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional as f
from torch.utils.flop_counter import FlopCounterMode

FILE = Path(__file__).parents[2] / "tests" / "training" / "torch.json"

Run = Callable[..., torch.Tensor]
X = (5, 8)
W, V, B = ("W", (8, 16)), ("V", (16, 4)), ("b", (16,))

MODULES: dict[str, tuple[str, tuple[int, ...], tuple[tuple[str, tuple[int, ...]], ...], Run]] = {
    "linear": ("a = MatMul(x, W) y = Add(a, b)", X, (W, B), lambda x, w, b: f.linear(x, w.T, b)),
    "tanh": (
        "a = MatMul(x, W) h = Tanh(a) y = MatMul(h, V)", X, (W, V),
        lambda x, w, v: torch.tanh(x @ w) @ v,
    ),
    "sigmoid": (
        "a = MatMul(x, W) h = Sigmoid(a) y = MatMul(h, V)", X, (W, V),
        lambda x, w, v: torch.sigmoid(x @ w) @ v,
    ),
    "relu": (
        "a = MatMul(x, W) h = Relu(a) y = MatMul(h, V)", X, (W, V),
        lambda x, w, v: torch.relu(x @ w) @ v,
    ),
    "exp": ("a = MatMul(x, W) y = Exp(a)", X, (W,), lambda x, w: torch.exp(x @ w)),
    "gelu": (
        "a = MatMul(x, W) h = Gelu(a) y = MatMul(h, V)", X, (W, V),
        lambda x, w, v: f.gelu(x @ w) @ v,
    ),
    "softmax": ("a = MatMul(x, W) y = Softmax(a)", X, (W,), lambda x, w: f.softmax(x @ w, -1)),
    "log_softmax": ("a = MatMul(x, W) y = LogSoftmax(a)", X, (W,), lambda x, w: f.log_softmax(x @ w, -1)),
    "layer_norm": (
        "a = MatMul(x, W) y = LayerNormalization(a, s, b)", X, (W, ("s", (16,)), B),
        lambda x, w, s, b: f.layer_norm(x @ w, (16,), s, b),
    ),
    "residual": (
        "a = MatMul(x, W) h = Tanh(a) c = MatMul(h, U) y = Add(c, x)", X, (W, ("U", (16, 8))),
        lambda x, w, u: torch.tanh(x @ w) @ u + x,
    ),
    "product": (
        "a = MatMul(x, W) c = MatMul(x, U) y = Mul(a, c)", X, (W, ("U", (8, 16))),
        lambda x, w, u: (x @ w) * (x @ u),
    ),
    "quotient": (
        "a = MatMul(x, W) c = MatMul(x, U) y = Div(a, c)", X, (W, ("U", (8, 16))),
        lambda x, w, u: (x @ w) / (x @ u),
    ),
    "square_root": (
        "a = MatMul(x, W) h = Exp(a) y = Sqrt(h)", X, (W,), lambda x, w: torch.sqrt(torch.exp(x @ w)),
    ),
    "transposed": (
        "a = MatMul(x, W) t = Transpose <perm = [1, 0]> (a) y = MatMul(a, t)", X, (W,),
        lambda x, w: _gram(x @ w),
    ),
    "reshaped": (
        "a = MatMul(x, W) r = Reshape(a, n) h = Tanh(r) y = MatMul(h, U)", X, (W, ("U", (4, 3))),
        lambda x, w, u: torch.tanh((x @ w).reshape(20, 4)) @ u,
    ),
    "convolution": (
        "c = Conv <pads = [1, 1, 1, 1]> (x, K) h = Tanh(c) y = Conv(h, L)", (2, 3, 6, 6),
        (("K", (4, 3, 3, 3)), ("L", (2, 4, 1, 1))),
        lambda x, k, m: f.conv2d(torch.tanh(f.conv2d(x, k, padding=1)), m),
    ),
    "pointwise": (
        "c = Conv(x, K) d = Conv(c, L) y = Relu(d)", (2, 3, 6, 6), (("K", (4, 3, 1, 1)), ("L", (2, 4, 1, 1))),
        lambda x, k, m: torch.relu(f.conv2d(f.conv2d(x, k), m)),
    ),
    "scores": (
        "q = MatMul(x, W) k = MatMul(x, U) t = Transpose <perm = [1, 0]> (k) s = MatMul(q, t)"
        " p = Softmax(s) v = MatMul(x, Z) y = MatMul(p, v)",
        X, (W, ("U", (8, 16)), ("Z", (8, 4))),
        lambda x, w, u, z: f.softmax((x @ w) @ (x @ u).T, -1) @ (x @ z),
    ),
    "mean": ("a = MatMul(x, W) h = Tanh(a) y = ReduceMean <keepdims = 0> (h)", X, (W,),
             lambda x, w: torch.tanh(x @ w).mean()),
}  # fmt: skip
EXTRA = {"reshaped": [("n", [20, 4])]}
"""Constants of whole numbers."""


def _gram(a: torch.Tensor) -> torch.Tensor:
    return a @ a.T


def kept(run: Run, x: torch.Tensor, parameters: list[torch.Tensor]) -> int:
    """Bytes of the storages that autograd saves, without parameters and inputs."""
    known = {tensor.untyped_storage().data_ptr() for tensor in (x, *parameters)}
    found: dict[int, int] = {}
    alive: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        pointer = tensor.untyped_storage().data_ptr()
        if pointer not in known:
            found[pointer] = tensor.untyped_storage().nbytes()
            alive.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        run(x, *parameters)
    return sum(found.values())


def module(name: str) -> dict[str, Any]:
    text, shape, given, run = MODULES[name]
    torch.manual_seed(0)
    x = torch.rand(shape)
    parameters = [nn.Parameter(torch.rand(size) + 0.5) for _, size in given]
    with FlopCounterMode(display=False) as forward:
        run(x, *parameters)
    with FlopCounterMode(display=False) as both:
        result = run(x, *parameters)
        result.backward(torch.ones_like(result))
    return {
        "text": text,
        "input": list(shape),
        "parameters": [[key, list(size)] for key, size in given],
        "constants": EXTRA.get(name, []),
        "kept": kept(run, x, parameters),
        "forward": forward.get_total_flops(),
        "backward": both.get_total_flops() - forward.get_total_flops(),
    }


OPTIMISERS: dict[str, tuple[Callable[..., torch.optim.Optimizer], dict[str, float]]] = {
    "sgd": (torch.optim.SGD, {"lr": 0.1}),
    "momentum": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
    "adam": (torch.optim.Adam, {"lr": 1e-3}),
    "adamw": (torch.optim.AdamW, {"lr": 1e-3, "weight_decay": 0.01}),
    "adafactor": (torch.optim.Adafactor, {"lr": 1e-2, "weight_decay": 0.0}),
    "muon": (torch.optim.Muon, {"lr": 1.0, "weight_decay": 0.1}),
}


def optimiser(name: str, shape: tuple[int, ...], steps: int = 3) -> dict[str, Any]:
    """Parameters before and after each step, with gradients."""
    torch.manual_seed(1)
    make, options = OPTIMISERS[name]
    start = torch.rand(shape, dtype=torch.float64)
    parameter = nn.Parameter(start.clone())
    made = make([parameter], **options)
    rows = []
    for _ in range(steps):
        gradient = torch.randn(shape, dtype=torch.float64)
        parameter.grad = gradient
        made.step()
        rows.append({"gradient": gradient.tolist(), "after": parameter.detach().tolist()})
    return {"optimiser": name, "start": start.tolist(), "steps": rows}


def main() -> None:
    data = {
        "torch": torch.__version__,
        "modules": {name: module(name) for name in MODULES},
        "optimisers": [
            *(optimiser(name, (4,)) for name in OPTIMISERS if name != "muon"),
            *(optimiser(name, shape) for name in ("adafactor", "muon") for shape in ((3, 4), (5, 2))),
        ],
    }
    FILE.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
