"""Statements: each form of definition the language has, with what it brings into scope."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from tools.generate import numbers, tols
from tools.generate.draw import Draw
from tools.generate.indices import a_length, a_shape, coordinates_over, indices, static_number
from tools.generate.lengths import (
    Coordinate,
    Fun,
    Kind,
    Length,
    Scope,
    Tol,
    literal,
    par,
    plus,
    product,
    strided,
    times,
)

Written = tuple[str, Scope] | None
"""A statement and the scope after it; None where nothing in reach suits the form."""

FUEL = 3


def _kind(draw: Draw) -> Kind:
    return draw.pick(("R", "R", "R", "Z"))


def _vectors(scope: Scope, *kinds: Kind) -> list[Tol]:
    return [t for t in scope.tols if len(t.shape) == 1 and len(t.kinds) == 1 and t.kinds[0] in kinds]


def value(draw: Draw, scope: Scope) -> Written:
    """A value of any shape."""
    kind, name = _kind(draw), draw.name("v")
    shape = a_shape(draw, scope, draw.pick((0, 1, 1, 2, 2, 3)))
    return f"{name} = {tols.tol(draw, scope, shape, kind, FUEL)}", scope.having(Tol(name, shape, (kind,)))


def filled(draw: Draw, scope: Scope) -> Written:
    """A ToL declared by its shape and filled by walking over it."""
    name = draw.name("y")
    shape = a_shape(draw, scope, draw.number(1, 2), 12)
    coordinates = coordinates_over(draw, scope, shape)
    body = numbers.number(draw, scope.inside(coordinates), "R", FUEL - 1)
    names = ", ".join(c.name for c in coordinates)
    text = f"tol {name} = [{tols.listed(shape)}]\n{name} := map({name}, {body}, [{names}])"
    return text, scope.having(Tol(name, shape, ("R",)))


def function(draw: Draw, scope: Scope) -> Written:
    """A function of coordinates, and perhaps of a number."""
    kind, name = _kind(draw), draw.name("f")
    coordinates = tuple(Coordinate(draw.name("p"), a_length(draw, scope)) for _ in range(draw.number(1, 2)))
    params: list[str] = [c.name for c in coordinates]
    inner = replace(scope, coordinates=coordinates, star=None, star_at=(), work=6)
    kinds: tuple[Length | str, ...] = tuple(c.extent for c in coordinates)
    if draw.chance(0.3) and kind == "R":
        params.append(draw.name("u"))
        inner = inner.having(Tol(params[-1], (), ("R",)))
        kinds = (*kinds, "number")
    shape = a_shape(draw, scope, draw.pick((0, 0, 1)), 6)
    body = tols.tol(draw, inner, shape, kind, FUEL - 1)
    made = Fun(name, kinds, shape, kind)  # type: ignore[arg-type]
    return f"{name}({', '.join(params)}) = {body}", replace(scope, functions=(*scope.functions, made))


def number_function(draw: Draw, scope: Scope) -> Written:
    """A function of one number: written out, partially applied, or composed."""
    name, u = draw.name("g"), draw.name("u")
    made = Fun(name, ("number",), (), "R")
    after = replace(scope, functions=(*scope.functions, made))
    match draw.number(0, 3):
        case 0:
            return f"{name} = {draw.pick(('mul', 'add', 'sub'))}(*, {numbers.leaf(draw, scope, 'R')})", after
        case 1:
            return f"{name} = abs.{draw.pick(('sqr', 'neg'))}", after
        case 2:
            twice = Fun(name, ("function", "number"), (), "R")
            return f"{name}(h, {u}) = h(h({u}))", replace(scope, functions=(*scope.functions, twice))
        case _:
            inner = replace(scope.having(Tol(u, (), ("R",))), work=8)
            return f"{name}({u}) = {numbers.number(draw, inner, 'R', 2)}", after


def scan(draw: Draw, scope: Scope) -> Written:
    """A fold whose accumulator grows by one entry, or one row, each step."""
    among = [t for t in _vectors(scope, "R", "Z") if t.shape[0].size <= 6]
    if not among:
        return None
    source, name, a, e, k = draw.pick(among), draw.name("s"), draw.name("a"), draw.name("e"), draw.name("k")
    step = Coordinate(k, source.shape[0])
    inner = scope.inside((step,)).having(Tol(e, (), source.kinds))
    row = a_shape(draw, scope, draw.pick((0, 0, 0, 1)), 4)
    term = tols.tol(draw, inner, row, "R", 2)
    last = draw.pick((f"{a}[{k}]", f"{a}[1]", f"{a}[({k} + 1) / 2]"))
    start = tols.tol(draw, scope, row, "R", 0)
    if draw.chance(0.6):
        term = f"{last} + {par(term)}"
    shape = (plus(source.shape[0], literal(1)), *row)
    text = f"{name} = reduce({source.text}, ({a}, {e}) => [*{a}, {term}], [{start}], {k})"
    return text, scope.having(Tol(name, shape, ("R",)))


def kept(draw: Draw, scope: Scope) -> Written:
    """A filter: its length is known only when run."""
    among = [t for t in scope.tols if len(t.kinds) == 1 and 1 <= len(t.shape) <= 2 and t.kinds[0] != "B"]
    if not among or not draw.exact:
        return None
    source, name = draw.pick(among), draw.name("z")
    row = Coordinate(draw.name("i"), source.shape[0])
    own = Tol(f"{source.text}[{row.name}{', 1' * (len(source.shape) - 1)}]", (), source.kinds)
    if any(length.least < 1 for length in source.shape[1:]):
        return None
    mask = f"({own.text} {draw.pick('<>')} {draw.number(0, 1)}) {draw.pick(('and', 'or'))} "
    mask += par(numbers.truth(draw, scope.inside((row,)), 2))
    text = f"{name} = filter({source.text}, map(tol[{row.extent.text}], {mask}, {row.name}))"
    length = Length(f"|{name}|[1]", 0, source.shape[0].size)
    return text, scope.having(Tol(name, (length, *source.shape[1:]), source.kinds))


def tiled(draw: Draw, scope: Scope) -> Written:
    among = [t for t in scope.tols if t.shape and t.shape[-1].constant in (1, 2, 3)]
    if not among:
        return None
    source, name = draw.pick(among), draw.name("l")
    times_ = source.shape[-1].constant or 1
    return f"{name} = tile({source.text})", scope.having(Tol(name, source.shape[:-1], source.kinds * times_))


def packed(draw: Draw, scope: Scope) -> Written:
    """A ToL of lists."""
    name = draw.name("l")
    shape = a_shape(draw, scope, draw.number(0, 2), 12)
    coordinates = coordinates_over(draw, scope, shape)
    inner = scope.inside(coordinates)
    kinds: tuple[Kind, ...] = tuple(_kind(draw) for _ in range(draw.number(2, 3)))
    pair = ", ".join(numbers.number(draw, inner, kind, 2) for kind in kinds)
    after = scope.having(Tol(name, shape, kinds))
    if not shape:
        return f"{name} = ({pair})", after
    names = ", ".join(c.name for c in coordinates)
    return f"{name} = map(tol[{tols.listed(shape)}], ({pair}), [{names}])", after


def unpacked(draw: Draw, scope: Scope) -> Written:
    among = [t for t in scope.tols if len(t.kinds) > 1]
    if not among:
        return None
    source = draw.pick(among)
    names = [draw.name("c") for _ in source.kinds]
    made = (Tol(name, source.shape, (kind,)) for name, kind in zip(names, source.kinds, strict=True))
    return f"({', '.join(names)}) = {source.text}", scope.having(*made)


def carried(draw: Draw, scope: Scope) -> Written:
    """Names for the components of a list that a fold carries."""
    among = _vectors(scope, "R", "Z")
    if not among:
        return None
    source, p, q, a, e = draw.pick(among), draw.name("c"), draw.name("c"), draw.name("a"), draw.name("e")
    row = a_shape(draw, scope, draw.number(0, 1), 4)
    coordinates = (Coordinate(draw.name("j"), source.shape[0]),)
    inner = scope.inside(coordinates).having(Tol(e, (), source.kinds))
    one, two = numbers.number(draw, inner, "R", 2), tols.tol(draw, inner, row, "R", 1)
    step = f"({a}[1]' + {par(one)}, {a}[2]' + {par(two)})"
    start = f"({numbers.leaf(draw, scope, 'R')}, {tols.tol(draw, scope, row, 'R', 0)})"
    text = f"({p}, {q}) = reduce({source.text}, ({a}, {e}) => {step}, {start}, [{coordinates[0].name}])"
    return text, scope.having(Tol(p, (), ("R",)), Tol(q, row, ("R",)))


def reshaped(draw: Draw, scope: Scope) -> Written:
    """The same elements under another shape."""
    among = [t for t in scope.tols if t.shape and len(t.kinds) == 1]
    if not among:
        return None
    source, name = draw.pick(among), draw.name("r")
    whole = product(source.shape)
    forms = [
        (listing(source.shape[::-1]), source.shape[::-1]),
        (whole.text, (whole,)),
        (f"{source.shape[0].text}, 1, -1", (source.shape[0], literal(1), _rest(source))),
    ]
    shape, made = draw.pick(forms if source.shape[0].least >= 1 else forms[:2])
    return f"{name} = reshape({source.text}, [{shape}])", scope.having(Tol(name, made, source.kinds))


def _rest(source: Tol) -> Length:
    return product(source.shape[1:])


def listing(shape: tuple[Length, ...]) -> str:
    return ", ".join(length.text for length in shape)


def appended(draw: Draw, scope: Scope) -> Written:
    """Two ToLs one after the other along a dimension they may differ in."""
    among = [t for t in scope.tols if t.shape and len(t.kinds) == 1]
    if not among:
        return None
    source, name = draw.pick(among), draw.name("w")
    at = draw.number(0, len(source.shape) - 1)
    other = (*source.shape[:at], a_length(draw, scope, 6), *source.shape[at + 1 :])
    kind = source.kinds[0] if source.kinds[0] != "B" else "Z"
    right = tols.tol(draw, scope, other, kind, 1)
    made = (*source.shape[:at], plus(source.shape[at], other[at]), *source.shape[at + 1 :])
    where = f", {at + 1}" if at < len(source.shape) - 1 or draw.chance(0.5) else ""
    return f"{name} = join({source.text}, {right}{where})", scope.having(Tol(name, made, (kind,)))


def windows(draw: Draw, scope: Scope) -> Written:
    """A strided window over a vector, dense over padding or leaving padding out."""
    among = _vectors(scope, "R")
    if not among:
        return None
    source, name, o, q = draw.pick(among), draw.name("y"), draw.name("o"), draw.name("q")
    size, step = draw.number(2, 3), draw.pick(("1", "2", "3", *(n.text for n in scope.lengths[-1:])))
    length = source.shape[0]
    if length.least < 1:
        return None
    out = replace(strided(length, step), size=length.size)
    at = f"({o} - 1) * {step} + {q} - {size // 2}"
    inside = f"{at} >= 1 and {at} <= {par(length.text)}"
    if draw.chance(0.5):
        term = f"where({inside}, a + {source.text}[{at}] * {draw.number(2, 3)}, a)"
    else:
        term = f"a + where({inside}, {source.text}[{at}], 0) * 2"
    text = f"map(tol[{out.text}], reduce(tol[{size}], (a, e) => {term}, 0, {q}), {o})"
    return f"{name} = {text}", scope.having(Tol(name, (out,), ("R",)))


def triangle(draw: Draw, scope: Scope) -> Written:
    """A map whose body walks as far as its own coordinate."""
    name, i = draw.name("y"), draw.name("i")
    rows = a_length(draw, scope, 6)
    outer = scope.inside((Coordinate(i, rows),))
    inner = draw.pick((outer.coordinates[-1].as_length(), outer.coordinates[-1].to_the_end()))
    source = Tol(f"tol[{inner.text}]", (inner,), ("Z",))
    body = numbers.folded(draw, outer, source, "R", 2)
    return f"{name} = map(tol[{rows.text}], {body}, {i})", scope.having(Tol(name, (rows,), ("R",)))


def any_rank(draw: Draw, scope: Scope) -> Written:
    """A body that works whatever the rank: coordinates as one vector."""
    among = [t for t in scope.tols if t.shape and len(t.kinds) == 1 and t.kinds != ("B",)]
    if not among:
        return None
    source, name = draw.pick(among), draw.name("y")
    x, after = source.text, scope.having(Tol(name, source.shape, source.kinds))
    match draw.number(0, 4):
        case 0:
            return f"{name} = map({x}, * + {x}[|{x}| + 1 - o], o)", after
        case 1:
            return f"{name} = map(tol[*|{x}|], {x}[(o - 1) % |{x}| + 1] * 2, o)", after
        case 2:
            return f"{name} = map({x}, where(reduce(o, add, 0) % 2 == 0, *, {x}[b, *o]), [b, *o])", after
        case 3 if len(source.shape) > 1:
            return f"{name} = map({x}, {x}[b] [*o] - *, [b, *o])".replace("] [", "]["), after
        case _:
            doubled = times(source.shape[0], literal(2))
            shape = (doubled, *source.shape[1:])
            text = f"{name} = map(tol[{doubled.text}, *part(|{x}|, [2], [dim({x})])],"
            return f"{text} {x}[(o - 1) % |{x}| + 1], o)", scope.having(Tol(name, shape, source.kinds))


def static_fold(draw: Draw, scope: Scope) -> Written:
    """A number computed while compiling by folding over a domain or a range."""
    name, j = draw.name("k"), draw.name("j")
    length = a_length(draw, scope)
    inner = scope.inside((Coordinate(j, length),))
    body = static_number(draw, replace(inner, coordinates=inner.coordinates[-1:]))
    over = draw.pick((f"tol[{length.text}]", f"1..{par(length.text)}"))
    function = draw.pick(
        (f"(a, e) => a + {par(body)}", f"(a, e) => max(a, {body})", f"(a, e) => a + e * {j}")
    )
    return f"{name} = reduce({over}, {function}, {draw.number(0, 2)}, {j})", scope.having(
        Tol(name, (), ("Z",))
    )


def gathered(draw: Draw, scope: Scope) -> Written:
    """Elements picked by the values of another ToL."""
    picks, sources = _vectors(scope, "Z"), [t for t in scope.tols if t.shape and len(t.kinds) == 1]
    sources = [t for t in sources if t.shape[0].least >= 1]
    if not picks or not sources:
        return None
    pick, source, name = draw.pick(picks), draw.pick(sources), draw.name("y")
    at = f"{source.text}[e % {par(source.shape[0].text)} + 1]"
    if tols.volume((*pick.shape, *source.shape[1:])) > 24:
        return None
    made = Tol(name, (*pick.shape, *source.shape[1:]), source.kinds)
    return f"{name} = map({pick.text}, (e) => {at})", scope.having(made)


def scattered(draw: Draw, scope: Scope) -> Written:
    """A fold that replaces members at places given by data."""
    picks, sources = _vectors(scope, "Z"), [t for t in _vectors(scope, "R") if t.shape[0].least >= 1]
    if not picks or not sources:
        return None
    pick, source, name = draw.pick(picks), draw.pick(sources), draw.name("y")
    at = f"e % {par(source.shape[0].text)} + 1"
    new = draw.pick((f"a[{at}] + 1", f"a[{at}] * j", "0", "j"))
    text = f"{name} = reduce({pick.text}, (a, e) => put(a, [{at}], {new}), {source.text}, j)"
    return text, scope.having(Tol(name, source.shape, ("R",)))


def partly(draw: Draw, scope: Scope) -> Written:
    """A box of something, under a name."""
    found = tols.a_part(draw, scope, [t for t in scope.tols if t.shape and len(t.kinds) == 1])
    if found is None:
        return None
    name = draw.name("v")
    return f"{name} = {found.text}", scope.having(replace(found, text=name))


def padded(draw: Draw, scope: Scope) -> Written:
    """Zeros joined on both sides."""
    among = _vectors(scope, "R", "Z")
    if not among:
        return None
    source, name = draw.pick(among), draw.name("w")
    wide = draw.pick((literal(1), literal(2), *scope.lengths[:1]))
    made = plus(plus(wide, source.shape[0]), wide)
    text = f"{name} = join(join(tol[{wide.text}], {source.text}), tol[{wide.text}])"
    return text, scope.having(Tol(name, (made,), source.kinds))


def boxed(draw: Draw, scope: Scope) -> Written:
    """A block with a function of its own and a shared ToL."""
    name, t, f, u = draw.name("v"), draw.name("t"), draw.name("f"), draw.name("u")
    shape = a_shape(draw, scope, 1, 6)
    held = tols.tol(draw, scope, shape, "R", 2)
    inner = scope.having(Tol(t, shape, ("R",)))
    fun = Fun(f, ("number",), (), "R")
    body = numbers.number(draw, replace(inner.having(Tol(u, (), ("R",))), work=8), "R", 1)
    last = replace(inner, functions=(*scope.functions, fun))
    result = tols.tol(draw, last, shape, "R", 2)
    text = f"{name} = {{ {t} = {held}; {f}({u}) = {body}; {result} }}"
    return text, scope.having(Tol(name, shape, ("R",)))


def indexed(draw: Draw, scope: Scope) -> Written:
    """One element, by numbers known while compiling."""
    among = [t for t in scope.tols if t.shape and len(t.kinds) == 1]
    if not among:
        return None
    source, name = draw.pick(among), draw.name("v")
    at = indices(draw, scope, source.shape, numbers.whole(draw, scope) if draw.chance(0.5) else None)
    if at is None:
        return None
    return f"{name} = {source.text}[{at}]", scope.having(Tol(name, (), source.kinds))


def list_moved(draw: Draw, scope: Scope) -> Written:
    """A ToL of lists, moved as a whole."""
    among = [t for t in scope.tols if len(t.kinds) > 1 and t.shape]
    if not among:
        return None
    source, name = draw.pick(among), draw.name("l")
    length = source.shape[0]
    rest = source.shape[1:]
    match draw.number(0, 4):
        case 0:
            made = (plus(length, length), *rest)
            return f"{name} = join({source.text}, {source.text}, 1)", scope.having(
                replace(source, text=name, shape=made)
            )
        case 1:
            made = (product(source.shape),)
            text = f"{name} = reshape({source.text}, [{made[0].text}])"
            return text, scope.having(replace(source, text=name, shape=made))
        case 2 if length.least >= 1:
            return f"{name} = {source.text}[{length.text}]", scope.having(
                replace(source, text=name, shape=rest)
            )
        case 3 if length.least >= 1:
            text = f"{name} = put({source.text}, [1], {source.text}[{length.text}])"
            return text, scope.having(replace(source, text=name))
        case _:
            coordinates = coordinates_over(draw, scope, source.shape)
            names = ", ".join(c.name for c in coordinates)
            turned = source.kinds[::-1]
            parts = ", ".join(f"e[{j}]'" for j in range(len(turned), 0, -1))
            text = f"{name} = map({source.text}, (e) => ({parts}), [{names}])"
            return text, scope.having(Tol(name, source.shape, turned))


def lists_of_rows(draw: Draw, scope: Scope) -> Written:
    """A list of a number and a row at every coordinate, and its rows."""
    name, rows = draw.name("l"), draw.name("c")
    outer, inner = (a_length(draw, scope, 4) for _ in range(2))
    coordinates = coordinates_over(draw, scope, (outer,), keep=(inner,))
    around = scope.inside(coordinates)
    one, row = numbers.number(draw, around, "R", 1), tols.tol(draw, around, (inner,), "R", 1)
    text = f"{name} = map(tol[{outer.text}], ({one}, {row}), [{coordinates[0].name}])\n{rows} = {name}[2]'"
    return text, scope.having(Tol(rows, (outer, inner), ("R",)))


FORMS: tuple[tuple[float, Callable[[Draw, Scope], Written]], ...] = (
    (8, value),
    (1.5, filled),
    (4, function),
    (2, number_function),
    (2, scan),
    (1.5, kept),
    (1, tiled),
    (2, packed),
    (1.5, unpacked),
    (1.5, list_moved),
    (1, lists_of_rows),
    (1.5, carried),
    (2, reshaped),
    (2, appended),
    (2, windows),
    (2.5, triangle),
    (2, any_rank),
    (1.5, static_fold),
    (1, gathered),
    (1, scattered),
    (1, partly),
    (1, padded),
    (1.5, boxed),
    (1, indexed),
)


def statement(draw: Draw, scope: Scope) -> tuple[str, Scope]:
    """The next statement of a program."""
    left = list(FORMS)
    while True:
        at = draw.random.choices(range(len(left)), [weight for weight, _ in left])[0]
        written = left.pop(at)[1](draw, scope)
        if written is not None:
            return written
