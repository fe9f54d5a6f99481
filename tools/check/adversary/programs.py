"""Small programs as data: what they compute from which input, under names that mean nothing.

An oracle runs them: a cost is what the reference interpreter counts, at lengths given by where they
stand.  Nothing of the gate, and no closed form, has a part in it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tolcost.diagnostics import Rejected, Source
from tolcost.elaborate import elaborate
from tolcost.execute import run_reference
from tolcost.syntax import parse

LIBRARIES = (
    "double(x) = x + x\n",
    "double(x) = x + x + x\n",
    "double(x) = x\n",
    "double(x) = exp(x) + exp(x)\n",
)
EXACT = ("sum", "exp", "plus", "outer", "third", "double")
OF_DATA = ("choose", "keep")
_LENGTH_NAMES = ("n", "m", "k", "rows", "s", "t")
_INPUT_NAMES = ("a", "b", "c", "x", "y", "w")
_POINTS = (*((3, 3, 3), (1, 1, 1), (6, 3, 3), (3, 6, 3), (3, 3, 6), (4, 1, 5), (5, 4, 1), (1, 5, 4)),)


class Axis(NamedTuple):
    """How long an axis is: so many times a length, by number, and so much more; 0 times one is a number."""

    length: int
    times: int = 1
    plus: int = 0

    def text(self, lengths: tuple[str, ...]) -> str:
        """How it is written."""
        form = {0: "", 1: lengths[self.length]}.get(self.times, f"{self.times} * {lengths[self.length]}")
        return " + ".join([part for part in (form, str(self.plus) if self.plus or not form else "") if part])

    def at(self, values: Sequence[int]) -> int:
        """How long it is where lengths have these values."""
        return self.times * values[self.length] + self.plus


Axes = tuple[tuple[Axis, ...], ...]


class Term(Struct, frozen=True):
    """One output: what it is, of which input, and of which other one."""

    kind: str
    of: int
    other: int = 0
    number: int = 0


class Program(Struct, frozen=True):
    """Inputs with their axes; outputs; and the names that all these and lengths have."""

    axes: Axes
    terms: tuple[Term, ...]
    inputs: tuple[str, ...]
    lengths: tuple[str, ...]
    remark: str = ""
    output: str = "out"
    line_end: str = "\n"

    @property
    def uses_library(self) -> bool:
        return any(term.kind == "double" for term in self.terms)

    @property
    def is_exact(self) -> bool:
        return all(term.kind in EXACT for term in self.terms)

    def text(self, library: str | None = None) -> str:
        """The program; a library given stands in it instead of being used."""
        lines = [self.remark] if self.remark else []
        if self.uses_library:
            lines.append("use double" if library is None else library.rstrip("\n"))
        for name, axes in zip(self.inputs, self.axes, strict=True):
            lines.append(f"tol {name}: R [{', '.join(axis.text(self.lengths) for axis in axes)}]")
        for at, term in enumerate(self.terms):
            lines += self._term(at, term)
        return self.line_end.join([*lines, ""])

    def _term(self, at: int, term: Term) -> Iterator[str]:
        x, length = self.inputs[term.of], self.axes[term.other][0].text(self.lengths)
        out = f"{self.output}{at}"
        match term.kind:
            case "sum":
                yield f"{out} := reduce({x}, add, 0)"
            case "exp":
                yield f"{out} := reduce(map({x}, exp(*)), add, 0)"
            case "plus":
                yield f"{out} := map({x}, * + 1)"
            case "outer":
                yield f"{out} := map(tol[{length}], reduce({x}, add, 0), [q])"
            case "third":
                yield f"{out} := map({x}, * + {x}[{', '.join('3' for _ in self.axes[term.of])}])"
            case "double":
                yield f"{out} := map({x}, double(*))"
            case "choose":
                yield f"{out} := map({x}, choose(* > {term.number}, exp(exp(*)), *))"
            case _:
                yield f"kept{at} = filter({x}, map({x}, * > {term.number}))"
                yield f"{out} := map(kept{at}, exp)"


def random_axis(draw: random.Random, lengths: int) -> Axis:
    """A length as a rule; sometimes a number, or a form in a length."""
    length = draw.randrange(lengths)
    if draw.random() < 0.85:
        return Axis(length)
    return draw.choice((Axis(length, 0, draw.choice((1, 1, 3, 4))), Axis(length, 2), Axis(length, 1, 1)))


def random_term(draw: random.Random, axes: Axes, of_data: float) -> Term:
    kind = draw.choice(OF_DATA if draw.random() < of_data else EXACT)
    of = draw.randrange(len(axes))
    if kind == "keep" and len(axes[of]) != 1:
        kind = "choose"
    return Term(kind, of, draw.randrange(len(axes)), draw.choice((-1, 0, 1)))


def random_program(draw: random.Random, library: bool) -> Program:
    count = draw.choice((1, 2, 2, 3))
    lengths = draw.choice((2, 2, 2, 3))
    axes = tuple(
        tuple(random_axis(draw, lengths) for _ in range(draw.choice((1, 1, 2)))) for _ in range(count)
    )
    of_data = 0.5 if draw.random() < 0.25 else 0.0
    terms = [random_term(draw, axes, of_data) for _ in range(draw.choice((1, 1, 2)))]
    if not library:
        terms = [replace(term, kind="plus") if term.kind == "double" else term for term in terms]
    inputs = tuple(draw.sample(_INPUT_NAMES, count))
    return Program(axes, tuple(terms), inputs, tuple(draw.sample(_LENGTH_NAMES, 3)))


# ---- the oracle ------------------------------------------------------------------------------------


@lru_cache(maxsize=20_000)
def _lowered(text: str) -> object:
    return elaborate(parse(Source("oracle.tol", text)), name="oracle").program


@lru_cache(maxsize=200_000)
def executed(text: str, sizes: tuple[tuple[str, tuple[int, ...]], ...], seed: int) -> int | None:
    """How many elementary operations a run takes; None where a program does not take such inputs."""
    arrays = {}
    for at, (name, shape) in enumerate(sizes):
        values = np.random.default_rng((seed, at)).integers(-2, 3, shape)
        arrays[name] = values.astype(float)
    try:
        program = _lowered(text)
        return sum(run_reference(program, arrays).counts.histogram.values())  # type: ignore[arg-type]
    except Rejected:
        return None


def costlier(old: Program, new: Program, old_library: str, new_library: str) -> bool:
    """Whether the new program takes more than the old one somewhere: inputs by place, or by name."""
    texts = old.text(old_library), new.text(new_library)
    if texts[0] == texts[1]:
        return False
    return any(
        (before := executed(texts[0], was, seed)) is not None
        and (after := executed(texts[1], now, seed)) is not None
        and after > before
        for was, now in _shapes(old, new)
        for seed in ((0, 1) if not (old.is_exact and new.is_exact) else (0,))
    )


Sizes = tuple[tuple[str, tuple[int, ...]], ...]


def _shapes(old: Program, new: Program) -> Iterator[tuple[Sizes, Sizes]]:
    """Shapes of inputs for both programs, equal where inputs are the same by place, or by name."""
    found: dict[tuple[Sizes, Sizes], None] = {}
    for values in _POINTS:
        by_place = [tuple(axis.at(values) for axis in axes) for axes in new.axes]
        shapes = dict(zip(new.inputs, by_place, strict=True))
        now = tuple(shapes.items())
        if len(old.axes) == len(new.axes):
            found[tuple(zip(old.inputs, by_place, strict=True)), now] = None
            as_before = [tuple(axis.at(values) for axis in axes) for axes in old.axes]
            found[
                tuple(zip(old.inputs, as_before, strict=True)), tuple(zip(new.inputs, as_before, strict=True))
            ] = None
        if set(old.inputs) <= set(new.inputs):
            found[tuple((name, shapes[name]) for name in old.inputs), now] = None
    return iter(found)


def resized(old: Program, new: Program) -> bool:
    """Whether programs differ in nothing but numbers among their axes, and do in some."""
    pairs = [
        pair for was, now in zip(old.axes, new.axes, strict=False) for pair in zip(was, now, strict=False)
    ]
    numbers = all(was == now or was.times == now.times == 0 for was, now in pairs)
    ranks = [len(axes) for axes in old.axes] == [len(axes) for axes in new.axes]
    return numbers and ranks and old.axes != new.axes and replace(old, axes=new.axes) == new


def always_costlier(old: Program, new: Program, library: str) -> bool:
    """Whether the new program takes more than the old one, each with its own shapes, wherever both run."""
    found = []
    for values in _POINTS:
        sizes = [
            tuple(
                (name, tuple(axis.at(values) for axis in axes))
                for name, axes in zip(one.inputs, one.axes, strict=True)
            )
            for one in (old, new)
        ]
        before, after = (
            executed(p.text(library), size, 0) for p, size in zip((old, new), sizes, strict=True)
        )
        found += [] if before is None or after is None else [after > before]
    return bool(found) and all(found)


def same_everywhere(old: Program, new: Program, libraries: Mapping[str, str]) -> bool:
    """Whether neither takes more than the other at any shape looked at."""
    was, now = libraries["old"], libraries["new"]
    return not costlier(old, new, was, now) and not costlier(new, old, now, was)
