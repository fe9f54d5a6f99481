"""Rarer operators composed of functions of PyTorch, from the text of ONNX's specification."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as f

from tolcost.catalogue.graph import Graph
from tools.gradient.torch_functions import ints, spatial_pads

Function = Callable[..., Any]


def causal_conv(x: Tensor, w: Tensor, b: Tensor | None = None, past: Tensor | None = None,
                activation: str = "none", **_: Any) -> list[Tensor]:  # fmt: skip
    room = w.shape[-1] - 1
    before = x.new_zeros(*x.shape[:2], room) if past is None else past
    wide = torch.cat([before, x], 2)
    y = f.conv1d(wide, w, b, groups=x.shape[1])
    return [y if activation == "none" else f.silu(y), wide[:, :, wide.shape[2] - room :]]


def center_crop_pad(x: Tensor, shape: Tensor, axes: Any = None, **_: Any) -> Tensor:
    over = list(range(x.dim())) if axes is None else [axis % x.dim() for axis in axes]
    for axis, wanted in zip(over, ints(shape), strict=True):
        n = x.shape[axis]
        if n >= wanted:
            x = x.narrow(axis, (n - wanted) // 2, wanted)
        else:
            pads = [0] * 2 * x.dim()
            first = (wanted - n) // 2
            pads[axis], pads[axis + x.dim()] = first, wanted - n - first
            x = f.pad(x, spatial_pads(pads))
    return x


def deform_conv(x: Tensor, w: Tensor, offset: Tensor, b: Tensor | None = None, mask: Tensor | None = None,
                strides: Any = (1, 1), dilations: Any = (1, 1), pads: Any = (0, 0, 0, 0), group: int = 1,
                offset_group: int = 1, **_: Any) -> Tensor:  # fmt: skip
    (n, c), (tall, wide) = x.shape[:2], w.shape[2:]
    out = offset.shape[2:]
    moves = offset.reshape(n, offset_group, tall, wide, 2, *out)
    masks = None if mask is None else mask.reshape(n, offset_group, 1, tall, wide, *out)
    columns = []
    for g, part in enumerate(x.chunk(offset_group, 1)):
        places = []
        for d, q in enumerate(((tall, 1), (1, wide))):
            start = (torch.arange(out[d]) * strides[d] - pads[d]).reshape([-1, 1] if d == 0 else [1, -1])
            within = (torch.arange(max(q)) * dilations[d]).reshape(*q, 1, 1)
            places.append(moves[:, g, :, :, d] + (start + within))
        taken = torch.stack([_between(*one) for one in zip(part, *places, strict=True)])
        columns.append(taken if masks is None else taken * masks[:, g])
    every = torch.cat(columns, 1).reshape(n, group, c // group, tall, wide, *out)
    kernels = w.reshape(group, -1, c // group, tall, wide)
    y = torch.einsum("ngcuvhw,gmcuv->ngmhw", every, kernels).reshape(n, -1, *out)
    return y if b is None else y + b.reshape(1, -1, 1, 1)


def _between(image: Tensor, *places: Tensor) -> Tensor:
    """Entries of an image [c, h, w] at places between pixels; outside of it all is 0."""
    total = torch.zeros(())
    for near in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight, at, inside = torch.ones(()), [], torch.tensor(True)
        for place, further, size in zip(places, near, image.shape[1:], strict=True):
            base = place.detach().floor()
            part = place - base
            weight = weight * (part if further else 1 - part)
            index = base.long() + further
            inside = inside & (index >= 0) & (index < size)
            at.append(index.clamp(0, size - 1))
        total = total + torch.where(inside, image[:, at[0], at[1]] * weight, 0)
    return total


def linear_attention(q: Tensor, k: Tensor, v: Tensor, past: Tensor | None = None,
                     decay: Tensor | None = None, beta: Tensor | None = None, q_num_heads: int = 0,
                     kv_num_heads: int = 0, scale: float = 0.0, update_rule: str = "gated_delta",
                     **_: Any) -> list[Tensor]:  # fmt: skip
    q, k, v = (x.unflatten(-1, (h, -1)) for x, h in ((q, q_num_heads), (k, kv_num_heads), (v, kv_num_heads)))
    state = k.new_zeros(k.shape[0], kv_num_heads, k.shape[-1], v.shape[-1]) if past is None else past
    by = scale or 1 / math.sqrt(k.shape[-1])
    results = []
    for t in range(q.shape[1]):
        if "gated" in update_rule and decay is not None:
            gate = decay[:, t].unflatten(-1, (kv_num_heads, -1)).exp()
            state = state * gate[..., None]
        written = v[:, t]
        if "delta" in update_rule and beta is not None:
            held = torch.einsum("bhef,bhe->bhf", state, k[:, t])
            written = beta[:, t, :, None] * (written - held)
        state = state + k[:, t, :, :, None] * written[:, :, None]
        shared = state.repeat_interleave(q_num_heads // kv_num_heads, 1)
        results.append(by * torch.einsum("bhef,bhe->bhf", shared, q[:, t]).flatten(1))
    return [torch.stack(results, 1), state]


def max_roi_pool(x: Tensor, rois: Tensor, pooled_shape: Sequence[int], spatial_scale: float = 1.0,
                 **_: Any) -> Tensor:  # fmt: skip
    def bins(first: float, last: float, many: int, most: int) -> list[tuple[int, int]]:
        length = max(last - first + 1, 1) / many
        ends = [(math.floor(b * length), math.ceil((b + 1) * length)) for b in range(many)]
        return [(max(0, int(first) + a), min(most, int(first) + e)) for a, e in ends]

    results = []
    for image, *corners in rois.tolist():
        left, top, right, bottom = (math.floor(v * spatial_scale + 0.5) for v in corners)
        down = bins(top, bottom, pooled_shape[0], x.shape[2])
        across = bins(left, right, pooled_shape[1], x.shape[3])
        one = x[int(image)]
        cells = [
            one[:, a:e, p:r].amax((1, 2)) if a < e and p < r else one.new_zeros(one.shape[0])
            for a, e in down
            for p, r in across
        ]
        results.append(torch.stack(cells, 1).reshape(-1, len(down), len(across)))
    return torch.stack(results)


def roi_align(x: Tensor, rois: Tensor, images: Tensor, mode: str = "avg", output_height: int = 1,
              output_width: int = 1, sampling_ratio: int = 0, spatial_scale: float = 1.0,
              coordinate_transformation_mode: str = "half_pixel", **_: Any) -> Tensor:  # fmt: skip
    half = coordinate_transformation_mode == "half_pixel"

    def line(first: Tensor, last: Tensor, bins: int, size: int) -> tuple[Tensor, Tensor]:
        """Neighbours of the points of each bin, and what they weigh."""
        extent = last - first if half else (last - first).clamp(min=1)
        bin_, start = extent / bins, first - 0.5 if half else first
        many = sampling_ratio or max(math.ceil(float(bin_)), 0)
        within = (torch.arange(many) + 0.5) / max(many, 1)
        v = start + bin_ * (torch.arange(bins)[:, None] + within)
        u = v.clamp(0, size - 1)
        base = u.detach().floor()
        near = ((v >= -1) & (v <= size)).to(x.dtype)
        places = torch.stack([base, (base + 1).clamp(max=size - 1)], -1).long()
        return places, torch.stack([1 - (u - base), u - base], -1) * near[..., None]

    results = []
    for region, image in zip(rois * spatial_scale, images.tolist(), strict=True):
        rows, down = line(region[1], region[3], output_height, x.shape[2])
        columns, across = line(region[0], region[2], output_width, x.shape[3])
        weights = torch.einsum("pyt,qxu->pqytxu", down, across)
        pixels = x[image][:, rows[:, None, :, :, None, None], columns[None, :, None, None]]
        terms = (pixels * weights).flatten(3)
        points = max(rows.shape[1] * columns.shape[1], 1)
        results.append(terms.sum(-1) / points if mode == "avg" else terms.amax(-1))
    return torch.stack(results)


def stft(x: Tensor, step: Tensor, window: Tensor | None = None, length: Tensor | None = None,
         onesided: int = 1, **_: Any) -> Tensor:  # fmt: skip
    many = int(length) if length is not None else x.shape[1] if window is None else window.shape[0]
    x = x[..., None] if x.dim() == 2 else x
    frames = x.unfold(1, many, int(step))
    frames = frames if window is None else frames * window
    if onesided:
        if x.shape[2] != 1:
            raise NotImplementedError
        return torch.view_as_real(torch.fft.rfft(frames[:, :, 0]))
    z = frames[:, :, 0] + 0j if x.shape[2] == 1 else torch.complex(frames[:, :, 0], frames[:, :, 1])
    return torch.view_as_real(torch.fft.fft(z))


def scan_of_sums(start: Tensor, x: Tensor, **_: Any) -> list[Tensor]:
    """The scan of ONNX's test, whose graph adds."""
    return [start + x.sum(0), start + x.cumsum(0)]


