"""Comparison of two expressions for all admissible values: a proof, a counterexample, or neither.

Floors by numbers are removed by a case for every residue, which makes the equality of expressions without
other floors decidable, as far as ``prove`` can handle their clips.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, product
from math import gcd, lcm, prod
from typing import Literal, TypeAlias

from msgspec import Struct

from tolcost.algebra.conditions import FALSE, Cond
from tolcost.algebra.evaluate import evaluate, prepared
from tolcost.algebra.piecewise import floordiv, normalise_clips
from tolcost.algebra.points import Assignment, admissible, hold_at, in_ranges
from tolcost.algebra.poly import (
    AlgebraBudget,
    Exponential,
    Floor,
    Log2,
    Monomial,
    NotInteger,
    Poly,
    Relu,
    Sum,
    Symbol,
    UnboundSymbol,
    affine_parts,
    as_poly,
    coordinate,
    data_symbol,
    only_symbol,
    poly,
)
from tolcost.algebra.prove import is_nonnegative
from tolcost.algebra.rebuild import generators_in
from tolcost.algebra.substitute import substitute, substitute_cond
from tolcost.algebra.walk import Rule, RuleTable
from tolcost.diagnostics import InternalError

ComparisonVerdict: TypeAlias = Literal[
    "equal", "less", "greater", "less_or_equal", "greater_or_equal", "crosses", "unknown"
]
"""``less`` is strict: never greater, and less at a known point; ``less_or_equal`` may be equal everywhere."""
_MAX_RESIDUES = 400
"""The most combinations of residues that are proved one by one."""
_MAX_EXPONENT_CASES = 16
"""The most values of an exponent that are proved one by one."""
_MAX_POINTS = 1_500
"""The most points at which two expressions are evaluated to find a witness."""
_POINTS_BEFORE_PROOF = 64
"""The number of points evaluated before a proof is tried.

