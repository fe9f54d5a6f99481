"""A sum still to do: ranges and conditions, ways to restate it, and which bound of a range counts.

Conditions on a summation variable become bounds; where several compete, there is a case for each
that may be the tightest.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import product

from tolcost.algebra.conditions import Cond, Constraints, Eq, Ge, Truth, ge, map_cond
from tolcost.algebra.piecewise import floordiv, maximum, minimum, sign
from tolcost.algebra.poly import ZERO, Poly, affine_parts, coordinate, the_symbol
from tolcost.algebra.prove import prove
from tolcost.algebra.substitute import Rules, rebuild
from tolcost.algebra.symbols import Symbol
from tolcost.dataclass import dataclass

_MAX_WORK = 12_000
_MAX_TERMS = 400


@dataclass(frozen=True, slots=True)
class SummedRange:
    """A coordinate and the inclusive ends it runs between."""

    symbol: Symbol
    lo: Poly
    hi: Poly


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A sum still to do: the summand, ranges with inner ones last, conditions, and what is known."""

    body: Poly
    ranges: tuple[SummedRange, ...]
    constraints: Constraints
    facts: tuple[Cond, ...]


class NoClosedForm(Exception):
    """The coordinates cannot all be removed, or not at a reasonable size."""


@dataclass(slots=True, eq=False)
class Work:
    """How summands are made again, and how much may still be done for one sum, in terms looked at."""

    rules: Rules
    left: int = _MAX_WORK

    def step(self, body: Poly) -> None:
        """Take up a problem with this summand."""
        self.left -= 1 + len(body.terms) * (1 + body.height)
        if self.left < 0 or len(body.terms) > _MAX_TERMS:
            raise NoClosedForm


def posed(
    body: Poly, ranges: tuple[SummedRange, ...], conds: Sequence[Cond], facts: tuple[Cond, ...]
) -> Problem:
    """Pose a problem under conditions some of which may be decided already."""
    if any(isinstance(c, Truth) and not c.value for c in conds):
        body = ZERO
    return Problem(body, ranges, tuple(dict.fromkeys(c for c in conds if isinstance(c, (Ge, Eq)))), facts)


def extended(problem: Problem, body: Poly, *conds: Cond) -> Problem:
    """Give the same problem with another summand and further conditions."""
    return posed(body, problem.ranges, (*problem.constraints, *conds), problem.facts)


def put(problem: Problem, x: Symbol, value: Poly, rules: Rules, extra: tuple[Cond, ...] = ()) -> Problem:
    """Replace a coordinate by an expression everywhere, and drop its range.

    Coordinates whose ends change on the way are renamed, so that they carry their own bounds.
    """
    values: dict[Symbol, Poly | int] = {x: value}
    ranges = []
    for r in problem.ranges:
        if r.symbol is x:
            continue
        lo, hi = rebuild(r.lo, values, rules), rebuild(r.hi, values, rules)
        symbol = r.symbol
        if lo != r.lo or hi != r.hi:
            values[symbol] = new = coordinate(symbol.name, hi, lo)
            symbol = the_symbol(new)
        ranges.append(SummedRange(symbol, lo, hi))
    conds = [map_cond(c, lambda p: rebuild(p, values, rules)) for c in (*extra, *problem.constraints)]
    return posed(rebuild(problem.body, values, rules), tuple(ranges), conds, problem.facts)


def pruned(problem: Problem) -> Problem | None:
    """Drop conditions that always hold; ``None`` if one never does or nothing is summed."""
    if not problem.body.terms:
        return None
    constraints = list(problem.constraints)
    for one in problem.constraints:
        others = tuple(a for a in constraints if a != one)
        verdict = prove(one, problem.facts + others)
        if verdict is False:
            return None
        if verdict:
            constraints.remove(one)
    return Problem(problem.body, problem.ranges, tuple(constraints), problem.facts)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Lower and upper bounds of a variable, and the conditions that are not bounds."""

    lows: tuple[Poly, ...]
    highs: tuple[Poly, ...]
    unused: Constraints


@dataclass(frozen=True, slots=True, eq=False)
class Competing:
    """One case: the bounds left in it, and the conditions under which it is the case."""

    lows: tuple[Poly, ...]
    highs: tuple[Poly, ...]
    conds: tuple[Cond, ...]


def bounds_on(x: Symbol, lo: Poly, hi: Poly, constraints: Constraints, facts: tuple[Cond, ...]) -> Found:
    """Read affine conditions on x as bounds; redundant bounds are dropped."""
    lows, highs, unused = [lo], [hi], []
    for a in constraints:
        parts = affine_parts(a.p, x) if isinstance(a, Ge) else None
        way = None if parts is None else sign(parts[0], facts)
        if parts is None or not way:
            unused.append(a)
        elif way > 0:
            lows.append(-floordiv(parts[1], _divisor(parts[0])))
        else:
            highs.append(floordiv(parts[1], _divisor(-parts[0])))
    tight_lows = _undominated(tuple(lows), facts, 1)
    return Found(tight_lows, _undominated(tuple(highs), facts, -1), tuple(unused))


def _divisor(slope: Poly) -> Poly:
    """A slope to divide by: positive even where the conditions that make it so do not hold."""
    return slope if prove(ge(slope - 1)) is True else maximum(slope, 1)


def _undominated(bounds: tuple[Poly, ...], facts: tuple[Cond, ...], way: int) -> tuple[Poly, ...]:
    """Drop every bound that another one implies."""
    kept: list[Poly] = []
    for bound in dict.fromkeys(bounds):
        if any(prove(ge((other - bound) * way), facts) for other in kept):
            continue
        kept = [other for other in kept if not prove(ge((bound - other) * way), facts)]
        kept.append(bound)
    return tuple(kept)


def dominating(found: Found, remaining: frozenset[Symbol], facts: tuple[Cond, ...]) -> list[Competing]:
    """Split into cases by which bound is tightest, where that depends on remaining coordinates."""
    lows = _winners(_fixed_as_one(found.lows, remaining, facts, 1), 1)
    highs = _winners(_fixed_as_one(found.highs, remaining, facts, -1), -1)
    return [Competing((low,), (high,), a + b) for (low, a), (high, b) in product(lows, highs)]


def _fixed_as_one(
    bounds: tuple[Poly, ...], remaining: frozenset[Symbol], facts: tuple[Cond, ...], way: int
) -> tuple[Poly, ...]:
    """Make one bound of those that no remaining coordinate moves: a clip can say which is tightest."""
    fixed = [b for b in bounds if not b.free & remaining]
    moving = tuple(b for b in bounds if b.free & remaining)
    return (*moving, reduce(lambda a, b: tighter(a, b, facts, way), fixed)) if fixed else moving


def tighter(a: Poly, b: Poly, facts: tuple[Cond, ...], way: int) -> Poly:
    """Give the larger of two lower bounds (way 1), or the smaller of two upper ones (way -1)."""
    return maximum(a, b, facts) if way > 0 else minimum(a, b, facts)


def _winners(bounds: tuple[Poly, ...], way: int) -> list[tuple[Poly, tuple[Cond, ...]]]:
    """Give each bound and the conditions under which it is the tightest; ties go to the first."""
    return [
        (mine, tuple(ge((mine - other) * way - (j < k)) for j, other in enumerate(bounds) if j != k))
        for k, mine in enumerate(bounds)
    ]
