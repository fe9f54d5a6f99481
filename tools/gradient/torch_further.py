"""Functions of PyTorch for operators of onnxruntime, and for the rarer ones of ONNX."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as f

Function = Any


def adam(rate: Tensor, t: Tensor, *rest: Tensor, alpha: float = 0.9, beta: float = 0.999,
         epsilon: float = 1e-6, norm_coefficient: float = 0.0, norm_coefficient_post: float = 0.0,
         **_: Any) -> list[Tensor]:  # fmt: skip
    n = len(rest) // 4
    when = t.to(rate.dtype)
    by = torch.where(when > 0, rate * (1 - beta**when).sqrt() / (1 - alpha**when), rate)
    results: list[list[Tensor]] = [[], [], []]
    for x, g, v, h in zip(*(rest[k * n : (k + 1) * n] for k in range(4)), strict=True):
        slope = norm_coefficient * x + g
        mean, square = alpha * v + (1 - alpha) * slope, beta * h + (1 - beta) * slope * slope
        made = (1 - norm_coefficient_post) * (x - by * mean / (square.sqrt() + epsilon))
        for found, one in zip(results, (made, mean, square), strict=True):
            found.append(one)
    return [one for found in results for one in found]


def bias_softmax(x: Tensor, bias: Tensor, axis: int = 1, is_inner_broadcast: int = 1, **_: Any) -> Tensor:
    if not is_inner_broadcast:
        bias = bias.reshape(*bias.shape[:1], *[1] * (x.dim() - bias.dim()), *bias.shape[1:])
    return (x + bias).flatten(axis).softmax(-1).reshape(x.shape)


def bias_split_gelu(x: Tensor, bias: Tensor, **_: Any) -> Tensor:
    a, b = (x + bias).chunk(2, -1)
    return a * f.gelu(b)


def cdist(a: Tensor, b: Tensor, metric: str = "sqeuclidean", **_: Any) -> Tensor:
    square = ((a[:, None] - b[None]) ** 2).sum(-1)
    return square.sqrt() if metric == "euclidean" else square


def complex_product(a: Tensor, b: Tensor, conjugate: bool = False) -> Tensor:
    x, y = (torch.view_as_complex(t.contiguous()) for t in (a, b))
    return torch.view_as_real(x * (y.conj() if conjugate else y))


def fused_matmul(a: Tensor, b: Tensor, alpha: float = 1.0, transA: int = 0, transB: int = 0,  # noqa: N803
                 transBatchA: int = 0, transBatchB: int = 0, **_: Any) -> Tensor:  # noqa: N803  # fmt: skip
    if transBatchA or transBatchB:
        raise NotImplementedError
    return alpha * ((a.mT if transA else a) @ (b.mT if transB else b))


def skip_layer_norm(x: Tensor, skip: Tensor, gamma: Tensor, beta: Tensor | None = None,
                    bias: Tensor | None = None, epsilon: float = 1e-12, **_: Any) -> Tensor:  # fmt: skip
    total = x + skip if bias is None else x + skip + bias
    return f.layer_norm(total, total.shape[-1:], gamma, beta, epsilon)


def skip_rms_norm(x: Tensor, skip: Tensor, gamma: Tensor, bias: Tensor | None = None, epsilon: float = 1e-12,
                  **_: Any) -> Tensor:  # fmt: skip
    total = x + skip if bias is None else x + skip + bias
    return f.rms_norm(total, total.shape[-1:], gamma, epsilon)


def multi_head(q: Tensor, k: Tensor, v: Tensor, *rest: Any, num_heads: int, scale: float | None = None,
               unidirectional: int = 0, **_: Any) -> Tensor:  # fmt: skip
    if any(one is not None for one in rest):
        raise NotImplementedError
    q, k, v = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (q, k, v))
    found = f.scaled_dot_product_attention(q, k, v, is_causal=bool(unidirectional), scale=scale)
    return found.transpose(1, 2).flatten(2)


def group_norm_last(x: Tensor, gamma: Tensor, beta: Tensor, groups: int, activation: int,
                    epsilon: float = 1e-5, channels_last: int = 1, **_: Any) -> Tensor:  # fmt: skip
    first = x.movedim(-1, 1) if channels_last else x
    y = f.group_norm(first, groups, gamma, beta, epsilon)
    y = f.silu(y) if activation else y
    return y.movedim(1, -1) if channels_last else y


def dft(x: Tensor, length: Tensor | None = None, axis: Tensor | None = None, inverse: int = 0,
        onesided: int = 0, **_: Any) -> Tensor:  # fmt: skip
    along = -2 if axis is None else int(axis)
    n = None if length is None else int(length)
    along = along if along >= 0 else along + x.dim()
    if onesided and not inverse and x.shape[-1] == 1:
        return torch.view_as_real(torch.fft.rfft(x[..., 0], n, along))
    if onesided:
        raise NotImplementedError
    z = torch.view_as_complex(x.contiguous()) if x.shape[-1] == 2 else x[..., 0] + 0j
    return torch.view_as_real((torch.fft.ifft if inverse else torch.fft.fft)(z, n, along))


def one_hot(indices: Tensor, depth: Tensor, values: Tensor, axis: int = -1, **_: Any) -> Tensor:
    places = indices.long() % int(depth)
    mask = f.one_hot(places, int(depth)).movedim(-1, axis).bool()
    return torch.where(mask, values[1], values[0])


def dequantize(x: Tensor, scale: Tensor, zero: Tensor | None = None, axis: int = 1, **_: Any) -> Tensor:
    size = [1] * x.dim()
    if scale.dim():
        size[axis] = -1
    moved = x.to(scale.dtype) - (0 if zero is None else zero.reshape(size).to(scale.dtype))
    return moved * scale.reshape(size)


def swiglu(a: Tensor, b: Tensor, alpha: float = 1.0, **_: Any) -> Tensor:
    return a * torch.sigmoid(alpha * a) * b


def max_unpool(x: Tensor, indices: Tensor, shape: Tensor | None = None, kernel_shape: Any = (),
               strides: Any = None, **_: Any) -> Tensor:  # fmt: skip
    if shape is not None or indices.unique().numel() < indices.numel():
        raise NotImplementedError  # what is written twice at a place has no gradient of its own in torch
    return f.max_unpool2d(x, indices, list(kernel_shape), strides)


def total_of(x: Tensor, *rest: Any, **_: Any) -> Tensor:
    return x + sum(one for one in rest if one is not None)


FURTHER: dict[str, Function] = {
    "Adam": adam,
    "BiasAdd": total_of,
    "BiasDropout": lambda x, bias, residual=None, *_, **__: total_of(x, bias, residual),
    "BiasGelu": lambda x, bias, **_: f.gelu(x + bias),
    "BiasSoftmax": bias_softmax,
    "BiasSplitGelu": bias_split_gelu,
    "CDist": cdist,
    "ComplexMul": lambda a, b, **_: complex_product(a, b),
    "ComplexMulConj": lambda a, b, **_: complex_product(a, b, conjugate=True),
    "DequantizeLinear": dequantize,
    "DFT": dft,
    "ExpandDims": lambda x, axis, **_: x.unsqueeze(int(axis)),
    "FastGelu": lambda x, bias=None, **_: f.gelu(x if bias is None else x + bias, approximate="tanh"),
    "FusedMatMul": fused_matmul,
    "GatedAdd": lambda a, b, g, **_: a + g * b,
    "GroupNorm": group_norm_last,
    "Inverse": lambda x, **_: torch.linalg.inv(x),
    "MaxUnpool": max_unpool,
    "MultiHeadAttention": multi_head,
    "OneHot": one_hot,
    "OptionalGetElement": lambda x, **_: x.clone() if isinstance(x, Tensor) else [t.clone() for t in x],
    "QuickGelu": lambda x, alpha=1.702, **_: x * torch.sigmoid(alpha * x),
    "ScaledSiLU": lambda x, alpha=1.0, **_: f.silu(x * alpha),
    "SkipLayerNormalization": skip_layer_norm,
    "SkipSimplifiedLayerNormalization": skip_rms_norm,
    "SwiGLU": swiglu,
    "TransposeMatMul": fused_matmul,
}
"""More of them, by the names of operators."""
