"""Proofs that a condition holds, or fails, for all admissible values of its symbols.

Sound and incomplete: ``None`` means "not decided".  A goal is a polynomial that must stay
above -1 (it is an integer, so then it is at least 0).

What holds at the ends of all ranges is seen without a search (``ends``), and what holds at one sample
point and fails at another has no proof (``quick_checks``).  What a few steps of ``search`` do not find is
given to ``linear``, which finds every proof that adds up linear bounds, and only then to the rest of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Not, Or, Truth, eq, ge, negate, polys_of
from tolcost.algebra.ends import holds_at_ends
from tolcost.algebra.intervals import is_attained, range_of
from tolcost.algebra.linear import follows
from tolcost.algebra.poly import Poly, as_poly, atom, const, scale
from tolcost.algebra.quick_checks import FEW, MANY, compares_alike, range_decides_nothing, refuted, undecided
from tolcost.algebra.search import (
    Fuel,
    above,
    above_beyond_least,
    bounds_kept,
    never_negative,
    with_remainders,
    without_ordered_clips,
)
from tolcost.algebra.substitute import QUICK, rebuild
from tolcost.algebra.symbols import AlgebraBudget, Interval, Symbol, reach

_FUEL = 300
_MOST_NESTED = 6
"""What nests deeper is left open: asking takes time with every level, and a program would not say so much."""
_LITTLE_FUEL = 8
"""Enough for most goals that have a proof."""


def prove(cond: Cond, facts: tuple[Cond, ...] = ()) -> bool | None:
    """Give ``True`` if the condition always holds, ``False`` if it never does, else ``None``.

    >>> from tolcost.algebra.poly import coordinate, length
    >>> from tolcost.algebra.conditions import ge
    >>> n = length("n"); i = coordinate("i", n)
    >>> prove(ge(n - i)), prove(ge(i - n - 1)), prove(ge(n - 2))
    (True, False, None)
    """
    if isinstance(cond, Truth):
        return cond.value
    if not facts and isinstance(cond, Ge | Eq) and range_decides_nothing(cond):  # as most of lengths alone
        return None
    if cond in facts or (isinstance(cond, Ge) and holds_at_ends(cond.p)):
        return True
    return _searched(cond, facts)


@lru_cache(maxsize=1 << 14)  # loops are elaborated until they settle, and ask again; so do programs alike
def _searched(cond: Cond, facts: tuple[Cond, ...]) -> bool | None:
    if _nests(cond, _MOST_NESTED) or undecided(cond, facts):
        return None
    useful = relevant(facts, cond)
    if _holds(cond, useful):
        return True
    return False if _holds(negate(cond), useful) else None


def _nests(cond: Cond, most: int) -> bool:
    """Whether conjunctions and disjunctions alternate more often than ``most`` times."""
    return isinstance(cond, (And, Or)) and (most == 0 or any(_nests(part, most - 1) for part in cond.parts))


def relevant(facts: tuple[Cond, ...], cond: Cond) -> tuple[Cond, ...]:
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


def as_fact(cond: Cond) -> Cond:
    """Give a condition as proofs use it best: what is not at the end of its range is before or beyond it.

    >>> from tolcost.algebra.poly import coordinate, length
    >>> n = length("n"); i = coordinate("i", n)
    >>> as_fact(negate(eq(i - n)))
    Ge(p=n - i - 1)
    """
    if isinstance(cond, Not) and isinstance(cond.part, Eq):
        for p in (cond.part.p, -cond.part.p):
            if holds_at_ends(p):
                return ge(p - 1)
    return cond


def is_nonnegative(p: Poly, facts: tuple[Cond, ...] = ()) -> bool:
    """Whether ``p >= 0`` is proved."""
    low = range_of(p)[0]
    if low is not None and low >= 0:
        return True
    if not facts and (is_attained(p) or compares_alike(Ge(p))):
        return False
    return _holds(Ge(p), relevant(facts, Ge(p)))


def contradict(conditions: Iterable[Cond]) -> bool:
    """Whether conditions are seen to hold nowhere together.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> contradict([ge(n - m - 1), ge(m - n - 1)]), contradict([ge(n - m - 1), ge(n - 5)])
    (True, False)
    """
    told = [c for c in conditions if isinstance(c, (Ge, Eq))]
    below = [-c.p for c in told if isinstance(c, Eq)]
    return follows(const(-1), [*(c.p for c in told), *below]) is True


def bounds(p: Poly | int, facts: tuple[Cond, ...] = ()) -> Interval:
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
def _holds(cond: Cond, facts: tuple[Cond, ...]) -> bool:
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


def _nonzero(p: Poly, facts: tuple[Cond, ...]) -> bool:
    if any(isinstance(fact, Not) and fact.part == eq(p) for fact in facts):
        return True
    return _nonnegative(p - 1, facts) or _nonnegative(-p - 1, facts)


def _nonnegative(p: Poly, facts: tuple[Cond, ...]) -> bool:
    if holds_at_ends(p) or any(holds_at_ends(p - fact.p) for fact in facts if isinstance(fact, Ge)):
        return True
    try:
        goal, known = _solved(p, facts)
        if refuted(goal, known, FEW):
            return False
        if above(goal, known, Fuel(_LITTLE_FUEL)):
            return True
        linear = follows(goal, known)
        if linear is not None:
            return linear
        if refuted(goal, known, MANY):
            return False
        if never_negative(without_ordered_clips(goal)):
            return True
        apart = with_remainders(goal, known)
        if apart is not None and (follows(*apart) or above(*apart, Fuel(_FUEL))):
            return True
        return above(goal, known, Fuel(_FUEL)) or above_beyond_least(goal, known, Fuel(_FUEL))
    except (AlgebraBudget, ZeroDivisionError, RecursionError):  # too large, or a divisor vanishes
        return False


def _solved(p: Poly, facts: tuple[Cond, ...]) -> tuple[Poly, tuple[Poly, ...]]:
    """Use equalities to remove symbols; give the goal and what is known to be at least 0."""
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
        known += bounds_kept(symbol, value) + _bounded_by(symbol, p)
        p, *rest = (rebuild(x, {symbol: value}, QUICK) for x in (p, *known, *equal))
        known, equal = rest[: len(known)], rest[len(known) :]
    return p, tuple(f for f in known if f.constant is None)


def _conjuncts(facts: tuple[Cond, ...]) -> tuple[Cond, ...]:
    return tuple(part for fact in facts for part in (fact.parts if isinstance(fact, And) else (fact,)))


def _solution(f: Poly) -> tuple[Symbol, Poly] | None:
    """Give a symbol that ``f == 0`` determines, and its value."""
    for mono, coef in f.terms.items():
        if len(mono) == 1 and coef in (1, -1) and isinstance(mono[0], Symbol):
            rest = f - scale(atom(mono[0]), coef)
            if mono[0] not in rest.free:
                return mono[0], rest * -coef
    return None


def _bounded_by(symbol: Symbol, p: Poly) -> list[Poly]:
    """State the bounds of coordinates that mention a symbol, so that they survive its replacement."""
    found = []
    for other in sorted(p.free, key=lambda s: s.key):
        if other.lo is not None and symbol in other.lo.free:
            found.append(atom(other) - other.lo)
        if other.hi is not None and symbol in other.hi.free:
            found.append(other.hi - atom(other))
    return found
