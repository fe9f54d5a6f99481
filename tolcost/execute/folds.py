"""Evaluate a Fold on a grid: at once if it is a reduction or a scatter, else step by step.

Stepping visits the fold's own coordinates one after another, each step for all points of the enclosing grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import prod

import numpy as np
from msgspec import Struct

from tolcost.algebra import Poly, Symbol
from tolcost.atoms.accumulation import same_place
from tolcost.atoms.kit import Indices, Schedule, index_nodes, inner_nodes, is_ref, resolve_name, schedule
from tolcost.atoms.nodes import Fold, Lambda, Member, Node, Put, Var
from tolcost.execute.batch import Batch, choose, in_spaces, spread
from tolcost.execute.dtypes import Array, as_places, convert, dtype_of, is_exact, working_dtype
from tolcost.execute.functions import apply_function
from tolcost.execute.grid import (
    Grid,
    NeedsLoop,
    cond_on_grid,
    count_volume,
    extend,
    largest,
    poly_on_grid,
    restrict,
    split,
)
from tolcost.execute.machine import Machine, count_assembly, footprint
from tolcost.execute.machine import build as make_build
from tolcost.execute.reductions import (
    GATHERED,
    UFUNCS,
    FoldReduction,
    combine,
    contract,
    identity,
    reduce_axes,
    through_build,
)
from tolcost.execute.values import Piece, first_fault, tidy
from tolcost.execute.whole_numbers import SURE, grows, sizes

# === Scatters: folds that only replace members of their accumulator, at places computed from data.
#
# A fold whose step is ``put(accumulator, p, e)`` or ``put(accumulator, p, f(accumulator[p], e))``, with p
# and e free of the accumulator, scatters: histograms, sums by key, tables of key positions.  NumPy can do
# all steps at once, in the same order, and so with the same result.  A place out of range or a fault
# falls back to the steps, which report it precisely.


MAX_POINTS = 2**23
"""Folds with more steps are evaluated step by step, which bounds the memory for their points."""


class Scatter(Struct, frozen=True, eq=False):
    """How to evaluate a fold at once: ``step`` combines the old member with the new, or is None.

    The last ``results`` values of ``plan`` are the computed indices of the place, those of the member that is
    read, and the element.
    """

    put: Put
    step: Lambda | None
    plan: Schedule
    results: int


@lru_cache(maxsize=1 << 10)
def recognise_scatter(fold: Fold) -> Scatter | None:
    """Return how to evaluate a fold that scatters; None if it must be evaluated step by step."""
    put, accumulator = fold.body.result, fold.accumulator
    if not isinstance(put, Put) or not is_ref(put.tol, accumulator) or len(fold.type) != 1:
        return None
    part = fold.type[0]
    moves = any(symbol in fold.coords for length in part.shape for symbol in length.free)
    if moves or not part.shape or len(put.at) != len(part.shape):
        return None
    bound = dict(fold.body.bindings)
    value = resolve_name(put.value, bound)
    step = _step(value, put, fold, bound)
    read: tuple[Node, ...] = ()
    done: tuple[Node, ...] = ()
    element = put.value
    if step is not None:
        first, second = (resolve_name(node, bound) for node in step.args)
        member, element = (first, step.args[1]) if _reads(first, accumulator) else (second, step.args[0])
        read = index_nodes(member.at) if isinstance(member, Member) else ()
        done = (step, member)
    kept = tuple((var, node) for var, node in fold.body.bindings if node not in done)
    roots = (*index_nodes(put.at), *read, element)
    needed = (*(node for _, node in kept), *roots)
    if any(is_ref(node, accumulator) for node in inner_nodes(needed, bound)):
        return None
    return Scatter(put, step, schedule(kept, roots), len(roots))


def _reads(node: Node, accumulator: Var) -> bool:
    return isinstance(node, Member) and is_ref(node.tol, accumulator)


def _step(value: Node, put: Put, fold: Fold, bound: Mapping[Var, Node]) -> Lambda | None:
    """Return the function that combines the member at the place with a new value, if the step puts that."""
    if not isinstance(value, Lambda) or value.function not in UFUNCS:
        return None
    space = fold.accumulator.type[0].space
    plain = space == value.space == value.type[0].space == fold.type[0].space
    if not plain or working_dtype(space) != dtype_of(space):
        return None
    for node in (resolve_name(argument, bound) for argument in value.args):
        if _reads(node, fold.accumulator) and isinstance(node, Member):
            return value if same_place(node.at, put.at, bound) else None
    return None


def scattered(machine: Machine, fold: Fold, start: Batch, grid: Grid, times: int) -> Batch | None:
    """Evaluate a fold at once; None if it must be evaluated step by step."""
    found = recognise_scatter(fold) if grid.depth == 0 else None
    if found is None or start.pieces[0].fault is not None:
        return None
    saved = machine.tally.snapshot()
    try:
        result = _at_once(machine, fold, found, start, grid, times)
    except NeedsLoop as need:
        if need.symbols.isdisjoint(fold.coords):
            raise
        result = None
    if result is None:
        machine.tally.restore(saved)
    return result


def _at_once(
    machine: Machine, fold: Fold, found: Scatter, start: Batch, grid: Grid, times: int
) -> Batch | None:
    wide = grid
    for symbol, extent in zip(fold.coords, fold.extents, strict=True):
        wide = extend(wide, symbol, poly_on_grid(extent, wide, machine.env))
    if wide.points == 0:
        return start
    if wide.size > MAX_POINTS:
        return None
    values = machine.follow(found.plan, wide, times)[-found.results :]
    if any(piece.fault is not None for value in values for piece in value.pieces):
        return None
    data = np.array(start.pieces[0].data)
    places = _places(machine, found.put.at, values, wide)
    if any(np.any((at < 0) | (at >= size)) for at, size in zip(places, data.shape, strict=True)):
        return None
    if is_exact(values[-1].pieces[0].data):
        return None
    new = convert(_values_at_points(values[-1].pieces[0].data, wide), fold.type[0].space)
    if found.step is None:
        data[tuple(places)] = new
    elif grows(found.step.function, fold.type[0].space) and _member_may_overflow(
        found.step, data, places, new
    ):
        return None
    else:
        UFUNCS[found.step.function].at(data, tuple(places), new)
    _count(machine, found, start, wide, times)
    return Batch((Piece(data),), grid.depth)


def _member_may_overflow(step: Lambda, data: Array, places: list[Array], new: Array) -> bool:
    """Whether a member might exceed 64 bits at some step."""
    reached = sizes(data)
    UFUNCS[step.function].at(reached, tuple(places), sizes(new))
    return not reached.max(initial=1.0) < SURE


def _places(machine: Machine, at: Indices, values: list[Batch], wide: Grid) -> list[Array]:
    """Return the places, counted from 0, as a vector for each dimension."""
    computed = iter(values)
    forms = (
        np.asarray(poly_on_grid(index, wide, machine.env))
        if isinstance(index, Poly)
        else as_places(next(computed).pieces[0].data)
        for index in at
    )
    return [_values_at_points(form, wide) - 1 for form in forms]


def _values_at_points(data: Array, wide: Grid) -> Array:
    """Return the numbers at all points that exist, as a vector."""
    full = spread(data.reshape(data.shape or (1,) * wide.depth), tuple(axis.size for axis in wide.axes))
    return full.reshape(-1) if wide.mask is None else full[spread(wide.mask, full.shape)]


def _count(machine: Machine, found: Scatter, start: Batch, wide: Grid, times: int) -> None:
    """Count the steps' functions, the members they read, and laying out the accumulator again."""
    machine.reassemble(found.put.type, start, wide, times)
    replaced = count_volume(found.put.value.type[0], (), wide, machine.env)
    machine.tally.atoms["member"] -= replaced * times
    if found.step is not None:
        machine.tally.atoms["member"] += times * wide.points
        machine.tally.apply(found.step.function, found.step.space, found.step.charge, times * wide.points)


