"""Proofs that a condition holds, or fails, for all admissible values of its symbols.

Sound and incomplete: ``None`` means "not decided". A goal is a polynomial that must stay above -1 (it is an
integer, so then it is at least 0).

A goal that holds at the ends of all ranges needs no search, and a condition that holds at one sample point
and fails at another has no proof (``quick_checks``). If a few steps of the search find nothing, ``linear``
looks for a proof that adds up linear bounds, which it always finds if there is one; only then the search goes
on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import permutations

from msgspec import Struct

from tolcost.algebra.conditions import (
    And,
    Cond,
    Eq,
    Ge,
    Not,
    Or,
    Truth,
    conjuncts,
    eq,
    ge,
    negate,
    polys_of,
    symbols_of_cond,
)
from tolcost.algebra.floors import (
    at_least_zero,
    generator_range,
    is_attained,
    never_negative,
    quick_floordiv,
    range_of,
    without,
)
from tolcost.algebra.linear import follows_linearly
from tolcost.algebra.poly import (
    AlgebraBudget,
    Exponential,
    Floor,
    Generator,
    Interval,
    Log2,
    Monomial,
    OutOfEffort,
    Poly,
    Relu,
    Symbol,
    as_poly,
    atom,
    const,
    data_symbol,
    monomial_product,
    multiply,
    poly,
    powers_of,
    reach,
    scale,
    spend,
)
from tolcost.algebra.quick_checks import (
    FEW,
    MANY,
    compares_alike,
    decide_by_signs,
    direction,
    is_refuted,
    is_undecided,
    range_decides_nothing,
)
from tolcost.algebra.rebuild import QUICK, generators_in, rebuild, replace_generator

# === The search: reduce a goal to goals that imply it, until numbers or signs decide one.
#
# A goal is a polynomial that must stay above -1. The search tries, in this order: numeric ranges; signs of
# coefficients once every symbol counts from its lower bound; subtracting a multiple of an expression known to
# be non-negative; replacing a coordinate by the end of its range where the goal is least; replacing floors by
# their bounds; splitting a clip into its two cases. Fuel bounds the whole search.


_MOST_CLIPS = 8
"""The most clips that are compared pairwise."""


class Fuel(Struct):
    """The effort left for one proof, counted in terms of goals."""

    left: int

    def burn(self, goal: Poly) -> bool:
        """Pay for looking at a goal; return ``False`` if not enough is left."""
        amount = 1 + len(goal.terms) * (1 + goal.height)
        spend(amount)
        self.left -= amount
        return self.left >= 0


def above(goal: Poly, known: tuple[Poly, ...], fuel: Fuel, uses: int = 2) -> bool:
    """Whether the search shows ``goal > -1`` wherever the known expressions are non-negative."""
    if not fuel.burn(goal):
        return False
    verdict = decide_by_signs(goal)
    if verdict is not None:  # a refuted goal may still follow from facts that contradict each other
        return verdict or _by_known(goal, known, fuel, uses)
    return (
        _by_known(goal, known, fuel, uses)
        or _by_ends(goal, known, fuel, uses)
        or _by_floors(goal, known, fuel, uses)
        or _by_cases(goal, known, fuel, uses)
    )


def _by_known(goal: Poly, known: tuple[Poly, ...], fuel: Fuel, uses: int) -> bool:
    """Subtract a positive multiple of a known expression, chosen to cancel a negative term."""
    if not uses:
        return False
    for index, fact in enumerate(known):
        if fuel.left < 0:
            return False
        for factor in _multipliers(goal, fact):
            others = known[:index] + known[index + 1 :]
            if above(goal - multiply(fact, factor), others, fuel, uses - 1):
                return True
    return False


def _multipliers(goal: Poly, fact: Poly) -> list[Poly]:
    """Return non-negative factors with which the fact cancels one negative term of the goal."""
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
    """Whether the goal has positive terms for all that subtracting the fact times a monomial takes away."""
    return all(
        goal.terms.get(monomial_product(mono, other), 0) > 0 for other, coef in fact.terms.items() if coef > 0
    )


def _quotient(mono: Monomial, part: Monomial) -> Monomial | None:
    left = without(mono, part)
    return left if left is not None and all(map(at_least_zero, left)) else None


def _by_ends(goal: Poly, known: tuple[Poly, ...], fuel: Fuel, uses: int) -> bool:
    """Replace a coordinate by the end of its range where the goal is least, or in turn by both ends."""
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
        if symbol.kind == "length" and symbol.hi in ends and not is_symbolic(symbol.hi):
            continue
        return all(end is not None and _at_end(goal, symbol, end, known, fuel, uses) for end in ends)
    return False


def is_symbolic(bound: Poly | None) -> bool:
    """Whether a bound depends on other symbols."""
    return bound is not None and bound.constant is None


def _at_end(goal: Poly, symbol: Symbol, end: Poly, known: tuple[Poly, ...], fuel: Fuel, uses: int) -> bool:
    """Prove the goal with the symbol at one end; the range becomes known to be non-empty."""
    rest = tuple(fact for fact in known if symbol not in fact.free)
    if symbol.lo is not None and symbol.hi is not None:
        room = symbol.hi - symbol.lo
        if decide_by_signs(room) is not True:
            rest = (*rest, room)
    return above(rebuild(goal, {symbol: end}, QUICK), rest, fuel, uses)


def _innermost_first(goal: Poly) -> list[Symbol]:
    """Return the symbols that no other symbol's bounds mention, those with symbolic bounds first."""
    symbols = goal.free
    bounding = frozenset[Symbol]().union(*(b.free for s in symbols for b in (s.lo, s.hi) if b is not None))
    inner = [s for s in symbols if s not in bounding and not (s.lo is None and s.hi is None)]
    return sorted(inner, key=lambda s: (not is_symbolic(s.hi) and not is_symbolic(s.lo), s.key))


