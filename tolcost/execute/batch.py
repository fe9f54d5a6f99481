"""Values on a grid: broadcasting them to deeper grids, choosing between them, reading their members.

Lengths that vary over a grid are padded to the largest; the padding is arbitrary and never reaches a result,
because every reader knows the true lengths.

Indices that are affine in the coordinates and stay in range are read through a strided view, without copying:
rows, columns, diagonals and sliding windows alike.  All other indices go through NumPy's fancy indexing,
clipped to the range; an index out of range becomes a fault, but only at points that exist.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.lib.stride_tricks import as_strided

from tolcost.atoms.nodes import Type
from tolcost.diagnostics import refuse
from tolcost.execute import values
from tolcost.execute.dtypes import Array
from tolcost.execute.grid import Affine, Grid
from tolcost.execute.values import MOST_TOLD, Piece, check_size, first_fault, tidy


class Batch(Struct, frozen=True):
    """A value on a grid of some depth: its first ``depth`` axes belong to the grid.

    The fault of a piece has the rank of its data, and the two broadcast against each other: an axis that
    matters to only one of them has size 1 in the other.
    """

    pieces: tuple[Piece, ...]
    depth: int

    def own(self, j: int = 0) -> tuple[int, ...]:
        """Return the (padded) shape of a component."""
        shape: tuple[int, ...] = self.pieces[j].data.shape
        return shape[self.depth :]


def each(batch: Batch, change: Callable[[Array], Array], depth: int | None = None) -> Batch:
    """Apply a rearrangement to the elements of every piece and to their faults."""
    pieces = (
        Piece(change(piece.data), None if piece.fault is None else change(whole_fault(piece, batch.depth)))
        for piece in batch.pieces
    )
    return Batch(tuple(pieces), batch.depth if depth is None else depth)


def spread(array: Array, shape: tuple[int, ...]) -> Array:
    """Broadcast axes of size 1, without copying."""
    return array if array.shape == shape else np.broadcast_to(array, shape)


def whole_fault(piece: Piece, depth: int) -> Array:
    """Return the fault of every element, 0 where there is none, in the shape of the elements."""
    own = piece.data.shape[depth:]
    if piece.fault is None:
        return np.zeros((1,) * depth + own, np.int32)
    return spread(piece.fault, piece.fault.shape[:depth] + own)


def lift(batch: Batch, depth: int) -> Batch:
    """Move a value to a deeper grid; it does not depend on the added coordinates."""
    if batch.depth == depth:
        return batch
    place, added = batch.depth, (1,) * (depth - batch.depth)
    pieces = tuple(
        Piece(
            _inserted(piece.data, place, added),
            None if piece.fault is None else _inserted(piece.fault, place, added),
        )
        for piece in batch.pieces
    )
    return Batch(pieces, depth)


def _inserted(array: Array, place: int, added: tuple[int, ...]) -> Array:
    return array.reshape(array.shape[:place] + added + array.shape[place:])


def reshaped(piece: Piece, own: tuple[int, ...], depth: int) -> Piece:
    """Reshape a piece within its own axes, keeping the order of elements."""
    shape = piece.data.shape
    fault = None if piece.fault is None else whole_fault(piece, depth)
    moved = None if fault is None else fault.reshape(fault.shape[:depth] + own)
    return Piece(piece.data.reshape(shape[:depth] + own), moved)


def constant(data: Array, depth: int) -> Batch:
    """Return a numeric as a value on a grid; arrays already have the grid's axes."""
    return Batch((Piece(data.reshape((1,) * depth) if data.ndim == 0 else data),), depth)


def in_spaces(batch: Batch, types: Type, bits: bool = False) -> Batch:
    """Return the values (or the same bits) in the spaces of a type."""
    return Batch(values.in_spaces(batch.pieces, types, bits), batch.depth)


def choose(condition: Array, then: Batch, other: Batch) -> Batch:
    """Take one value where a condition on the grid holds, and another elsewhere."""
    pieces = (_chosen(condition, a, b, then.depth) for a, b in zip(then.pieces, other.pieces, strict=True))
    return Batch(tuple(pieces), then.depth)


def _chosen(condition: Array, then: Piece, other: Piece, depth: int) -> Piece:
    then, other = _pad_to_common(then, other, depth)
    picks = condition.reshape(condition.shape + (1,) * (then.data.ndim - depth))
    data = np.where(picks, then.data, other.data)
    if then.fault is None and other.fault is None:
        return Piece(data)
    none = np.zeros((1,) * data.ndim, np.int32)
    faults = [none if piece.fault is None else piece.fault for piece in (then, other)]
    return Piece(data, tidy(np.where(picks, *faults)))


