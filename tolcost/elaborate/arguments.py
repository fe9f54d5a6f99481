"""What is said of the inputs of a program, in plain words, and what it comes to.

    shapes = {"x": ("n", 4)}             an input of that shape
    shapes = {"xs": (("n",), ("m",))}    several inputs under a variadic name
    attrs  = {"axis": -1, "pads": (1, 2), "mode": "linear", "size": ("n", 3)}

A text is itself for an input of texts, and the name of a length for any other; an attribute that may be less
than 1 says the least that it can be, as in ``p>=0``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NoReturn, TypeAlias

from tolcost.algebra import (
    FALSE,
    LARGEST_LENGTH,
    TRUE,
    Exponential,
    Poly,
    const,
    generators_in,
    length,
)
from tolcost.algebra.parse import parse_text
from tolcost.algebra.substitute import symbols_of
from tolcost.diagnostics import quoted
from tolcost.elaborate.expressions import asked_known
from tolcost.elaborate.faults import fail
from tolcost.elaborate.values import Argument, Inputs, Tensor, Value, Vec
from tolcost.spaces import SPACES, kind_of
from tolcost.syntax import tree

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AT_LEAST = re.compile(rf"({_NAME.pattern})(?:>=([0-9]+))?")
_EXPRESSION = re.compile(r"[A-Za-z0-9_ +*()-]+")
_MOST_ENTRIES = 100_000

PlainValue: TypeAlias = "int | float | bool | str | Fraction | Sequence[PlainValue]"
PlainShape: TypeAlias = Sequence[int | str]


def arguments(
    program: tree.Module,
    shapes: Mapping[str, PlainShape | Sequence[PlainShape]] | None = None,
    attrs: Mapping[str, PlainValue] | None = None,
) -> dict[str, Argument]:
    """Give the arguments of a program; what does not fit its declarations is a diagnostic."""
    declared = {s.name: s for s in program.statements if isinstance(s, tree.InputDecl)}
    found: dict[str, Argument] = {}
    for name, shape in (shapes or {}).items():
        found[name] = _shaped(program, _declaration(declared, name), shape)
    for name, value in (attrs or {}).items():
        statement = _declaration(declared, name)
        if name in found:
            fail("T0412", f"{quoted(name)} has both a shape and a value", statement.span)
        if statement.kind == "tol":
            hint = "say `static` or `attr` in the program if its value is known while compiling"
            fail("T0412", f"{quoted(name)} is data: it has no value yet", statement.span, hint)
        found[name] = static_value(value, statement)
        _one_meaning(found, statement)
    return found


def _one_meaning(found: Mapping[str, Argument], statement: tree.InputDecl) -> None:
    """Refuse a name that is said to be at least this in one place, and at least that in another."""
    lengths = {symbol for argument in found.values() for d in _polys(argument) for symbol in symbols_of(d)}
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
        case Vec(items=items) | Inputs(items=items):
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


def _shaped(
    program: tree.Module, statement: tree.InputDecl, shape: PlainShape | Sequence[PlainShape]
) -> Argument:
    if statement.kind != "tol" and statement.name not in asked_known(program):
        hint = f"give its value: --attr {statement.name}=..."
        fail("T0412", f"{quoted(statement.name)} is not a ToL, it has no shape to give", statement.span, hint)
    if not isinstance(shape, (tuple, list)):
        hint = f'shapes={{"{statement.name}": ("n", 4)}}'
        fail("T0412", f"{quoted(str(shape))} is no shape of {quoted(statement.name)}", statement.span, hint)
    several = [entry for entry in shape if not isinstance(entry, (int, str))]
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
        return Inputs(tuple(Tensor(_lengths(one, statement), space) for one in several))
    one = Tensor(_lengths([e for e in shape if isinstance(e, (int, str))], statement), space)
    return Inputs((one,)) if statement.variadic else one


def _lengths(shape: PlainShape, statement: tree.InputDecl) -> tuple[Poly, ...]:
    return tuple(_length(entry, statement) for entry in shape)


def _length(entry: int | str, statement: tree.InputDecl) -> Poly:
    if isinstance(entry, int) and entry >= 0:
        return const(entry)
    if isinstance(entry, str) and _NAME.fullmatch(entry):
        return length(entry)
    if isinstance(entry, str) and _EXPRESSION.fullmatch(entry):
        return _expression(entry)
    hint = "a length is a number, a name, or an expression of them such as `2*n`"
    fail("T0412", f"{quoted(str(entry))} in the shape of {quoted(statement.name)}", statement.span, hint)


def _expression(text: str) -> Poly:
    """An expression of lengths; what it has as an exponent may be 0, and makes no more than a length."""
    found = parse_text(text)
    raised = {s for g in generators_in(found) if isinstance(g, Exponential) for s in g.free}
    return parse_text(text, {s.name: length(s.name, 0, LARGEST_LENGTH.bit_length() - 1) for s in raised})


def _base_space(program: tree.Module, statement: tree.InputDecl) -> str:
    """Give the space that a declared one is made of; a list has several, which no shape can give."""
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
    """Give a plain value as one known while compiling, in the terms of its declaration."""
    value = value.tolist() if hasattr(value, "tolist") else value  # NumPy's numbers and arrays
    if kind_of_declared(statement.space) == "Z" and isinstance(value, (bool, float, Fraction)):
        value = _whole(value, statement)
    match value:
        case bool():
            return TRUE if value else FALSE
        case int():
            return const(value)
        case float() if math.isfinite(value):
            return Fraction(repr(value))  # as the same digits in a program would be read
        case Fraction() | float():
            return value
        case str():
            return value if _is_text(statement) else _named(value, statement)
        case tuple() | list():
            return _vector(value, statement)
        case _:
            _no_value(f"an object of type {type(value).__name__}", statement)


def _whole(value: bool | float | Fraction, statement: tree.InputDecl) -> int:
    """A number as the integer that it is: as a truth value, 1 or 0."""
    if (isinstance(value, float) and not math.isfinite(value)) or value != int(value):
        _no_value(str(value), statement)
    return int(value)


def _no_value(text: str, statement: tree.InputDecl) -> NoReturn:
    hint = f"{quoted(statement.name)} is declared in {statement.space}"
    fail("T0412", f"{quoted(text)} is no value for {quoted(statement.name)}", statement.span, hint)


def _named(name: str, statement: tree.InputDecl) -> Poly:
    if named := _AT_LEAST.fullmatch(name):
        return length(named[1], int(named[2] or 1))
    _no_value(name, statement)


def _is_text(statement: tree.InputDecl) -> bool:
    return statement.space in SPACES and SPACES[statement.space].kind == "S"


def _vector(values: Sequence[PlainValue], statement: tree.InputDecl) -> Vec:
    """Lay nested sequences out as one; all rows of a level have one length."""
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
    """The family of a declared space; a list or a program's own space counts as R."""
    return kind_of(space) if space in SPACES else "R"


def length_for(statement: tree.InputDecl, name: str) -> Poly:
    """The symbol that stands for an integer that is not said, within the bounds of its space."""
    space = SPACES.get(statement.space)
    lo = space.lo if space is not None else None
    return length(name, int(lo)) if lo is not None else length(name, -(2**31))
