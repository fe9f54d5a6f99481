"""Unbounded whole numbers in 64-bit arrays, and their quotients: exact, or a fault.

Machine types wrap around, as everywhere.  ``Z`` and its subspaces do not: a number that no array can hold
would silently become another number.  Single numbers are computed as Python's integers.  For whole arrays, an
estimate in floats is faster, and Python computes only the elements near the limit.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import isfinite
from typing import TypeAlias

import numpy as np

from tolcost.execute.dtypes import (
    DTYPES,
    Array,
    convert,
    is_complex,
    is_exact,
    is_narrow,
    is_real,
    is_unbounded,
)
from tolcost.spaces import SPACES, kind_of

TOO_LARGE, NOT_WHOLE = 1, 2
"""The errors of an element, apart from 0 for none."""

ENDLESS = frozenset(name for name, space in SPACES.items() if space.kind == "Z" and not space.finite)
"""The spaces of whole numbers that do not wrap around."""

SURE = 2.0**62
"""Below this float estimate a number certainly fits 64 bits, whatever the rounding."""
_LIMIT = 2**63
"""The first whole number that int64 cannot hold."""


def verdict(number: int | None) -> int:
    """Return the error of a number, 0 for none; None stands for a missing number.

    >>> verdict(-(2**63)), verdict(2**63) == TOO_LARGE, verdict(None) == NOT_WHOLE
    (0, True, True)
    """
    if number is None:
        return NOT_WHOLE
    return 0 if -_LIMIT <= number < _LIMIT else TOO_LARGE


def _power(base: int, exponent: int) -> int | None:
    if exponent < 0:
        return (base if exponent % 2 else 1) if base in (1, -1) else None
    most = min(exponent, 64 + exponent % 2)  # beyond 64 bits, unless the base is 0, 1 or -1
    return int(base**most)


_EXACT: Mapping[str, Callable[..., int | None]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "abs": operator.abs,
    "sqr": lambda x: x * x,
    "pow": _power,
    "shl": lambda x, by: None if by < 0 else x << min(by, 64),
    "shr": lambda x, by: None if by < 0 else x >> min(by, 64),
    "mod": lambda x, y: x % y if y else None,
    "fmod": lambda x, y: abs(x) % abs(y) * (1 if x > 0 else -1) if y else None,
}
"""Functions that may exceed 64 bits, or have no whole result (None)."""


@cache
def exactly(function: str, space: str, result: str) -> Callable[..., int | None] | None:
    """Return the exact version of a function on unbounded whole numbers; None if no error is possible."""
    return _EXACT.get(function) if space in ENDLESS and result in ENDLESS else None


_SIZES: Mapping[str, Callable[..., Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "neg": np.negative,
    "abs": np.abs,
    "sqr": np.square,
    "pow": lambda x, y: np.where(y < 0, np.inf, np.power(x, y)),
    "shl": lambda x, by: np.where(by < 0, np.inf, x * np.exp2(np.minimum(by, 64))),
    "shr": lambda x, by: np.where(by < 0, np.inf, 0.0 * x),
    "mod": lambda x, y: np.where(y == 0, np.inf, 0.0 * x),
    "fmod": lambda x, y: np.where(y == 0, np.inf, 0.0 * x),
}
"""Estimates of the size of results, as floats; infinite where there may be no result."""


def verdicts(function: str, args: Sequence[Array]) -> Array | None:
    """Return the error of each result of a function on whole numbers; None if there is none.

    >>> verdicts("add", [np.array([1, 2**62]), np.array(2**62)]).tolist() == [0, TOO_LARGE]
    True
    """
    about = np.abs(_SIZES[function](*(arg.astype(np.float64) for arg in args)))
    near = ~(about < SURE)
    if not near.any():
        return None
    columns = (np.broadcast_to(arg, near.shape)[near].tolist() for arg in args)
    found = np.zeros(near.shape, np.int8)
    found[near] = [verdict(_EXACT[function](*numbers)) for numbers in zip(*columns, strict=True)]
    return found if found.any() else None


def unheld(data: Array) -> Array | None:
    """Return the errors of numbers that are converted to whole numbers; None if there is none.

    >>> unheld(np.array([1e18, 1e19, np.nan])).tolist() == [0, TOO_LARGE, NOT_WHOLE]
    True
    """
    if is_exact(data):
        whole = (round(number) if isfinite(number) else None for number in data.flat)
        found = np.array([*map(verdict, whole)], np.int8).reshape(data.shape)
    elif data.dtype == np.uint64:
        found = np.where(data >= np.uint64(_LIMIT), TOO_LARGE, 0)
    elif is_real(data.dtype) or is_complex(data.dtype):
        numbers = (data.real if is_complex(data.dtype) else data).astype(np.float64)
        fits = np.where((numbers >= -_LIMIT) & (numbers < _LIMIT), 0, TOO_LARGE)
        found = np.where(np.isfinite(numbers), fits, NOT_WHOLE)
    else:
        return None
    return found if found.any() else None


def sizes(data: Array) -> Array:
    """Return absolute values as floats, at least 1, so that no factor shrinks a product."""
    return np.maximum(np.abs(data.astype(np.float64)), 1.0)


def grows(function: str, space: str) -> bool:
    """Whether a fold of a function may exceed 64 bits, in a space that does not wrap around."""
    return function in ("add", "sub", "mul") and space in ENDLESS


# === Quotients of whole numbers, exact until they are rounded.
#
# A run stores reals in 64 bits, which do not represent every whole number beyond 2^53.  A quotient whose
# rounding they could not decide is therefore stored as a Python ``Fraction``, and the result of ``floor``,
# ``ceil``, ``round`` or ``trunc`` on it as a Python integer: an array of objects.  Such an array may stand
# wherever one of floats may; any other function, and an output, converts it to the nearest floats.


_SURE = 2**52
"""Below this dividend, floats decide on which side of a whole number or a half a quotient lies."""

_Exact: TypeAlias = "int | float | Fraction"

_ROUNDINGS: Mapping[str, Callable[[_Exact], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
}


def exact_result(function: str, space: str, args: Sequence[Array]) -> Array | None:
    """Return the exact result of a division or rounding where floats would not do, else None.

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
    """Whether a function is a division or a rounding of unbounded reals."""
    return (function == "div" or function in _ROUNDINGS) and is_unbounded(space)


def is_held(data: Array, space: str) -> bool:
    """Whether values are stored in the element type of a space, which is the usual case."""
    return data.dtype == DTYPES[space] and not is_exact(data)


def in_space(data: Array, space: str) -> Array:
    """Convert values of a run to another space; unbounded reals stay exact.

    Numbers beyond 64 bits wrap around; ``unheld`` reports them.
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
    """Divide exactly where floats are not enough; a static divisor arrives as a float."""
    if -_SURE < dividend < _SURE or isinstance(dividend, float) or not (_whole(dividend) and _whole(divisor)):
        return float(np.true_divide(np.float64(dividend), np.float64(divisor)))
    return Fraction(int(dividend), int(divisor))


def _whole(number: _Exact) -> bool:
    """Whether a number is whole and not 0."""
    if isinstance(number, float):
        return number != 0 and number.is_integer()
    return number != 0 and number.denominator == 1


def _rounded(number: _Exact, how: Callable[[_Exact], int]) -> _Exact:
    """Round a number; infinities and NaN stay, and so does the sign of 0."""
    return how(number) or math.copysign(0.0, number) if math.isfinite(number) else number