def with_remainders(goal: Poly, known: tuple[Poly, ...]) -> tuple[Poly, tuple[Poly, ...]] | None:
    """Write the dividend of a floor as quotient and remainder: ``i - 1`` is ``q*f + r``, with r less than q.

    It helps if the goal has the floor times its divisor, as every remainder has.
    """
    floors = (g for g in generators_in(goal) if isinstance(g, Floor))
    for floor in sorted(floors, key=lambda g: g.key):
        symbol = _dividend_coordinate(floor)
        if symbol is not None and floor.q.constant is None and _has_product(goal, floor):
            quotient = data_symbol("quotient", *generator_range(floor))
            rest = data_symbol("remainder", 0, floor.q - 1)
            value = multiply(floor.q, quotient) + rest - (floor.p - atom(symbol))
            goal, *told = (
                rebuild(replace_generator(p, floor, quotient, QUICK), {symbol: value}, QUICK)
                for p in (goal, *known)
            )
            return goal, (*told, *bounds_kept(symbol, value))
    return None


def bounds_kept(symbol: Symbol, value: Poly) -> list[Poly]:
    """Return what the bounds of a symbol state about the value that replaces it."""
    low = [] if symbol.lo is None else [value - symbol.lo]
    return low if symbol.hi is None else [*low, symbol.hi - value]


def _dividend_coordinate(floor: Floor) -> Symbol | None:
    """Return the coordinate in a dividend, if it occurs with factor 1 and nowhere else in the floor."""
    single = [mono[0] for mono, coef in floor.p.terms.items() if len(mono) == 1 and coef == floor.p.den]
    for symbol in single:
        if isinstance(symbol, Symbol) and symbol.kind == "coord" and symbol not in floor.q.free:
            return None if symbol in (floor.p - atom(symbol)).free else symbol
    return None


def _has_product(goal: Poly, floor: Floor) -> bool:
    """Whether an expression, or an argument of its clips, has a product with the floor as a factor."""
    inside = [p for g in generators_in(goal) if isinstance(g, Relu) for p in g.parts]
    return any(floor in mono and len(mono) > 1 for p in (goal, *inside) for mono in p.terms)


