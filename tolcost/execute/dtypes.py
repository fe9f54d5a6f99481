"""Spaces as NumPy element types, and conversion of values between spaces.

Mathematical spaces are executed in the widest machine type of their family: integers in int64, reals in
float64, complex numbers in complex128.  Types narrower than NumPy's own come from ``ml_dtypes``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tolcost.diagnostics import Diagnostic, InternalError, Rejected, refuse
from tolcost.spaces import SPACES, kind_of

Array: TypeAlias = NDArray[Any]
"""An array of any element type, which is known only from the space stored beside it."""

Arrays: TypeAlias = Mapping[str, tuple[Array, ...]]
"""The arrays of each input, by component."""

_BY_KIND = {"B": np.bool_, "Z": np.int64, "R": np.float64, "C": np.complex128, "S": np.object_}
_NARROW = frozenset(name for name in SPACES if hasattr(ml_dtypes, name))

DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(getattr(ml_dtypes, name))
    if name in _NARROW
    else np.dtype(name if space.finite else _BY_KIND[space.kind])
    for name, space in SPACES.items()
}
"""The element type of every space."""


KEPT = "a run keeps whole numbers below 2^63: `convert` to R first to round them, to int64 to wrap around"
"""The hint for a number that is too large."""

HELD = 2**53
"""The largest N such that 64-bit floats represent every whole number up to N."""


def dtype_of(space: str) -> np.dtype[Any]:
    """Return the element type that values of a space are stored in.

    >>> dtype_of("R"), dtype_of("int4")
    (dtype('float64'), dtype(int4))
    """
    found = DTYPES.get(space)
    if found is None:
        raise InternalError(f"no such space: {space}")
    return found


def working_dtype(space: str) -> np.dtype[Any]:
    """Return the element type that functions compute in before rounding to the space.

    Narrow floats compute in float32 and narrow integers in int64, so each result is rounded once.
    """
    if space == "float16" or space in _NARROW:
        return np.dtype(np.float32 if kind_of(space) == "R" else np.int64)
    return dtype_of(space)


def convert(data: Array, space: str) -> Array:
    """Convert values to another space: rounded half to even, integers wrapped.

    >>> convert(np.array([2.5, -1.0]), "int8").tolist(), convert(np.array([300]), "uint8").tolist()
    ([2, -1], [44])
    """
    target = dtype_of(space)
    if data.dtype == target:
        return data
    if data.dtype == np.object_ or target == np.object_:
        return _through_objects(data, space, target)
    kind = kind_of(space)
    if is_complex(data.dtype) and kind != "C":
        data = data.real
    if kind == "B":
        return np.asarray(np.not_equal(data.astype(np.float32) if is_narrow(data.dtype) else data, 0))
    if kind == "Z" and is_real(data.dtype):
        return _rounded(data, target)
    if is_narrow(data.dtype) and is_narrow(target):
        data = data.astype(np.float32 if is_real(data.dtype) else np.int64)
    return np.asarray(data.astype(target))


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """Whether an element type comes from ``ml_dtypes``."""
    return dtype.isbuiltin != 1 and dtype.name in _NARROW  # ``isbuiltin`` first: looking up the name is slow


def is_real(dtype: np.dtype[Any]) -> bool:
    """Whether an element type is a floating-point type."""
    return dtype.kind == "f" or (is_narrow(dtype) and kind_of(dtype.name) == "R")


def is_unbounded(space: str) -> bool:
    """Whether a space is all reals, or all reals of a sign."""
    return kind_of(space) == "R" and not SPACES[space].finite


def is_exact(data: Array) -> bool:
    """Whether numbers are stored as Python integers of any size; texts are stored as objects, too."""
    return data.dtype == np.object_ and data.size > 0 and not isinstance(data.item(0), str)


def is_complex(dtype: np.dtype[Any]) -> bool:
    """Whether an element type is complex."""
    return dtype.kind == "c"


def _rounded(data: Array, target: np.dtype[Any]) -> Array:
    """Round to an integer type, modulo its range; NaN and infinities become 0.

    C leaves the conversion of a number beyond the type's range to the processor, so such numbers are reduced
    first: the remainder by a power of two is exact, and its magnitude fits uint64.
    """
    whole = np.rint(data.astype(np.float64))
    finite = np.isfinite(whole)
    rest = np.fmod(np.where(finite, whole, 0.0), 2.0**64)
    magnitude = np.abs(rest).astype(np.uint64)
    with np.errstate(over="ignore"):  # wrapping a negative number is intended
        wrapped = np.where(rest < 0, np.uint64(0) - magnitude, magnitude)
    return np.asarray(wrapped.astype(np.int64).astype(target))


def as_places(data: Array) -> Array:
    """Round numbers to coordinates; numbers outside every ToL stay out of range and never wrap into it.

    >>> as_places(np.array([2.0, 2.0**64 + 4096, np.nan])).tolist() == [2, 2**62, 0]
    True
    """
    if is_real(data.dtype) or is_exact(data):
        whole = np.nan_to_num(np.rint(data.astype(np.float64)), nan=0.0)
        return np.asarray(np.clip(whole, -(2.0**62), 2.0**62).astype(np.int64))
    return convert(np.minimum(data, np.uint64(2**62)) if data.dtype == np.uint64 else data, "Z")


def _through_objects(data: Array, space: str, target: np.dtype[Any]) -> Array:
    """Convert between Python objects (texts, or integers beyond int64) and an element type."""
    flat = data.reshape(-1).tolist()
    if target == np.object_:
        texts = [value if isinstance(value, str) else str(value) for value in data.reshape(-1)]
        return object_array(texts).reshape(data.shape)
    return np.array([number(_parsed(value), space) for value in flat], target).reshape(data.shape)


_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,1000}\s*", re.ASCII)


def _parsed(value: object) -> int | float | complex | Fraction:
    if isinstance(value, str):
        try:
            return int(value) if _WHOLE.fullmatch(value) else float(value)
        except ValueError:
            raise Rejected(Diagnostic("T0421", f"the text {value[:40]!r} is not a number")) from None
    if isinstance(value, int | float | complex | Fraction):
        return value
    raise InternalError(f"not a number: {type(value).__name__}")


def object_array(values: Sequence[object]) -> Array:
    """Return a one-dimensional array of objects."""
    made = np.empty(len(values), np.object_)
    made[:] = values
    return made


def same_bits(data: Array, space: str) -> Array:
    """Reinterpret the bits of an array as elements of another space of equal width.

    >>> same_bits(np.array([1.0], dtype=np.float32), "int32").tolist()
    [1065353216]
    """
    return np.ascontiguousarray(data).view(dtype_of(space)).reshape(data.shape)


def number(value: int | float | complex | Fraction | str, space: str) -> Array:
    """Return a static number as an array of rank 0 in a space.

    In a space of all reals, a whole number of at most 64 bits that floats may not represent stays an integer.

    >>> number(Fraction(1, 4), "float16"), number(-1, "uint8"), number(True, "B")
    (array(0.25, dtype=float16), array(255, dtype=uint8), array(True))
    >>> number(2**53 + 1, "R"), number(2**53 + 1, "float64")
    (array(9007199254740993, dtype=object), array(9.00719925e+15))
    """
    target = dtype_of(space)
    if target == np.object_:
        return object_array([str(value)])[0:1].reshape(())
    if isinstance(value, str):
        value = _parsed(value)
    match kind_of(space):
        case "B":
            return np.asarray(value != 0)
        case "Z":
            return _whole(value, space, target)
        case "R" if isinstance(value, int | Fraction) and _is_large(value) and is_unbounded(space):
            return np.asarray(int(value), np.object_)
        case "R":
            return _real(value, space)
        case _:
            return np.asarray(complex(value), target)


@lru_cache(maxsize=1 << 10, typed=True)
def whole_number(value: int, space: str) -> Array:
    """Return ``number`` of an integer or a truth value; the array is shared, and therefore read-only."""
    made = number(value, space)
    made.flags.writeable = False
    return made


def _is_large(value: int | Fraction) -> bool:
    """Whether a number is whole, fits 64 bits, and may not be representable as a float."""
    return value.denominator == 1 and HELD < abs(int(value)) < 2**64


def _real(value: int | float | complex | Fraction, space: str) -> Array:
    try:
        plain = float(value.real if isinstance(value, complex) else value)
    except OverflowError:
        plain = np.inf if value.real > 0 else -np.inf
    return convert(np.asarray(plain, np.float64), space)


def _whole(value: int | float | complex | Fraction, space: str, target: np.dtype[Any]) -> Array:
    bits = SPACES[space].bits
    if isinstance(value, complex | float):
        if bits is None and not isfinite(value.real):
            refuse("T0349", f"{value.real} is not in {space}")
        if bits is not None:
            return convert(np.asarray(value.real, np.float64), space)
        value = Fraction(value.real)
    exact = round(value)
    if bits is None:
        if not -(2**63) <= exact < 2**63:
            refuse("T0522", f"{shortened(exact)} is too large to execute with", hint=KEPT)
        return np.asarray(exact, target)
    wrapped = exact % 2**bits
    if SPACES[space].lo != 0 and wrapped >= 2 ** (bits - 1):
        wrapped -= 2**bits
    return np.asarray(wrapped).astype(target)


def numbers(values: Sequence[int | float | complex | Fraction | str], space: str) -> Array:
    """Return static numbers as a vector in a space.

    >>> numbers([1, 2**53 + 1], "R"), numbers([1, 2], "R")
    (array([1.0, 9007199254740993], dtype=object), array([1., 2.]))
    """
    return beside([number(value, space) for value in values], space)


def beside(entries: Sequence[Array], space: str) -> Array:
    """Return numbers of a space as a vector."""
    made = np.empty(len(entries), holding(space, entries))
    for k, entry in enumerate(entries):
        made[k] = entry.item() if made.dtype == np.object_ else entry[()]  # Python's own numbers
    return made


def holding(space: str, numbers: Sequence[Array]) -> np.dtype[Any]:
    """Return the element type for a vector of static numbers of a space."""
    return np.dtype(np.object_) if any(entry.dtype == np.object_ for entry in numbers) else dtype_of(space)


def shortened(value: int) -> str:
    """Format an integer; a very large one by its number of bits, without its digits."""
    return str(value) if value.bit_length() < 256 else f"an integer of {value.bit_length()} bits"
