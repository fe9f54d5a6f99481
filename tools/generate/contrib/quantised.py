"""Operators on integers with scales and zero points."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.generate.contrib.draw import Array, Draw, Trial, cases
from tools.generate.contrib.products import windows

BYTES = (np.uint8, np.int8)


def scale(d: Draw, low: float = 0.01, high: float = 0.1) -> Array:
    """The scale of a tensor."""
    return d.positive(low=low, high=high)


def zero(d: Draw, dtype: Any) -> Array:
    """A zero point somewhere in the middle."""
    return (
        d.whole(low=-20, high=20, dtype=dtype)
        if dtype is np.int8
        else d.whole(low=100, high=150, dtype=dtype)
    )


def weights(d: Draw, dtype: Any, *shape: int) -> Array:
    """Signed ones keep to 7 bits: some processors add two products in 16 bits, and lose what does not fit."""
    return d.whole(*shape, low=-64, high=63, dtype=dtype) if dtype is np.int8 else d.bytes(*shape)


@cases("QLinearAdd", "QLinearMul")
def binary(d: Draw) -> Trial:
    """Tensors that broadcast; the zero point of the result may be left out."""
    dtype = d.pick(BYTES)
    shape = d.ints(d.int(1, 3), 1, 5)
    other = d.pick((shape, shape[-1:], [1] * len(shape)))
    high = 0.1 if d.op == "QLinearAdd" else 1.0
    sides = [[d.bytes(*s, dtype=dtype), scale(d), zero(d, dtype)] for s in (shape, other)]
    return Trial([*sides[0], *sides[1], scale(d, 0.02, high), d.perhaps(zero(d, dtype), 0.8)])


@cases("QLinearSigmoid", "QLinearLeakyRelu")
def function(d: Draw) -> Trial:
    """A function of each element."""
    dtype = d.pick(BYTES)
    x = d.bytes(*d.ints(d.int(1, 3), 1, 6), dtype=dtype)
    attrs = d.attrs(alpha=d.real(0.01, 0.9)) if d.op == "QLinearLeakyRelu" else {}
    small = scale(d, 0.004, 0.01) if d.op == "QLinearSigmoid" else scale(d)
    return Trial([x, scale(d), d.perhaps(zero(d, dtype)), small, d.perhaps(zero(d, dtype))], attrs)


@cases("QLinearSoftmax")
def softmax(d: Draw) -> Trial:
    """Along one axis, or from an axis on."""
    dtype = d.pick(BYTES)
    shape = d.ints(d.int(1, 3), 1, 6)
    low = np.int8(-128) if dtype is np.int8 else np.uint8(0)
    attrs = {"opset": d.pick((11, 13)), "axis": d.int(-len(shape), len(shape) - 1)}
    inputs = [d.bytes(*shape, dtype=dtype), scale(d), d.perhaps(zero(d, dtype)), np.float32(1 / 256), low]
    return Trial([None if v is None else np.asarray(v) for v in inputs], attrs)


@cases("QLinearWhere")
def where(d: Draw) -> Trial:
    """Three tensors that broadcast."""
    dtype = d.pick(BYTES)
    shape = d.ints(d.int(1, 3), 1, 5)
    condition = d.whole(*d.pick((shape, shape[-1:])), low=0, high=1, dtype=np.bool_)
    sides = [[d.bytes(*shape, dtype=dtype), scale(d), zero(d, dtype)] for _ in range(2)]
    return Trial([condition, *sides[0], *sides[1], scale(d), zero(d, dtype)])


@cases("QLinearConcat")
def concat(d: Draw) -> Trial:
    """Tensors with scales of their own."""
    dtype = d.pick(BYTES)
    shape = d.ints(d.int(1, 3), 1, 4)
    axis = d.int(-len(shape), len(shape) - 1)
    inputs: list[Array] = []
    for _ in range(d.int(1, 3)):
        shape[axis] = d.int(1, 4)
        inputs += [d.bytes(*shape, dtype=dtype), scale(d), zero(d, dtype)]
    return Trial([scale(d), zero(d, dtype), *inputs], {"axis": axis})


@cases("QLinearGlobalAveragePool")
def global_pool(d: Draw) -> Trial:
    """Means over whole images."""
    dtype = d.pick(BYTES)
    n, c, *lengths = d.ints(4, 1, 5)
    last = d.int(0, 1)
    shape = [n, *lengths, c] if last else [n, c, *lengths]
    inputs = [d.bytes(*shape, dtype=dtype), scale(d), zero(d, dtype), scale(d), zero(d, dtype)]
    return Trial(inputs, {"channels_last": last})


@cases("QLinearAveragePool")
def pool(d: Draw) -> Trial:
    """Means over windows."""
    dtype, rank = d.pick(BYTES), d.int(1, 2)
    lengths, kernel, attrs = windows(d, rank)
    attrs.pop("dilations", None)
    if "pads" in attrs:
        attrs["pads"] = [min(p, kernel[k % rank] - 1) for k, p in enumerate(attrs["pads"])]
    last = d.int(0, 1)
    shape = [d.int(1, 2), *lengths, 2] if last else [d.int(1, 2), 2, *lengths]
    inputs = [d.bytes(*shape, dtype=dtype), scale(d), zero(d, dtype), scale(d)]
    more = {"kernel_shape": kernel, "channels_last": last, **d.attrs(count_include_pad=d.int(0, 1))}
    return Trial([*inputs, d.perhaps(zero(d, dtype))], attrs | more)


@cases("QLinearReduceMean")
def reduce_mean(d: Draw) -> Trial:
    """Means along axes; not one of the processor's kernels."""
    dtype = d.pick(BYTES)
    shape = d.ints(d.int(1, 3), 2, 4)
    axes = sorted(d.random.permutation(len(shape))[: d.int(1, len(shape))].tolist())
    keep = d.int(0, 1)
    x, s, r = d.bytes(*shape, dtype=dtype), scale(d), scale(d)
    z, y = d.perhaps(zero(d, dtype)), d.perhaps(zero(d, dtype))
    real = (x.astype(np.float64) - (0 if z is None else int(z))) * float(s)
    mean = np.asarray(real.mean(tuple(axes), keepdims=bool(keep))) / float(r)
    info = np.iinfo(dtype)
    found = np.clip(np.round(mean) + (0 if y is None else int(y)), info.min, info.max).astype(dtype)
    return Trial([x, s, z, r, y], {"axes": axes, "keepdims": keep}, stated=[found])