def _by_floors(goal: Poly, known: tuple[Poly, ...], fuel: Fuel, uses: int) -> bool:
    """Replace floors by their bounds from the side that matters."""
    floors = sorted({g for mono in goal.terms for g in mono if isinstance(g, Floor)}, key=lambda g: g.key)
    if not floors:
        return False
    paired = _pair_floors(goal, floors)
    if paired is not None and above(paired, known, fuel, uses):
        return True
    for floor in floors:
        relaxed = _relax_floor(goal, floor)
        if relaxed is not None:
            return above(relaxed, known, fuel, uses)
    definitions = tuple(fact for floor in floors for fact in _defining_bounds(floor) if fact not in known)
    return _by_known(goal, definitions + known, fuel, uses) if definitions else False


def _defining_bounds(floor: Floor) -> tuple[Poly, ...]:
    """Return the non-negative expressions that define a floor: the remainder, and what it lacks to q - 1."""
    rest = floor.p - multiply(floor.q, atom(floor))
    return rest, floor.q - 1 - rest


def _pair_floors(goal: Poly, floors: list[Floor]) -> Poly | None:
    """Use ``floor(a/c) - floor(b/c) >= floor((a - b)/c)`` on the first pair of floors where it applies."""
    for up in floors:
        for down in floors:
            gain, loss = goal.terms.get((up,), 0), goal.terms.get((down,), 0)
            if up.q == down.q and gain > 0 > loss:
                times = min(gain, -loss)
                pair = quick_floordiv(up.p - down.p, up.q) - atom(up) + atom(down)
                return goal + scale(pair, times, goal.den)
    return None


def _relax_floor(goal: Poly, floor: Floor) -> Poly | None:
    """Bound one floor by a fraction; only if its divisor is constant and its factor has a known sign."""
    step = floor.q.constant
    if step is None:
        return None
    parts = powers_of(goal, floor)
    if set(parts) - {0, 1}:
        return None
    factor = parts[1]
    if never_negative(factor):
        bound = scale(floor.p - (step - 1), 1, step)
    elif never_negative(-factor):
        bound = scale(floor.p, 1, step)
    else:
        return None
    return parts.get(0, const(0)) + multiply(factor, bound)


def _by_cases(goal: Poly, known: tuple[Poly, ...], fuel: Fuel, uses: int) -> bool:
    """Split on a clip: its argument is at least 0, or at most 0."""
    clips = [g for g in generators_in(goal) if isinstance(g, Relu)]
    clips.sort(key=lambda g: (g.height, g.key))
    if not clips:
        return False
    clip = clips[0]
    idle = replace_generator(goal, clip, const(0), QUICK)
    active = replace_generator(goal, clip, clip.p, QUICK)
    return above(idle, (-clip.p, *known), fuel, uses) and above(active, (clip.p, *known), fuel, uses)


