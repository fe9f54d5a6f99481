"""Comparing two expressions for all admissible values: a proof, a counterexample, or neither.

Floors by numbers are removed by looking at every residue separately, which makes equality of
expressions without other floors decidable up to what ``prove`` can do with clips.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice, product
from math import gcd, lcm
from typing import Literal, TypeAlias

from msgspec import Struct

from tolcost.algebra.conditions import Cond
from tolcost.algebra.evaluate import prepared
from tolcost.algebra.piecewise import floordiv, tidied
from tolcost.algebra.points import Assignment, admissible
from tolcost.algebra.poly import (
    AlgebraBudget,
    Exponential,
    Floor,
    Generator,
    Log2,
    Monomial,
    NotInteger,
    Poly,
    Relu,
    Sum,
    Symbol,
    affine_parts,
    as_poly,
    coordinate,
    data_symbol,
    poly,
)
from tolcost.algebra.prove import is_nonnegative
from tolcost.algebra.rebuild import generators_in
from tolcost.algebra.substitute import substitute, substitute_cond

ComparisonVerdict: TypeAlias = Literal["equal", "less_or_equal", "greater_or_equal", "crosses", "unknown"]
_MAX_RESIDUES = 400
_MAX_POINTS = 1_500
_AT_FIRST = 64
"""Points looked at before a proof is tried: most differences show there, and most proofs spare the others."""
_OFFSETS = (0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 15, 16, 31, 63, 99, 100, 127, 255, 999, 4095, 10**4, 10**6, 10**9)


class Witness(Struct, frozen=True):
    """A point, and what the two expressions are there."""

    point: tuple[tuple[Symbol, int], ...]
    left: int
    right: int


class Comparison(Struct, frozen=True):
    """What is proved about ``a`` against ``b``, with points where a is below and above if found."""

    verdict: ComparisonVerdict
    below: Witness | None = None
    above: Witness | None = None


def compare(a: Poly | int, b: Poly | int, facts: tuple[Cond, ...] = ()) -> Comparison:
    """Compare for all admissible values of the symbols.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> compare(n, n * n).verdict, compare(n * n, 10 * n).verdict
    ('less_or_equal', 'crosses')
    """
    left, right = as_poly(a), as_poly(b)
    gap = tidied(right - left, facts)
    if not gap.terms:
        return Comparison("equal")
    points = _evaluated(left, right, facts)
    below, above = _sides(islice(points, _AT_FIRST))
    if above is None and _never_below_zero(gap, facts):
        if below is None and _never_below_zero(-gap, facts):
            return Comparison("equal")
        below = below or next((point for point in points if point.left < point.right), None)
        return Comparison("less_or_equal", below, None)
    if below is None and _never_below_zero(-gap, facts):
        above = above or next((point for point in points if point.left > point.right), None)
        return Comparison("greater_or_equal", None, above)
    below, above = _sides(points, below, above)
    return Comparison("crosses" if below and above else "unknown", below, above)


def _never_below_zero(gap: Poly, facts: tuple[Cond, ...]) -> bool:
    if is_nonnegative(gap, facts):
        return True
    steps = residue_steps(gap)
    count = 1
    for step in steps.values():
        count *= step
    if count == 1 or count > _MAX_RESIDUES:
        return False
    return all(
        is_nonnegative(substitute(gap, values), tuple(substitute_cond(fact, values) for fact in facts))
        for values in _residues(steps)
    )


def _residues(steps: dict[Symbol, int]) -> Iterator[dict[Symbol, Poly | int]]:
    """Give every way to write each symbol as a multiple of its step and a residue."""
    symbols = list(steps)
    for offsets in product(*(range(steps[s]) for s in symbols)):
        values: dict[Symbol, Poly | int] = {}
        for symbol, offset in zip(symbols, offsets, strict=True):
            values[symbol] = _in_class(symbol, steps[symbol], offset)
        yield values


def _in_class(symbol: Symbol, step: int, offset: int) -> Poly:
    """Count from the lower bound where there is one, so that the new symbol starts at 0."""
    if symbol.lo is None:
        return data_symbol(symbol.name, None, None) * step + offset
    start = symbol.lo + offset
    if symbol.hi is None:
        return data_symbol(symbol.name, 0, None) * step + start
    return coordinate(symbol.name, floordiv(symbol.hi - start, step), 0) * step + start


def residue_steps(p: Poly) -> dict[Symbol, int]:
    """Give for each symbol inside a floor by a number the step after which such floors repeat."""
    steps: dict[Symbol, int] = {}
    for floor in generators_in(p):
        divisor = floor.q.constant if isinstance(floor, Floor) else None
        if not isinstance(floor, Floor) or divisor is None:
            continue
        for symbol in floor.free:
            parts = affine_parts(floor.p, symbol)
            slope = None if parts is None else parts[0].constant
            own = divisor // gcd(divisor, slope) if slope else divisor
            steps[symbol] = lcm(steps.get(symbol, 1), own)
    # A symbol that bounds another one must keep its meaning for the other.
    bounding = {s for symbol in p.free for b in (symbol.lo, symbol.hi) if b is not None for s in b.free}
    ordered = sorted(steps, key=lambda s: s.key)  # sets have no order that is the same in every run
    return {} if bounding & set(steps) else {symbol: steps[symbol] for symbol in ordered}


def _evaluated(left: Poly, right: Poly, facts: tuple[Cond, ...]) -> Iterator[Witness]:
    """Both expressions at admissible points."""
    at_left, at_right = prepared(left), prepared(right)
    for point in _points(left.free | right.free, facts):
        try:
            yield Witness(tuple(point.items()), at_left(point), at_right(point))
        except (AlgebraBudget, NotInteger):
            continue


def _sides(
    points: Iterable[Witness], below: Witness | None = None, above: Witness | None = None
) -> tuple[Witness | None, Witness | None]:
    """The first point where left is below right, and the first where it is above."""
    for point in points:
        if point.left < point.right:
            below = below or point
        elif point.left > point.right:
            above = above or point
        if below and above:
            break
    return below, above


def _points(symbols: frozenset[Symbol], facts: tuple[Cond, ...]) -> Iterator[Assignment]:
    """Give admissible points: small corners first, then far ones."""
    points = admissible(symbols, facts)
    many = len(points.chosen)
    per_symbol = max(3, int(_MAX_POINTS ** (1 / max(many, 1))))
    few = _OFFSETS[:4] + _OFFSETS[9::4] if per_symbol < 10 else _OFFSETS
    together = (((offset,) * many, offset) for offset in (_OFFSETS if points.others or many else ()))
    alone = (tuple(offset if j == k else 0 for j in range(many)) for k in range(many) for offset in _OFFSETS)
    grid = islice(product(few, repeat=many), _MAX_POINTS)
    rest = ((offsets, max(offsets, default=0)) for offsets in chain(alone, grid))
    for offsets, others in chain(together, rest):
        point = points.at(offsets, others)
        if point is not None:
            yield point


# ---- how fast an expression grows --------------------------------------------------------------


def degree(p: Poly | int) -> int:
    """Give the total degree in the symbols; a floor by a number counts like its argument.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> degree(n * m // 2 + n)
    2
    """
    return max((_monomial_degree(mono) for mono in as_poly(p).terms), default=0)


def leading_terms(p: Poly | int) -> Poly:
    """Give the terms of the highest degree.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> leading_terms(n * n * 3 + n)
    3*n**2
    """
    value = as_poly(p)
    top = degree(value)
    return poly({m: c for m, c in value.terms.items() if _monomial_degree(m) == top}, value.den)


def _monomial_degree(mono: Monomial) -> int:
    return sum(map(_degree, mono))


def _degree(generator: Generator) -> int:
    match generator:
        case Symbol():
            return 1
        case Floor(p=p, q=q):
            return max(degree(p) - degree(q), 0)
        case Relu(p=p):
            return degree(p)
        case Log2():
            return 0
        case Exponential():  # as a length that is one counts
            return 1
        case Sum(body=body, lo=lo, hi=hi):
            return degree(body) + max(degree(lo), degree(hi))