def mapped(x: list[Tensor], *others: Any, body: Graph, **_: Any) -> list[Tensor]:
    """A graph on each entry of a sequence: those of ONNX's tests give back, or add, their inputs."""
    columns = [x, *(other if isinstance(other, list) else [other] * len(x) for other in others)]
    if any(node.op == "Add" for node in body.nodes):
        return [a + b for a, b in zip(*columns, strict=True)]
    return [one.clone() for column in columns for one in column]


def split_to_sequence(x: Tensor, sizes: Tensor | None = None, axis: int = 0, keepdims: int = 1,
                      **_: Any) -> list[Tensor]:  # fmt: skip
    if sizes is None:
        parts = x.split(1, axis)
        return [part if keepdims else part.squeeze(axis) for part in parts]
    return list(x.split(ints(sizes) if sizes.dim() else int(sizes), axis))


def tensor_scatter(past: Tensor, update: Tensor, starts: Tensor | None = None, axis: int = -2,
                   mode: str = "linear", **_: Any) -> Tensor:  # fmt: skip
    axis %= past.dim()
    first = [0] * len(past) if starts is None else ints(starts)
    results = []
    for cache, new, start in zip(past, update, first, strict=True):
        places = torch.arange(new.shape[axis - 1]) + start
        places = places % cache.shape[axis - 1] if mode == "circular" else places
        results.append(cache.index_copy(axis - 1, places, new))
    return torch.stack(results)


