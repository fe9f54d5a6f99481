"""Numeric expressions: elements, functions, choices, folds, blocks, applications."""

from __future__ import annotations

from msgspec.structs import replace

from tools.generate import tols
from tools.generate.draw import WORK, Draw
from tools.generate.indices import (
    a_length,
    coordinates_over,
    fitting,
    index,
    indices,
    static_condition,
    static_number,
)
from tools.generate.lengths import Kind, Length, Scope, Tol, literal, par

EXACT = ("neg", "abs", "sqr", "sgn", "floor", "-", "+")
SMOOTH = ("exp", "sin", "cos", "tanh", "neg", "abs", "sqr", "atan", "-")


def suits(found: Kind, wanted: Kind) -> bool:
    return "BZR".index(found) <= "BZR".index(wanted) if wanted != "B" else found == "B"


def number(draw: Draw, scope: Scope, kind: Kind, fuel: int) -> str:
    """A numeric of a kind, or of one that embeds in it."""
    if fuel <= 0:
        return leaf(draw, scope, kind)
    if kind == "B":
        return truth(draw, scope, fuel)
    return draw.first_of(
        (
            (3, lambda: leaf(draw, scope, kind)),
            (4, lambda: unary(draw, scope, kind, fuel)),
            (7, lambda: binary(draw, scope, kind, fuel)),
            (2, lambda: by_coordinates(draw, scope, kind, fuel)),
            (2, lambda: neighbour(draw, scope, kind, fuel)),
            (1.5, lambda: by_data(draw, scope, kind, fuel)),
            (5, lambda: fold(draw, scope, kind, fuel)),
            (1.5, lambda: block(draw, scope, kind, fuel)),
            (4, lambda: application(draw, scope, kind, fuel)),
            (0.7, lambda: list_fold(draw, scope, kind, fuel)),
            (0.5, lambda: filtered(draw, scope, kind, fuel)),
        ),
        "1",
    )


# ---- leaves ------------------------------------------------------------------------------


def leaf(draw: Draw, scope: Scope, kind: Kind) -> str:
    plain = {"B": "true", "Z": str(draw.number(0, 3)), "R": draw.pick(("0.5", "2", "1.25"))}[kind]
    return draw.first_of(
        (
            (8, lambda: element(draw, scope, kind)),
            (3, lambda: the_element(scope, kind)),
            (1, lambda: plain),
            (0.8, lambda: looked_up(draw, scope, kind)),
            (1, lambda: static_number(draw, scope) if kind != "B" else static_condition(draw, scope)),
        ),
        plain,
    )


def the_element(scope: Scope, kind: Kind) -> str | None:
    star = scope.star
    if star is None or not suits(star.kinds[0], kind):
        return None
    return "*" if len(star.kinds) == 1 else "(*)[1]'"


def looked_up(draw: Draw, scope: Scope, kind: Kind) -> str | None:
    """An entry of a table of numbers."""
    if kind == "B":
        return None
    entries = [static_number(draw, scope) for _ in range(draw.number(2, 3))]
    at = index(draw, scope, literal(len(entries)), whole(draw, scope) if draw.chance(0.3) else None)
    return None if at is None else f"[{', '.join(entries)}][{at}]"


def whole(draw: Draw, scope: Scope) -> str | None:
    """A whole number from data, to index with."""
    near = [t for t in scope.tols if t.kinds == ("Z",) and not t.shape]
    far = [t for t in scope.tols if t.kinds == ("Z",) and t.shape]
    if near and draw.chance(0.5):
        return draw.pick(near).text
    if not far:
        return None
    tol = draw.pick(far)
    at = indices(draw, scope, tol.shape)
    return None if at is None else f"{par(tol.text)}[{at}]"


def element(draw: Draw, scope: Scope, kind: Kind) -> str | None:
    """An element of something in reach, or one component of it."""
    choices = [(t, j) for t in scope.tols for j, k in enumerate(t.kinds) if suits(k, kind)]
    if not choices:
        return None
    tol, j = draw.pick(choices)
    at = _place(draw, scope, tol)
    if at is None:
        return None
    if len(tol.kinds) == 1:
        return tol.text + at
    if not at:
        return f"{tol.text}[{j + 1}]'"
    return f"{tol.text}{at}[{j + 1}]'" if draw.chance(0.5) else f"{tol.text}[{j + 1}]'{at}"


