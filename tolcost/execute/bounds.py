"""The values that an input may have: what is given is checked, and random ones are drawn."""

from __future__ import annotations

import numpy as np

from tolcost.atoms.nodes import Input, Part
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.execute.dtypes import Array, convert, dtype_of, shortened
from tolcost.execute.values import beyond, check_size
from tolcost.execute.whole_numbers import ENDLESS, TOO_LARGE, unheld, verdict
from tolcost.spaces import ALL, SPACES, Bounds, bounded_text, bounds_of, narrowed

_FEW = 8
"""Random integers are this small, so that they can be looked at."""


def declared_bounds(needed: Input) -> tuple[Bounds, ...]:
    """Give the bounds that the program declares for the components of an input."""
    return needed.within or (ALL,) * len(needed.type)


def outside_of_space(needed: Input, arrays: tuple[Array, ...]) -> Diagnostic | None:
    """Say what is given that lies outside of its space, or of the bounds that the program declares."""
    for array, part, bounds in zip(arrays, needed.type, declared_bounds(needed), strict=True):
        large = _too_large(array, part.space)
        if large is not None:
            text = f"{shortened(large)} is given for {quoted(needed.name)}, and is too large to execute with"
            hint = "a run keeps whole numbers below 2^63; an input in R is rounded"
            return Diagnostic("T0522", text, hint=hint)
        wrong = _wrong(array, part.space, bounds)
        if wrong is not None and wrong.any():
            number = array[wrong][0]
            space = bounded_text(part.space, bounds)
            return Diagnostic("T0349", f"{number} is given for {quoted(needed.name)}, and is not in {space}")
    return None


def _too_large(array: Array, space: str) -> int | None:
    """Give a number that is in a space, but that no array of it holds."""
    if space not in ENDLESS:
        return None
    if array.dtype == np.object_:
        return next((number for number in array.reshape(-1).tolist() if verdict(number)), None)
    wrong = unheld(array)
    return None if wrong is None or TOO_LARGE not in wrong else int(array[wrong == TOO_LARGE].reshape(-1)[0])


def _wrong(array: Array, space: str, bounds: Bounds) -> Array | None:
    """Tell of each element whether it is no value of a space; None where none can be."""
    known = SPACES[space]
    if known.kind == "B" and array.dtype.kind in "iufO":
        return np.asarray((array != 0) & (array != 1))
    typed = known.finite and array.dtype == dtype_of(space) and bounds is ALL
    if typed or known.kind not in "ZR" or array.dtype.kind not in "biufO":
        return None
    own = Bounds(known.lo, known.hi) if known.finite and known.kind == "Z" else bounds_of(space)
    wrong = beyond(array, narrowed(own, bounds))
    if known.kind == "Z" and array.dtype.kind == "f":
        wrong = np.logical_or(wrong, ~np.isfinite(array) | (array != np.rint(array)))
    return wrong


def random_values(
    part: Part, shape: tuple[int, ...], bounds: Bounds, rng: np.random.Generator, name: str
) -> Array:
    """Draw values of a space within bounds."""
    check_size(shape)
    space = SPACES[part.space]
    limits = narrowed(Bounds(space.lo, space.hi, space.zero), bounds)
    match space.kind:
        case "B":
            return rng.integers(0, 2, shape).astype(np.bool_)
        case "Z":
            first, last = (int(end) for end in _ends(limits, _FEW))
            drawn = np.asarray(rng.integers(first, last + 1, shape))
            return convert(drawn if limits.zero else np.where(drawn == 0, 1, drawn), part.space)
        case "R":
            return convert(np.asarray(rng.uniform(*_ends(limits, 1.0), shape)), part.space)
        case "C":
            return np.asarray(
                rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape), dtype_of(part.space)
            )
        case "S":
            raise Rejected(Diagnostic("T0340", f"no value was given for the texts {quoted(name)}"))


def _ends(limits: Bounds, few: float) -> tuple[float, float]:
    """Small numbers around 0 if they are allowed, and otherwise those next to a bound."""
    low = -few if limits.lo is None else max(-few, float(limits.lo))
    high = few if limits.hi is None else min(few, float(limits.hi))
    if low <= high:
        return low, high
    if limits.lo is not None and low > few:
        return low, low + few if limits.hi is None else min(low + few, float(limits.hi))
    return high - few if limits.lo is None else max(high - few, float(limits.lo)), high
