"""Folds that only replace members of their accumulator, at places that data decides: all steps at once.

A fold whose step is ``put(accumulator, p, e)`` or ``put(accumulator, p, f(accumulator[p], e))``, with p
and e free of the accumulator, scatters: histograms, sums by key, tables of where a key stands.  NumPy does
it in the same order, and so with the same result.  Whatever is out of the ordinary (a place outside, a
fault) is left to the steps themselves, which know what to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from tolcost.algebra import Poly
from tolcost.atoms.kit import Indices, Schedule, index_nodes, inner_nodes, is_ref, schedule
from tolcost.atoms.nodes import Component, Fold, Input, Lambda, Member, Node, Number, Put, Ref, Var
from tolcost.dataclass import dataclass
from tolcost.execute.batch import Batch, spread
from tolcost.execute.dtypes import Array, as_places, convert, dtype_of, is_exact, working_dtype
from tolcost.execute.grid import Grid, NeedsLoop, count_volume, extend, poly_on_grid
from tolcost.execute.machine import Machine
from tolcost.execute.values import Piece
from tolcost.execute.whole_numbers import SURE, grows, sizes

MAX_POINTS = 2**23
"""A fold of more steps is done step by step."""

_UFUNCS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@dataclass(frozen=True, slots=True, eq=False)
class Scatter:
    """How to do a fold at once: ``step`` combines what is there with what comes, if it is not replaced.

    ``plan`` evaluates, as its last ``results`` values, the computed indices of the place, those of the
    member that is read, and the element.
    """

    put: Put
    step: Lambda | None
    plan: Schedule
    results: int


@lru_cache(maxsize=1 << 10)
def recognise_scatter(fold: Fold) -> Scatter | None:
    """Find out whether a fold scatters; ``None`` if it has to be done step by step."""
    put, accumulator = fold.body.result, fold.accumulator
    if not isinstance(put, Put) or not is_ref(put.tol, accumulator) or len(fold.type) != 1:
        return None
    part = fold.type[0]
    moves = any(symbol in fold.coords for length in part.shape for symbol in length.free)
    if moves or not part.shape or len(put.at) != len(part.shape):
        return None
    bound = dict(fold.body.bindings)
    value = _named(put.value, bound)
    step = _step(value, put, fold, bound)
    read: tuple[Node, ...] = ()
    done: tuple[Node, ...] = ()
    element = put.value
    if step is not None:
        first, second = (_named(node, bound) for node in step.args)
        member, element = (first, step.args[1]) if _reads(first, accumulator) else (second, step.args[0])
        read = index_nodes(member.at) if isinstance(member, Member) else ()
        done = (step, member)
    kept = tuple((var, node) for var, node in fold.body.bindings if node not in done)
    roots = (*index_nodes(put.at), *read, element)
    needed = (*(node for _, node in kept), *roots)
    if any(is_ref(node, accumulator) for node in inner_nodes(needed, bound)):
        return None
    return Scatter(put, step, schedule(kept, roots), len(roots))


def _named(node: Node, bound: Mapping[Var, Node]) -> Node:
    return bound[node.var] if isinstance(node, Ref) and node.var in bound else node


def _reads(node: Node, accumulator: Var) -> bool:
    return isinstance(node, Member) and is_ref(node.tol, accumulator)


def _step(value: Node, put: Put, fold: Fold, bound: Mapping[Var, Node]) -> Lambda | None:
    """Give the function that combines the member at the place with something new, if that is what is put."""
    if not isinstance(value, Lambda) or value.function not in _UFUNCS:
        return None
    space = fold.accumulator.type[0].space
    plain = space == value.space == value.type[0].space == fold.type[0].space
    if not plain or working_dtype(space) != dtype_of(space):
        return None
    for node in (_named(argument, bound) for argument in value.args):
        if _reads(node, fold.accumulator) and isinstance(node, Member):
            return value if _same_place(node.at, put.at, bound) else None
    return None


def _same_place(left: Indices, right: Indices, bound: Mapping[Var, Node]) -> bool:
    return len(left) == len(right) and all(_same(a, b, bound) for a, b in zip(left, right, strict=True))


def _same(left: Poly | Node, right: Poly | Node, bound: Mapping[Var, Node]) -> bool:
    """Tell whether two indices are certainly the same number."""
    if isinstance(left, Poly) or isinstance(right, Poly):
        return isinstance(left, Poly) and isinstance(right, Poly) and left == right
    a, b = _named(left, bound), _named(right, bound)
    if a is b:
        return True
    match a, b:
        case Ref(), Ref():
            return a.var is b.var
        case Input(), Input():
            return a.name == b.name
        case Number(), Number():
            return a.type == b.type and a.value == b.value
        case Component(), Component():
            return a.j == b.j and _same(a.value, b.value, bound)
        case Member(), Member():
            return _same(a.tol, b.tol, bound) and _same_place(a.at, b.at, bound)
        case Lambda(), Lambda():
            alike = a.function == b.function != "rand" and a.space == b.space
            return alike and _same_place(a.args, b.args, bound)
        case _:
            return False


def scattered(machine: Machine, fold: Fold, start: Batch, grid: Grid, times: int) -> Batch | None:
    """Do a fold at once; ``None`` if it has to be done step by step."""
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
    new = convert(_laid(values[-1].pieces[0].data, wide), fold.type[0].space)
    if found.step is None:
        data[tuple(places)] = new
    elif grows(found.step.function, fold.type[0].space) and _may_overflow(found.step, data, places, new):
        return None
    else:
        _UFUNCS[found.step.function].at(data, tuple(places), new)
    _count(machine, found, start, wide, times)
    return Batch((Piece(data),), grid.depth)


def _may_overflow(step: Lambda, data: Array, places: list[Array], new: Array) -> bool:
    """Tell whether a member might leave 64 bits on its way."""
    reached = sizes(data)
    _UFUNCS[step.function].at(reached, tuple(places), sizes(new))
    return not reached.max(initial=1.0) < SURE


def _places(machine: Machine, at: Indices, values: list[Batch], wide: Grid) -> list[Array]:
    """Give the places, counted from 0, one after the other."""
    computed = iter(values)
    forms = (
        np.asarray(poly_on_grid(index, wide, machine.env))
        if isinstance(index, Poly)
        else as_places(next(computed).pieces[0].data)
        for index in at
    )
    return [_laid(form, wide) - 1 for form in forms]


def _laid(data: Array, wide: Grid) -> Array:
    """Give the numbers of all points that are there, one after the other."""
    full = spread(data.reshape(data.shape or (1,) * wide.depth), tuple(axis.size for axis in wide.axes))
    return full.reshape(-1) if wide.mask is None else full[spread(wide.mask, full.shape)]


def _count(machine: Machine, found: Scatter, start: Batch, wide: Grid, times: int) -> None:
    """Count what the steps would: the function, the member it reads, and laying the accumulator out anew."""
    machine.relay(found.put.type, start, wide, times)
    replaced = count_volume(found.put.value.type[0], (), wide, machine.env)
    machine.tally.atoms["member"] -= replaced * times
    if found.step is not None:
        machine.tally.atoms["member"] += times * wide.points
        machine.tally.apply(found.step.function, found.step.space, found.step.charge, times * wide.points)
