"""The inputs of a program: conversion of plain arguments, and the binding of declared inputs to them.

    shapes = {"x": ("n", 4)}             an input of that shape
    shapes = {"xs": (("n",), ("m",))}    several inputs under a variadic name
    attrs  = {"axis": -1, "pads": (1, 2), "mode": "linear", "size": ("n", 3)}

A text is a value for an input of texts, and the name of a length for any other input. An attribute that may
be less than 1 is given with its least value, as in ``p>=0``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from operator import index
from typing import NoReturn, TypeAlias

from msgspec import Struct, field

from tolcost.algebra import (
    FALSE,
    LARGEST_LENGTH,
    TRUE,
    Cond,
    Exponential,
    Poly,
    const,
    exact_div,
    generators_in,
    length,
)
from tolcost.algebra.parse import parse_text
from tolcost.atoms.nodes import Input as InputNode
from tolcost.atoms.nodes import Part, Type
from tolcost.diagnostics import on_one_line, quoted
from tolcost.elaborate.environment import Env, Lazy, evaluate
from tolcost.elaborate.expressions import as_length, is_callable_name, mentioned, names_asked_known
from tolcost.elaborate.faults import fail
from tolcost.elaborate.layout import check_rank, check_sequence, check_size
from tolcost.elaborate.shapes import BOUNDS_CODE, check_within, shape_text, unify
from tolcost.elaborate.static_numbers import truth
from tolcost.elaborate.values import (
    Argument,
    Cast,
    Missing,
    NodeValue,
    Seq,
    Spaces,
    Tensor,
    Value,
    Vec,
    plain,
    shape_given,
)
from tolcost.spaces import SPACES, Bounds, bounds_of, kind_of, narrowed
from tolcost.syntax import tree

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AT_LEAST = re.compile(rf"({_NAME.pattern})(?:>=([0-9]+))?")
_EXPRESSION = re.compile(r"[A-Za-z0-9_ +*()-]+")
_MOST_ENTRIES = 100_000
"""The most entries of a given vector: each becomes a static value of its own."""

PlainValue: TypeAlias = "int | float | bool | str | Fraction | Sequence[PlainValue]"
PlainShape: TypeAlias = Sequence[int | str]
PlainShapes: TypeAlias = Mapping[str, PlainShape | Sequence[PlainShape]]
"""Shapes by input; a variadic input has several."""


def arguments(
    program: tree.Module,
    shapes: PlainShapes | None = None,
    attrs: Mapping[str, PlainValue] | None = None,
) -> dict[str, Argument]:
    """Convert the arguments of a program; an argument that does not match its declaration is a diagnostic."""
    declared = {s.name: s for s in program.statements if isinstance(s, tree.InputDecl)}
    found: dict[str, Argument] = {}
    for name, shape in (shapes or {}).items():
        found[name] = _shaped_argument(program, _declaration(declared, name), shape)
    for name, value in (attrs or {}).items():
        statement = _declaration(declared, name)
        if name in found:
            fail("T0412", f"{quoted(name)} has both a shape and a value", statement.span)
        if statement.kind == "tol":
            hint = "say `static` or `attr` in the program if its value is known while compiling"
            fail("T0412", f"{quoted(name)} is data: it has no value yet", statement.span, hint)
        found[name] = static_value(value, statement)
        _check_least_values(found, statement)
    return found


def _check_least_values(found: Mapping[str, Argument], statement: tree.InputDecl) -> None:
    """Reject a name that has different least values in different arguments."""
    lengths = {symbol for argument in found.values() for d in _polys(argument) for symbol in d.free}
    seen: set[str] = set()
    for name in [symbol.name for symbol in lengths]:
        if name in seen:
            hint = f"write `{name}>=0` in every place, or use another name"
            fail("T0412", f"{quoted(name)} has two different least values", statement.span, hint)
        seen.add(name)


def _polys(argument: Argument) -> Iterator[Poly]:
    match argument:
        case Poly():
            yield argument
        case Tensor(shape=shape):
            yield from shape
        case Vec(items=items) | Seq(items=items):
            for item in items:
                yield from _polys(item)
        case _:
            return


def _declaration(declared: Mapping[str, tree.InputDecl], name: str) -> tree.InputDecl:
    if name not in declared:
        known = ", ".join(map(quoted, declared))
        hint = f"it has {known}" if known else "it has no inputs"
        fail("T0412", f"the program has no input called {quoted(name)}", hint=hint)
    return declared[name]


def _shaped_argument(
    program: tree.Module, statement: tree.InputDecl, shape: PlainShape | Sequence[PlainShape]
) -> Argument:
    if statement.kind != "tol" and statement.name not in names_asked_known(program):
        hint = f"give its value: --attr {statement.name}=..."
        fail("T0412", f"{quoted(statement.name)} is not a ToL, it has no shape to give", statement.span, hint)
    if not isinstance(shape, (tuple, list)):
        hint = f'shapes={{"{statement.name}": ("n", 4)}}'
        fail("T0412", f"{quoted(str(shape))} is no shape of {quoted(statement.name)}", statement.span, hint)
    several = [entry for entry in shape if isinstance(entry, (tuple, list))]
    if several and len(several) != len(shape):
        fail(
            "T0412", f"the shape of {quoted(statement.name)} is neither one shape nor several", statement.span
        )
    space = _base_space(program, statement)
    if several or (statement.variadic and not shape):
        if not statement.variadic:
            fail(
                "T0412", f"{quoted(statement.name)} is a single input, but has several shapes", statement.span
            )
        return Seq(tuple(Tensor(_lengths(one, statement), space) for one in several))
    one = Tensor(_lengths([e for e in shape if not isinstance(e, (tuple, list))], statement), space)
    return Seq((one,)) if statement.variadic else one


def _lengths(shape: PlainShape, statement: tree.InputDecl) -> tuple[Poly, ...]:
    return tuple(_length(entry, statement) for entry in shape)


def _length(entry: int | str, statement: tree.InputDecl) -> Poly:
    if hasattr(entry, "__index__") and (number := index(entry)) >= 0:  # NumPy's integers, too
        return const(number)
    if isinstance(entry, str) and _NAME.fullmatch(entry):
        return length(entry)
    if isinstance(entry, str) and _EXPRESSION.fullmatch(entry):
        return _expression(entry)
    hint = "a length is a number, a name, or an expression of them such as `2*n`"
    fail("T0412", f"{quoted(str(entry))} in the shape of {quoted(statement.name)}", statement.span, hint)


def _expression(text: str) -> Poly:
    """Parse an expression of lengths.

    A symbol in an exponent may be 0, and keeps the power within a length.
    """
    found = parse_text(text)
    raised = {s for g in generators_in(found) if isinstance(g, Exponential) for s in g.free}
    return parse_text(text, {s.name: length(s.name, 0, LARGEST_LENGTH.bit_length() - 1) for s in raised})


def _base_space(program: tree.Module, statement: tree.InputDecl) -> str:
    """Resolve a declared space to its base space.

    Reject lists, which have several and cannot be given by shape.
    """
    space = statement.space
    for _ in program.statements:
        for other in program.statements:
            if isinstance(other, tree.SpaceDecl) and other.name == space:
                space = other.space
            if isinstance(other, tree.ListDecl) and other.name == space:
                problem = f"{quoted(statement.name)} is a list: only its declaration says its shape"
                fail("T0412", problem, statement.span)
        if space in SPACES:
            break
    return space


def static_value(value: PlainValue, statement: tree.InputDecl) -> Value:
    """Convert a plain value to a static value of the declared space."""
    value = value.tolist() if hasattr(value, "tolist") else value  # NumPy's numbers and arrays
    if kind_of_declared(statement.space) == "Z" and isinstance(value, (bool, float, Fraction)):
        value = _integer_value(value, statement)
    match value:
        case bool():
            return TRUE if value else FALSE
        case int():
            return const(value)
        case float() if math.isfinite(value):
            return Fraction(repr(value))  # the value that a program with the same digits has
        case Fraction() | float():
            return value
        case str():
            return value if kind_of_declared(statement.space) == "S" else _length_named(value, statement)
        case tuple() | list():
            return _vector(value, statement)
        case _:
            _reject_value(f"an object of type {type(value).__name__}", statement)


def _integer_value(value: bool | float | Fraction, statement: tree.InputDecl) -> int:
    """Convert a number to an equal integer; reject any other number."""
    if (isinstance(value, float) and not math.isfinite(value)) or value != int(value):
        _reject_value(str(value), statement)
    return int(value)


def _reject_value(text: str, statement: tree.InputDecl) -> NoReturn:
    hint = f"{quoted(statement.name)} is declared in {statement.space}"
    fail("T0412", f"{quoted(text)} is no value for {quoted(statement.name)}", statement.span, hint)


def _length_named(name: str, statement: tree.InputDecl) -> Poly:
    if named := _AT_LEAST.fullmatch(name):
        return length(named[1], int(named[2] or 1))
    _reject_value(name, statement)


def _vector(values: Sequence[PlainValue], statement: tree.InputDecl) -> Vec:
    """Flatten nested sequences into one vector; all rows of a level must have the same length."""
    shape = [len(values)]
    level: list[PlainValue] = list(values)
    while rows := [entry for entry in level if isinstance(entry, (tuple, list))]:
        sizes = {len(row) for row in rows}
        if len(rows) != len(level) or len(sizes) != 1:
            fail("T0412", f"the rows of {quoted(statement.name)} differ in length", statement.span)
        shape += sizes
        level = [entry for row in rows for entry in row]
        if len(level) > _MOST_ENTRIES:
            fail("T0412", f"{quoted(statement.name)} has more than {_MOST_ENTRIES:,} entries", statement.span)
    return Vec(tuple(shape), tuple(static_value(entry, statement) for entry in level))


def kind_of_declared(space: str) -> str:
    """Return the family of a declared space; a list or a space of the program counts as R."""
    return kind_of(space) if space in SPACES else "R"


def length_for(statement: tree.InputDecl, name: str) -> Poly:
    """Return the symbol of an integer that is not given, within the bounds of its space."""
    space = SPACES.get(statement.space)
    lo = space.lo if space is not None else None
    return length(name, int(lo)) if lo is not None else length(name, -(2**31))


# === Binding of declarations to arguments: inputs, attributes, and the lengths that they mention.


_TRUTHS = Bounds(0, 1)


class InputBinder(Struct, frozen=True, eq=False):
    """Binds declared inputs, and the lengths in their shapes, to values in ``names``.

    ``env`` includes the program's definitions, so that a declared shape may mention them.
    """

    program: tree.Module
    env: Env
    names: dict[str, Lazy | Value]
    inputs: dict[str, list[InputNode]] = field(default_factory=dict)

    def bind(self, given: dict[str, Argument]) -> tuple[InputNode, ...]:
        """Bind every declaration; the arguments used are removed from ``given``."""
        declared = [s for s in self.program.statements if isinstance(s, tree.InputDecl)]
        arguments: dict[str, Argument | None] = {}
        for statement in declared:
            self.env.context.declared[statement.name] = statement.span
            arguments[statement.name] = given.pop(statement.name, None)
            check_rank(statement.shape, statement.span)
        told = [s for s in declared if arguments[s.name] is not None]
        for statement in told:
            self._name_lengths(statement, arguments[statement.name])
        self._open_lengths(declared, arguments)
        # Attributes and static inputs first: the shapes of other inputs may depend on them.
        for statement in sorted(declared, key=lambda s: s.kind == "tol"):
            self.names[statement.name] = self._value(statement, arguments[statement.name])
        for statement in told:
            self._equate(statement, arguments[statement.name])
        return tuple([node for statement in declared for node in self.inputs.get(statement.name, ())])

    def _name_lengths(self, statement: tree.InputDecl, argument: Argument | None) -> None:
        """Bind each length declared by a plain name to the actual length, whichever input comes first."""
        shape = shape_given(argument) or ()
        self.env.context.lengths.update(s.name for d in shape for s in d.free)
        for entry, actual in _pairs(statement, shape_given(argument)):
            if isinstance(entry, tree.Name):
                self.names.setdefault(entry.name, actual)

    def _open_lengths(self, declared: list[tree.InputDecl], arguments: dict[str, Argument | None]) -> None:
        """Make a length of each name in a declared shape that nothing defines."""
        for statement in declared:
            argument = arguments[statement.name]
            if argument is None and (statement.optional or statement.variadic):
                continue
            given = {} if argument is None else dict(_pairs(statement, shape_given(argument)))
            for entry in statement.shape:
                names = [] if isinstance(entry, tree.Ellipsis) else mentioned(entry)
                for name in names:
                    known = name in arguments or self.env.nearest(name) is not None
                    if known or is_callable_name(self.env, name):
                        continue
                    self.names[name] = unknown = length(name)
                    self.env.context.lengths.add(name)
                    if given and names == [name] and not isinstance(entry, tree.Ellipsis) and entry in given:
                        self.names[name] = self._part(unknown, entry, given[entry])

    def _part(self, unknown: Poly, entry: tree.Expr, actual: Poly) -> Poly:
        """Solve ``2 * r = actual`` for r if the division is exact; otherwise return the unknown itself."""
        declared = as_length(self.env, evaluate(self.env, entry), entry.span)
        times = exact_div(declared, unknown)
        part = None if times is None or times.constant is None else exact_div(actual, times)
        return unknown if part is None else part

    def _value(self, statement: tree.InputDecl, argument: Argument | None) -> Value:
        if argument is None or isinstance(argument, Missing):
            return self._absent(statement)
        if statement.variadic and not isinstance(argument, Seq):
            argument = Seq((argument,))
        return self._one(statement, argument, statement.name)

    def _one(self, statement: tree.InputDecl, argument: Argument, name: str) -> Value:
        if isinstance(argument, Seq):
            check_sequence(len(argument.items), statement.span)
            items = enumerate(argument.items, start=1)
            return Seq(tuple(self._one(statement, item, f"{name}.{n}") for n, item in items))
        if not isinstance(argument, Tensor):
            return self._static(statement, argument)
        if statement.kind == "static" and statement.name not in names_asked_known(self.program):
            hint = f"a program that asks `known({statement.name})` may also be given it as data"
            fail("T0413", f"the value of `{name}` must be known while compiling", statement.span, hint)
        return NodeValue(self._input(statement, name, (Part(argument.shape, argument.space),)))

    def _input(self, statement: tree.InputDecl, name: str, parts: Type) -> InputNode:
        node = InputNode(name, parts, self._within(statement))
        self.inputs.setdefault(statement.name, []).append(node)
        return node

    def _static(self, statement: tree.InputDecl, argument: Value) -> Value:
        """Bind a static value, checked against its declared space; a truth value is 0 or 1."""
        own = _TRUTHS if statement.space == "B" else bounds_of(statement.space)
        bounds = self._within(statement) or (own,)
        check_within(self.env, argument, statement.space, bounds[0], statement.span, statement.name)
        value = _static_argument(statement, argument)
        self.env.context.arguments.append((statement.name, value))
        return value

    def _within(self, statement: tree.InputDecl) -> tuple[Bounds, ...]:
        """Return the bounds of a space that the program declares."""
        found = self.env.nearest(statement.space)
        return found.within if isinstance(found, Spaces) else ()

    def _equate(self, statement: tree.InputDecl, argument: Argument | None) -> None:
        """Require the declared shape to equal the actual shape."""
        items = argument.items if isinstance(argument, Seq) else (argument,)
        for item in items:
            for entry, actual in _pairs(statement, shape_given(item)):
                self._equate_length(statement, entry, actual)

    def _equate_length(self, statement: tree.InputDecl, entry: tree.Expr, actual: Poly) -> None:
        declared = self.names.get(entry.name) if isinstance(entry, tree.Name) else None
        if not isinstance(declared, Poly):
            declared = as_length(self.env, evaluate(self.env, entry), entry.span)
        so = f"`{statement.name}` is declared so"
        unify(self.env, actual, declared, so, entry.span, lambda: f"{so}: `{on_one_line(statement.span)}`")

    def _absent(self, statement: tree.InputDecl) -> Value:
        if statement.default is not None:
            return self._static(statement, evaluate(self.env, statement.default))
        if statement.optional:
            return Missing(statement.name)
        if statement.variadic:
            fail(
                "T0414",
                f"how many `{statement.name}` there are must be said",
                statement.span,
                hint="give their shapes",
            )
        if statement.kind == "tol":
            return self._symbolic(statement)
        if statement.shape or statement.kind == "static":
            return self._symbolic_vector(statement)
        return self._symbolic_attribute(statement)

    def _symbolic(self, statement: tree.InputDecl) -> Value:
        if statement.any_rank:
            fail(
                "T0408",
                f"the rank of `{statement.name}` is not declared",
                statement.span,
                hint=f"say its shape: --shape {statement.name}=n,m",
            )
        shape, found = self._declared_shape(statement), self.env.nearest(statement.space)
        spaces = found.names if isinstance(found, Spaces) else (statement.space,)
        parts = tuple([Part(shape, space) for space in spaces])
        return NodeValue(self._input(statement, statement.name, parts))

    def _declared_shape(self, statement: tree.InputDecl) -> tuple[Poly, ...]:
        env, written = self.env, statement.shape
        kept = [as_length(env, evaluate(env, e), e.span) for e in written if not isinstance(e, tree.Ellipsis)]
        return tuple(kept)

    def _symbolic_vector(self, statement: tree.InputDecl) -> Value:
        sizes = [d.constant for d in self._declared_shape(statement)]
        if len(sizes) > 1 or None in sizes:
            _reject_unknown(statement)
        if not sizes:
            return length_for(statement, statement.name)
        count = sizes[0] or 0
        check_size(count, statement.span)
        names = (self.env.context.unused(f"{statement.name}{n + 1}") for n in range(count))
        return Vec((count,), tuple(length_for(statement, name) for name in names))

    def _symbolic_attribute(self, statement: tree.InputDecl) -> Value:
        kind = kind_of_declared(statement.space)
        if kind == "Z":
            self.env.context.lengths.add(statement.name)
            self.env.context.attributes.add(statement.name)
            return length_for(statement, statement.name)
        if kind in ("B", "S"):
            _reject_unknown(statement)
        node = self._input(statement, statement.name, (Part((), statement.space),))
        return NodeValue(node, static=True)


def _reject_unknown(statement: tree.InputDecl) -> NoReturn:
    message = f"the value of `{statement.name}` must be known while compiling"
    fail("T0413", message, statement.span, hint=f"give it: --attr {statement.name}=...")


def _pairs(statement: tree.InputDecl, shape: tuple[Poly, ...] | None) -> list[tuple[tree.Expr, Poly]]:
    """Pair declared lengths with the actual ones, if these are known; an ellipsis takes the rest."""
    declared = statement.shape
    if shape is None or not (shape or declared):
        return []
    gap = next((n for n, e in enumerate(declared) if isinstance(e, tree.Ellipsis)), None)
    head = declared if gap is None else declared[:gap]
    tail = () if gap is None else declared[gap + 1 :]
    if len(shape) < len(head) + len(tail) or (gap is None and len(shape) != len(head)):
        fail(
            "T0328",
            f"`{statement.name}` is declared with {len(head) + len(tail)} lengths, "
            f"but has shape {shape_text(shape)}",
            statement.span,
        )
    pairs = [*zip(head, shape, strict=False), *zip(tail, shape[len(shape) - len(tail) :], strict=True)]
    return [(e, d) for e, d in pairs if not isinstance(e, tree.Ellipsis)]


def _static_argument(statement: tree.InputDecl, value: Value) -> Value:
    """Convert a static value to the declared space: truth values for B, exact reals for R."""
    if isinstance(value, Cast):
        return (
            value
            if kind_of(value.space) == "Z"
            else Cast(_static_argument(statement, value.value), value.space)
        )
    if isinstance(value, Vec):
        return Vec(value.shape, tuple(_static_argument(statement, v) for v in value.items), value.loose)
    if statement.space == "B" and not isinstance(value, (Cond, NodeValue)):
        return truth(value) or value
    if (
        isinstance(value, Poly)
        and value.constant is not None
        and kind_of_declared(statement.space) == "R"
        and statement.kind == "attr"
    ):
        return Fraction(value.constant)
    return value


# ---- spaces that a program declares ---------------------------------------------------------------


def declared_spaces(env: Env, program: tree.Module) -> dict[str, Lazy | Value]:
    """Return the spaces and lists that a program declares, each with the base spaces it stands for."""
    spaces: dict[str, Lazy | Value] = {}
    for statement in program.statements:
        if isinstance(statement, tree.SpaceDecl):
            found = _base_spaces(spaces, (statement.space,))
            within = tuple(_with_bounds(env, statement, b) for b in found.within)
            spaces[statement.name] = Spaces(found.names, within)
        elif isinstance(statement, tree.ListDecl):
            spaces[statement.name] = _base_spaces(spaces, statement.spaces)
    return spaces


def _base_spaces(known: Mapping[str, Lazy | Value], names: tuple[str, ...]) -> Spaces:
    found = [known.get(name, Spaces((name,), (bounds_of(name),))) for name in names]
    lists = [one for one in found if isinstance(one, Spaces)]
    return Spaces(
        tuple(name for one in lists for name in one.names), tuple(b for one in lists for b in one.within)
    )


def _with_bounds(env: Env, statement: tree.SpaceDecl, base: Bounds) -> Bounds:
    if statement.low is None or statement.high is None:
        return base
    low, high = (_number(env, end) for end in (statement.low, statement.high))
    if low > high or low not in base or high not in base:
        message = f"{quoted(statement.name)} has no bounds in {statement.space}: {low} and {high}"
        fail(BOUNDS_CODE, message, statement.span, hint=f"a lower and an upper one, {base}")
    return narrowed(base, Bounds(low, high))


def _number(env: Env, expr: tree.Expr) -> int | float | Fraction:
    match plain(evaluate(env, expr)):
        case Poly(constant=int(number)):
            return number
        case Fraction() | float() as number:
            return number
        case _:
            pass
    fail(BOUNDS_CODE, "a bound of a space is a number", expr.span, hint="space pixel: N [0, 255]")
