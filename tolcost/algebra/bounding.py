"""Conditions on a summation variable as bounds, and the cases in which one bound is the tightest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import product

from tolcost.algebra.cases import Atoms
from tolcost.algebra.clips import maximum, minimum, sign
from tolcost.algebra.conditions import Cond, Ge, ge
from tolcost.algebra.faulhaber import affine_parts
from tolcost.algebra.floors import floordiv
from tolcost.algebra.poly import Poly
from tolcost.algebra.prove import prove
from tolcost.algebra.symbols import Symbol


@dataclass(frozen=True, slots=True)
class Found:
    """Lower and upper bounds of a variable, and the conditions that are not bounds."""

    lows: tuple[Poly, ...]
    highs: tuple[Poly, ...]
    unused: Atoms


@dataclass(frozen=True, slots=True)
class Competing:
    """One case: the bounds left in it, and the conditions under which it is the case."""

    lows: tuple[Poly, ...]
    highs: tuple[Poly, ...]
    conds: tuple[Cond, ...]


def bounds_on(x: Symbol, lo: Poly, hi: Poly, atoms: Atoms, facts: tuple[Cond, ...]) -> Found:
    """Read affine conditions on x as bounds; redundant bounds are dropped."""
    lows, highs, unused = [lo], [hi], []
    for a in atoms:
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
