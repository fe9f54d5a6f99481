"""Normalisations, embeddings, and gates of recent networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.generate.contrib.draw import Array, Draw, Trial, cases
from tools.generate.contrib.elementwise import SHORT
from tools.generate.contrib.quantised import BYTES, scale, zero

FEW = (np.float32, np.float32, np.float32, np.float16)


@cases("SkipLayerNormalization")
def skip_layer_norm(d: Draw) -> Trial:
    """What skips may lack the batch."""
    b, s, h = d.int(1, 3), d.int(1, 4), d.int(2, 6)
    t = d.pick(FEW)
    skip = d.floats(*d.pick(((b, s, h), (1, s, h), (s, h))), dtype=t)
    inputs = [d.floats(b, s, h, dtype=t), skip, d.positive(h, dtype=t)]
    more = [d.perhaps(d.floats(h, dtype=t)), d.perhaps(d.floats(h, dtype=t))]
    asked = (True, False, False, True) if d.flip() else (True,)
    return Trial(
        [*inputs, *more], d.attrs(epsilon=0.001), asked=asked, atol=5e-3 if t is np.float16 else 1e-4
    )


@cases("SkipSimplifiedLayerNormalization")
def skip_simplified(d: Draw) -> Trial:
    """Without a mean."""
    shape = [*d.ints(d.int(1, 2), 1, 4), d.int(2, 6)]
    t = d.pick(FEW)
    inputs = [d.floats(*shape, dtype=t), d.floats(*shape, dtype=t), d.positive(shape[-1], dtype=t)]
    asked = (True, False, False, True) if d.flip() else (True,)
    bias = d.perhaps(d.floats(shape[-1], dtype=t))
    return Trial([*inputs, bias], d.attrs(epsilon=0.001), asked=asked, atol=5e-3 if t is np.float16 else 1e-4)


@cases("SimplifiedLayerNormalization")
def simplified(d: Draw) -> Trial:
    """From an axis on."""
    shape = d.ints(d.int(1, 4), 2, 4)
    axis = d.int(-len(shape), -1)
    attrs = {"axis": axis, "stash_type": 1, **d.attrs(epsilon=0.001)}
    asked = (True, True) if d.flip() else (True,)
    return Trial([d.floats(*shape), d.positive(*shape[axis:])], attrs, asked, domain="", opset=17)


def words(d: Draw) -> tuple[int, int, int, list[Array | None]]:
    """Words, segments, a mask and places."""
    b, s, h = d.int(1, 3), d.int(1, 4), d.int(2, 5)
    ids = d.whole(b, s, low=0, high=5, dtype=np.int32)
    segments = d.perhaps(d.whole(b, s, low=0, high=1, dtype=np.int32))
    lengths = d.whole(b, 1, low=1, high=s)
    mask = d.perhaps((np.arange(s) < lengths).astype(np.int32))
    places = d.perhaps(d.whole(d.pick((1, b)), s, low=0, high=4, dtype=np.int32))
    return b, s, h, [ids, segments, mask, places]


@cases("EmbedLayerNormalization")
def embed(d: Draw) -> Trial:
    """With and without segments, masks and places."""
    _, _, h, (ids, segments, mask, places) = words(d)
    tables = [d.floats(6, h), d.floats(5, h), None if segments is None else d.floats(2, h)]
    inputs = [ids, segments, *tables, d.positive(h), d.floats(h), mask, places]
    asked = (True, True, True) if d.flip() else (True, True)
    return Trial(inputs, d.attrs(epsilon=0.001), asked, atol=1e-4)


@cases("QEmbedLayerNormalization")
def quantised_embed(d: Draw) -> Trial:
    """The same from bytes."""
    _, _, h, (ids, segments, mask, _) = words(d)
    t = d.pick(BYTES)
    tables = [d.bytes(6, h, dtype=t), d.bytes(5, h, dtype=t), d.bytes(2, h, dtype=t)]
    scales, zeros = [scale(d) for _ in range(5)], [zero(d, t) for _ in range(5)]
    vectors = [d.bytes(h, dtype=t), d.bytes(h, dtype=t)]
    inputs = [ids, segments, *tables, *vectors, mask, *scales, *zeros]
    if segments is None:
        inputs[4] = inputs[10] = inputs[15] = None
    return Trial(inputs, d.attrs(epsilon=0.001), (True, True), atol=1e-4)


def grouped(x: Array, gamma: Array, beta: Array, attrs: dict[str, Any]) -> Array:
    """Group normalisation with channels second, in double precision."""
    g = attrs["groups"]
    z = x.astype(np.float64).reshape(len(x), g, -1)
    z = (z - z.mean(-1, keepdims=True)) / np.sqrt(z.var(-1, keepdims=True) + attrs.get("epsilon", 1e-5))
    wide = (-1, *[1] * (x.ndim - 2))
    y = z.reshape(x.shape) * gamma.reshape(wide) + beta.reshape(wide)
    return np.asarray(y / (1 + np.exp(-y)) if attrs["activation"] else y)


@cases("GroupNorm", "SkipGroupNorm")
def group_norm(d: Draw) -> Trial:
    """Channels second or last; what skips may be one number by channel.  As documented."""
    n, g, per, h, w = d.int(1, 2), d.int(1, 3), d.int(1, 2), d.int(1, 3), d.int(2, 3)
    c, last = g * per, d.int(0, 1)
    x, gamma, beta = d.floats(n, c, h, w), d.positive(c), d.floats(c)
    attrs = {"groups": g, "activation": d.int(0, 1), "channels_last": last, **d.attrs(epsilon=0.001)}

    def placed(t: Array) -> Array:
        return np.ascontiguousarray(np.moveaxis(t, 1, -1)) if last and t.ndim == 4 else t

    if d.op == "GroupNorm":
        found = placed(grouped(x, gamma, beta, attrs).astype(np.float32))
        return Trial([placed(x), gamma, beta], attrs, stated=[found], atol=1e-4)
    skip = d.floats(*d.pick(((n, c, h, w), (n, c, 1, 1), (n, c))))
    bias = d.perhaps(d.floats(c))
    sum_ = x + skip.reshape(n, c, *(skip.shape[2:] or (1, 1)))
    sum_ = sum_ if bias is None else sum_ + bias.reshape(-1, 1, 1)
    found = grouped(sum_, gamma, beta, attrs).astype(np.float32)
    inputs = [placed(x), gamma, beta, placed(skip), bias]
    return Trial(inputs, attrs, (True, True), stated=[placed(found), placed(sum_)], atol=1e-4)


@cases("BranchwiseRMSNorm")
def branchwise(d: Draw) -> Trial:
    """Branches apart or in the last dimension."""
    batch, c, h = d.ints(d.int(1, 2), 1, 3), d.int(1, 3), d.int(4, 6)
    flat, t = d.flip(), d.pick(SHORT)
    scales = d.perhaps(d.positive(*d.pick(((c * h,), (c, h), (h,)))), 0.7)
    attrs = {"num_branches": c} if flat else {}
    shape = [*batch, c * h] if flat else [*batch, c, h]
    return Trial([d.floats(*shape, dtype=t), scales], attrs | d.attrs(epsilon=0.001), atol=1e-3)


@cases("GatedRMSNorm")
def gated(d: Draw) -> Trial:
    """Groups in the last dimension."""
    c, g, t = d.int(1, 4), d.int(1, 3), d.pick(SHORT)
    shape = [*d.ints(d.int(1, 3), 1, 3), g * c]
    attrs = d.attrs(activation=d.pick(("silu", "swish", "sigmoid")), epsilon=0.001)
    inputs = [d.floats(*shape, dtype=t), d.positive(c, dtype=t), d.floats(*shape, dtype=t)]
    return Trial(inputs, attrs, atol=1e-3)


@cases("EngramGate")
def engram(d: Draw) -> Trial:
    """With and without the normalised result."""
    b, t, m, h = d.int(1, 2), d.int(1, 3), d.int(1, 3), d.int(2, 5)
    both = d.flip()
    inputs = [
        d.floats(b, t, m, h),
        d.floats(b, t, m, h),
        d.floats(b, t, h),
        d.positive(m, h),
        d.positive(m, h),
    ]
    more = [d.positive(m, h)] if both else [None]
    return Trial([*inputs, *more], d.attrs(epsilon=0.001), (True, True) if both else (True,), atol=1e-4)


@cases("HyperConnectionPreMix")
def pre_mix(d: Draw) -> Trial:
    """Gates by stream or by element."""
    batch, c, h = d.ints(d.int(1, 2), 1, 3), d.int(2, 3), d.int(4, 5)
    flat = d.flip()
    kinds = [(c,), (c, 1), (c, h)] + ([(c * h,)] if flat else [])
    attrs = ({"num_branches": c} if flat else {}) | d.attrs(reduction_scale=d.real(0.1, 2))
    shape = [*batch, c * h] if flat else [*batch, c, h]
    return Trial([d.floats(*shape), d.floats(*batch, *d.pick(kinds))], attrs, atol=1e-4)


@cases("HyperConnectionPostMix")
def post_mix(d: Draw) -> Trial:
    """With and without a matrix."""
    batch, c, h = d.ints(d.int(1, 2), 1, 3), d.int(2, 3), d.int(4, 5)
    flat = d.flip()
    gate = d.floats(*batch, *d.pick([(c,), (c, 1), (c, h)]))
    shape = [*batch, c * h] if flat else [*batch, c, h]
    inputs = [d.floats(*shape), d.floats(*batch, h), gate, d.perhaps(d.floats(*batch, c, c))]
    return Trial(inputs, {"num_branches": c} if flat else {}, atol=1e-4)


@cases("LinearAttentionGate")
def linear_gate(d: Draw) -> Trial:
    """With and without an update rate."""
    n, t, h = d.ints(3, 1, 4)
    kind, both = d.pick(SHORT), d.flip()
    inputs = [d.floats(n, t, h, dtype=kind, scale=2), d.floats(h), d.floats(h)]
    more = [d.floats(n, t, h, dtype=kind)] if both else [None]
    return Trial([*inputs, *more], {}, (True, True) if both else (True,), atol=1e-3)


@cases("BiasDropout", "BitmaskDropout", "BitmaskBiasDropout")
def dropout(d: Draw) -> Trial:
    """Not training, nothing is dropped; training with a ratio of 0, neither.  As documented."""
    shape = [*d.ints(d.int(0, 2), 1, 2), 32]
    x, bias = d.floats(*shape), d.floats(*d.pick((shape, shape[-1:])))
    residual = d.perhaps(d.floats(*shape))
    training = d.flip(0.3)
    ratio = np.float32(0) if training else d.perhaps(np.asarray(d.positive(low=0.1, high=0.9)))
    mode = np.array(training) if training else d.perhaps(np.array(False))
    kept = np.ones(shape, np.bool_)
    words = np.full(x.size // 32, 2**32 - 1, np.uint32)
    masks = [words if d.op.startswith("Bitmask") else kept]
    ratio = None if ratio is None else np.asarray(ratio)
    if d.op == "BitmaskDropout":
        return Trial([x, ratio, mode], {}, (True, True), stated=[x, *masks])
    y = x + bias if residual is None else x + bias + residual
    return Trial([x, bias, residual, ratio, mode], {}, (True, True), stated=[y, *masks])
