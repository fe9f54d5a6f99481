"""Quick checks, so that most questions need no search: signs prove, sample points refute.

The signs of all coefficients may show that a polynomial is non-negative, or that it rises or falls with a
symbol. A goal that fails at one of a few fixed sample points, at which every symbol has an admissible value,
has no proof; if it holds at all of them, the check says nothing. The value of a symbol depends only on the
symbol and the point, so it is kept with the symbol.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from operator import add, mul
from zlib import crc32

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Logic, Or, polys_of
from tolcost.algebra.floors import MEANING, at_least_zero, generator_range, numerator_range
from tolcost.algebra.poly import (
    UNIT,
    AlgebraBudget,
    Composite,
    Exponential,
    Floor,
    Generator,
    Log2,
    Monomial,
    NotInteger,
    Poly,
    Relu,
    Sum,
    Symbol,
    atom,
    behind,
    monomial_product,
    poly,
    reach,
    remember_samples,
)
from tolcost.algebra.walk import Rule, RuleTable

_MAX_SHIFTED = 400
"""The most terms that expanding around lower bounds may produce."""
_MAX_RECURSION = 8
"""Symbols that others bound through more levels are sampled outermost first, without recursion."""
FEW, MANY = 16, 40
"""The number of sample points for a first look, and for a thorough one."""
_SINGLE_POINTS = 4
"""The number of points that are evaluated one by one: most goals fail at one of the first."""
_NEAR_UPPER_BOUND = 1000
"""The largest distance of the bounds at which points near the upper bound are sampled, too."""
_MOST_TERMS = 200
"""Longer polynomials are not evaluated; a search would not handle them either."""
_FIXED_POINTS = 4
"""The number of points that are not pseudo-random.

All symbols are small at the first, large at the second, and in the middle of their ranges at the third; at
the last, coordinates of long ranges are small.
"""
_LARGE_POINT = range(1, 2)
"""The point at which all symbols are large."""
_SPREADS = (1, 100, 4, 300, 3, 12, 5, 1000)
"""The largest distance of a symbol from its lower bound, by point.

Half of the symbols use it, others are next to it.

