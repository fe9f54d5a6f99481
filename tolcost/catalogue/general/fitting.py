"""The combination of some quantities that another one is, at all points that are known of it: exactly.

Quantities are columns of integers, simple ones first.  Of columns that depend on one another the first are
kept, so that what they come to is told by the simplest there are.  The work is done modulo a prime; what
comes out is checked in integers by whoever asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tolcost.catalogue.types import Array

PRIME = 2_147_483_629
_LARGEST = 20_000
"""No numerator or denominator of a coefficient is larger: what a residue stands for would not be certain."""


def residues(values: Sequence[int]) -> Array:
    """A column of integers as it is worked with."""
    return np.array([value % PRIME for value in values], np.int64)


def combination(columns: Sequence[Array], target: Array) -> dict[int, Fraction] | None:
    """The coefficients, by the number of the column, with which columns come to the target; None if none do.

    >>> columns = [residues(column) for column in ([1, 1, 1], [2, 3, 5], [4, 6, 10])]
    >>> {column: str(factor) for column, factor in combination(columns, residues([5, 7, 11])).items()}
    {0: '1', 1: '2'}
    """
    rows = np.column_stack([*columns, target])
    last = len(columns)
    pivots: list[int] = []
    for column in range(last):
        height = len(pivots)
        below = np.flatnonzero(rows[height:, column])
        if not below.size:
            continue
        if height + 1 >= len(rows):
            return None  # as many unknowns as there are points: anything would fit
        _eliminate(rows, height, height + int(below[0]), column)
        pivots.append(column)
    if np.any(rows[len(pivots) :, last]):
        return None
    found = {column: _fraction(int(rows[n, last])) for n, column in enumerate(pivots)}
    told = {column: factor for column, factor in found.items() if factor is not None}
    return {column: factor for column, factor in told.items() if factor} if len(told) == len(found) else None


def _eliminate(rows: Array, to: int, pivot: int, column: int) -> None:
    """Bring a row to its place, with 1 in a column, and 0 there in all others."""
    if pivot != to:
        rows[[to, pivot]] = rows[[pivot, to]]
    rows[to] = rows[to] * pow(int(rows[to, column]), -1, PRIME) % PRIME
    others = np.flatnonzero(rows[:, column])
    others = others[others != to]
    rows[others] = (rows[others] - rows[others, column, None] * rows[to]) % PRIME


def _fraction(residue: int) -> Fraction | None:
    """The small fraction that a residue stands for.

    >>> str(_fraction(3 * pow(2, -1, PRIME) % PRIME)), str(_fraction(PRIME - 4))
    ('3/2', '-4')
    """
    above, below, x, y = PRIME, residue, 0, 1
    while below > _LARGEST:
        quotient = above // below
        above, below, x, y = below, above - quotient * below, y, x - quotient * y
    return Fraction(below, y) if 0 < abs(y) <= _LARGEST else None
