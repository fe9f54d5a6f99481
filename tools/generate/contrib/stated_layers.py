"""Layers without a kernel for a plain processor: results as onnxruntime's documentation states them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np

from tools.generate.contrib.draw import Array, Draw, Trial, cases
from tools.generate.contrib.stated import normal_share, softmaxed


def sequences(d: Draw) -> tuple[int, int, Array, Array, Array]:
    """How many sequences of how many places; their lengths, where they begin and end, and their places."""
    b, s = d.int(1, 3), d.int(1, 4)
    lengths = d.whole(b, low=1, high=s, dtype=np.int32)
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    used = (np.arange(s) < lengths[:, None]).ravel()
    places = np.concatenate([np.flatnonzero(used), np.flatnonzero(~used)]).astype(np.int32).reshape(b, s)
    return b, s, lengths, ends, places


def within(
    q: Array, k: Array, v: Array, n: int, ends: Array, bias: Array | None, scale: float | None
) -> Array:
    """Attention within each sequence."""
    found = np.zeros((len(q), v.shape[1]))
    h, w = q.shape[1] // n, v.shape[1] // n
    factor = scale or 1 / np.sqrt(h)
    for b, (low, high) in enumerate(pairwise(ends)):
        for x in range(n):
            of, at = slice(x * h, (x + 1) * h), slice(x * w, (x + 1) * w)
            product = q[low:high, of] @ k[low:high, of].T * factor
            if bias is not None:
                rows = bias[b % len(bias), x % bias.shape[1]]
                product = product + rows[: high - low, : high - low]
            found[low:high, at] = softmaxed(product, (-1,)) @ v[low:high, at]
    return found


@cases("PackedMultiHeadAttention", "PackedAttention")
def packed_attention(d: Draw) -> Trial:
    """Sequences one after another; tensors apart, or packed into one."""
    b, s, _, ends, places = sequences(d)
    t, n, h = int(ends[-1]), d.int(1, 2), d.int(1, 3)
    attrs: dict[str, Any] = {"num_heads": n, **d.attrs(scale=d.real(0.2, 1.5))}
    scores = d.perhaps(d.floats(d.pick((1, b)), d.pick((1, n)), s, s))
    scale = attrs.get("scale")
    if d.op == "PackedAttention":
        width = d.int(1, 4)
        x, w, bias = d.floats(t, width), d.floats(width, 3 * n * h), d.floats(3 * n * h)
        q, k, v = np.split(x.astype(np.float64) @ w + bias, 3, -1)
        found = within(q, k, v, n, ends, scores, scale)
        return Trial([x, w, bias, places, ends, scores], attrs, stated=[found.astype(np.float32)], atol=1e-4)
    bias = d.perhaps(d.floats(3 * n * h))
    sides = [d.floats(t, n * h) for _ in range(3)]
    plus = np.zeros((3, n * h)) if bias is None else bias.reshape(3, -1)
    q, k, v = (x + p for x, p in zip(sides, plus, strict=True))
    found = within(q, k, v, n, ends, scores, scale)
    given: list[Array | None] = [*sides]
    if d.flip(0.3):
        given = [np.stack([x.reshape(t, n, h) for x in sides], 2), None, None]
    inputs = [*given, bias, places, ends, scores]
    return Trial(inputs, attrs, stated=[found.astype(np.float32)], atol=1e-4)


@cases("RestorePadding", "RemovePadding")
def padding(d: Draw) -> Trial:
    """There and back."""
    b, s, lengths, ends, places = sequences(d)
    t, h = int(ends[-1]), d.int(1, 3)
    if d.op == "RestorePadding":
        x = d.floats(t, h)
        full = np.zeros((b * s, h), np.float32)
        full[places.ravel()[:t]] = x
        return Trial([x, places], stated=[full.reshape(b, s, h)])
    x = d.floats(b, s, h)
    rows = x.reshape(b * s, h)[places.ravel()[:t]]
    longest = np.array([lengths.max()], np.int32)
    return Trial([x, lengths], {}, (True,) * 4, stated=[rows, places, ends, longest])


@cases("RelativePositionBias")
def relative(d: Draw) -> Trial:
    """Buckets as T5 has them."""
    n, h, length = 2 * d.int(2, 8), d.int(1, 3), d.int(1, 8)
    both, most = d.int(0, 1), d.pick((8, 16, 128))
    table = d.floats(n, h)
    gap = np.arange(length)[None, :] - np.arange(length)[:, None]
    side = n // 2 if both else n
    start = np.where(gap > 0, side, 0) if both else np.zeros_like(gap)
    away = np.abs(gap) if both else np.maximum(-gap, 0)
    near = side // 2
    far = near + np.floor(np.log(np.maximum(away, 1) / near) / np.log(most / near) * (side - near) + 1e-9)
    rows = (start + np.where(away < near, away, np.minimum(far, side - 1))).astype(int)
    found = np.ascontiguousarray(np.moveaxis(table[rows], -1, 0))[None]
    size = np.array([length], np.int64)
    return Trial([table, size, size], {"is_bidirectional": both, "max_distance": most}, stated=[found])


@cases("GatedRelativePositionBias")
def gated(d: Draw) -> Trial:
    """Gates of each query."""
    b, s, n, e, half = d.int(1, 2), d.int(1, 3), d.int(1, 2), d.int(1, 3), d.int(1, 2)
    x, shift, rel = d.floats(b, s, n * e), d.floats(n * e), d.floats(1, n, s, s)
    w, bias, a = d.floats(e, 2 * half), d.floats(2 * half), d.floats(1, n, 1, 1)
    q = (x + shift).astype(np.float64).reshape(b, s, n, e).transpose(0, 2, 1, 3)
    gates = 1 / (1 + np.exp(-(q @ w + bias).reshape(b, n, s, 2, half).sum(-1)))
    found = (gates[..., 0] * (gates[..., 1] * a[..., 0] - 1) + 2)[..., None] * rel
    inputs = [x, shift, rel, w, bias, a]
    return Trial(inputs, {"num_heads": n}, stated=[found.astype(np.float32)], atol=1e-4)


def unpacked(data: Array, bits: int) -> Array:
    """The integers in bytes, the first in the lowest bits."""
    per = 8 // bits
    return np.stack([(data >> (bits * k)) & (2**bits - 1) for k in range(per)], -1).reshape(
        *data.shape[:-1], -1
    )


def weights(d: Draw, n: int, k: int, block: int) -> tuple[Array, Array, Array]:
    """Packed weights of 4 bits, their scales, and what they stand for."""
    blocks = -(-k // block)
    data, scales = d.bytes(n, blocks, block // 2), d.positive(n, blocks, low=0.01, high=0.05)
    real = (unpacked(data.reshape(n, -1), 4).astype(np.float64) - 8) * np.repeat(scales, block, -1)
    return data, scales, real[:, :k]


@cases("MatMulNBitsMlp", "MatMulNBitsQkv")
def fused_nbits(d: Draw) -> Trial:
    """Layers on one input, which may be normalised."""
    k, n, m, block = d.int(1, 40), d.int(1, 3), d.int(1, 3), 16
    x = d.floats(d.int(1, 2), d.int(1, 3), k)
    mlp = d.op == "MatMulNBitsMlp"
    norm = d.positive(k) if not mlp or d.flip() else None
    skip = d.perhaps(d.floats(*x.shape)) if norm is not None else None
    total = x if skip is None else x + skip
    ready = total.astype(np.float64)
    epsilon = 1e-5 if mlp else 1e-6
    if norm is not None:
        ready = ready / np.sqrt((ready**2).mean(-1, keepdims=True) + epsilon) * norm
    inputs: list[Array | None] = [x, skip, norm]
    results = []
    for rows in (n, n) if mlp else (n, m, m):
        data, scales, real = weights(d, rows, k, block)
        bias = d.perhaps(d.floats(rows))
        inputs += [data, scales, bias]
        results.append(ready @ real.T + (0 if bias is None else bias))
    sums = [total] if skip is not None else []
    attrs: dict[str, Any] = {"K": k, "block_size": block, "bits": 4}
    if mlp:
        attrs |= {"N": n, "activation": "silu"}
        results = [results[0] / (1 + np.exp(-results[0])) * results[1]]
    else:
        attrs |= {"Nq": n, "Nkv": m}
    found = [r.astype(np.float32) for r in results] + sums
    return Trial(inputs, attrs, (True,) * len(found), stated=found, atol=1e-3)


@cases("QOrderedGelu", "QOrderedLayerNormalization")
def ordered(d: Draw) -> Trial:
    """Bytes in rows."""
    shape = [*d.ints(d.int(1, 2), 1, 3), d.int(2, 5)]
    x, s, u = d.bytes(*shape, dtype=np.int8), d.positive(low=0.01, high=0.05), d.positive(low=0.01, high=0.05)
    real = (x.astype(np.float32) * s).astype(np.float64)
    if d.op == "QOrderedGelu":
        y, inputs = normal_share(real), [x, s, u]
    else:
        scale, bias = d.positive(shape[-1]), d.perhaps(d.floats(shape[-1]))
        y = (real - real.mean(-1, keepdims=True)) / np.sqrt(real.var(-1, keepdims=True) + 1e-5) * scale
        y, inputs = y + (0 if bias is None else bias), [x, s, scale, bias, u]
    found = np.clip(np.round(y / float(u)), -128, 127).astype(np.int8)
    return Trial(inputs, {"order_X": 1, "order_Y": 1}, stated=[found])


@cases("MatMulBlockQuantizedFp8Weight")
def fp8_weights(d: Draw) -> Trial:
    """Blocks of 16; A as it is, or short."""
    n, k, block = d.int(1, 3), d.int(1, 40), 16
    blocks = -(-k // block)
    short = ml_dtypes.float8_e4m3fn
    a, b = d.floats(d.int(1, 3), k, dtype=np.float16), d.floats(n, k).astype(short)
    scales, s = d.positive(n, blocks, low=0.1, high=1), d.perhaps(d.positive(low=0.1, high=1))
    bias = d.perhaps(d.floats(n, dtype=np.float16))
    wide = a.astype(np.float32)
    if s is not None:
        wide = np.clip(wide / s, -448, 448).astype(short).astype(np.float32) * s
    real = b.astype(np.float32) * np.repeat(scales, block, -1)[:, :k]
    y = wide.astype(np.float64) @ real.T + (0 if bias is None else bias.astype(np.float64))
    inputs = [a, b, scales, s, bias]
    return Trial(inputs, {"block_size": block}, stated=[y.astype(np.float16)], atol=2e-2)


@cases("MatMulBlockQuantizedFp4Weight")
def fp4_weights(d: Draw) -> Trial:
    """Two numbers in a byte."""
    n, k, block = d.int(1, 3), 2 * d.int(1, 20), 16
    blocks = -(-k // block)
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
    a, b = d.floats(d.int(1, 3), k, dtype=np.float16), d.bytes(n, k // 2)
    scales = d.positive(n, blocks, low=0.1, high=1).astype(ml_dtypes.float8_e4m3fn)
    whole, bias = d.positive(low=0.1, high=1), d.perhaps(d.floats(n, dtype=np.float16))
    real = table[unpacked(b, 4)] * np.repeat(scales.astype(np.float64) * float(whole), block, -1)[:, :k]
    y = a.astype(np.float64) @ real.astype(np.float16).astype(np.float64).T
    y = y if bias is None else y + bias
    inputs = [a, b, scales.view(np.uint8), whole, None, bias]
    return Trial(inputs, {"block_size": block}, stated=[y.astype(np.float16)], atol=3e-2)
