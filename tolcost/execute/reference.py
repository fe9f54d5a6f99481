"""The reference interpreter: it evaluates one element at a time and counts what it does.

Closed forms and the fast interpreter are checked against it.  Every node is evaluated for every coordinate
around it, one after another, and adds exactly its own work to the tally.  For speed, each node is translated
once into a function of the values of its operands; there is no other optimisation.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from tolcost.algebra import PointFunction, Poly, Symbol, evaluate_cond, prepared, prepared_cond
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
    Indices,
    Schedule,
    constant_symbols,
    is_fixed,
    last_uses,
    schedule_block,
    schedule_program,
)
from tolcost.atoms.nodes import Block, Constant, Node, Number, Part, Program, Table, Type, Var
from tolcost.diagnostics import Rejected, Span, refuse
from tolcost.execute.dtypes import DTYPES, Array, Arrays, as_places, beside, convert, dtype_of, number
from tolcost.execute.functions import as_dtype, rand_sites, resolved, uniform
from tolcost.execute.inputs import (
    DEFAULT_STEPS,
    InputArrays,
    Met,
    execute,
    length_of,
    unknown_length,
    value_of,
)
from tolcost.execute.values import (
    Execution,
    Faults,
    Lengths,
    Piece,
    RunValue,
    Tally,
    all_fault,
    as_output,
    check_size,
    element,
    first_fault,
    in_spaces,
    joined,
    kept_rows,
    range_length,
    replaced,
    reshaped,
    scalar,
    selected,
    stacked,
    within,
)
from tolcost.execute.whole_numbers import ENDLESS, divides_or_rounds, exact_result, exactly, unheld, verdict

Run: TypeAlias = Callable[[list[RunValue], int], RunValue]
"""Evaluates a node, given the values of its block so far, with a multiplicity."""

Prepared: TypeAlias = Run | RunValue | Var
"""The translation of a node: a function, a value that never changes, or the variable that it reads."""


_SMALL = range(128)
"""Integers that all of NumPy's own number types represent exactly."""


def _number_at(span: Span, value: int | float | complex | Fraction | str, space: str) -> Array:
    """Return a number as an element of a space, or a diagnostic with its place if it is not in the space."""
    try:
        return number(value, space)
    except Rejected as rejected:
        raise rejected.at(span) from None


def _whole_in(space: str, span: Span) -> Callable[[int], Array]:
    """Return a function that converts integers to a space, with a fast path for small ones."""
    dtype = dtype_of(space)
    if dtype.kind not in "iuf" or dtype.isbuiltin != 1:
        return lambda value: scalar(_number_at(span, value, space))
    return lambda value: dtype.type(value) if value in _SMALL else scalar(_number_at(span, value, space))


