"""PyTorch's side of the table: random inputs at a size, and the call on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch.nn.attention import SDPBackend, sdpa_kernel

from .table import Case, Lengths, Shape, formula

BOUNDS = {"positive": (0.5, 2.0), "negative": (-2.0, -0.5), "unit": (-0.9, 0.9), "above one": (1.0, 3.0)}
# ONNX and PyTorch store the gates of a recurrent layer in different orders.
GATES = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}
Tensors = Mapping[str, Any]


def plain_float32() -> None:
    """Compute float32 in float32: no TF32 in the background."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Turn pairs of entries, as models write it."""
    a, b = x.chunk(2, -1)
    c, s = cos[:, None], sin[:, None]
    return torch.cat((a * c - b * s, b * c + a * s), -1)


def attention(backend: str, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False) -> Any:
    """Scaled dot-product attention by one of PyTorch's implementations."""
    if q.device.type == "cpu":
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    with sdpa_kernel(getattr(SDPBackend, backend)):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def recurrent(kind: str, x: torch.Tensor, w: torch.Tensor, r: torch.Tensor) -> Callable[..., torch.Tensor]:
    """A recurrent layer with ONNX's weights, gates put into PyTorch's order."""
    layer = getattr(torch.nn, kind)(x.shape[-1], r.shape[-1], bias=False, device=x.device, dtype=x.dtype)
    with torch.no_grad():
        for target, source in ((layer.weight_ih_l0, w[0]), (layer.weight_hh_l0, r[0])):
            gates = source.chunk(len(GATES[kind]))
            target.copy_(torch.cat([gates[i] for i in GATES[kind]]))
    layer.flatten_parameters()
    return lambda given: layer(given)[0]


HELPERS = {"torch": torch, "F": F, "rotary": rotary, "attention": attention, "recurrent": recurrent}


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, text, "eval")


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of a call of the table, which is part of this program and may be believed."""
    return eval(_compiled(text), {**HELPERS, **names})  # noqa: S307


def bind(case: Case, inputs: Tensors, at: Lengths, device: str) -> Callable[[], Any]:
    """The call on these inputs, ready to be made again and again."""
    names = {**at, **case.attributes(at), **inputs, "device": device}
    if case.prepare:
        names["prepared"] = evaluate(case.prepare, names)
    scope, code = {**HELPERS, **names}, _compiled(case.call)
    return lambda: eval(code, scope)  # noqa: S307


def random_inputs(case: Case, at: Lengths, float_type: str, device: str) -> dict[str, Any]:
    """Inputs of a case, of the values that the table asks for."""

    def one(name: str, shape: Shape) -> torch.Tensor:
        type_ = case.types.get(name, float_type)
        default = "normal" if name not in case.types else "below 2" if type_ == "bool" else "below 100"
        return draw(case.values.get(name, default), shape, at, getattr(torch, type_), device)

    return {
        name: [one(name, part) for part in shape] if isinstance(shape, list) else one(name, shape)
        for name, shape in case.shapes(at).items()
    }


def draw(kind: str, shape: Shape, at: Lengths, type_: torch.dtype, device: str) -> torch.Tensor:
    """Random values of a kind, made where they are needed."""
    if kind.startswith("below "):
        bound = formula(kind.removeprefix("below "), at)
        return torch.randint(0, bound, shape, device=device, dtype=torch.int32).to(type_)
    if kind.endswith("permutation"):
        return torch.rand(shape, device=device).argsort(0 if kind.startswith("column") else -1).to(type_)
    if kind in BOUNDS:
        low, high = BOUNDS[kind]
        return (torch.rand(shape, device=device) * (high - low) + low).to(type_)
    return torch.randn(shape, device=device, dtype=type_)
