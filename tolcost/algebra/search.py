"""The search for a proof: goals that are at least as hard, until numbers or signs settle one.

A goal is a polynomial that must stay above -1.  The search tries, in this order: numeric ranges; signs of
coefficients once every symbol counts from its lower bound; subtracting a multiple of a known non-negative
expression; replacing a coordinate by the end of its range where the goal is least; floors replaced by what
bounds them; a clip split into its two cases.  Fuel bounds the whole search.
"""

from __future__ import annotations

from itertools import permutations

from tolcost.algebra.floors import quick_floordiv
from tolcost.algebra.intervals import generator_range, numerator_range
from tolcost.algebra.poly import (
    Monomial,
    Poly,
    atom,
    const,
    data_symbol,
    monomial_product,
    multiply,
    poly,
    powers_of,
    scale,
)
from tolcost.algebra.quick_checks import at_least_zero, direction, obvious
from tolcost.algebra.substitute import QUICK, generators_in, rebuild, replace_generator
from tolcost.algebra.symbols import Floor, Relu, Symbol
from tolcost.dataclass import dataclass

_MOST_CLIPS = 8
"""As many are compared with one another."""


@dataclass(slots=True)
class Fuel:
    """How much more may be looked at, counted in terms of goals."""

    left: int

    def burn(self, goal: Poly) -> bool:
        """Take a goal; ``False`` when there is not enough left."""
        self.left -= 1 + len(goal.terms) * (1 + goal.height)
        return self.left >= 0


def above(goal: Poly, known: tuple[Poly, ...], fuel: Fuel, uses: int = 2) -> bool:
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


def _by_known(goal: Poly, known: tuple[Poly, ...], fuel: Fuel, uses: int) -> bool:
    """Subtract a positive multiple of something known, chosen to cancel a negative term."""
    if not uses:
        return False
    for index, fact in enumerate(known):
        for factor in _multipliers(goal, fact):
            others = known[:index] + known[index + 1 :]
            if above(goal - multiply(fact, factor), others, fuel, uses - 1):
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


def _by_ends(goal: Poly, known: tuple[Poly, ...], fuel: Fuel, uses: int) -> bool:
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


def _at_end(goal: Poly, symbol: Symbol, end: Poly, known: tuple[Poly, ...], fuel: Fuel, uses: int) -> bool:
    """Prove the goal with the symbol at one end; that its range is not empty becomes known."""
    rest = tuple(fact for fact in known if symbol not in fact.free)
    if symbol.lo is not None and symbol.hi is not None:
        room = symbol.hi - symbol.lo
        if obvious(room) is not True:
            rest = (*rest, room)
    return above(rebuild(goal, {symbol: end}, QUICK), rest, fuel, uses)


def _innermost_first(goal: Poly) -> list[Symbol]:
    """Give the symbols worth replacing by an end: those with a symbolic bound, or negative terms."""
    symbols = goal.free
    bounding = frozenset[Symbol]().union(*(b.free for s in symbols for b in (s.lo, s.hi) if b is not None))
    inner = [s for s in symbols if s not in bounding and not (s.lo is None and s.hi is None)]
    return sorted(inner, key=lambda s: (not _is_symbolic(s.hi) and not _is_symbolic(s.lo), s.key))


def with_remainders(goal: Poly, known: tuple[Poly, ...]) -> tuple[Poly, tuple[Poly, ...]] | None:
    """Say by quotient and remainder what a floor divides: ``i - 1`` is ``q*f + r``, and r is less than q.

    It helps where the goal has the floor times its divisor, as every remainder has.
    """
    for floor in sorted(_floors_in(goal), key=lambda g: g.key):
        symbol = _divided(floor)
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
    """What the bounds of a symbol say about the value it is replaced by."""
    low = [] if symbol.lo is None else [value - symbol.lo]
    return low if symbol.hi is None else [*low, symbol.hi - value]


def _floors_in(goal: Poly) -> list[Floor]:
    return [g for g in generators_in(goal) if isinstance(g, Floor)]


def _divided(floor: Floor) -> Symbol | None:
    """A coordinate that a floor divides as it is, plus or minus what does not depend on it."""
    single = [mono[0] for mono, coef in floor.p.terms.items() if len(mono) == 1 and coef == floor.p.den]
    for symbol in single:
        if isinstance(symbol, Symbol) and symbol.kind == "coord" and symbol not in floor.q.free:
            return None if symbol in (floor.p - atom(symbol)).free else symbol
    return None


def _has_product(goal: Poly, floor: Floor) -> bool:
    """Whether an expression, or what it clips, has a floor beside something else in a product."""
    inside = [p for g in generators_in(goal) if isinstance(g, Relu) for p in g.parts]
    return any(floor in mono and len(mono) > 1 for p in (goal, *inside) for mono in p.terms)


def _by_floors(goal: Poly, known: tuple[Poly, ...], fuel: Fuel, uses: int) -> bool:
    """Replace floors by what bounds them from the side that matters."""
    floors = sorted({g for mono in goal.terms for g in mono if isinstance(g, Floor)}, key=lambda g: g.key)
    if not floors:
        return False
    paired = _paired(goal, floors)
    if paired is not None and above(paired, known, fuel, uses):
        return True
    for floor in floors:
        relaxed = _relaxed(goal, floor)
        if relaxed is not None:
            return above(relaxed, known, fuel, uses)
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
    if never_negative(factor):
        bound = scale(floor.p - (step - 1), 1, step)
    elif never_negative(-factor):
        bound = scale(floor.p, 1, step)
    else:
        return None
    return parts.get(0, const(0)) + multiply(factor, bound)


def never_negative(p: Poly) -> bool:
    """Whether numeric ranges alone show that an expression is at least 0."""
    low = numerator_range(p)[0]
    return low is not None and low >= 0


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


def above_beyond_least(goal: Poly, known: tuple[Poly, ...], fuel: Fuel) -> bool:
    """Look at the least value of one symbol apart: ``z*z >= z`` holds at 0, and from 1 on."""
    for symbol in sorted(_curved(goal), key=lambda s: s.key):
        if symbol.lo is not None and symbol.lo.constant is not None:
            least = rebuild(goal, {symbol: symbol.lo}, QUICK)
            beyond = atom(symbol) - symbol.lo - 1
            return above(least, known, fuel) and above(goal, (beyond, *known), fuel)
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
