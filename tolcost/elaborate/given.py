"""What a user says of a program's inputs, in plain words: shapes of names and numbers, values.

    shapes = {"x": ("n", 4)}             an input of that shape
    shapes = {"xs": (("n",), ("m",))}    several inputs under a variadic name
    attrs  = {"axis": -1, "pads": (1, 2), "mode": "linear", "size": ("n", 3)}

A text is itself for an input of texts, and the name of a length for any other.  This module
turns what is said into the arguments that ``elaborate`` takes; it evaluates nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NoReturn, TypeAlias

from tolcost.algebra import FALSE, TRUE, Poly, const, length
from tolcost.diagnostics import NOWHERE, Diagnostic, Rejected, Span, quoted
from tolcost.elaborate.inputs import Argument, Inputs, Tensor
from tolcost.elaborate.values import Value, Vec
from tolcost.spaces import SPACES
from tolcost.syntax import tree

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_ENTRIES = 100_000

Plain: TypeAlias = "int | float | bool | str | Fraction | Sequence[Plain]"
Shape: TypeAlias = Sequence[int | str]


def arguments(
    program: tree.Program,
    shapes: Mapping[str, Shape | Sequence[Shape]] | None = None,
    attrs: Mapping[str, Plain] | None = None,
) -> dict[str, Argument]:
    """Give the arguments of a program; what does not fit its declarations is a diagnostic."""
    declared = {s.name: s for s in program.statements if isinstance(s, tree.Input)}
    found: dict[str, Argument] = {}
    for name, shape in (shapes or {}).items():
        found[name] = _shaped(program, _declaration(declared, name), shape)
    for name, value in (attrs or {}).items():
        statement = _declaration(declared, name)
        if name in found:
            _fail("T0412", f"{quoted(name)} has both a shape and a value", statement.span)
        if statement.kind == "tol":
            hint = "say `static` or `attr` in the program if its value is known while compiling"
            _fail("T0412", f"{quoted(name)} is data: it has no value yet", statement.span, hint)
        found[name] = static_value(value, statement)
    return found


def _fail(code: str, message: str, span: Span = NOWHERE, hint: str | None = None) -> NoReturn:
    raise Rejected(Diagnostic(code, message, span, hint=hint))


def _declaration(declared: Mapping[str, tree.Input], name: str) -> tree.Input:
    if name not in declared:
        known = ", ".join(map(quoted, declared))
        hint = f"it has {known}" if known else "it has no inputs"
        _fail("T0412", f"the program has no input called {quoted(name)}", hint=hint)
    return declared[name]


def _shaped(program: tree.Program, statement: tree.Input, shape: Shape | Sequence[Shape]) -> Argument:
    if statement.kind != "tol":
        hint = f"give its value: --attr {statement.name}=..."
        _fail(
            "T0412", f"{quoted(statement.name)} is not a ToL, it has no shape to give", statement.span, hint
        )
    several = [entry for entry in shape if not isinstance(entry, (int, str))]
    if several and len(several) != len(shape):
        _fail(
            "T0412", f"the shape of {quoted(statement.name)} is neither one shape nor several", statement.span
        )
    space = _base_space(program, statement)
    if several or (statement.variadic and not shape):
        if not statement.variadic:
            _fail(
                "T0412", f"{quoted(statement.name)} is a single input, but has several shapes", statement.span
            )
        return Inputs(tuple(Tensor(_lengths(one, statement), space) for one in several))
    one = Tensor(_lengths([e for e in shape if isinstance(e, (int, str))], statement), space)
    return Inputs((one,)) if statement.variadic else one


def _lengths(shape: Shape, statement: tree.Input) -> tuple[Poly, ...]:
    return tuple(_length(entry, statement) for entry in shape)


def _length(entry: int | str, statement: tree.Input) -> Poly:
    if isinstance(entry, int) and entry >= 0:
        return const(entry)
    if isinstance(entry, str) and _NAME.fullmatch(entry):
        return length(entry)
    hint = "a length is a number or a name"
    _fail("T0412", f"{quoted(str(entry))} in the shape of {quoted(statement.name)}", statement.span, hint)


def _base_space(program: tree.Program, statement: tree.Input) -> str:
    """Give the space that a declared one is made of; a list has several, which no shape can give."""
    space = statement.space
    for _ in program.statements:
        for other in program.statements:
            if isinstance(other, tree.SpaceDecl) and other.name == space:
                space = other.space
            if isinstance(other, tree.ListDecl) and other.name == space:
                problem = f"{quoted(statement.name)} is a list: only its declaration says its shape"
                _fail("T0412", problem, statement.span)
        if space in SPACES:
            break
    return space


def static_value(value: Plain, statement: tree.Input) -> Value:
    """Give a plain value as one known while compiling, in the terms of its declaration."""
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
        case _:
            return _vector(value, statement)


def _named(name: str, statement: tree.Input) -> Poly:
    if _NAME.fullmatch(name):
        return length(name)
    hint = f"{quoted(statement.name)} is declared in {statement.space}"
    _fail("T0412", f"{quoted(name)} is no value for {quoted(statement.name)}", statement.span, hint)


def _is_text(statement: tree.Input) -> bool:
    return statement.space in SPACES and SPACES[statement.space].kind == "S"


def _vector(values: Sequence[Plain], statement: tree.Input) -> Vec:
    """Lay nested sequences out as one; all rows of a level have one length."""
    shape = [len(values)]
    level: list[Plain] = list(values)
    while rows := [entry for entry in level if isinstance(entry, (tuple, list))]:
        sizes = {len(row) for row in rows}
        if len(rows) != len(level) or len(sizes) != 1:
            _fail("T0412", f"the rows of {quoted(statement.name)} differ in length", statement.span)
        shape += sizes
        level = [entry for row in rows for entry in row]
        if len(level) > _MOST_ENTRIES:
            _fail(
                "T0412", f"{quoted(statement.name)} has more than {_MOST_ENTRIES:,} entries", statement.span
            )
    return Vec(tuple(shape), tuple(static_value(entry, statement) for entry in level))
