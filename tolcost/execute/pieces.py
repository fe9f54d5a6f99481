"""Taking whole values apart and putting them together, faults included; no grids, no counting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tolcost.atoms.nodes import Part, Type
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.execute.dtypes import DTYPES, Array, convert
from tolcost.execute.values import Piece, Value, check_size, tidy


def in_spaces(value: Value, types: Type) -> Value:
    """Give a value in the spaces of a type; as a rule it is that already."""
    if all(piece.data.dtype == DTYPES[part.space] for piece, part in zip(value, types, strict=True)):
        return value
    return tuple(
        Piece(convert(piece.data, part.space), piece.fault) for piece, part in zip(value, types, strict=True)
    )


def all_fault(piece: Piece, fault: int) -> Piece:
    """Make every element a fault."""
    return Piece(piece.data, np.full(piece.data.shape, fault, np.int32))


def scalar(data: Array) -> Array:
    """Give a number without its array where there is such a thing: it is quicker to compute with."""
    found: Any = data[()]
    return found if hasattr(found, "dtype") else data  # a text has none


def element(piece: Piece, at: tuple[int, ...]) -> Piece:
    """Read one element."""
    found = piece.data[at] if at else piece.data
    data: Array = found if hasattr(found, "dtype") else np.asarray(found)  # a text has none
    return Piece(data, None if piece.fault is None else tidy(np.asarray(piece.fault[at])))


def fault_array(piece: Piece) -> Array:
    """Give the fault of every element, 0 where there is none."""
    return np.zeros(piece.data.shape, np.int32) if piece.fault is None else piece.fault


def replaced(piece: Piece, at: tuple[int, ...], new: Piece) -> Piece:
    """Replace what is at a place."""
    data = np.array(piece.data)
    data[at] = new.data
    if piece.fault is None and new.fault is None:
        return Piece(data)
    fault = fault_array(piece).copy()
    fault[at] = fault_array(new)
    return Piece(data, tidy(fault))


def selected(piece: Piece, chosen: Array) -> Piece:
    """Keep the entries along the first dimension that are chosen."""
    return Piece(piece.data[chosen], None if piece.fault is None else tidy(piece.fault[chosen]))


def reshaped(piece: Piece, shape: tuple[int, ...]) -> Piece:
    """Give the elements another shape, in the same order."""
    return Piece(piece.data.reshape(shape), None if piece.fault is None else piece.fault.reshape(shape))


def joined(left: Piece, right: Piece, axis: int, part: Part) -> Piece:
    """Put two pieces one after the other along an axis."""
    check_size([left.data.size + right.data.size])
    data = np.concatenate([convert(left.data, part.space), convert(right.data, part.space)], axis)
    if left.fault is None and right.fault is None:
        return Piece(data)
    return Piece(data, np.concatenate([fault_array(left), fault_array(right)], axis))


def _stacked(members: list[Array]) -> Array:
    first = members[0]
    if first.shape or first.dtype.kind not in "biufc":
        return np.stack(members)
    return np.array(members, first.dtype)  # much the quicker for numbers


def stacked(members: Sequence[Piece], extents: tuple[int, ...]) -> Piece:
    """Lay members out in row-major order under the coordinates they belong to."""
    shape = (*extents, *members[0].data.shape)
    check_size(shape)
    if any(piece.data.shape != members[0].data.shape for piece in members):
        raise Rejected(Diagnostic("T0347", "the members of a ToL have different shapes"))
    data = _stacked([piece.data for piece in members]).reshape(shape)
    if all(piece.fault is None for piece in members):
        return Piece(data)
    return Piece(data, np.stack([fault_array(piece) for piece in members]).reshape(shape))
