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
            lows.append(-floordiv(parts[1], parts[0]))
        else:
            highs.append(floordiv(parts[1], -parts[0]))
    tight_lows = _undominated(tuple(lows), facts, 1)
    return Found(tight_lows, _undominated(tuple(highs), facts, -1), tuple(unused))


def _undominated(bounds: tuple[Poly, ...], facts: tuple[Cond, ...], way: int) -> tuple[Poly, ...]:
    """Drop every bound that another one implies."""
    kept: list[Poly] = []
    for bound in dict.fromkeys(bounds):
        if any(prove(ge((other - bound) * way), facts) for other in kept):
            continue
        kept = [other for other in kept if not prove(ge((bound - other) * way), facts)]
        kept.append(bound)
    return tuple(kept)


def dominating(found: Found, remaining: frozenset[Symbol]) -> list[Competing]:
    """Split into cases by which bound is tightest, where that depends on remaining coordinates."""
    lows = _winners(found.lows, remaining, 1)
    highs = _winners(found.highs, remaining, -1)
    return [Competing(low, high, a + b) for (low, a), (high, b) in product(lows, highs)]


def _winners(
    bounds: tuple[Poly, ...], remaining: frozenset[Symbol], way: int
) -> list[tuple[tuple[Poly, ...], tuple[Cond, ...]]]:
    """Give, for each bound that can be tightest, itself and the conditions for it; ties go to the first."""
    fixed = tuple(b for b in bounds if not b.free & remaining)
    moving = tuple(b for b in bounds if b.free & remaining)
    if not moving:
        return [(fixed, ())]
    if len(fixed) > 1:
        # Against a moving bound only the tightest of the fixed ones counts.
        fixed = (reduce(maximum if way == 1 else minimum, fixed),)
    groups = [*((b,) for b in moving), *((fixed,) if fixed else ())]
    result = []
    for k, group in enumerate(groups):
        conds = [
            ge((mine - other) * way - (1 if j < k else 0))
            for j, rival in enumerate(groups)
            if j != k
            for mine, other in ((group[0], rival[0]),)
        ]
        result.append((group, tuple(conds)))
    return result
