"""Reducing and contracting arrays over the axes of a fold."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tolcost.execute.dtypes import Array, convert, dtype_of, working_dtype
from tolcost.execute.functions import apply_function
from tolcost.spaces import SPACES, kind_of

_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}
_LOGICAL: dict[str, tuple[np.ufunc, np.ufunc]] = {
    "and": (np.logical_and, np.bitwise_and),
    "or": (np.logical_or, np.bitwise_or),
    "xor": (np.logical_xor, np.bitwise_xor),
}
_EXACT_FLOAT = 2**53


def reduce_axes(function: str, space: str, data: Array, axes: tuple[int, ...]) -> Array:
    """Reduce over some axes, none of them empty, which stay with size 1.

    Narrow types are reduced in a wider one and rounded once at the end.

    >>> reduce_axes("add", "int8", np.array([[100, 100]], np.int8), (1,)).tolist()
    [[-56]]
    """
    ready = convert(data, space).astype(working_dtype(space), copy=False)
    ufunc = _ufunc(function, ready.dtype)
    for axis in _one_at_a_time(ufunc, axes):
        ready = ufunc.reduce(ready, axis=axis, keepdims=True, dtype=_kept(ufunc, ready.dtype))
    return convert(ready, space)


def _ufunc(function: str, dtype: np.dtype[Any]) -> np.ufunc:
    if function in _UFUNCS:
        return _UFUNCS[function]
    on_truth, on_bits = _LOGICAL[function]
    return on_truth if dtype == np.bool_ else on_bits


def _one_at_a_time(ufunc: np.ufunc, axes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Some functions reduce one axis per call only."""
    return [axes] if ufunc in (np.add, np.multiply, np.maximum, np.minimum) else [(axis,) for axis in axes]


def _kept(ufunc: np.ufunc, dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """Keep the element type: NumPy would widen sums of small integers."""
    return dtype if ufunc in (np.add, np.multiply) else None


def identity(function: str, space: str) -> Array:
    """Give the value that changes nothing."""
    dtype = dtype_of(space)
    match function:
        case "add" | "or" | "xor":
            return np.zeros((), dtype)
        case "mul":
            return np.ones((), dtype)
        case "and":
            return np.ones((), np.bool_) if kind_of(space) == "B" else np.asarray(-1).astype(dtype)
        case _:
            return _extreme(dtype, space, lowest=function == "max")


def _extreme(dtype: np.dtype[Any], space: str, lowest: bool) -> Array:
    if kind_of(space) == "Z":
        limits = SPACES["int64"] if SPACES[space].bits is None else SPACES[space]
        return np.asarray(limits.lo if lowest else limits.hi).astype(dtype)
    return np.asarray(-np.inf if lowest else np.inf).astype(dtype)


def combine(function: str, space: str, left: Array, right: Array) -> Array:
    """Apply the function of a reduction once, to what two parts of it gave."""
    return apply_function(function, space, space, [left, right])


def contract(a: Array, b: Array, space: str, sizes: Sequence[int], over: frozenset[int]) -> Array:
    """Sum the products of two arrays over some axes, which stay with size 1.

    Both arrays have one axis for each of ``sizes``, of that size or of size 1.

    >>> x = np.arange(6.0).reshape(2, 3, 1)
    >>> contract(x, np.ones((1, 3, 4)), "R", (2, 3, 4), frozenset((1,)))[:, 0].tolist()
    [[3.0, 3.0, 3.0, 3.0], [12.0, 12.0, 12.0, 12.0]]
    """
    dtype = working_dtype(space)
    left, right = (_filled(convert(x, space).astype(dtype, copy=False), sizes, over) for x in (a, b))
    both = [k for k in range(len(sizes)) if left.shape[k] > 1 and right.shape[k] > 1]
    batch = [k for k in both if k not in over]
    inner = [k for k in both if k in over]
    rows = [k for k in range(len(sizes)) if left.shape[k] > 1 and k not in both]
    columns = [k for k in range(len(sizes)) if right.shape[k] > 1 and k not in both]
    product = _multiply(_matrix(left, batch, rows, inner), _matrix(right, batch, inner, columns))
    order = [*batch, *rows, *columns]
    shape = [max(left.shape[k], right.shape[k]) for k in order]
    laid = product.reshape(shape).transpose(np.argsort(order) if order else [])
    full = [max(left.shape[k], right.shape[k]) if k in order else 1 for k in range(len(sizes))]
    return convert(laid.reshape(full), space)


def _filled(x: Array, sizes: Sequence[int], over: frozenset[int]) -> Array:
    """Repeat along summed axes that an array does not vary along: the terms are there each time."""
    shape = tuple(sizes[k] if k in over else size for k, size in enumerate(x.shape))
    return x if shape == x.shape else np.broadcast_to(x, shape)


def _matrix(x: Array, batch: list[int], rows: list[int], columns: list[int]) -> Array:
    """Lay an array out as a stack of matrices."""
    order = [*batch, *rows, *columns]
    rest = [k for k in range(x.ndim) if k not in order]
    sizes = [prod(x.shape[k] for k in group) for group in (batch, rows, columns)]
    return x.transpose(*order, *rest).reshape(sizes)


def _multiply(a: Array, b: Array) -> Array:
    if a.shape[1] == 1 and b.shape[2] == 1:
        return np.asarray(np.einsum("brk,bkc->brc", a, b))
    if a.dtype.kind in "iu" and _fits_floats(a, b):
        exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
        return np.asarray(exact.astype(np.int64).astype(a.dtype))
    return np.asarray(np.matmul(a, b))


def _fits_floats(a: Array, b: Array) -> bool:
    """Tell whether float64 holds every partial sum exactly; it multiplies matrices far faster."""
    reach = [max(abs(int(x.max(initial=0))), abs(int(x.min(initial=0)))) for x in (a, b)]
    return bool(reach[0] * reach[1] * a.shape[2] < _EXACT_FLOAT)