_ON_NUMBERS: Mapping[Any, Callable[[Any, Any], Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.true_divide: operator.truediv,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
}
"""Faster equivalents of array functions, for two integers or reals of one type."""

_made = tuple.__new__
"""Makes a ``Piece`` faster than calling its class."""

Places: TypeAlias = Sequence[int]
"""The positions of a node's operands among the values of its block."""

_Place: TypeAlias = tuple[tuple[int, ...], int]
"""A coordinate, 0-based, and the first fault that occurred in computing it (0: none)."""


class _Step(NamedTuple):
    """A node to evaluate, as in a ``Schedule``: the position of its value, and how to compute it."""

    place: int
    how: Run
    times: int
    binds: tuple[Var, ...]
    done: tuple[int, ...]


class _Plan(NamedTuple):
    """The steps of a block in order, and the positions of its roots.

    ``values`` are the values that never change, by position; ``reads`` are variables of enclosing blocks,
    with further names for them; ``nodes`` is the number of nodes.
    """

    values: list[RunValue]
    reads: tuple[tuple[int, Var, tuple[Var, ...]], ...]
    steps: tuple[_Step, ...]
    roots: tuple[int, ...]
    nodes: int


def run_reference(
    program: Program,
    inputs: InputArrays | Met,
    dims: Mapping[str, int] | None = None,
    max_steps: int = DEFAULT_STEPS,
    watched: Counter[Node] | None = None,
) -> Execution:
    """Run a program one element at a time.

    ``dims`` has, by name, lengths that no input determines.  A run that takes more than ``max_steps``
    evaluations of a node stops with a diagnostic.  The number of applications of each function, node by node,
    is added to ``watched``.
    """
    return execute(
        program,
        inputs,
        dims,
        lambda arrays, lengths: _Reference(program, arrays, lengths, max_steps, watched),
    )


class _Reference:
    """A run: variables, coordinates and lengths, plans of blocks, and a rule for each kind of node."""

    def __init__(
        self,
        program: Program,
        arrays: Arrays,
        bindings: Mapping[Symbol, int],
        max_steps: int,
        watched: Counter[Node] | None,
    ) -> None:
        self.env = Lengths(bindings)
        self.coordinates: list[int] = []
        self.vars: dict[Var, RunValue] = {}
        self.tally = Tally()
        self.faults = Faults()
        self.watched = watched
        self.program = program
        self.arrays = arrays
        self.sites = rand_sites(program)
        self.plans: dict[Block, _Plan] = {}
        self.applied: dict[ir.Lambda, list[int]] = {}
        self.steps_left = max_steps

    def outputs(self) -> dict[str, Array | tuple[Array, ...]]:
        program = self.program
        plan = self.planned(schedule_program(program))
        found = self.follow(plan, 1)
        values = [found[k] for k in plan.roots[len(program.bindings) :]]
        for node, (times,) in self.applied.items():
            self.tally.apply(node.function, node.space, node.charge, times)
            if self.watched is not None and times:
                self.watched[node] += times
        for value in values:
            self.faults.check(value)
        return {
            output.name: as_output([np.asarray(piece.data) for piece in value])
            for output, value in zip(program.outputs, values, strict=True)
        }

    def planned(self, order: Schedule) -> _Plan:
        """Translate the nodes of a block: values known in advance and names of values are not steps."""
        ways: list[Prepared] = []
        at: list[int] = []
        named: dict[Var, int] = {}
        for k, step in enumerate(order.steps):
            how = _RULES[type(step.node)](self, step.node, [at[j] for j in step.operands])
            ways.append(how)
            at.append(named.get(how, k) if isinstance(how, Var) else k)
            for var in step.binds:
                named[var] = at[k]
        names: dict[int, tuple[Var, ...]] = {}
        for var, k in named.items():
            names[k] = (*names.get(k, ()), var)
        values: list[RunValue] = [()] * len(ways)
        reads: list[tuple[int, Var, tuple[Var, ...]]] = []
        steps: list[_Step] = []
        last = last_uses(order)
        for k, (step, how) in enumerate(zip(order.steps, ways, strict=True)):
            binds = names.get(k, ())
            if isinstance(how, tuple):
                values[k] = how
                self.vars.update(dict.fromkeys(binds, how))
            elif not isinstance(how, Var):
                done = tuple([j for j in last[k] if j not in names and callable(ways[j])])
                steps.append(_Step(k, how, step.times, binds, done))
            elif at[k] == k:
                reads.append((k, how, binds))
        roots = tuple([at[k] for k in order.roots])
        return _Plan(values, tuple(reads), tuple(steps), roots, len(ways))

    def plan(self, block: Block) -> _Plan:
        """Return the plan of a block, made at its first visit."""
        plan = self.plans.get(block)
        if plan is None:
            plan = self.plans[block] = self.planned(schedule_block(block))
        return plan

    def visit(self, plan: _Plan, times: int) -> RunValue:
        """Evaluate a block, and return its result: the last of its roots."""
        return self.follow(plan, times)[plan.roots[-1]]

    def follow(self, plan: _Plan, times: int) -> list[RunValue]:
        """Evaluate the steps of a plan, and return all values, by position."""
        self.steps_left -= plan.nodes
        if self.steps_left < 0:
            refuse("T0520", "the run takes too many steps", hint="try smaller lengths")
        values, names = plan.values.copy(), self.vars
        for place, read, binds in plan.reads:
            value = values[place] = names[read]
            for var in binds:
                names[var] = value
        for place, how, often, binds, done in plan.steps:
            value = values[place] = how(values, times * often)
            for var in binds:
                names[var] = value
            for k in done:
                values[k] = ()
        return values

    def define(self, length: Symbol, value: int) -> None:
        """Give a length that data decides its value."""
        self.env[length] = value
        self.tally.define(length, value)

    # ---- static values ---------------------------------------------------------------------

    def integer(self, form: Poly) -> Callable[[], int]:
        """Return a function that evaluates a static integer at the current coordinates."""
        at, env = prepared(form), self.env

        def value() -> int:
            try:
                return at(env)
            except KeyError as missing:
                raise unknown_length(missing) from None

        return value

    def length(self, form: Poly) -> Callable[[], int]:
        """Return a function that evaluates a length; a negative range is empty."""
        value = self.integer(form)
        return lambda: max(value(), 0)

    def number(self, node: Number) -> Prepared:
        """Translate a static number; a number without coordinates is computed once."""
        form, space = node.value, node.type[0].space
        if all(symbol.kind == "length" for symbol in constant_symbols(form)):
            return (Piece(scalar(self.static_number(form, space, node.span))),)
        if isinstance(form, Poly):
            value, make = self.integer(form), _whole_in(space, node.span)
            return lambda values, times: (Piece(make(value())),)
        return lambda values, times: (Piece(self.static_number(form, space, node.span)),)

    def static_number(self, value: Constant, space: str, span: Span) -> Array:
        """Return a static number at the current coordinates."""
        match value:
            case Poly():
                return _number_at(span, value_of(value, self.env), space)
            case bool() | float() | complex() | Fraction() | str():
                return _number_at(span, value, space)
            case _:
                return _number_at(span, evaluate_cond(value, self.env), space)

    def table(self, node: Table) -> Prepared:
        """Translate a table; a table without coordinates is laid out once."""
        if is_fixed(node):
            return (self.laid_out(node),)
        return lambda values, times: (self.laid_out(node),)

    def laid_out(self, node: Table) -> Piece:
        """Return a table at the current coordinates."""
        part = node.type[0]
        entries = [self.static_number(value, part.space, node.span) for value in node.values]
        return Piece(beside(entries, part.space).reshape(self.shape_of(part)))

    def shape_of(self, part: Part) -> tuple[int, ...]:
        """Return a shape at the current coordinates."""
        return tuple(length_of(length, self.env) for length in part.shape)

    def empty_shape(self, part: Part) -> tuple[int, ...]:
        """Return the shape of a ToL without members; a length that only members would determine is 0."""
        return tuple(
            length_of(length, self.env) if length.free <= self.env.keys() else 0 for length in part.shape
        )

    # ---- coordinates -----------------------------------------------------------------------

    def range_over(
        self, coords: tuple[Symbol, ...], extents: tuple[Poly, ...]
    ) -> Callable[[], Iterator[None]]:
        """Return a function that visits every coordinate in row-major order, bound in the environment."""
        lengths = [self.length(extent) for extent in extents]
        return lambda: self.coordinates_over(coords, lengths, 0)

    def coordinates_over(
        self, coords: tuple[Symbol, ...], lengths: Sequence[Callable[[], int]], axis: int
    ) -> Iterator[None]:
        """Visit the coordinates from one axis on."""
        if axis == len(coords):
            yield
            return
        symbol, last = coords[axis], axis + 1 == len(coords)
        for k in range(1, lengths[axis]() + 1):
            self.env[symbol] = k
            self.coordinates.append(k)
            if last:
                yield
            else:
                yield from self.coordinates_over(coords, lengths, axis + 1)
            self.coordinates.pop()

    # ---- functions -------------------------------------------------------------------------

    def function(self, node: ir.Lambda, operands: Places) -> Run:
        function, space = node.function, node.space
        if function == "rand":
            return lambda values, times: self.rand(node, [values[k] for k in operands], times)
        meaning, dtype = resolved(function, space)
        result = node.type[0].space
        made = dtype_of(result)
        applied = self.applied.setdefault(node, [0])
        exact = exactly(function, space, result)
        if exact is not None:
            return self.whole(node, exact, operands)
        quick = _ON_NUMBERS.get(meaning, meaning) if dtype.kind in "iuf" else meaning
        first, last = operands[0], operands[-1]

        def plain(values: list[RunValue], times: int) -> RunValue:
            """Fast path: two numbers of the type that the function computes in, without faults."""
            (left, bad), (right, worse) = values[first][0], values[last][0]
            if bad is not None or worse is not None or left.dtype is not dtype or right.dtype is not dtype:
                return run(values, times)
            data = quick(left, right)
            if data.dtype is not made:
                return run(values, times)
            applied[0] += times
            return (_made(Piece, (data, None)),)

        def run(values: list[RunValue], times: int) -> RunValue:
            applied[0] += times
            ready: list[Any] = []
            faults: list[Array] = []
            for k in operands:
                data, fault = values[k][0]
                ready.append(data if data.dtype is dtype else as_dtype(np.asarray(data), space, dtype))
                if fault is not None:
                    faults.append(fault)
            data = meaning(*ready)
            if data.dtype is not made:
                wrong = unheld(np.asarray(data)) if result in ENDLESS else None
                if wrong is not None:
                    faults.append(self.faults.of_numbers(wrong, node.span, f"`{function}` gives", result))
                data = convert(np.asarray(data), result)
            return (Piece(data, first_fault(faults) if faults else None),)

        quickest = plain if len(operands) == 2 else run
        return self.quotient(node, operands, quickest) if divides_or_rounds(function, space) else quickest

    def quotient(self, node: ir.Lambda, operands: Places, run: Run) -> Run:
        """Translate a function whose result must be exact where floats are not."""
        applied = self.applied[node]

        def exact(values: list[RunValue], times: int) -> RunValue:
            args = [values[k][0] for k in operands]
            found = exact_result(node.function, node.space, [np.asarray(data) for data, _ in args])
            if found is None:
                return run(values, times)
            applied[0] += times
            return (Piece(found, first_fault([fault for _, fault in args])),)

        return exact

    def whole(self, node: ir.Lambda, exact: Callable[..., int | None], operands: Places) -> Run:
        """Translate a function on unbounded whole numbers, whose results arrays may not hold."""
        applied, result = self.applied[node], node.type[0].space

        def run(values: list[RunValue], times: int) -> RunValue:
            applied[0] += times
            args = [values[k][0] for k in operands]
            faults = [fault for _, fault in args if fault is not None]
            found = exact(*(int(data) for data, _ in args))
            wrong = verdict(found)
            if wrong:
                source = f"`{node.function}` gives"
                faults.append(self.faults.of_numbers(np.asarray(wrong), node.span, source, result))
            data = np.int64(0 if wrong or found is None else found)
            return (Piece(data, first_fault(faults) if faults else None),)  # type: ignore[arg-type]

        return run

    def rand(self, node: ir.Lambda, args: list[RunValue], times: int) -> RunValue:
        self.tally.apply(node.function, node.space, node.charge, times)
        pieces = [value[0] for value in args]
        drawn = uniform(self.sites[node], self.coordinates, [piece.data for piece in pieces])
        data = convert(drawn, node.type[0].space)
        return (Piece(data, first_fault([piece.fault for piece in pieces])),)

    def where(self, node: ir.Where, args: list[RunValue], times: int) -> RunValue:
        self.tally.apply("where", node.space, node.charge, times)
        condition, then, other = args
        taken = then if condition[0].data != 0 else other
        pieces = in_spaces(taken, node.type)
        broken = condition[0].fault
        return pieces if broken is None else tuple(all_fault(piece, int(broken)) for piece in pieces)

    def select(self, node: ir.Select, operands: Places) -> Run:
        fitted, then, other, env = _fitting(node.type), node.then, node.other, self.env
        if isinstance(node.condition, Node):
            (at,) = operands
            return lambda values, times: fitted(
                self.visit(self.plan(then if self.true(values[at]) else other), times)
            )
        holds = prepared_cond(node.condition)
        return lambda values, times: fitted(self.visit(self.plan(then if holds(env) else other), times))

    def true(self, value: RunValue) -> bool:
        self.faults.check(value)
        return bool(value[0].data != 0)

    # ---- members ---------------------------------------------------------------------------

    def places(
        self, node: ir.Member | ir.Put, static: Sequence[PointFunction | None]
    ) -> Callable[[list[RunValue], Sequence[int]], _Place]:
        """Return a function that finds 0-based indices, and the first fault of computing or applying them."""
        known = [index for index in static if index is not None]
        env, done = self.env, "replaced" if isinstance(node, ir.Put) else "read"

        def find(values: list[RunValue], shape: Sequence[int]) -> _Place:
            fault = 0
            try:
                if len(known) == len(static):
                    found = tuple([index(env) for index in known])
                else:
                    found, fault = self.computed_place(static, values)
            except KeyError as missing:
                raise unknown_length(missing) from None
            for k, length in zip(found, shape, strict=False):
                if not 0 <= k < length:
                    return found, fault or self.faults.out_of_range(node.span, done, k + 1, length)
            return found, fault

        return find

    def computed_place(self, static: Sequence[PointFunction | None], values: list[RunValue]) -> _Place:
        """Return the indices if some of them are data, and the first fault among these."""
        computed = iter(values)
        found: list[int] = []
        fault = 0
        for index in static:
            if index is not None:
                found.append(index(self.env))
                continue
            piece = next(computed)[0]
            found.append(int(as_places(np.asarray(piece.data))) - 1)
            fault = fault or (0 if piece.fault is None else int(piece.fault))
        return tuple(found), fault

    def member(self, node: ir.Member, operands: Places) -> Run:
        static = _static_indices(node.at)
        known = [index for index in static if index is not None]
        places, atoms, env = self.places(node, static), self.tally.atoms, self.env
        tol, *computed = operands

        def plain(values: list[RunValue], times: int) -> RunValue:
            """Fast path: static indices in range, of one component without faults."""
            pieces = values[tol]
            data, bad = pieces[0]
            if bad is not None or len(pieces) > 1:
                return run(values, times)
            try:
                at = tuple([index(env) for index in known])
                found = data[at]
            except (KeyError, IndexError):
                return run(values, times)
            if min(at) < 0 or not hasattr(found, "dtype"):
                return run(values, times)
            atoms["member"] += times
            return (_made(Piece, (found, None)),)

        def run(values: list[RunValue], times: int) -> RunValue:
            atoms["member"] += times
            pieces = values[tol]
            at, fault = places([values[k] for k in computed], pieces[0].data.shape)
            if fault:
                return tuple(all_fault(Piece(np.zeros((), piece.data.dtype)), fault) for piece in pieces)
            return tuple([element(piece, at) for piece in pieces])

        return plain if known and len(known) == len(static) else run

    def put(self, node: ir.Put, operands: Places) -> Run:
        places = self.places(node, _static_indices(node.at))
        tol, *computed, new_value = operands

        def run(values: list[RunValue], times: int) -> RunValue:
            pieces, value = values[tol], in_spaces(values[new_value], node.type)
            self.tally.reassemble(pieces, times)
            for piece, new in zip(pieces, value, strict=True):
                if piece.data.ndim:
                    self.tally.atoms["member"] += times * ((len(pieces) > 1) - (new.data.ndim == 0))
            at, fault = places([values[k] for k in computed], pieces[0].data.shape)
            if fault:
                return tuple(all_fault(piece, fault) for piece in pieces)
            return tuple(replaced(piece, at, new) for piece, new in zip(pieces, value, strict=True))

        return run

    def filter(self, node: ir.Filter, args: list[RunValue], times: int) -> RunValue:
        self.faults.check(args[1])
        rows = (len(piece.data) for piece in args[0])
        chosen = kept_rows(self.faults, node, args[1][0].data, rows, self.env)
        self.define(node.length, chosen.size)
        self.tally.atoms["norm"] += times
        kept = tuple(selected(piece, chosen) for piece in args[0])
        self.tally.reassemble(kept, times)
        return kept

    def range_length(self, node: ir.Length, args: list[RunValue], times: int) -> RunValue:
        self.faults.check(args[0])
        self.define(node.length, range_length(self.faults, node, args[0][0].data, self.env))
        return args[0]

    # ---- whole values ----------------------------------------------------------------------

    def component(self, node: ir.Component, args: list[RunValue], times: int) -> RunValue:
        self.tally.atoms["member"] += times
        return (args[0][node.j - 1],)

    def pack(self, node: ir.Pack, args: list[RunValue], times: int) -> RunValue:
        self.tally.atoms["join"] += (len(args) - 1) * times
        return tuple(piece for value in args for piece in value)

    def join(self, node: ir.Join, args: list[RunValue], times: int) -> RunValue:
        self.tally.atoms["join"] += times
        return tuple(joined(a, b, node.d - 1, part) for a, b, part in zip(*args, node.type, strict=True))

    def embed(self, node: ir.Embed, args: list[RunValue], times: int) -> RunValue:
        self.tally.atoms["embed"] += times
        return tuple(reshaped(piece, (*piece.data.shape, 1)) for piece in args[0])

    def reshape(self, node: ir.Reshape, args: list[RunValue], times: int) -> RunValue:
        shaped = tuple(
            reshaped(piece, self.shape_of(part)) for piece, part in zip(args[0], node.type, strict=True)
        )
        self.tally.reassemble(shaped, times)
        taken = (bool(a.data.ndim) - bool(b.data.ndim) for a, b in zip(args[0], shaped, strict=True))
        self.tally.atoms["member"] += sum(taken) * times
        return shaped

    def convert(self, node: ir.Convert, args: list[RunValue], times: int) -> RunValue:
        value = args[0]
        self.tally.reassemble(value, times)
        spaces = [part.space for part in node.type]
        return within(self.faults, node, spaces, value, in_spaces(value, node.type, node.bits))

    # ---- quantifiers -----------------------------------------------------------------------

    def build(self, node: ir.Build, operands: Places) -> Run:
        everywhere = self.range_over(node.coords, node.extents)

        def run(values: list[RunValue], times: int) -> RunValue:
            extents = tuple(length_of(extent, self.env) for extent in node.extents)
            check_size(extents)
            plan = self.plan(node.body)
            members = [self.visit(plan, times) for _ in everywhere()]
            if members:
                pieces = tuple(stacked(column, extents) for column in zip(*members, strict=True))
            else:
                pieces = tuple(
                    Piece(np.zeros(self.empty_shape(part), dtype_of(part.space))) for part in node.type
                )
            self.count_build(extents, pieces, times)
            return pieces

        return run

    def count_build(self, extents: tuple[int, ...], pieces: RunValue, times: int) -> None:
        rank = len(extents)
        if rank == 0:
            return
        if all(piece.data.ndim == rank for piece in pieces):
            self.tally.assemble(extents, times)
            return
        for piece in pieces:
            self.tally.reassemble((piece,), times)
        shaped = sum(piece.data.ndim > rank for piece in pieces)
        self.tally.split(len(pieces), prod(extents) * shaped, times)

    def fold(self, node: ir.Fold, operands: Places) -> Run:
        if node.ends is not None:
            return self.fold_while(node, node.ends, operands)
        everywhere = self.range_over(node.coords, node.extents)
        fitted, body, var, names = _fitting(node.type), node.body, node.accumulator, self.vars
        (start,) = operands

        def run(values: list[RunValue], times: int) -> RunValue:
            accumulator = in_spaces(values[start], var.type)
            plan = self.plan(body)
            for _ in everywhere():
                names[var] = accumulator
                accumulator = fitted(self.visit(plan, times))
            return accumulator

        return run

    def fold_while(self, node: ir.Fold, turns: Symbol, operands: Places) -> Run:
        """Translate a fold that takes steps until the condition, its accumulator's first component, fails."""
        fitted, body, var = _fitting(node.type), node.body, node.accumulator
        (start,), (coordinate,) = operands, node.coords

        def run(values: list[RunValue], times: int) -> RunValue:
            accumulator = in_spaces(values[start], var.type)
            plan, done = self.plan(body), 0
            most = None if turns.hi is None else length_of(turns.hi, self.env)
            while most is None or done < most:
                self.faults.check(accumulator[:1])
                if not accumulator[0].data:
                    break
                done += 1
                self.env[coordinate] = done
                self.coordinates.append(done)
                self.vars[var] = accumulator
                accumulator = fitted(self.visit(plan, times))
                self.coordinates.pop()
            self.define(turns, done)
            return accumulator

        return run


def _static_indices(at: Indices) -> list[PointFunction | None]:
    """Return for each index a function that evaluates it, 0-based; None for an index that is data."""
    return [prepared(index - 1) if isinstance(index, Poly) else None for index in at]


def _fitting(types: Type) -> Callable[[RunValue], RunValue]:
    """Return a function that converts a value to the spaces of a type, with a fast path for one numeric."""
    expected = DTYPES[types[0].space] if len(types) == 1 else None

    def fitted(value: RunValue) -> RunValue:
        return value if value[0].data.dtype is expected else in_spaces(value, types)

    return fitted


def _plain_rule(
    rule: Callable[[_Reference, Any, list[RunValue], int], RunValue],
) -> _Rule:
    """Return a rule for a kind of node without anything to compute in advance."""

    def prepare(machine: _Reference, node: Node, operands: Places) -> Run:
        return lambda values, times: rule(machine, node, [values[k] for k in operands], times)

    return prepare


def _leaf(rule: Callable[[_Reference, Any], Prepared]) -> _Rule:
    """Return a rule for a kind of node without operands."""
    return lambda machine, node, operands: rule(machine, node)


_Rule: TypeAlias = Callable[[_Reference, Any, Places], Prepared]
"""Translates a node whose operands have the given positions."""

_RULES: Mapping[type, _Rule] = {
    ir.Input: _leaf(lambda machine, node: tuple(Piece(array) for array in machine.arrays[node.name])),
    ir.Number: _leaf(_Reference.number),
    ir.Table: _leaf(_Reference.table),
    ir.Ref: _leaf(lambda machine, node: node.var),
    ir.Lambda: _Reference.function,
    ir.Where: _plain_rule(_Reference.where),
    ir.Member: _Reference.member,
    ir.Component: _plain_rule(_Reference.component),
    ir.Pack: _plain_rule(_Reference.pack),
    ir.Join: _plain_rule(_Reference.join),
    ir.Embed: _plain_rule(_Reference.embed),
    ir.Build: _Reference.build,
    ir.Fold: _Reference.fold,
    ir.Select: _Reference.select,
    ir.Reshape: _plain_rule(_Reference.reshape),
    ir.Convert: _plain_rule(_Reference.convert),
    ir.Put: _Reference.put,
    ir.Filter: _plain_rule(_Reference.filter),
    ir.Length: _plain_rule(_Reference.range_length),
}
"""The rule that translates each kind of node."""
