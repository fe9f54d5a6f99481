"""Floors, clips and exact division, in a normal form that needs no proof: only numeric ranges decide.

A floor by a number keeps coefficients between 0 and the number, without a common divisor;
floors inside floors merge where that is exact.  A floor by a polynomial takes out the
divisible part and cancels what both sides share.  Divisors are at least 1: where that is
not obvious the caller records it as a condition.

The argument of a ``Relu`` has integer coefficients without a common divisor and a positive
leading one, since ``relu(-p) = relu(p) - p``.  So ``max(a, b) + min(a, b) == a + b`` holds by
plain equality.  What a proof can settle beyond that is for ``piecewise``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import gcd

from tolcost.algebra.intervals import generator_range, numerator_range, range_of
from tolcost.algebra.poly import (
    UNIT,
    ZERO,
    Monomial,
    Poly,
    Terms,
    add,
    as_poly,
    atom,
    const,
    monomial_product,
    poly,
    scale,
    total_of,
)
from tolcost.algebra.symbols import Exponential, Floor, Generator, floor_of, log2_of, relu_of

_MAX_GRID = 512


def quick_floordiv(p: Poly | int, q: Poly | int) -> Poly:
    """Floor of ``p / q``.

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
    """Floor of the numerator of ``p`` by ``divisor`` (which includes the denominator)."""
    subtracted = _only_subtracted_floor(p) if divisor == 2 and p.height else None
    if subtracted:  # modulo 2 the sign would be lost below, and ceilings of ceilings with it
        return _merged_ceiling(subtracted, poly(p.terms) + atom(subtracted), divisor)
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
    return add(known, _reduced_floor(rest, divisor))


def _least_factor(mono: Monomial) -> int:
    """A number that divides a monomial with powers, wherever it stands: 2 divides ``2**s`` where s >= 1."""
    factor = 1
    for generator in mono:
        if isinstance(generator, Exponential):
            factor *= generator_range(generator)[0] or 1
    return factor