def sequence_insert(x: list[Tensor], one: Tensor, place: Tensor | None = None, **_: Any) -> list[Tensor]:
    at = len(x) if place is None else int(place) % (len(x) + (int(place) >= 0))
    return [t.clone() for t in (*x[:at], one, *x[at:])]


def sequence_erase(x: list[Tensor], place: Tensor | None = None, **_: Any) -> list[Tensor]:
    at = -1 if place is None else int(place)
    return [t.clone() for k, t in enumerate(x) if k != at % len(x)]


# ---- training ----------------------------------------------------------------------------------


def adagrad(rate: Tensor, t: Tensor, *rest: Tensor, decay_factor: float = 0.0, epsilon: float = 1e-6,
            norm_coefficient: float = 0.0, **_: Any) -> list[Tensor]:  # fmt: skip
    n = len(rest) // 3
    by = rate / (1 + t.to(rate.dtype) * decay_factor)
    made, kept = [], []
    for x, g, h in zip(rest[:n], rest[n : 2 * n], rest[2 * n :], strict=True):
        slope = norm_coefficient * x + g
        total = h + slope * slope
        made.append(x - by * slope / (total.sqrt() + epsilon))
        kept.append(total)
    return made + kept


def momentum(rate: Tensor, t: Tensor, *rest: Tensor, alpha: float, beta: float, mode: str,
             norm_coefficient: float, **_: Any) -> list[Tensor]:  # fmt: skip
    n = len(rest) // 3
    made, kept = [], []
    for x, g, v in zip(rest[:n], rest[n : 2 * n], rest[2 * n :], strict=True):
        slope = norm_coefficient * x + g
        speed = alpha * v + (beta if int(t) > 0 else 1.0) * slope
        made.append(x - rate * (slope + alpha * speed if mode == "nesterov" else speed))
        kept.append(speed)
    return made + kept


# ---- ai.onnx.ml --------------------------------------------------------------------------------