# === Folds.


MAX_ELEMENTS = 2**23
"""Reductions that need more elements at a time are split into parts, which bounds their memory."""


def fold(machine: Machine, node: Fold, start: Batch, grid: Grid, times: int) -> Batch:
    """Evaluate a Fold at every point of a grid, in the fastest way that applies."""
    first = in_spaces(start, node.accumulator.type)
    if node.ends is not None:
        return _while_it_holds(machine, node, node.ends, first, grid, times)
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
    """Reduce the members of a deferred Build without building it; build it if that fails."""
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


class _Task(Struct, frozen=True):
    """A reduction, the coordinates it runs over, and the multiplicities of its step and its element.

    ``members``: every step reads its element as a member of a Build.
    """

    reduction: FoldReduction
    coords: tuple[Symbol, ...]
    extents: tuple[Poly, ...]
    step_times: int
    element_times: int
    members: bool = False


def _attempt(machine: Machine, task: _Task, start: Batch, grid: Grid) -> Batch | None:
    """Reduce at once; None if some part needs the coordinates one by one."""
    saved = machine.tally.snapshot()
    try:
        with machine.nested(task.coords):
            return _reduce_at_once(machine, task, start, grid)
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


def _while_it_holds(
    machine: Machine, node: Fold, turns: Symbol, start: Batch, grid: Grid, times: int
) -> Batch:
    """Take steps while the condition, the accumulator's first component, holds; then define their number."""
    if grid.places:
        raise NeedsLoop(frozenset(grid.places))
    most = largest(poly_on_grid(turns.hi, grid, machine.env), grid) if turns.hi is not None else None
    (coordinate,) = node.coords
    accumulator, done = start, 0
    with machine.nested(node.coords):
        while most is None or done < most:
            machine.faults.check(accumulator.pieces[:1])
            if not accumulator.pieces[0].data.reshape(-1)[0]:
                break
            done += 1
            machine.env[coordinate] = done
            machine.vars[node.accumulator] = accumulator
            accumulator = in_spaces(machine.visit(node.body, grid, times), node.type)
    machine.define(turns, done, grid)
    return accumulator