def without_ordered_clips(goal: Poly) -> Poly:
    """Drop ``x*relu(p + 1) - x*relu(p)``, which is non-negative: the goal is at least the rest.

    Only the sign matters, so the denominator of the goal is ignored.
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


def above_beyond_least(goal: Poly, known: tuple[Poly, ...], fuel: Fuel) -> bool:
    """Treat the least value of one symbol separately: ``z*z >= z`` holds at 0, and from 1 on."""
    for symbol in sorted(_symbols_of_higher_power(goal), key=lambda s: s.key):
        if symbol.lo is not None and symbol.lo.constant is not None:
            least = rebuild(goal, {symbol: symbol.lo}, QUICK)
            beyond = atom(symbol) - symbol.lo - 1
            return above(least, known, fuel) and above(goal, (beyond, *known), fuel)
    return False


def _symbols_of_higher_power(goal: Poly) -> set[Symbol]:
    """Return the symbols that occur in a positive term with a higher power than in some negative term."""
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


# === Proofs without a search: a linear goal, with every symbol at the end of its range where the goal is
# least.


_MOST_SPLIT = 3
"""The most clips that are split: each doubles the number of cases."""

Exponents = dict[Generator, int]


def holds_at_ends(goal: Poly) -> bool:
    """Whether a linear goal is above -1 at the ends of all ranges.

    Most conditions that always hold pass this check.

    Symbols are replaced from the innermost outward, so that their bounds can cancel against other terms. In
    an empty range every condition holds, so ranges need not be known to be non-empty.

    >>> from tolcost.algebra.poly import coordinate, length
    >>> n = length("n"); i = coordinate("i", n); j = coordinate("j", n - i)
    >>> holds_at_ends(n - i - j), holds_at_ends(n - i - j - 1)
    (True, False)
    """
    factors: Exponents = {}
    number = _add_multiple(factors, goal, 1)
    return number is not None and _is_least(factors, number + goal.den - 1, _MOST_SPLIT)


def _is_least(factors: Exponents, number: int, clips: int) -> bool:
    """Whether a linear combination of generators plus a number is non-negative at the ends."""
    while factors:
        inner = max(factors, key=_depth) if len(factors) > 1 else next(iter(factors))
        factor = factors.pop(inner)
        if isinstance(inner, Symbol):
            end = inner.lo if factor > 0 else inner.hi
            more = None if end is None or end.den > 1 else _add_multiple(factors, end, factor)
            if more is None:
                return False
            number += more
        elif isinstance(inner, Relu) and clips:
            return _is_least_of_clip(inner, factor, factors, number, clips - 1)
        else:
            return False
    return number >= 0


def _is_least_of_clip(clip: Relu, factor: int, factors: Exponents, number: int, clips: int) -> bool:
    """Decide ``_is_least`` for a clip, by 0 and by its argument; the clip is the larger of the two."""
    idle = _is_least(dict(factors), number, clips)
    if idle == (factor > 0):
        return idle
    more = _add_multiple(factors, clip.p, factor) if clip.p.den == 1 else None
    return more is not None and _is_least(factors, number + more, clips)


def _add_multiple(factors: Exponents, p: Poly, times: int) -> int | None:
    """Add a multiple of a polynomial's generators; return its constant, or None if it has products."""
    number = 0
    for mono, coef in p.terms.items():
        if not mono:
            number = coef * times
        elif len(mono) > 1:
            return None
        else:
            factors[mono[0]] = factors.get(mono[0], 0) + coef * times
            if not factors[mono[0]]:
                del factors[mono[0]]
    return number


def _depth(generator: Generator) -> float:
    """Return how far inside a generator is: further than the symbols in its bounds or parts."""
    if isinstance(generator, Symbol):
        return generator.depth
    return max([symbol.depth for symbol in generator.free], default=0) + 0.5


# === Proofs of conditions.


_FULL_FUEL = 300
"""The fuel of a full search, after cheaper ways have failed."""
_MOST_NESTED = 6
"""The deepest nesting that is searched: the time grows with every level, and programs seldom nest deeper."""
_LITTLE_FUEL = 8
"""Enough fuel for most goals that have a proof."""
_POINT_EFFORT = 16
"""The effort of a question before its search begins, for sample points and equations."""
_MOST_CASES = 16
"""The most cases into which disjunctive facts split a question."""


def prove(cond: Cond, facts: tuple[Cond, ...] = ()) -> bool | None:
    """Return ``True`` if the condition always holds, ``False`` if it never does, else ``None``.

    >>> from tolcost.algebra.poly import coordinate, length
    >>> from tolcost.algebra.conditions import ge
    >>> n = length("n"); i = coordinate("i", n)
    >>> prove(ge(n - i)), prove(ge(i - n - 1)), prove(ge(n - 2))
    (True, False, None)
    """
    if isinstance(cond, Truth):
        return cond.value
    # most conditions on lengths alone
    if not facts and isinstance(cond, (Ge, Eq)) and range_decides_nothing(cond):
        return None
    if cond in facts or (isinstance(cond, Ge) and holds_at_ends(cond.p)):
        return True
    return _search(cond, facts)


