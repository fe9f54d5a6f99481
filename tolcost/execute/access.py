"""Member, Put and Filter on a grid: working out where, then reading or replacing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tolcost.algebra import Poly
from tolcost.atoms.nodes import Filter, Member, Node, Part, Put
from tolcost.execute.batch import (
    Batch,
    Index,
    clipped,
    each,
    gathered,
    in_spaces,
    replaced,
    stays_in_range,
    strided,
)
from tolcost.execute.dtypes import Array, convert
from tolcost.execute.grid import Affine, Grid, NeedsLoop, affine_on_grid, count_volume, poly_on_grid, varying
from tolcost.execute.values import first_fault

if TYPE_CHECKING:
    from tolcost.execute.machine import Machine


def member(machine: Machine, node: Member, args: list[Batch], grid: Grid) -> Batch:
    """Read a member at every point."""
    tol = args[0]
    index, fault = _indices(machine, node.at, args[1:], grid)
    lengths = _lengths(machine, node.tol.type[0], tol.own(), grid)
    if stays_in_range(index, lengths, grid):
        return strided(tol, [form for form in index if isinstance(form, Affine)], grid)
    place = machine.faults.number(node.span, "a member is read out of range")
    inside, outside = clipped(index, lengths, tol.own(), grid, place)
    return gathered(tol, inside, first_fault([fault, outside]), grid)


def put(machine: Machine, node: Put, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Replace a member at every point."""
    tol, value = args[0], in_spaces(args[-1], node.type)
    machine.relay(node.type, tol, grid, times)
    for j, part in enumerate(node.value.type):
        if tol.own(j):
            machine.tally.atoms["member"] -= count_volume(part, value.own(j), grid, machine.env) * times
    index, fault = _indices(machine, node.at, args[1:-1], grid)
    place = machine.faults.number(node.span, "a member is replaced out of range")
    lengths = _lengths(machine, node.tol.type[0], tol.own(), grid)
    inside, outside = clipped(index, lengths, tol.own(), grid, place)
    return replaced(tol, inside, value, first_fault([fault, outside]), grid)


def filtered(machine: Machine, node: Filter, args: list[Batch], grid: Grid, times: int) -> Batch:
    """Keep the entries a mask chooses; the mask must be one and the same at all points."""
    tol, mask = args
    shapes = (*(piece.data.shape for piece in tol.pieces), mask.pieces[0].data.shape)
    moving = frozenset().union(*(varying(shape[: grid.depth], grid) for shape in shapes))
    if moving:
        raise NeedsLoop(moving)
    machine.demand_fixed([length for part in node.tol.type for length in part.shape[:1]], grid)
    machine.faults.check(mask.pieces)
    chosen = np.flatnonzero(mask.pieces[0].data.reshape(-1) != 0)
    machine.env[node.length] = chosen.size
    machine.tally.atoms["norm"] += times * grid.points
    kept = each(tol, lambda array: np.take(array, chosen, axis=grid.depth))
    machine.relay(node.type, kept, grid, times)
    return kept


def _indices(
    machine: Machine, at: tuple[Poly | Node, ...], values: Sequence[Batch], grid: Grid
) -> tuple[list[Index], Array | None]:
    """Give the indices at every point, and the faults of those that are computed."""
    computed = iter(values)
    found: list[Index] = []
    faults: list[Array | None] = []
    for index in at:
        if isinstance(index, Poly):
            form = affine_on_grid(index, grid, machine.env)
            found.append(np.asarray(poly_on_grid(index, grid, machine.env)) if form is None else form)
        else:
            piece = next(computed).pieces[0]
            found.append(convert(piece.data, "Z"))
            faults.append(piece.fault)
    return found, first_fault(faults)


def _lengths(machine: Machine, part: Part, own: Sequence[int], grid: Grid) -> list[int | Array]:
    """Give the true lengths: as found, unless they vary over the grid."""
    return [
        size if length.free.isdisjoint(grid.places) else poly_on_grid(length, grid, machine.env)
        for length, size in zip(part.shape, own, strict=True)
    ]