Facts such as that a window fits into a length hold only where the length is in the hundreds.
"""


def decide_by_signs(goal: Poly) -> bool | None:
    """Decide ``goal > -1`` by numbers and signs; ``None`` if they do not decide it."""
    if not goal.terms:
        return True
    low, high = numerator_range(goal)
    if low is not None and low > -goal.den:
        return True
    if high is not None and high <= -goal.den:
        return False
    degree = max(map(len, goal.terms))
    if any(coef < 0 and len(mono) == degree for mono, coef in goal.terms.items()):
        return None  # shifting leaves the terms of highest degree as they are
    shifted = _shift_to_lower_bounds(goal)
    if shifted is not None and all(coef > 0 or not mono for mono, coef in shifted.terms.items()):
        return shifted.terms.get(UNIT, 0) > -shifted.den or None
    return None


def _shift_to_lower_bounds(goal: Poly) -> Poly | None:
    """Substitute its least value plus a new non-negative generator for every generator."""
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
        terms = _expand_shift(terms, generator, least)
    return poly(terms, goal.den)


def _expand_shift(terms: dict[Monomial, int], generator: Generator, least: int) -> dict[Monomial, int]:
    result: dict[Monomial, int] = {}
    get = result.get
    for mono, coef in terms.items():
        result[mono] = get(mono, 0) + coef
        times = mono.count(generator)
        rest = tuple([g for g in mono if g is not generator]) if times else mono
        for k in range(1, times + 1):  # expand (g + least)**times, the highest power of g first
            coef = coef * (times - k + 1) // k * least
            part = monomial_product(rest, (generator,) * (times - k))
            result[part] = get(part, 0) + coef
    return {mono: coef for mono, coef in result.items() if coef}


def direction(p: Poly, symbol: Symbol) -> int | None:
    """Return 1 if p never falls as the symbol grows, -1 if it never rises, ``None`` if unknown."""
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
    """Return the direction of a generator: its parts in which the symbol occurs have to agree."""
    rises = DIRECTIONS[type(generator)]
    touched = [(rise, part) for rise, part in zip(rises, generator.parts, strict=True) if symbol in part.free]
    ways = {direction(part, symbol) if rise else None for rise, part in touched}
    return ways.pop() if len(ways) == 1 else 1 if generator is symbol else None


DIRECTIONS: RuleTable[tuple[bool, ...]] = RuleTable(
    "direction",
    {
        Symbol: (),
        Floor: (True, False),
        Relu: (True,),
        Log2: (True,),
        Exponential: (True,),
        Sum: (False, False, False),
    },
)
"""For every part of a generator, whether the generator never falls as the part grows."""


def is_refuted(goal: Poly, known: tuple[Poly, ...], points: int = MANY) -> bool:
    """Whether the goal is at most -1 at some sample point where all known expressions are non-negative.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> is_refuted(n - 3, ()), is_refuted(n - 3, (n - 4,)), is_refuted(n - 1, ())
    (True, False, False)
    """
    if len(goal.terms) > _MOST_TERMS:
        return False
    for index, value in enumerate(_numerators(goal, points)):
        if value is not None and value <= -goal.den and _all_hold(known, index):
            return True
    return False


def is_undecided(cond: Cond, facts: tuple[Cond, ...]) -> bool:
    """Whether a condition holds at one point and fails at another, with the facts holding at both.

    >>> from tolcost.algebra.conditions import ge
    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> is_undecided(ge(n - 2), ()), is_undecided(ge(n - 2), (ge(n - 2),))
    (True, False)
    """
    if not facts and isinstance(cond, (Ge, Eq)) and compares_alike(cond):
        return True
    seen: bool | None = None
    at = _FIXED_POINTS
    # their proofs take longest, so more points are worth it
    points = MANY if isinstance(cond, (And, Or)) else FEW
    for index, holds in enumerate(_truths(cond, points)):
        if index == _FIXED_POINTS and seen is not None and at < 2 and _turns_at_end(cond, facts, at, seen):
            return True
        if holds is not None and holds is not seen and _facts_hold(facts, index):
            if seen is not None or (index > 1 and _turns_at_end(cond, facts, index, holds)):
                return True
            seen, at = holds, index
    return False


def _turns_at_end(cond: Cond, facts: tuple[Cond, ...], index: int, holds: bool) -> bool:
    """Whether moving one symbol to an end of its range, from point ``index``, changes the condition.

    If the facts hold at few points, a second one is hard to find by sampling; this one is next to a point
    where they hold.
    """
    asked = polys_of(cond)
    told = [*asked, *(p for fact in facts for p in polys_of(fact))]
    limits = [bound for p in told for s in p.free for bound in (s.lo, s.hi) if bound is not None]
    bounding = reach(s for bound in limits for s in bound.free)
    for symbol in {s for p in asked for s in p.free} - bounding:
        if symbol.lo is None or symbol.hi is None or not all(_is_linear(p, symbol) for p in told):
            continue
        here, *ends = (_values(q, range(index, index + 1))[0] for q in (atom(symbol), symbol.lo, symbol.hi))
        for end in ends:
            moved = None if end is None or here is None else (symbol, end - here)
            if moved and _truth(cond, index, moved) is (not holds) and _all_true(facts, index, moved):
                return True
    return False


def _is_linear(p: Poly, symbol: Symbol) -> bool:
    """Whether a symbol occurs in a polynomial only linearly, if at all."""
    return symbol not in p.free or all(
        mono == (symbol,) or not any(symbol in g.free for g in mono) for mono in p.terms
    )


_held: tuple[tuple[Cond, ...], dict[int, bool]] = ((), {})
"""The facts of the last question and whether they all hold, by point; most questions share their facts."""


def _facts_hold(facts: tuple[Cond, ...], index: int) -> bool:
    """Whether all facts hold at a sample point."""
    global _held
    known, found = _held
    if known is not facts:
        _held = facts, found = facts, {}
    if index not in found:
        found[index] = _all_true(facts, index)
    return found[index]


def _all_true(facts: tuple[Cond, ...], index: int, moved: tuple[Symbol, int] | None = None) -> bool:
    return all(_truth(fact, index, moved) for fact in facts)


def range_decides_nothing(cond: Ge | Eq) -> bool:
    """Whether numeric bounds show that the condition holds at one point and fails at another.

    This is so for a sum of symbols with numeric bounds: each symbol attains both ends independently of the
    others, and if all coefficients are 1 or -1, the sum attains every value in between.
    """
    p = cond.p
    for mono, coef in p.terms.items():
        if not mono:
            continue
        symbol = mono[0]
        if len(mono) > 1 or not isinstance(symbol, Symbol) or symbol.depth:
            return False
        least, most = generator_range(symbol)
        if least is not None and most is not None and least > most:
            return False  # in an empty domain every condition holds
        if coef not in (1, -1) and isinstance(cond, Eq):
            return False
    low, high = numerator_range(p)
    if isinstance(cond, Ge):
        return (low is None or low < 0) and (high is None or high >= 0)
    return p.den == 1 and low != high and (low is None or low <= 0) and (high is None or high >= 0)


def compares_alike(cond: Ge | Eq) -> bool:
    """Whether two coordinates of one range are compared, which may be long enough for both answers."""
    match [(mono, coef) for mono, coef in cond.p.terms.items() if mono]:
        case [((Symbol(kind="coord") as one,), 1 | -1 as a), ((Symbol(kind="coord") as other,), b)]:
            if a != -b or one.lo is None or one.hi is None or (one.lo, one.hi) != (other.lo, other.hi):
                return False
            ((low,), (high,)) = (_values(end, _LARGE_POINT) for end in (one.lo, one.hi))
            return low is not None and high is not None and high - low > abs(cond.p.terms.get(UNIT, 0))
        case _:
            return False


def _truths(cond: Cond, points: int) -> Iterator[bool | None]:
    """Yield whether a condition holds, point by point."""
    if not isinstance(cond, (Ge, Eq)) or len(cond.p.terms) > _MOST_TERMS:
        return (_truth(cond, index) for index in range(points))
    tops = _numerators(cond.p, points)
    if isinstance(cond, Ge):
        return (None if top is None else top >= 0 for top in tops)
    return (None if top is None else top == 0 for top in tops)


def _truth(cond: Cond, index: int, moved: tuple[Symbol, int] | None = None) -> bool | None:
    """Whether a condition holds at a point; ``None`` if it cannot be evaluated there.

    ``moved`` is a symbol and its distance from its value at the point; it occurs only linearly and bounds no
    other symbol.
    """

    def top(p: Poly) -> int | None:
        found = None if len(p.terms) > _MOST_TERMS else _numerator(p, index)
        return found if found is None or moved is None else found + p.terms.get((moved[0],), 0) * moved[1]

    return _THREE_VALUED.of(cond, top)


def _joined(parts: Iterable[bool | None], decisive: bool) -> bool | None:
    """Join truth values; one that is decisive decides, and otherwise an unknown one leaves all unknown."""
    whole: bool | None = not decisive
    for part in parts:
        if part is decisive:
            return decisive
        whole = None if part is None else whole
    return whole


_THREE_VALUED: Logic[int | None, bool | None] = Logic(
    lambda top: None if top is None else top >= 0,
    lambda top: None if top is None else top == 0,
    lambda top: None if top is None else top != 0,
    bool,
    partial(_joined, decisive=False),
    partial(_joined, decisive=True),
)


def _all_hold(known: tuple[Poly, ...], index: int) -> bool:
    values = (_numerator(fact, index) for fact in known)
    return all(value is not None and value >= 0 for value in values)


def _numerator(p: Poly, index: int) -> int | None:
    """Return ``p * p.den`` at a point; ``None`` if it cannot be evaluated there."""
    total = 0
    for mono, coef in p.terms.items():
        for generator in mono:
            samples = generator.samples
            if len(samples) <= index:
                samples = _extend_samples(generator, index)
            value = samples[index]
            if value is None:
                return None
            coef *= value
        total += coef
    return total


def _numerators(p: Poly, points: int) -> Iterator[int | None]:
    """Yield ``p * p.den`` point by point: the first few one by one, the others computed together."""
    for index in range(_SINGLE_POINTS):
        yield _numerator(p, index)
    totals = [0] * (points - _SINGLE_POINTS)
    for mono, coef in p.terms.items():
        values = [coef] * len(totals)
        for generator in mono:
            samples = generator.samples
            if len(samples) < points:
                samples = _extend_samples(generator, points - 1)
            if None in samples:
                yield from (_numerator(p, index) for index in range(_SINGLE_POINTS, points))
                return
            values = list(map(mul, values, samples[_SINGLE_POINTS:points]))
        totals = list(map(add, totals, values))
    yield from totals


def _extend_samples(generator: Generator, index: int) -> tuple[int | None, ...]:
    """Extend the samples of a generator to the given point, at least doubling their number."""
    if isinstance(generator, Symbol) and generator.depth > _MAX_RECURSION:
        for symbol in behind(generator):  # outermost first, so that the recursion stays shallow
            if len(symbol.samples) <= index:
                _extend_samples(symbol, index)
    known = generator.samples
    points = range(len(known), max(index + 1, 2 * len(known), _FIXED_POINTS))
    samples = (*known, *SAMPLES[type(generator)](generator, points))
    remember_samples(generator, samples)
    return samples


def _floor_samples(floor: Floor, points: range) -> Sequence[int | None]:
    parts = zip(_values(floor.p, points), _values(floor.q, points), strict=True)
    return [None if a is None or b is None or b < 1 else a // b for a, b in parts]


def _clip_samples(clip: Relu, points: range) -> Sequence[int | None]:
    return [None if inside is None else max(inside, 0) for inside in _values(clip.p, points)]


def _samples_by_meaning(generator: Composite, points: range) -> Sequence[int | None]:
    meaning, samples = MEANING[type(generator)], list[int | None]()
    for values in zip(*[_values(part, points) for part in generator.parts], strict=True):
        try:
            samples.append(None if None in values else meaning(generator, *values))
        except (NotInteger, AlgebraBudget):
            samples.append(None)
    return samples


def _values(p: Poly, points: range) -> Sequence[int | None]:
    """Return the values of a polynomial at the points; ``None`` where it has none."""
    constant = p.constant
    if constant is not None:
        return (constant,) * len(points)
    tops, den = [_numerator(p, index) for index in points], p.den
    return tops if den == 1 else [None if top is None or top % den else top // den for top in tops]


def _choose_values(symbol: Symbol, points: range) -> Sequence[int | None]:
    """Choose values between the bounds, at points where the bounds have values."""
    below, above = symbol.lo is None, symbol.hi is None
    seed = crc32(b"%d" % symbol.serial, crc32(symbol.name.encode())) if points.stop > _FIXED_POINTS else 0
    if not symbol.depth:  # bounded by numbers
        return _between_numbers(*generator_range(symbol), points, seed)
    nowhere = (None,) * len(points)
    lows = nowhere if symbol.lo is None else _values(symbol.lo, points)
    highs = nowhere if symbol.hi is None else _values(symbol.hi, points)
    return [
        _choose_value(low, high, index, seed)
        if (below or low is not None) and (above or high is not None)
        else None
        for index, low, high in zip(points, lows, highs, strict=True)
    ]


SAMPLES: RuleTable[Rule[Sequence[int | None]]] = RuleTable(
    "samples",
    {
        Symbol: _choose_values,
        Floor: _floor_samples,
        Relu: _clip_samples,
        Sum: lambda _, points: [None] * len(points),
    },
    otherwise=_samples_by_meaning,
)


@lru_cache(maxsize=1 << 8)  # most lengths share one range and, at the fixed points, one seed
def _between_numbers(low: int | None, high: int | None, points: range, seed: int) -> Sequence[int | None]:
    return tuple([_choose_value(low, high, index, seed) for index in points])


def _choose_value(low: int | None, high: int | None, index: int, seed: int) -> int | None:
    """Choose a value near the lower bound, or near the upper bound if that is close to it.

    At the first point everything is as small as possible, at the second large: most conditions that can be
    both true and false differ between these two. In the middle of all ranges many conditions hold together;
    at the beginning of long ranges, conditions on neighbours fail.
    """
    if index < _FIXED_POINTS:
        noise, spread = 0, _SPREADS[index]
        offset = spread - 1
    else:
        noise = (seed * (2 * index + 1) & 0xFFFFFFFF) >> 11  # the upper bits are random enough
        spread = _SPREADS[index % len(_SPREADS)] if noise & 2048 else 2
        offset = noise % spread
    if low is None:
        offset -= spread // 2
        return offset if high is None else min(offset, high)
    if high is None:
        return low + offset
    if high < low:
        return None
    if noise & 1024 and high - low < _NEAR_UPPER_BOUND:
        return high - offset % (high - low + 1)
    if index < _FIXED_POINTS and high - low < _NEAR_UPPER_BOUND:
        return (low, high, (low + high) // 2, low)[index]
    return min(low + offset, high)