# loops are elaborated until they reach a fixpoint and repeat their questions, and so do similar programs
@lru_cache(maxsize=1 << 14)
def _search(cond: Cond, facts: tuple[Cond, ...]) -> bool | None:
    if _nests(cond, _MOST_NESTED) or is_undecided(cond, facts):
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
    left, grew = list(facts), True
    kept: set[Cond] = set()
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
    """Rewrite an inequality ``p != 0`` as a bound if 0 is an end of the range of p: proofs use bounds best.

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
    """Whether conditions are shown to hold nowhere together.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> contradict([ge(n - m - 1), ge(m - n - 1)]), contradict([ge(n - m - 1), ge(n - 5)])
    (True, False)
    """
    told = [c for c in conditions if isinstance(c, (Ge, Eq))]
    below = [-c.p for c in told if isinstance(c, Eq)]
    return follows_linearly(const(-1), [*(c.p for c in told), *below]) is True


def bounds(p: Poly | int, facts: tuple[Cond, ...] = ()) -> Interval:
    """Return a numeric range, narrowed by facts about the expression itself; no proof is searched for.

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
            return _nonnegative(p, facts) or _in_every_case(cond, facts)
        case Eq(p=p):
            return _holds(Ge(p), facts) and _holds(Ge(-p), facts)
        case Not(part=part):
            return _nonzero(part.p, facts)
        case And(parts=parts):
            return all(_holds(part, facts) for part in parts)
        case Or(parts=parts):
            return any(_holds(part, (*facts, *map(negate, parts[:k]))) for k, part in enumerate(parts))


def _in_every_case(cond: Ge, facts: tuple[Cond, ...]) -> bool:
    """Whether a condition holds in every case of disjunctive facts, such as "n is 1, or equal to m"."""
    either = dict.fromkeys(fact for fact in facts if isinstance(fact, Or))
    if not either:
        return False
    asked, choices, cases = reach(cond.p.free), list[Or](), 1
    for fact in either:
        if asked & reach(symbols_of_cond(fact)):
            cases *= len(fact.parts)
            choices += [fact] if cases <= _MOST_CASES else []
    others = tuple(fact for fact in facts if not isinstance(fact, Or) or fact in choices[1:])
    return bool(choices) and all(_holds(cond, (*others, part)) for part in choices[0].parts)


def _nonzero(p: Poly, facts: tuple[Cond, ...]) -> bool:
    if any(isinstance(fact, Not) and fact.part == eq(p) for fact in facts):
        return True
    return _nonnegative(p - 1, facts) or _nonnegative(-p - 1, facts)


def _nonnegative(p: Poly, facts: tuple[Cond, ...]) -> bool:
    if holds_at_ends(p) or any(holds_at_ends(p - fact.p) for fact in facts if isinstance(fact, Ge)):
        return True
    try:
        found = _search_nonnegative(p, facts)
    except OutOfEffort:
        raise
    except (AlgebraBudget, ZeroDivisionError, RecursionError):  # too large, or a divisor vanishes
        found = None
    # a proof without the facts is still a proof
    return _holds(Ge(p), ()) if found is None and facts else found is True


def _search_nonnegative(p: Poly, facts: tuple[Cond, ...]) -> bool | None:
    """Whether a search shows ``p >= 0``; ``None`` if it finds neither a proof nor a point that refutes it."""
    spend(_POINT_EFFORT)
    goal, known = _apply_equalities(p, facts)
    known += tuple(_bounds_of_logarithms(goal))
    if is_refuted(goal, known, FEW):
        return False
    if above(goal, known, Fuel(_LITTLE_FUEL)):
        return True
    linear = follows_linearly(goal, known)
    if linear is not None:
        return linear
    if is_refuted(goal, known, MANY):
        return False
    if never_negative(without_ordered_clips(goal)):
        return True
    apart = with_remainders(goal, known)
    if apart is not None and (follows_linearly(*apart) or above(*apart, Fuel(_FULL_FUEL))):
        return True
    if above(goal, known, Fuel(_FULL_FUEL)) or above_beyond_least(goal, known, Fuel(_FULL_FUEL)):
        return True
    return any(above(*by_excess, Fuel(_LITTLE_FUEL)) for by_excess in _by_excess(goal, known)) or None


