"""Operators that work element by element, or move elements."""

from __future__ import annotations

import numpy as np

from tools.generate.contrib.draw import Draw, Trial, cases

SHORT = (np.float32, np.float32, np.float16)


@cases("Gelu", "QuickGelu")
def activation(d: Draw) -> Trial:
    """One tensor; Gelu has no attribute."""
    x = d.floats(*d.ints(d.int(1, 4), 1, 4), dtype=np.float32, scale=2)
    quick = {"alpha": d.real(-2, 2)} if d.flip() else {}
    return Trial([x], quick if d.op == "QuickGelu" else {})


@cases("BiasGelu", "FastGelu")
def biased(d: Draw) -> Trial:
    """A bias along the last dimension, which FastGelu may lack."""
    shape = d.ints(d.int(1, 4), 1, 5)
    bias = d.floats(shape[-1])
    return Trial([d.floats(*shape, scale=2), d.perhaps(bias) if d.op == "FastGelu" else bias])


@cases("GatedAdd")
def gated_add(d: Draw) -> Trial:
    """A gate for each row."""
    shape, dtype = d.ints(d.int(1, 4), 1, 5), d.pick(SHORT)
    gate = d.floats(*shape[:-1], 1, dtype=dtype)
    return Trial([d.floats(*shape, dtype=dtype), d.floats(*shape, dtype=dtype), gate])


@cases("ScaledSiLU")
def scaled_silu(d: Draw) -> Trial:
    """A scale as an attribute or as an input."""
    dtype = d.pick(SHORT)
    x = d.floats(*d.ints(d.int(1, 3), 1, 5), dtype=dtype, scale=2)
    scale = d.perhaps(d.floats(dtype=d.pick(SHORT)))
    return Trial([x, scale], d.attrs(alpha=d.real(-2, 2)))


@cases("ExpandDims")
def expand_dims(d: Draw) -> Trial:
    """An axis from either end."""
    shape = d.ints(d.int(1, 4), 1, 4)
    axis = d.int(-len(shape) - 1, len(shape))
    return Trial([d.floats(*shape), np.array(axis, np.int32)])


@cases("Range")
def numbers(d: Draw) -> Trial:
    """Whole and real steps, up and down."""
    dtype = d.pick((np.float32, np.float64, np.int16, np.int32, np.int64))
    step = d.pick((1, 2, 3, -1, -2)) if np.issubdtype(dtype, np.integer) else d.pick((0.5, 1.25, -0.75))
    start = d.int(-5, 5)
    limit = start + step * d.int(1, 6)
    delta = None if step == 1 and d.flip() else np.array(step, dtype)
    values = [np.array(start, dtype), np.array(limit, dtype)]
    if d.flip():
        values = [v.reshape(1) for v in values]
        delta = None if delta is None else delta.reshape(1)
    return Trial([*values, delta] if delta is not None else values)


@cases("SampleOp")
def copy(d: Draw) -> Trial:
    """Any type."""
    return Trial([d.whole(*d.ints(d.int(1, 4), 1, 4), low=0, high=9, dtype=np.float32)])


@cases("Trilu")
def triangle(d: Draw) -> Trial:
    """Batches of matrices, and diagonals beyond them."""
    shape = d.ints(d.int(2, 4), 1, 5)
    dtype = d.pick((np.float32, np.float64, np.int64))
    k = d.perhaps(np.array(d.int(-6, 6), np.int64), 0.7)
    return Trial([d.floats(*shape, dtype=dtype, scale=9), k], d.attrs(upper=d.int(0, 1)))


@cases("Unique")
def unique(d: Draw) -> Trial:
    """Few different values."""
    x = d.whole(d.int(1, 12), low=-3, high=3, dtype=np.float32)
    return Trial([x], asked=(True, True, True))


@cases("GatherND")
def gather_nd(d: Draw) -> Trial:
    """Slices and single elements."""
    shape = d.ints(d.int(1, 4), 1, 4)
    rank = d.int(1, len(shape))
    outer = d.ints(d.int(0, 2), 1, 4)
    rows = [d.whole(*outer, low=0, high=n - 1, dtype=d.pick((np.int64,))) for n in shape[:rank]]
    return Trial([d.floats(*shape), np.stack(rows, -1)])


@cases("GridSample")
def grid_sample(d: Draw) -> Trial:
    """All modes; places mostly inside."""
    n, c, h, w, p, q = d.ints(6, 1, 4)
    grid = (np.round(d.random.uniform(-1.2, 1.2, (n, p, q, 2)) * 64) / 64).astype(np.float32)
    mode, padding = d.pick(("bilinear", "nearest", "bicubic")), d.pick(("zeros", "border", "reflection"))
    attrs = d.attrs(mode=mode, padding_mode=padding, align_corners=d.int(0, 1))
    return Trial([d.floats(n, c, h + 1, w + 1), grid], attrs)


@cases("Pad")
def pad(d: Draw) -> Trial:
    """All modes, and pads that cut."""
    shape = d.ints(d.int(1, 4), 3, 5)
    mode = d.pick(("constant", "reflect", "edge"))
    low = -1 if mode == "constant" else 0
    pads = np.array(d.ints(2 * len(shape), low, 2), np.int64)
    value = d.perhaps(d.floats(1)) if mode == "constant" else None
    return Trial([d.floats(*shape), pads, value], {"mode": mode})


@cases("UnfoldTensor")
def unfold(d: Draw) -> Trial:
    """Slices that overlap and that leave gaps."""
    shape = d.ints(d.int(1, 4), 3, 6)
    attrs = d.attrs(dim=d.int(-len(shape), len(shape) - 1), step=d.int(1, 3))
    return Trial([d.floats(*shape)], {"size": d.int(1, 3), **attrs})


@cases("CDist")
def distances(d: Draw) -> Trial:
    """Both metrics; rows that are not too near, where the square is computed by products."""
    m, k, n = d.int(1, 5), d.int(1, 5), d.int(1, 6)
    dtype = d.pick((np.float32, np.float64))
    rows = d.floats(m, n, dtype=dtype), d.floats(k, n, dtype=dtype) + dtype(3)
    return Trial(rows, d.attrs(metric=d.pick(("sqeuclidean", "euclidean"))))


@cases("Inverse")
def inverse(d: Draw) -> Trial:
    """Matrices that are not nearly singular."""
    n, batch = d.int(1, 4), d.ints(d.int(0, 2), 1, 3)
    dtype = d.pick((np.float32, np.float64))
    return Trial([d.floats(*batch, n, n, dtype=dtype) + 3 * np.eye(n, dtype=dtype)], rtol=1e-3)
