"""Application of elementary functions to values of any kind (static, data, whole ToLs); changes of space."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache, reduce

from tolcost.algebra import Cond, Poly, const, indicator, to_text
from tolcost.atoms.kit import is_numeric, numeric_type
from tolcost.atoms.nodes import Convert, Lambda, Node, Type
from tolcost.diagnostics import Diagnostic, Span
from tolcost.elaborate.environment import Env, bind_data
from tolcost.elaborate.faults import ListForNumber, Misfit, fail
from tolcost.elaborate.layout import as_static, element, emit, emit_map, grid, in_spaces, with_spaces
from tolcost.elaborate.shapes import capacity, known, shape_of, shape_text, space_of, unify
from tolcost.elaborate.static_numbers import fit_to_space, fold_plain, fold_static, integer_division, truth
from tolcost.elaborate.values import (
    Cast,
    Closure,
    Missing,
    Native,
    NodeValue,
    Quotient,
    Seq,
    Unknown,
    Value,
    ValueList,
    Vec,
    View,
    cast_of,
    is_data,
    is_static,
    is_tol,
    plain,
    recast,
)
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import SPACES, closed_space, join_spaces, kind_of

_FAMILY_ORDER = ("B", "Z", "R", "C", "S")


def apply(env: Env, name: str, args: tuple[Value, ...], span: Span) -> Value:
    """Apply an elementary function; ToLs combine element by element, and scalars are broadcast."""
    env.context.tick(span)
    kinds = set(map(type, args))
    if NodeValue not in kinds or not any(map(is_data, args)):
        found = fold_plain(env, name, args, kinds, span)
        if found is not None:
            return found
    elif all(map(_is_plain_number, args)):  # the usual case
        return NodeValue(_lambda(env, name, args, span))
    elif Unknown in kinds:
        return Unknown()  # no more is known of it with data than without
    space = None
    if Cast in kinds and all(is_static(a) and (not isinstance(a, NodeValue) or is_tol(a)) for a in args):
        space, args = _space_of_casts(name, args), tuple(map(plain, args))  # nodes have spaces themselves
    if any(map(is_tol, args)):
        args = _entries_for_numbers(args)
        if any(map(is_tol, args)):
            check_numbers(env, name, args, span)
            return _give_space(env, _apply_elementwise(env, name, args, span), space)
    return _give_space(env, _apply_numbers(env, name, args, span), space)


def _give_space(env: Env, value: Value, space: str | None) -> Value:
    """Give a value computed from statics with an explicit space that space; reals stay exact."""
    if space is None:
        return value
    if isinstance(value, NodeValue):
        return NodeValue(in_spaces(value.node, (space,)), static=True)
    return recast(fit_to_space(env, value, space) if kind_of(space) == "Z" else value, space)


def _space_of_casts(name: str, args: tuple[Value, ...]) -> str | None:
    """Return the machine type of a function of statics with explicit spaces.

    Return None if the result is in no machine type.
    """
    domain = reduce(join_spaces, [space for a in args if (space := cast_of(a)) is not None])
    others = [space_of(a) for a in args if cast_of(a) is None]
    space = result_space(name, widen_space(name, domain, others))
    return space if SPACES[space].finite else None


def divide(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    """Divide: floor division between static integers, real division otherwise."""
    if any(map(is_data, args)):
        return apply(env, "div", args, span)
    x, y = (plain(a) for a in args)
    spaces = [space_of(a) for a in args]
    if any(kind_of(space) == "R" for space in spaces if SPACES[space].finite):
        return apply(env, "div", args, span)
    told = next((space for space in spaces if SPACES[space].finite), None)
    if isinstance(x, Poly) and isinstance(y, Poly):
        return _give_space(env, integer_division(env, span, x, y), told)
    if not all(is_static(a) and kind_of(space) in "ZB" for a, space in zip(args, spaces, strict=True)):
        return apply(env, "div", args, span)  # integers without an explicit space divide in the same way
    env.context.asked += 1
    x, y = _entries_for_numbers((x, y))
    if is_tol(x) or is_tol(y):
        return _give_space(env, _apply_elementwise(env, "/", (x, y), span), told)
    if isinstance(x, Poly) and isinstance(y, Poly):
        return _give_space(env, integer_division(env, span, x, y), told)
    whole = apply(env, "floor", (apply(env, "div", (x, y), span),), span)
    space = told or "Z"
    return NodeValue(in_spaces(emit(env, whole, span), (space,)), static=True)


def _is_plain_number(value: Value) -> bool:
    """Whether a value is a single number, known or data."""
    return is_numeric(value.node.type) if isinstance(value, NodeValue) else type(value) in _NUMBERS


_NUMBERS: set[type] = {Poly, Fraction, float}


def _entries_for_numbers(args: tuple[Value, ...]) -> tuple[Value, ...]:
    """Replace coordinate and shape vectors of one entry by it beside numbers with a node, not beside ToLs."""
    if not any(isinstance(a, NodeValue) for a in args) or any(
        is_tol(a) and not (isinstance(a, Vec) and a.shape == (1,) and a.loose) for a in args
    ):
        return args
    return tuple(a.items[0] if isinstance(a, Vec) and a.shape == (1,) and a.loose else a for a in args)


# ---- numbers -----------------------------------------------------------------------------


def check_numbers(env: Env, name: str, args: tuple[Value, ...], span: Span) -> None:
    """Reject arguments that are neither numbers nor ToLs of numbers."""
    for a in args:
        if isinstance(a, _NO_NUMBERS):
            emit(env, a, span)
    for a in args:
        if capacity(a) > 1 or isinstance(a, ValueList):
            fail(
                "T0404",
                f"`{name}` applies to numbers, and this is a list",
                span,
                hint="take a component first: x[1]'; `map` does so with each",
                kind=ListForNumber,
            )


def check_condition(name: str, condition: Value, span: Span) -> None:
    """Reject a text as a condition: a condition is a truth value or a number."""
    if kind_of(space_of(condition)) == "S":
        hint = """compare it: `mode == "linear"`"""
        fail("T0405", f"`{name}` goes by a condition, and this is text", span, hint=hint)


_WHOLE = ("floor", "ceil", "round", "trunc")
"""Functions whose result on a static real is an integer, whether it is known or not."""

_NO_NUMBERS = (Missing, Seq, Closure, Native)


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
        return NodeValue(in_spaces(made, (space,)), static=True)
    return NodeValue(_lambda(env, name, args, span))


def _suggest(name: str, spaces: tuple[str, ...]) -> str:
    """Suggest what to do with values that a function does not apply to."""
    if "S" in map(kind_of, spaces):
        return "texts can be compared with one another, by `==` and `!=`"
    if "R" in FUNCTIONS[name].kinds:
        return "it applies to real numbers: `abs(x)` is one"
    return "it applies to truth values and integers: `x != 0`, `convert(x, Z)`"


def _lambda(env: Env, name: str, args: tuple[Value, ...], span: Span) -> Lambda:
    kinds = _kinds(name, *_spaces(args))
    if kinds is None:
        spaces = tuple(dict.fromkeys(map(space_of, args)))
        fail("T0405", f"`{name}` does not apply to {' and '.join(spaces)}", span, hint=_suggest(name, spaces))
    domain, result = kinds
    nodes = tuple(
        [
            a.node
            if isinstance(a, NodeValue)
            else emit(env, plain(a), span, domain if is_static(a) else None)
            for a in args
        ]
    )
    return Lambda(name, nodes, domain, result, "data", span, env.context.node)


SpaceNames = tuple[str, ...]


def _spaces(args: tuple[Value, ...]) -> tuple[SpaceNames, SpaceNames]:
    """Return the spaces of the data arguments, and those of the static arguments."""
    data: list[str] = []
    statics: list[str] = []
    for a in args:
        if is_data(a):
            data.append(a.node.type[0].space)
        else:
            (statics if is_static(a) else data).append(space_of(a))
    return tuple(data), tuple(statics)


@lru_cache(maxsize=1 << 10)
def _kinds(name: str, data: SpaceNames, statics: SpaceNames) -> tuple[str, Type] | None:
    """Return the space in which a function computes, and its result's type; None if it does not apply."""
    domain = _domain(name, data, statics)
    texts = {kind_of(space) == "S" for space in (*data, *statics)}
    if not takes(name, domain) or len(texts) > 1:
        return None
    return domain, numeric_type(result_space(name, domain))