def feature_extractor(x: Tensor, places: Tensor, **_: Any) -> Tensor:
    return (x[None] if x.dim() == 1 else x).index_select(-1, places.flatten())


def scaler(x: Tensor, offset: Any = (0.0,), scale: Any = (1.0,), **_: Any) -> Tensor:
    return (x - torch.tensor(offset, dtype=x.dtype)) * torch.tensor(scale, dtype=x.dtype)


def normalizer(x: Tensor, norm: str = "MAX", **_: Any) -> Tensor:
    size = {
        "MAX": lambda: x.amax(-1, keepdim=True),
        "L1": lambda: x.abs().sum(-1, keepdim=True),
        "L2": lambda: torch.linalg.vector_norm(x, dim=-1, keepdim=True),
    }[norm]()
    return x / torch.where(size == 0, torch.ones_like(size), size)


def linear_regressor(x: Tensor, coefficients: Any, intercepts: Any = None, targets: int = 1,
                     post_transform: str = "NONE", **_: Any) -> Tensor:  # fmt: skip
    if post_transform != "NONE":
        raise NotImplementedError
    weights = torch.tensor(coefficients, dtype=x.dtype).reshape(targets, -1)
    return f.linear(x, weights, None if intercepts is None else torch.tensor(intercepts, dtype=x.dtype))


def svm_regressor(x: Tensor, coefficients: Any, support_vectors: Any = (), kernel_type: str = "LINEAR",
                  kernel_params: Any = (0.0, 0.0, 0.0), rho: Any = (0.0,), n_supports: int = 0,
                  **_: Any) -> Tensor:  # fmt: skip
    gamma, start, degree = kernel_params
    by = torch.tensor(coefficients, dtype=x.dtype)
    if not n_supports:
        return (x @ by + rho[0])[:, None]
    others = torch.tensor(support_vectors, dtype=x.dtype).reshape(n_supports, -1)
    product = x @ others.T
    near = {
        "LINEAR": lambda: product,
        "POLY": lambda: (gamma * product + start) ** degree,
        "RBF": lambda: (-gamma * ((x[:, None] - others) ** 2).sum(-1)).exp(),
        "SIGMOID": lambda: (gamma * product + start).tanh(),
    }[kernel_type]()
    return (near @ by + rho[0])[:, None]


def imputer(x: Tensor, imputed_value_floats: Any, replaced_value_float: float = 0.0, **_: Any) -> Tensor:
    gone = x.isnan() if math.isnan(replaced_value_float) else x == replaced_value_float
    return torch.where(gone, torch.tensor(imputed_value_floats, dtype=x.dtype), x)


def feature_vectorizer(*x: Tensor, inputdimensions: Any = None, **_: Any) -> Tensor:
    rows = [one[None] if one.dim() == 1 else one for one in x]
    sizes = [row.shape[1] for row in rows] if inputdimensions is None else inputdimensions
    return torch.cat([f.pad(row, (0, n - row.shape[1])) for row, n in zip(rows, sizes, strict=True)], 1)


RARER: dict[str, Function] = {
    "Adagrad": adagrad,
    "ArrayFeatureExtractor": feature_extractor,
    "CausalConvWithState": causal_conv,
    "CenterCropPad": center_crop_pad,
    "DeformConv": deform_conv,
    "FeatureVectorizer": feature_vectorizer,
    "Imputer": imputer,
    "LinearAttention": linear_attention,
    "LinearRegressor": linear_regressor,
    "MaxRoiPool": max_roi_pool,
    "Momentum": momentum,
    "Normalizer": normalizer,
    "Optional": lambda x=None, **_: x.clone(),
    "RoiAlign": roi_align,
    "STFT": stft,
    "SVMRegressor": svm_regressor,
    "Scaler": scaler,
    "Scan": scan_of_sums,
    "SequenceConstruct": lambda *x, **_: [one.clone() for one in x],
    "SequenceErase": sequence_erase,
    "SequenceInsert": sequence_insert,
    "SequenceMap": mapped,
    "SplitToSequence": split_to_sequence,
    "TensorScatter": tensor_scatter,
}
"""More of them, by the names of operators."""
