"""Numeric ranges, and the normal form of floors, clips and exact division that they decide without a proof.

A floor by a number keeps coefficients between 0 and the number, without a common divisor; nested floors merge
if that is exact. A floor by a polynomial takes out the divisible part and cancels common factors. Divisors
are at least 1: where that is not obvious, the caller records it as a condition.

The argument of a ``Relu`` has integer coefficients without a common divisor and a positive leading
coefficient, since ``relu(-p) = relu(p) - p``. So ``max(a, b) + min(a, b) == a + b`` holds by plain equality.
Simplifications that need a proof are in ``piecewise``.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from itertools import product
from math import gcd, inf

from tolcost.algebra.poly import (
    MAX_BITS,
    MAX_EXPONENT,
    UNIT,
    ZERO,
    Exponential,
    Floor,
    Generator,
    Interval,
    Log2,
    Monomial,
    NotInteger,
    Poly,
    Relu,
    Sum,
    Symbol,
    Terms,
    add,
    as_poly,
    atom,
    behind,
    const,
    monomial_product,
    poly,
    remember_interval,
    scale,
    subtract,
    total_of,
)
from tolcost.algebra.powers import number_power
from tolcost.algebra.walk import Rule, RuleTable

# === Numeric ranges: the values that an expression can have for all admissible values of its symbols.
#
# Only numbers are used; a symbolic bound counts by its own range. ``prove`` is stronger and slower.


EVERYTHING: Interval = (None, None)
_UNIT: Interval = (1, 1)
_MAX_RECURSION = 8
"""Symbols that others bound through more levels get their ranges outermost first, without recursion."""


def range_of(p: Poly) -> Interval:
    """Return integers below and above every value, ``None`` where there is none.

    >>> from tolcost.algebra.poly import length
    >>> range_of(length("n", 1, 10) * 2 - 3)
    (-1, 17)
    """
    number = p.constant
    if number is not None:
        return number, number
    low, high = numerator_range(p)
    return (None if low is None else -(-low // p.den)), (None if high is None else high // p.den)


def is_attained(p: Poly) -> bool:
    """Whether the ends of the range are attained, as by a sum of symbols with numeric bounds.

    >>> from tolcost.algebra.poly import coordinate, length
    >>> n = length("n")
    >>> is_attained(3 - n), is_attained(n - coordinate("i", n))
    (True, False)
    """
    return p.den == 1 and all(len(mono) < 2 and all(map(_is_by_itself, mono)) for mono in p.terms)


def _is_by_itself(generator: Generator) -> bool:
    if not isinstance(generator, Symbol):
        return False
    low, high = (None if end is None else end.constant for end in (generator.lo, generator.hi))
    if (low is None) != (generator.lo is None) or (high is None) != (generator.hi is None):
        return False
    return low is None or high is None or low <= high


def numerator_range(p: Poly) -> Interval:
    """Return the range of the numerator, that is of ``p * p.den``."""
    low: int | None = 0
    high: int | None = 0
    for mono, coef in p.terms.items():
        if not mono:
            least, most = _UNIT
        elif len(mono) == 1:
            least, most = mono[0].interval or generator_range(mono[0])
        else:
            least, most = _monomial_range(mono)
        if coef < 0:
            least, most = most, least
        low = None if low is None or least is None else low + coef * least
        high = None if high is None or most is None else high + coef * most
    return low, high


def _monomial_range(mono: Monomial) -> Interval:
    low: int | None = 1
    high: int | None = 1
    for index, generator in enumerate(mono):
        least, most = generator_range(generator)
        if low is not None and low >= 0 and least is not None and least >= 0:
            low = low * least
            high = None if high is None or most is None else high * most
        else:
            low, high = _multiply_ranges((low, high), (least, most))
        if index > 8 and high is not None and high.bit_length() > MAX_BITS:
            return EVERYTHING
    if len(mono) == 2 and mono[0] is mono[1] and (low is None or low < 0):
        low = 0  # a square
    return low, high


def _multiply_ranges(a: Interval, b: Interval) -> Interval:
    """Multiply two ranges of any sign."""
    ends = [_end_product(x, y) for x in _ends(a) for y in _ends(b)]
    low, high = min(ends), max(ends)
    return (low if isinstance(low, int) else None), (high if isinstance(high, int) else None)


def _ends(a: Interval) -> tuple[int | float, int | float]:
    return (-inf if a[0] is None else a[0]), (inf if a[1] is None else a[1])


def _end_product(x: int | float, y: int | float) -> int | float:
    """Multiply two ends; infinities are floats, and 0 times infinity is 0."""
    if x == 0 or y == 0:
        return 0
    if isinstance(x, int) and isinstance(y, int):
        return x * y
    return inf if (x > 0) == (y > 0) else -inf


def generator_range(generator: Generator) -> Interval:
    """Return the range of a generator; it is computed once and kept with the generator."""
    if generator.interval is None:
        if isinstance(generator, Symbol) and generator.depth > _MAX_RECURSION:
            for symbol in behind(generator):  # outermost first, so that the recursion stays shallow
                generator_range(symbol)
        remember_interval(generator, RANGES[type(generator)](generator))
    return generator.interval or EVERYTHING


def _symbol_range(symbol: Symbol) -> Interval:
    lo, hi = symbol.lo, symbol.hi
    return (None if lo is None else range_of(lo)[0]), (None if hi is None else range_of(hi)[1])


def _clip_range(clip: Relu) -> Interval:
    low, high = range_of(clip.p)
    return max(low or 0, 0), None if high is None else max(high, 0)


def _log_range(log: Log2) -> Interval:
    low, high = range_of(log.p)
    return 0 if low is None else log2_of_number(low), None if high is None else log2_of_number(high)


def _power_range(power: Exponential) -> Interval:
    base, (least, most) = power.base, range_of(power.p)
    top = most if most is not None and 0 <= most <= MAX_EXPONENT else None
    return int(base ** min(max(least or 0, 0), MAX_EXPONENT)), None if top is None else int(base**top)


def _floor_range(floor: Floor) -> Interval:
    """Return the range of a floor whose divisor is at least 1."""
    top, bottom = range_of(floor.p), range_of(floor.q)
    least, most = max(bottom[0] or 1, 1), bottom[1]
    if most is not None and most < 1:  # the division is never performed: the domain around it is empty
        return EVERYTHING
    low, high = top
    if low is not None:
        low = low // least if low < 0 else (0 if most is None else low // most)
    if high is not None:
        high = high // least if high >= 0 else (-1 if most is None else high // most)
    return low, high


def _sum_range(generator: Sum) -> Interval:
    body = range_of(generator.body)
    count = range_of(generator.hi - generator.lo + 1)[1]
    low = 0 if body[0] is not None and body[0] >= 0 else None
    high = 0 if body[1] is not None and body[1] <= 0 else None
    if count is not None:
        count = max(count, 0)
        low = low if body[0] is None else min(0, body[0] * count)
        high = high if body[1] is None else max(0, body[1] * count)
    return low, high


RANGES: RuleTable[Rule[Interval]] = RuleTable(
    "range",
    {
        Symbol: _symbol_range,
        Floor: _floor_range,
        Relu: _clip_range,
        Log2: _log_range,
        Exponential: _power_range,
        Sum: _sum_range,
    },
)


# === What generators mean in numbers: the value of each kind from the values of its parts.
#
# Evaluation at a point and at many, prepared functions and samples all ask this table. A sum is not in it:
# the value of its body depends on the binder, so every pass that evaluates has a rule for sums.


def log2_of_number(value: int) -> int:
    """Return the least e >= 0 with ``2**e >= value``.

    >>> [log2_of_number(n) for n in (0, 1, 2, 3, 4, 5)]
    [0, 0, 1, 2, 2, 3]
    """
    return max(value - 1, 0).bit_length()


class BadDivisor(NotInteger):
    """A divisor is not positive; the message is written only if someone reads it."""

    def __str__(self) -> str:
        """Name the divisor and its value."""
        divisor, value = self.args
        return f"a divisor, {divisor}, is {value} at this point; it must be at least 1"


def _floor(generator: Floor, p: int, q: int) -> int:
    if q < 1:
        raise BadDivisor(generator.q, q)
    return p // q


def _clip(_: Relu, p: int) -> int:
    return max(p, 0)


def _logarithm(_: Log2, p: int) -> int:
    return log2_of_number(p)


def _power(generator: Exponential, p: int) -> int:
    return number_power(generator.base, p)


MEANING: RuleTable[Rule[int]] = RuleTable(
    "meaning", {Floor: _floor, Relu: _clip, Log2: _logarithm, Exponential: _power}
)
"""The value of a generator, from the generator and the values of its parts in their order.

