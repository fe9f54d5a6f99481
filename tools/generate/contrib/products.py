"""Products of matrices and convolutions, with what an optimiser fuses onto them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tools.generate.contrib.draw import Array, Draw, Trial, cases


def sides(d: Draw, dtype: Any, batch_first: bool = True) -> tuple[Array, Array, dict[str, Any]]:
    """Two sides of a product, perhaps transposed, and the attributes that say so."""
    m, k, n = d.ints(3, 1, 4)
    batch = d.ints(d.int(0, 2), 1, 3)
    attrs = d.attrs(alpha=d.real(-2, 2), transA=d.int(0, 1), transB=d.int(0, 1))
    if batch_first and len(batch) and d.flip():
        attrs |= {"transBatchA": 1, "transBatchB": d.int(0, 1)}
    a = d.floats(*batch, m, k, dtype=dtype)
    b = d.floats(*(batch if "transBatchA" in attrs or d.flip() else [1] * len(batch)), k, n, dtype=dtype)
    for name, side in (("A", "a"), ("B", "b")):
        x = a if side == "a" else b
        if attrs.get(f"trans{name}"):
            x = np.swapaxes(x, -1, -2)
        if attrs.get(f"transBatch{name}"):
            x = np.moveaxis(x, -2, 0)
        a, b = (x, b) if side == "a" else (a, x)
    return np.ascontiguousarray(a), np.ascontiguousarray(b), attrs


@cases("FusedMatMul", "TransposeMatMul")
def fused_matmul(d: Draw) -> Trial:
    """Sides that are transposed, and batches that broadcast."""
    a, b, attrs = sides(d, np.float32, d.op == "FusedMatMul")
    return Trial([a, b], attrs)


FUSED: tuple[tuple[str, dict[str, float]], ...] = (
    ("Relu", {}),
    ("Tanh", {}),
    ("Sigmoid", {}),
    ("LeakyRelu", {"alpha": 0.3}),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.4}),
)


@cases("FusedGemm")
def fused_gemm(d: Draw) -> Trial:
    """With and without a third matrix, which broadcasts."""
    m, k, n = d.ints(3, 1, 5)
    attrs = d.attrs(alpha=d.real(-2, 2), beta=d.real(-2, 2), transA=d.int(0, 1), transB=d.int(0, 1))
    a = d.floats(*((k, m) if attrs.get("transA") else (m, k)))
    b = d.floats(*((n, k) if attrs.get("transB") else (k, n)))
    c = d.perhaps(d.floats(*d.pick(((m, n), (n,), (1, n), (m, 1), (1,)))))
    name, parameters = d.pick(FUSED)
    more = {"activation": name, **{f"activation_{k}": v for k, v in parameters.items()}}
    return Trial([a, b, c], attrs | more)


def windows(d: Draw, rank: int) -> tuple[list[int], list[int], dict[str, Any]]:
    """Lengths, kernels and the attributes of windows over them."""
    kernel, lengths = d.ints(rank, 1, 3), d.ints(rank, 5, 6)
    attrs = d.attrs(strides=d.ints(rank, 1, 2), dilations=d.pick((d.ints(rank, 1, 2), None)))
    if d.flip(0.3):
        attrs["auto_pad"] = d.pick(("SAME_UPPER", "SAME_LOWER", "VALID"))
        attrs.pop("dilations", None)
    else:
        attrs |= d.attrs(pads=d.ints(2 * rank, 0, 1))
    return lengths, kernel, attrs


@cases("FusedConv", "NhwcFusedConv")
def fused_conv(d: Draw) -> Trial:
    """Groups, strides, padding, a tensor added, an activation."""
    rank = 2 if d.op.startswith("Nhwc") else d.int(1, 2)
    lengths, kernel, attrs = windows(d, rank)
    group, per, m = d.int(1, 2), d.int(1, 2), d.int(1, 2)
    x, w = d.floats(d.int(1, 2), group * per, *lengths), d.floats(group * m, per, *kernel)
    bias = d.perhaps(d.floats(group * m))
    attrs |= {"group": group} if group > 1 else {}
    attrs |= {"kernel_shape": kernel} if d.flip() else {}
    others: tuple[tuple[str, dict[str, float]], ...] = (("Clip", {"alpha": -0.5, "beta": 0.75}), ("", {}))
    if d.op == "FusedConv":
        others = (*others, ("HardSwish", {}))
    name, parameters = d.pick((*FUSED, *others))
    if name:
        attrs |= {"activation": name}
        attrs |= {"activation_params": list(parameters.values())} if parameters else {}
    if d.op.startswith("Nhwc"):
        x = np.ascontiguousarray(np.moveaxis(x, 1, -1))
    return Trial([x, w, bias], attrs)


@cases("NhwcMaxPool")
def nhwc_max_pool(d: Draw) -> Trial:
    """Bytes, with channels last."""
    rank = d.int(1, 2)
    lengths, kernel, attrs = windows(d, rank)
    x = d.bytes(d.int(1, 2), *lengths, d.int(1, 3), dtype=d.pick((np.uint8, np.int8)))
    if "pads" in attrs:
        attrs["pads"] = [min(p, kernel[k % rank] - 1) for k, p in enumerate(attrs["pads"])]
    return Trial([x], {**attrs, "kernel_shape": kernel, **d.attrs(ceil_mode=d.int(0, 1))})
