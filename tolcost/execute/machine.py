"""The state of a vectorised run, and how blocks and plain nodes are evaluated on a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tolcost.algebra import Poly, Symbol
from tolcost.atoms.kit import Schedule, is_fixed, schedule, schedule_block
from tolcost.atoms.nodes import (
    Block,
    Build,
    Component,
    Convert,
    Embed,
    Filter,
    Fold,
    Input,
    Join,
    Lambda,
    Member,
    Node,
    Number,
    Pack,
    Program,
    Put,
    Ref,
    Reshape,
    Select,
    Table,
    Type,
    Var,
    Where,
)
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.execute import batch as on_grid
from tolcost.execute.access import filtered, member, put
from tolcost.execute.batch import Batch
from tolcost.execute.builds import build
from tolcost.execute.dtypes import Array, convert, dtype_of
from tolcost.execute.folds import Deferred, fold
from tolcost.execute.functions import apply_function, rand_sites, uniform
from tolcost.execute.grid import (
    SINGLE,
    Grid,
    NeedsLoop,
    cond_on_grid,
    constant_on_grid,
    count_relay,
    restrict,
)
from tolcost.execute.inputs import length_of
from tolcost.execute.reductions import Reduction, fusible, recognise
from tolcost.execute.values import Faults, Piece, Tally, first_fault

_GRAIN = 2**16
"""So many points of a grid are taken to cost as much again as one step of the interpreter."""


class Machine:
    """Variables, lengths and coordinates bound one by one, faults and the tally.

    ``loops`` remembers which coordinates of a quantifier had to be visited one by one.
    """

    def __init__(
        self,
        program: Program,
        arrays: Mapping[str, tuple[Array, ...]],
        bindings: Mapping[Symbol, int],
        max_steps: int,
    ) -> None:
        self.program = program
        self.arrays = arrays
        self.env = dict(bindings)
        self.nest: list[Symbol] = []
        self.vars: dict[Var, Batch] = {}
        self.tally = Tally()
        self.faults = Faults()
        self.sites = rand_sites(program)
        self.schedules: dict[Block, Schedule] = {}
        self.tables: dict[Table, Batch] = {}
        self.reductions: dict[Fold, Reduction | None] = {}
        self.fusible: dict[Schedule, frozenset[Var]] = {}
        self.deferred: dict[Var, Deferred] = {}
        self.unfusible: set[Var] = set()
        self.loops: dict[Build | Fold, frozenset[Symbol]] = {}
        self.steps_left = max_steps

    # ---- blocks ----------------------------------------------------------------------------

    def outputs(self) -> list[Batch]:
        """Evaluate the program and give the values of its outputs."""
        program = self.program
        plan = schedule(program.bindings, tuple(output.node for output in program.outputs))
        return self.follow(plan, SINGLE, 1)[len(program.bindings) :]

    def planned(self, block: Block) -> Schedule:
        """Give the schedule of a block."""
        plan = self.schedules.get(block)
        if plan is None:
            plan = self.schedules[block] = schedule_block(block)
        return plan

    def visit(self, block: Block, grid: Grid, times: int) -> Batch:
        """Evaluate a block at every point of a grid."""
        return self.follow(self.planned(block), grid, times)[-1]

    def follow(self, plan: Schedule, grid: Grid, times: int) -> list[Batch]:
        """Evaluate the steps of a schedule and give the values of its roots."""
        self.steps_left -= len(plan.steps) * (1 + grid.size // _GRAIN)
        if self.steps_left < 0:
            raise Rejected(Diagnostic("T0520", "the run takes too many steps", hint="try smaller lengths"))
        values: list[Batch | None] = []
        fusible = self.fused_in(plan)
        for step in plan.steps:
            args = [value for k in step.operands if (value := values[k]) is not None]
            if step.binds and step.binds[0] in fusible and isinstance(step.node, Build):
                self.deferred[step.binds[0]] = Deferred(step.node, times * step.times)
                values.append(Batch((), grid.depth))
                continue
            value = self.evaluate(step.node, args, grid, times * step.times)
            for var in step.binds:
                self.vars[var] = value
            values.append(value)
            for k in step.done:
                values[k] = None
        return [value for k in plan.roots if (value := values[k]) is not None]

    def fused_in(self, plan: Schedule) -> frozenset[Var]:
        """Give the variables of a schedule that a fold can reduce without making them."""
        found = self.fusible.get(plan)
        if found is None:
            for step in plan.steps:
                if isinstance(step.node, Fold) and step.node not in self.reductions:
                    self.reductions[step.node] = recognise(step.node)
            found = self.fusible[plan] = fusible(plan, self.reductions)
        return found - self.unfusible if self.unfusible else found

    # ---- nodes -----------------------------------------------------------------------------

    def evaluate(self, node: Node, args: list[Batch], grid: Grid, times: int) -> Batch:  # noqa: C901
        """Evaluate one node at every point of a grid, given its operands."""
        atoms = self.tally.atoms
        match node:
            case Input():
                pieces = tuple(Piece(array) for array in self.arrays[node.name])
                return on_grid.lift(Batch(pieces, 0), grid.depth)
            case Number():
                data = constant_on_grid(node.value, node.type[0].space, grid, self.env)
                return on_grid.constant(data, grid.depth)
            case Table():
                return self.laid_out(node, grid)
            case Ref():
                return on_grid.lift(self.vars[node.var], grid.depth)
            case Lambda():
                return self.apply(node, args, grid, times)
            case Where():
                return self.where(node, args, grid, times)
            case Member():
                atoms["member"] += times * grid.points
                return member(self, node, args, grid)
            case Component():
                atoms["member"] += times * grid.points
                return Batch((args[0].pieces[node.j - 1],), grid.depth)
            case Pack():
                atoms["join"] += (len(args) - 1) * times * grid.points
                return Batch(tuple(piece for value in args for piece in value.pieces), grid.depth)
            case Join():
                atoms["join"] += times * grid.points
                return self.join(node, args, grid)
            case Embed():
                atoms["embed"] += times * grid.points
                return on_grid.each(args[0], lambda array: array[..., np.newaxis])
            case Build():
                return build(self, node, grid, times)
            case Fold():
                return fold(self, node, args[0], grid, times)
            case Select():
                return self.select(node, args, grid, times)
            case Reshape():
                return self.reshape(node, args[0], grid, times)
            case Convert():
                self.relay(node.value.type, args[0], grid, times)
                return on_grid.in_spaces(args[0], node.type, node.bits)
            case Put():
                return put(self, node, args, grid, times)
            case Filter():
                return filtered(self, node, args, grid, times)

    def laid_out(self, node: Table, grid: Grid) -> Batch:
        """Give a static ToL, whose entries may depend on coordinates, at every point."""
        if is_fixed(node):
            if node not in self.tables:
                self.tables[node] = self.entries(node, SINGLE)
            return on_grid.lift(self.tables[node], grid.depth)
        return self.entries(node, grid)

    def entries(self, node: Table, grid: Grid) -> Batch:
        """Evaluate the entries of a table and lay them out."""
        part = node.type[0]
        found = [constant_on_grid(value, part.space, grid, self.env) for value in node.values]
        own = tuple(length_of(length, self.env) for length in part.shape)
        leading = np.broadcast_shapes(*(entry.shape for entry in found), (1,) * grid.depth)
        filled = np.empty((*leading, len(found)), dtype_of(part.space))
        for k, entry in enumerate(found):
            filled[..., k] = entry
        return Batch((Piece(filled.reshape(leading + own)),), grid.depth)

    def apply(self, node: Lambda, args: list[Batch], grid: Grid, times: int) -> Batch:
        """Apply an elementary function at every point."""
        self.tally.apply(node.function, node.space, node.charge, times * grid.points)
        pieces = [value.pieces[0] for value in args]
        result = node.type[0].space
        data = [piece.data for piece in pieces]
        if node.function == "rand":
            value = on_grid.constant(convert(self.drawn(node, data, grid), result), grid.depth).pieces[0].data
        else:
            value = apply_function(node.function, node.space, result, data)
        return Batch((Piece(value, first_fault([piece.fault for piece in pieces])),), grid.depth)

    def drawn(self, node: Lambda, args: Sequence[Array], grid: Grid) -> Array:
        """Draw random numbers: one for every point, even of coordinates nothing else depends on."""
        around = [
            grid.coordinate(grid.places[symbol]) if symbol in grid.places else self.env[symbol]
            for symbol in self.nest
        ]
        return uniform(self.sites[node], around, args)

    def where(self, node: Where, args: list[Batch], grid: Grid, times: int) -> Batch:
        """Pick between two values at every point."""
        self.tally.apply("where", node.space, node.charge, times * grid.points)
        condition = args[0].pieces[0]
        then, other = (on_grid.in_spaces(value, node.type) for value in args[1:])
        return on_grid.with_fault(on_grid.choose(condition.data != 0, then, other), condition.fault)

    def select(self, node: Select, args: list[Batch], grid: Grid, times: int) -> Batch:
        """Evaluate each branch at the points that take it."""
        condition = self.guard(node, args, grid)
        taken = restrict(grid, condition)
        if taken.points == grid.points:
            return on_grid.in_spaces(self.visit(node.then, grid, times), node.type)
        if taken.points == 0:
            return on_grid.in_spaces(self.visit(node.other, grid, times), node.type)
        then = on_grid.in_spaces(self.visit(node.then, taken, times), node.type)
        opposite = np.logical_not(condition)
        other = on_grid.in_spaces(self.visit(node.other, restrict(grid, opposite), times), node.type)
        return on_grid.choose(np.asarray(condition), then, other)

    def guard(self, node: Select, args: list[Batch], grid: Grid) -> bool | Array:
        """Decide the condition of a Select at every point."""
        if not isinstance(node.condition, Node):
            return cond_on_grid(node.condition, grid, self.env)
        self.faults.check(args[0].pieces)
        return np.asarray(args[0].pieces[0].data != 0)

    # ---- whole values ----------------------------------------------------------------------

    def relay(self, types: Type, value: Batch, grid: Grid, times: int) -> None:
        """Count taking every component apart and putting it together."""
        for j, part in enumerate(types):
            member, join, embed = count_relay(part, value.own(j), grid, self.env)
            self.tally.atoms["member"] += member * times
            self.tally.atoms["join"] += join * times
            self.tally.atoms["embed"] += embed * times

    def join(self, node: Join, args: list[Batch], grid: Grid) -> Batch:
        """Put two values one after the other; where the first ends must not vary."""
        self.demand_fixed([part.shape[node.d - 1] for part in node.left.type], grid)
        return on_grid.concatenate(
            [on_grid.in_spaces(value, node.type) for value in args], grid.depth + node.d - 1
        )

    def reshape(self, node: Reshape, value: Batch, grid: Grid, times: int) -> Batch:
        """Give the elements another shape; neither shape may vary."""
        shapes = [length for types in (node.value.type, node.type) for part in types for length in part.shape]
        self.demand_fixed(shapes, grid)
        shaped = (
            on_grid.reshaped(piece, tuple(length_of(length, self.env) for length in part.shape), grid.depth)
            for piece, part in zip(value.pieces, node.type, strict=True)
        )
        result = Batch(tuple(shaped), grid.depth)
        self.relay(node.type, result, grid, times)
        return result

    def demand_fixed(self, lengths: Sequence[Poly], grid: Grid) -> None:
        """Ask for a loop over the coordinates that some lengths vary with."""
        moving = frozenset(symbol for length in lengths for symbol in length.free if symbol in grid.places)
        if moving:
            raise NeedsLoop(moving)
