"""The state of a vectorised run, and how the nodes of a block are evaluated on a grid.

What becomes of a node of each kind is given as a table of rules (see ``vectorised``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np

from tolcost.algebra import Poly, Symbol
from tolcost.atoms.kit import Schedule, last_uses, schedule_block, schedule_program
from tolcost.atoms.nodes import Block, Build, Fold, Program, Table, Type, Var
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.execute.batch import Batch
from tolcost.execute.dtypes import Array
from tolcost.execute.functions import rand_sites
from tolcost.execute.grid import SINGLE, Grid, NeedsLoop, count_relay
from tolcost.execute.reductions import FoldReduction, fusible, recognise
from tolcost.execute.values import Faults, Lengths, OutputValue, Tally, as_output, check_size

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
        """Builds that are not made, because a fold reduces their members; and how often each counts."""
        self.unfusible: set[Var] = set()
        self.loops: dict[Build | Fold, frozenset[Symbol]] = {}
        self.steps_left = max_steps

    # ---- blocks ----------------------------------------------------------------------------

    def outputs(self) -> dict[str, OutputValue]:
        """Evaluate the program and give the values of its outputs."""
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
        """Note that some coordinates are around what is evaluated."""
        depth = len(self.nest)
        self.nest.extend(coords)
        try:
            yield
        finally:
            del self.nest[depth:]

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
        """Give the variables of a schedule that a fold can reduce without making them."""
        found = self.fusible.get(plan)
        if found is None:
            for step in plan.steps:
                if isinstance(step.node, Fold) and step.node not in self.reductions:
                    self.reductions[step.node] = recognise(step.node)
            found = self.fusible[plan] = fusible(plan, self.reductions)
        return found - self.unfusible if self.unfusible else found

    def relay(self, types: Type, value: Batch, grid: Grid, times: int) -> None:
        """Count taking a value apart, a list into its components first, and putting it together."""
        self.relay_parts(types, value, grid, times)
        if any(part.shape for part in types):
            self.tally.split(len(types), len(types), times * grid.points)

    def relay_parts(self, types: Type, value: Batch, grid: Grid, times: int) -> None:
        """Count taking every component apart and putting it together."""
        for j, part in enumerate(types):
            member, join, embed = count_relay(part, value.own(j), grid, self.env)
            self.tally.atoms["member"] += member * times
            self.tally.atoms["join"] += join * times
            self.tally.atoms["embed"] += embed * times

    def demand_fixed(self, lengths: Sequence[Poly], grid: Grid) -> None:
        """Ask for a loop over the coordinates that some lengths vary with."""
        moving = frozenset(symbol for length in lengths for symbol in length.free if symbol in grid.places)
        if moving:
            raise NeedsLoop(moving)


GridRule: TypeAlias = Callable[[Machine, Any, list[Batch], Grid, int], Batch]
"""Evaluates a node at every point of a grid, given its operands, counted so many times."""

GridRules: TypeAlias = Mapping[type, GridRule]
