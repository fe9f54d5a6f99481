"""Reading and replacing members for a whole grid of coordinates at once.

Indices that are affine in the coordinates and stay in range read through a strided view,
without copying: rows, columns, diagonals and sliding windows alike.  All others go through
NumPy's fancy indexing, clipped to the range; what was out of range becomes a fault, but only
at points that are really there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from tolcost.execute.batch import Batch, spread, whole_fault, with_fault
from tolcost.execute.dtypes import Array
from tolcost.execute.grid import Grid
from tolcost.execute.statics import Affine
from tolcost.execute.values import Piece, tidy

Index: TypeAlias = Affine | Array
"""A 1-based index at every point: affine, or an array with the grid's axes."""


def strided(tol: Batch, index: Sequence[Affine], grid: Grid) -> Batch:
    """Read members at affine indices that are known to be in range, as a view."""
    return Batch(tuple(_strided_piece(piece, index, grid) for piece in tol.pieces), tol.depth)


def _strided_piece(piece: Piece, index: Sequence[Affine], grid: Grid) -> Piece:
    data = _window(piece.data, index, grid)
    if piece.fault is None:
        return Piece(data)
    return Piece(data, tidy(_window(whole_fault(piece, grid.depth), index, grid)))


def _window(data: Array, index: Sequence[Affine], grid: Grid) -> Array:
    depth = grid.depth
    if not any(form.steps for form in index):
        at = (slice(None),) * depth + tuple(form.origin - 1 for form in index)
        return np.asarray(data[at])
    shape, strides = [], []
    for place, axis in enumerate(grid.axes):
        step = data.strides[place] if data.shape[place] > 1 else 0
        moves = [form.steps[place] for form in index if place in form.steps]
        for d, form in enumerate(index):
            step += form.steps.get(place, 0) * data.strides[depth + d]
        shape.append(axis.size if any(moves) or data.shape[place] > 1 else 1)
        strides.append(step)
    origin = data[(slice(None),) * depth + tuple(slice(form.origin - 1, None) for form in index)]
    if data.dtype.isbuiltin != 1:  # NumPy's array interface knows only its own element types
        raw = as_strided(origin.view(f"u{data.itemsize}"), shape, strides, writeable=False)
        return raw.view(data.dtype)
    return as_strided(origin, shape, strides, writeable=False)


def stays_in_range(index: Sequence[Index], lengths: Sequence[int | Array], grid: Grid) -> bool:
    """Tell whether all indices are affine and in range at every point, there or not."""
    for form, length in zip(index, lengths, strict=False):
        if not isinstance(form, Affine) or not isinstance(length, int):
            return False
        low, high = form.range_on(grid)
        if low < 1 or high > length:
            return False
    return True


def values_of(form: Index, grid: Grid) -> Array:
    """Give an index as an array with the grid's axes."""
    if not isinstance(form, Affine):
        return form
    result = np.full((1,) * grid.depth, form.origin, np.int64)
    for place, step in form.steps.items():
        result = result + step * (grid.coordinate(place) - grid.axes[place].lo)
    return result


def clipped(
    index: Sequence[Index], lengths: Sequence[int | Array], own: Sequence[int], grid: Grid, number: int
) -> tuple[list[Array], Array | None]:
    """Give 0-based indices inside the arrays, and the fault at points that were out of range."""
    inside: list[Array] = []
    outside: Array | None = None
    for form, length, size in zip(index, lengths, own, strict=False):
        wanted = values_of(form, grid)
        bad = (wanted < 1) | (wanted > length)
        if bad.any():
            outside = bad if outside is None else outside | bad
        inside.append(np.clip(wanted, 1, max(size, 1)).astype(np.int64) - 1)
    if outside is None:
        return inside, None
    if grid.mask is not None:
        outside = outside & grid.mask
    return inside, tidy(np.where(outside, np.int32(number), np.int32(0)))


def grid_index(data: Array, grid: Grid) -> list[Array]:
    """Give the indices that walk the grid's own axes of an array."""
    return [
        grid.coordinate(place) - axis.lo if data.shape[place] > 1 else np.zeros((1,) * grid.depth, np.int64)
        for place, axis in enumerate(grid.axes)
    ]


def gathered(tol: Batch, inside: list[Array], fault: Array | None, grid: Grid) -> Batch:
    """Read members at any indices inside the arrays."""
    pieces = []
    for piece in tol.pieces:
        if 0 in tol.own():
            pieces.append(Piece(np.zeros((1,) * grid.depth, piece.data.dtype)))
            continue
        at = (*grid_index(piece.data, grid), *inside)
        data = np.asarray(piece.data[at]) if at else piece.data
        pieces.append(Piece(data, _gathered_fault(piece, inside, grid)))
    return with_fault(Batch(tuple(pieces), tol.depth), fault)


def _gathered_fault(piece: Piece, inside: list[Array], grid: Grid) -> Array | None:
    if piece.fault is None:
        return None
    fault = whole_fault(piece, grid.depth)
    return tidy(np.asarray(fault[(*grid_index(fault, grid), *inside)]))


def replaced(tol: Batch, inside: list[Array], value: Batch, fault: Array | None, grid: Grid) -> Batch:
    """Replace members at any indices inside the arrays."""
    pieces = tuple(
        _replaced_piece(old, inside, new, grid) for old, new in zip(tol.pieces, value.pieces, strict=True)
    )
    return with_fault(Batch(pieces, tol.depth), fault)


def _replaced_piece(old: Piece, inside: list[Array], new: Piece, grid: Grid) -> Piece:
    data = _overwritten(old.data, inside, new.data, grid)
    if old.fault is None and new.fault is None:
        return Piece(data)
    faults = [whole_fault(piece, grid.depth) for piece in (old, new)]
    return Piece(data, tidy(_overwritten(faults[0], inside, faults[1], grid)))


def _overwritten(old: Array, inside: list[Array], new: Array, grid: Grid) -> Array:
    """Copy an array with members replaced; new members may be padded less than the old ones."""
    depth = grid.depth
    leading = np.broadcast_shapes(old.shape[:depth], new.shape[:depth], *(i.shape for i in inside))
    copy = np.array(spread(old, (*leading, *old.shape[depth:])))
    if copy.size:
        at: list[Array | slice] = [*grid_index(copy, grid), *inside]
        at.extend(slice(0, size) for size in new.shape[depth:])
        copy[tuple(at)] = new
    return copy
