"""The reference interpreter: one element at a time, counting what it does.

This is the definition that closed forms and the fast interpreter are held to, so it is plain
rather than fast.  Every node is evaluated for every coordinate around it, one after another,
and adds to the tally exactly what it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from tolcost.algebra import Poly, Symbol, evaluate_cond
from tolcost.atoms.nodes import (
    Block,
    Build,
    Component,
    Constant,
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
    Part,
    Program,
    Put,
    Ref,
    Reshape,
    Select,
    Table,
    Var,
    Where,
)
from tolcost.atoms.symbols import constant_symbols, is_fixed
from tolcost.atoms.walk import Schedule, schedule, schedule_block
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.execute.counts import Execution, Tally, as_output
from tolcost.execute.dtypes import Array, convert, dtype_of, number, same_bits
from tolcost.execute.functions import apply_function
from tolcost.execute.inputs import Given, arrays_of, bind_lengths, check_conditions, length_of, value_of
from tolcost.execute.pieces import (
    all_fault,
    element,
    in_spaces,
    joined,
    replaced,
    reshaped,
    selected,
    stacked,
)
from tolcost.execute.sites import rand_sites
from tolcost.execute.special import uniform
from tolcost.execute.values import Faults, Piece, Value, check_size, first_fault

DEFAULT_STEPS = 20_000_000


def run_reference(
    program: Program,
    inputs: Given,
    dims: Mapping[str, int] | None = None,
    max_steps: int = DEFAULT_STEPS,
) -> Execution:
    """Run a program one element at a time.

    ``dims`` gives lengths by name that no input decides.  A run that takes more than
    ``max_steps`` evaluations of a node stops with a diagnostic.
    """
    arrays = arrays_of(program, inputs)
    bindings = bind_lengths(program, arrays, dims)
    check_conditions(program.conditions, bindings)
    machine = _Reference(program, arrays, bindings, max_steps)
    with np.errstate(all="ignore"):
        try:
            outputs = machine.outputs()
        except RecursionError:
            raise Rejected(Diagnostic("T0521", "the program nests too deeply to be executed")) from None
    final = {symbol: value for symbol, value in machine.env.items() if symbol.kind != "coord"}
    check_conditions(program.conditions, final)
    return Execution(outputs, machine.tally.counts(), final)


class _Reference:
    """The state of a run: variables, coordinates and lengths, faults and the tally."""

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
        self.coordinates: list[int] = []
        self.vars: dict[Var, Value] = {}
        self.tally = Tally()
        self.faults = Faults()
        self.sites = rand_sites(program)
        self.schedules: dict[Block, Schedule] = {}
        self.tables: dict[Table, Piece] = {}
        self.numbers: dict[Number, Value] = {}
        self.steps_left = max_steps

    def outputs(self) -> dict[str, Array | tuple[Array, ...]]:
        program = self.program
        plan = schedule(program.bindings, tuple(output.node for output in program.outputs))
        values = self.follow(plan, 1)[len(program.bindings) :]
        for value in values:
            self.faults.check(value)
        return {
            output.name: as_output([piece.data for piece in value])
            for output, value in zip(program.outputs, values, strict=True)
        }

    def visit(self, block: Block, times: int) -> Value:
        plan = self.schedules.get(block)
        if plan is None:
            plan = self.schedules[block] = schedule_block(block)
        return self.follow(plan, times)[-1]

    def follow(self, plan: Schedule, times: int) -> list[Value]:
        self.steps_left -= len(plan.steps)
        if self.steps_left < 0:
            raise Rejected(Diagnostic("T0520", "the run takes too many steps", hint="try smaller lengths"))
        values: list[Value] = []
        for step in plan.steps:
            value = self.evaluate(step.node, [values[k] for k in step.operands], times * step.times)
            for var in step.binds:
                self.vars[var] = value
            values.append(value)
            for k in step.done:
                values[k] = ()
        return [values[k] for k in plan.roots]

    def evaluate(self, node: Node, args: list[Value], times: int) -> Value:  # noqa: C901 - a table of atoms
        match node:  # what is met most often comes first
            case Ref():
                return self.vars[node.var]
            case Lambda():
                return self.apply(node, args, times)
            case Member():
                self.tally.atoms["member"] += times
                return self.member(node, args)
            case Number():
                return self.number(node)
            case Where():
                return self.where(node, args, times)
            case Input():
                return tuple(Piece(array) for array in self.arrays[node.name])
            case Table():
                return (self.laid_out(node),)
            case Component():
                self.tally.atoms["member"] += times
                return (args[0][node.j - 1],)
            case Pack():
                self.tally.atoms["join"] += (len(args) - 1) * times
                return tuple(piece for value in args for piece in value)
            case Join():
                self.tally.atoms["join"] += times
                return tuple(
                    joined(a, b, node.d - 1, part) for a, b, part in zip(*args, node.type, strict=True)
                )
            case Embed():
                self.tally.atoms["embed"] += times
                return tuple(reshaped(piece, (*piece.data.shape, 1)) for piece in args[0])
            case Build():
                return self.build(node, times)
            case Fold():
                return self.fold(node, args[0], times)
            case Select():
                chosen = node.then if self.holds(node, args) else node.other
                return in_spaces(self.visit(chosen, times), node.type)
            case Reshape():
                return self.reshape(node, args[0], times)
            case Convert():
                return self.convert(node, args[0], times)
            case Put():
                return self.put(node, args, times)
            case Filter():
                return self.filter(node, args, times)

    # ---- static values ---------------------------------------------------------------------

    def number(self, node: Number) -> Value:
        """Give a static number; one without coordinates is worked out once."""
        known = self.numbers.get(node)
        if known:
            return known
        value = (Piece(self.static_number(node.value, node.type[0].space)),)
        if known is None:
            fixed = all(symbol.kind == "length" for symbol in constant_symbols(node.value))
            self.numbers[node] = value if fixed else ()
        return value

    def static_number(self, value: Constant, space: str) -> Array:
        match value:
            case Poly():
                return number(value_of(value, self.env), space)
            case bool() | float() | complex() | Fraction() | str():
                return number(value, space)
            case _:
                return number(evaluate_cond(value, self.env), space)

    def laid_out(self, node: Table) -> Piece:
        known = self.tables.get(node)
        if known is not None:
            return known
        part = node.type[0]
        data = np.empty(len(node.values), dtype_of(part.space))
        for k, value in enumerate(node.values):
            data[k] = self.static_number(value, part.space)[()]
        piece = Piece(data.reshape(self.shape_of(part)))
        if is_fixed(node):
            self.tables[node] = piece
        return piece

    def shape_of(self, part: Part) -> tuple[int, ...]:
        return tuple(length_of(length, self.env) for length in part.shape)

    def empty_shape(self, part: Part) -> tuple[int, ...]:
        """Give the shape of a ToL without members; a length only its members would define is 0."""
        return tuple(
            length_of(length, self.env) if length.free <= self.env.keys() else 0 for length in part.shape
        )

    def holds(self, node: Select, args: list[Value]) -> bool:
        if not isinstance(node.condition, Node):
            return evaluate_cond(node.condition, self.env)
        self.faults.check(args[0])
        return bool(args[0][0].data != 0)

    # ---- functions -------------------------------------------------------------------------

    def apply(self, node: Lambda, args: list[Value], times: int) -> Value:
        self.tally.apply(node.function, node.space, node.charge, times)
        pieces = [value[0] for value in args]
        result = node.type[0].space
        if node.function == "rand":
            drawn = uniform(self.sites[node], self.coordinates, [piece.data for piece in pieces])
            data = convert(drawn, result)
        else:
            data = apply_function(node.function, node.space, result, [piece.data for piece in pieces])
        return (Piece(data, first_fault([piece.fault for piece in pieces])),)

    def where(self, node: Where, args: list[Value], times: int) -> Value:
        self.tally.apply("where", node.space, node.charge, times)
        condition, then, other = args
        taken = then if condition[0].data != 0 else other
        pieces = in_spaces(taken, node.type)
        broken = condition[0].fault
        return pieces if broken is None else tuple(all_fault(piece, int(broken)) for piece in pieces)

    # ---- members ---------------------------------------------------------------------------

    def indices(self, at: tuple[Poly | Node, ...], values: Sequence[Value]) -> tuple[list[int], int]:
        """Give the indices, 1-based, and the fault of the first that is one."""
        computed = iter(values)
        found: list[int] = []
        fault = 0
        for index in at:
            if isinstance(index, Poly):
                found.append(value_of(index, self.env))
                continue
            piece = next(computed)[0]
            found.append(int(convert(piece.data, "Z")))
            fault = fault or (0 if piece.fault is None else int(piece.fault))
        return found, fault

    def out_of_range(self, node: Member | Put, index: list[int], shape: Sequence[int]) -> int:
        for k, length in zip(index, shape, strict=False):
            if not 1 <= k <= length:
                break
        else:
            return 0
        what = "replaced" if isinstance(node, Put) else "read"
        return self.faults.number(node.span, f"a member is {what} out of range")

    def member(self, node: Member, args: list[Value]) -> Value:
        index, fault = self.indices(node.at, args[1:])
        pieces = args[0]
        fault = fault or self.out_of_range(node, index, pieces[0].data.shape)
        if fault:
            return tuple(all_fault(Piece(np.zeros((), piece.data.dtype)), fault) for piece in pieces)
        at = tuple(k - 1 for k in index)
        return tuple(element(piece, at) for piece in pieces)

    def put(self, node: Put, args: list[Value], times: int) -> Value:
        pieces, value = args[0], in_spaces(args[-1], node.type)
        for piece, new in zip(pieces, value, strict=True):
            self.tally.relay(piece.data.shape, times, kept=new.data.size)
        index, fault = self.indices(node.at, args[1:-1])
        fault = fault or self.out_of_range(node, index, pieces[0].data.shape)
        if fault:
            return tuple(all_fault(piece, fault) for piece in pieces)
        at = tuple(k - 1 for k in index)
        return tuple(replaced(piece, at, new) for piece, new in zip(pieces, value, strict=True))

    def filter(self, node: Filter, args: list[Value], times: int) -> Value:
        self.faults.check(args[1])
        chosen = args[1][0].data != 0
        self.env[node.length] = int(chosen.sum())
        self.tally.atoms["norm"] += times
        kept = tuple(selected(piece, chosen) for piece in args[0])
        for piece in kept:
            self.tally.relay(piece.data.shape, times)
        return kept

    # ---- whole values ----------------------------------------------------------------------

    def reshape(self, node: Reshape, value: Value, times: int) -> Value:
        shaped = tuple(
            reshaped(piece, self.shape_of(part)) for piece, part in zip(value, node.type, strict=True)
        )
        for piece in shaped:
            self.tally.relay(piece.data.shape, times)
        return shaped

    def convert(self, node: Convert, value: Value, times: int) -> Value:
        for piece in value:
            self.tally.relay(piece.data.shape, times)
        if node.bits:
            return tuple(
                Piece(same_bits(p.data, part.space), p.fault)
                for p, part in zip(value, node.type, strict=True)
            )
        return in_spaces(value, node.type)

    # ---- quantifiers -----------------------------------------------------------------------

    def coordinates_over(self, coords: tuple[Symbol, ...], extents: tuple[Poly, ...]) -> Iterator[None]:
        """Visit every coordinate in row-major order, bound in the environment meanwhile."""
        if not coords:
            yield
            return
        first, others = coords[0], coords[1:]
        for k in range(1, length_of(extents[0], self.env) + 1):
            self.env[first] = k
            self.coordinates.append(k)
            if others:
                yield from self.coordinates_over(others, extents[1:])
            else:
                yield
            self.coordinates.pop()

    def build(self, node: Build, times: int) -> Value:
        extents = tuple(length_of(extent, self.env) for extent in node.extents)
        check_size(extents)
        members = [self.visit(node.body, times) for _ in self.coordinates_over(node.coords, node.extents)]
        if members:
            pieces = tuple(stacked(column, extents) for column in zip(*members, strict=True))
        else:
            pieces = tuple(
                Piece(np.zeros(self.empty_shape(part), dtype_of(part.space))) for part in node.type
            )
        self.count_build(extents, pieces, times)
        return pieces

    def count_build(self, extents: tuple[int, ...], pieces: Value, times: int) -> None:
        rank = len(extents)
        if rank == 0:
            return
        if all(piece.data.ndim == rank for piece in pieces):
            self.tally.assemble(extents, times)
            return
        for piece in pieces:
            self.tally.relay(piece.data.shape, times)

    def fold(self, node: Fold, start: Value, times: int) -> Value:
        accumulator = in_spaces(start, node.accumulator.type)
        for _ in self.coordinates_over(node.coords, node.extents):
            self.vars[node.accumulator] = accumulator
            accumulator = in_spaces(self.visit(node.body, times), node.type)
        return accumulator
