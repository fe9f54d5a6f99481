"""The formulas that the paper prints for its counts, read into the algebra.

    2*vol(t1)*|t2|[2]      Pi((|t|[axes]+2*p-|k|)/s+1)*2*|k|      vol(t)*n

``Pi`` is the product over the axes that a window slides along: inside it ``|t|[axes]`` is the
length of the axis at hand, and ``|k|`` that of the kernel; outside, ``|k|`` is the kernel's volume.
A quotient is rounded down, as the number of windows is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn, TypeAlias

from tolcost.algebra import Poly, const, floordiv, length, product_of
from tolcost.dataclass import dataclass

_TOKEN = re.compile(r"\s*(?:(?P<number>[0-9]{1,9})|(?P<name>[A-Za-z][A-Za-z0-9_]*)|(?P<sign>[-+*/()|\[\]]))")
_LONGEST = 400

AxisLengths: TypeAlias = tuple[Poly, ...]


class IllFormed(ValueError):
    """A formula that cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class FormulaNames:
    """What the names in a formula stand for: shapes of ToLs, and numbers."""

    shapes: Mapping[str, AxisLengths]
    numbers: Mapping[str, Poly]


@dataclass(frozen=True, slots=True)
class ReadFormula:
    """A formula as an expression; ``repaired`` is what was read where the print is ill-formed."""

    form: Poly
    problem: str | None = None
    repaired: str | None = None


def read(text: str, meaning: FormulaNames) -> ReadFormula:
    """Read a formula, if need be with the one bracket put in that it lacks.

    >>> n, k, s = (length(name) for name in "nks")
    >>> meaning = FormulaNames({"t": (n,)}, {"k": k, "s": s})
    >>> read("2*vol(t)", meaning).form
    2*n
    >>> broken = read("Pi(|t|[axes]-k)/s+1)*k", meaning)
    >>> broken.form, broken.repaired
    (k*floor((n - k)/s) + k, 'Pi((|t|[axes]-k)/s+1)*k')
    """
    try:
        return ReadFormula(evaluate(text, meaning))
    except IllFormed as problem:
        repaired = text.replace("Pi(", "Pi((", 1)
        if text.count(")") != text.count("(") + 1 or repaired == text:
            raise
        return ReadFormula(evaluate(repaired, meaning), str(problem), repaired)


def evaluate(text: str, meaning: FormulaNames) -> Poly:
    """Give a formula as an expression; ``IllFormed`` where it is none."""
    reader = _FormulaReader(text, meaning)
    value = _sum(reader)
    if reader.at < len(reader.tokens):
        token = reader.tokens[reader.at]
        reader.fail(
            f"`{token[1]}` at place {token[2]} " + ("closes nothing" if token[1] == ")" else "is left over")
        )
    return value


class _FormulaReader:
    """The tokens of a formula, how far they are read, and the axis that a product is at."""

    def __init__(self, text: str, meaning: FormulaNames) -> None:
        self.meaning = meaning
        self.axis: int | None = None
        self.at = 0
        self.tokens: list[tuple[str, str, int]] = []
        if len(text) > _LONGEST:
            self.fail("it is too long")
        place = 0
        while text[place:].strip():
            match = _TOKEN.match(text, place)
            if match is None or match.lastgroup is None:
                self.fail(f"`{text[place]}` at place {place + 1} means nothing here")
            self.tokens.append((match.lastgroup, match[match.lastgroup], match.start(match.lastgroup) + 1))
            place = match.end()

    def fail(self, why: str) -> NoReturn:
        raise IllFormed(why)

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> tuple[str, str]:
        if self.at == len(self.tokens):
            self.fail(f"it ends where `{wanted}` is due" if wanted else "it ends too early")
        kind, text, place = self.tokens[self.at]
        if wanted and text != wanted:
            self.fail(f"`{text}` at place {place} stands where `{wanted}` is due")
        self.at += 1
        return kind, text

    def shape(self) -> AxisLengths:
        _, name = self.take()
        found = self.meaning.shapes.get(name)
        if found is None:
            self.fail(f"there is no ToL called {name}")
        return found


def _sum(reader: _FormulaReader) -> Poly:
    value = _product(reader)
    while reader.peek() in ("+", "-"):
        _, sign = reader.take()
        other = _product(reader)
        value = value + other if sign == "+" else value - other
    return value


def _product(reader: _FormulaReader) -> Poly:
    value = _factor(reader)
    while reader.peek() in ("*", "/"):
        _, sign = reader.take()
        other = _factor(reader)
        if sign == "/" and other.constant == 0:
            reader.fail("it divides by 0")
        value = value * other if sign == "*" else floordiv(value, other)
    return value


def _factor(reader: _FormulaReader) -> Poly:
    kind, text = reader.take()
    if kind == "number":
        return const(int(text))
    if text == "(":
        value = _sum(reader)
        reader.take(")")
        return value
    if text == "|":
        return _lengths(reader)
    if kind != "name":
        reader.fail(f"`{text}` stands where a number is due")
    if reader.peek() == "(":
        return _call(reader, text)
    return reader.meaning.numbers[text] if text in reader.meaning.numbers else length(text)


def _call(reader: _FormulaReader, function: str) -> Poly:
    reader.take("(")
    if function == "vol":
        value = product_of(reader.shape())
    elif function == "Pi":
        value = _windows(reader)
    else:
        reader.fail(f"there is no function {function}")
    reader.take(")")
    return value


def _windows(reader: _FormulaReader) -> Poly:
    """Multiply what stands in the brackets over the axes of the ToL that is slid along."""
    rank = max(map(len, reader.meaning.shapes.values()), default=0)
    start, factors = reader.at, []
    for axis in range(max(rank, 1)):
        reader.at, reader.axis = start, axis
        factors.append(_sum(reader))
    reader.axis = None
    return product_of(factors)


def _lengths(reader: _FormulaReader) -> Poly:
    """Read what follows the first bar of ``|t|[2]``, ``|t|[axes]`` or ``|k|``."""
    shape = reader.shape()
    reader.take("|")
    if reader.peek() != "[":
        return product_of(shape) if reader.axis is None else _at(reader, shape, reader.axis)
    reader.take("[")
    kind, index = reader.take()
    reader.take("]")
    if kind == "number":
        return _at(reader, shape, int(index) - 1)
    if reader.axis is None:
        reader.fail(f"`{index}` chooses an axis outside a product")
    return _at(reader, shape, reader.axis)


def _at(reader: _FormulaReader, shape: AxisLengths, axis: int) -> Poly:
    if not 0 <= axis < len(shape):
        reader.fail(f"there is no axis {axis + 1}")
    return shape[axis]
