"""Proofs that a condition holds, or fails, for all admissible values of its symbols.

Sound and incomplete: ``None`` means "not decided".  A goal is a polynomial that must stay
above -1 (it is an integer, so then it is at least 0); every step replaces it by goals that
together are at least as hard, until numbers or the signs of coefficients settle it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Not, Or, Truth, eq, negate, polys_of
from tolcost.algebra.errors import AlgebraBudget
from tolcost.algebra.goals import Fuel, above, above_beyond_least
from tolcost.algebra.intervals import range_of
from tolcost.algebra.poly import Poly, as_poly, atom, scale
from tolcost.algebra.samples import FEW, MANY, refuted, undecided
from tolcost.algebra.signs import is_own_bound
from tolcost.algebra.symbols import Interval, Symbol, reach

Facts: TypeAlias = tuple[Cond, ...]
_FUEL = 300
_MOST_NESTED = 6
"""What nests deeper is left open: asking takes time with every level, and a program would not say so much."""
_LITTLE_FUEL = 8
"""Enough for most goals that have a proof."""


def prove(cond: Cond, facts: Facts = ()) -> bool | None:
    """Give ``True`` if the condition always holds, ``False`` if it never does, else ``None``.

    >>> from tolcost.algebra.poly import coordinate, length
    >>> from tolcost.algebra.conditions import ge
    >>> n = length("n"); i = coordinate("i", n)
    >>> prove(ge(n - i)), prove(ge(i - n - 1)), prove(ge(n - 2))
    (True, False, None)
    """
    if isinstance(cond, Truth):
        return cond.value
    if cond in facts or (isinstance(cond, Ge) and is_own_bound(cond.p)):
        return True
    if _nests(cond, _MOST_NESTED) or undecided(cond, facts):
        return None
    useful = relevant(facts, cond)
    if _holds(cond, useful):
        return True
    return False if _holds(negate(cond), useful) else None


def _nests(cond: Cond, most: int) -> bool:
    """Whether conjunctions and disjunctions alternate more often than ``most`` times."""
    return isinstance(cond, (And, Or)) and (most == 0 or any(_nests(part, most - 1) for part in cond.parts))


def relevant(facts: Facts, cond: Cond) -> Facts:
    """Keep the facts that share a symbol with the condition, directly or through other facts."""
    if not facts:
        return facts
    seen = reach(s for p in polys_of(cond) for s in p.free)
    left, kept, grew = list(facts), set[Cond](), True
    while grew and left:
        grew = False
        for fact in tuple(left):
            about = reach(s for p in polys_of(fact) for s in p.free)
            if about & seen:
                seen |= about
                kept.add(fact)
                left.remove(fact)
                grew = True
    return tuple(fact for fact in facts if fact in kept)


def is_nonnegative(p: Poly, facts: Facts = ()) -> bool:
    """Whether ``p >= 0`` is proved."""
    low = range_of(p)[0]
    if low is not None and low >= 0:
        return True
    return _holds(Ge(p), relevant(facts, Ge(p)))


def bounds(p: Poly | int, facts: Facts = ()) -> Interval:
    """Give a numeric range: cheap, and narrowed by facts about the expression itself.

    >>> from tolcost.algebra.poly import length
    >>> bounds(length("n") + 1)
    (2, 2147483647)
    """
    value = as_poly(p)
    low, high = range_of(value)
    for fact in facts:
        if isinstance(fact, (Ge, Eq)):
            for candidate in (fact.p,) if isinstance(fact, Ge) else (fact.p, -fact.p):
                above_by, below_by = (value - candidate).constant, (value + candidate).constant
                low = low if above_by is None else max(above_by, above_by if low is None else low)
                high = high if below_by is None else min(below_by, below_by if high is None else high)
    return low, high


@lru_cache(maxsize=1 << 16)
def _holds(cond: Cond, facts: Facts) -> bool:
    match cond:
        case Truth(value=value):
            return value
        case Ge(p=p):
            return _nonnegative(p, facts)
        case Eq(p=p):
            return _nonnegative(p, facts) and _nonnegative(-p, facts)
        case Not(part=part):
            return isinstance(part, Eq) and _nonzero(part.p, facts)
        case And(parts=parts):
            return all(_holds(part, facts) for part in parts)
        case Or(parts=parts):
            return any(_holds(part, (*facts, *map(negate, parts[:k]))) for k, part in enumerate(parts))


def _nonzero(p: Poly, facts: Facts) -> bool:
    if any(isinstance(fact, Not) and fact.part == eq(p) for fact in facts):
        return True
    return _nonnegative(p - 1, facts) or _nonnegative(-p - 1, facts)


def _nonnegative(p: Poly, facts: Facts) -> bool:
    if is_own_bound(p):
        return True
    try:
        goal, known = _solved(p, facts)
        if refuted(goal, known, FEW):
            return False
        if above(goal, known, Fuel(_LITTLE_FUEL)):
            return True
        if refuted(goal, known, MANY):
            return False
        return above(goal, known, Fuel(_FUEL)) or above_beyond_least(goal, known, Fuel(_FUEL))
    except (AlgebraBudget, ZeroDivisionError, RecursionError):  # too large, or a divisor vanishes
        return False


def _solved(p: Poly, facts: Facts) -> tuple[Poly, tuple[Poly, ...]]:
    """Use equalities to remove symbols; give the goal and what is known to be at least 0."""
    from tolcost.algebra.substitute import substitute

    known: list[Poly] = []
    equal: list[Poly] = []
    for fact in _conjuncts(facts):
        match fact:
            case Ge(p=f):
                known.append(f)
            case Eq(p=f):
                equal.append(f)
            case _:
                pass
    while equal:
        f = equal.pop()
        solution = _solution(f)
        if solution is None:
            known += (f, -f)
            continue
        symbol, value = solution
        known += _old_bounds(symbol, value) + _bounded_by(symbol, p)
        p, *rest = (substitute(x, {symbol: value}) for x in (p, *known, *equal))
        known, equal = rest[: len(known)], rest[len(known) :]
    return p, tuple(f for f in known if f.constant is None)


def _conjuncts(facts: Facts) -> tuple[Cond, ...]:
    return tuple(part for fact in facts for part in (fact.parts if isinstance(fact, And) else (fact,)))


def _solution(f: Poly) -> tuple[Symbol, Poly] | None:
    """Give a symbol that ``f == 0`` determines, and its value."""
    for mono, coef in f.terms.items():
        if len(mono) == 1 and coef in (1, -1) and isinstance(mono[0], Symbol):
            rest = f - scale(atom(mono[0]), coef)
            if mono[0] not in rest.free:
                return mono[0], rest * -coef
    return None


def _old_bounds(symbol: Symbol, value: Poly) -> list[Poly]:
    """What the bounds of a symbol say about the value it is replaced by."""
    low = [] if symbol.lo is None else [value - symbol.lo]
    return low if symbol.hi is None else [*low, symbol.hi - value]


def _bounded_by(symbol: Symbol, p: Poly) -> list[Poly]:
    """State the bounds of coordinates that mention a symbol, so that they survive its replacement."""
    found = []
    for other in sorted(p.free, key=lambda s: s.key):
        if other.lo is not None and symbol in other.lo.free:
            found.append(atom(other) - other.lo)
        if other.hi is not None and symbol in other.hi.free:
            found.append(other.hi - atom(other))
    return found
