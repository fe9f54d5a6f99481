"""What signs say at a glance: about a polynomial, and about which way it moves with a symbol.

No search happens here; ``goals`` searches.
"""

from __future__ import annotations

from tolcost.algebra.intervals import generator_range, numerator_range
from tolcost.algebra.poly import UNIT, Monomial, Poly, monomial_product, poly
from tolcost.algebra.symbols import Floor, Generator, Relu, Sum, Symbol

_MAX_SHIFTED = 400


def obvious(goal: Poly) -> bool | None:
    """Settle by numbers and signs; ``None`` where they do not settle it."""
    if not goal.terms:
        return True
    low, high = numerator_range(goal)
    if low is not None and low > -goal.den:
        return True
    if high is not None and high <= -goal.den:
        return False
    shifted = _counted_from_lower_bounds(goal)
    if shifted is not None and all(coef > 0 or not mono for mono, coef in shifted.terms.items()):
        return shifted.terms.get(UNIT, 0) > -shifted.den or None
    return None


def is_own_bound(goal: Poly) -> bool:
    """Whether the goal is a symbol less one that it bounds, perhaps through others: ``n - i``."""
    if len(goal.terms) != 2 or goal.den != 1:
        return False
    (a, first), (b, second) = goal.terms.items()
    if first + second or abs(first) != 1 or len(a) != 1 or len(b) != 1:
        return False
    large, small = (a[0], b[0]) if first > 0 else (b[0], a[0])
    while isinstance(small, Symbol) and small.hi is not None:
        if len(small.hi.terms) != 1:
            return False
        ((mono, coef),) = small.hi.terms.items()
        if coef != 1 or len(mono) != 1 or small.hi.den != 1:
            return False
        small = mono[0]
        if small is large:
            return True
    return False


def _counted_from_lower_bounds(goal: Poly) -> Poly | None:
    """Replace every generator by its least value and a new one that is at least 0."""
    if len(goal.terms) == 1:
        return None
    shifts: dict[Generator, int] = {}
    for mono in goal.terms:
        for generator in mono:
            least = generator_range(generator)[0]
            if least is None:
                return None
            if least:
                shifts[generator] = least
    if sum(1 << sum(g in shifts for g in mono) for mono in goal.terms) > _MAX_SHIFTED:
        return None
    terms = dict(goal.terms)
    for generator, least in shifts.items():
        terms = _shifted(terms, generator, least)
    return poly(terms, goal.den)


def _shifted(terms: dict[Monomial, int], generator: Generator, least: int) -> dict[Monomial, int]:
    result: dict[Monomial, int] = {}
    for mono, coef in terms.items():
        times = mono.count(generator)
        rest = tuple(g for g in mono if g is not generator) if times else mono
        binomial = coef
        for k in range(times + 1):  # (g + least)**times, highest power of g first
            part = monomial_product(rest, (generator,) * (times - k)) if k < times else rest
            result[part] = result.get(part, 0) + binomial
            binomial = binomial * (times - k) // (k + 1) * least
    return {mono: coef for mono, coef in result.items() if coef}


def direction(p: Poly, symbol: Symbol) -> int | None:
    """Give 1 if p never falls as the symbol grows, -1 if it never rises, ``None`` if unknown."""
    ways = set[int]()
    for mono, coef in p.terms.items():
        touched = [g for g in mono if symbol in g.free]
        if not touched:
            continue
        way = _monomial_direction(mono, touched, symbol)
        if way is None:
            return None
        ways.add(way if coef > 0 else -way)
        if len(ways) > 1:
            return None
    return ways.pop() if ways else 1


def _monomial_direction(mono: Monomial, touched: list[Generator], symbol: Symbol) -> int | None:
    if len(mono) > 1 and not all(map(at_least_zero, mono)):
        return None
    ways = {_generator_direction(g, symbol) for g in touched}
    return ways.pop() if len(ways) == 1 else None


def _generator_direction(generator: Generator, symbol: Symbol) -> int | None:
    match generator:
        case Symbol():
            return 1
        case Relu(p=p):
            return direction(p, symbol)
        case Floor(p=p, q=q):
            return None if symbol in q.free else direction(p, symbol)
        case Sum():
            return None


def at_least_zero(generator: Generator) -> bool:
    """Whether a generator is known to be at least 0 by its numeric range."""
    low = generator_range(generator)[0]
    return low is not None and low >= 0