def _steps(
    machine: Machine, coords: tuple[Symbol, ...], extents: tuple[Poly, ...], grid: Grid
) -> Iterator[Grid]:
    """Bind the coordinates in row-major order; yield the points that take part in each step."""
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


def _reduce_at_once(machine: Machine, task: _Task, start: Batch, grid: Grid) -> Batch:
    wide = grid
    for symbol, extent in zip(task.coords, task.extents, strict=True):
        wide = extend(wide, symbol, poly_on_grid(extent, wide, machine.env))
        if wide.points == 0:
            return start
    step = task.reduction.step
    accumulator = start.pieces[0]
    for part in split(wide, grid.depth, _limit(machine, task.reduction, wide))[1]:
        found = _fold_part(machine, task, part, grid, accumulator.data) if part.points else None
        if found is not None:
            data = combine(step.function, step.space, accumulator.data, found.data)
            accumulator = Piece(data, first_fault([accumulator.fault, found.fault]))
    return Batch((accumulator,), grid.depth)


def _limit(machine: Machine, reduction: FoldReduction, wide: Grid) -> int:
    """Return how many points to process at a time: few elements may serve many points."""
    if wide.size <= MAX_ELEMENTS:
        return wide.size
    needed = max(footprint(machine, plan, wide) for plan in (reduction.outside, reduction.inside))
    return max(1, MAX_ELEMENTS * wide.size // needed)


def _fold_part(machine: Machine, task: _Task, part: Grid, grid: Grid, before: Array) -> Piece | None:
    """Reduce over the points of a part, after ``before``; None if its guard holds nowhere."""
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
        return _reduce_part(GATHERED[step.function], step.space, values[-1].pieces[0], mask, part, grid)
    machine.tally.apply("mul", product.space, product.charge, task.element_times * inner.points)
    left, right = values[-2].pieces[0], values[-1].pieces[0]
    return _sum_of_products(step.space, left, right, mask, part, grid)


def _may_overflow(
    function: str, before: Array, factors: list[Array], mask: Array | None, part: Grid, grid: Grid
) -> bool:
    """Whether some order of the steps might exceed 64 bits: then every step must be checked."""
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


def _reduce_part(
    function: str, space: str, piece: Piece, mask: Array | None, part: Grid, grid: Grid
) -> Piece:
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
    """Drop reduced axes."""
    return array.reshape(array.shape[:depth])


def _sum_of_products(
    space: str, left: Piece, right: Piece, mask: Array | None, part: Grid, grid: Grid
) -> Piece:
    """Contract if there are no faults and masked factors are finite, else multiply and add."""
    plain = left.fault is None and right.fault is None
    if mask is not None and not (plain and _is_finite(left.data) and _is_finite(right.data)):
        plain = False
    if not plain:
        data = apply_function("mul", space, space, [left.data, right.data])
        return _reduce_part(
            "add", space, Piece(data, first_fault([left.fault, right.fault])), mask, part, grid
        )
    sizes = [axis.size for axis in part.axes]
    a, b = (left.data, right.data) if mask is None else _masked(left.data, right.data, mask)
    total = contract(a, b, space, sizes, frozenset(range(grid.depth, part.depth)))
    return Piece(_without(total, grid.depth))


def _masked(left: Array, right: Array, mask: Array) -> tuple[Array, Array]:
    """Set one factor to 0 where a point does not exist: the factor that masking enlarges less."""
    growth = [prod(np.broadcast_shapes(x.shape, mask.shape)) / x.size for x in (left, right)]
    if growth[0] <= growth[1]:
        return np.where(mask, left, left.dtype.type(0)), right
    return left, np.where(mask, right, right.dtype.type(0))


def _is_finite(data: Array) -> bool:
    """Whether 0 times each of these numbers is 0."""
    if data.dtype.kind in "biu":
        return True
    plain = data if data.dtype.kind in "fc" else data.astype(np.float32)
    return bool(np.isfinite(plain).all())
