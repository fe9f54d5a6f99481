"""Linear arithmetic: whether a polynomial stays above -1 because of what is known, by elimination.

A product of generators counts as one unknown.  To show a goal, it is assumed to be at most -1, and the
unknowns are removed one after the other: each lower bound of one is held against each of its upper bounds
(Fourier and Motzkin).  Where a number that would have to be at least 0 comes out negative, the assumption
was wrong.  A clip is split into its two cases; of a logarithm or a power a few chords are known, so that
``n*log(n)`` is below ``n**2``.  Where all is linear, what is not shown here is not shown by
``prove`` either, whose other means are for products and floors.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import gcd, prod
from typing import TypeAlias

from tolcost.algebra.effort import spend
from tolcost.algebra.floors import numerator_range, range_of
from tolcost.algebra.poly import (
    Exponential,
    Floor,
    Log2,
    Monomial,
    Poly,
    Relu,
    Symbol,
    atom,
    only_symbol,
    poly,
)

_MOST_UNKNOWNS = 16
_MOST_CLIPS = 3
_MOST_PAIRS = 200
_PAIRS_LIKE_A_TERM = 8
"""So many pairs take as long as one term of a goal."""
_CHORDS = (0, 1, 2)
"""A power is above its chord from ``k`` to ``k + 1``, and a logarithm below the one that mirrors it."""
_LARGEST = 1 << 64
"""Factors that are larger than this, taken from step to step, would grow beyond measure."""

Coefficients: TypeAlias = tuple[int, ...]
Rows: TypeAlias = dict[Coefficients, int]
"""Sums that are at least 0: a factor for each unknown, and the least number that is added to them."""


def follows(goal: Poly, known: Iterable[Poly]) -> bool | None:
    """Whether a goal is above -1 wherever the known ones are at least 0; ``None`` where that is left open.

    >>> from tolcost.algebra.poly import coordinate, length
    >>> n = length("n"); i = coordinate("i", n); j = coordinate("j", n - i)
    >>> follows(n - i - j, ()), follows(n - i - j - 1, ()), follows(n*n - n, ())
    (True, False, None)
    """
    system = _System([-goal - 1, *known])
    if len(system.columns) > _MOST_UNKNOWNS:
        return None
    for above in product((True, False), repeat=len(system.clips)):
        sides = [side for clip, way in zip(system.clips, above, strict=True) for side in _side(clip, way)]
        contradictory = _contradictory(system.rows((*system.told, *sides)))
        if not contradictory:
            return False if contradictory is False and system.is_linear else None
    return True


def _side(clip: Relu, above: bool) -> tuple[Poly, Poly]:
    """What is at least 0 besides, where the argument of a clip is at least 0, or where it is at most 0."""
    return (clip.p, clip.p - atom(clip)) if above else (-clip.p, -atom(clip))


class _System:
    """What is told to be at least 0, and what is so by the meaning of every unknown that comes up."""

    def __init__(self, told: list[Poly]) -> None:
        self.told = told
        self.columns: dict[Monomial, int] = {}
        self.clips: list[Relu] = []
        self.grown: dict[Poly, list[tuple[int, Poly]]] = {}
        """By exponent: what is raised to it, and the power."""
        self.is_linear = True
        for p in told:  # which grows
            for mono in p.terms:
                if mono and mono not in self.columns and len(self.columns) <= _MOST_UNKNOWNS:
                    self.columns[mono] = len(self.columns)
                    told += self._meaning(mono)

    def _meaning(self, mono: Monomial) -> list[Poly]:
        match mono:
            case (Symbol(lo=lo, hi=hi) as symbol,):
                least = [] if lo is None else [atom(symbol) - lo]
                endless = hi is None or (symbol.kind == "length" and hi.constant is not None)
                return least if hi is None or endless else [*least, hi - atom(symbol)]
            case (Relu(p=p) as clip,) if len(self.clips) < _MOST_CLIPS:
                self.clips.append(clip)
                return [atom(clip), atom(clip) - p]
        self.is_linear = False
        match mono:
            case (Floor(p=p, q=q) as floor,) if q.constant is not None:
                rest = p - q * atom(floor)
                return [rest, q - 1 - rest]
        one = poly({mono: 1})
        low, high = numerator_range(one)
        ends = ([] if low is None else [one - low]) + ([] if high is None else [high - one])
        return [*ends, *_beside_chords(mono), *self._beside_powers(mono)]

    def _beside_powers(self, mono: Monomial) -> list[Poly]:
        """How far powers of one exponent are apart at least: as far as at its least value."""
        powers = [factor for factor in mono if isinstance(factor, Exponential) and not factor.whole]
        if len(powers) < len(mono) or len({power.p for power in powers}) > 1:
            return []
        base, exponent, value = prod(power.base for power in powers), powers[0].p, poly({mono: 1})
        before = self.grown.setdefault(exponent, [])
        least = 1 if (range_of(exponent)[0] or 0) >= 1 else 0
        found = [
            (value - other - (base - smaller) * least) * (1 if base > smaller else -1)
            for smaller, other in before
        ]
        before.append((base, value))
        return found

    def rows(self, told: Iterable[Poly]) -> Rows:
        """Write polynomials as rows."""
        rows: Rows = {}
        for p in told:
            factors = [0] * len(self.columns)
            number = 0
            for mono, factor in p.terms.items():
                if mono:
                    factors[self.columns[mono]] = factor
                else:
                    number = factor
            _keep(rows, factors, number)
        return rows


def _beside_chords(mono: Monomial) -> list[Poly]:
    """On which side of lines a product is, for its first logarithm or power."""
    for place, factor in enumerate(mono):
        if isinstance(factor, Log2 | Exponential):
            others = poly({mono[:place] + mono[place + 1 :]: 1})
            least = range_of(others)[0]
            return [] if least is None or least < 0 else [others * side for side in _chords(factor)]
    return []


def _chords(curve: Log2 | Exponential) -> list[Poly]:
    p, value = curve.p, atom(curve)
    if isinstance(curve, Exponential):
        above = [value - curve.base**k * (1 + (curve.base - 1) * (p - k)) for k in _CHORDS]
        return [*above, *_halved(curve)]
    return [p - 1 + 2**k * (k - value) for k in _CHORDS] if (range_of(p)[0] or 0) >= 1 else []


def _halved(power: Exponential) -> list[Poly]:
    """How large a power of 2 is at most, its exponent counting halvings: less than twice what is halved."""
    symbol = only_symbol(power.p)
    most = power.p if symbol is None or symbol.hi is None else symbol.hi
    for mono in most.terms:
        match mono:
            case (Log2(p=p) as log,) if power.base == 2 and (range_of(p)[0] or 0) >= 1:
                less = (atom(log) - most).constant
                return [2 * p - 1 - 2**less * atom(power)] if less is not None and less >= 0 else []
    return []


def _keep(rows: Rows, factors: list[int], number: int) -> None:
    """Add a row in lowest terms: unknowns are integers, so that the number is rounded down."""
    common = gcd(*factors)
    if common > 1:
        factors, number = [factor // common for factor in factors], number // common
    key = tuple(factors)
    rows[key] = min(number, rows.get(key, number))


def _contradictory(rows: Rows) -> bool | None:
    """Whether no numbers make all rows at least 0; ``None`` where finding out takes too long."""
    width = len(next(iter(rows)))
    left, nothing = set(range(width)), (0,) * width
    while rows.get(nothing, 0) >= 0:
        if not left:
            return False
        pairs, column = min((_pairs(rows, column), column) for column in left)
        if pairs > _MOST_PAIRS or max((abs(row[column]) for row in rows), default=0) > _LARGEST:
            return None
        spend(1 + pairs // _PAIRS_LIKE_A_TERM)
        left.remove(column)
        rows = _without(rows, column)
    return True


def _pairs(rows: Rows, column: int) -> int:
    """How many pairs there are of a row that bounds an unknown from below and one that does so from above."""
    factors = [row[column] for row in rows]
    return sum(factor > 0 for factor in factors) * sum(factor < 0 for factor in factors)


def _without(rows: Rows, column: int) -> Rows:
    """Remove an unknown: each of its lower bounds is at most each of its upper ones."""
    kept = {row: number for row, number in rows.items() if not row[column]}
    lower = [(row, number) for row, number in rows.items() if row[column] > 0]
    upper = [(row, number) for row, number in rows.items() if row[column] < 0]
    for (low, a), (high, b) in product(lower, upper):
        p, q = -high[column], low[column]
        _keep(kept, [p * x + q * y for x, y in zip(low, high, strict=True)], p * a + q * b)
    return kept
