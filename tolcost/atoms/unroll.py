"""Unrolling: write a program at concrete lengths in terms of the five atoms alone.

By this construction the paper shows that the atoms are complete. Every Build becomes joins and embeds, every
Fold nested lambdas. A matrix is assembled from its columns: the innermost joins run over the first
coordinate, each vector is embedded, and the next joins put the columns side by side.

Aspects that only data decides (the length of a Filter, the place of a Put, a Select on a computed value) are
unrolled for the data at hand, if the caller provides ``look``: then the atoms are those of one run. Without
data they are a diagnostic, and so is a program that would become too large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from itertools import product
from math import prod
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from tolcost.algebra import Cond, Poly, Symbol, UnboundSymbol, evaluate, evaluate_cond
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import Indices, Schedule, schedule_block, schedule_program
from tolcost.atoms.lengths import given_lengths, norms_of
from tolcost.atoms.nodes import Block, Charge, Constant, Node, Part, Program, Type, Var
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Span, refuse
from tolcost.records import Record
from tolcost.spaces import Bounds

# === Programs of the five atoms alone: atomic computations in order, and their operands.


Operation = Literal["lambda", "norm", "member", "join", "embed"]


class AtomResult(Struct, frozen=True):
    """The result of an atom, by its position."""

    place: int


class InputOperand(Struct, frozen=True):
    """An input."""

    name: str


class Constants(Struct, frozen=True):
    """Static numerics in row-major order under a shape, in a space; usually a single number."""

    values: tuple[int | float | complex | str, ...]
    shape: tuple[int, ...]
    space: str


class CastOperand(Record, frozen=True):
    """A value, or its ``bits``, in other spaces, which is no computation.

    As in a ``Convert``, a value not ``within`` the bounds of a space is a fault.
    """

    value: Operand
    spaces: tuple[str, ...]
    bits: bool = False
    within: tuple[Bounds, ...] = ()
    span: Span = NOWHERE


Operand: TypeAlias = AtomResult | InputOperand | Constants | CastOperand


class Atom(Struct, frozen=True):
    """One atomic computation.

    ``index`` is the coordinate of a member (1-based), ``component`` the number of a list's component. A join
    with ``d`` 0 makes a list. ``spaces`` are those of the result's components; ``shape`` is the shape of an
    embed's result. A numeric may stand for a vector of one entry. Only atoms charged to data count: asking
    for a length is free.
    """

    operation: Operation
    args: tuple[Operand, ...]
    spaces: tuple[str, ...]
    function: str = ""
    space: str = ""
    charge: Charge = "data"
    index: tuple[int | Operand, ...] = ()
    component: int = 0
    d: int = 0
    shape: tuple[int, ...] = ()


class Unrolled(Struct, frozen=True):
    """The atoms in order, and for each output its operand and the shapes of its components.

    ``lengths`` are those that only data decided, with the value of every visit.
    """

    atoms: tuple[Atom, ...]
    outputs: tuple[tuple[str, Operand, tuple[tuple[int, ...], ...]], ...]
    lengths: Mapping[Symbol, Sequence[int]]


Look: TypeAlias = Callable[[Sequence[Atom], Operand], Sequence[int]]
"""Returns the entries of a value as integers, once the atoms before it are executed."""


MAX_ATOMS = 100_000
"""The default limit on the number of atoms, which grows with every length: it bounds memory and time."""

_Parts: TypeAlias = tuple[tuple[tuple[int, ...], str], ...]
"""The shape and space of every component, at concrete lengths."""


def _spaces(parts: _Parts) -> tuple[str, ...]:
    return tuple(space for _, space in parts)


class _Value(Struct, frozen=True):
    """An operand and the types of its components at concrete lengths."""

    operand: Operand
    parts: _Parts

    @property
    def spaces(self) -> tuple[str, ...]:
        return _spaces(self.parts)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.parts[0][0]


def unroll(
    program: Program, dims: Mapping[str, int], max_atoms: int = MAX_ATOMS, look: Look | None = None
) -> Unrolled:
    """Write a program as atoms, with the lengths given by name in ``dims``.

    ``look`` reads computed values where data decides how to continue.
    """
    machine = _Unroller(given_lengths(program, dims), max_atoms, look, norms_of(program))
    values = machine.follow(schedule_program(program))[len(program.bindings) :]
    outputs = (
        (output.name, value.operand, tuple(shape for shape, _ in value.parts))
        for output, value in zip(program.outputs, values, strict=True)
    )
    return Unrolled(tuple(machine.atoms), tuple(outputs), machine.lengths)


def _as_truth_values(value: _Value) -> _Value:
    """Cast numbers to truth values: every number except 0 is true."""
    parts = tuple((shape, "B") for shape, _ in value.parts)
    return _Value(CastOperand(value.operand, ("B",) * len(parts)), parts)


def _rejection(message: str, span: Span = NOWHERE, hint: str | None = None) -> Rejected:
    return Rejected(Diagnostic("T0510", message, span, hint=hint))


class _Unroller:
    """The atoms so far, and the values of variables, lengths and coordinates."""

    def __init__(
        self,
        env: dict[Symbol, int],
        max_atoms: int,
        look: Look | None,
        norms: Mapping[Symbol, tuple[str, int]],
    ) -> None:
        self.env = env
        self.norms = norms
        self.asked: dict[Symbol | str, Operand] = {}
        self.look = look
        self.lengths: dict[Symbol, list[int]] = {}
        self.copies = 0
        """How many of the nodes around are copies of one that was unrolled: a run evaluates them once."""
        self.atoms: list[Atom] = []
        self.left = max_atoms
        self.vars: dict[Var, _Value] = {}

    # ---- walking ---------------------------------------------------------------------------

    def follow(self, plan: Schedule) -> list[_Value]:
        """Evaluate every node once per path: each place that needs its value gets its own copy."""
        values: list[list[_Value]] = []
        for step in plan.steps:
            self.spend(step.times - 1)
            self.left += step.times - 1
            made = []
            for _ in range(step.times):
                made.append(self.evaluate(step.node, [values[k].pop() for k in step.operands]))
                self.copies += 1
            self.copies -= step.times
            for var in step.binds:
                self.vars[var] = made[0]
            values.append(made)
        return [values[k].pop() for k in plan.roots]

    def visit(self, block: Block) -> _Value:
        return self.follow(schedule_block(block))[-1]

    def emit(self, atom: Atom) -> Operand:
        self.spend(1)
        self.atoms.append(atom)
        return AtomResult(len(self.atoms) - 1)

    def spend(self, count: int) -> None:
        """Stop before the result becomes too large."""
        self.left -= count
        if self.left < 0:
            raise _rejection("unrolled, the program has too many atoms; try smaller lengths")

    # ---- static values ---------------------------------------------------------------------

    def integer(self, p: Poly) -> int:
        try:
            return evaluate(p, self.env)
        except UnboundSymbol as missing:
            raise _rejection(f"to unroll, every length has to be given: {missing}") from None

    def holds(self, condition: Cond) -> bool:
        try:
            return evaluate_cond(condition, self.env)
        except UnboundSymbol as missing:
            raise _rejection(f"to unroll, every length has to be given: {missing}") from None

    def types(self, types: Type) -> _Parts:
        return tuple((tuple(max(self.integer(s), 0) for s in part.shape), part.space) for part in types)

    def literal(self, value: Constant) -> int | float | complex | str:
        match value:
            case Poly():
                return self.integer(value)
            case bool():
                return int(value)
            case float() | complex() | str():
                return value
            case Fraction():
                return value.numerator if value.denominator == 1 else float(value)
            case _:
                return int(self.holds(value))

    def number(self, node: ir.Number) -> _Value:
        """Evaluate a static number; a length used as a number becomes a free norm atom."""
        form = node.value
        if not isinstance(form, Poly) or form.height or form.den != 1 or form.free.isdisjoint(self.norms):
            return self.constants((form,), node.type)
        self.integer(form)  # rejects the program unless all its lengths are known
        return self.cast(_Value(self.of_lengths(form), (((), "Z"),)), node.type)

    def of_lengths(self, form: Poly) -> Operand:
        """Evaluate a polynomial of lengths: its sums and products are free atoms."""
        terms: list[Operand] = []
        rest = 0
        for mono, factor in form.terms.items():
            # without floors, every generator is a symbol
            symbols = [s for s in mono if isinstance(s, Symbol)]
            others = prod(self.env[s] for s in symbols if s not in self.norms) * factor
            lengths = [self.length(s) for s in symbols if s in self.norms]
            if not lengths:
                rest += others
                continue
            factors = lengths if others == 1 else [Constants((others,), (), "Z"), *lengths]
            terms.append(reduce(partial(self.static, "mul"), factors))
        terms += [Constants((rest,), (), "Z")] if rest else []
        return reduce(partial(self.static, "add"), terms)

    def static(self, function: str, left: Operand, right: Operand) -> Operand:
        return self.emit(Atom("lambda", (left, right), ("Z",), function, "Z", "static"))

    def length(self, symbol: Symbol) -> Operand:
        """Return the atom that reads a length of an input, emitted once."""
        name, axis = self.norms[symbol]
        if name not in self.asked:
            self.asked[name] = self.emit(Atom("norm", (InputOperand(name),), ("N",), charge="static"))
        if symbol not in self.asked:
            atom = Atom("member", (self.asked[name],), ("N",), charge="static", index=(axis,))
            self.asked[symbol] = self.emit(atom)
        return self.asked[symbol]

    def constants(self, values: Sequence[Constant], types: Type) -> _Value:
        parts = self.types(types)
        shape, space = parts[0]
        return _Value(Constants(tuple(map(self.literal, values)), shape, space), parts)

    # ---- nodes -----------------------------------------------------------------------------

    def evaluate(self, node: Node, args: list[_Value]) -> _Value:
        return _RULES[type(node)](self, node, args)

    def join(self, node: ir.Join, args: list[_Value]) -> _Value:
        parts = self.joined_types(node, args)
        operands = tuple(value.operand for value in args)
        return _Value(self.emit(Atom("join", operands, _spaces(parts), d=node.d)), parts)

    def embed(self, value: _Value) -> _Value:
        parts = tuple(((*shape, 1), space) for shape, space in value.parts)
        return _Value(self.emit(Atom("embed", (value.operand,), value.spaces, shape=parts[0][0])), parts)

    def define(self, symbol: Symbol, value: int) -> None:
        """Give a length that data decides its value."""
        self.env[symbol] = value
        if not self.copies:
            self.lengths.setdefault(symbol, []).append(value)

    def filter(self, node: ir.Filter, args: list[_Value]) -> _Value:
        """Keep the rows that a mask selects, each as often as the mask says."""
        tol, mask = args
        why_not = "a length that depends on data cannot be unrolled"
        marks = self.seen(mask if node.repeats else _as_truth_values(mask), why_not, node.span)
        if node.repeats:
            self.check_counts(node, marks)
        rows = [k for k, n in enumerate(marks, start=1) for _ in range(n)]
        self.define(node.length, len(rows))
        self.emit(Atom("norm", (mask.operand,), ("N",)))
        return self.pack([self.kept(tol, j, rows) for j in range(len(tol.parts))])

    def range_length(self, node: ir.Length, args: list[_Value]) -> _Value:
        """Let a number on data be the length of a range."""
        (size,) = self.seen(args[0], "a range whose ends data decides cannot be unrolled", node.span)
        most = node.length.hi
        if size < 0 or (most is not None and size > self.integer(most)):
            refuse("T0346", f"a range of length {size} is not inside of what it is taken from", node.span)
        self.define(node.length, size)
        return args[0]

    def check_counts(self, node: ir.Filter, counts: Sequence[int]) -> None:
        """Reject negative repetitions of a row, and more rows in total than the program states."""
        total, most = sum(counts), node.length.hi
        if min(counts, default=0) < 0 or (most is not None and total > self.integer(most)):
            text = "entries are repeated a negative number of times, or too often"
            refuse("T0346", text, node.span)
        self.spend(total)  # too many rows are not even listed
        self.left += total  # their atoms are counted when they are emitted

    def kept(self, tol: _Value, j: int, rows: Sequence[int]) -> _Value:
        """Assemble the given rows of one component."""
        part = tol if len(tol.parts) == 1 else self.component(tol, j + 1)
        rest = part.shape[1:]
        at = product(rows, *(range(1, size + 1) for size in rest))
        return self.assembled([self.member(part, where) for where in at], (len(rows), *rest), part.spaces)

    def seen(self, value: _Value, why_not: str, span: Span) -> Sequence[int]:
        """Return the data that decides how to continue; without data, reject the program."""
        if self.look is None:
            hint = "`where(c, a, b)` at every element is the same for all data; `tolcost run` goes by values"
            raise _rejection(why_not, span, hint)
        return self.look(self.atoms, value.operand)

    def apply(self, node: ir.Lambda | ir.Where, args: list[_Value]) -> _Value:
        """Emit a lambda with the function and the charge of a node."""
        function = node.function if isinstance(node, ir.Lambda) else "where"
        spaces = tuple(part.space for part in node.type)
        operands = tuple(value.operand for value in args)
        parts = tuple(
            (shape, space) for (shape, _), space in zip(self.result(node, args), spaces, strict=True)
        )
        return _Value(self.emit(Atom("lambda", operands, spaces, function, node.space, node.charge)), parts)

    def result(self, node: ir.Lambda | ir.Where, args: list[_Value]) -> _Parts:
        """Return the type of a function's result: a numeric, or the type of the chosen value."""
        return args[1].parts if isinstance(node, ir.Where) else (((), node.type[0].space),)

    def index(self, at: Indices, computed: Sequence[_Value]) -> tuple[int | Operand, ...]:
        values = iter(computed)
        return tuple(self.integer(i) if isinstance(i, Poly) else next(values).operand for i in at)

    def member(self, tol: _Value, index: tuple[int | Operand, ...]) -> _Value:
        atom = Atom("member", (tol.operand,), tol.spaces, index=index)
        return _Value(self.emit(atom), tuple(((), space) for space in tol.spaces))

    def read(self, tol: _Value, index: tuple[int | Operand, ...], span: Span) -> _Value:
        """Read a member.

        In a run, a member out of range is a fault only if it is needed, as the execution decides.
        """
        for k, size in zip(index, tol.shape or (1,) * len(index), strict=True):
            if self.look is None and isinstance(k, int) and not 1 <= k <= size:
                refuse("T0346", f"a member is read out of range: index {k} is outside 1..{size}", span)
        return self.member(tol, index)

    def component(self, value: _Value, j: int) -> _Value:
        shape, space = value.parts[j - 1]
        return _Value(self.emit(Atom("member", (value.operand,), (space,), component=j)), ((shape, space),))

    def pack(self, items: Sequence[_Value], charge: Charge = "data") -> _Value:
        found = items[0]
        for item in items[1:]:
            parts = (*found.parts, *item.parts)
            spaces = tuple(space for _, space in parts)
            joined = Atom("join", (found.operand, item.operand), spaces, charge=charge)
            found = _Value(self.emit(joined), parts)
        return found

    def joined_types(self, node: ir.Join, args: list[_Value]) -> _Parts:
        d = node.d - 1
        shapes = (
            (*left[:d], left[d] + right[d], *left[d + 1 :])
            for (left, _), (right, _) in zip(args[0].parts, args[1].parts, strict=True)
        )
        return tuple((shape, part.space) for shape, part in zip(shapes, node.type, strict=True))

    def select(self, node: ir.Select, args: list[_Value]) -> _Value:
        if isinstance(node.condition, Node):
            (chosen,) = self.seen(
                _as_truth_values(args[0]), "a choice by a computed value cannot be unrolled", node.span
            )
        else:
            chosen = self.holds(node.condition)
        return self.cast(self.visit(node.then if chosen else node.other), node.type)

    def cast(self, value: _Value, types: Type) -> _Value:
        """Cast a value to the spaces of a type."""
        spaces = tuple(part.space for part in types)
        if value.spaces == spaces:
            return value
        shapes = (shape for shape, _ in value.parts)
        return _Value(CastOperand(value.operand, spaces), tuple(zip(shapes, spaces, strict=True)))

    # ---- quantifiers -----------------------------------------------------------------------

    def over(self, coords: tuple[Symbol, ...], extents: tuple[Poly, ...]) -> Iterator[None]:
        """Bind the coordinates in row-major order."""
        if not coords:
            yield
            return
        for k in range(1, self.integer(extents[0]) + 1):
            self.spend(0 if coords[1:] else 1)
            self.env[coords[0]] = k
            yield from self.over(coords[1:], extents[1:])

    def fold(self, node: ir.Fold, start: _Value) -> _Value:
        accumulator = self.cast(start, node.accumulator.type)
        if node.ends is not None:
            return self.fold_while(node, node.ends, accumulator)
        for _ in self.over(node.coords, node.extents):
            self.vars[node.accumulator] = accumulator
            accumulator = self.cast(self.visit(node.body), node.type)
        return accumulator

    def fold_while(self, node: ir.Fold, turns: Symbol, accumulator: _Value) -> _Value:
        """Take steps while the first component of the accumulator, a condition, holds."""
        (coordinate,), done = node.coords, 0
        most = None if turns.hi is None else self.integer(turns.hi)
        while most is None or done < most:
            why_not = "a loop that ends by data cannot be unrolled"
            if not self.seen(_as_truth_values(accumulator), why_not, node.span)[0]:
                break
            self.spend(1)
            done += 1
            self.env[coordinate] = done
            self.vars[node.accumulator] = accumulator
            accumulator = self.cast(self.visit(node.body), node.type)
        self.define(turns, done)
        return accumulator

    def build(self, node: ir.Build) -> _Value:
        extents = tuple(max(self.integer(extent), 0) for extent in node.extents)
        members = [self.visit(node.body) for _ in self.over(node.coords, node.extents)]
        if not node.coords:
            return members[0]
        if not members and all(len(part.shape) == len(extents) for part in node.type):
            return self.empty(extents, tuple(part.space for part in node.type))
        if not members:
            return self.pack([self.empty(self.known(part), (part.space,)) for part in node.type])
        if all(not shape for shape, _ in members[0].parts):
            return self.assembled(members, extents, members[0].spaces)
        return self.pack([self.column(members, j, extents) for j in range(len(node.type))])

    def known(self, part: Part) -> tuple[int, ...]:
        """Return the shape of a ToL without members; a length that only its members would define is 0."""
        return tuple(max(self.integer(s), 0) if s.free <= self.env.keys() else 0 for s in part.shape)

    def empty(self, shape: tuple[int, ...], spaces: tuple[str, ...]) -> _Value:
        """Build a ToL without members: its columns are embedded, and there is nothing to join.

        Packing it into a list is free, because its members would already have been lists.
        """
        for k in range(1, len(shape)):
            column = Constants((), (0, *shape[1:k]), spaces[0])
            for _ in range(prod(shape[k:])):
                self.emit(Atom("embed", (column,), spaces, shape=(0, *shape[1:k], 1)))
        parts = ((shape, space) for space in spaces)
        return self.pack([_Value(Constants((), *part), (part,)) for part in parts], "static")

    def column(self, members: Sequence[_Value], j: int, extents: tuple[int, ...]) -> _Value:
        """Assemble one component of members that are ToLs, element by element."""
        elements = [element for value in members for element in self.elements(value, j)]
        shape, space = members[0].parts[j]
        return self.assembled(elements, (*extents, *shape), (space,))

    def elements(self, value: _Value, j: int = 0) -> list[_Value]:
        """Split one component of a value into elements, in row-major order."""
        part = value if len(value.parts) == 1 else self.component(value, j + 1)
        if not part.shape:
            return [part]
        self.spend(0)
        return [self.member(part, at) for at in product(*(range(1, size + 1) for size in part.shape))]

    def assembled(
        self, elements: Sequence[_Value], shape: tuple[int, ...], spaces: tuple[str, ...]
    ) -> _Value:
        """Assemble numerics (or lists of numerics): along the first coordinate, then the next."""
        parts = tuple((shape, space) for space in spaces)
        if prod(shape) == 0:
            return self.empty(shape, spaces)
        current = [value.operand for value in elements]
        for k, size in enumerate(shape):
            if k:
                width = (*shape[:k], 1)
                current = [self.emit(Atom("embed", (operand,), spaces, shape=width)) for operand in current]
            current = self.joined(current, size, k + 1, spaces)
        return _Value(current[0], parts)

    def joined(self, operands: list[Operand], size: int, d: int, spaces: tuple[str, ...]) -> list[Operand]:
        """Join along the coordinate that comes first in row-major order, for each value of the others."""
        rest = len(operands) // size
        result = []
        for j in range(rest):
            found = operands[j]
            for i in range(1, size):
                found = self.emit(Atom("join", (found, operands[i * rest + j]), spaces, d=d))
            result.append(found)
        return result

    # ---- whole values ----------------------------------------------------------------------

    def reassembled(self, value: _Value, parts: _Parts) -> _Value:
        """Split a value into elements and assemble them in other shapes."""
        columns = (
            self.assembled(self.elements(value, j), shape, (space,)) for j, (shape, space) in enumerate(parts)
        )
        return self.pack(list(columns))

    def convert(self, value: _Value, node: ir.Convert) -> _Value:
        spaces = tuple(part.space for part in node.type)
        parts = tuple((shape, space) for (shape, _), space in zip(value.parts, spaces, strict=True))
        cast = _Value(CastOperand(value.operand, spaces, node.bits, node.within, node.span), parts)
        return self.reassembled(cast, parts) if any(shape for shape, _ in parts) else cast

    def put(self, node: ir.Put, args: list[_Value]) -> _Value:
        tol, computed, new = args[0], iter(args[1:-1]), self.cast(args[-1], node.type)
        why_not = "replacing a member at a place that data decides cannot be unrolled"
        at = tuple(
            self.integer(i) if isinstance(i, Poly) else self.seen(next(computed), why_not, node.span)[0]
            for i in node.at
        )
        if not all(1 <= k <= size for k, size in zip(at, tol.shape, strict=False)):
            refuse("T0346", "a member is replaced out of range", node.span)
        return self.pack([self.replaced(tol, j, at, new) for j in range(len(tol.parts))])

    def replaced(self, tol: _Value, j: int, at: tuple[int, ...], new: _Value) -> _Value:
        """Assemble one component again, with other elements at a place."""
        part = tol if len(tol.parts) == 1 else self.component(tol, j + 1)
        fresh = iter(self.elements(new, j))
        elements = [
            next(fresh) if where[: len(at)] == at else self.member(part, where)
            for where in product(*(range(1, size + 1) for size in part.shape))
        ]
        return self.assembled(elements, part.shape, part.spaces)