def _reduced_floor(rest: Terms, divisor: int) -> Poly:
    """Floor with coefficients already between 0 and the divisor, and not constant."""
    offset = rest.pop(UNIT, 0)
    common = gcd(divisor, *rest.values())
    if common > 1:
        divisor //= common
        offset //= common
        rest = {mono: coef // common for mono, coef in rest.items()}
    if _always_divides(rest, divisor):  # what is left, the offset, is less than the divisor
        return poly(rest, divisor)
    if offset:
        rest[UNIT] = offset
    top = Poly(rest)
    low, high = numerator_range(top)
    if low is not None and high is not None and low // divisor == high // divisor:
        return const(low // divisor)
    merged = _merged(top, divisor)
    return atom(floor_of(top, const(divisor))) if merged is None else merged


def _merged(top: Poly, divisor: int) -> Poly | None:
    """Merge the one floor of coefficient 1 or -1 into this one; ``None`` if there is none or several."""
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
    return _merged_ceiling(floor, others, divisor) + atom(floor)


def _merged_ceiling(floor: Floor, others: Poly, divisor: int) -> Poly:
    """Floor of ``(others - floor) / divisor``, since a floor with a minus is a ceiling."""
    return quick_floordiv(others * floor.q - floor.p + floor.q - 1, floor.q * divisor)


def _only_subtracted_floor(p: Poly) -> Floor | None:
    """Give the floor that stands with coefficient -1, where it is the only floor."""
    floors = [g for mono in p.terms for g in mono if isinstance(g, Floor)]
    if len(floors) == 1 and p.terms.get((floors[0],)) == -1 and floors[0].q.constant is not None:
        return floors[0]
    return None


def _always_divides(terms: Terms, divisor: int) -> bool:
    """Whether the divisor divides the value for all integers in place of the generators.

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
    """Whether the value is an integer for all integers in place of the generators (may miss some)."""
    if p.den == 1:
        return True
    rest = {mono: coef % p.den for mono, coef in p.terms.items() if coef % p.den}
    return UNIT not in rest and _always_divides(rest, p.den)


def exact_div(p: Poly | int, q: Poly | int) -> Poly | None:
    """Quotient where it is an integer for all values, else ``None``.

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
        quotient = scale(top, divisor, divisor * divisor)  # what is divided by stays positive
        return quotient if is_integer_valued(quotient) else None
    found = exact_quotient(top, bottom)
    return found if found is not None and is_integer_valued(found) else None


def divide(p: Poly, q: Poly) -> tuple[Poly, Poly]:
    """Quotient and remainder by the leading term of ``q``, where coefficients divide exactly."""
    quotient, rest = _divide(p, q, stop_early=False)
    return quotient, rest


def exact_quotient(p: Poly, q: Poly) -> Poly | None:
    """Quotient, with any coefficients, if there is no remainder, else ``None``.

    Dividing by the common divisor first loses nothing: what is left then divides in integers.
    """
    content = gcd(*q.terms.values())
    quotient, rest = _divide(p, scale(q, 1, content), stop_early=True)
    return None if rest.terms else scale(quotient, 1, content)


def _divide(p: Poly, q: Poly, stop_early: bool) -> tuple[Poly, Poly]:
    lead = max(q.terms, key=_grade)
    lead_coef = q.terms[lead]
    others = [(mono, coef) for mono, coef in q.terms.items() if mono != lead]
    todo, grades = dict(p.terms), {mono: _grade(mono) for mono in p.terms}
    quotient: Terms = {}
    rest: Terms = {}
    while todo and not (stop_early and rest):
        mono = max(todo, key=grades.__getitem__)
        coef = todo.pop(mono)
        left = _without(mono, lead)
        if left is None or coef % lead_coef:
            rest[mono] = coef
            continue
        times = quotient[left] = coef // lead_coef
        for other, by in others:
            there = monomial_product(left, other)
            grades.setdefault(there, _grade(there))
            change = todo.get(there, 0) - times * by
            if change:
                todo[there] = change
            else:
                todo.pop(there, None)
    return scale(poly(quotient, p.den), q.den), poly(rest, p.den)


def _grade(mono: Monomial) -> tuple[int, tuple[object, ...]]:
    """Degree first, then names from the last: a monomial order, so that division ends."""
    return (len(mono), tuple(g.key for g in reversed(mono)))


def _without(mono: Monomial, part: Monomial) -> Monomial | None:
    """Give ``mono`` divided by ``part``, or ``None``."""
    left = list(mono)
    for generator in part:
        if generator not in left:
            return None
        left.remove(generator)
    return tuple(left)


def _floor_by_poly(p: Poly, q: Poly) -> Poly:
    p, q = scale(p, p.den * q.den), scale(q, p.den * q.den)
    p, q = _cancelled(p, q)
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
    known = known_quotient(rest, q, _in_range)
    return atom(floor_of(rest, q)) if known is None else const(known)


def known_quotient(p: Poly, q: Poly, nonnegative: Callable[[Poly], bool]) -> int | None:
    """Give ``floor(p/q)`` where it is seen to be 0 or -1."""
    if nonnegative(p):
        return 0 if nonnegative(q - p - 1) else None
    return -1 if nonnegative(-p - 1) and nonnegative(p + q) else None


def _in_range(p: Poly) -> bool:
    low = numerator_range(p)[0]
    return low is not None and low >= 0


def _lone_floor(p: Poly) -> Floor | None:
    """Give the floor that is all of p."""
    ((mono, coef), *more) = p.terms.items()
    lone = not more and coef == 1 and len(mono) == 1
    return mono[0] if lone and isinstance(mono[0], Floor) else None


def _cancelled(p: Poly, q: Poly) -> tuple[Poly, Poly]:
    """Divide both by the numbers and positive generators they share."""
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
    """Divide by a generator that all terms have."""
    single = (generator,)
    return Poly({_without(mono, single) or UNIT: coef for mono, coef in p.terms.items()}, p.den)


def quick_relu(p: Poly) -> Poly:
    """Give the larger of ``p`` and 0."""
    low, high = range_of(p)
    if low is not None and low >= 0:
        return p
    return ZERO if high is not None and high <= 0 else canonical_relu(p)


def canonical_relu(p: Poly) -> Poly:
    """Clip what is neither known to be positive nor negative."""
    content = gcd(*p.terms.values())
    if leading_coefficient(p) < 0:
        content = -content
    primitive = Poly({mono: coef // content for mono, coef in p.terms.items()})
    clipped = scale(atom(relu_of(primitive)), abs(content), p.den)
    return clipped if content > 0 else clipped + p


def ceil_log2(p: Poly | int) -> Poly:
    """Give the least integer e >= 0 with ``2**e >= p``.

    >>> from tolcost.algebra.poly import length
    >>> ceil_log2(5), ceil_log2(length("n") + 1)
    (3, ceiling(log(n + 1, 2)))
    """
    value = as_poly(p)
    known = _known_log2(value)
    if known is not None:
        return known
    low, high = generator_range(log2_of(value))
    return const(low) if low is not None and low == high else atom(log2_of(value))


def _known_log2(p: Poly) -> Poly | None:
    """The logarithm of what is a power of 2 as it stands.

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
    """Give the coefficient of the term that is shown first: the highest degree, then the first name."""
    return p.terms[min(p.terms, key=lambda mono: (-len(mono), tuple(g.key for g in mono)))]