def _place(draw: Draw, scope: Scope, tol: Tol) -> str | None:
    if not tol.shape:
        return ""
    own = tuple(c.extent.text for c in scope.star_at)
    if own and tol.texts[: len(own)] == own and draw.chance(0.6):
        rest = indices(draw, scope, tol.shape[len(own) :])
        return None if rest is None else f"[{', '.join(filter(None, ('*', rest)))}]"
    at = indices(draw, scope, tol.shape, whole(draw, scope) if draw.chance(0.25) else None)
    return None if at is None else f"[{at}]"


# ---- functions ---------------------------------------------------------------------------


def unary(draw: Draw, scope: Scope, kind: Kind, fuel: int) -> str:
    inner = number(draw, scope, kind, fuel - 1)
    names = EXACT if draw.exact else SMOOTH
    if kind == "Z":
        names = ("neg", "abs", "sqr", "-")
    name = draw.pick(names)
    if name in "+-":
        return f"{name}{par(inner)}"
    if draw.chance(0.15):
        return f"{name}.{draw.pick([n for n in names if n not in '+-'])}({inner})"
    return f"{name}({inner})"


def binary(draw: Draw, scope: Scope, kind: Kind, fuel: int) -> str:
    left = number(draw, scope, kind, fuel - 1)
    right = number(draw, scope, kind, fuel - draw.number(1, 2))
    if draw.chance(0.25):
        return f"{draw.pick(('add', 'mul', 'max', 'min', 'sub'))}({left}, {right})"
    if draw.chance(0.1) and kind == "R":
        return f"{par(left)} / 2" if draw.exact else f"{par(left)} / (abs({right}) + 1)"
    if draw.chance(0.08) and draw.exact:
        return f"{par(left)} % {draw.number(2, 4)}"
    return f"{par(left)} {draw.pick('+-*')} {par(right)}"


def truth(draw: Draw, scope: Scope, fuel: int) -> str:
    """A condition on data."""
    kind: Kind = draw.pick(("Z", "R"))
    left, right = (number(draw, scope, kind, fuel - 2) for _ in range(2))
    plain = f"{par(left)} {draw.pick(('<', '>', '<=', '>=', '==', '!='))} {par(right)}"
    match draw.number(0, 6):
        case 0:
            return f"({plain}) and {par(leaf(draw, scope, 'B'))}"
        case 1:
            return f"not({plain})"
        case 2:
            return f"lt({left}, {right})"
        case 3:
            return leaf(draw, scope, "B")
        case _:
            return plain


def application(draw: Draw, scope: Scope, kind: Kind, fuel: int) -> str | None:
    usable = [f for f in scope.functions if not f.shape and suits(f.kind, kind)]
    if not usable:
        return None
    return applied(draw, scope, draw.pick(usable).name, scope, fuel)


def applied(draw: Draw, scope: Scope, name: str, where: Scope, fuel: int) -> str | None:
    """A function of the program with arguments that suit it."""
    fun = next(f for f in where.functions if f.name == name)
    args: list[str] = []
    for param in fun.params:
        if isinstance(param, Length):
            at = index(draw, scope, param)
            if at is None:
                return None
            args.append(at)
        else:
            args.append(_argument(draw, scope, param, fuel))
    return f"{fun.name}({', '.join(args)})"


def _argument(draw: Draw, scope: Scope, param: str, fuel: int) -> str:
    match param:
        case "static":
            return static_number(draw, scope)
        case "function":
            u = draw.name("u")
            return draw.pick(
                ("abs", "neg", "sqr.neg", f"({u}) => {u} * 2 - 1", "max(*, 1)" if not scope.star else "abs")
            )
        case _:
            return number(draw, scope, "R", fuel - 2)


# ---- choices -----------------------------------------------------------------------------


def by_coordinates(draw: Draw, scope: Scope, kind: Kind, fuel: int) -> str:
    then, other = (number(draw, scope, kind, fuel - draw.number(1, 2)) for _ in range(2))
    return f"where({static_condition(draw, scope)}, {then}, {other})"


def neighbour(draw: Draw, scope: Scope, kind: Kind, fuel: int) -> str | None:
    """An element beside the current one, where there is one: what padding looks like."""
    near = [t for t in scope.tols if len(t.shape) == 1 and len(t.kinds) == 1 and suits(t.kinds[0], kind)]
    pairs = [(t, c) for t in near for c in fitting(scope, t.shape[0])]
    if not pairs:
        return None
    tol, c = draw.pick(pairs)
    far = draw.number(1, 2)
    other = number(draw, scope, kind, fuel - 2)
    length = par(tol.shape[0].text)
    if draw.chance(0.4):
        return f"where({c.name} > {far}, {tol.text}[{c.name} - {far}], {other})"
    if draw.chance(0.4):
        return f"where({c.name} + {far} <= {length}, {tol.text}[{c.name} + {far}], {other})"
    at = f"({c.name} - 1) * {draw.number(1, 3)} + {draw.number(0, 2)}"
    return f"where({at} >= 1 and {at} <= {length}, {tol.text}[{at}], {other})"