def _bounds_of_logarithms(goal: Poly) -> Iterator[Poly]:
    """Yield what powers of rounded logarithms say: ``2**ceiling(log(n, 2))`` is at least n."""
    for generator in generators_in(goal) if goal.height else ():
        if isinstance(generator, Exponential) and generator.base == 2:
            for log in generators_in(generator.p):
                if isinstance(log, Log2) and generator.p == atom(log):
                    yield atom(generator) - log.p


def _apply_equalities(p: Poly, facts: tuple[Cond, ...]) -> tuple[Poly, tuple[Poly, ...]]:
    """Use equalities to remove symbols; return the goal and the known non-negative expressions."""
    known: list[Poly] = []
    equal: list[Poly] = []
    for fact in conjuncts(facts):
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
            known += (f, -f, *_bounds_by_divisibility(f, facts))
            continue
        symbol, value = solution
        known += bounds_kept(symbol, value) + _bounds_mentioning(symbol, p)
        p, *rest = (rebuild(x, {symbol: value}, QUICK) for x in (p, *known, *equal))
        known, equal = rest[: len(known)], rest[len(known) :]
    return p, tuple(f for f in known if f.constant is None)


def _bounds_by_divisibility(f: Poly, facts: tuple[Cond, ...]) -> list[Poly]:
    """Derive bounds from ``f == 0`` by divisibility: a multiple of 2 that is at least 1 is at least 2.

    >>> from tolcost.algebra.poly import length
    >>> k = length("k")
    >>> _bounds_by_divisibility(k - 3 * quick_floordiv(k, const(3)), ())[0]
    floor(k/3) - 1
    """
    found: list[Poly] = []
    for mono, coef in f.terms.items():
        if len(mono) == 1 and isinstance(mono[0], Floor) and f.den == 1 and abs(coef) > 1:
            whole = atom(mono[0])
            low, high = bounds(f - whole * coef if coef < 0 else whole * coef - f, facts)
            found += [] if low is None else [whole + low // -abs(coef)]
            found += [] if high is None else [high // abs(coef) - whole]
    return found


_EXCESS = data_symbol("excess")  # serial-numbered, so it can never clash with a user's length named 'excess'


def _by_excess(goal: Poly, known: tuple[Poly, ...]) -> Iterator[tuple[Poly, tuple[Poly, ...]]]:
    """Replace ``m >= 1`` by ``m = 1 + excess``.

    It reveals a factor of several terms such as ``(m - 1)*(n + 1)``.
    """
    curved = {s for mono in goal.terms if len(mono) > 1 for s in mono if isinstance(s, Symbol)}
    for fact in known:
        solution = _solution(fact - _EXCESS)
        if solution is not None and solution[0] in curved:
            kept = (*known, *bounds_kept(*solution), *_bounds_mentioning(solution[0], goal))
            lifted, *rest = (rebuild(p, dict([solution]), QUICK) for p in (goal, *kept))
            yield lifted, tuple(p for p in rest if p.constant is None)


def _solution(f: Poly) -> tuple[Symbol, Poly] | None:
    """Return a symbol that ``f == 0`` determines, and its value."""
    for mono, coef in f.terms.items():
        if len(mono) == 1 and coef in (1, -1) and isinstance(mono[0], Symbol):
            rest = f - scale(atom(mono[0]), coef)
            if mono[0] not in rest.free:
                return mono[0], rest * -coef
    return None


def _bounds_mentioning(symbol: Symbol, p: Poly) -> list[Poly]:
    """State the bounds of coordinates that mention a symbol, so that they survive its replacement."""
    found = []
    for other in sorted(p.free, key=lambda s: s.key):
        if other.lo is not None and symbol in other.lo.free:
            found.append(atom(other) - other.lo)
        if other.hi is not None and symbol in other.hi.free:
            found.append(other.hi - atom(other))
    return found
