"""The plain files under ``cases/``: reading a line, and what it says at concrete numbers.

A line is what is asked, an arrow, and the answer; ``#`` begins a comment.  Expressions are written as in
Python, with ``floor``, ``log2`` (rounded up), ``Max`` and ``Min``.  Names are lengths: at least 1, or 0 if
they begin with z; those that begin with d or u are integers that data decides: at least 0, or any, and
without an end.

    BODY for i = 1..n, j = 1..i if CONDITION given FACT -> CLOSED FORM, or open
    CLAIM for i = 1..n given FACT -> proved, open, refuted everywhere, or refuted at n = 1

Numbers are computed here by Python alone, so that the algebra is held against something else.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from types import CodeType

from msgspec import Struct

from tolcost.algebra import (
    TRUE,
    And,
    Cond,
    Poly,
    conj,
    const,
    coordinate,
    data_symbol,
    disj,
    eq,
    floordiv,
    ge,
    length,
    maximum,
    minimum,
    negate,
)
from tolcost.algebra.floors import ceil_log2
from tolcost.algebra.powers import powers

CASES = Path(__file__).with_name("cases")
_RANGE = re.compile(r"\s*(\w+)\s*=\s*(.+?)\s*\.\.\s*(.+?)\s*\Z")
_REACH = (1, 24, 20, 10, 6)
"""How far to go from the least value of each length, by how many lengths and coordinates there are."""
_LEAST = {"z": 0, "d": 0, "u": -4}
"""Where to begin, by the first letter of a name."""


class Line(Struct, frozen=True):
    """One line of a file: texts, not yet read."""

    where: str
    asked: str
    ranges: tuple[tuple[str, str, str], ...]
    guard: str
    fact: str
    answer: str

    @property
    def lengths(self) -> tuple[str, ...]:
        """The names that are not summed over."""
        texts = (self.asked, self.guard, self.fact, *(end for _, lo, hi in self.ranges for end in (lo, hi)))
        used = {node.id for text in texts for node in ast.walk(_tree(text)) if isinstance(node, ast.Name)}
        return tuple(sorted(used - _FUNCTIONS.keys() - {name for name, _, _ in self.ranges}))


def lines(folder: str) -> list[Line]:
    """Read all files of a folder."""
    found = []
    for file in sorted((CASES / folder).glob("*.txt")):
        for number, text in enumerate(file.read_text().splitlines(), 1):
            text = text.split("#")[0].strip()
            if text:
                found.append(read_line(f"{file.stem}:{number}", text))
    return found


def read_line(where: str, text: str) -> Line:
    """Read one line."""
    asked, arrow, answer = text.partition(" -> ")
    assert arrow, f"{where} has no answer"
    asked, _, fact = asked.partition(" given ")
    asked, _, guard = asked.partition(" if ")
    asked, _, ranges = asked.partition(" for ")
    parts = [_RANGE.match(part) for part in ranges.split(",")] if ranges else []
    read = tuple((part[1], part[2], part[3]) for part in parts if part is not None)
    assert len(read) == len(parts), f"{where} has a range that is not `i = 1..n`"
    return Line(where, asked.strip(), read, guard.strip() or "True", fact.strip() or "True", answer.strip())


def _tree(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


# ---- by Python's numbers ----------------------------------------------------------------------

_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "floor": lambda value: Fraction(math.floor(value)),
    "log2": lambda value: Fraction((max(math.ceil(value), 1) - 1).bit_length()),
    "Max": max,
    "Min": min,
}


def number(text: str, point: Mapping[str, int]) -> Fraction | int:
    """What an expression is at a point; a condition is 0 or 1."""
    code, is_whole = _code(text)
    names = point if is_whole else {name: Fraction(value) for name, value in point.items()}
    return eval(code, _NAMES, names)  # type: ignore[no-any-return]  # noqa: S307 - our own files


_NAMES: dict[str, object] = {"__builtins__": {}, **_FUNCTIONS}
_FRACTION = re.compile(r"(?<!/)/(?!/)|\*\*(?! ?\d)")
"""What may make fractions of whole numbers; to reckon with those takes several times as long."""


@cache
def _code(text: str) -> tuple[CodeType, bool]:
    """An expression, and whether it stays among whole numbers."""
    return compile(text.strip(), "<case>", "eval"), _FRACTION.search(text) is None


def points(line: Line) -> Iterator[dict[str, int]]:
    """Points near the least values of the lengths, where the facts hold."""
    names = line.lengths
    reach = _REACH[min(len(names) + len(line.ranges), len(_REACH) - 1)]
    starts = [_LEAST.get(name[0], 1) for name in names]
    for offsets in product(range(reach), repeat=len(names)):
        point = {name: start + by for name, start, by in zip(names, starts, offsets, strict=True)}
        if number(line.fact, point):
            yield point


def inside(line: Line, point: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """The points of the ranges, inner ones last."""

    def extend(k: int, here: dict[str, int]) -> Iterator[dict[str, int]]:
        if k == len(line.ranges):
            yield here
            return
        name, lo, hi = line.ranges[k]
        for value in range(int(number(lo, here)), int(number(hi, here)) + 1):
            yield from extend(k + 1, {**here, name: value})

    return extend(0, dict(point))


# ---- by the algebra ---------------------------------------------------------------------------


def symbols(line: Line) -> dict[str, Poly]:
    """The lengths and coordinates of a line."""
    names = {name: _symbol(name) for name in line.lengths}
    for name, lo, hi in line.ranges:
        names[name] = coordinate(name, poly(hi, names), poly(lo, names))
    return names


def _symbol(name: str) -> Poly:
    match name[0]:
        case "d":
            return data_symbol(name, 0, None)
        case "u":
            return data_symbol(name, None, None)
    return length(name, _LEAST.get(name[0], 1))


def poly(text: str, names: Mapping[str, Poly]) -> Poly:
    """Build an expression."""
    return _poly(_tree(text), names)


def _poly(tree: ast.expr, names: Mapping[str, Poly]) -> Poly:
    match tree:
        case ast.Constant(value=int(value)):
            return const(value)
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_poly(operand, names)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(exponent))):
            return _poly(left, names) ** exponent
        case ast.BinOp(left=ast.Constant(value=int(base)), op=ast.Pow(), right=exponent):
            return powers(base, _poly(exponent, names))
        case ast.Call(func=ast.Name(id="log2"), args=[inside]):
            return ceil_log2(_poly(inside, names))
        case ast.Call(func=ast.Name(id="floor"), args=[ast.BinOp(left=top, op=ast.Div(), right=bottom)]):
            return floordiv(_poly(top, names), _poly(bottom, names))
        case ast.Call(func=ast.Name(id="Max" | "Min" as function), args=[left, right]):
            return (maximum if function == "Max" else minimum)(_poly(left, names), _poly(right, names))
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_poly(left, names), _poly(right, names))
    raise AssertionError(ast.unparse(tree))


_OPERATORS: Mapping[type, Callable[[Poly, Poly], Poly]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


def sides(text: str, names: Mapping[str, Poly]) -> tuple[Poly, ast.cmpop, Poly] | None:
    """The two sides of a claim that is one comparison."""
    match _tree(text):
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _poly(left, names), op, _poly(right, names)
    return None


def condition(text: str, names: Mapping[str, Poly]) -> Cond:
    """Build a condition."""
    return _condition(_tree(text), names)


def given_facts(line: Line, names: Mapping[str, Poly]) -> tuple[Cond, ...]:
    """What a line takes as given, each fact by itself."""
    fact = condition(line.fact, names)
    return fact.parts if isinstance(fact, And) else () if fact == TRUE else (fact,)


def _condition(tree: ast.expr, names: Mapping[str, Poly]) -> Cond:
    match tree:
        case ast.Constant(value=bool(value)):
            return ge(0 if value else -1)
        case ast.BoolOp(op=op, values=values):
            parts = [_condition(value, names) for value in values]
            return conj(*parts) if isinstance(op, ast.And) else disj(*parts)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return negate(_condition(operand, names))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _COMPARISONS[type(op)](_poly(left, names) - _poly(right, names))
    raise AssertionError(ast.unparse(tree))


_COMPARISONS: Mapping[type, Callable[[Poly], Cond]] = {
    ast.GtE: ge,
    ast.LtE: lambda p: ge(-p),
    ast.Gt: lambda p: ge(p - 1),
    ast.Lt: lambda p: ge(-p - 1),
    ast.Eq: eq,
    ast.NotEq: lambda p: negate(eq(p)),
}
