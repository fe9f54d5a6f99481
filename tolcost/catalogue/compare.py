"""Whether two results are the same: exactly, or as closely as ONNX's own runner asks.

Nothing here is looser than that runner: floats within the case's tolerances (bfloat16 within two
units in the last place), everything else exactly, element types and shapes always.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from tolcost.catalogue.cases import Item
from tolcost.catalogue.types import Array

Difference: TypeAlias = Callable[[Array, Array], str | None]

_BFLOAT16_RTOL = 2.0**-6
_EXACT_KINDS = "biuOUST"
_RARELY = 2.7
"""Two samples of one distribution differ by more than this (Kolmogorov-Smirnov) once in a million."""


def shape_difference(ours: Item, theirs: Item) -> str | None:
    """How the shapes of two results differ; None if they do not."""
    return _each(ours, theirs, _shapes)


def value_difference(ours: Item, theirs: Item, rtol: float, atol: float) -> str | None:
    """How two results of one shape differ in type or value; None if they do not."""
    return _each(ours, theirs, lambda a, b: _types(a, b) or _values(a, b, rtol, atol))


def distribution_difference(ours: Item, theirs: Item) -> str | None:
    """How two random results differ in type or distribution; None if they do not."""
    return _each(ours, theirs, lambda a, b: _types(a, b) or _distributions(a, b))


def _each(ours: Item, theirs: Item, difference: Difference) -> str | None:
    if isinstance(ours, tuple) or isinstance(theirs, tuple):
        if not (isinstance(ours, tuple) and isinstance(theirs, tuple)):
            return "one is a sequence and the other is not"
        if len(ours) != len(theirs):
            return f"a sequence of {len(ours)}, not of {len(theirs)}"
        return next(filter(None, map(difference, ours, theirs)), None)
    if ours is None or theirs is None:
        return None if ours is theirs else "one of them is missing"
    return difference(ours, theirs)


def _shapes(ours: Array, theirs: Array) -> str | None:
    return None if ours.shape == theirs.shape else f"shape {list(ours.shape)}, not {list(theirs.shape)}"


def _types(ours: Array, theirs: Array) -> str | None:
    if ours.dtype.kind in "OUST" and theirs.dtype.kind in "OUST":
        return None
    return None if ours.dtype == theirs.dtype else f"element type {ours.dtype.name}, not {theirs.dtype.name}"


def _values(ours: Array, theirs: Array, rtol: float, atol: float) -> str | None:
    if ours.shape != theirs.shape:
        return "the shapes differ"
    if theirs.dtype.kind in _EXACT_KINDS or theirs.dtype.name.startswith(("int", "uint")):
        equal = np.asarray(ours == theirs)
    else:
        equal = _close(ours, theirs, rtol, atol)
    if equal.all():
        return None
    wrong = np.argwhere(~equal)
    at = tuple(wrong[0].tolist())
    return f"{len(wrong)} of {equal.size} elements differ, first {list(at)}: {ours[at]}, not {theirs[at]}"


def _close(ours: Array, theirs: Array, rtol: float, atol: float) -> Array:
    if theirs.dtype.name == "bfloat16":
        rtol = max(rtol, _BFLOAT16_RTOL)
    wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        return np.isclose(ours.astype(wide), theirs.astype(wide), rtol=rtol, atol=atol, equal_nan=True)


def _distributions(ours: Array, theirs: Array) -> str | None:
    """The Kolmogorov-Smirnov distance of two samples, held to what chance allows."""
    a, b = np.sort(ours.astype(np.float64).ravel()), np.sort(theirs.astype(np.float64).ravel())
    if not (a.size and b.size):
        return None
    every = np.concatenate([a, b])
    steps = np.searchsorted(a, every, "right") / a.size - np.searchsorted(b, every, "right") / b.size
    distance = float(np.abs(steps).max())
    allowed = _RARELY * math.sqrt((a.size + b.size) / (a.size * b.size))
    if distance <= allowed:
        return None
    return f"the distributions differ by {distance:.3f}, chance allows {allowed:.3f}"
