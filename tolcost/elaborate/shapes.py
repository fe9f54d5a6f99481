"""Shapes and elements of values, and turning a value into a node of the IR."""

from __future__ import annotations

from fractions import Fraction

from tolcost.algebra import Cond, Poly, const, to_text
from tolcost.diagnostics import Span
from tolcost.elaborate.context import Env, fail
from tolcost.elaborate.lengths import settle
from tolcost.elaborate.values import (
    Cast,
    Data,
    Missing,
    Opaque,
    Pieces,
    Ratio,
    Results,
    Seq,
    Value,
    Vec,
    View,
    is_function,
    is_static,
)
from tolcost.spaces import join_spaces

Shape = tuple[Poly, ...]


def cast_of(value: Value) -> str | None:
    """The finite space a static value came in, if it did."""
    while isinstance(value, Results):
        value = value.items[0]
    return value.space if isinstance(value, Cast) else None


def recast(value: Value, space: str | None) -> Value:
    """A static value made from one that came in a space, in that space; anything else as it is."""
    if space is None or not isinstance(value, (Poly, Cond, Fraction, float, complex, Ratio, Vec, View)):
        return value
    return Cast(value, space) if is_static(value) else value


def entry(value: Value) -> Value:
    """A coordinate vector of one entry stands for the entry where a number is wanted."""
    if isinstance(value, Cast):
        return recast(entry(value.value), value.space)
    value = first(value)
    if isinstance(value, Vec) and value.loose and value.shape == (1,):
        return value.items[0]
    return value


def first(value: Value) -> Value:
    """The value to compute with: the first of several results, whatever space it is to come out in."""
    while True:
        if isinstance(value, Cast):
            value = value.value
        elif isinstance(value, Results):
            value = value.items[0]
        else:
            return value


def shape_of(env: Env, value: Value, span: Span) -> Shape:
    """The lengths of a value; ``()`` for a numeric."""
    match value:
        case Poly():
            return ()
        case Vec(shape=shape):
            return tuple([const(d) for d in shape])
        case View(shape=shape):
            return _settled(env, shape)
        case Data(node=node):
            return _settled(env, node.type[0].shape)
        case Pieces(items=items):
            return shape_of(env, items[0], span)
        case Cast(value=inner):
            return shape_of(env, inner, span)
        case Seq(items=items):
            return (const(len(items)),)
        case Missing(name=name):
            fail(
                "T0401",
                f"`{name}` is optional and was not given",
                span,
                hint=f"guard its use: where(given({name}), ..., ...)",
            )
        case _ if is_function(value):
            fail("T0402", "a function stands where a value is needed", span)
        case _:
            return ()


def _settled(env: Env, shape: Shape) -> Shape:
    return tuple([settle(env.context, d) for d in shape]) if env.context.notes.equal else shape


def space_of(value: Value) -> str:
    """The space of a value's (first) elements; static numerics have the smallest that holds them."""
    match value:
        case Data(node=node):
            return node.type[0].space
        case View(space=space) | Opaque(space=space) | Cast(space=space):
            return space
        case Vec(items=items) | Pieces(items=items):
            spaces = [space_of(item) for item in items] or ["Z"]
            joined = spaces[0]
            for space in spaces[1:]:
                joined = join_spaces(joined, space)
            return joined
        case Poly():
            return "Z"
        case Fraction() | float() | Ratio():
            return "R"
        case complex():
            return "C"
        case str():
            return "S"
        case _ if isinstance(value, Cond):
            return "B"
        case _:
            return "Z"


def known(shape: Shape) -> tuple[int, ...] | None:
    """The lengths as numbers, if all are."""
    numbers = tuple(d.constant for d in shape)
    return None if any(n is None for n in numbers) else numbers  # type: ignore[return-value]


def volume(shape: Shape) -> Poly:
    """How many elements a shape has."""
    product = const(1)
    for d in shape:
        product = product * d
    return product


def shape_text(shape: Shape) -> str:
    """A shape as a person would write it."""
    return "[" + ", ".join(to_text(d) for d in shape) + "]"