def _pad_to_common(a: Piece, b: Piece, depth: int) -> tuple[Piece, Piece]:
    """Pad two pieces to a common shape; without a grid their shapes must be equal."""
    left, right = a.data.shape[depth:], b.data.shape[depth:]
    if left == right:
        return a, b
    if depth == 0 or len(left) != len(right):
        refuse("T0347", "two values that have to agree in shape do not")
    own = tuple(map(max, left, right))
    return pad(a, own, depth), pad(b, own, depth)


def pad(piece: Piece, own: tuple[int, ...], depth: int) -> Piece:
    """Pad a piece to a larger own shape."""
    shape = piece.data.shape
    if shape[depth:] == own:
        return piece
    widths = [(0, 0)] * depth + [(0, new - old) for new, old in zip(own, shape[depth:], strict=True)]
    fault = None if piece.fault is None else np.pad(whole_fault(piece, depth), widths)
    return Piece(np.pad(piece.data, widths), fault)


def with_fault(batch: Batch, fault: Array | None) -> Batch:
    """Mark every element as faulty where a fault on the grid is set."""
    if fault is None:
        return batch
    pieces = []
    for piece in batch.pieces:
        wide = fault.reshape(fault.shape + (1,) * (piece.data.ndim - batch.depth))
        pieces.append(Piece(piece.data, tidy(first_fault([wide, piece.fault]))))
    return Batch(tuple(pieces), batch.depth)


def fill_axes(batch: Batch, grid: Grid, depth: int) -> Batch:
    """Turn the axes of a grid, from ``depth`` on, into the leading axes of the value's own shape."""
    sizes = tuple(axis.size for axis in grid.axes[depth:])

    def filled(array: Array) -> Array:
        return spread(array, array.shape[:depth] + sizes + array.shape[grid.depth :])

    return each(batch, filled, depth)


def concatenate(batches: Sequence[Batch], axis: int) -> Batch:
    """Concatenate values along an axis of their arrays; all other lengths agree."""
    if len(batches) == 1:
        return batches[0]
    depth = batches[0].depth
    columns = zip(*(batch.pieces for batch in batches), strict=True)
    return Batch(tuple(_concatenated(column, axis, depth) for column in columns), depth)


def _concatenated(pieces: Sequence[Piece], axis: int, depth: int) -> Piece:
    data = _concatenate_arrays([piece.data for piece in pieces], axis, depth)
    if all(piece.fault is None for piece in pieces):
        return Piece(data)
    return Piece(data, _concatenate_arrays([whole_fault(piece, depth) for piece in pieces], axis, depth))


def _concatenate_arrays(arrays: Sequence[Array], axis: int, depth: int) -> Array:
    """Concatenate arrays; other grid axes are broadcast, other own axes padded."""
    most = [max(sizes) for sizes in zip(*(array.shape for array in arrays), strict=True)]
    check_size([*most[:axis], sum(array.shape[axis] for array in arrays), *most[axis + 1 :]])
    return np.concatenate([_fitted(array, most, axis, depth) for array in arrays], axis)


def _fitted(array: Array, most: list[int], axis: int, depth: int) -> Array:
    shape = tuple(size if k == axis else most[k] for k, size in enumerate(array.shape))
    if shape[depth:] != array.shape[depth:]:
        if depth == 0:
            refuse("T0347", "the members of a ToL have different shapes")
        missing = (new - old for new, old in zip(shape[depth:], array.shape[depth:], strict=True))
        array = np.pad(array, [*[(0, 0)] * depth, *((0, width) for width in missing)])
    return spread(array, shape)


GridIndex: TypeAlias = Affine | Array
"""A 1-based index at every point: affine, or an array with the grid's axes."""


def strided(tol: Batch, index: Sequence[Affine], grid: Grid) -> Batch:
    """Read members, as a view, at affine indices that are known to be in range."""
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
        return np.asarray(data[at], data.dtype)
    sliced = _sliced(data, index, grid)
    if sliced is not None:
        return sliced
    shape, strides = [], []
    for place, axis in enumerate(grid.axes):
        step = data.strides[place] if data.shape[place] > 1 else 0
        moves = [form.steps[place] for form in index if place in form.steps]
        for d, form in enumerate(index):
            step += form.steps.get(place, 0) * data.strides[depth + d]
        shape.append(axis.size if any(moves) or data.shape[place] > 1 else 1)
        strides.append(step)
    origin = data[(slice(None),) * depth + tuple(slice(form.origin - 1, None) for form in index)]
    if data.dtype.isbuiltin != 1:  # NumPy's array interface supports only its own element types
        raw = as_strided(origin.view(f"u{data.itemsize}"), shape, strides, writeable=False)
        return raw.view(data.dtype)
    return as_strided(origin, shape, strides, writeable=False)


