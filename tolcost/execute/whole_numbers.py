"""Whole numbers without end in arrays of 64 bits: what a run makes of them is exact, or a fault.

Machine types wrap around, as they do everywhere.  ``Z`` and its subspaces do not: a number that no
array can hold would be another number without a word.  One at a time they are computed as Python's
integers.  For whole arrays floats tell sooner how large a result is, and Python only has to look where
that is near the limit.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from math import isfinite

import numpy as np

from tolcost.execute.dtypes import Array, is_complex, is_exact, is_real
from tolcost.spaces import SPACES

TOO_LARGE, NOT_WHOLE = 1, 2
"""What is the matter with an element, where something is."""

ENDLESS = frozenset(name for name, space in SPACES.items() if space.kind == "Z" and not space.finite)
"""The spaces of whole numbers that do not wrap around."""

SURE = 2.0**62
"""A number that floats find to be below this fits, however they rounded."""
_LIMIT = 2**63


def verdict(number: int | None) -> int:
    """Tell what is the matter with a number, None being none: 0 if nothing is.

    >>> verdict(-(2**63)), verdict(2**63) == TOO_LARGE, verdict(None) == NOT_WHOLE
    (0, True, True)
    """
    if number is None:
        return NOT_WHOLE
    return 0 if -_LIMIT <= number < _LIMIT else TOO_LARGE


def _power(base: int, exponent: int) -> int | None:
    if exponent < 0:
        return (base if exponent % 2 else 1) if base in (1, -1) else None
    most = min(exponent, 64 + exponent % 2)  # already beyond, unless it stays as it is
    return int(base**most)


def _shifted(number: int, by: int) -> int | None:
    return None if by < 0 else number << min(by, 64)


_EXACT: Mapping[str, Callable[..., int | None]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "abs": operator.abs,
    "sqr": lambda x: x * x,
    "pow": _power,
    "shl": _shifted,
    "shr": lambda x, by: None if by < 0 else x >> min(by, 64),
    "mod": lambda x, y: x % y if y else None,
    "fmod": lambda x, y: abs(x) % abs(y) * (1 if x > 0 else -1) if y else None,
}
"""What functions give that may leave 64 bits, or have no whole number to give (None)."""


@cache
def exactly(function: str, space: str, result: str) -> Callable[..., int | None] | None:
    """Give what a function makes of whole numbers without end; None if it cannot go wrong."""
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
"""About how large the results of functions are, as floats; infinite where there may be none."""


def verdicts(function: str, args: Sequence[Array]) -> Array | None:
    """Tell what is the matter with each result of a function of whole numbers; None if nothing is.

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
    """Tell what is the matter with numbers that are to become whole ones; None if nothing is.

    >>> unheld(np.array([1e18, 1e19, np.nan])).tolist() == [0, TOO_LARGE, NOT_WHOLE]
    True
    """
    if is_exact(data):
        found = np.array([_held(number) for number in data.flat], np.int8).reshape(data.shape)
    elif data.dtype == np.uint64:
        found = np.where(data >= np.uint64(_LIMIT), TOO_LARGE, 0)
    elif is_real(data.dtype) or is_complex(data.dtype):
        numbers = (data.real if is_complex(data.dtype) else data).astype(np.float64)
        fits = np.where((numbers >= -_LIMIT) & (numbers < _LIMIT), 0, TOO_LARGE)
        found = np.where(np.isfinite(numbers), fits, NOT_WHOLE)
    else:
        return None
    return found if found.any() else None


def _held(number: int | float | Fraction) -> int:
    return verdict(round(number) if isfinite(number) else None)


def sizes(data: Array) -> Array:
    """Give the sizes of whole numbers as floats, 1 at the least: no factor takes a product back."""
    return np.maximum(np.abs(data.astype(np.float64)), 1.0)


def grows(function: str, space: str) -> bool:
    """Tell whether a fold of a function may leave 64 bits, and that matters."""
    return function in ("add", "sub", "mul") and space in ENDLESS