It raises ``NotInteger`` where there is none."""


# === Floors, clips and exact division.


_MAX_GRID = 512
"""The most products that checking divisibility on a grid of points may take."""


def quick_floordiv(p: Poly | int, q: Poly | int) -> Poly:
    """Floor of ``p / q``, normalised by numeric ranges alone.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> quick_floordiv(quick_floordiv(n + 1, 2) + 1, 2)
    floor((n + 3)/4)
    """
    top, bottom = as_poly(p), as_poly(q)
    divisor = bottom.constant
    if divisor is None:
        return _floor_by_poly(top, bottom)
    if divisor == 0:
        raise ZeroDivisionError("floor division by 0")
    if divisor < 0:
        top, divisor = -top, -divisor
    return _floor_by_number(top, divisor * top.den)


def _floor_by_number(p: Poly, divisor: int) -> Poly:
    """Floor of the numerator of ``p`` by ``divisor``, which includes the denominator."""
    subtracted = _only_subtracted_floor(p) if divisor == 2 and p.height else None
    # modulo 2, -1 and 1 are equal: the sign would be lost below, and nested ceilings would not merge
    if subtracted:
        return _merge_ceiling(subtracted, poly(p.terms) + atom(subtracted), divisor)
    whole: Terms = {}
    rest: Terms = {}
    even: Terms = {}
    for mono, coef in p.terms.items():
        quotient, remainder = divmod(coef, divisor)
        if remainder and p.height and coef * _least_factor(mono) % divisor == 0:
            even[mono] = coef
            continue
        if quotient:
            whole[mono] = quotient
        if remainder:
            rest[mono] = remainder
    known = add(Poly(whole), poly(even, divisor)) if even else Poly(whole)
    if not rest or (len(rest) == 1 and UNIT in rest):
        return known
    return add(known, _floor_of_remainders(rest, divisor))


def _least_factor(mono: Monomial) -> int:
    """Return a number that always divides a monomial with powers: 2 divides ``2**s`` if s >= 1."""
    factor = 1
    for generator in mono:
        if isinstance(generator, Exponential):
            factor *= generator_range(generator)[0] or 1
    return factor


def _floor_of_remainders(rest: Terms, divisor: int) -> Poly:
    """Floor of terms whose coefficients lie between 0 and the divisor, and which are not constant."""
    offset = rest.pop(UNIT, 0)
    common = gcd(divisor, *rest.values())
    if common > 1:
        divisor //= common
        offset //= common
        rest = {mono: coef // common for mono, coef in rest.items()}
    if _always_divides(rest, divisor):  # the remaining offset is less than the divisor
        return poly(rest, divisor)
    if offset:
        rest[UNIT] = offset
    if _is_mostly_above_half(rest, divisor):
        both, other = _mirror(rest, divisor)
        return subtract(both, _floor_of_remainders(other, divisor))
    top = Poly(rest)
    low, high = numerator_range(top)
    if low is not None and high is not None:
        if low // divisor == high // divisor:
            return const(low // divisor)
        both, other = _mirror(rest, divisor)
        least, most = numerator_range(Poly(other))
        if least is not None and most is not None and least // divisor == most // divisor:
            return subtract(both, const(least // divisor))
    merged = _merge_inner_floor(top, divisor)
    return atom(Floor.make(top, const(divisor))) if merged is None else merged


def _is_mostly_above_half(top: Terms, divisor: int) -> bool:
    """Whether most coefficients are above half of the divisor; in a tie, the first coefficient decides."""
    apart = [mono for mono, coef in top.items() if mono and 2 * coef != divisor]
    above = sum(2 * top[mono] > divisor for mono in apart)
    if 2 * above != len(apart) or not apart:
        return 2 * above > len(apart)
    return 2 * top[min(apart, key=lambda mono: tuple(g.key for g in mono))] > divisor


def _mirror(top: Terms, divisor: int) -> tuple[Poly, Terms]:
    """Return the sum of a floor and its mirror image, and the numerator of the mirror image.

    The two numerators add up to the divisor times the sum, plus the divisor minus one: where one floor rounds
    down, the other does not.
    """
    names = [mono for mono in top if mono]
    other = {mono: divisor - top[mono] for mono in names}
    offset = divisor - 1 - top.get(UNIT, 0)
    return Poly(dict.fromkeys(names, 1)), {**other, UNIT: offset} if offset else other


def mirrored_floor(floor: Floor) -> Poly | None:
    """Write a floor by a number as a sum minus its mirror image; one of the two is in normal form.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> ((ceiling,),) = ((n + 2) // 3).terms
    >>> [(coef, Poly({mono: 1})) for mono, coef in mirrored_floor(ceiling).terms.items()]
    [(1, n), (-1, floor(2*n/3))]
    """
    divisor = floor.q.constant
    if divisor is None:
        return None
    both, other = _mirror(dict(floor.p.terms), divisor)
    normal = subtract(both, quick_floordiv(Poly(other), floor.q))
    return subtract(both, atom(Floor.make(Poly(other), floor.q))) if normal == atom(floor) else normal


def _merge_inner_floor(top: Poly, divisor: int) -> Poly | None:
    """Merge the one floor of coefficient 1 or -1 into the floor around it.

    ``None`` if there is none or several.
    """
    single = [(mono[0], coef) for mono, coef in top.terms.items() if len(mono) == 1]
    floors = [(g, coef) for g, coef in single if isinstance(g, Floor) and coef in (1, divisor - 1)]
    if len(floors) != 1:
        return None
    floor, coef = floors[0]
    others = top - scale(atom(floor), coef)
    if floor.q.constant is None:
        return quick_floordiv(floor.p, floor.q * divisor) if coef == 1 and not others.terms else None
    if coef == 1:
        return quick_floordiv(floor.p + others * floor.q, floor.q * divisor)
    return _merge_ceiling(floor, others, divisor) + atom(floor)


def _merge_ceiling(floor: Floor, others: Poly, divisor: int) -> Poly:
    """Floor of ``(others - floor) / divisor``; a floor with a minus sign is a ceiling."""
    return quick_floordiv(others * floor.q - floor.p + floor.q - 1, floor.q * divisor)


def _only_subtracted_floor(p: Poly) -> Floor | None:
    """Return the only floor of a polynomial if its coefficient is -1."""
    floors = [g for mono in p.terms for g in mono if isinstance(g, Floor)]
    if len(floors) == 1 and p.terms.get((floors[0],)) == -1 and floors[0].q.constant is not None:
        return floors[0]
    return None


def _always_divides(terms: Terms, divisor: int) -> bool:
    """Whether the divisor divides the value for all integer values of the generators.

    A polynomial that does so on a grid of degree + 1 points per generator does so everywhere.
    """
    if max(map(len, terms)) < 2:
        return False
    generators = sorted({g for mono in terms for g in mono}, key=lambda g: g.key)
    degrees = [max(mono.count(g) for mono in terms) for g in generators]
    size = 1
    for degree in degrees:
        size *= degree + 1
    if size * len(terms) > _MAX_GRID:
        return False
    points = product(*(range(degree + 1) for degree in degrees))
    return all(_value(terms, generators, point) % divisor == 0 for point in points)


def _value(terms: Terms, generators: list[Generator], point: tuple[int, ...]) -> int:
    values = dict(zip(generators, point, strict=True))
    total = 0
    for mono, coef in terms.items():
        for generator in mono:
            coef *= values[generator]
        total += coef
    return total


def is_integer_valued(p: Poly) -> bool:
    """Whether the value is an integer for all integer values of the generators (incomplete)."""
    if p.den == 1:
        return True
    rest = {mono: coef % p.den for mono, coef in p.terms.items() if coef % p.den}
    return UNIT not in rest and _always_divides(rest, p.den)


def exact_div(p: Poly | int, q: Poly | int) -> Poly | None:
    """Return the quotient if it is an integer for all values, else ``None``.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> exact_div(n * n * m + n * m, n + 1)
    m*n
    """
    top, bottom = as_poly(p), as_poly(q)
    divisor = bottom.constant
    if divisor is not None:
        if divisor == 0:
            return None
        # a positive denominator also for a negative divisor
        quotient = scale(top, divisor, divisor * divisor)
        return quotient if is_integer_valued(quotient) else None
    found = exact_quotient(top, bottom)
    return found if found is not None and is_integer_valued(found) else None


def exact_quotient(p: Poly, q: Poly) -> Poly | None:
    """Return the quotient, with rational coefficients, if there is no remainder, else ``None``.

    Dividing by the content of the divisor first loses nothing: the primitive rest then divides with integer
    coefficients.
    """
    content = gcd(*q.terms.values())
    quotient, rest = divide(p, scale(q, 1, content), stop_early=True)
    return None if rest.terms else scale(quotient, 1, content)


def divide(p: Poly, q: Poly, stop_early: bool = False) -> tuple[Poly, Poly]:
    """Divide by the leading term of ``q``, as long as coefficients divide exactly.

    Return quotient and remainder.
    """
    lead = max(q.terms, key=_grade)
    lead_coef = q.terms[lead]
    others = [(mono, coef) for mono, coef in q.terms.items() if mono != lead]
    todo, of_grade = dict(p.terms), {_grade(mono): mono for mono in p.terms}
    order = sorted(of_grade)
    quotient: Terms = {}
    rest: Terms = {}
    while order and not (stop_early and rest):
        mono = of_grade[order.pop()]
        coef = todo.pop(mono)
        if not coef:
            continue
        left = without(mono, lead)
        if left is None or coef % lead_coef:
            rest[mono] = coef
            continue
        times = quotient[left] = coef // lead_coef
        for other, by in others:
            there = monomial_product(left, other)
            if there not in todo:
                grade = _grade(there)
                of_grade[grade], todo[there] = there, 0
                insort(order, grade)
            todo[there] -= times * by
    return scale(poly(quotient, p.den), q.den), poly(rest, p.den)


def _grade(mono: Monomial) -> tuple[int, tuple[object, ...]]:
    """Return the sort key of a monomial order (degree, then names from the last), so that division ends."""
    return (len(mono), tuple(g.key for g in reversed(mono)))


def without(mono: Monomial, part: Monomial) -> Monomial | None:
    """Divide a monomial by another; ``None`` if it lacks one of its factors."""
    left = list(mono)
    for generator in part:
        if generator not in left:
            return None
        left.remove(generator)
    return tuple(left)


def shared_monomial(p: Poly) -> Monomial:
    """Return the greatest monomial that divides all terms."""
    shared, *others = p.terms
    for mono in others:
        if not shared:
            break
        left = list(mono)
        both = []
        for generator in shared:
            if generator in left:
                left.remove(generator)
                both.append(generator)
        shared = tuple(both)
    return shared


def _floor_by_poly(p: Poly, q: Poly) -> Poly:
    p, q = scale(p, p.den * q.den), scale(q, p.den * q.den)
    p, q = _cancel(p, q)
    if q.constant is not None:
        return quick_floordiv(p, q)
    whole, rest = divide(p, q)
    if whole.terms:
        return whole + _floor_by_poly(rest, q)
    if not rest.terms:
        return ZERO
    inner = _lone_floor(rest)
    if inner is not None:
        return _floor_by_poly(inner.p, inner.q * q)
    known = known_quotient(rest, q, never_negative)
    if known is not None:
        return const(known)
    if max(rest.terms.values()) < 0 and never_negative(q - 1):  # floor(-n/b) is -1 - floor((n - 1)/b)
        return -_floor_by_poly(-rest - 1, q) - 1
    return atom(Floor.make(rest, q))


def known_quotient(p: Poly, q: Poly, nonnegative: Callable[[Poly], bool]) -> int | None:
    """Return ``floor(p/q)`` if ``nonnegative`` shows that it is 0 or -1."""
    if nonnegative(p):
        return 0 if nonnegative(q - p - 1) else None
    return -1 if nonnegative(-p - 1) and nonnegative(p + q) else None


def never_negative(p: Poly) -> bool:
    """Whether numeric ranges alone show that an expression is non-negative."""
    low = numerator_range(p)[0]
    return low is not None and low >= 0


def _lone_floor(p: Poly) -> Floor | None:
    """Return the floor that a polynomial consists of."""
    ((mono, coef), *more) = p.terms.items()
    lone = not more and coef == 1 and len(mono) == 1
    return mono[0] if lone and isinstance(mono[0], Floor) else None


def _cancel(p: Poly, q: Poly) -> tuple[Poly, Poly]:
    """Divide both by the numbers and the positive generators that they share."""
    common = gcd(*q.terms.values(), *(coef for mono, coef in p.terms.items() if mono))
    if common > 1:
        p = Poly({mono: coef // common for mono, coef in p.terms.items() if coef // common})
        q = Poly({mono: coef // common for mono, coef in q.terms.items()})
    if UNIT in p.terms or UNIT in q.terms or not p.terms:
        return p, q
    for generator in next(iter(q.terms)):
        monos = (*p.terms, *q.terms)
        if (generator_range(generator)[0] or 0) >= 1 and all(generator in mono for mono in monos):
            p, q = divided(p, generator), divided(q, generator)
    return p, q


def divided(p: Poly, generator: Generator) -> Poly:
    """Divide by a generator that occurs in all terms."""
    single = (generator,)
    return Poly({without(mono, single) or UNIT: coef for mono, coef in p.terms.items()}, p.den)


def quick_relu(p: Poly) -> Poly:
    """Return the larger of ``p`` and 0, using numeric ranges alone."""
    low, high = range_of(p)
    if low is not None and low >= 0:
        return p
    return ZERO if high is not None and high <= 0 else canonical_relu(p)


def at_least_zero(generator: Generator) -> bool:
    """Whether a generator is non-negative by its numeric range."""
    low = generator_range(generator)[0]
    return low is not None and low >= 0


def canonical_relu(p: Poly) -> Poly:
    """Build the clip of an expression whose sign is unknown.

    Non-negative common factors move before the clip.

    >>> from tolcost.algebra.poly import length
    >>> n, m, k = length("n"), length("m"), length("k")
    >>> canonical_relu(2 * k * n - 2 * k * m)
    2*k*Max(n - m, 0)
    """
    content = gcd(*p.terms.values())
    if leading_coefficient(p) < 0:
        content = -content
    shared = tuple(g for g in shared_monomial(p) if at_least_zero(g))
    primitive = Poly({without(mono, shared) or UNIT: coef // content for mono, coef in p.terms.items()})
    clipped = poly({monomial_product(shared, (Relu.make(primitive),)): abs(content)}, p.den)
    return clipped if content > 0 else clipped + p


def ceil_log2(p: Poly | int) -> Poly:
    """Return the least integer e >= 0 with ``2**e >= p``.

    >>> from tolcost.algebra.poly import length
    >>> ceil_log2(5), ceil_log2(length("n") + 1)
    (3, ceiling(log(n + 1, 2)))
    """
    value = as_poly(p)
    known = _known_log2(value)
    if known is not None:
        return known
    low, high = generator_range(Log2.make(value))
    return const(low) if low is not None and low == high else atom(Log2.make(value))


def _known_log2(p: Poly) -> Poly | None:
    """Return the logarithm of an expression that is visibly a power of 2.

    >>> from tolcost.algebra.poly import length
    >>> from tolcost.algebra.powers import powers
    >>> ceil_log2(powers(2, 3 * length("p") + 1))
    3*p + 1
    """
    if len(p.terms) != 1:
        return None
    ((mono, coef),) = p.terms.items()
    exponents = [g.p for g in mono if isinstance(g, Exponential) and g.base == 2]
    is_power = coef > 0 and coef & (coef - 1) == 0 and p.den & (p.den - 1) == 0
    if not mono or len(exponents) != len(mono) or not is_power:
        return None
    return total_of(exponents) + (coef.bit_length() - p.den.bit_length())


def leading_coefficient(p: Poly) -> int:
    """Return the coefficient of the term that is printed first: the highest degree, then the first name."""
    return p.terms[min(p.terms, key=lambda mono: (-len(mono), tuple(g.key for g in mono)))]
