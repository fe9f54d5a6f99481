"""Attention and what belongs to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.generate.contrib.draw import Array, Draw, Trial, cases
from tools.generate.contrib.quantised import scale as byte_scale
from tools.generate.contrib.quantised import weights, zero

INT = np.int32


def mask(d: Draw, b: int, s: int, t: int) -> Array | None:
    """Lengths, a mask for all queries, one for each, or none; the first place always counts."""
    kind = d.int(0, 3)
    if kind == 0:
        return None
    if kind == 1:
        return d.whole(b, low=1, high=t, dtype=INT)
    found = (
        d.whole(b, t, low=0, high=1, dtype=INT) if kind == 2 else d.whole(b, s, t, low=0, high=1, dtype=INT)
    )
    found[..., 0] = 1
    return found


def bias_of(d: Draw, b: int, n: int, s: int, t: int) -> Array | None:
    """What is added to the scores, which broadcasts."""
    return d.perhaps(d.floats(d.pick((1, b)), d.pick((1, n)), s, t), 0.4)


@cases("Attention")
def attention(d: Draw) -> Trial:
    """Masks, biases, states, and values of another length."""
    b, s, n, h, w = d.int(1, 2), d.int(1, 3), d.int(1, 2), d.int(1, 3), d.int(1, 4)
    with_past = d.flip(0.4)
    p = d.int(1, 3) if with_past else 0
    attrs: dict[str, Any] = {"num_heads": n, **d.attrs(unidirectional=d.int(0, 1), scale=d.real(0.2, 1.5))}
    attrs |= d.attrs(mask_filter_value=-100.0)
    v = h
    if not with_past and d.flip(0.4):
        v = d.int(1, 3)
        attrs["qkv_hidden_sizes"] = [n * h, n * h, n * v]
    wide = 2 * n * h + n * v
    past = d.floats(2, b, n, p, h) if with_past else None
    inputs = [d.floats(b, s, w), d.floats(w, wide), d.floats(wide), mask(d, b, s, p + s), past]
    asked = (True, True) if with_past else (True,)
    bias = None if with_past else bias_of(d, b, n, s, s)
    return Trial([*inputs, bias], attrs, asked, atol=1e-4)


@cases("QAttention")
def quantised(d: Draw) -> Trial:
    """Bytes in, real numbers out."""
    b, s, n, h, w = d.int(1, 2), d.int(1, 3), d.int(1, 2), d.int(1, 3), d.int(1, 4)
    p = d.int(1, 3) if d.flip(0.4) else 0
    kind = d.pick((np.int8, np.uint8))
    each = d.flip()
    scale = d.positive(3 * n * h, low=0.005, high=0.02) if each else byte_scale(d, 0.005, 0.02)
    past = d.floats(2, b, n, p, h) if p else None
    lengths = d.perhaps(d.whole(b, low=1, high=s + p, dtype=INT))
    inputs = [
        d.bytes(b, s, w),
        weights(d, kind, w, 3 * n * h),
        d.floats(3 * n * h),
        byte_scale(d, 0.01, 0.02),
        scale,
    ]
    more = [lengths, zero(d, np.uint8), zero(d, kind), past]
    attrs = {"num_heads": n, **d.attrs(unidirectional=d.int(0, 1))}
    return Trial([*inputs, *more], attrs, (True, True) if p else (True,), atol=2e-4)


@cases("MultiHeadAttention")
def multi_head(d: Draw) -> Trial:
    """Keys of another number, heads apart, states, biases, and what is asked for beside the result."""
    b, s, n, h = d.int(1, 2), d.int(1, 3), d.int(1, 2), d.int(1, 3)
    kind = d.pick(("self", "cross", "apart"))
    kv = s if kind == "self" else d.int(1, 4)
    v = h if kind == "apart" else d.int(1, 3)
    p = d.int(1, 3) if kind == "self" and d.flip() else 0
    v = h if p else v
    query = d.floats(b, s, n * h)
    if kind == "apart":
        key, value = d.floats(b, n, kv, h), d.floats(b, n, kv, v)
    else:
        key, value = d.floats(b, kv, n * h), d.floats(b, kv, n * v)
    bias = d.perhaps(d.floats(2 * n * h + n * v)) if kind == "self" else None
    past = [d.floats(b, n, p, h), d.floats(b, n, p, v)] if p else [None, None]
    attrs = {"num_heads": n, **d.attrs(scale=d.real(0.2, 1.5), mask_filter_value=-50.0)}
    attrs |= d.attrs(unidirectional=1) if kind == "self" else {}
    keys = d.perhaps(d.whole(b, p + kv, low=0, high=1, dtype=INT))
    if keys is not None:
        keys[:, 0] = 1
    inputs = [query, key, value, bias, keys, bias_of(d, b, n, s, p + kv), *past]
    asked = (True, True, True) if p else (True,)
    return Trial(inputs, attrs, asked, atol=1e-4)


@cases("DecoderMaskedMultiHeadAttention")
def decoder(d: Draw) -> Trial:
    """One query for each sequence; a buffer of which so many places are used."""
    b, n, h = d.int(1, 2), d.int(1, 2), d.int(1, 3)
    attrs = {"num_heads": n, **d.attrs(scale=d.real(0.2, 1.5))}
    query = d.floats(b, 1, n * h)
    if d.flip(0.3):
        kv = d.int(1, 4)
        key, value = d.floats(b, n, kv, h), d.floats(b, n, kv, h)
        keys = d.perhaps(d.whole(b, kv, low=0, high=1, dtype=INT))
        return Trial([query, key, value, keys], attrs, atol=1e-4)
    m, p = d.int(4, 6), d.int(1, 3)
    beams = d.pick((1, 1, 2))
    b *= beams
    query = d.floats(b, 1, n * h)
    attrs["past_present_share_buffer"] = 1
    new = [d.floats(b, 1, n * h), d.floats(b, 1, n * h)]
    keys = d.perhaps(d.whole(b, p + 1, low=0, high=1, dtype=INT))
    past = [d.floats(b, n, m, h), d.floats(b, n, m, h)]
    more: list[Array | None] = [np.array([p], INT), None, None]
    if beams > 1:
        more[1:] = [np.array([beams], INT), d.whole(b // beams, beams, m, low=0, high=beams - 1, dtype=INT)]
    bias = d.perhaps(d.floats(3 * n * h))
    return Trial([query, *new, keys, None, *past, *more, bias], attrs, (True, True, True), atol=1e-4)


def caches(d: Draw, rows: int, half: int) -> list[Array]:
    """Cosines and sines of angles."""
    angles = d.random.uniform(0, 6, (rows, half))
    return [np.round(f(angles) * 256).astype(np.float32) / np.float32(256) for f in (np.cos, np.sin)]


@cases("GroupQueryAttention")
def group_query(d: Draw) -> Trial:
    """Prompts and later tokens; windows, sinks, caps, rotations."""
    b, kv, g = d.ints(3, 1, 2)
    n, rotary = kv * g, d.flip(0.4)
    h = 16 if rotary else 8
    prompt = d.flip()
    s = d.int(1, 4) if prompt else 1
    p = 0 if prompt else d.int(1, 4)
    total = s + p
    packed = d.flip(0.3)
    query = d.floats(b, s, (n + 2 * kv) * h if packed else n * h)
    key, value = (None, None) if packed else (d.floats(b, s, kv * h), d.floats(b, s, kv * h))
    past: list[Array | None] = [None, None]
    if p:
        room = p if d.flip() else total
        past = [d.floats(b, kv, room, h), d.floats(b, kv, room, h)]
    lengths = np.full((b,), total - 1, INT)
    tables = caches(d, 10, h // 2) if rotary else [None, None]
    attrs: dict[str, Any] = {"num_heads": n, "kv_num_heads": kv, "do_rotary": int(rotary)}
    attrs |= d.attrs(
        scale=d.real(0.05, 0.5), local_window_size=d.pick((None, 2)), softcap=d.pick((None, 5.0))
    )
    attrs |= {"rotary_interleaved": 1} if rotary and d.flip() else {}
    sink = d.perhaps(d.floats(n), 0.3)
    attrs |= {"smooth_softmax": 1} if sink is None and d.flip(0.3) else {}
    bias = bias_of(d, b, n, s, total)
    inputs = [query, key, value, *past, lengths, np.array(total, INT), *tables, None, bias, sink]
    return Trial(inputs, attrs, (True, True, True), atol=2e-4)


@cases("RotaryEmbedding")
def rotary(d: Draw) -> Trial:
    """Heads packed and apart, one place or one for each entry, a part of each head."""
    b, s, n, h = d.int(1, 2), d.int(1, 3), d.int(1, 2), 2 * d.int(1, 3)
    part = d.flip(0.3) and h > 2
    pairs = (h - 2) // 2 if part else h // 2
    attrs: dict[str, Any] = d.attrs(interleaved=d.int(0, 1))
    apart = d.flip()
    if part:
        attrs |= {"rotary_embedding_dim": 2 * pairs, "num_heads": n}
    x = d.floats(b, n, s, h) if apart else d.floats(b, s, n * h)
    places = d.whole(*d.pick(((b, s), (1,))), low=0, high=3)
    return Trial([x, places, *caches(d, 8, pairs)], attrs, atol=1e-4)


@cases("MRotaryEmbedding")
def three_ways(d: Draw) -> Trial:
    """Sections one after another, and interleaved."""
    b, s, n = d.int(1, 2), d.int(1, 3), d.int(1, 2)
    layout = d.int(0, 1)
    if layout:
        k = d.int(1, 2)
        section = [k + d.int(0, 1), k, k]
    else:
        section = d.ints(3, 1, 2)
    pairs = sum(section)
    x = d.floats(b, n, s, 2 * pairs) if d.flip() else d.floats(b, s, n * 2 * pairs)
    attrs = {
        "mrope_section": section,
        "mrope_layout": layout,
        "num_heads": n,
        **d.attrs(interleaved=d.int(0, 1)),
    }
    places = d.whole(3, b, s, low=0, high=7)
    return Trial([x, places, *caches(d, 8, pairs)], attrs, atol=1e-4)


@cases("GemmaRotaryEmbedding")
def gemma(d: Draw) -> Trial:
    """As documented, in short floats."""
    b, h, s, e = d.ints(4, 1, 3)
    emb = d.floats(b, s, e)
    q, r, k, m = (d.floats(b, h, s, e, dtype=np.float16) for _ in range(4))
    cos, sin = (f(emb).astype(np.float16)[:, None] for f in (np.cos, np.sin))
    return Trial(
        [emb, q, r, k, m], {}, (True, True), stated=[q * cos + r * sin, k * cos + m * sin], atol=5e-3
    )


@cases("LinearAttention")
def linear(d: Draw) -> Trial:
    """All four rules; heads in groups."""
    b, t, n, x, y = d.int(1, 2), d.int(1, 3), d.int(1, 2), d.int(2, 3), d.int(1, 3)
    rule = d.pick(("linear", "gated", "delta", "gated_delta"))
    groups = d.int(1, 2)
    inputs: list[Array | None] = [
        d.floats(b, t, groups * n * x),
        d.floats(b, t, n * x),
        d.floats(b, t, n * y),
    ]
    state = d.perhaps(d.floats(b, n, x, y))
    decay = beta = None
    if "gated" in rule:
        decay = -np.abs(d.floats(b, t, n * x if d.flip() else n))
    if "delta" in rule:
        beta = d.positive(b, t, n if d.flip() else 1, low=0.1, high=0.9)
    attrs = {
        "kv_num_heads": n,
        "q_num_heads": groups * n,
        "update_rule": rule,
        **d.attrs(scale=d.real(0.2, 1)),
    }
    return Trial([*inputs, state, decay, beta], attrs, (True, True), atol=2e-4)
