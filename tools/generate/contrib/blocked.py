"""Operators that onnxruntime keeps for itself: with channels last, or with channels in blocks.

The first are observed.  The others have kernels for some processors only, and how their elements lie in
memory is no part of a value: they are held to plain statements of what they compute.
"""

from __future__ import annotations

import numpy as np

from tools.generate.contrib.draw import Array, Draw, Trial, cases
from tools.generate.contrib.products import windows
from tools.generate.contrib.stated import convolved

LAST, BLOCKED = "com.ms.internal.nhwc", "com.microsoft.nchwc"


def last(x: Array) -> Array:
    """An image with its channels last."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


@cases(f"{LAST}.MaxPool", f"{LAST}.AveragePool", f"{LAST}.GlobalAveragePool")
def channels_last(d: Draw) -> Trial:
    """Pooling of short floats."""
    lengths, kernel, attrs = windows(d, 2)
    x = d.floats(d.int(1, 2), *lengths, d.int(1, 3), dtype=np.float16)
    if d.op.endswith("GlobalAveragePool"):
        return Trial([x], domain=LAST, opset=11)
    if "pads" in attrs:
        attrs["pads"] = [min(p, kernel[k % 2] - 1) for k, p in enumerate(attrs["pads"])]
    if d.op.endswith("AveragePool"):
        attrs.pop("dilations", None)
        attrs |= d.attrs(count_include_pad=d.int(0, 1))
    version = 11 if d.op.endswith("AveragePool") else 12
    return Trial([x], {**attrs, "kernel_shape": kernel}, domain=LAST, opset=version)


def pools(x: Array, kernel: list[int], strides: list[int]) -> Array:
    """The windows of images, entries of a window in the last dimension."""
    view = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), kernel, (2, 3))
    return view[:, :, :: strides[0], :: strides[1]].reshape(
        *view[:, :, :: strides[0], :: strides[1]].shape[:4], -1
    )


@cases(*(f"{BLOCKED}.{op}" for op in ("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool")))
def blocked_pools(d: Draw) -> Trial:
    """Pooling without padding."""
    x = d.floats(d.int(1, 2), 8, *d.ints(2, 4, 6))
    mean = "Average" in d.op
    if "Global" in d.op:
        found = x.astype(np.float64).mean((2, 3), keepdims=True) if mean else x.max((2, 3), keepdims=True)
        return Trial([x], stated=[found.astype(np.float32)], domain=BLOCKED)
    kernel, strides = d.ints(2, 1, 3), d.ints(2, 1, 2)
    entries = pools(x, kernel, strides)
    found = entries.mean(-1) if mean else entries.max(-1)
    attrs = {"kernel_shape": kernel, "strides": strides}
    return Trial([x], attrs, stated=[found.astype(np.float32)], domain=BLOCKED)


@cases(f"{BLOCKED}.ReorderInput", f"{BLOCKED}.ReorderOutput")
def reordered(d: Draw) -> Trial:
    """Copies, with channels last before or after."""
    x, turned = d.floats(d.int(1, 2), 8, *d.ints(2, 1, 3)), d.int(0, 1)
    if d.op.endswith("Input"):
        given = last(x) if turned else x
        return Trial([given], {"channels_last": turned}, stated=[x], domain=BLOCKED)
    kept = d.int(1, 8)
    found = x[:, :kept]
    attrs = {"channels": kept, "channels_last": turned}
    return Trial([x], attrs, stated=[last(found) if turned else found.copy()], domain=BLOCKED)


@cases(f"{BLOCKED}.Conv")
def blocked_conv(d: Draw) -> Trial:
    """Channels that fill a block, a tensor added, an activation."""
    lengths, kernel, attrs = windows(d, 2)
    attrs.pop("auto_pad", None)
    group, per, m = d.int(1, 2), d.int(1, 3), d.int(1, 2)
    attrs["group"] = group
    x, w = d.floats(d.int(1, 2), group * per, *lengths), d.floats(group * m, per, *kernel)
    bias = d.perhaps(d.floats(group * m))
    y = np.moveaxis(convolved(last(x), w, bias, attrs), -1, 1)
    total = d.perhaps(d.floats(*y.shape))
    y = y if total is None else y + total
    activation = d.pick(("Relu", "HardSwish", ""))
    if activation:
        attrs["activation"] = activation
        y = np.maximum(y, 0) if activation == "Relu" else y * np.clip(y / 6 + 0.5, 0, 1)
    return Trial([x, w, bias, total], attrs, stated=[y.astype(np.float32)], domain=BLOCKED, atol=1e-4)
