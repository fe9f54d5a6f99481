"""Formulas of a derivation: sums and products whose leaves may still be ``EOPs(...)`` of something.

They are only for showing: nothing is computed from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tolcost.algebra import Cond, Poly, Symbol, cond_text, to_text
from tolcost.atoms.nodes import Block, Node
from tolcost.diagnostics import NOWHERE, Span

_MAX_SOURCE = 72


@dataclass(frozen=True, slots=True)
class Value:
    """A closed form."""

    poly: Poly


@dataclass(frozen=True, slots=True, eq=False)
class Eops:
    """``EOPs(text)``: the cost of a node or block that is still to be worked out."""

    text: str
    node: Node | Block


@dataclass(frozen=True, slots=True)
class Plus:
    """A sum."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Times:
    """So many times the same."""

    factor: Poly
    part: Formula


@dataclass(frozen=True, slots=True)
class Over:
    """A sum over coordinates that the cost depends on, each from 1 to an extent."""

    ranges: tuple[tuple[Symbol, Poly], ...]
    part: Formula


@dataclass(frozen=True, slots=True)
class Either:
    """One cost where a condition holds, another elsewhere."""

    condition: Cond
    then: Formula
    other: Formula


@dataclass(frozen=True, slots=True)
class Largest:
    """The larger cost of two sides that only running decides between."""

    then: Formula
    other: Formula


Formula: TypeAlias = Value | Eops | Plus | Times | Over | Either | Largest


def show(formula: Formula) -> str:
    """Write a formula as text."""
    match formula:
        case Value(poly=poly):
            return to_text(poly)
        case Eops(text=text):
            return f"EOPs({text})"
        case Plus(parts=parts):
            return " + ".join(map(show, parts))
        case Times(factor=factor, part=part):
            return f"{_factor(Value(factor))}*{_factor(part)}"
        case Over(ranges=ranges, part=part):
            bounds = ", ".join(f"({symbol.name}, 1, {to_text(extent)})" for symbol, extent in ranges)
            return f"Sum({show(part)}, {bounds})"
        case Either(condition=condition, then=then, other=other):
            return f"Piecewise(({show(then)}, {cond_text(condition)}), ({show(other)}, True))"
        case Largest(then=then, other=other):
            return f"Max({show(then)}, {show(other)})"


def _factor(formula: Formula) -> str:
    """Write a formula where a factor stands."""
    text = show(formula)
    match formula:
        case Value(poly=poly) if len(poly.terms) < 2 and poly.den == 1:
            return text
        case Eops() | Times() | Over() | Either() | Largest():
            return text
        case _:
            return f"({text})"


def source_text(span: Span) -> str:
    """Give a piece of source on one line, shortened where it is long; nothing where there is none."""
    if span is NOWHERE or span.end <= span.start:
        return ""
    text = " ".join(span.source.text[span.start : span.end].split())
    return text if len(text) <= _MAX_SOURCE else f"{text[: _MAX_SOURCE - 1]}…"


def first_argument(call: str) -> str:
    """Give the first argument of a call as it is written; nothing where the text is no call.

    >>> first_argument("reduce(vec(i, j), add, 0)")
    'vec(i, j)'
    """
    name, bracket, rest = call.partition("(")
    if not bracket or not name.strip().isidentifier():
        return ""
    depth = 0
    for place, character in enumerate(rest):
        depth += (character in "([{") - (character in ")]}")
        if depth < 0 or (depth == 0 and character == ","):
            return rest[:place].strip()
    return ""


def line_of(span: Span) -> int | None:
    """Give the line of the source that a span begins on, counted from 1."""
    return None if span.end <= span.start else span.source.text.count("\n", 0, span.start) + 1


def first_open(formula: Formula) -> Eops | None:
    """Give the leftmost leaf that is still to be worked out."""
    stack: list[Formula] = [formula]
    while stack:
        top = stack.pop()
        if isinstance(top, Eops):
            return top
        stack.extend(reversed(_children(top)))
    return None


def _children(formula: Formula) -> tuple[Formula, ...]:
    match formula:
        case Value() | Eops():
            return ()
        case Plus(parts=parts):
            return parts
        case Times(part=part) | Over(part=part):
            return (part,)
        case Either(then=then, other=other) | Largest(then=then, other=other):
            return (then, other)


def replace(formula: Formula, leaf: Eops, by: Formula) -> Formula:
    """Put a formula in place of one leaf."""
    match formula:
        case Value():
            return formula
        case Eops():
            return by if formula is leaf else formula
        case Plus(parts=parts):
            return Plus(tuple(replace(part, leaf, by) for part in parts))
        case Times(factor=factor, part=part):
            return Times(factor, replace(part, leaf, by))
        case Over(ranges=ranges, part=part):
            return Over(ranges, replace(part, leaf, by))
        case Either(condition=condition, then=then, other=other):
            return Either(condition, replace(then, leaf, by), replace(other, leaf, by))
        case Largest(then=then, other=other):
            return Largest(replace(then, leaf, by), replace(other, leaf, by))
