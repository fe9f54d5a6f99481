"""Evaluating a Fold on a grid: at once where it is a reduction, else step by step.

Stepping visits the fold's own coordinates one after the other, each step for all points of the
grid around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from tolcost.algebra import Poly, Symbol
from tolcost.atoms.nodes import Fold
from tolcost.dataclass import dataclass
from tolcost.execute.batch import Batch, choose, in_spaces, spread
from tolcost.execute.builds import build as make_build
from tolcost.execute.builds import count_assembly, footprint
from tolcost.execute.dtypes import Array, convert
from tolcost.execute.functions import apply_function
from tolcost.execute.grid import Grid, NeedsLoop, cond_on_grid, extend, largest, poly_on_grid, restrict, split
from tolcost.execute.machine import Machine
from tolcost.execute.reductions import (
    GATHERED,
    FoldReduction,
    combine,
    contract,
    identity,
    reduce_axes,
    through_build,
)
from tolcost.execute.scatters import scattered
from tolcost.execute.values import Piece, first_fault, tidy
from tolcost.execute.whole_numbers import SURE, grows, sizes

MAX_ELEMENTS = 2**23
"""A reduction that needs more elements at a time is done in parts."""


def fold(machine: Machine, node: Fold, start: Batch, grid: Grid, times: int) -> Batch:
    """Evaluate a Fold at every point of a grid: the fastest way that works."""
    first = in_spaces(start, node.accumulator.type)
    reduction = machine.reductions[node]
    if reduction is not None and reduction.through in machine.deferred:
        found = _through(machine, reduction, first, grid, times)
        if found is not None:
            return found
    if reduction is not None:
        task = _Task(reduction, node.coords, node.extents, times, times)
        found = _attempt(machine, task, first, grid)
        if found is not None:
            return found
        machine.reductions[node] = None
    found = scattered(machine, node, first, grid, times)
    if found is not None:
        return found
    with machine.nested(node.coords):
        return _stepped(machine, node, first, grid, times)


def _through(
    machine: Machine, reduction: FoldReduction, start: Batch, grid: Grid, times: int
) -> Batch | None:
    """Reduce the members of a Build that was put off; make it after all if that cannot be."""
    assert reduction.through is not None
    build, build_times = machine.deferred.pop(reduction.through)
    looking = through_build(reduction, build)
    task = _Task(looking, build.coords, build.extents, times, build_times, members=True)
    found = _attempt(machine, task, start, grid)
    if found is None:
        machine.unfusible.add(reduction.through)
        machine.vars[reduction.through] = make_build(machine, build, grid, build_times)
        return None
    sizes = [largest(poly_on_grid(extent, grid, machine.env), grid) for extent in build.extents]
    count_assembly(machine, build, sizes, grid, build_times)
    return found


@dataclass(frozen=True, slots=True)
class _Task:
    """A reduction, the coordinates it runs over, and how often its step and its element count.

    ``members``: every step reads its element as a member of a Build.
    """

    reduction: FoldReduction
    coords: tuple[Symbol, ...]
    extents: tuple[Poly, ...]
    step_times: int
    element_times: int
    members: bool = False


def _attempt(machine: Machine, task: _Task, start: Batch, grid: Grid) -> Batch | None:
    """Reduce at once; ``None`` if something inside needs the coordinates one by one."""
    saved = machine.tally.snapshot()
    try:
        with machine.nested(task.coords):
            return _reduced(machine, task, start, grid)
    except NeedsLoop as need:
        if need.symbols.isdisjoint(task.coords):
            raise
        machine.tally.restore(saved)
        return None


# ---- step by step ----------------------------------------------------------------------------


def _stepped(machine: Machine, node: Fold, start: Batch, grid: Grid, times: int) -> Batch:
    accumulator = start
    for here in _steps(machine, node.coords, node.extents, grid):
        machine.vars[node.accumulator] = accumulator
        stepped = in_spaces(machine.visit(node.body, here, times), node.type)
        if here.mask is None or here.points == grid.points:
            accumulator = stepped
        else:
            accumulator = choose(here.mask, stepped, accumulator)
    return accumulator


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


def _reduced(machine: Machine, task: _Task, start: Batch, grid: Grid) -> Batch:
    wide = grid
    for symbol, extent in zip(task.coords, task.extents, strict=True):
        wide = extend(wide, symbol, poly_on_grid(extent, wide, machine.env))
        if wide.points == 0:
            return start
    step = task.reduction.step
    accumulator = start.pieces[0]
    for part in split(wide, grid.depth, _limit(machine, task.reduction, wide))[1]:
        found = _partial(machine, task, part, grid, accumulator.data) if part.points else None
        if found is not None:
            data = combine(step.function, step.space, accumulator.data, found.data)
            accumulator = Piece(data, first_fault([accumulator.fault, found.fault]))
    return Batch((accumulator,), grid.depth)


def _limit(machine: Machine, reduction: FoldReduction, wide: Grid) -> int:
    """Give the number of points to do at a time: few elements may serve many points."""
    if wide.size <= MAX_ELEMENTS:
        return wide.size
    needed = max(footprint(machine, plan, wide) for plan in (reduction.outside, reduction.inside))
    return max(1, MAX_ELEMENTS * wide.size // needed)


def _partial(machine: Machine, task: _Task, part: Grid, grid: Grid, before: Array) -> Piece | None:
    """Reduce over the points of a part, after ``before``; ``None`` if its guard holds nowhere."""
    step, product = task.reduction.step, task.reduction.product
    machine.follow(task.reduction.outside, part, task.element_times)
    inner = _guarded(machine, task.reduction, part)
    if inner.points == 0:
        return None
    values = machine.follow(task.reduction.inside, inner, task.element_times)
    machine.tally.apply(step.function, step.space, step.charge, task.step_times * inner.points)
    if task.members:
        machine.tally.atoms["member"] += task.step_times * inner.points
    over = range(grid.depth, part.depth)
    complete = inner.points == grid.points * prod(part.axes[k].size for k in over)
    mask = None if complete else inner.mask
    factors = [value.pieces[0].data for value in values[-1 if product is None else -2 :]]
    if grows(step.function, step.space) and _may_overflow(step.function, before, factors, mask, part, grid):
        raise NeedsLoop(frozenset(task.coords))
    if product is None:
        return _total(GATHERED[step.function], step.space, values[-1].pieces[0], mask, part, grid)
    machine.tally.apply("mul", product.space, product.charge, task.element_times * inner.points)
    left, right = values[-2].pieces[0], values[-1].pieces[0]
    return _sum_of_products(step.space, left, right, mask, part, grid)


def _may_overflow(
    function: str, before: Array, factors: list[Array], mask: Array | None, part: Grid, grid: Grid
) -> bool:
    """Tell whether some order of the steps might leave 64 bits on its way: then each has to be looked at."""
    gathered, over = GATHERED[function], range(grid.depth, part.depth)
    lengths = [axis.size for axis in part.axes]
    start = sizes(before).max(initial=1.0)
    if len(factors) == 2:
        left, right = map(sizes, factors)
        most = left.max() * right.max() * prod(lengths[k] for k in over)
        if start + most < SURE:
            return False
        total = contract(left, right, "R", lengths, frozenset(over))
    else:
        (terms,) = map(sizes, factors)
        there = terms if mask is None else np.where(mask, terms, 1.0)
        full = there.shape[: grid.depth] + tuple(lengths[grid.depth :])
        total = reduce_axes(gathered, "R", spread(there, full), tuple(over))
    return not combine(gathered, "R", np.asarray(start), total).max() < SURE


def _guarded(machine: Machine, reduction: FoldReduction, part: Grid) -> Grid:
    if reduction.condition is None:
        return part
    return restrict(part, cond_on_grid(reduction.condition, part, machine.env))


def _total(function: str, space: str, piece: Piece, mask: Array | None, part: Grid, grid: Grid) -> Piece:
    over = tuple(range(grid.depth, part.depth))
    data = convert(piece.data, space)
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
    a, b = (left.data, right.data) if mask is None else _masked(left.data, right.data, mask)
    total = contract(a, b, space, sizes, frozenset(range(grid.depth, part.depth)))
    return Piece(_without(total, grid.depth))


def _masked(left: Array, right: Array, mask: Array) -> tuple[Array, Array]:
    """Put 0 for one factor where a point is not there: the factor that grows less by it."""
    growth = [prod(np.broadcast_shapes(x.shape, mask.shape)) / x.size for x in (left, right)]
    if growth[0] <= growth[1]:
        return np.where(mask, left, left.dtype.type(0)), right
    return left, np.where(mask, right, right.dtype.type(0))


def _is_finite(data: Array) -> bool:
    """Tell whether 0 times any of these numbers is 0."""
    if data.dtype.kind in "biu":
        return True
    plain = data if data.dtype.kind in "fc" else data.astype(np.float32)
    return bool(np.isfinite(plain).all())