@cases("QLinearConv")
def conv(d: Draw) -> Trial:
    """Scales for each filter, a bias, channels last."""
    lengths, kernel, attrs = windows(d, 2)
    group, per, m = d.int(1, 2), d.int(1, 2), d.int(1, 2)
    last, dtype = d.int(0, 1), d.pick(BYTES)
    shape = [d.int(1, 2), *lengths, group * per] if last else [d.int(1, 2), group * per, *lengths]
    kind = dtype if dtype is np.int8 else d.pick(BYTES)
    w = weights(d, kind, group * m, per, *kernel)
    each = d.flip() and kind is np.int8
    ws = d.positive(group * m, low=0.005, high=0.02) if each else scale(d, 0.005, 0.02)
    wz = np.zeros(group * m, np.int8) if each else zero(d, kind)
    inputs = [
        d.bytes(*shape, dtype=dtype),
        scale(d),
        zero(d, dtype),
        w,
        ws,
        wz,
        scale(d, 0.1, 0.4),
        zero(d, dtype),
    ]
    bias = d.perhaps(d.whole(group * m, low=-500, high=500, dtype=np.int32))
    return Trial([*inputs, bias], {**attrs, "channels_last": last, "group": group}, constant=(3, 4, 5))


def sides(d: Draw) -> tuple[Array, Array, list[int]]:
    """Bytes to be multiplied, and the lengths."""
    a, b = d.pick((np.uint8,)), d.pick(BYTES)
    m, k, n = d.ints(3, 1, 5)
    batch = d.ints(d.int(0, 2), 1, 3)
    return d.bytes(*batch, m, k, dtype=a), weights(d, b, k, n), [m, k, n]


def of_columns(d: Draw, n: int, dtype: Any) -> tuple[Array, Array]:
    """Scales and zero points: one, or one for each column."""
    if d.flip():
        return d.positive(n, low=0.005, high=0.02), np.stack([zero(d, dtype) for _ in range(n)])
    return scale(d, 0.005, 0.02), zero(d, dtype)


@cases("MatMulIntegerToFloat")
def integer_to_float(d: Draw) -> Trial:
    """Products of bytes as real numbers."""
    a, b, (_, _, n) = sides(d)
    s, z = of_columns(d, n, b.dtype.type)
    inputs = [a, b, scale(d), s, d.perhaps(zero(d, np.uint8)), d.perhaps(z), d.perhaps(d.floats(n))]
    return Trial(inputs, atol=1e-4)