Most differences show there, and a proof usually makes the other points unnecessary.
"""
_OFFSETS = (0, 1, 2, 3, 4, 5, 6, 7, 9, 12, 15, 16, 31, 63, 99, 100, 127, 255, 999, 4095, 10**4, 10**6, 10**9)
"""The distances of sample points from the lower bounds: small ones, ones around powers, and large ones."""


class Witness(Struct, frozen=True):
    """An admissible point at which two expressions differ, and their values there."""

    point: tuple[tuple[Symbol, int], ...]
    left: int
    right: int

    def __post_init__(self) -> None:
        """Refuse a point at which both expressions are equal: it shows nothing."""
        if self.left == self.right:
            raise InternalError(f"a witness needs two values, and both are {self.left}")

    @property
    def reversed(self) -> Witness:
        """The witness with left and right exchanged."""
        return Witness(self.point, self.right, self.left)


def witness_at(left: Poly, right: Poly, point: Assignment, facts: Iterable[Cond] = ()) -> Witness | None:
    """Return the witness at a point; None if the point is not admissible or both are equal there.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> witness_at(n, n * n, {the_symbol(n): 1}), witness_at(n, n * n, {the_symbol(n): 2})
    (None, Witness(point=((n, 2),), left=2, right=4))
    """
    if not (in_ranges(point) and hold_at(facts, point)):
        return None
    try:
        values = evaluate(left, point), evaluate(right, point)
    except (AlgebraBudget, NotInteger, UnboundSymbol):
        return None
    return None if values[0] == values[1] else Witness(tuple(point.items()), *values)


class Order(Struct, frozen=True):
    """The order of two expressions: proofs for all admissible values, and witnesses at points.

    ``never_above`` and ``never_below`` are proofs about the left expression. Only a witness shows that it is
    below or above somewhere, so a strict verdict needs one.
    """

    never_above: bool = False
    never_below: bool = False
    below: Witness | None = None
    above: Witness | None = None

    def __post_init__(self) -> None:
        """Refuse witnesses on the wrong side, and witnesses that contradict a proof."""
        below = self.below is None or (self.below.left < self.below.right and not self.never_below)
        above = self.above is None or (self.above.left > self.above.right and not self.never_above)
        if not (below and above):
            raise InternalError(f"a comparison contradicts itself: {self}")

    @property
    def verdict(self) -> ComparisonVerdict:
        """The order in one word."""
        if self.never_above:
            return "equal" if self.never_below else "less" if self.below else "less_or_equal"
        if self.never_below:
            return "greater" if self.above else "greater_or_equal"
        return "crosses" if self.below and self.above else "unknown"


EQUAL = Order(never_above=True, never_below=True)


def compare(a: Poly | int, b: Poly | int, facts: tuple[Cond, ...] = ()) -> Order:
    """Compare two expressions for all admissible values of their symbols.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> compare(n, n * n).verdict, compare(n * n, 10 * n).verdict
    ('less', 'crosses')
    """
    left, right = as_poly(a), as_poly(b)
    gap = normalise_clips(right - left, facts)
    if not gap.terms:
        return EQUAL
    points = _evaluate_both(left, right, facts)
    below, above = _witnesses(islice(points, _POINTS_BEFORE_PROOF))
    if above is None and never_negative(gap, facts):
        if below is None and never_negative(-gap, facts):
            return EQUAL
        return Order(never_above=True, below=below or _first_witness(points, below=True))
    if below is None and never_negative(-gap, facts):
        return Order(never_below=True, above=above or _first_witness(points, below=False))
    return Order(False, False, *_witnesses(points, below, above))


def never_negative(gap: Poly, facts: tuple[Cond, ...]) -> bool:
    """Whether a difference is proved to be non-negative, as it stands or in each of finitely many cases."""
    if is_nonnegative(gap, facts):
        return True
    cases = list(_exponent_cases(gap)) or _residue_cases(gap)
    return bool(cases) and all(_never_negative_at(gap, facts, values) for values in cases)


def _never_negative_at(gap: Poly, facts: tuple[Cond, ...], values: Mapping[Symbol, Poly | int]) -> bool:
    there = tuple(substitute_cond(fact, values) for fact in facts)
    return FALSE in there or is_nonnegative(substitute(gap, values), there)


def _exponent_cases(gap: Poly) -> Iterator[dict[Symbol, Poly | int]]:
    """Split by the exponent of a power inside a floor: its first values one by one, and all larger values.

    If ``p >= 1``, 2 divides ``2**p``, so ``floor(2**p/2)`` is ``2**(p - 1)``.
    """
    found = power_floors(gap)
    for symbol, many in sorted(found.items(), key=lambda item: item[0].key)[:1]:
        low = 0 if symbol.lo is None else symbol.lo.constant
        high = None if symbol.hi is None else symbol.hi.constant
        if low is None or (high is None) != (symbol.hi is None) or many - low > _MAX_EXPONENT_CASES:
            return
        end = many if high is None else min(many, high + 1)
        for value in range(low, end):
            yield {symbol: value}
        if high is None or many <= high:
            yield {symbol: data_symbol(symbol.name, max(many, low), high)}


def power_floors(p: Poly) -> dict[Symbol, int]:
    """Return, for each exponent of a power divided inside a floor, the least value that makes it exact.

    >>> from tolcost.algebra.poly import length
    >>> from tolcost.algebra.powers import powers
    >>> p = length("p", 0)
    >>> power_floors((3 * powers(2, p) + 1) // 8)
    {p: 3}
    """
    found: dict[Symbol, int] = {}
    for floor in generators_in(p):
        divisor = floor.q.constant if isinstance(floor, Floor) else None
        if not isinstance(floor, Floor) or divisor is None:
            continue
        for power in (g for mono in floor.p.terms for g in mono if isinstance(g, Exponential)):
            symbol = only_symbol(power.p)
            if symbol is not None and divisor % power.base == 0:
                found[symbol] = max(found.get(symbol, 0), _multiplicity(divisor, power.base))
    return found


def _multiplicity(number: int, prime: int) -> int:
    times = 0
    while number % prime == 0:
        number, times = number // prime, times + 1
    return times


def _residue_cases(gap: Poly) -> Sequence[dict[Symbol, Poly | int]]:
    steps = residue_steps(gap)
    count = prod(steps.values())
    return [] if count == 1 or count > _MAX_RESIDUES else list(_residues(steps))


def _residues(steps: dict[Symbol, int]) -> Iterator[dict[Symbol, Poly | int]]:
    """Yield every way to write each symbol as a multiple of its step plus a residue."""
    symbols = list(steps)
    for offsets in product(*(range(steps[s]) for s in symbols)):
        values: dict[Symbol, Poly | int] = {}
        for symbol, offset in zip(symbols, offsets, strict=True):
            values[symbol] = _as_residue_class(symbol, steps[symbol], offset)
        yield values


def _as_residue_class(symbol: Symbol, step: int, offset: int) -> Poly:
    """Write a symbol as a residue class, counted from its lower bound if it has one."""
    if symbol.lo is None:
        return data_symbol(symbol.name, None, None) * step + offset
    start = symbol.lo + offset
    if symbol.hi is None:
        return data_symbol(symbol.name, 0, None) * step + start
    return coordinate(symbol.name, floordiv(symbol.hi - start, step), 0) * step + start


def residue_steps(p: Poly) -> dict[Symbol, int]:
    """Return, for each symbol inside a floor by a number, the step after which these floors repeat."""
    steps: dict[Symbol, int] = {}
    for floor in generators_in(p):
        divisor = floor.q.constant if isinstance(floor, Floor) else None
        if not isinstance(floor, Floor) or divisor is None:
            continue
        plain = (g for mono in floor.p.terms for g in mono if not isinstance(g, Exponential))
        for symbol in {symbol for generator in plain for symbol in generator.free}:
            parts = affine_parts(floor.p, symbol)
            slope = None if parts is None else parts[0].constant
            own = divisor // gcd(divisor, slope) if slope else divisor
            steps[symbol] = lcm(steps.get(symbol, 1), own)
    # A symbol that bounds another one must keep its meaning there.
    bounding = {s for symbol in p.free for b in (symbol.lo, symbol.hi) if b is not None for s in b.free}
    ordered = sorted(steps, key=lambda s: s.key)  # the order of a set differs between runs
    return {} if bounding & set(steps) else {symbol: steps[symbol] for symbol in ordered}


def _evaluate_both(left: Poly, right: Poly, facts: tuple[Cond, ...]) -> Iterator[Witness | None]:
    """Evaluate both expressions at admissible points; yield None where they are equal."""
    at_left, at_right = prepared(left), prepared(right)
    for point in _points(left.free | right.free, facts):
        try:
            values = at_left(point), at_right(point)
        except (AlgebraBudget, NotInteger):
            continue
        yield None if values[0] == values[1] else Witness(tuple(point.items()), *values)


def _first_witness(points: Iterable[Witness | None], below: bool) -> Witness | None:
    return next((point for point in points if point and (point.left < point.right) is below), None)


def _witnesses(
    points: Iterable[Witness | None], below: Witness | None = None, above: Witness | None = None
) -> tuple[Witness | None, Witness | None]:
    """Return the first point where left is below right, and the first where it is above."""
    for point in filter(None, points):
        if point.left < point.right:
            below = below or point
        else:
            above = above or point
        if below and above:
            break
    return below, above


def _points(symbols: frozenset[Symbol], facts: tuple[Cond, ...]) -> Iterator[Assignment]:
    """Yield admissible points: small corners first, then points far out."""
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
    """Return the total degree in the symbols; a floor by a number counts like its argument.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> degree(n * m // 2 + n)
    2
    """
    return max((_monomial_degree(mono) for mono in as_poly(p).terms), default=0)


def leading_terms(p: Poly | int) -> Poly:
    """Return the terms of the highest degree.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> leading_terms(n * n * 3 + n)
    3*n**2
    """
    value = as_poly(p)
    top = degree(value)
    return poly({m: c for m, c in value.terms.items() if _monomial_degree(m) == top}, value.den)


def _monomial_degree(mono: Monomial) -> int:
    return sum(DEGREES[type(generator)](generator) for generator in mono)


DEGREES: RuleTable[Rule[int]] = RuleTable(
    "degree",
    {
        Symbol: lambda _: 1,
        Floor: lambda floor: max(degree(floor.p) - degree(floor.q), 0),
        Relu: lambda clip: degree(clip.p),
        Log2: lambda _: 0,
        Exponential: lambda _: 1,  # like a length: how fast it grows is not compared with lengths
        Sum: lambda total: degree(total.body) + max(degree(total.lo), degree(total.hi)),
    },
)
