"""Linear arithmetic: prove that a polynomial stays above -1 by eliminating unknowns (Fourier and Motzkin).

A product of generators counts as one unknown. To prove a goal, assume that it is at most -1 and remove the
unknowns one after the other: each lower bound of an unknown is combined with each of its upper bounds. If a
number that would have to be non-negative turns out negative, the assumption was wrong. A clip is split into
its two cases; a logarithm or a power is bounded by a few chords, so that ``n*log(n)`` is below ``n**2``. If
everything is linear, a goal that fails here cannot be proved by ``prove`` either, whose other methods handle
products and floors.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from math import gcd, prod
from typing import TypeAlias

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
    spend,
)

_MOST_UNKNOWNS = 16
"""The most unknowns of a system: eliminating each may square the number of bounds."""
_MOST_CLIPS = 3
"""The most clips that are split: each doubles the number of systems to solve."""
_MOST_PAIRS = 200
"""The most pairs of bounds combined in one step; a system that needs more is left open."""
_PAIRS_LIKE_A_TERM = 8
"""The number of pairs of bounds that take as long as one term of a goal, as a unit of effort."""
_CHORDS = (0, 1, 2)
"""A power is above its chord from ``k`` to ``k + 1``, and a logarithm below the mirrored chord."""
_LARGEST_FACTOR = 1 << 64
"""The largest factor: factors multiply from step to step, and would grow exponentially."""

Coefficients: TypeAlias = tuple[int, ...]
Rows: TypeAlias = dict[Coefficients, int]
"""Non-negative sums: the coefficients of the unknowns, with the least constant seen for them."""


def follows_linearly(goal: Poly, known: Iterable[Poly]) -> bool | None:
    """Whether a goal is above -1 wherever the known expressions are non-negative; ``None`` if left open.

    >>> from tolcost.algebra.poly import coordinate, length
    >>> n = length("n"); i = coordinate("i", n); j = coordinate("j", n - i)
    >>> follows_linearly(n - i - j, ()), follows_linearly(n - i - j - 1, ()), follows_linearly(n*n - n, ())
    (True, False, None)
    """
    system = _System([-goal - 1, *known])
    if len(system.columns) > _MOST_UNKNOWNS:
        return None
    for above in product((True, False), repeat=len(system.clips)):
        sides = [side for clip, way in zip(system.clips, above, strict=True) for side in _in_case(clip, way)]
        contradictory = _is_infeasible(system.rows((*system.told, *sides)))
        if not contradictory:
            return False if contradictory is False and system.is_linear else None
    return True


def _in_case(clip: Relu, above: bool) -> tuple[Poly, Poly]:
    """Return the expressions that are non-negative in one case of a clip: its argument positive, or not."""
    return (clip.p, clip.p - atom(clip)) if above else (-clip.p, -atom(clip))


class _System:
    """The given non-negative expressions, and the defining inequalities of every unknown in them."""

    def __init__(self, told: list[Poly]) -> None:
        self.told = told
        self.columns: dict[Monomial, int] = {}
        self.clips: list[Relu] = []
        self.grown: dict[Poly, list[tuple[int, Poly]]] = {}
        """For each exponent, the bases raised to it so far, each with its power."""
        self.is_linear = True
        for p in told:  # the list grows inside the loop
            for mono in p.terms:
                if mono and mono not in self.columns and len(self.columns) <= _MOST_UNKNOWNS:
                    self.columns[mono] = len(self.columns)
                    told += self._defining_inequalities(mono)

    def _defining_inequalities(self, mono: Monomial) -> list[Poly]:
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
        return [*ends, *_bound_by_chords(mono), *self._bound_distance_of_powers(mono)]

    def _bound_distance_of_powers(self, mono: Monomial) -> list[Poly]:
        """Bound from below the distance of powers with one exponent, by their distance at its least value."""
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
            _add_row(rows, factors, number)
        return rows


def _bound_by_chords(mono: Monomial) -> list[Poly]:
    """Bound a product by chords of its first logarithm or power."""
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
        return [*above, *_bound_of_halvings(curve)]
    return [p - 1 + 2**k * (k - value) for k in _CHORDS] if (range_of(p)[0] or 0) >= 1 else []


def _bound_of_halvings(power: Exponential) -> list[Poly]:
    """Bound a power of 2 whose exponent counts halvings: it is less than twice the number that is halved."""
    symbol = only_symbol(power.p)
    most = power.p if symbol is None or symbol.hi is None else symbol.hi
    for mono in most.terms:
        match mono:
            case (Log2(p=p) as log,) if power.base == 2 and (range_of(p)[0] or 0) >= 1:
                less = (atom(log) - most).constant
                return [2 * p - 1 - 2**less * atom(power)] if less is not None and less >= 0 else []
    return []


def _add_row(rows: Rows, factors: list[int], number: int) -> None:
    """Add a row in lowest terms; as unknowns are integers, the constant is rounded down."""
    common = gcd(*factors)
    if common > 1:
        factors, number = [factor // common for factor in factors], number // common
    key = tuple(factors)
    rows[key] = min(number, rows.get(key, number))


def _is_infeasible(rows: Rows) -> bool | None:
    """Whether no numbers make all rows non-negative; ``None`` if finding out takes too long."""
    width = len(next(iter(rows)))
    left, nothing = set(range(width)), (0,) * width
    while rows.get(nothing, 0) >= 0:
        if not left:
            return False
        pairs, column = min((_count_pairs(rows, column), column) for column in left)
        if pairs > _MOST_PAIRS or max((abs(row[column]) for row in rows), default=0) > _LARGEST_FACTOR:
            return None
        spend(1 + pairs // _PAIRS_LIKE_A_TERM)
        left.remove(column)
        rows = _eliminate(rows, column)
    return True


def _count_pairs(rows: Rows, column: int) -> int:
    """Count the pairs of a lower and an upper bound of an unknown."""
    factors = [row[column] for row in rows]
    return sum(factor > 0 for factor in factors) * sum(factor < 0 for factor in factors)


def _eliminate(rows: Rows, column: int) -> Rows:
    """Eliminate an unknown: combine each of its lower bounds with each of its upper bounds."""
    kept = {row: number for row, number in rows.items() if not row[column]}
    lower = [(row, number) for row, number in rows.items() if row[column] > 0]
    upper = [(row, number) for row, number in rows.items() if row[column] < 0]
    for (low, a), (high, b) in product(lower, upper):
        p, q = -high[column], low[column]
        _add_row(kept, [p * x + q * y for x, y in zip(low, high, strict=True)], p * a + q * b)
    return kept
