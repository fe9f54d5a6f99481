"""Functions of PyTorch with the inputs and attributes of ONNX's operators, for their table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as f

Function = Callable[..., Any]


def unary(function: Callable[[Tensor], Tensor]) -> Function:
    return lambda x, **_: function(x)


def ints(values: Tensor | Sequence[int] | int) -> list[int]:
    return [int(v) for v in (values.flatten().tolist() if isinstance(values, Tensor) else _listed(values))]


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def axes_of(x: Tensor, axes: Any, rest: Mapping[str, Any]) -> list[int] | None:
    """Return the axes of a reduction: None to reduce nothing."""
    given = [] if axes is None else ints(axes)
    if not given:
        return None if rest.get("noop_with_empty_axes") else list(range(x.dim()))
    return [axis % x.dim() for axis in given]


def reduction(function: Callable[[Tensor, list[int], bool], Tensor]) -> Function:
    def run(x: Tensor, axes: Any = None, keepdims: int = 1, **rest: Any) -> Tensor:
        found = axes_of(x, axes, rest)
        return function(x, [] if found is None else found, bool(keepdims))

    return run


def one_by_one(function: Callable[..., Tensor]) -> Callable[[Tensor, list[int], bool], Tensor]:
    def run(x: Tensor, axes: list[int], keep: bool) -> Tensor:
        for axis in sorted(axes, reverse=True):
            x = function(x, axis, keepdim=keep)
        return x

    return run


def sums(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    return x.sum(axes, keepdim=keep) if axes else x


def folded(function: Callable[[Tensor, Tensor], Tensor]) -> Function:
    def run(*inputs: Tensor, **_: Any) -> Tensor:
        found = inputs[0]
        for one in inputs[1:]:
            found = function(found, one)
        return found

    return run


def softmax(function: Callable[[Tensor, int], Tensor]) -> Function:
    return lambda x, axis=-1, **_: function(x, axis)


def spatial_pads(pads: Sequence[int]) -> list[int]:
    """Begins and ends of ONNX in the order of ``torch.nn.functional.pad``."""
    half = len(pads) // 2
    return [n for d in reversed(range(half)) for n in (pads[d], pads[half + d])]


def conv(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    pads: Any = None,
    strides: Any = 1,
    dilations: Any = 1,
    group: int = 1,
    auto_pad: str = "NOTSET",
    **_: Any,
) -> Tensor:
    run = {3: f.conv1d, 4: f.conv2d, 5: f.conv3d}[x.dim()]
    if auto_pad.startswith("SAME"):
        steps = _listed(strides) * (x.dim() - 2 if isinstance(strides, int) else 1)
        pads_of = []
        for n, k, s in zip(x.shape[2:], w.shape[2:], steps, strict=True):
            all_of = max((math.ceil(n / s) - 1) * s + k - n, 0)
            pads_of.append((all_of // 2, all_of - all_of // 2)[:: 1 if auto_pad == "SAME_UPPER" else -1])
        pads = [p[0] for p in pads_of] + [p[1] for p in pads_of]
    if pads:
        half = len(pads) // 2
        if pads[:half] == pads[half:]:
            return run(x, w, b, strides, pads[:half], dilations, group)
        x = f.pad(x, spatial_pads(pads))
    return run(x, w, b, strides, 0, dilations, group)


def conv_transpose(
    x: Tensor,
    w: Tensor,
    b: Tensor | None = None,
    pads: Any = None,
    strides: Any = 1,
    dilations: Any = 1,
    group: int = 1,
    output_padding: Any = 0,
    **_: Any,
) -> Tensor:
    run = {3: f.conv_transpose1d, 4: f.conv_transpose2d, 5: f.conv_transpose3d}[x.dim()]
    half = list(pads[: len(pads) // 2]) if pads else 0
    return run(x, w, b, strides, half, output_padding, group, dilations)


def max_pool(
    x: Tensor,
    kernel_shape: Any,
    strides: Any = 1,
    pads: Any = None,
    dilations: Any = 1,
    ceil_mode: int = 0,
    **_: Any,
) -> Tensor:
    run = {3: f.max_pool1d, 4: f.max_pool2d, 5: f.max_pool3d}[x.dim()]
    pads = list(pads or [0] * 2 * (x.dim() - 2))
    half = len(pads) // 2
    if pads[:half] != pads[half:]:
        x, pads = f.pad(x, spatial_pads(pads), value=-math.inf), [0] * len(pads)
    return run(x, kernel_shape, strides, pads[:half], dilations, ceil_mode=bool(ceil_mode))


def average_pool(
    x: Tensor,
    kernel_shape: Any,
    strides: Any = 1,
    pads: Any = None,
    ceil_mode: int = 0,
    count_include_pad: int = 0,
    **_: Any,
) -> Tensor:
    run = {3: f.avg_pool1d, 4: f.avg_pool2d, 5: f.avg_pool3d}[x.dim()]
    half = list(pads[: len(pads) // 2]) if pads else 0
    return run(x, kernel_shape, strides, half, bool(ceil_mode), bool(count_include_pad))


def lp_pool(
    x: Tensor, kernel_shape: Any, strides: Any = 1, p: int = 2, ceil_mode: int = 0, **_: Any
) -> Tensor:
    run = {3: f.lp_pool1d, 4: f.lp_pool2d, 5: f.lp_pool3d}[x.dim()]
    first = kernel_shape[0] if x.dim() == 3 else kernel_shape
    return run(x, p, first, strides[0] if x.dim() == 3 and strides != 1 else strides, bool(ceil_mode))


def gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    alpha: float = 1,
    beta: float = 1,
    transA: int = 0,  # noqa: N803
    transB: int = 0,  # noqa: N803
    **_: Any,
) -> Tensor:
    product = alpha * ((a.T if transA else a) @ (b.T if transB else b))
    return product if c is None else product + beta * c


def batch_norm(
    x: Tensor,
    s: Tensor,
    b: Tensor,
    mean: Tensor,
    var: Tensor,
    epsilon: float = 1e-5,
    training_mode: int = 0,
    **_: Any,
) -> Tensor:
    if training_mode:
        return f.batch_norm(x, None, None, s, b, True, 0.0, epsilon)
    size = (1, -1, *[1] * (x.dim() - 2))
    return (x - mean.view(size)) / (var.view(size) + epsilon).sqrt() * s.view(size) + b.view(size)


def layer_norm(
    x: Tensor, s: Tensor, b: Tensor | None = None, axis: int = -1, epsilon: float = 1e-5, **_: Any
) -> Tensor:
    return f.layer_norm(x, x.shape[axis % x.dim() :], s, b, epsilon)


def rms_norm(x: Tensor, s: Tensor, axis: int = -1, epsilon: float = 1e-5, **_: Any) -> Tensor:
    return f.rms_norm(x, x.shape[axis % x.dim() :], s, epsilon)


def mean_variance(x: Tensor, axes: Any = (0, 2, 3), **_: Any) -> Tensor:
    middle = x - x.mean(list(axes), keepdim=True)
    return middle / ((middle * middle).mean(list(axes), keepdim=True).sqrt() + 1e-9)


def lp_normalization(x: Tensor, axis: int = -1, p: int = 2, **_: Any) -> Tensor:
    return f.normalize(x, p, axis, 0.0)


def lrn(x: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, **_: Any) -> Tensor:
    return f.local_response_norm(x, size, alpha, beta, bias)


def loss(function: Callable[..., Tensor]) -> Function:
    def run(
        x: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: str = "mean",
        ignore_index: int | None = None,
        **_: Any,
    ) -> Tensor:
        return function(
            x,
            target,
            weight,
            ignore_index=-100 if ignore_index is None else ignore_index,
            reduction=reduction,
        )

    return run


def split(x: Tensor, sizes: Any = None, axis: int = 0, num_outputs: int | None = None, **_: Any) -> Any:
    if sizes is None:
        return x.split(math.ceil(x.shape[axis] / num_outputs), axis) if num_outputs else x
    return x.split(ints(sizes), axis)


def slice_(x: Tensor, starts: Any, ends: Any, axes: Any = None, steps: Any = None, **_: Any) -> Tensor:
    first, last = ints(starts), ints(ends)
    over = list(range(len(first))) if axes is None else ints(axes)
    by = [1] * len(first) if steps is None else ints(steps)
    for a, b, axis, step in zip(first, last, over, by, strict=True):
        places = list(range(x.shape[axis]))[slice(a, b if b > -(2**31) else None, step)]
        x = x.index_select(axis, torch.tensor(places, dtype=torch.int64))
    return x


def pad(
    x: Tensor, pads: Any, value: Tensor | None = None, axes: Any = None, mode: str = "constant", **_: Any
) -> Tensor:
    given = ints(pads)
    if axes is not None:
        full = [0] * 2 * x.dim()
        for k, axis in enumerate(ints(axes)):
            full[axis % x.dim()] = given[k]
            full[axis % x.dim() + x.dim()] = given[k + len(given) // 2]
        given = full
    if mode == "constant":
        ring = f.pad(torch.zeros_like(x), spatial_pads(given), value=1.0)
        return f.pad(x, spatial_pads(given)) + (0 if value is None else ring * value.reshape(()))
    name = {"edge": "replicate", "reflect": "reflect", "wrap": "circular"}[mode]
    places = spatial_pads(given)
    while places and places[-2:] == [0, 0]:
        places = places[:-2]
    return f.pad(x, places, mode=name)


def counted(indices: Tensor, length: int) -> Tensor:
    """Count indices from 0; the same tensor where all are."""
    return indices % length if bool((indices < 0).any()) else indices


def gather(x: Tensor, indices: Tensor, axis: int = 0, **_: Any) -> Tensor:
    axis %= x.dim()
    places = counted(indices.flatten(), x.shape[axis])
    shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    return x.index_select(axis, places).reshape(shape)


def gather_nd(x: Tensor, indices: Tensor, batch_dims: int = 0, **_: Any) -> Tensor:
    if batch_dims:
        return torch.stack([gather_nd(a, i, batch_dims - 1) for a, i in zip(x, indices, strict=True)])
    return x[tuple(indices.movedim(-1, 0))]


def once(written: Tensor) -> None:
    """Refuse places that are written twice: which one stays is not defined, nor is torch's gradient."""
    if bool((written > 1).any()):
        raise NotImplementedError


