"""Lengths, coordinates and ToLs as the generator knows them: texts with just enough facts.

A length carries its text, the least value it can have, the texts of lengths it never exceeds and
a guess of its size, so that indices are in range by construction and programs stay small.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

Kind = Literal["B", "Z", "R"]
ATOMIC = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def par(text: str) -> str:
    """The text as an operand: in parentheses unless it is a single word."""
    return text if set(text) <= ATOMIC else f"({text})"


class Length(Struct, frozen=True):
    """A static integer that can be a length; equal texts mean equal lengths."""

    text: str
    least: int = 1
    size: int = 3
    below: frozenset[str] = field(default_factory=frozenset)
    parts: tuple[Length, ...] = ()

    @property
    def bounds(self) -> frozenset[str]:
        return self.below | {self.text}

    @property
    def constant(self) -> int | None:
        return int(self.text) if self.text.isdigit() else None


Shape = tuple[Length, ...]


def literal(value: int) -> Length:
    return Length(str(value), value, value)


def plus(left: Length, right: Length) -> Length:
    if left.constant is not None and right.constant is not None:
        return literal(left.constant + right.constant)
    text = f"{left.text} + {right.text}"
    return Length(text, left.least + right.least, left.size + right.size, parts=(left, right))


def times(left: Length, right: Length) -> Length:
    text = f"{par(left.text)} * {par(right.text)}"
    return Length(text, left.least * right.least, left.size * right.size)


def product(shape: Shape) -> Length:
    whole = shape[0] if shape else literal(1)
    for length in shape[1:]:
        whole = times(whole, length)
    return whole


def less_one(length: Length) -> Length:
    text = f"{length.text} - 1" if length.least >= 1 else f"max({length.text} - 1, 0)"
    return Length(text, max(length.least - 1, 0), length.size, length.bounds)


def half(length: Length) -> Length:
    return Length(f"{par(length.text)} / 2", length.least // 2, length.size // 2 + 1, length.bounds)


def upper_half(length: Length) -> Length:
    text = f"({length.text} + 1) / 2"
    return Length(text, (length.least + 1) // 2, length.size // 2 + 1, length.bounds)


def smaller(left: Length, right: Length) -> Length:
    below = left.bounds | right.bounds
    return Length(f"min({left.text}, {right.text})", min(left.least, right.least), left.size, below)


def larger(left: Length, right: Length) -> Length:
    text = f"max({left.text}, {right.text})"
    return Length(text, max(left.least, right.least), max(left.size, right.size))


def strided(length: Length, step: str) -> Length:
    """How many windows start at 1, 1+step, ... up to the length: never more than its entries."""
    text = f"({length.text} - 1) / {step} + 1"
    return Length(text, min(length.least, 1), length.size // 2 + 1, length.bounds)


class Coordinate(Struct, frozen=True):
    """A name that runs from 1 to a length."""

    name: str
    extent: Length

    def as_length(self) -> Length:
        return Length(self.name, 1, self.extent.size, self.extent.bounds)

    def to_the_end(self) -> Length:
        text = f"{par(self.extent.text)} + 1 - {self.name}"
        return Length(text, 1, self.extent.size, self.extent.bounds)

    def after(self) -> Length:
        text = f"{par(self.extent.text)} - {self.name}"
        return Length(text, 0, self.extent.size, self.extent.bounds)


class Tol(Struct, frozen=True):
    """Something with a shape that an expression can mention; ``kinds`` has one entry per component."""

    text: str
    shape: Shape
    kinds: tuple[Kind, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(length.text for length in self.shape)


class Fun(Struct, frozen=True, eq=False):
    """A function of coordinates, of numbers and of indices, giving a numeric or a ToL."""

    name: str
    params: tuple[Length | Literal["number", "static", "function"], ...]
    shape: Shape
    kind: Kind


def mentions(text: str, names: frozenset[str]) -> bool:
    """Whether one of the names occurs in a text."""
    return not names.isdisjoint(re.findall(r"\w+", text))


class Scope(Struct, frozen=True):
    """What an expression can use, and how often it will be evaluated."""

    tols: tuple[Tol, ...] = ()
    coordinates: tuple[Coordinate, ...] = ()
    functions: tuple[Fun, ...] = ()
    lengths: tuple[Length, ...] = ()
    star: Tol | None = None
    star_at: tuple[Coordinate, ...] = ()
    work: int = 1

    def inside(self, coordinates: tuple[Coordinate, ...], star: Tol | None = None) -> Scope:
        """The body of a map or reduce over coordinates; an element keeps its name in there."""
        work = self.work
        for coordinate in coordinates:
            work *= max(coordinate.extent.size, 1)
        hidden = frozenset(c.name for c in coordinates)
        return replace(
            self,
            tols=tuple(t for t in self.tols if not any(mentions(text, hidden) for text in t.texts)),
            coordinates=(
                *(c for c in self.coordinates if not mentions(f"{c.name} {c.extent.text}", hidden)),
                *coordinates,
            ),
            star=star,
            star_at=coordinates if star is not None else (),
            work=work,
        )

    def having(self, *tols: Tol) -> Scope:
        return replace(self, tols=(*self.tols, *tols))
