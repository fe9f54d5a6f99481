"""Quotients of whole numbers, exact until they are rounded.

A run keeps reals in 64 bits, which hold no whole number beyond 2^53 for sure.  So a quotient whose
rounding they could not tell is kept as a fraction of Python's, and what becomes of it by ``floor``,
``ceil``, ``round`` and ``trunc`` as an integer of Python's: an array of objects.  Such an array goes
where one of floats would; to any other function, and in an output, it is the nearest floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TypeAlias

import numpy as np

from tolcost.execute.dtypes import DTYPES, Array, convert, is_exact, is_narrow, is_unbounded
from tolcost.execute.whole_numbers import ENDLESS
from tolcost.spaces import kind_of

_SURE = 2**52
"""Where a dividend is below this, floats tell on which side of a whole number or a half a quotient lies."""

_Exact: TypeAlias = "int | float | Fraction"

_ROUNDINGS: Mapping[str, Callable[[_Exact], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
}


def exact_result(function: str, space: str, args: Sequence[Array]) -> Array | None:
    """Give what a function makes of whole numbers or quotients where floats would not do, else None.

    >>> quotient = exact_result("div", "R", [np.array([2**62 + 1]), np.array([1])])
    >>> exact_result("trunc", "R", [quotient]).tolist() == [2**62 + 1]
    True
    >>> exact_result("div", "R", [np.array([7]), np.array([2])])
    """
    if not divides_or_rounds(function, space):
        return None
    if function == "div":
        return _divided(*args)
    if not is_exact(args[0]):
        return None
    return _each(lambda number: _rounded(number, _ROUNDINGS[function]), *args)


@cache
def divides_or_rounds(function: str, space: str) -> bool:
    """Tell whether a function is one that may have to be exact where floats are not."""
    return (function == "div" or function in _ROUNDINGS) and is_unbounded(space)


def is_held(data: Array, space: str) -> bool:
    """Tell whether values are kept as those of a space are; as a rule they are that already."""
    return data.dtype == DTYPES[space] and not is_exact(data)


def in_space(data: Array, space: str) -> Array:
    """Give values of a run in another space: reals without bounds stay as exact as they are.

    What no array of whole numbers holds wraps around; ``unheld`` tells of it.
    """
    if not is_exact(data):
        return convert(data, space)
    if is_unbounded(space):
        return data
    if kind_of(space) == "S":
        return convert(data.astype(np.float64), space)
    return convert(data, "int64" if space in ENDLESS else space)


def _divided(dividend: Array, divisor: Array) -> Array | None:
    wide = dividend.dtype.kind in "iu" and dividend.dtype.itemsize == 8
    if not (wide or is_exact(dividend)) or not (np.abs(dividend.astype(np.float64)) >= _SURE).any():
        return None
    return _each(_quotient, dividend, divisor)


def _each(function: Callable[..., _Exact], *args: Array) -> Array:
    objects = [convert(arg, "R") if is_narrow(arg.dtype) else arg for arg in args]
    made = np.frompyfunc(function, len(args), 1)(*(arg.astype(np.object_) for arg in objects))
    return np.asarray(made, np.object_)


def _quotient(dividend: _Exact, divisor: _Exact) -> _Exact:
    """Divide exactly what is too large to be divided as floats; a static divisor comes as a float."""
    if -_SURE < dividend < _SURE or isinstance(dividend, float) or not (_whole(dividend) and _whole(divisor)):
        return float(np.true_divide(np.float64(dividend), np.float64(divisor)))
    return Fraction(int(dividend), int(divisor))


def _whole(number: _Exact) -> bool:
    """Tell whether a number is whole and not 0."""
    if isinstance(number, float):
        return number != 0 and number.is_integer()
    return number != 0 and number.denominator == 1


def _rounded(number: _Exact, how: Callable[[_Exact], int]) -> _Exact:
    """Round a number; what is none stays, and so does the sign of 0."""
    return how(number) or math.copysign(0.0, number) if math.isfinite(number) else number