def scatter(
    x: Tensor, indices: Tensor, updates: Tensor, axis: int = 0, reduction: str = "none", **_: Any
) -> Tensor:
    places = counted(indices, x.shape[axis])
    if reduction == "none":
        once(torch.zeros(x.shape).scatter_add(axis, places, torch.ones(updates.shape)))
        return x.scatter(axis, places, updates)
    name = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]
    return x.scatter_reduce(axis, places, updates, name)


def scatter_nd(x: Tensor, indices: Tensor, updates: Tensor, reduction: str = "none", **_: Any) -> Tensor:
    if reduction not in ("none", "add"):
        raise NotImplementedError
    places = tuple(indices.movedim(-1, 0))
    if reduction == "none":
        once(torch.zeros(x.shape).index_put(places, torch.ones(updates.shape), accumulate=True))
    return x.index_put(places, updates, accumulate=reduction == "add")


def depth_to_space(x: Tensor, blocksize: int, mode: str = "DCR", **_: Any) -> Tensor:
    if mode == "CRD":
        return f.pixel_shuffle(x, blocksize)
    n, c, h, w = x.shape
    k = blocksize
    parts = x.reshape(n, k, k, c // k**2, h, w).permute(0, 3, 4, 1, 5, 2)
    return parts.reshape(n, c // k**2, h * k, w * k)


def space_to_depth(x: Tensor, blocksize: int, **_: Any) -> Tensor:
    n, c, h, w = x.shape
    k = blocksize
    return (
        x.reshape(n, c, h // k, k, w // k, k).permute(0, 3, 5, 1, 2, 4).reshape(n, c * k * k, h // k, w // k)
    )


def top_k(x: Tensor, k: Tensor, axis: int = -1, largest: int = 1, **_: Any) -> Tensor:
    return x.topk(int(k), axis, bool(largest)).values


def clip(x: Tensor, low: Tensor | None = None, high: Tensor | None = None, **_: Any) -> Tensor:
    return x if low is None and high is None else torch.clamp(x, low, high)


def cumulative(function: Callable[[Tensor, int], Tensor], start: float) -> Function:
    def run(x: Tensor, axis: Tensor, exclusive: int = 0, reverse: int = 0, **_: Any) -> Tensor:
        along = int(axis)
        x = x.flip(along) if reverse else x
        y = function(x, along)
        if exclusive:
            first = torch.full_like(y.narrow(along, 0, 1), start)
            y = torch.cat([first, y.narrow(along, 0, y.shape[along] - 1)], along)
        return y.flip(along) if reverse else y

    return run


def grid_sample(
    x: Tensor,
    grid: Tensor,
    mode: str = "linear",
    padding_mode: str = "zeros",
    align_corners: int = 0,
    **_: Any,
) -> Tensor:
    name = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    return f.grid_sample(x, grid, name, padding_mode, bool(align_corners))


def affine_grid(theta: Tensor, size: Tensor, align_corners: int = 0, **_: Any) -> Tensor:
    return f.affine_grid(theta, ints(size), bool(align_corners))


def resize(
    x: Tensor,
    roi: Any = None,
    scales: Any = None,
    sizes: Any = None,
    mode: str = "nearest",
    coordinate_transformation_mode: str = "half_pixel",
    antialias: int = 0,
    **_: Any,
) -> Tensor:
    corners = coordinate_transformation_mode == "align_corners"
    wanted = ints(sizes)[-2:] if sizes is not None and sizes.numel() else None
    by = None if wanted else [float(s) for s in scales.flatten()[2:]]
    name = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    if mode == "nearest":
        return f.interpolate(x, wanted, by, name)
    return f.interpolate(x, wanted, by, name, corners, antialias=bool(antialias))


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *_: Any,
    scale: float | None = None,
    is_causal: int = 0,
    **rest: Any,
) -> Tensor:
    heads = [rest.get("q_num_heads"), rest.get("kv_num_heads"), rest.get("kv_num_heads")]
    is_flat = q.dim() == 3
    if is_flat:
        q, k, v = (
            x.reshape(*x.shape[:2], h, -1).transpose(1, 2)
            for x, h in zip((q, k, v), heads, strict=True)  # type: ignore[arg-type]
        )
    y = f.scaled_dot_product_attention(
        q, k, v, mask, is_causal=bool(is_causal), scale=scale, enable_gqa=q.shape[1] != k.shape[1]
    )
    return y.transpose(1, 2).flatten(2) if is_flat else y


def recurrent(kind: str) -> Function:
    """Weights of ONNX in the order of torch's gates; one direction, forward, or both."""
    order = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}[kind]

    def gates(w: Tensor) -> Tensor:
        parts = w.chunk(len(order))
        return torch.cat([parts[k] for k in order])

    def run(
        x: Tensor,
        w: Tensor,
        r: Tensor,
        b: Tensor | None = None,
        lens: Any = None,
        h: Tensor | None = None,
        c: Tensor | None = None,
        p: Any = None,
        hidden_size: int = 0,
        layout: int = 0,
        linear_before_reset: int = 0,
        **_: Any,
    ) -> Any:
        if p is not None or layout or len(w) > 1 or (kind == "GRU" and not linear_before_reset):
            raise NotImplementedError
        size = hidden_size or r.shape[-1]
        zeros = torch.zeros(1, x.shape[1], size, dtype=x.dtype)
        bias = torch.zeros(2 * len(order) * size, dtype=x.dtype) if b is None else b[0]
        weights = [gates(w[0]), gates(r[0]), *map(gates, bias.chunk(2))]
        h = zeros if h is None else h
        run_of = {"LSTM": torch.lstm, "GRU": torch.gru, "RNN": torch.rnn_tanh}[kind]
        state = (h, zeros if c is None else c) if kind == "LSTM" else h
        y, *last = run_of(x, state, weights, True, 1, 0.0, False, False, False)
        return (y.unsqueeze(1), *last)

    return run


def einsum(*inputs: Tensor, equation: str, **_: Any) -> Tensor:
    return torch.einsum(equation.replace(" ", ""), *inputs)


def unsqueeze(x: Tensor, axes: Tensor, **_: Any) -> Tensor:
    rank = x.dim() + axes.numel()
    for axis in sorted(a % rank for a in ints(axes)):
        x = x.unsqueeze(axis)
    return x


def squeeze(x: Tensor, axes: Any = None, **_: Any) -> Tensor:
    return x.squeeze() if axes is None else x.squeeze(tuple(ints(axes)))


def reshape(x: Tensor, shape: Tensor, allowzero: int = 0, **_: Any) -> Tensor:
    wanted = ints(shape)
    return x.reshape([x.shape[k] if n == 0 and not allowzero else n for k, n in enumerate(wanted)])


def expand(x: Tensor, shape: Tensor, **_: Any) -> Tensor:
    return x.expand(torch.broadcast_shapes(x.shape, ints(shape)))


def compress(x: Tensor, keep: Tensor, axis: int | None = None, **_: Any) -> Tensor:
    if axis is None:
        x, axis = x.flatten(), 0
    return x.index_select(axis, keep.nonzero().flatten())


def reverse_sequence(x: Tensor, lengths: Tensor, batch_axis: int = 1, time_axis: int = 0, **_: Any) -> Tensor:
    swapped = x if batch_axis == 0 else x.transpose(0, 1)
    rows = [torch.cat([row[:n].flip(0), row[n:]]) for row, n in zip(swapped, ints(lengths), strict=True)]
    made = torch.stack(rows)
    return made if batch_axis == 0 else made.transpose(0, 1)


def trilu(x: Tensor, k: Tensor | None = None, upper: int = 1, **_: Any) -> Tensor:
    return (torch.triu if upper else torch.tril)(x, 0 if k is None else int(k))


def col2im(
    x: Tensor, size: Tensor, block: Tensor, dilations: Any = 1, pads: Any = None, strides: Any = 1, **_: Any
) -> Tensor:
    half = list(pads[: len(pads) // 2]) if pads else 0
    return f.fold(x, ints(size), ints(block), dilations, half, strides)


def rotary(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    ids: Tensor | None = None,
    interleaved: int = 0,
    rotary_embedding_dim: int = 0,
    num_heads: int = 0,
    **_: Any,
) -> Tensor:
    shape = x.shape
    if x.dim() == 3:
        x = x.reshape(x.shape[0], x.shape[1], num_heads, -1).transpose(1, 2)
    size = rotary_embedding_dim or x.shape[-1]
    turned, rest = x[..., :size], x[..., size:]
    c, s = (t if ids is None else t[ids] for t in (cos, sin))
    c, s = c.unsqueeze(1), s.unsqueeze(1)
    a, b = (turned[..., ::2], turned[..., 1::2]) if interleaved else turned.chunk(2, -1)
    parts = (a * c - b * s, b * c + a * s)
    made = torch.stack(parts, -1).flatten(-2) if interleaved else torch.cat(parts, -1)
    found = torch.cat([made, rest], -1)
    return found if len(shape) == 4 else found.transpose(1, 2).reshape(shape)


def group_norm(x: Tensor, s: Tensor, b: Tensor, num_groups: int, epsilon: float = 1e-5, **_: Any) -> Tensor:
    return f.group_norm(x, num_groups, s, b, epsilon)


def pixels(x: Tensor) -> list[int]:
    return list(range(2, x.dim()))
