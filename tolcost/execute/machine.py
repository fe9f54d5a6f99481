"""The state of a vectorised run, and the evaluation of a block's nodes on a grid.

The rules for each kind of node are in a table (see ``vectorised``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tolcost.algebra import NotInteger, Poly, Symbol
from tolcost.atoms.kit import (
    Schedule,
    blocks,
    inner_nodes,
    last_uses,
    own_symbols,
    roots,
    schedule_block,
    schedule_program,
)
from tolcost.atoms.nodes import Block, Build, Fold, Input, Node, Part, Program, Ref, Table, Type, Var
from tolcost.diagnostics import refuse
from tolcost.execute.batch import Batch, concatenate, each, fill_axes
from tolcost.execute.dtypes import Array, Arrays, dtype_of
from tolcost.execute.functions import rand_sites
from tolcost.execute.grid import (
    SINGLE,
    Grid,
    NeedsLoop,
    count_copying,
    count_volume,
    extend,
    largest,
    poly_on_grid,
    restrict,
    split,
)
from tolcost.execute.reductions import FoldReduction, fusible, recognise
from tolcost.execute.values import Faults, Lengths, OutputValue, Piece, Tally, as_output, check_size

_GRAIN = 2**16
"""Points of a grid that are assumed to cost as much as one step of the interpreter."""


class Machine:
    """Variables, lengths and coordinates bound one by one, faults and the tally.

    ``loops`` has the coordinates of each quantifier that must be visited one by one.
    """

    def __init__(
        self,
        program: Program,
        arrays: Arrays,
        bindings: Mapping[Symbol, int],
        max_steps: int,
        rules: GridRules,
    ) -> None:
        self.rules = rules
        self.program = program
        self.arrays = arrays
        self.env = Lengths(bindings)
        self.nest: list[Symbol] = []
        self.vars: dict[Var, Batch] = {}
        self.tally = Tally()
        self.faults = Faults()
        self.sites = rand_sites(program)
        self.schedules: dict[Block, Schedule] = {}
        self.tables: dict[Table, Batch] = {}
        self.reductions: dict[Fold, FoldReduction | None] = {}
        self.fusible: dict[Schedule, frozenset[Var]] = {}
        self.deferred: dict[Var, tuple[Build, int]] = {}
        """Builds that are not evaluated, because a fold reduces their members, with their multiplicities."""
        self.unfusible: set[Var] = set()
        self.loops: dict[Build | Fold, frozenset[Symbol]] = {}
        self.steps_left = max_steps

    # ---- blocks ----------------------------------------------------------------------------

    def outputs(self) -> dict[str, OutputValue]:
        """Evaluate the program and return the values of its outputs."""
        program = self.program
        values = self.follow(schedule_program(program), SINGLE, 1)[len(program.bindings) :]
        for value in values:
            self.faults.check(value.pieces)
            for piece in value.pieces:
                check_size(piece.data.shape)
        return {
            output.name: as_output([np.array(piece.data, order="C") for piece in value.pieces])
            for output, value in zip(program.outputs, values, strict=True)
        }

    @contextmanager
    def nested(self, coords: tuple[Symbol, ...]) -> Iterator[None]:
        """Record that coordinates enclose the evaluation inside this context."""
        depth = len(self.nest)
        self.nest.extend(coords)
        try:
            yield
        finally:
            del self.nest[depth:]

    def planned(self, block: Block) -> Schedule:
        """Return the schedule of a block."""
        plan = self.schedules.get(block)
        if plan is None:
            plan = self.schedules[block] = schedule_block(block)
        return plan

    def visit(self, block: Block, grid: Grid, times: int) -> Batch:
        """Evaluate a block at every point of a grid."""
        return self.follow(self.planned(block), grid, times)[-1]

    def follow(self, plan: Schedule, grid: Grid, times: int) -> list[Batch]:
        """Evaluate the steps of a schedule and return the values of its roots."""
        self.steps_left -= len(plan.steps) * (1 + grid.size // _GRAIN)
        if self.steps_left < 0:
            refuse("T0520", "the run takes too many steps", hint="try smaller lengths")
        values: list[Batch | None] = []
        fusible = self.fused_in(plan)
        for step, done in zip(plan.steps, last_uses(plan), strict=True):
            args = [value for k in step.operands if (value := values[k]) is not None]
            if step.binds and step.binds[0] in fusible and isinstance(step.node, Build):
                self.deferred[step.binds[0]] = step.node, times * step.times
                values.append(Batch((), grid.depth))
                continue
            value = self.rules[type(step.node)](self, step.node, args, grid, times * step.times)
            for var in step.binds:
                self.vars[var] = value
            values.append(value)
            for k in done:
                values[k] = None
        return [value for k in plan.roots if (value := values[k]) is not None]

    def fused_in(self, plan: Schedule) -> frozenset[Var]:
        """Return the variables of a schedule that a fold can reduce without building them."""
        found = self.fusible.get(plan)
        if found is None:
            for step in plan.steps:
                if isinstance(step.node, Fold) and step.node not in self.reductions:
                    self.reductions[step.node] = recognise(step.node)
            found = self.fusible[plan] = fusible(plan, self.reductions)
        return found - self.unfusible if self.unfusible else found

    def reassemble(self, types: Type, value: Batch, grid: Grid, times: int) -> None:
        """Count splitting a value, a list first into its components, and assembling it again."""
        self.reassemble_parts(types, value, grid, times)
        if any(part.shape for part in types):
            self.tally.split(len(types), len(types), times * grid.points)

    def reassemble_parts(self, types: Type, value: Batch, grid: Grid, times: int) -> None:
        """Count splitting every component into members and assembling it again."""
        for j, part in enumerate(types):
            self.tally.copy(*count_copying(part, value.own(j), grid, self.env), times)

    def define(self, length: Symbol, value: int, grid: Grid) -> None:
        """Give a length that data decides its value, which is the same at all points."""
        self.env[length] = value
        self.tally.define(length, value, grid.points)

    def demand_fixed(self, lengths: Sequence[Poly], grid: Grid) -> None:
        """Request a loop over the coordinates that lengths vary with, if there are any."""
        moving = frozenset(symbol for length in lengths for symbol in length.free if symbol in grid.places)
        if moving:
            raise NeedsLoop(moving)


GridRule: TypeAlias = Callable[[Machine, Any, list[Batch], Grid, int], Batch]
"""Evaluates a node at every point of a grid, given its operands and its multiplicity."""

GridRules: TypeAlias = Mapping[type, GridRule]


# === Evaluating a Build on a grid: its coordinates become axes, and then part of the shape.
#
# Coordinates over which a nested node cannot be evaluated at once are visited one by one instead, and
# large grids are split to bound memory, from an estimate of what a block needs.


MAX_POINTS = 2**22
"""Larger grids are split, which bounds memory."""


def build(machine: Machine, node: Build, grid: Grid, times: int) -> Batch:
    """Evaluate a Build at every point of a grid."""
    extents = [poly_on_grid(extent, grid, machine.env) for extent in node.extents]
    check_size([largest(extent, grid) for extent in extents])
    saved = machine.tally.snapshot()
    while True:
        looped = machine.loops.get(node, frozenset())
        try:
            with machine.nested(node.coords):
                value = _assembled(machine, node, extents, looped, grid, times)
            break
        except NeedsLoop as need:
            own = need.symbols.intersection(node.coords) - looped
            if not own:
                raise
            machine.loops[node] = looped | own
            machine.tally.restore(saved)
    _count(machine, node, value, grid, times)
    return value


def _count(machine: Machine, node: Build, value: Batch, grid: Grid, times: int) -> None:
    """Count assembling the members; members that are ToLs are split first."""
    rank = len(node.coords)
    if rank == 0:
        return
    if any(len(part.shape) > rank for part in node.type):
        machine.reassemble_parts(node.type, value, grid, times)
        members = count_volume(Part(node.extents, ""), value.own()[:rank], grid, machine.env)
        shaped = sum(len(part.shape) > rank for part in node.type)
        machine.tally.split(len(node.type), 0, times * grid.points)
        if len(node.type) > 1:
            machine.tally.atoms["member"] += members * shaped * times
    else:
        count_assembly(machine, node, value.own()[:rank], grid, times)


def count_assembly(machine: Machine, node: Build, sizes: Sequence[int], grid: Grid, times: int) -> None:
    """Count assembling numerics, where ``sizes`` are the largest extents."""
    _, join, embed = count_copying(Part(node.extents, ""), sizes, grid, machine.env)
    machine.tally.copy(0, join, embed, times)


def _assembled(
    machine: Machine,
    node: Build,
    extents: Sequence[int | Array],
    looped: frozenset[Symbol],
    grid: Grid,
    times: int,
) -> Batch:
    """Evaluate all members and lay them out; a Build without members gets zeros."""
    singly = [k for k, symbol in enumerate(node.coords) if symbol in looped]
    sizes = tuple(largest(extents[k], grid) for k in singly)
    members = [_members(machine, node, extents, singly, at, grid, times) for at in np.ndindex(*sizes)]
    found = next((member for member in members if member is not None), None)
    if found is None:
        return _zeros(machine, node, grid)
    if not singly:
        return found
    blank = each(found, np.zeros_like)
    column = [each(member or blank, lambda array: np.expand_dims(array, grid.depth)) for member in members]
    stacked = concatenate(column, grid.depth)
    return each(stacked, lambda array: _restore_axes(array, singly, sizes, grid.depth))


def _restore_axes(array: Array, singly: Sequence[int], sizes: tuple[int, ...], depth: int) -> Array:
    """Move the axes of coordinates that were visited one by one to their positions."""
    unfolded = array.reshape(array.shape[:depth] + sizes + array.shape[depth + 1 :])
    return np.moveaxis(unfolded, range(depth, depth + len(sizes)), [depth + k for k in singly])


def _members(
    machine: Machine,
    node: Build,
    extents: Sequence[int | Array],
    singly: Sequence[int],
    at: tuple[int, ...],
    grid: Grid,
    times: int,
) -> Batch | None:
    """Evaluate the members at fixed values of some coordinates and all values of the others."""
    inner = grid
    for k, value in zip(singly, at, strict=True):
        machine.env[node.coords[k]] = value + 1
        extent = extents[k]
        if not isinstance(extent, int):
            inner = restrict(inner, np.asarray(value + 1 <= extent))
    for k, symbol in enumerate(node.coords):
        if k not in singly:
            extent = extents[k]
            added = inner.depth - grid.depth
            wide = extent if isinstance(extent, int) else extent.reshape(extent.shape + (1,) * added)
            inner = extend(inner, symbol, wide)
    if inner.points == 0:
        return None
    limit = max(1, MAX_POINTS // _weight(machine, node, inner))
    cut, parts = split(inner, grid.depth, limit)
    filled = [_evaluate_part(machine, node, part, grid, times) for part in parts]
    example = next(part for part in filled if isinstance(part, Batch))
    return concatenate(_fill_gaps(filled, example), cut)


def _evaluate_part(machine: Machine, node: Build, part: Grid, grid: Grid, times: int) -> Batch | Grid:
    """Evaluate the body on a part of the grid; a part without points is returned unchanged."""
    if part.points == 0:
        return part
    return fill_axes(machine.visit(node.body, part, times), part, grid.depth)


def _fill_gaps(parts: Sequence[Batch | Grid], example: Batch) -> list[Batch]:
    """Fill parts without points with zeros."""
    filled = []
    for part in parts:
        if isinstance(part, Grid):
            sizes = tuple(axis.size for axis in part.axes[example.depth :])
            pieces = tuple(_blank(piece, sizes, example.depth) for piece in example.pieces)
            part = Batch(pieces, example.depth)
        filled.append(part)
    return filled


def _blank(piece: Piece, sizes: tuple[int, ...], depth: int) -> Piece:
    shape = piece.data.shape
    return Piece(np.zeros(shape[:depth] + sizes + shape[depth + len(sizes) :], piece.data.dtype))


def _weight(machine: Machine, node: Build, inner: Grid) -> int:
    """Return the largest number of elements that one point of the body needs at a time."""
    plan = machine.planned(node.body)
    put_off = machine.fused_in(plan)
    made = [
        step.node.type
        for step in plan.steps
        if not isinstance(step.node, (Input, Ref, Table)) and put_off.isdisjoint(step.binds)
    ]
    shapes = (part.shape for types in made for part in types if part.shape)
    return max((_volume(machine, shape, inner) for shape in shapes), default=1)


def _volume(machine: Machine, shape: tuple[Poly, ...], grid: Grid) -> int:
    volume = 1
    for length in shape:
        if all(symbol in machine.env or symbol in grid.places for symbol in length.free):
            with suppress(NotInteger):  # a length after the last turn: 2**(p - s) with s > p
                volume *= max(1, largest(poly_on_grid(length, grid, machine.env), grid))
    return volume


def _zeros(machine: Machine, node: Build, grid: Grid) -> Batch:
    """Return a ToL without members; a length that only members would determine is 0."""
    pieces = []
    for part in node.type:
        own = [
            largest(poly_on_grid(length, grid, machine.env), grid)
            if all(symbol in machine.env or symbol in grid.places for symbol in length.free)
            else 0
            for length in part.shape
        ]
        pieces.append(Piece(np.zeros((1,) * grid.depth + tuple(own), dtype_of(part.space))))
    return Batch(tuple(pieces), grid.depth)


_NOTHING = Batch((), 0)


def footprint(machine: Machine, plan: Schedule, grid: Grid) -> int:
    """Bound the elements of every intermediate of a block: the product of the grid axes it varies along.

    A value that varies along few axes is small even on a large grid.
    """
    places: list[frozenset[int]] = []
    bound: dict[object, frozenset[int]] = {}
    largest = 1
    for step in plan.steps:
        own = _own_places(machine, step.node, bound, grid)
        needed = own.union(*(places[k] for k in step.operands))
        places.append(needed)
        bound.update(dict.fromkeys(step.binds, needed))
        largest = max(largest, prod(grid.axes[place].size for place in needed))
    return largest


def _own_places(
    machine: Machine, node: Node, bound: dict[object, frozenset[int]], grid: Grid
) -> frozenset[int]:
    """Return the axes that a node varies along by itself, or through the blocks inside it."""
    found = _plain_places(machine, node, bound, grid)
    for block in blocks(node):
        for inner in inner_nodes(roots(block)):
            found |= _plain_places(machine, inner, bound, grid)
    return found


def _plain_places(
    machine: Machine, node: Node, bound: dict[object, frozenset[int]], grid: Grid
) -> frozenset[int]:
    found = frozenset(grid.places[symbol] for symbol in own_symbols(node) if symbol in grid.places)
    if isinstance(node, Ref):
        found |= bound[node.var] if node.var in bound else _places_of_value(machine, node, grid)
    return found


def _places_of_value(machine: Machine, node: Ref, grid: Grid) -> frozenset[int]:
    """Return the axes along which the stored value varies, as far as it shares them with this grid."""
    value = machine.vars.get(node.var, _NOTHING)
    return frozenset(
        place
        for piece in value.pieces
        for place in range(min(value.depth, grid.depth))
        if piece.data.shape[place] > 1
    )