def by_data(draw: Draw, scope: Scope, kind: Kind, fuel: int) -> str | None:
    if not draw.exact:
        return None
    then, other = (number(draw, scope, kind, fuel - 2) for _ in range(2))
    return f"where({truth(draw, scope, fuel - 1)}, {then}, {other})"


def block(draw: Draw, scope: Scope, kind: Kind, fuel: int) -> str:
    """A block that names a value, or a ToL, and uses it more than once."""
    name = draw.name("t")
    if draw.chance(0.3) and scope.work * 4 <= WORK:
        shape = (a_length(draw, scope, 6),)
        value = tols.tol(draw, scope, shape, kind, fuel - 1)
        inner = scope.having(Tol(name, shape, (kind,)))
    else:
        value = number(draw, scope, kind, fuel - 1)
        inner = scope.having(Tol(name, (), (kind,)))
    result = number(draw, inner, kind, fuel - 1)
    more = element(draw, inner, kind)
    return f"{{ {name} = {value}; {par(result)} {draw.pick('+-*')} {par(more or result)} }}"


# ---- folds -------------------------------------------------------------------------------


def fold(draw: Draw, scope: Scope, kind: Kind, fuel: int) -> str | None:
    """A reduce to a numeric, over something in reach, a part, a domain or a range."""
    source = tols.domain(draw, scope, kind, fuel - 1, most=WORK // scope.work)
    if source is None:
        return None
    if draw.chance(0.45) and len(source.kinds) == 1 and suits(source.kinds[0], kind):
        function = draw.pick(("add", "max", "min", "+", "add"))
        return f"reduce({source.text}, {function}, {leaf(draw, _closed(scope), kind)})"
    return folded(draw, scope, source, kind, fuel)


def _closed(scope: Scope) -> Scope:
    return replace(scope, star=None, star_at=())


def folded(draw: Draw, scope: Scope, source: Tol, kind: Kind, fuel: int) -> str:
    """A reduce with a step of its own."""
    a, e = draw.name("a"), draw.name("e")
    coordinates = coordinates_over(draw, scope, source.shape, "j")
    inner = scope.inside(coordinates).having(Tol(e, (), source.kinds))
    term = number(draw, inner, kind, fuel - 1)
    step = draw.pick((f"{a} + {par(term)}", f"max({a}, {term})", f"{par(term)} - {a}", f"{a} + {par(term)}"))
    names = ", ".join(c.name for c in coordinates)
    start = leaf(draw, _closed(scope), kind)
    if draw.chance(0.1):
        c = draw.name("c")
        at = f"{c}[{len(coordinates)}]" if len(coordinates) > 1 else c
        return f"reduce({source.text}, ({a}, {e}, {c}) => {step} + {at}, {start}, [{names}])"
    return f"reduce({source.text}, ({a}, {e}) => {step}, {start}, [{names}])"


def list_fold(draw: Draw, scope: Scope, kind: Kind, fuel: int) -> str | None:
    """One component of a fold that carries a list."""
    source = tols.domain(draw, scope, kind, 0, most=WORK // scope.work)
    if source is None or len(source.kinds) > 1:
        return None
    a, e, j = draw.name("a"), draw.name("e"), draw.number(1, 2)
    coordinates = coordinates_over(draw, scope, source.shape, "j")
    inner = scope.inside(coordinates).having(Tol(e, (), source.kinds), Tol(a, (), (kind, kind)))
    terms = [number(draw, inner, kind, fuel - 2) for _ in range(2)]
    names = ", ".join(c.name for c in coordinates)
    start = ", ".join(leaf(draw, _closed(scope), kind) for _ in range(2))
    step = f"({a}[1]' + {par(terms[0])}, max({a}[2]', {terms[1]}))"
    return f"reduce({source.text}, ({a}, {e}) => {step}, ({start}), [{names}])[{j}]'"


def filtered(draw: Draw, scope: Scope, kind: Kind, fuel: int) -> str | None:
    """A sum over the entries that a condition on data keeps."""
    near = [t for t in scope.tols if len(t.shape) == 1 and t.kinds == (kind,)]
    if not near or not draw.exact:
        return None
    tol = draw.pick(near)
    if scope.work * tol.shape[0].size * 2 > WORK:
        return None
    mask = f"map({tol.text}, (v) => v {draw.pick('<>')} {draw.number(0, 1)})"
    return f"reduce(filter({tol.text}, {mask}), add, 0)"
