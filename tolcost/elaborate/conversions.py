"""What is static in another space: known numbers are converted while compiling, the others by a free node."""

from __future__ import annotations

import math
from fractions import Fraction

from tolcost.algebra import Cond, Poly, const, indicator
from tolcost.atoms.nodes import Convert
from tolcost.diagnostics import Span
from tolcost.elaborate.apply import apply
from tolcost.elaborate.context import Env
from tolcost.elaborate.layout import as_static, in_spaces, materialise, with_spaces
from tolcost.elaborate.machine_numbers import held
from tolcost.elaborate.shapes import space_of
from tolcost.elaborate.static_numbers import truth
from tolcost.elaborate.values import Opaque, Quotient, Value, Vec, View, plain, recast
from tolcost.spaces import SPACES, kind_of


def static_in(env: Env, value: Value, space: str, span: Span) -> Value:
    """A static value without components in another space; where that is a machine type, told so."""
    inner = plain(value)
    if isinstance(inner, View):
        found = _view(env, inner, space, span) if space != space_of(value) else inner
    else:
        found = held(env, _number(env, inner, space, span), space)
    return recast(found, space) if SPACES[space].finite else found


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