def takes(name: str, domain: str) -> bool:
    """Whether a function can compute in a space."""
    return kind_of(domain) in FUNCTIONS[name].kinds


def _domain(name: str, data: SpaceNames, statics: SpaceNames) -> str:
    """Return the space in which a function computes: that of its data, widened to hold its static numbers.

    Without data, it is the space of the machine types among the numbers.
    """
    told = tuple([space for space in statics if SPACES[space].finite]) if not data else ()
    domain, *others = data or told or statics[:1] or ("R",)
    for space in others:
        domain = join_spaces(domain, space)
    return widen_space(name, domain, statics)


def widen_space(name: str, domain: str, statics: Iterable[str]) -> str:
    """Widen a space to hold static numbers, and as the function requires."""
    for space in statics:
        if _FAMILY_ORDER.index(kind_of(space)) > _FAMILY_ORDER.index(kind_of(domain)):
            domain = join_spaces(domain, space)
    rule = FUNCTIONS[name].rule
    if rule == "real" and kind_of(domain) in ("B", "Z"):
        return "R"
    if rule == "arithmetic" and kind_of(domain) == "B" and name not in ("max", "min"):
        return "Z"
    return domain


def result_space(name: str, domain: str) -> str:
    """Return the space of the result of a function that computes in ``domain``."""
    rule = FUNCTIONS[name].rule
    if rule in ("compare", "test"):
        return "B"
    if name == "abs" and kind_of(domain) == "C":
        return "R"
    return closed_space(domain, name)


