"""Spaces as the oracle has them: which one a function computes in, and what a number becomes in one.

Written from the language reference, with nothing of the compiler's: the machine types that random programs
use, and of the others the four families and the natural numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import isfinite
from typing import Any

import ml_dtypes
import numpy as np

BITS = {
    "int8": 8, "uint8": 8, "int16": 16, "uint16": 16, "int32": 32, "int64": 64,
    "float16": 16, "bfloat16": 16, "float32": 32, "float64": 64,
}  # fmt: skip
FAMILIES = "BZRC"
_FLOATS = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32}
_STAYS_NATURAL = {"add", "mul", "mod", "max", "min", "sqr", "abs", "sgn", "floor", "round"}
_TRUTHS = {"eq", "ineq", "lt", "le", "gt", "ge"}
_REALS = {"div", "exp", "sin", "cos", "tanh", "atan", "sqrt"}
_COUNTS = {"add", "sub", "mul", "mod", "neg", "sqr"}
ROUNDING = {"floor", "round", "ceil", "trunc", "sgn"}
KEEPS_WHOLE = {"add", "sub", "mul", "neg", "abs", "sqr", "max", "min", "mod"}


class Unknown(Exception):
    """Something only types could tell: what an empty ToL would hold; or nobody does."""


def family(space: str) -> str:
    """Truths, whole numbers, reals or complex ones."""
    if "float" in space:
        return "R"
    return "Z" if "int" in space or space == "N" else space


def smallest(value: object) -> str:
    """The space of a number that was told none."""
    return {bool: "B", int: "Z", float: "R", complex: "C", str: "S"}[type(value)]


def wider(one: str, other: str) -> str:
    """The space that holds the numbers of both."""
    a, b = family(one), family(other)
    if one == other or a != b:
        return max(one, other, key=lambda space: FAMILIES.index(family(space)))
    if one in BITS and other in BITS:
        if a == "Z":
            return str(np.promote_types(one, other))
        return "float32" if BITS[one] == BITS[other] else max(one, other, key=lambda space: BITS[space])
    if one in BITS or other in BITS:
        return one if one in BITS else other
    return a


def widest(spaces: Iterable[str]) -> str:
    """The space that holds the numbers of all."""
    found = ""
    for space in spaces:
        found = wider(found, space) if found else space
    return found


def computed_in(name: str, data: list[str], statics: list[str]) -> str:
    """Where a function computes: in the space of its data, wider only if a number is of a larger family.

    Where nothing is data, machine types among the numbers come first.
    """
    told = [space for space in statics if space in BITS]
    domain = widest(data or told or statics)
    for space in statics:
        if FAMILIES.index(family(space)) > FAMILIES.index(family(domain)):
            domain = wider(domain, space)
    if name in _REALS and family(domain) in "BZ":
        return "R"
    return "Z" if name in _COUNTS and domain == "B" else domain


def given_in(name: str, domain: str) -> str:
    """The space of what a function gives that computes in one."""
    if name in _TRUTHS:
        return "B"
    if name == "abs" and domain == "C":
        return "R"
    return "Z" if domain == "N" and name not in _STAYS_NATURAL else domain


def settled(value: Any, space: str) -> Any:
    """A number as one of a space: rounded, half to even, or wrapped around."""
    match family(space):
        case "B":
            return bool(value)
        case "Z" | "R" if isinstance(value, complex):
            raise Unknown("what is real of a complex number")
        case "Z":
            if not isfinite(value):
                raise Unknown("what a machine makes of no number")
            return _wrapped(round(value), space)
        case "R":
            return _rounded(float(value), space)
        case "C":
            return complex(value)
    return value


def _wrapped(value: int, space: str) -> int:
    bits = BITS.get(space)
    if bits is None:
        return value
    value %= 2**bits
    return value - 2**bits if not space.startswith("u") and value >= 2 ** (bits - 1) else value


def _rounded(value: float, space: str) -> float:
    kept = _FLOATS.get(space)
    with np.errstate(over="ignore"):
        return value if kept is None else float(np.asarray(value).astype(kept))


def bits_as(value: Any, old: str, new: str) -> Any:
    """The bits of a number read as one of another space."""
    kinds = {name: np.dtype(_FLOATS.get(name, name)) for name in (old, new)}
    found = np.asarray(value).astype(kinds[old]).view(kinds[new])
    return float(found) if family(new) == "R" else int(found)


def is_whole(value: Any) -> bool:
    """Whether a number is a whole one, or none at all."""
    return not isinstance(value, float) or not isfinite(value) or Fraction(value).denominator == 1
