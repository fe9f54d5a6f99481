"""ToL expressions of a wanted shape, and domains to walk over."""

from __future__ import annotations

from msgspec.structs import replace

from tools.generate import numbers
from tools.generate.draw import WORK, Draw
from tools.generate.indices import a_length, coordinates_over, indices, static_condition
from tools.generate.lengths import Kind, Length, Scope, Shape, Tol, par


def listed(shape: Shape) -> str:
    return ", ".join(length.text for length in shape)


def texts(shape: Shape) -> tuple[str, ...]:
    return tuple(length.text for length in shape)


def domain(draw: Draw, scope: Scope, kind: Kind, fuel: int, most: int) -> Tol | None:
    """Something to walk over that is not too large."""
    small = [t for t in scope.tols if t.shape and volume(t.shape) <= most]
    for _ in range(4):
        match draw.number(0, 6):
            case 0 | 1 if small:
                return draw.pick(small)
            case 2:
                found = a_part(draw, scope, small)
                if found is not None:
                    return found
            case 3 if most >= 2:
                length = a_length(draw, scope, most)
                return Tol(f"1..{par(length.text)}", (length,), ("Z",))
            case 4 if most >= 4 and fuel > 0:
                shape = (a_length(draw, scope, most // 2),)
                return Tol(tol(draw, scope, shape, kind, fuel - 1), shape, (kind,))
            case _ if most >= 2:
                shape = (a_length(draw, scope, most),)
                return Tol(f"tol[{listed(shape)}]", shape, ("Z",))
            case _:
                pass
    return None


def volume(shape: Shape) -> int:
    size = 1
    for length in shape:
        size *= length.size
    return size


def a_part(draw: Draw, scope: Scope, among: list[Tol]) -> Tol | None:
    """A box inside a ToL: a prefix, a suffix, or what lies around a coordinate."""
    if not among:
        return None
    tol = draw.pick(among)
    low: list[str] = []
    high: list[str] = []
    shape: list[Length] = []
    for length in tol.shape:
        first, last, size = _segment(draw, scope, length)
        low.append(first)
        high.append(last)
        shape.append(size)
    return Tol(f"part({tol.text}, [{', '.join(low)}], [{', '.join(high)}])", tuple(shape), tol.kinds)


def _segment(draw: Draw, scope: Scope, length: Length) -> tuple[str, str, Length]:
    shorter = [c for c in scope.coordinates if length.text in c.extent.bounds]
    if shorter and draw.chance(0.7):
        c = draw.pick(shorter)
        if draw.chance(0.6):
            return "1", c.name, c.as_length()
        tail = Length(f"{par(length.text)} + 1 - {c.name}", 1, length.size, length.bounds)
        return c.name, length.text, tail
    if length.least >= 1 and draw.chance(0.4):
        return "2", length.text, Length(f"{length.text} - 1", length.least - 1, length.size, length.bounds)
    return "1", length.text, length


# ---- ToLs of a wanted shape --------------------------------------------------------------


def tol(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str:
    """A ToL of a shape; without dimensions it is a numeric."""
    if not shape:
        return numbers.number(draw, scope, kind, fuel)
    if fuel <= 0:
        return draw.first_of(((1, lambda: same(draw, scope, shape, kind)),), f"tol[{listed(shape)}]")
    busy = scope.work * volume(shape) > WORK
    deep = 0.0 if busy else 1.0
    return draw.first_of(
        (
            (2, lambda: same(draw, scope, shape, kind)),
            (6 * deep, lambda: over_domain(draw, scope, shape, kind, fuel)),
            (5 * deep, lambda: over_elements(draw, scope, shape, kind, fuel)),
            (2 * deep, lambda: by_rows(draw, scope, shape, kind, fuel)),
            (2 * deep, lambda: elementwise(draw, scope, shape, kind, fuel)),
            (1, lambda: row_of(draw, scope, shape, kind)),
            (2, lambda: bracket(draw, scope, shape, kind, fuel)),
            (3, lambda: joined(draw, scope, shape, kind, fuel)),
            (1, lambda: embedded(draw, scope, shape, kind, fuel)),
            (1 * deep, lambda: swapped(draw, scope, shape, kind, fuel)),
            (1 * deep, lambda: changed(draw, scope, shape, kind, fuel)),
            (1 * deep, lambda: chosen(draw, scope, shape, kind, fuel)),
            (1 * deep, lambda: accumulated(draw, scope, shape, kind, fuel)),
            (1 * deep, lambda: mapped_function(draw, scope, shape, kind, fuel)),
            (1 * deep, lambda: applied(draw, scope, shape, kind, fuel)),
            (0.5 * deep, lambda: converted(draw, scope, shape, kind, fuel)),
        ),
        f"tol[{listed(shape)}]",
    )


def same(draw: Draw, scope: Scope, shape: Shape, kind: Kind) -> str | None:
    """Something in reach that has the shape already."""
    found = [
        f"{t.text}[{j + 1}]'" if len(t.kinds) > 1 else t.text
        for t in scope.tols
        for j, k in enumerate(t.kinds)
        if t.texts == texts(shape) and numbers.suits(k, kind)
    ]
    return draw.pick(found) if found else None


def over_domain(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str:
    coordinates = coordinates_over(draw, scope, shape)
    body = numbers.number(draw, scope.inside(coordinates), kind, fuel - 1)
    return f"map(tol[{listed(shape)}], {body}, [{', '.join(c.name for c in coordinates)}])"


def over_elements(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str | None:
    """A map over a ToL of the shape, with its elements as ``*`` or under a name."""
    among = [t for t in scope.tols if t.texts == texts(shape)]
    if not among:
        return None
    source = draw.pick(among)
    coordinates = coordinates_over(draw, scope, shape)
    names = f", [{', '.join(c.name for c in coordinates)}]"
    if draw.chance(0.3):
        e = draw.name("e")
        body = numbers.number(
            draw, scope.inside(coordinates).having(Tol(e, (), source.kinds)), kind, fuel - 1
        )
        return f"map({source.text}, ({e}) => {body}{names})"
    inner = scope.inside(coordinates, Tol("*", (), source.kinds))
    return f"map({source.text}, {numbers.number(draw, inner, kind, fuel - 1)}{names})"


def by_rows(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str | None:
    """A map over the first dimensions whose body is a ToL."""
    if len(shape) < 2:
        return None
    at = draw.number(1, len(shape) - 1)
    coordinates = coordinates_over(draw, scope, shape[:at], keep=shape)
    body = tol(draw, scope.inside(coordinates), shape[at:], kind, fuel - 1)
    return f"map(tol[{listed(shape[:at])}], {body}, [{', '.join(c.name for c in coordinates)}])"


def elementwise(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str:
    left = tol(draw, scope, shape, kind, fuel - 1)
    if draw.chance(0.3):
        return f"{draw.pick(('neg', 'abs', 'sqr'))}({left})"
    if draw.chance(0.4):
        return f"{par(left)} {draw.pick('+-*')} {par(numbers.leaf(draw, scope, kind))}"
    return f"{par(left)} {draw.pick('+-*')} {par(tol(draw, scope, shape, kind, fuel - 2))}"


def row_of(draw: Draw, scope: Scope, shape: Shape, kind: Kind) -> str | None:
    """A slice of something of higher rank."""
    among = [
        t
        for t in scope.tols
        if len(t.kinds) == 1
        and numbers.suits(t.kinds[0], kind)
        and len(t.shape) > len(shape)
        and t.texts[len(t.shape) - len(shape) :] == texts(shape)
    ]
    if not among:
        return None
    source = draw.pick(among)
    at = indices(draw, scope, source.shape[: len(source.shape) - len(shape)])
    return None if at is None else f"{source.text}[{at}]"


def bracket(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str | None:
    size = shape[0].constant
    if size is None or not 1 <= size <= 3:
        return None
    return f"[{', '.join(tol(draw, scope, shape[1:], kind, fuel - 1) for _ in range(size))}]"


def joined(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str | None:
    places = [n for n, length in enumerate(shape) if length.parts]
    if not places:
        return None
    at = draw.pick(places)
    sides = [(*shape[:at], part, *shape[at + 1 :]) for part in shape[at].parts]
    left, right = (tol(draw, scope, side, kind, fuel - 1) for side in sides)
    return f"join({left}, {right}, {at + 1})"


def embedded(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str | None:
    if shape[-1].constant != 1:
        return None
    return f"embed({tol(draw, scope, shape[:-1], kind, fuel - 1)})"


def swapped(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str:
    """One dimension backwards."""
    at = draw.number(1, len(shape))
    inner, length = tol(draw, scope, shape, kind, fuel - 1), shape[at - 1].text
    name = draw.name("i")
    return f"swap({inner}, {at}, map(tol[{length}], {par(length)} + 1 - {name}, {name}))"


def changed(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str | None:
    """One member, or one row, replaced."""
    rank = draw.number(1, len(shape))
    data = numbers.whole(draw, scope) if draw.chance(0.4) else None
    at = indices(draw, scope, shape[:rank], data)
    if at is None:
        return None
    new = tol(draw, scope, shape[rank:], kind, fuel - 1)
    return f"put({tol(draw, scope, shape, kind, fuel - 1)}, [{at}], {new})"


def chosen(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str:
    then, other = (tol(draw, scope, shape, kind, fuel - 1) for _ in range(2))
    if draw.exact and draw.chance(0.5):
        return f"where({numbers.truth(draw, scope, 1)}, {then}, {other})"
    return f"where({static_condition(draw, scope)}, {then}, {other})"


def accumulated(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str | None:
    """A fold whose accumulator is a ToL of the shape."""
    source = domain(draw, scope, kind, 0, most=WORK // (scope.work * max(volume(shape), 1)))
    if source is None:
        return None
    a, e = draw.name("a"), draw.name("e")
    coordinates = coordinates_over(draw, scope, source.shape, "j", keep=shape)
    inner = scope.inside(coordinates).having(Tol(e, (), source.kinds))
    body = tol(draw, inner, shape, kind, fuel - 1)
    start = tol(draw, replace(scope, star=None, star_at=()), shape, kind, 0)
    names = ", ".join(c.name for c in coordinates)
    return f"reduce({source.text}, ({a}, {e}) => {a} + {par(body)}, {start}, [{names}])"


def mapped_function(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str | None:
    """A map with a function given by name, by composition or by partial application."""
    inner = tol(draw, scope, shape, kind, fuel - 1)
    own = [f.name for f in scope.functions if f.params == ("number",) and not f.shape and f.kind == "R"]
    if own and kind == "R" and draw.chance(0.5):
        return f"map({inner}, {draw.pick(own)})"
    return f"map({inner}, {draw.pick(('abs', 'neg', 'abs.sqr', 'sqr.neg.abs', 'mul(*, 2)', 'max(1, *)'))})"


def applied(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str | None:
    usable = [f for f in scope.functions if texts(f.shape) == texts(shape) and numbers.suits(f.kind, kind)]
    if not usable:
        return None
    return numbers.applied(draw, scope, draw.pick(usable).name, scope, fuel)


def converted(draw: Draw, scope: Scope, shape: Shape, kind: Kind, fuel: int) -> str | None:
    if kind != "R":
        return None
    return f"convert({tol(draw, scope, shape, 'Z', fuel - 1)}, {draw.pick(('R', 'R', 'float32'))})"
