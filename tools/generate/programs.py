"""Whole programs: ``generate(seed)`` gives a well-typed ToLang text and shapes to try it at."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from tools.generate.draw import Draw
from tools.generate.lengths import Kind, Length, Scope, Tol, literal, plus
from tools.generate.statements import statement

POINTS = 2
LARGEST = 4
LONGEST = 7


class Case(Struct, frozen=True):
    """A program, and lengths by name to count and run it at."""

    text: str
    points: tuple[dict[str, int], ...]
    seed: int


def generate(seed: int) -> Case:
    """A random program; the same one for the same seed."""
    draw = Draw(seed)
    names = ["n", "m", "k"][: draw.number(1, 3)]
    lines, scope = _inputs(draw, names)
    before = len(scope.tols)
    for _ in range(draw.number(1, 6)):
        line, scope = statement(draw, scope)
        lines.append(line)
    made = scope.tols[before:] or scope.tols[:1]
    lines += _outputs(draw, made)
    return Case("\n".join(lines) + "\n", _points(draw, scope), seed)


def _points(draw: Draw, scope: Scope) -> tuple[dict[str, int], ...]:
    """Small lengths, and in the last point one that is larger."""
    names = [length.text for length in scope.lengths]
    points = [{name: draw.number(1, LARGEST) for name in names} for _ in range(POINTS)]
    points[-1][draw.pick(names)] = draw.number(1, LONGEST)
    return tuple(points)


def _inputs(draw: Draw, names: list[str]) -> tuple[list[str], Scope]:
    lines: list[str] = []
    scope = Scope(lengths=tuple(Length(name) for name in names))
    if draw.chance(0.15):
        lines.append("list pair: [R, Z], R")
    for name in ("x", "q", "t")[: draw.number(1, 3)]:
        shape = tuple(_declared(draw, scope) for _ in range(draw.pick((0, 1, 1, 2, 2, 3))))
        kind: Kind = draw.pick(("R", "R", "R", "Z", "Z", "B"))
        space = {"R": draw.pick(("R", "R", "float32")), "Z": draw.pick(("Z", "N", "int64")), "B": "B"}[kind]
        kinds: tuple[Kind, ...] = (kind,)
        if lines and lines[0].startswith("list") and draw.chance(0.5):
            space, kinds = "pair", ("R", "Z", "R")
        lengths = f" [{', '.join(d.text for d in shape)}]" if shape else ""
        lines.append(f"tol {name}: {space}{lengths}")
        scope = scope.having(Tol(name, shape, kinds))
    if draw.chance(0.15):
        lines.append("attr s: N*")
        scope = replace(scope, lengths=(*scope.lengths, Length("s", 1, 2)))
    mentioned = {word for line in lines for word in re.findall(r"\b[nmk]\b", line.split(": ", 1)[1])}
    missing = [name for name in names if name not in mentioned]
    if missing:
        lines.append(f"tol d: R [{', '.join(missing)}]")
        scope = scope.having(Tol("d", tuple(Length(name) for name in missing), ("R",)))
    return lines, scope


def _declared(draw: Draw, scope: Scope) -> Length:
    length = draw.pick((*scope.lengths, *scope.lengths, literal(draw.number(1, 3))))
    return plus(length, literal(draw.number(1, 2))) if draw.chance(0.15) else length


def _outputs(draw: Draw, made: tuple[Tol, ...]) -> list[str]:
    """Everything nobody used would never be computed, so most of what was made is put out."""
    chosen = [tol for tol in made if draw.chance(0.7)] or [made[-1]]
    return [f"out{n} := {tol.text}" for n, tol in enumerate(chosen, start=1)]