_RULES: Mapping[type, Callable[[_Unroller, Any, list[_Value]], _Value]] = {
    ir.Input: lambda m, node, args: _Value(InputOperand(node.name), m.types(node.type)),
    ir.Number: lambda m, node, args: m.number(node),
    ir.Table: lambda m, node, args: m.constants(node.values, node.type),
    ir.Ref: lambda m, node, args: m.vars[node.var],
    ir.Lambda: _Unroller.apply,
    ir.Where: _Unroller.apply,
    ir.Member: lambda m, node, args: m.read(args[0], m.index(node.at, args[1:]), node.span),
    ir.Component: lambda m, node, args: m.component(args[0], node.j),
    ir.Pack: lambda m, node, args: m.pack(args),
    ir.Join: _Unroller.join,
    ir.Embed: lambda m, node, args: m.embed(args[0]),
    ir.Build: lambda m, node, args: m.build(node),
    ir.Fold: lambda m, node, args: m.fold(node, args[0]),
    ir.Select: _Unroller.select,
    ir.Reshape: lambda m, node, args: m.reassembled(args[0], m.types(node.type)),
    ir.Convert: lambda m, node, args: m.convert(args[0], node),
    ir.Put: _Unroller.put,
    ir.Filter: _Unroller.filter,
    ir.Length: _Unroller.range_length,
}
"""The rule that unrolls each kind of node, given its unrolled operands."""
