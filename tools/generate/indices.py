"""Coordinates and static conditions: what may stand in an index list or decide a ``where``."""

from __future__ import annotations

from tools.generate.draw import Draw
from tools.generate.lengths import (
    Coordinate,
    Length,
    Scope,
    Shape,
    half,
    larger,
    less_one,
    literal,
    mentions,
    par,
    plus,
    smaller,
    strided,
    times,
    upper_half,
)


def coordinates_over(
    draw: Draw, scope: Scope, shape: Shape, stem: str = "i", keep: Shape = ()
) -> tuple[Coordinate, ...]:
    """Names for the coordinates of a shape; now and then one that hides a coordinate around it.

    The lengths of ``keep`` still have to mean the same inside.
    """
    found: list[Coordinate] = []
    for length in shape:
        name = draw.name(stem)
        if scope.coordinates and draw.chance(0.12):
            around = draw.pick(scope.coordinates).name
            taken = any(c.name == around for c in found)
            if not taken and not any(mentions(d.text, frozenset({around})) for d in (*shape, *keep)):
                name = around
        found.append(Coordinate(name, length))
    return tuple(found)


def fitting(scope: Scope, length: Length) -> list[Coordinate]:
    """The coordinates that never leave a dimension of this length."""
    return [c for c in scope.coordinates if length.text in c.extent.bounds]


def index(draw: Draw, scope: Scope, length: Length, data: str | None = None) -> str | None:
    """An index between 1 and the length; ``data`` is a whole number to take it from, if wanted."""
    options: list[str] = []
    for c in fitting(scope, length):
        options += [c.name] * 5
        options += [f"{par(length.text)} + 1 - {c.name}", f"({c.name} + 1) / 2"]
    if length.least >= 1:
        options += ["1", length.text, str(draw.number(1, length.least))]
        for c in scope.coordinates[-2:]:
            options += [f"({c.name} - 1) % {par(length.text)} + 1", f"min({c.name}, {length.text})"]
            options += [f"({c.name} + {draw.number(0, 3)}) % {par(length.text)} + 1"]
        if data is not None:
            options += [f"{par(data)} % {par(length.text)} + 1"] * 6
    return draw.pick(options) if options else None


def indices(draw: Draw, scope: Scope, shape: Shape, data: str | None = None) -> str | None:
    """A full index list for a shape."""
    found: list[str] = []
    for length in shape:
        at = index(draw, scope, length, data if draw.chance(0.3) else None)
        if at is None:
            return None
        found.append(at)
    return ", ".join(found)


def a_length(draw: Draw, scope: Scope, most: int = 24) -> Length:
    """A length made of those in reach; coordinates make triangles."""
    base = [*scope.lengths, literal(draw.number(1, 3))]
    for c in scope.coordinates[-2:]:
        base += [c.as_length(), c.to_the_end()]
        base += [c.after()] * draw.chance(0.3)
    one, two = draw.pick(base), draw.pick(base)
    made = [one] * 8
    made += [less_one(one), half(one), upper_half(one), smaller(one, two), larger(one, two)]
    made += [plus(one, two), strided(one, str(draw.number(2, 3))), times(one, literal(2))]
    fits = [length for length in made if 0 < length.size <= most]
    return draw.pick(fits) if fits else literal(1)


def a_shape(draw: Draw, scope: Scope, rank: int, most: int = 24) -> Shape:
    shape: list[Length] = []
    for _ in range(rank):
        shape.append(a_length(draw, scope, max(most, 1)))
        most //= max(shape[-1].size, 1)
    return tuple(shape)


STATIC_FORMS = ("same({0}, {0})", "bdim(1, {0})", "exact(({0}) * 2, 2)")
STATIC_NORMS = ("vol({0})", "dim({0})", "|{0}|'", "|{0}|[1]", "reduce(|{0}|, mul, 1)")


def static_number(draw: Draw, scope: Scope) -> str:
    """A whole number known while compiling."""
    words = [str(draw.number(0, 4)), *(c.name for c in scope.coordinates), *(n.text for n in scope.lengths)]
    if draw.chance(0.1):
        words += [form.format(draw.pick(words)) for form in STATIC_FORMS]
        words += [form.format(t.text) for t in scope.tols[:2] if t.shape for form in STATIC_NORMS]
    one, two = draw.pick(words), draw.pick(words)
    forms = (
        one,
        one,
        one,
        f"{par(one)} + {par(two)}",
        f"{par(one)} - {par(two)}",
        f"{par(one)} * {par(two)}",
    )
    return draw.pick((*forms, f"{par(one)} / 2", f"{par(one)} % 3", f"max({one}, {two})"))


def static_condition(draw: Draw, scope: Scope) -> str:
    """A condition on coordinates and lengths."""
    one, two = static_number(draw, scope), static_number(draw, scope)
    sign = draw.pick(("<", "<=", ">", ">=", "==", "!="))
    plain = f"{par(one)} {sign} {par(two)}"
    match draw.number(0, 7):
        case 0:
            return f"({plain}) and {static_condition(draw, scope)}"
        case 1:
            return f"({plain}) or ({par(two)} % 2 == 1)"
        case 2:
            return f"not({plain})"
        case _:
            return plain