@cases("DynamicQuantizeMatMul")
def dynamic(d: Draw) -> Trial:
    """A real side brought to 8 bits."""
    _, b, (m, k, n) = sides(d)
    s, z = of_columns(d, n, b.dtype.type)
    a = d.floats(*d.ints(d.int(0, 2), 1, 3), m, k)
    return Trial([a, b, s, d.perhaps(z), d.perhaps(d.floats(n))], atol=1e-4)


@cases("MatMulInteger16")
def integer16(d: Draw) -> Trial:
    """Integers of 16 bits."""
    m, k, n = d.ints(3, 1, 5)
    batch = d.ints(d.int(0, 2), 1, 3)
    sides = [d.whole(*batch, *s, low=-999, high=999, dtype=np.int16) for s in ((m, k), (k, n))]
    return Trial(sides)


@cases("QGemm")
def gemm(d: Draw) -> Trial:
    """Transposed sides, integers added, quantised or not."""
    m, k, n = d.ints(3, 1, 5)
    kind = d.pick(BYTES)
    attrs = d.attrs(alpha=d.real(0.5, 2), transA=d.int(0, 1), transB=d.int(0, 1))
    a = d.bytes(*((k, m) if attrs.get("transA") else (m, k)))
    b = weights(d, kind, *((n, k) if attrs.get("transB") else (k, n)))
    s, z = of_columns(d, n, kind)
    c = d.perhaps(d.whole(*d.pick(((m, n), (n,), (1, n))), low=-500, high=500, dtype=np.int32))
    out = [scale(d, 0.1, 0.4), zero(d, np.uint8)] if d.flip() else [None, None]
    return Trial([a, scale(d), zero(d, np.uint8), b, s, z, c, *out], attrs, atol=1e-4)


@cases("QuantizeLinear", "DequantizeLinear")
def linear(d: Draw) -> Trial:
    """One scale, or one for each place along an axis."""
    shape = d.ints(d.int(1, 3), 1, 4)
    dtype = d.pick(BYTES)
    attrs: dict[str, Any] = {}
    s, z = scale(d), zero(d, dtype)
    if d.flip():
        axis = d.int(-len(shape), len(shape) - 1)
        n = shape[axis]
        attrs["axis"] = axis
        s, z = d.positive(n, low=0.01, high=0.1), np.stack([zero(d, dtype) for _ in range(n)])
    if d.op == "QuantizeLinear":
        return Trial([d.floats(*shape, scale=2), s, z], attrs)
    return Trial([d.bytes(*shape, dtype=dtype), s, d.perhaps(z)], attrs)


def packed(d: Draw, rows: int, blocks: int, block: int, bits: int) -> Array:
    """Weights of few bits in bytes."""
    return d.bytes(rows, blocks, block * bits // 8)


@cases("MatMulNBits")
def nbits(d: Draw) -> Trial:
    """Blocks of 16 or 32; the last may be cut short."""
    n, bits, block = d.int(1, 4), d.pick((4, 4, 8, 2)), d.pick((16, 32))
    k = d.int(1, 40)
    blocks = -(-k // block)
    zeros = d.pick(("none", "packed") if bits == 8 else ("none", "packed", "plain"))
    z: Array | None = None
    if zeros == "packed":
        z = d.bytes(n, -(-blocks * bits // 8))
    elif zeros == "plain":
        z = d.positive(n, blocks, low=1, high=2**bits - 1)
    a = d.floats(*d.ints(d.int(0, 2), 1, 3), d.int(1, 3), k)
    bias = d.perhaps(d.floats(n))
    inputs = [a, packed(d, n, blocks, block, bits), d.positive(n, blocks, low=0.01, high=0.05), z, None, bias]
    return Trial(
        inputs, {"K": k, "N": n, "bits": bits, "block_size": block}, constant=(1, 2, 3, 5), atol=2e-4
    )


@cases("GatherBlockQuantized")
def gather(d: Draw) -> Trial:
    """Rows of packed bytes."""
    rows, bits, block = d.int(1, 4), d.pick((4, 8, 2)), 16
    blocks = d.int(1, 3)
    data = d.bytes(rows, blocks * block * bits // 8)
    at = d.whole(*d.ints(d.int(0, 2), 1, 3), low=-rows, high=rows - 1, dtype=d.pick((np.int64, np.int32)))
    z = d.perhaps(d.bytes(rows, -(-blocks * bits // 8)))
    attrs = {"bits": bits, "block_size": block, "gather_axis": 0, "quantize_axis": 1}
    return Trial([data, at, d.positive(rows, blocks, low=0.01, high=0.05), z], attrs, constant=(0, 2, 3))
