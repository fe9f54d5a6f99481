"""Static numbers in machine types: integers wrap around, and reals are rounded, as they would in a run.

What is computed of static reals stays exact: they are rounded where they are converted to few bits, and
where they meet data.  Integers of many bits are taken to hold what lengths decide.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, isfinite

from tolcost.algebra import Poly, conj, const, ge, mod, prove
from tolcost.dataclass import replace
from tolcost.elaborate.context import Env
from tolcost.elaborate.shapes import facts_here
from tolcost.elaborate.values import Value, Vec, View, plain
from tolcost.spaces import SPACES, kind_of

_FEW_BITS = 16
"""Lengths may be larger than what so many bits hold."""

_FORMATS = {"float16": (11, -14, 15), "bfloat16": (8, -126, 127)}
"""How many digits a real has, and its least and largest exponent; those of more bits are told as written."""


def held(env: Env, value: Value, space: str) -> Value:
    """A static value as a machine type holds it; one that is no number yet stays as it is."""
    if not SPACES[space].finite:
        return value
    match value:
        case Vec(items=items):
            kept = tuple([held(env, item, space) for item in items])
            same = all(a is b for a, b in zip(kept, items, strict=True))
            return value if same else Vec(value.shape, kept, value.loose)
        case View(get=get, static=True, laid=None) if kind_of(space) == "Z":
            return replace(value, get=lambda here, at: held(here, plain(get(here, at)), space))
        case Poly() if kind_of(space) == "Z":
            return _wrapped(env, value, space)
        case Fraction() if space in _FORMATS:
            return rounded(value, *_FORMATS[space])
        case float() if space in _FORMATS and isfinite(value):
            return rounded(Fraction(value), *_FORMATS[space])
        case _:
            return value


def _wrapped(env: Env, value: Poly, space: str) -> Poly:
    """An integer as some bits hold it."""
    kept = SPACES[space]
    bits, low, high, number = kept.bits or 0, int(kept.lo or 0), int(kept.hi or 0), value.constant
    if number is not None:
        return value if low <= number <= high else const((number - low) % 2**bits + low)
    if bits > _FEW_BITS or prove(conj(ge(value - low), ge(high - value)), facts_here(env)) is True:
        return value
    return mod(value - low, const(2**bits)) + low


def rounded(value: Fraction, digits: int, least: int, most: int) -> Fraction | float:
    """The nearest number of so many binary digits, the even one of two; infinite beyond the largest exponent.

    >>> rounded(Fraction(1, 10), 11, -14, 15), rounded(Fraction(70000), 11, -14, 15)
    (Fraction(819, 8192), inf)
    """
    if not value:
        return value
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    unit = Fraction(2) ** (max(exponent, least) - digits + 1)
    found = round(value / unit) * unit
    return found if abs(found) < Fraction(2) ** (most + 1) else inf if found > 0 else -inf