def static_node(
    name: str, args: tuple[Node, ...], space: str, span: Span, result: str | None = None
) -> Lambda:
    """Build a function of static nodes, which is free."""
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
                _apply_numbers(env, name, _each_at(env, bound, tuple(const(n) for n in at), span), span)
                for at in grid(numbers, span)
            ),
            loose,
        )
    if all(is_static(a) for a in args):
        return View(
            shape,
            lambda here, at: _apply_numbers(here, name, _each_at(here, args, at, span), span),
            True,
            result_space(name, _domain(name, *_spaces(args))) if name != "/" else "Z",
        )
    bound = tuple(bind_data(env, a) for a in args)
    return emit_map(
        env, shape, lambda here, at: _apply_numbers(here, name, _each_at(here, bound, at, span), span), span
    )


def _each_at(env: Env, args: tuple[Value, ...], at: tuple[Value, ...], span: Span) -> tuple[Value, ...]:
    return tuple(element(env, a, at, span, checked=True) if is_tol(a) else a for a in args)


def common_shape(env: Env, name: str, args: tuple[Value, ...], span: Span) -> tuple[Poly, ...]:
    """Return the common shape of the ToLs among the arguments."""
    shapes = [shape_of(env, a, span) for a in args if is_tol(a)]
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

        before = len(env.context.notes.conditions)
        shape = tuple(unify(env, a, b, what, span) for a, b in zip(shape, other, strict=True))
        if len(env.context.notes.conditions) > before:
            _warn_of_product(env, name, whole, other, span)
    return shape


def _warn_of_product(
    env: Env, name: str, left: tuple[Poly, ...], right: tuple[Poly, ...], span: Span
) -> None:
    """Warn where shapes that only fit a matrix product were made equal."""
    if name != "mul" or len(left) != 2 or left[1] != right[0]:
        return
    n, k, m = map(to_text, (*left, right[1]))
    warning = Diagnostic(
        "T0422",
        f"`{name}` works entry by entry, so {shape_text(left)} and {shape_text(right)} have to be equal",
        span,
        hint=f"the matrix product adds up over {k}: "
        f"`map(tol[{n}, {m}], reduce(map(a[i], mul(*, b[*, j])), add, 0), [i, j])`",
        severity="warning",
    )
    env.context.notes.warn(warning)


# === Static values in another space: known numbers are converted at compile time, others by a free node.


def static_in(env: Env, value: Value, space: str, span: Span) -> Value:
    """Convert a static value without components to another space.

    A machine type becomes its explicit space.
    """
    inner = plain(value)
    if is_tol(inner) and not isinstance(inner, Vec):
        found = _convert_tol(env, inner, space, span) if space != space_of(value) else inner
    else:
        found = fit_to_space(env, _convert_number(env, inner, space, span), space)
    return recast(found, space) if SPACES[space].finite else found


def number_in(env: Env, value: Value, space: str, span: Span) -> Value:
    """Convert a number to a space that holds it; a static number of that kind stays as it is."""
    if is_data(value):
        return NodeValue(in_spaces(value.node, (space,)))
    alike = kind_of(space_of(value)) == kind_of(space)
    return value if alike else static_in(env, value, space, span)


def _convert_tol(env: Env, value: Value, space: str, span: Span) -> Value:
    """Convert a static ToL: lay it out in the other space, or convert its entries on access."""
    if isinstance(value, NodeValue):
        return as_static(env, Convert(value.node, with_spaces(value.node.type, (space,)), span=span))

    def entry(here: Env, at: tuple[Value, ...]) -> Value:
        return plain(static_in(here, element(here, value, at, span, checked=True), space, span))

    return View(shape_of(env, value, span), entry, True, kind_of(space))


def _convert_number(env: Env, value: Value, space: str, span: Span) -> Value:
    if isinstance(value, Vec):
        items = tuple(_convert_number(env, plain(item), space, span) for item in value.items)
        return Vec(value.shape, items, value.loose)
    kind = kind_of(space)
    match value:
        case NodeValue(node=node):
            return NodeValue(Convert(node, with_spaces(node.type, (space,)), span=span), static=True)
        case Poly() if kind == "R":
            return Fraction(value.constant) if value.constant is not None else Quotient(value, const(1))
        case Fraction() | Quotient() | float() if kind == "Z":
            return _round_real(env, value, space, span)
        case _ if isinstance(value, Cond) and kind in "ZR":
            return _convert_number(env, indicator(value), space, span) if kind == "R" else indicator(value)
        case _ if kind == "B" and not isinstance(value, Cond):
            return truth(value) or value
        case _ if kind == "C":
            return _convert_to_complex(env, value, space, span)
        case _:
            return value


def _round_real(env: Env, value: Fraction | Quotient | float, space: str, span: Span) -> Value:
    """Round a static real; the rounding of a formula is left to a run."""
    if isinstance(value, float):
        return const(round(value)) if math.isfinite(value) else value
    whole = apply(env, "round", (value,), span)
    return _convert_number(env, whole, space, span) if isinstance(whole, NodeValue) else whole


def _convert_to_complex(env: Env, value: Value, space: str, span: Span) -> Value:
    """Convert a number to complex if it is known: the root of -1 is not a real number."""
    number = value.constant if isinstance(value, Poly) else value
    if isinstance(number, (int, float, Fraction)):
        return complex(number)
    return NodeValue(in_spaces(emit(env, value, span), (space,)), static=True)