def _sliced(data: Array, index: Sequence[Affine], grid: Grid) -> Array | None:
    """Read by slices, which is much faster, if each index moves with at most one coordinate, its own."""
    at: list[int | slice] = [slice(None)] * grid.depth
    moving: list[int] = []
    for form in index:
        if not form.steps:
            at.append(form.origin - 1)
            continue
        (place, step), *others = form.steps.items()
        size = grid.axes[place].size
        if others or step < 1 or size < 1 or place in moving or data.shape[place] > 1:
            return None
        moving.append(place)
        at[place] = 0
        at.append(slice(form.origin - 1, form.origin + step * (size - 1), step))
    found = data[tuple(at)]
    order = [place for place in range(grid.depth) if place not in moving] + moving
    if order == sorted(order):
        return found
    return found.transpose(sorted(range(grid.depth), key=order.__getitem__))


def stays_in_range(index: Sequence[GridIndex], lengths: Sequence[int | Array], grid: Grid) -> bool:
    """Whether all indices are affine and in range at every point, masked points included."""
    for form, length in zip(index, lengths, strict=False):
        if not isinstance(form, Affine) or not isinstance(length, int):
            return False
        low, high = form.range_on(grid)
        if low < 1 or high > length:
            return False
    return True


def values_of(form: GridIndex, grid: Grid) -> Array:
    """Return an index as an array with the grid's axes."""
    if not isinstance(form, Affine):
        return form
    result = np.full((1,) * grid.depth, form.origin, np.int64)
    for place, step in form.steps.items():
        result = result + step * (grid.coordinate(place) - grid.axes[place].lo)
    return result


def clipped(
    index: Sequence[GridIndex],
    lengths: Sequence[int | Array],
    own: Sequence[int],
    grid: Grid,
    number: Callable[[int, int], int],
) -> tuple[list[Array], Array | None]:
    """Return 0-based indices inside the arrays, and the fault at points that were out of range."""
    inside: list[Array] = []
    fault: Array | None = None
    for form, length, size in zip(index, lengths, own, strict=False):
        wanted = values_of(form, grid)
        bad = (wanted < 1) | (wanted > length)
        if bad.any():
            bad = bad if grid.mask is None else bad & grid.mask
            fault = first_fault([fault, tidy(_number_faults(bad, wanted, length, number))])
        inside.append(np.clip(wanted, 1, max(size, 1)).astype(np.int64) - 1)
    return inside, fault


def _number_faults(
    bad: Array, wanted: Array, length: int | Array, number: Callable[[int, int], int]
) -> Array:
    """Number out-of-range positions; the first few get distinct fault numbers, all later ones share one."""
    wanted, length, _ = np.broadcast_arrays(wanted, length, bad)
    bad = np.broadcast_to(bad, wanted.shape)
    found = np.zeros(bad.shape, np.int32)
    left = bad
    for _ in range(MOST_TOLD + 1):
        first = np.unravel_index(np.argmax(left), left.shape)
        if not left[first]:
            return found
        alike = left & (wanted == wanted[first]) & (length == length[first])
        found[alike] = last = number(int(wanted[first]), int(length[first]))
        left = left & ~alike
    found[left] = last
    return found


def grid_index(data: Array, grid: Grid) -> list[Array]:
    """Return the indices that run over the grid's own axes of an array."""
    return [
        grid.coordinate(place) - axis.lo if data.shape[place] > 1 else np.zeros((1,) * grid.depth, np.int64)
        for place, axis in enumerate(grid.axes)
    ]


def gathered(tol: Batch, inside: list[Array], fault: Array | None, grid: Grid) -> Batch:
    """Read members at arbitrary indices inside the arrays."""
    pieces = []
    for piece in tol.pieces:
        if 0 in tol.own():
            pieces.append(Piece(np.zeros((1,) * grid.depth, piece.data.dtype)))
            continue
        at = (*grid_index(piece.data, grid), *inside)
        data = np.asarray(piece.data[at], piece.data.dtype) if at else piece.data
        pieces.append(Piece(data, _gathered_fault(piece, inside, grid)))
    return with_fault(Batch(tuple(pieces), tol.depth), fault)


def _gathered_fault(piece: Piece, inside: list[Array], grid: Grid) -> Array | None:
    if piece.fault is None:
        return None
    fault = whole_fault(piece, grid.depth)
    return tidy(np.asarray(fault[(*grid_index(fault, grid), *inside)]))


def replaced(tol: Batch, inside: list[Array], value: Batch, fault: Array | None, grid: Grid) -> Batch:
    """Replace members at arbitrary indices inside the arrays."""
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
    """Copy an array with members replaced; new members may have less padding than the old ones."""
    depth = grid.depth
    leading = np.broadcast_shapes(old.shape[:depth], new.shape[:depth], *(i.shape for i in inside))
    copy = np.array(spread(old, (*leading, *old.shape[depth:])), np.result_type(old, new))
    if copy.size:
        at: list[Array | slice] = [*grid_index(copy, grid), *inside]
        at.extend(slice(0, size) for size in new.shape[depth:])
        copy[tuple(at)] = new[()]
    return copy
