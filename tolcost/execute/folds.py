"""Evaluating a Fold on a grid: at once where it is a reduction, else step by step.

Stepping visits the fold's own coordinates one after the other, each step for all points of the
grid around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from tolcost.algebra import Poly, Symbol
from tolcost.atoms.nodes import Fold
from tolcost.execute.batch import Batch, choose, in_spaces, spread
from tolcost.execute.dtypes import Array
from tolcost.execute.footprint import footprint
from tolcost.execute.functions import apply_function
from tolcost.execute.grid import Grid, NeedsLoop, extend, largest, restrict, split
from tolcost.execute.patterns import Reduction, recognise
from tolcost.execute.reduce import combine, contract, identity, reduce_axes
from tolcost.execute.statics import cond_on_grid, poly_on_grid
from tolcost.execute.values import Piece, first_fault, tidy

if TYPE_CHECKING:
    from tolcost.execute.machine import Machine

MAX_ELEMENTS = 2**23
"""A reduction that needs more elements at a time is done in parts."""


@dataclass(frozen=True, slots=True)
class Deferred:
    """A Build that is not made, because a fold reduces its members; and how often it counts."""

    build: Build
    times: int


def fold(machine: Machine, node: Fold, start: Batch, grid: Grid, times: int) -> Batch:
    """Evaluate a Fold at every point of a grid."""
    first = in_spaces(start, node.accumulator.type)
    reduction = machine.reductions[node]
    nested = len(machine.nest)
    machine.nest.extend(node.coords)
    try:
        if reduction is not None:
            saved = machine.tally.snapshot()
            try:
                return _at_once(machine, node, reduction, first, grid, times)
            except NeedsLoop as need:
                if need.symbols.isdisjoint(_coordinates(machine, node, reduction)):
                    raise
                machine.reductions[node] = None
                machine.tally.restore(saved)
        return _stepped(machine, node, first, grid, times)
    finally:
        del machine.nest[nested:]


def _coordinates(machine: Machine, node: Fold, reduction: Reduction) -> tuple[Symbol, ...]:
    """Give the coordinates a reduction does at once, also those of a Build it looks through."""
    deferred = _deferred(machine, reduction)
    return node.coords if deferred is None else (*node.coords, *deferred.build.coords)


def _deferred(machine: Machine, reduction: Reduction) -> Deferred | None:
    return None if reduction.through is None else machine.deferred.get(reduction.through)


# ---- step by step ----------------------------------------------------------------------------


def _stepped(machine: Machine, node: Fold, start: Batch, grid: Grid, times: int) -> Batch:
    accumulator = start
    for here in _steps(machine, node.coords, node.extents, grid):
        machine.vars[node.accumulator] = accumulator
        stepped = in_spaces(machine.visit(node.body, here, times), node.type)
        everywhere = here.mask is None or here.points == grid.points
        accumulator = stepped if everywhere else choose(_mask(here), stepped, accumulator)
    return accumulator


def _mask(grid: Grid) -> Array:
    return np.ones((1,) * grid.depth, np.bool_) if grid.mask is None else grid.mask


def _steps(
    machine: Machine, coords: tuple[Symbol, ...], extents: tuple[Poly, ...], grid: Grid
) -> Iterator[Grid]:
    """Bind the coordinates in row-major order; give the points that take part each time."""
    if not coords:
        yield grid
        return
    extent = poly_on_grid(extents[0], grid, machine.env)
    for k in range(1, largest(extent, grid) + 1):
        machine.env[coords[0]] = k
        here = grid if isinstance(extent, int) else restrict(grid, np.asarray(k <= extent))
        if here.points:
            yield from _steps(machine, coords[1:], extents[1:], here)


# ---- at once ---------------------------------------------------------------------------------


def _reduced(
    machine: Machine, node: Fold, reduction: Reduction, start: Batch, grid: Grid, times: int
) -> Batch:
    wide = grid
    for symbol, extent in zip(node.coords, node.extents, strict=True):
        wide = extend(wide, symbol, poly_on_grid(extent, wide, machine.env))
        if wide.points == 0:
            return start
    accumulator = start.pieces[0]
    for part in split(wide, grid.depth, _limit(machine, reduction, wide))[1]:
        found = _partial(machine, reduction, part, grid, times) if part.points else None
        if found is not None:
            space = reduction.step.space
            data = combine(reduction.step.function, space, accumulator.data, found.data)
            accumulator = Piece(data, first_fault([accumulator.fault, found.fault]))
    return Batch((accumulator,), grid.depth)


def _limit(machine: Machine, reduction: Reduction, wide: Grid) -> int:
    """Give the number of points to do at a time: few elements may serve many points."""
    if wide.size <= MAX_ELEMENTS:
        return wide.size
    needed = max(footprint(machine, plan, wide) for plan in (reduction.outside, reduction.inside))
    return max(1, MAX_ELEMENTS * wide.size // needed)


def _partial(machine: Machine, reduction: Reduction, part: Grid, grid: Grid, times: int) -> Piece | None:
    """Reduce over the points of a part; ``None`` if its guard holds nowhere."""
    machine.follow(reduction.outside, part, times)
    inner = _guarded(machine, reduction, part)
    if inner.points == 0:
        return None
    step, product = reduction.step, reduction.product
    values = machine.follow(reduction.inside, inner, times)
    machine.tally.apply(step.function, step.space, step.charge, times * inner.points)
    over = range(grid.depth, part.depth)
    complete = inner.points == grid.points * prod(part.axes[k].size for k in over)
    mask = None if complete else inner.mask
    if product is None:
        return _total(step.function, step.space, values[-1].pieces[0], mask, part, grid)
    machine.tally.apply("mul", product.space, product.charge, times * inner.points)
    left, right = values[-2].pieces[0], values[-1].pieces[0]
    return _sum_of_products(step.space, left, right, mask, part, grid)


def _guarded(machine: Machine, reduction: Reduction, part: Grid) -> Grid:
    if reduction.condition is None:
        return part
    condition = cond_on_grid(reduction.condition, part, machine.env)
    return restrict(part, condition if reduction.on_true else _opposite(condition))


def _opposite(condition: bool | Array) -> bool | Array:
    return not condition if isinstance(condition, bool) else ~condition


def _total(function: str, space: str, piece: Piece, mask: Array | None, part: Grid, grid: Grid) -> Piece:
    over = tuple(range(grid.depth, part.depth))
    data = piece.data
    if mask is not None:
        data = np.where(mask, data, identity(function, space))
    full = data.shape[: grid.depth] + tuple(part.axes[k].size for k in over)
    result = reduce_axes(function, space, spread(data, full), over)
    fault = piece.fault
    if fault is not None:
        fault = fault if mask is None else np.where(mask, fault, 0)
        fault = tidy(_without(fault.max(axis=over, keepdims=True), grid.depth))
    return Piece(_without(result, grid.depth), fault)


def _without(array: Array, depth: int) -> Array:
    """Drop axes that were reduced."""
    return array.reshape(array.shape[:depth])


def _sum_of_products(
    space: str, left: Piece, right: Piece, mask: Array | None, part: Grid, grid: Grid
) -> Piece:
    """Contract where nothing out of the ordinary can get in the way, else multiply and add."""
    plain = left.fault is None and right.fault is None
    if mask is not None and not (plain and _is_finite(left.data) and _is_finite(right.data)):
        plain = False
    if not plain:
        data = apply_function("mul", space, space, [left.data, right.data])
        return _total("add", space, Piece(data, first_fault([left.fault, right.fault])), mask, part, grid)
    sizes = [axis.size for axis in part.axes]
    masked = left.data if mask is None else np.where(mask, left.data, left.data.dtype.type(0))
    total = contract(masked, right.data, space, sizes, frozenset(range(grid.depth, part.depth)))
    return Piece(_without(total, grid.depth))


def _is_finite(data: Array) -> bool:
    """Tell whether 0 times any of these numbers is 0."""
    if data.dtype.kind in "biu":
        return True
    plain = data if data.dtype.kind in "fc" else data.astype(np.float32)
    return bool(np.isfinite(plain).all())
