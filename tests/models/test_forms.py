"""Forms stay small: what cannot matter is no case of a form."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import ModelProto

import tolcost
from tests.models.graphs import FLOAT, Builder

GROUPS = 4


def convolved(b: Builder, x: str, n: int, m: int, stride: int = 1, pad: int = 1) -> str:
    sides = {"kernel_shape": [3, 3], "strides": [stride] * 2, "pads": [pad] * 4}
    return b("Conv", x, b.weight(m, n, 3, 3), b.weight(m), **sides)


def normalised(b: Builder, x: str, n: int) -> str:
    """Group normalisation, as exporters write it: groups as channels, and back."""
    flat = b("Reshape", x, b.constant([0, GROUPS, -1]))
    scale, shift = b.held(np.ones(GROUPS), "float32"), b.held(np.zeros(GROUPS), "float32")
    y = b("Reshape", b("InstanceNormalization", flat, scale, shift), b("Shape", x))
    return b("Add", b("Mul", y, b.weight(n, 1, 1)), b.weight(n, 1, 1))


def block(b: Builder, x: str, n: int, m: int, pad: int) -> str:
    for channels in (n, m):
        x = normalised(b, convolved(b, x, channels, m, pad=pad), m)
        x = b("Mul", x, b("Sigmoid", x))
    return x


def attended(b: Builder, x: str, n: int) -> str:
    """Attention over all pixels."""
    rows = b("Transpose", b.reshape(x, b.length(x, 0), n, -1), perm=[0, 2, 1])
    query, keys, values = (b.linear(rows, n, n) for _ in range(3))
    weights = b("Softmax", b("MatMul", query, b("Transpose", keys, perm=[0, 2, 1])), axis=-1)
    mixed = b("Transpose", b.linear(b("MatMul", weights, values), n, n), perm=[0, 2, 1])
    return b("Add", x, b.reshape(mixed, b.length(x, 0), n, b.length(x, 2), b.length(x, 3)))


def padded(b: Builder, x: str, to: str) -> str:
    """Zeros around an image up to the size of another."""
    gaps = [b("Sub", b.length(to, axis), b.length(x, axis)) for axis in (2, 3)]
    before = [b("Div", gap, b.constant([2])) for gap in gaps]
    after = [b("Sub", gap, half) for gap, half in zip(gaps, before, strict=True)]
    none = b.constant([0, 0])
    pads = b("Concat", none, *before, none, *after, axis=0)
    return b("Pad", x, pads, b.constant(0, "float32"))


def cropped(b: Builder, x: str, to: str) -> str:
    """The middle of an image, in the size of another."""
    sizes = [b.length(to, axis) for axis in (2, 3)]
    gaps = [b("Sub", b.length(x, axis), size) for axis, size in zip((2, 3), sizes, strict=True)]
    starts = [b("Div", gap, b.constant([2])) for gap in gaps]
    ends = [b("Add", start, size) for start, size in zip(starts, sizes, strict=True)]
    start, end = (b("Concat", *ones, axis=0) for ones in (starts, ends))
    return b("Slice", x, start, end, b.constant([2, 3]))


Sizes = tuple[int | str, int | str, int | str]
FREE: Sizes = ("batch", "height", "width")


def unet(down: str, up: str, fit: str = "", pad: int = 1, sizes: Sizes = FREE) -> ModelProto:
    """A U-Net with group normalisation, and attention at its lowest resolution."""
    b = Builder(18)
    x = b.input("x", FLOAT, [sizes[0], 4, *sizes[1:]])
    n, m, skips = 4, 8, []
    for _ in range(2):
        x = block(b, x, n, m, pad)
        skips.append((x, m))
        pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
        x = b("MaxPool", x, **pool) if down == "pool" else convolved(b, x, m, m, stride=2)
        n, m = m, 2 * m
    x, n = attended(b, block(b, x, n, m, pad), m), m
    for skip, m in reversed(skips):
        if up == "transpose":
            x = b("ConvTranspose", x, b.weight(n, m, 2, 2), kernel_shape=[2, 2], strides=[2, 2])
        else:
            size = b("Concat", b("Shape", x, end=2), b("Shape", skip, start=2), axis=0)
            nearest = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}
            x = convolved(b, b("Resize", x, "", "", size, nearest_mode="floor", **nearest), n, m)
        x = padded(b, x, skip) if fit == "pad" else x
        skip = cropped(b, skip, x) if fit == "crop" else skip
        x, n = block(b, b("Concat", skip, x, axis=1), 2 * m, m, pad), m
    return b.model([(x, FLOAT, ["b", 8, "h", "w"])])


NETS = [("pool", "transpose", "pad", 1), ("pool", "transpose", "", 1), ("stride", "size", "", 1)]


@pytest.mark.parametrize("down, up, fit, pad", NETS)
def test_a_unet_has_a_term_for_each_resolution(down: str, up: str, fit: str, pad: int) -> None:
    cost = tolcost.from_onnx(unet(down, up, fit, pad))
    assert cost.status == "exact"
    for form in (cost.macs, cost.eops, cost.flops, cost.bytes):
        assert len(str(form)) < 300
    assert len(cost.macs.args) == 4  # three resolutions, and attention
    fixed = tolcost.from_onnx(unet(down, up, fit, pad, (2, 24, 40)))
    assert cost(batch=2, height=24, width=40).macs == fixed.macs
