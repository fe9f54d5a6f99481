"""Primitives about shapes, spaces and lengths."""

from __future__ import annotations

import math
from fractions import Fraction

from tolcost.algebra import (
    FALSE,
    TRUE,
    Cond,
    Poly,
    atom,
    const,
    eq,
    exact_div,
    floordiv,
    indicator,
    length,
    mod,
    negate,
    symbols_of,
)
from tolcost.atoms.nodes import Convert, Part
from tolcost.diagnostics import Span
from tolcost.elaborate.constant_folding import truth
from tolcost.elaborate.context import Env, Misfit, fail
from tolcost.elaborate.evaluate import primitive
from tolcost.elaborate.indexing import capacity_of, integers
from tolcost.elaborate.layout import materialise
from tolcost.elaborate.shapes import decide, require, shape_of, space_of, unify, volume
from tolcost.elaborate.values import (
    Cast,
    Data,
    Opaque,
    Pieces,
    Quotient,
    Seq,
    Spaces,
    Value,
    Vec,
    View,
    is_static,
)
from tolcost.spaces import SPACES, kind_of


@primitive("shape", 1, 1)
def _shape(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    shape = shape_of(env, args[0], span)
    return Vec((len(shape),), shape, loose=True)


@primitive("dim", 1, 1)
def _dim(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    return const(len(shape_of(env, args[0], span)))


@primitive("capacity", 1, 1)
def _capacity(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    return const(capacity_of(env, args[0], span))


@primitive("vol", 1, 1)
def _vol(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    return volume(shape_of(env, args[0], span)) * capacity_of(env, args[0], span)


# ---- spaces ------------------------------------------------------------------------------


@primitive("space", 1, 1)
def _space(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    (value,) = args
    match value:
        case Data(node=node):
            return Spaces(tuple(p.space for p in node.type))
        case Pieces(items=items):
            return Spaces(tuple(space_of(item) for item in items))
        case Vec(items=items, shape=(_,)) if is_static(value) and len({space_of(i) for i in items}) > 1:
            return Spaces(tuple(_default_space(item) for item in items))
        case _:
            return Spaces((_default_space(value),))


def _default_space(value: Value) -> str:
    number = value.constant if isinstance(value, Poly) else None
    return "N" if number is not None and number > 0 else space_of(value)


@primitive("convert", 2, 2)
def _convert(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    value, target = args
    spaces = _space_names(target, span)
    if is_static(value) and len(spaces) == 1 and not isinstance(value, (Pieces, Opaque)):
        static = value if isinstance(value, View) else _convert_static(value, spaces[0])
        return Cast(static, spaces[0]) if SPACES[spaces[0]].finite else static
    node = materialise(env, value, span)
    if len(spaces) not in (1, len(node.type)):
        fail("T0409", f"{len(spaces)} spaces for a list of capacity {len(node.type)}", span)
    names = spaces * len(node.type) if len(spaces) == 1 else spaces
    converted = Convert(node, tuple(Part(p.shape, s) for p, s in zip(node.type, names, strict=True)))
    return Opaque(converted, names[0]) if isinstance(value, Opaque) else Data(converted)


def _space_names(target: Value, span: Span) -> tuple[str, ...]:
    if isinstance(target, Spaces):
        return target.names
    if isinstance(target, Vec) and all(isinstance(item, Spaces) for item in target.items):
        return tuple(name for item in target.items if isinstance(item, Spaces) for name in item.names)
    fail("T0410", "`convert` needs a space such as R or a list of spaces", span)


def _convert_static(value: Value, space: str) -> Value:
    if isinstance(value, Vec):
        return Vec(value.shape, tuple(_convert_static(item, space) for item in value.items), value.loose)
    kind = kind_of(space)
    if isinstance(value, Cond) and kind == "Z":
        return indicator(value)
    if kind == "B" and not isinstance(value, Cond):
        return truth(value) or value
    if isinstance(value, Poly) and kind == "R":
        return Fraction(value.constant) if value.constant is not None else Quotient(value, const(1))
    if isinstance(value, Fraction) and kind == "Z":
        return const(int(value))
    return value


@primitive("bitcast", 2, 2)
def _bitcast(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    """The same bits as elements of another space of the same width; free."""
    node = materialise(env, args[0], span)
    (target,) = _space_names(args[1], span)
    for part in node.type:
        if SPACES[part.space].bits is None or SPACES[part.space].bits != SPACES[target].bits:
            fail("T0415", f"{part.space} and {target} do not have the same number of bits", span)
    return Data(Convert(node, tuple(Part(p.shape, target) for p in node.type), bits=True))


@primitive("kind", 1, 1)
def _kind(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    return kind_of(_space_names(args[0], span)[0])


@primitive("lo", 1, 1)
def _lo(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    return _as_static(SPACES[_space_names(args[0], span)[0]].lo, -math.inf)


@primitive("hi", 1, 1)
def _hi(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    return _as_static(SPACES[_space_names(args[0], span)[0]].hi, math.inf)


def _as_static(bound: float | int | None, otherwise: float) -> Value:
    if bound is None:
        return otherwise
    return const(bound) if isinstance(bound, int) else Fraction(bound)


# ---- lengths -----------------------------------------------------------------------------


@primitive("exact", 2, 2)
def _exact(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    """``a / b`` where ``b`` is meant to divide ``a``: where it cannot be told, it is assumed and said."""
    (a,), (b,) = integers(env, args[0], span), integers(env, args[1], span)
    found = exact_div(a, b)
    if found is not None:
        return found
    if a.constant is not None and b.constant is not None:
        fail("T0321", f"{b.constant} does not divide {a.constant}", span, kind=Misfit, definite=True)
    symbols = symbols_of(a)
    if len(symbols) == 1 and atom(next(iter(symbols))) == a and next(iter(symbols)).kind == "length":
        symbol = next(iter(symbols))
        share = length(f"{symbol.name}_share")
        env.context.record(eq(a - b * share), "divides", "the length divides", span)
        env.context.adopt(symbol, b * share)
        return share
    require(env, eq(mod(a, b)), "the length divides", span, "the length does not divide", "divides")
    return floordiv(a, b)


@primitive("same", 2, 2)
def _same(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    left, right = integers(env, args[0], span), integers(env, args[1], span)
    if len(left) != len(right):
        fail("T0301", f"{len(left)} lengths against {len(right)}", span, kind=Misfit, definite=True)
    merged = tuple(
        unify(env, a, b, "`same` says that they are equal", span) for a, b in zip(left, right, strict=True)
    )
    return merged[0] if len(merged) == 1 else Vec((len(merged),), merged)


@primitive("apart", 2, 2)
def _apart(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    """Whether two lengths differ; where that is open they are taken to differ, and it is said."""
    (a,), (b,) = integers(env, args[0], span), integers(env, args[1], span)
    equal = decide(env, eq(a - b))
    if equal is TRUE or equal is FALSE:
        return negate(equal)
    env.context.record(negate(equal), "differ", "the lengths differ", span)
    return TRUE


@primitive("bdim", 2, 2)
def _bdim(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    (a,), (b,) = integers(env, args[0], span), integers(env, args[1], span)
    if a.constant == 1:
        return b
    return a if b.constant == 1 else unify(env, a, b, "broadcast lengths must agree", span)


@primitive("known", 1, 1)
def _known(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    """Whether a value is known while compiling."""
    return TRUE if is_static(args[0]) else FALSE


@primitive("isseq", 1, 1)
def _is_sequence(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    return TRUE if isinstance(args[0], Seq) else FALSE


@primitive("chars", 1, 1)
def _chars(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    (text,) = args
    if not isinstance(text, str):
        fail("T0411", "`chars` takes text", span)
    return Vec((len(text),), tuple(text))
