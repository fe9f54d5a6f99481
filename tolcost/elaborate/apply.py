"""Applying an elementary function to values of any kind: static, data, whole ToLs; and changes of space."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache, reduce

from tolcost.algebra import Cond, Poly, const, indicator
from tolcost.atoms.kit import is_numeric, numeric_type
from tolcost.atoms.nodes import Convert, Lambda, Node, Type
from tolcost.diagnostics import Span
from tolcost.elaborate.layout import as_static, element, grid, in_spaces, lay, materialise, with_spaces
from tolcost.elaborate.shapes import capacity, known, shape_of, shape_text, space_of, unify
from tolcost.elaborate.static_numbers import fold_plain, fold_static, held, integer_division, truth
from tolcost.elaborate.values import (
    Builtin,
    Cast,
    Closure,
    Data,
    Env,
    ListForNumber,
    Misfit,
    Missing,
    Native,
    Opaque,
    Pieces,
    Quotient,
    Seq,
    Value,
    Vec,
    View,
    bind_data,
    cast_of,
    fail,
    is_static,
    plain,
    recast,
)
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import SPACES, closed_space, join_spaces, kind_of

_ORDER = ("B", "Z", "R", "C", "S")


def apply(env: Env, name: str, args: tuple[Value, ...], span: Span) -> Value:
    """An elementary function of some values; ToLs combine element by element, a scalar spreads."""
    env.context.tick(span)
    kinds = set(map(type, args))
    if Data not in kinds:
        found = fold_plain(env, name, args, kinds, span)
        if found is not None:
            return found
    elif all(map(_is_plain_number, args)):  # as most are
        return Data(_lambda(env, name, args, span))
    space = None
    if Cast in kinds and all(is_static(a) and not isinstance(a, Opaque) for a in args):
        space, args = _space_of_casts(name, args), tuple(map(plain, args))  # nodes have spaces themselves
    if any(map(_is_tol, args)):
        args = _entries_for_numbers(args)
        if any(map(_is_tol, args)):
            check_numbers(env, name, args, span)
            return _in_space(env, _apply_elementwise(env, name, args, span), space)
    return _in_space(env, _apply_numbers(env, name, args, span), space)


def _in_space(env: Env, value: Value, space: str | None) -> Value:
    """What was computed of statics that came in a space, in that space; reals stay exact."""
    if space is None:
        return value
    if isinstance(value, Opaque):
        return Opaque(in_spaces(value.node, (space,)), space)
    return recast(held(env, value, space) if kind_of(space) == "Z" else value, space)


def _space_of_casts(name: str, args: tuple[Value, ...]) -> str | None:
    """The machine type of a function of statics some of which came in one; None if it is no longer one."""
    domain = reduce(join_spaces, [space for a in args if (space := cast_of(a)) is not None])
    others = [space_of(a) for a in args if cast_of(a) is None]
    space = result_space(name, widened(name, domain, others))
    return space if SPACES[space].finite else None


def divide(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    """``/``: floor division between static integers, real division between anything else."""
    if Data in map(type, args):
        return apply(env, "div", args, span)
    x, y = (plain(a) for a in args)
    spaces = [space_of(a) for a in args]
    if any(kind_of(space) == "R" for space in spaces if SPACES[space].finite):
        return apply(env, "div", args, span)
    told = next((space for space in spaces if SPACES[space].finite), None)
    if isinstance(x, Poly) and isinstance(y, Poly):
        return _in_space(env, integer_division(env, span, x, y), told)
    if not all(is_static(a) and kind_of(space) in "ZB" for a, space in zip(args, spaces, strict=True)):
        return apply(env, "div", args, span)  # as it is in wider spaces
    env.context.asked += 1
    x, y = _entries_for_numbers((x, y))
    if _is_tol(x) or _is_tol(y):
        return _in_space(env, _apply_elementwise(env, "/", (x, y), span), told)
    if isinstance(x, Poly) and isinstance(y, Poly):
        return _in_space(env, integer_division(env, span, x, y), told)
    whole = apply(env, "floor", (apply(env, "div", (x, y), span),), span)
    space = told or "Z"
    return Opaque(in_spaces(materialise(env, whole, span), (space,)), space)


def _is_tol(value: Value) -> bool:
    match value:
        case Vec() | View():
            return True
        case Data(node=node):
            return bool(node.type[0].shape)
        case Cast(value=inner):
            return _is_tol(inner)
        case _:
            return False


def _is_plain_number(value: Value) -> bool:
    """Whether a value is one number that is known, as most are, or that is data."""
    return is_numeric(value.node.type) if isinstance(value, Data) else type(value) in _NUMBERS


_NUMBERS: set[type] = {Poly, Fraction, float}


def _entries_for_numbers(args: tuple[Value, ...]) -> tuple[Value, ...]:
    """Let a loose vector of one entry stand for its entry beside anything that is not its like."""
    if not any(isinstance(a, (Data, Opaque)) for a in args) or any(
        _is_tol(a) and not (isinstance(a, Vec) and a.shape == (1,) and a.loose) for a in args
    ):
        return args
    return tuple(a.items[0] if isinstance(a, Vec) and a.shape == (1,) and a.loose else a for a in args)


# ---- numbers -----------------------------------------------------------------------------


def check_numbers(env: Env, name: str, args: tuple[Value, ...], span: Span) -> None:
    """A function applies to numbers and to ToLs of them."""
    for a in args:
        if isinstance(a, _NO_NUMBERS):
            materialise(env, a, span)
    for a in args:
        if capacity(a) > 1 or isinstance(a, Pieces):
            fail(
                "T0404",
                f"`{name}` applies to numbers, and this is a list",
                span,
                hint="take a component first: x[1]'; `map` does so with each",
                kind=ListForNumber,
            )


def check_condition(name: str, condition: Value, span: Span) -> None:
    """A condition is a truth value or a number: text has no 0."""
    if kind_of(space_of(condition)) == "S":
        hint = """compare it: `mode == "linear"`"""
        fail("T0405", f"`{name}` goes by a condition, and this is text", span, hint=hint)


_WHOLE = ("floor", "ceil", "round", "trunc")
"""What these make of a static real is a whole number, whether it is known or not."""

_NO_NUMBERS = (Missing, Seq, Closure, Builtin, Native)


def _apply_numbers(env: Env, name: str, args: tuple[Value, ...], span: Span) -> Value:
    check_numbers(env, name, args, span)
    if name == "/":
        return divide(env, args, span)
    if name != "rand" and all(map(is_static, args)):
        found = fold_static(env, name, args, span)
        if found is not None:
            return found
        node = _lambda(env, name, args, span)
        made = static_node(name, node.args, node.space, span, node.type[0].space)
        space = "Z" if name in _WHOLE and made.space == "R" else made.type[0].space
        return Opaque(in_spaces(made, (space,)), space)
    return Data(_lambda(env, name, args, span))


def _instead(name: str, spaces: tuple[str, ...]) -> str:
    """What to do with values that a function does not apply to."""
    if "S" in map(kind_of, spaces):
        return "texts can be compared with one another, by `==` and `!=`"
    if "R" in FUNCTIONS[name].kinds:
        return "it applies to real numbers: `abs(x)` is one"
    return "it applies to truth values and integers: `x != 0`, `convert(x, Z)`"


def _lambda(env: Env, name: str, args: tuple[Value, ...], span: Span) -> Lambda:
    kinds = _kinds(name, *_spaces(args))
    if kinds is None:
        spaces = tuple(dict.fromkeys(map(space_of, args)))
        fail("T0405", f"`{name}` does not apply to {' and '.join(spaces)}", span, hint=_instead(name, spaces))
    domain, result = kinds
    nodes = tuple(
        [
            a.node
            if isinstance(a, Data)
            else materialise(env, plain(a), span, domain if is_static(a) else None)
            for a in args
        ]
    )
    return Lambda(name, nodes, domain, result, "data", span, env.context.node)


SpaceNames = tuple[str, ...]


def _spaces(args: tuple[Value, ...]) -> tuple[SpaceNames, SpaceNames]:
    """The spaces of those arguments that are data, and of those that are static."""
    data: list[str] = []
    statics: list[str] = []
    for a in args:
        if isinstance(a, Data):
            data.append(a.node.type[0].space)
        else:
            (statics if is_static(a) else data).append(space_of(a))
    return tuple(data), tuple(statics)


@lru_cache(maxsize=1 << 10)
def _kinds(name: str, data: SpaceNames, statics: SpaceNames) -> tuple[str, Type] | None:
    """The space a function of such arguments computes in, and the type of its result; None if it has none."""
    domain = _domain(name, data, statics)
    texts = {kind_of(space) == "S" for space in (*data, *statics)}
    if not takes(name, domain) or len(texts) > 1:
        return None
    return domain, numeric_type(result_space(name, domain))


def takes(name: str, domain: str) -> bool:
    """Whether a function can compute in a space."""
    return kind_of(domain) in FUNCTIONS[name].kinds


def _domain(name: str, data: SpaceNames, statics: SpaceNames) -> str:
    """The space a function computes in: that of its data, widened by what its numbers need.

    Where nothing is data, it is that of the machine types among the numbers.
    """
    told = tuple([space for space in statics if SPACES[space].finite]) if not data else ()
    domain, *others = data or told or statics[:1] or ("R",)
    for space in others:
        domain = join_spaces(domain, space)
    return widened(name, domain, statics)


def widened(name: str, domain: str, statics: Iterable[str]) -> str:
    """A space widened to hold some numbers, and as the function needs it."""
    for space in statics:
        if _ORDER.index(kind_of(space)) > _ORDER.index(kind_of(domain)):
            domain = join_spaces(domain, space)
    rule = FUNCTIONS[name].rule
    if rule == "real" and kind_of(domain) in ("B", "Z"):
        return "R"
    if rule == "arithmetic" and kind_of(domain) == "B" and name not in ("max", "min"):
        return "Z"
    return domain


def result_space(name: str, domain: str) -> str:
    """The space of the result of a function that computes in ``domain``."""
    rule = FUNCTIONS[name].rule
    if rule in ("compare", "test"):
        return "B"
    if name == "abs" and kind_of(domain) == "C":
        return "R"
    return closed_space(domain, name)


def static_node(
    name: str, args: tuple[Node, ...], space: str, span: Span, result: str | None = None
) -> Lambda:
    """A function of static nodes: free."""
    return Lambda(name, args, space, numeric_type(result or space), "static", span)


# ---- whole ToLs --------------------------------------------------------------------------


def _apply_elementwise(env: Env, name: str, args: tuple[Value, ...], span: Span) -> Value:
    shape = common_shape(env, name, args, span)
    numbers = known(shape)
    if numbers is not None and any(isinstance(a, Vec) for a in args):
        loose = any(isinstance(a, Vec) and a.loose for a in args)
        bound = tuple(bind_data(env, a) for a in args)
        return Vec(
            numbers,
            tuple(
                _apply_numbers(env, name, _at(env, bound, tuple(const(n) for n in at), span), span)
                for at in grid(numbers, span)
            ),
            loose,
        )
    if all(is_static(a) for a in args):
        return View(
            shape,
            lambda here, at: _apply_numbers(here, name, _at(here, args, at, span), span),
            True,
            result_space(name, _domain(name, *_spaces(args))) if name != "/" else "Z",
        )
    bound = tuple(bind_data(env, a) for a in args)
    return lay(
        env, shape, lambda here, at: _apply_numbers(here, name, _at(here, bound, at, span), span), span
    )


def _at(env: Env, args: tuple[Value, ...], at: tuple[Value, ...], span: Span) -> tuple[Value, ...]:
    return tuple(element(env, a, at, span, checked=True) if _is_tol(a) else a for a in args)


def common_shape(env: Env, name: str, args: tuple[Value, ...], span: Span) -> tuple[Poly, ...]:
    """The shape that all the ToLs among the arguments have."""
    shapes = [shape_of(env, a, span) for a in args if _is_tol(a)]
    shape = shapes[0]
    for other in shapes[1:]:
        if len(other) != len(shape):
            fail(
                "T0307",
                f"`{name}` combines ToLs of equal shape, not {shape_text(shape)} with {shape_text(other)}",
                span,
                hint="map over one of them and index the other",
                kind=Misfit,
                definite=True,
            )
        whole = shape

        def what(one: tuple[Poly, ...] = whole, two: tuple[Poly, ...] = other) -> str:
            return f"`{name}` combines ToLs of one shape, not {shape_text(one)} and {shape_text(two)}"

        shape = tuple(unify(env, a, b, what, span) for a, b in zip(shape, other, strict=True))
    return shape


# === What is static in another space: known numbers are converted while compiling, the others by a free node.


def static_in(env: Env, value: Value, space: str, span: Span) -> Value:
    """A static value without components in another space; where that is a machine type, told so."""
    inner = plain(value)
    if isinstance(inner, View):
        found = _view(env, inner, space, span) if space != space_of(value) else inner
    else:
        found = held(env, _number(env, inner, space, span), space)
    return recast(found, space) if SPACES[space].finite else found


def number_in(env: Env, value: Value, space: str, span: Span) -> Value:
    """A number in a space that holds it; what is static stays as it is where it is of that kind anyway."""
    if isinstance(value, Data):
        return Data(in_spaces(value.node, (space,)))
    alike = kind_of(space_of(value)) == kind_of(space)
    return value if alike else static_in(env, value, space, span)


def _view(env: Env, value: View, space: str, span: Span) -> Value:
    """A static ToL, laid out in another space, or its entries converted where they are looked at."""
    if value.laid is not None:
        parts = with_spaces(value.laid.type, (space,))
        return as_static(env, Convert(value.laid, parts, span=span))

    def entry(here: Env, at: tuple[Value, ...]) -> Value:
        return plain(static_in(here, value.get(here, at), space, span))

    return View(value.shape, entry, True, kind_of(space))


def _number(env: Env, value: Value, space: str, span: Span) -> Value:
    if isinstance(value, Vec):
        items = tuple(_number(env, plain(item), space, span) for item in value.items)
        return Vec(value.shape, items, value.loose)
    kind = kind_of(space)
    match value:
        case Opaque(node=node):
            return Opaque(Convert(node, with_spaces(node.type, (space,)), span=span), space)
        case Poly() if kind == "R":
            return Fraction(value.constant) if value.constant is not None else Quotient(value, const(1))
        case Fraction() | Quotient() | float() if kind == "Z":
            return _whole(env, value, space, span)
        case _ if isinstance(value, Cond) and kind in "ZR":
            return _number(env, indicator(value), space, span) if kind == "R" else indicator(value)
        case _ if kind == "B" and not isinstance(value, Cond):
            return truth(value) or value
        case _ if kind == "C":
            return _complex(env, value, space, span)
        case _:
            return value


def _whole(env: Env, value: Fraction | Quotient | float, space: str, span: Span) -> Value:
    """A static real rounded; only a run can tell what a formula rounds to."""
    if isinstance(value, float):
        return const(round(value)) if math.isfinite(value) else value
    whole = apply(env, "round", (value,), span)
    return _number(env, whole, space, span) if isinstance(whole, Opaque) else whole


def _complex(env: Env, value: Value, space: str, span: Span) -> Value:
    """A number as a complex one, where it is a number already: the root of -1 is no real."""
    number = value.constant if isinstance(value, Poly) else value
    if isinstance(number, (int, float, Fraction)):
        return complex(number)
    return Opaque(in_spaces(materialise(env, value, span), (space,)), space)
