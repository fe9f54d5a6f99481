"""Experts, images, words, and other operators of their own kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.generate.contrib.draw import Array, Draw, Trial, cases


def expert_sizes(d: Draw) -> tuple[int, int, int, int, int]:
    """Tokens, features, inner features, experts, and how many of them each token meets."""
    experts = d.int(2, 4)
    return d.int(1, 4), d.int(2, 4), d.int(2, 4), experts, d.int(1, experts)


def gate(d: Draw) -> dict[str, Any]:
    """An activation and its parameters."""
    kind = d.pick(("relu", "gelu", "silu", "identity", "swiglu"))
    attrs: dict[str, Any] = {"activation_type": kind}
    if kind == "swiglu":
        attrs |= {"swiglu_fusion": 1, **d.attrs(activation_alpha=1.5, activation_beta=1.0, swiglu_limit=0.75)}
    return attrs


@cases("MoE")
def experts(d: Draw) -> Trial:
    """Activations, biases, normalised weights."""
    t, h, n, e, k = expert_sizes(d)
    attrs = {"k": k, **gate(d), **d.attrs(normalize_routing_weights=d.int(0, 1))}
    wide = 2 * n if attrs["activation_type"] == "swiglu" else n
    x = d.floats(t, h) if d.flip() else d.floats(1, t, h)
    inputs = [
        x,
        d.floats(t, e, scale=2),
        d.floats(e, wide, h),
        d.perhaps(d.floats(e, wide)),
        d.floats(e, h, n),
    ]
    return Trial([*inputs, d.perhaps(d.floats(e, h))], attrs, atol=1e-4)


@cases("QMoE")
def packed_experts(d: Draw) -> Trial:
    """Weights of 4 and 8 bits by row, of 4 by block."""
    t, e, k = d.int(1, 3), 2, d.int(1, 2)
    blocks = d.flip()  # in blocks, 8 bits are multiplied with activations of 8 bits: other numbers
    bits = 4 if blocks else d.pick((4, 8))
    h = n = 32 if blocks else d.pick((4, 8))
    attrs: dict[str, Any] = {"k": k, "expert_weight_bits": bits, **gate(d)}
    attrs |= {"block_size": 16} if blocks else {}
    wide = 2 * n if attrs["activation_type"] == "swiglu" else n
    inputs: list[Array | None] = [d.floats(t, h), d.floats(t, e, scale=2)]
    for rows, columns in ((wide, h), (h, n)):
        scales = d.positive(e, rows, columns // 16, low=0.01, high=0.05) if blocks else None
        scales = d.positive(e, rows, low=0.01, high=0.05) if scales is None else scales
        inputs += [d.bytes(e, rows, columns * bits // 8), scales, d.perhaps(d.floats(e, rows))]
    attrs |= d.attrs(normalize_routing_weights=d.int(0, 1))
    inputs += [None] * 6 + [d.perhaps(d.positive(t, e))]
    return Trial(inputs, attrs, constant=(2, 3, 5, 6), atol=1e-3, rtol=1e-3)


@cases("CropAndResize")
def crop(d: Draw) -> Trial:
    """Parts that may reach outside; single rows and columns."""
    n, c, h, w = d.int(1, 2), d.int(1, 2), d.int(2, 5), d.int(2, 5)
    r = d.int(1, 3)
    rois = (np.round(d.random.uniform(-0.2, 1.2, (r, 4)) * 64) / 64).astype(np.float32)
    size = np.array(d.ints(2, 1, 4), np.int32)
    attrs = d.attrs(mode=d.pick(("bilinear", "nearest")), extrapolation_value=d.real(-1, 1))
    at = d.whole(r, low=0, high=n - 1, dtype=np.int32)
    return Trial([d.floats(n, c, h, w), rois, at, size], attrs, atol=1e-3)


@cases("ConvTransposeWithDynamicPads")
def transposed(d: Draw) -> Trial:
    """What is cut off is given, or not."""
    rank = 2
    group, per, m = d.int(1, 2), d.int(1, 2), d.int(1, 2)
    kernel = d.ints(rank, 2, 3)
    x, w = d.floats(d.int(1, 2), group * per, *d.ints(rank, 2, 4)), d.floats(group * per, m, *kernel)
    pads = np.array(d.ints(2 * rank, 0, 1), np.int64)
    attrs = {"group": group, **d.attrs(strides=d.ints(rank, 1, 2), dilations=d.ints(rank, 1, 2))}
    return Trial([x, w, pads, d.perhaps(d.floats(group * m))], attrs, atol=1e-4)


@cases("MaxpoolWithMask")
def masked_pool(d: Draw) -> Trial:
    """One and two dimensions, one mask for all."""
    rank = d.int(1, 2)
    lengths, kernel = d.ints(rank, 3, 5), d.ints(rank, 1, 3)
    n, c = d.ints(2, 1, 2)
    mask = (d.random.random((1, 1, *lengths)) < 0.8).astype(np.int32)
    attrs = {"kernel_shape": kernel, **d.attrs(strides=d.ints(rank, 1, 2))}
    return Trial([d.floats(n, c, *lengths), mask], attrs)


@cases("MurmurHash3")
def murmur(d: Draw) -> Trial:
    """Elements of 4 and 8 bytes."""
    dtype = d.pick((np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64))
    shape = d.ints(d.int(1, 2), 1, 4)
    x = d.whole(*shape, low=0, high=10**6, dtype=dtype)
    if np.issubdtype(dtype, np.floating):
        x = d.floats(*shape, dtype=dtype)
    return Trial([x], d.attrs(positive=d.int(0, 1), seed=d.int(0, 99)))


@cases("NGramRepeatBlock")
def repeats(d: Draw) -> Trial:
    """Few words, so that runs come up again."""
    b, t, n = d.int(1, 3), d.int(1, 8), d.int(1, 3)
    return Trial([d.whole(b, t, low=0, high=2), d.floats(b, 4)], {"ngram_size": n})


@cases("NGramHashMapping")
def hashes(d: Draw) -> Trial:
    """With words from before, offsets, ends of text and segments."""
    b, t, n, h = d.int(1, 2), d.int(1, 6), d.int(2, 4), d.int(1, 2)
    heads = (n - 1) * h
    ids = d.whole(b, t, low=0, high=5)
    eos = d.perhaps(np.array(3, np.int64))
    segments = d.perhaps(np.sort(d.whole(b, t, low=0, high=2, dtype=np.int32), -1), 0.4)
    inputs = [ids, d.whole(n, low=1, high=999), d.whole(heads, low=5, high=97)]
    inputs += [
        d.perhaps(d.whole(b, n - 1, low=0, high=5)),
        d.perhaps(d.whole(heads, low=0, high=999)),
        eos,
        segments,
    ]
    attrs = {"max_ngram_size": n, "n_head_per_ngram": h, "pad_id": 1}
    attrs |= {"reset_on_eos": 1} if eos is not None and d.flip() else {}
    return Trial(inputs, attrs, (True, True))


@cases("VarlenNGramHashMapping")
def packed_hashes(d: Draw) -> Trial:
    """The same in sequences one after another."""
    b, n, h = d.int(1, 3), d.int(2, 4), d.int(1, 2)
    ends = np.concatenate([[0], np.cumsum(d.whole(b, low=1, high=4))]).astype(np.int32)
    t, heads = int(ends[-1]), (n - 1) * h
    eos = d.perhaps(np.array(3, np.int64))
    segments = d.perhaps(np.sort(d.whole(t, low=0, high=2, dtype=np.int32)), 0.4)
    inputs = [d.whole(t, low=0, high=5), d.whole(n, low=1, high=999), d.whole(heads, low=5, high=97), ends]
    inputs += [d.perhaps(d.whole(b, n - 1, low=0, high=5)), d.perhaps(d.whole(heads, low=0, high=999))]
    attrs = {"max_ngram_size": n, "n_head_per_ngram": h, "pad_id": 1}
    attrs |= {"reset_on_eos": 1} if eos is not None and d.flip() else {}
    past = None if segments is None else d.perhaps(d.whole(b, n - 1, low=0, high=1, dtype=np.int32))
    asked = (True, True) if past is None else (True, True, True)
    return Trial([*inputs, eos, segments, past], attrs, asked)


@cases("BifurcationDetector")
def bifurcation(d: Draw) -> Trial:
    """Predictions that agree for a while."""
    n, m = d.int(3, 8), d.int(3, 5)
    source, start = d.whole(n, low=0, high=3), d.int(0, n - 1)
    predicted = np.append(source[start:], d.whole(1, low=0, high=3))
    if d.flip():
        predicted[d.int(0, len(predicted) - 1)] = 7
    inputs = [source, d.whole(m, low=0, high=3), np.array([start], np.int64), d.perhaps(predicted, 0.7)]
    return Trial(inputs, d.attrs(min_ngram_size=1, max_ngram_size=d.int(1, 3)), (True, True))


@cases("DynamicTimeWarping")
def warping(d: Draw) -> Trial:
    """Matrices of costs that differ."""
    m, n = d.int(1, 4), d.int(1, 4)
    x = d.floats(m, n)
    return Trial([x[None] if d.flip() else x])


@cases("CausalConvWithState")
def causal(d: Draw) -> Trial:
    """With and without a bias and a state."""
    b, c, t, k = d.int(1, 2), d.int(1, 3), d.int(1, 5), d.int(2, 4)
    inputs = [d.floats(b, c, t), d.floats(c, 1, k), d.perhaps(d.floats(c)), d.perhaps(d.floats(b, c, k - 1))]
    return Trial(inputs, d.attrs(activation=d.pick(("none", "silu", "swish"))), (True, True), atol=1e-4)


@cases("WordConvEmbedding")
def letters(d: Draw) -> Trial:
    """Words of several lengths."""
    s, m, e = d.int(1, 3), d.int(1, 3), d.int(1, 3)
    width, k = d.int(3, 5), d.int(1, 3)
    words = d.whole(s, width, low=1, high=5, dtype=np.int32)
    for row in words:
        row[d.int(1, width) :] = 0
    return Trial([words, d.floats(m, 1, k, e), d.floats(m), d.floats(6, e)], atol=1e-4)


@cases("MatMulBnb4")
def bnb4(d: Draw) -> Trial:
    """Both tables."""
    n, k, block = d.int(1, 4), 2 * d.int(1, 12), 16
    count = n * k
    inputs = [d.floats(*d.ints(d.int(0, 1), 1, 3), d.int(1, 3), k), d.bytes((count + 1) // 2)]
    attrs = {"K": k, "N": n, "block_size": block, "quant_type": d.int(0, 1)}
    return Trial([*inputs, d.positive(-(-count // block))], attrs, constant=(1, 2), atol=1e-4)
