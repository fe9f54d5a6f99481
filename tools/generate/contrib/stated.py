"""Operators without a kernel for a plain processor: results as onnxruntime's documentation states them."""

from __future__ import annotations

from math import erf
from typing import Any

import numpy as np

from tools.generate.contrib.draw import Array, Draw, Trial, cases
from tools.generate.contrib.products import FUSED, sides, windows


def normal_share(x: Array) -> Array:
    """Gelu, in double precision."""
    return 0.5 * x * (1 + np.vectorize(erf, otypes=[np.float64])(x / np.sqrt(2.0)))


def tanh_share(x: Array) -> Array:
    """What comes near to it by tanh."""
    return 0.5 * x * (1 + np.tanh(0.797885 * x + 0.035677 * x**3))


def softmaxed(x: Array, axes: tuple[int, ...]) -> Array:
    """Exponentials against their sum."""
    e = np.exp(x - x.max(axes, keepdims=True))
    return np.asarray(e / e.sum(axes, keepdims=True))


@cases("BiasAdd", "BiasSplitGelu")
def biased(d: Draw) -> Trial:
    """Sums of three; or the left half by the Gelu of the right."""
    n, s, c = d.int(1, 3), d.int(1, 4), 2 * d.int(1, 4)
    x, bias, skip = d.floats(n, s, c), d.floats(c), d.floats(n, s, c)
    if d.op == "BiasAdd":
        return Trial([x, bias, skip], stated=[x + bias + skip])
    left, right = np.split((x + bias).astype(np.float64), 2, -1)
    return Trial([x, bias], stated=[(left * normal_share(right)).astype(np.float32)])


@cases("BiasSoftmax")
def bias_softmax(d: Draw) -> Trial:
    """The bias broadcasts over inner or over outer dimensions."""
    shape = d.ints(d.int(2, 4), 1, 4)
    axis = d.int(1, len(shape) - 1)
    inner = d.flip()
    edge = d.int(0, axis)
    kept = [1 if (edge <= k < axis if inner else k < edge) else n for k, n in enumerate(shape)]
    x, bias = d.floats(*shape, scale=2), d.floats(*kept)
    found = softmaxed((x + bias).astype(np.float64), tuple(range(axis, len(shape))))
    return Trial(
        [x, bias], {"axis": axis, "is_inner_broadcast": int(inner)}, stated=[found.astype(np.float32)]
    )


@cases("IsAllFinite")
def is_all_finite(d: Draw) -> Trial:
    """Several tensors, of which one may hold what is asked for."""
    arrays = [d.floats(*d.ints(d.int(1, 3), 1, 4)) for _ in range(d.int(1, 4))]
    if d.flip(0.7):
        d.pick(arrays).flat[0] = d.pick((np.nan, np.inf, -np.inf))
    only = d.pick(({}, {"isinf_only": 1}, {"isnan_only": 1}))
    if "isinf_only" in only:
        bad = any(np.isinf(a).any() for a in arrays)
    elif "isnan_only" in only:
        bad = any(np.isnan(a).any() for a in arrays)
    else:
        bad = any((~np.isfinite(a)).any() for a in arrays)
    return Trial(arrays, only, stated=[np.array(not bad)])


@cases("ComplexMul", "ComplexMulConj")
def complex_mul(d: Draw) -> Trial:
    """Pairs of parts in the last dimension."""
    shape = d.ints(d.int(0, 3), 1, 4)
    a, b = d.floats(*shape, 2), d.floats(*(shape if d.flip() else [1] * len(shape)), 2)
    u, v = a[..., 0] + 1j * a[..., 1], b[..., 0] + 1j * b[..., 1]
    product = u * (np.conj(v) if d.op.endswith("Conj") else v)
    return Trial([a, b], stated=[np.stack([product.real, product.imag], -1).astype(np.float32)])


@cases("MulInteger")
def mul_integer(d: Draw) -> Trial:
    """Bytes less their zero points, broadcast."""
    dtype = d.pick((np.uint8, np.int8))
    shape = d.ints(d.int(1, 3), 1, 4)
    a, b = d.bytes(*shape, dtype=dtype), d.bytes(*shape[d.int(0, len(shape) - 1) :], dtype=dtype)
    za, zb = d.perhaps(d.bytes(dtype=dtype)), d.perhaps(d.bytes(dtype=dtype))
    wide = [x.astype(np.int32) - (0 if z is None else z.astype(np.int32)) for x, z in ((a, za), (b, zb))]
    return Trial([a, za, b, zb], stated=[np.asarray(wide[0] * wide[1], np.int32)])


@cases("ReduceSumInteger")
def reduce_sum_integer(d: Draw) -> Trial:
    """Bytes added in 32 bits."""
    dtype = d.pick((np.uint8, np.int8))
    shape = d.ints(d.int(1, 4), 1, 4)
    axes = sorted(d.random.permutation(len(shape))[: d.int(1, len(shape))].tolist())
    keep = d.int(0, 1)
    x = d.bytes(*shape, dtype=dtype)
    wide = np.uint32 if dtype is np.uint8 else np.int32
    found = np.asarray(x.astype(wide).sum(tuple(axes), keepdims=bool(keep)), wide)
    return Trial([x], {"axes": axes, "keepdims": keep}, stated=[found])


