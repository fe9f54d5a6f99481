"""The combination of some quantities that another one is, at all points that are known of it: exactly.

Quantities are columns of integers, simple ones first.  A combination of one, two or three of them is looked
for among all that there are.  The work is done modulo a prime; what comes out is checked in integers by
whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from tolcost.catalogue.types import Array

PRIME = 2_147_483_629
_LARGEST = 20_000
"""No numerator or denominator of a coefficient is larger: what a residue stands for would not be certain."""


def residues(values: Sequence[int]) -> Array:
    """A column of integers as it is worked with."""
    return np.array([value % PRIME for value in values], np.int64)


Combination = dict[int, Fraction]


def shortest(
    columns: Sequence[Array], target: Array, accept: Callable[[Combination], bool] = bool
) -> Combination | None:
    """The combination of the fewest columns that comes to the target, of at most three; None if none does.

    Of several, the first that is accepted.

    >>> columns = [residues(column) for column in ([1, 1, 1, 1], [2, 3, 5, 7], [4, 9, 25, 49])]
    >>> {column: str(factor) for column, factor in shortest(columns, residues([5, 10, 26, 50])).items()}
    {0: '1', 2: '1'}
    """
    table = np.column_stack(columns)
    order = np.random.default_rng(5).permutation(len(target))  # neighbours are alike: far ones tell more
    telling = order[np.argsort(target[order] == 0, kind="stable")]  # where nothing is, nothing is told of one
    for terms, wide in _WIDEST.items():
        places = telling if terms == 1 else order
        for start in range(min(_STARTS, len(target) - terms)):
            found = _exactly(table[places, :wide], target[places], terms, start, accept)
            if found is not None:
                return found
    return None


_WIDEST = {1: 2000, 2: 240, 3: 32}
"""Among how many columns combinations of so many are looked for."""

_STARTS, _CHECKS = 4, 6


def _exactly(
    table: Array, wanted: Array, terms: int, start: int, accept: Callable[[Combination], bool]
) -> Combination | None:
    """A combination of exactly so many columns: solved at as many points, then held to the others."""
    chosen = np.array(list(combinations(range(table.shape[1]), terms)), np.int64).reshape(-1, terms)
    points = slice(start, start + terms)
    factors, chosen = _solved(table[points], wanted[points], chosen)
    for row in range(len(wanted)):
        if not len(chosen) or row >= _CHECKS:
            break
        holds = _sum(table[row][chosen] * factors % PRIME) == wanted[row]
        factors, chosen = factors[holds], chosen[holds]
    found: list[Combination] = []
    for some, which in zip(factors, chosen, strict=True):
        if np.all(_sum(table[:, which] * some % PRIME) == wanted):
            small = {int(n): _fraction(int(f)) for n, f in zip(which, some, strict=True)}
            found.append({n: factor for n, factor in small.items() if factor})
    whole = [one for one in found if all(factor.denominator == 1 for factor in one.values())]
    return next((one for one in (*whole, *found) if len(one) == terms and accept(one)), None)


def _sum(products: Array) -> Array:
    return np.asarray(products.sum(axis=-1) % PRIME)


def _solved(rows: Array, wanted: Array, chosen: Array) -> tuple[Array, Array]:
    """The factors that each choice of columns has at as many points, by Cramer's rule; where it has any."""
    matrix = rows[:, chosen]  # point, choice, column
    whole = _determinant(matrix)
    regular = whole != 0
    matrix, chosen, below = (
        matrix[:, regular],
        chosen[regular],
        residues([pow(int(one), -1, PRIME) for one in whole[regular]]),
    )
    factors = []
    for column in range(chosen.shape[1]):
        replaced = matrix.copy()
        replaced[:, :, column] = wanted[:, None]
        factors.append(_determinant(replaced) * below % PRIME)
    return np.stack(factors, axis=-1), chosen


def _determinant(matrix: Array) -> Array:
    """The determinants of matrices of up to three rows; the first axis is rows, the last columns."""
    if len(matrix) == 1:
        return np.asarray(matrix[0, :, 0])
    total = np.zeros(matrix.shape[1], np.int64)
    for column in range(len(matrix)):
        others = [n for n in range(len(matrix)) if n != column]
        term = matrix[0, :, column] * _determinant(matrix[1:][:, :, others]) % PRIME
        total = (total - term if column % 2 else total + term) % PRIME
    return total


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
