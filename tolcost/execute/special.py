"""Two functions that NumPy lacks: the error function, and a random number that is a function.

``rand`` has no state.  Its value follows from its arguments and from where it stands (the
call and the coordinates around it), so every interpreter gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erf as scalar_erf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tolcost.execute.dtypes import Array

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def erf(x: Array) -> NDArray[np.float64]:
    """Give the error function, as exact as the C library's.

    >>> erf(np.array([0.0, 1.0])).round(6).tolist()
    [0.0, 0.842701]
    """
    values = np.asarray(x, np.float64)
    flat = map(scalar_erf, values.reshape(-1).tolist())
    return np.fromiter(flat, np.float64, values.size).reshape(values.shape)


def uniform(site: int, coordinates: Sequence[Array | int], args: Sequence[Array]) -> NDArray[np.float64]:
    """Give numbers in [0, 1) that depend on all of the call, the coordinates and the arguments.

    >>> bool(0 <= uniform(1, [3], []) < 1)
    True
    """
    state = _mixed(np.asarray(site, np.uint64))
    for coordinate in coordinates:
        state = _mixed(state ^ np.asarray(coordinate).astype(np.uint64))
    for arg in args:
        state = _mixed(state ^ _bits(arg))
    return np.asarray((state >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _bits(arg: Array) -> NDArray[np.uint64]:
    """Give the bit patterns of numbers; equal numbers of different types agree."""
    exact: NDArray[Any] = np.asarray(arg).astype(np.float64) + 0.0
    return exact.view(np.uint64)


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64 bits (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        state = np.asarray(state + _GOLDEN)
        state = np.asarray((state ^ (state >> np.uint64(30))) * _MIX_1)
        state = np.asarray((state ^ (state >> np.uint64(27))) * _MIX_2)
        return np.asarray(state ^ (state >> np.uint64(31)))
