"""Proofs that a condition holds, or fails, for all admissible values of its symbols.

Sound and incomplete: ``None`` means "not decided".  A goal is a polynomial that must stay
above -1 (it is an integer, so then it is at least 0); every step replaces it by goals that
together are at least as hard, until numbers or the signs of coefficients settle it.

What holds at the ends of all ranges is seen without a search (``ends``), and what holds at one sample
point and fails at another has no proof (``quick_checks``).  The search tries, in this order: numeric
ranges; signs of coefficients once every symbol counts from its lower bound; subtracting a multiple of a
known non-negative expression; replacing a coordinate by the end of its range where the goal is least;
floors replaced by what bounds them; a clip split into its two cases.  Fuel bounds the whole search. What
a few steps of it do not find is given to ``linear``, which finds every proof that adds up linear
bounds, and only then to the rest of the search.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import permutations

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Not, Or, Truth, eq, ge, negate, polys_of
from tolcost.algebra.ends import holds_at_ends
from tolcost.algebra.floors import quick_floordiv
from tolcost.algebra.intervals import numerator_range, range_of
from tolcost.algebra.linear import follows
from tolcost.algebra.poly import (
    Monomial,
    Poly,
    as_poly,
    atom,
    const,
    monomial_product,
    multiply,
    poly,
    powers_of,
    scale,
)
from tolcost.algebra.quick_checks import (
    FEW,
    MANY,
    at_least_zero,
    direction,
    obvious,
    refuted,
    undecided,
)
from tolcost.algebra.substitute import QUICK, generators_in, rebuild, replace_generator
from tolcost.algebra.symbols import AlgebraBudget, Floor, Interval, Relu, Symbol, reach
from tolcost.dataclass import dataclass

_FUEL = 300
_MOST_NESTED = 6
_MOST_CLIPS = 8
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
        if _above(goal, known, _Fuel(_LITTLE_FUEL)):
            return True
        linear = follows(goal, known)
        if linear is not None:
            return linear
        if refuted(goal, known, MANY):
            return False
        if _never_negative(_without_ordered_clips(goal)):
            return True
        return _above(goal, known, _Fuel(_FUEL)) or _above_beyond_least(goal, known, _Fuel(_FUEL))
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
        known += _old_bounds(symbol, value) + _bounded_by(symbol, p)
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


@dataclass(slots=True)
class _Fuel:
    """How much more may be looked at, counted in terms of goals."""

    left: int

    def burn(self, goal: Poly) -> bool:
        """Take a goal; ``False`` when there is not enough left."""
        self.left -= 1 + len(goal.terms) * (1 + goal.height)
        return self.left >= 0


def _above(goal: Poly, known: tuple[Poly, ...], fuel: _Fuel, uses: int = 2) -> bool:
    """Whether ``goal > -1`` is shown wherever the known expressions are at least 0."""
    if not fuel.burn(goal):
        return False
    verdict = obvious(goal)
    if verdict is not None:  # what is known may still contradict itself, then anything holds
        return verdict or _by_known(goal, known, fuel, uses)
    return (
        _by_known(goal, known, fuel, uses)
        or _by_ends(goal, known, fuel, uses)
        or _by_floors(goal, known, fuel, uses)
        or _by_cases(goal, known, fuel, uses)
    )


def _by_known(goal: Poly, known: tuple[Poly, ...], fuel: _Fuel, uses: int) -> bool:
    """Subtract a positive multiple of something known, chosen to cancel a negative term."""
    if not uses:
        return False
    for index, fact in enumerate(known):
        for factor in _multipliers(goal, fact):
            others = known[:index] + known[index + 1 :]
            if _above(goal - multiply(fact, factor), others, fuel, uses - 1):
                return True
    return False


def _multipliers(goal: Poly, fact: Poly) -> list[Poly]:
    """Non-negative factors with which the fact cancels one negative term of the goal."""
    found: dict[Poly, None] = {}
    for mono, coef in goal.terms.items():
        if coef > 0:
            continue
        for other, against in fact.terms.items():
            left = _quotient(mono, other) if against < 0 and len(other) <= len(mono) else None
            if left is not None and (other or not mono or _pays_off(goal, fact, mono)):
                found[poly({left: -coef * fact.den}, -against * goal.den)] = None
    return list(found)


def _pays_off(goal: Poly, fact: Poly, mono: Monomial) -> bool:
    """Whether the goal has what subtracting the fact times a monomial takes away."""
    return all(
        goal.terms.get(monomial_product(mono, other), 0) > 0 for other, coef in fact.terms.items() if coef > 0
    )


def _quotient(mono: Monomial, part: Monomial) -> Monomial | None:
    left = list(mono)
    for generator in part:
        if generator not in left:
            return None
        left.remove(generator)
    return tuple(left) if all(map(at_least_zero, left)) else None


def _by_ends(goal: Poly, known: tuple[Poly, ...], fuel: _Fuel, uses: int) -> bool:
    """Replace a coordinate by an end of its range, or by both."""
    for symbol in _innermost_first(goal):
        way = direction(goal, symbol)
        if way is not None:
            ends = [symbol.lo if way > 0 else symbol.hi]
        elif all(symbol not in g.free or g is symbol for mono in goal.terms for g in mono) and set(
            powers_of(goal, symbol)
        ) <= {0, 1}:
            ends = [symbol.lo, symbol.hi]
        else:
            continue
        if symbol.kind == "length" and symbol.hi in ends and not _is_symbolic(symbol.hi):
            continue
        return all(end is not None and _at_end(goal, symbol, end, known, fuel, uses) for end in ends)
    return False


def _is_symbolic(bound: Poly | None) -> bool:
    return bound is not None and bound.constant is None


def _at_end(goal: Poly, symbol: Symbol, end: Poly, known: tuple[Poly, ...], fuel: _Fuel, uses: int) -> bool:
    """Prove the goal with the symbol at one end; that its range is not empty becomes known."""
    rest = tuple(fact for fact in known if symbol not in fact.free)
    if symbol.lo is not None and symbol.hi is not None:
        room = symbol.hi - symbol.lo
        if obvious(room) is not True:
            rest = (*rest, room)
    return _above(rebuild(goal, {symbol: end}, QUICK), rest, fuel, uses)


def _innermost_first(goal: Poly) -> list[Symbol]:
    """Give the symbols worth replacing by an end: those with a symbolic bound, or negative terms."""
    symbols = goal.free
    bounding = frozenset[Symbol]().union(*(b.free for s in symbols for b in (s.lo, s.hi) if b is not None))
    inner = [s for s in symbols if s not in bounding and not (s.lo is None and s.hi is None)]
    return sorted(inner, key=lambda s: (not _is_symbolic(s.hi) and not _is_symbolic(s.lo), s.key))


def _by_floors(goal: Poly, known: tuple[Poly, ...], fuel: _Fuel, uses: int) -> bool:
    """Replace floors by what bounds them from the side that matters."""
    floors = sorted({g for mono in goal.terms for g in mono if isinstance(g, Floor)}, key=lambda g: g.key)
    if not floors:
        return False
    paired = _paired(goal, floors)
    if paired is not None and _above(paired, known, fuel, uses):
        return True
    for floor in floors:
        relaxed = _relaxed(goal, floor)
        if relaxed is not None:
            return _above(relaxed, known, fuel, uses)
    definitions = tuple(fact for floor in floors for fact in _definition(floor) if fact not in known)
    return _by_known(goal, definitions + known, fuel, uses) if definitions else False


def _definition(floor: Floor) -> tuple[Poly, ...]:
    """What is at least 0 by the meaning of a floor: the remainder, and its distance to the divisor."""
    rest = floor.p - multiply(floor.q, atom(floor))
    return rest, floor.q - 1 - rest


def _paired(goal: Poly, floors: list[Floor]) -> Poly | None:
    """Use ``floor(a/c) - floor(b/c) >= floor((a - b)/c)`` on the first pair where it applies."""
    for up in floors:
        for down in floors:
            gain, loss = goal.terms.get((up,), 0), goal.terms.get((down,), 0)
            if up.q == down.q and gain > 0 > loss:
                times = min(gain, -loss)
                pair = quick_floordiv(up.p - down.p, up.q) - atom(up) + atom(down)
                return goal + scale(pair, times, goal.den)
    return None


def _relaxed(goal: Poly, floor: Floor) -> Poly | None:
    """Bound one floor by a fraction; only by a constant divisor, and with a factor of known sign."""
    step = floor.q.constant
    if step is None:
        return None
    parts = powers_of(goal, floor)
    if set(parts) - {0, 1}:
        return None
    factor = parts[1]
    if _never_negative(factor):
        bound = scale(floor.p - (step - 1), 1, step)
    elif _never_negative(-factor):
        bound = scale(floor.p, 1, step)
    else:
        return None
    return parts.get(0, const(0)) + multiply(factor, bound)


def _never_negative(p: Poly) -> bool:
    low = numerator_range(p)[0]
    return low is not None and low >= 0


def _by_cases(goal: Poly, known: tuple[Poly, ...], fuel: _Fuel, uses: int) -> bool:
    """Split on a clip: its argument is at least 0, or at most 0."""
    clips = [g for g in generators_in(goal) if isinstance(g, Relu)]
    clips.sort(key=lambda g: (g.height, g.key))
    if not clips:
        return False
    clip = clips[0]
    idle = replace_generator(goal, clip, const(0), QUICK)
    active = replace_generator(goal, clip, clip.p, QUICK)
    return _above(idle, (-clip.p, *known), fuel, uses) and _above(active, (clip.p, *known), fuel, uses)


def _without_ordered_clips(goal: Poly) -> Poly:
    """Leave out ``x*relu(p + 1) - x*relu(p)``, which is at least 0: the rest is no more than the goal.

    Only the sign counts, so that a goal is taken without its denominator.
    """
    terms = dict(goal.terms)
    clips = sorted({g for mono in terms for g in mono if isinstance(g, Relu)}, key=lambda g: g.key)
    for up, down in permutations(clips[:_MOST_CLIPS], 2):
        if ((up.p - down.p).constant or 0) <= 0:
            continue
        for mono in [mono for mono, loss in terms.items() if loss < 0]:
            rest = _quotient(mono, (down,))
            if rest is not None:
                gain = monomial_product(rest, (up,))
                times = min(max(terms.get(gain, 0), 0), -terms[mono])
                terms[mono] += times
                terms[gain] = terms.get(gain, 0) - times
    return poly({mono: coef for mono, coef in terms.items() if coef})


def _above_beyond_least(goal: Poly, known: tuple[Poly, ...], fuel: _Fuel) -> bool:
    """Look at the least value of one symbol apart: ``z*z >= z`` holds at 0, and from 1 on."""
    for symbol in sorted(_curved(goal), key=lambda s: s.key):
        if symbol.lo is not None and symbol.lo.constant is not None:
            least = rebuild(goal, {symbol: symbol.lo}, QUICK)
            beyond = atom(symbol) - symbol.lo - 1
            return _above(least, known, fuel) and _above(goal, (beyond, *known), fuel)
    return False


def _curved(goal: Poly) -> set[Symbol]:
    """Give the symbols with a positive term of higher power than some negative one."""
    most: dict[Symbol, int] = {}
    least: dict[Symbol, int] = {}
    for mono, coef in goal.terms.items():
        for generator in set(mono):
            if isinstance(generator, Symbol):
                times = mono.count(generator)
                if coef > 0:
                    most[generator] = max(times, most.get(generator, 0))
                else:
                    least[generator] = min(times, least.get(generator, times))
    return {symbol for symbol, times in least.items() if most.get(symbol, 0) > times}