@cases("TorchEmbedding")
def torch_embedding(d: Draw) -> Trial:
    """Rows of a table; what is for training only changes nothing."""
    n, m = d.int(1, 5), d.int(1, 4)
    weight, at = d.floats(n, m), d.whole(*d.ints(d.int(0, 3), 1, 3), low=0, high=n - 1)
    padding = d.perhaps(np.array(d.int(0, n - 1), np.int64))
    return Trial([weight, at, padding, d.perhaps(np.array(d.flip()))], stated=[weight[at]])


@cases("FusedMatMulActivation")
def fused_matmul_activation(d: Draw) -> Trial:
    """A product and a function of it."""
    a, b, attrs = sides(d, np.float32)
    x, y = a, b
    for name in "AB":
        z = x if name == "A" else y
        z = np.moveaxis(z, 0, -2) if attrs.get(f"transBatch{name}") and not attrs.get(f"trans{name}") else z
        if attrs.get(f"transBatch{name}") and attrs.get(f"trans{name}"):
            z = np.moveaxis(z, 0, -1)
        elif attrs.get(f"trans{name}"):
            z = np.swapaxes(z, -1, -2)
        x, y = (z, y) if name == "A" else (x, z)
    product = attrs.get("alpha", 1.0) * np.matmul(x.astype(np.float64), y.astype(np.float64))
    name, parameters = d.pick((*FUSED, ("Softmax", {})))
    attrs |= {"activation": name, **{f"activation_{k}": v for k, v in parameters.items()}}
    if name == "Softmax":
        attrs["activation_axis"] = -1
    return Trial([a, b], attrs, stated=[activated(product, name, parameters).astype(np.float32)])


def activated(x: Array, name: str, parameters: dict[str, float]) -> Array:
    """A function by its name."""
    a, b = parameters.get("alpha", 0.0), parameters.get("beta", 0.0)
    functions: dict[str, Any] = {
        "Relu": lambda: np.maximum(x, 0),
        "Tanh": lambda: np.tanh(x),
        "Sigmoid": lambda: 1 / (1 + np.exp(-x)),
        "LeakyRelu": lambda: np.where(x >= 0, x, a * x),
        "HardSigmoid": lambda: np.clip(a * x + b, 0, 1),
        "Softmax": lambda: softmaxed(x, (-1,)),
    }
    return np.asarray(functions[name]())


@cases("GemmFastGelu")
def gemm_fast_gelu(d: Draw) -> Trial:
    """A product, a bias, and Gelu by tanh."""
    m, k, n = d.ints(3, 1, 4)
    x, w, bias = d.floats(*d.ints(d.int(0, 2), 1, 3), m, k), d.floats(k, n), d.perhaps(d.floats(n))
    product = np.matmul(x.astype(np.float64), w.astype(np.float64)) + (0 if bias is None else bias)
    return Trial([x, w, bias], stated=[tanh_share(product).astype(np.float32)])


@cases("NhwcConv")
def nhwc_conv(d: Draw) -> Trial:
    """A convolution over a padded image, window by window."""
    lengths, kernel, attrs = windows(d, 2)
    attrs.pop("auto_pad", None)
    group, per, m = d.int(1, 2), d.int(1, 2), d.int(1, 2)
    x, w = d.floats(d.int(1, 2), *lengths, group * per), d.floats(group * m, per, *kernel)
    bias = d.perhaps(d.floats(group * m))
    attrs["group"] = group
    return Trial([x, w, bias], attrs, stated=[convolved(x, w, bias, attrs).astype(np.float32)])


def convolved(x: Array, w: Array, bias: Array | None, attrs: dict[str, Any]) -> Array:
    """A convolution of images with channels last."""
    pads, strides = attrs.get("pads", [0] * 4), attrs.get("strides", [1, 1])
    dilations, group = attrs.get("dilations", [1, 1]), attrs["group"]
    wide = np.pad(x.astype(np.float64), [(0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0)])
    spans = [(k - 1) * dl + 1 for k, dl in zip(w.shape[2:], dilations, strict=True)]
    sizes = [(n - s) // st + 1 for n, s, st in zip(wide.shape[1:3], spans, strides, strict=True)]
    y = np.zeros((len(x), *sizes, len(w)))
    per, out = w.shape[1], len(w) // group
    for i, j in np.ndindex(*sizes):
        top, left = i * strides[0], j * strides[1]
        window = wide[:, top : top + spans[0] : dilations[0], left : left + spans[1] : dilations[1]]
        for f in range(len(w)):
            channels = slice(f // out * per, (f // out + 1) * per)
            y[:, i, j, f] = np.einsum("bpqc,cpq->b", window[..., channels], w[f])
    return y if bias is None else y + bias


@cases("Rfft", "Irfft")
def real_fourier(d: Draw) -> Trial:
    """Transforms of an even number of places, there and back."""
    n, batch = 2 * d.int(1, 5), d.ints(d.int(0, 2), 1, 3)
    attrs = {"normalized": 0, "onesided": 1, "signal_ndim": 1}
    if d.op == "Rfft":
        x = d.floats(*batch, n)
        found = np.fft.rfft(x.astype(np.float64))
        return Trial(
            [x], attrs, stated=[np.stack([found.real, found.imag], -1).astype(np.float32)], atol=1e-4
        )
    x = d.floats(*batch, n // 2 + 1, 2)
    x[..., [0, -1], 1] = 0
    signal = np.fft.irfft(x[..., 0].astype(np.float64) + 1j * x[..., 1], n)
    return Trial([x], attrs, stated=[signal.astype(np.float32)], atol=1e-4)
