"""Powers of numbers with symbolic exponents, in a form in which equal powers are equal.

A base is split into primes, and an exponent into its summands as long as none can be negative: ``4**(p + 1)``
is 4 times the square of ``2**p``. An exponent with negative terms is counted from its least value, so that
the power stays an integer: for s up to 5, ``2**(1 - s)`` is a sixteenth of ``2**(5 - s)``.
"""

from __future__ import annotations

from functools import lru_cache

from tolcost.algebra.poly import (
    MAX_DEGREE,
    MAX_EXPONENT,
    UNIT,
    AlgebraBudget,
    Exponential,
    Generator,
    Log2,
    Monomial,
    NotInteger,
    OrderKey,
    Poly,
    Sum,
    Symbol,
    atom,
    const,
    define_products,
    poly,
    product_of,
    scale,
    total_of,
)

_LARGEST_SHIFT = 64
"""The largest distance below 0 by which an exponent is shifted to make its power an integer."""


def powers(base: int, exponent: Poly) -> Poly:
    """Raise a number of at least 1 to an exponent that is non-negative wherever the power is used.

    >>> from tolcost.algebra.poly import length
    >>> p, s = length("p"), length("s")
    >>> powers(2, p + 3), powers(4, p) == powers(2, p) ** 2, powers(2, p - s) * powers(2, s)
    (8*2**p, True, 2**p)
    """
    offset = exponent.terms.get(UNIT, 0) // exponent.den
    variable, number = exponent - offset, _number_power(base, offset)
    if not variable.terms:
        return number
    if offset > 0 and _may_be_negative(variable):  # without its constant the power would be a fraction
        variable, number = exponent, const(1)
    factors = (_prime_power(prime, scale(variable, times)) for prime, times in prime_factors(base))
    return product_of((number, *factors))


def _may_be_negative(variable: Poly) -> bool:
    """Whether an exponent without its constant falls, by an amount that its bounds do not tell."""
    least = least_value(variable) if min(variable.terms.values()) < 0 else 0
    return least is None or abs(least) > _LARGEST_SHIFT


def _prime_power(base: int, exponent: Poly) -> Poly:
    """Raise a prime to an exponent; a falling exponent is counted from its least value."""
    if exponent.den == 1 and all(_is_simple(mono, coef) for mono, coef in exponent.terms.items()):
        same = (
            Exponential.make(base, atom(g), False)
            for (g,), coef in exponent.terms.items()
            for _ in range(coef)
        )
        return Poly({tuple(sorted(same, key=_order)): 1})
    least = least_value(exponent) or 0
    # so far below 0 the bounds are too weak to be used; the caller guarantees that the exponent is not
    # negative
    if abs(least) > _LARGEST_SHIFT:
        least = 0
    return product_of((_number_power(base, least), atom(Exponential.make(base, exponent - least, True))))


def _is_simple(mono: Monomial, coef: int) -> bool:
    """Whether an exponent is a positive multiple of one generator that is never negative."""
    if len(mono) != 1 or not 0 < coef <= MAX_DEGREE:
        return False
    (generator,) = mono
    low = generator.lo.constant if isinstance(generator, Symbol) and generator.lo is not None else None
    return low is not None and low >= 0 if isinstance(generator, Symbol) else not isinstance(generator, Sum)


def least_value(p: Poly) -> int | None:
    """Return the least value of a sum of symbols, from their bounds alone: ``p - s`` is 0 if s <= p.

    >>> from tolcost.algebra.poly import coordinate, length
    >>> p = length("p", 0)
    >>> least_value(p - coordinate("s", p + 3)), least_value(-coordinate("s", 5)), least_value(p * p)
    (-3, -5, None)
    >>> turns = atom(Log2.make(length("n")))
    >>> least_value(turns - coordinate("s", turns)), least_value(-turns)
    (0, None)
    """
    while p.constant is None:
        alone = [mono[0] for mono in p.terms if len(mono) == 1]
        symbols = [generator for generator in alone if isinstance(generator, Symbol)]
        others = [generator for generator in alone if isinstance(generator, Log2)]
        if len(symbols) + len(others) < len(p.terms) - (UNIT in p.terms):
            return None
        if not symbols:  # a logarithm is 0 or more
            rises = p.den == 1 and all(p.terms[one,] > 0 for one in others)
            return p.terms.get(UNIT, 0) if rises else None
        inner = max(symbols, key=lambda symbol: symbol.depth)
        slope = p.terms[inner,]
        bound = inner.lo if slope > 0 else inner.hi
        if bound is None or p.den != 1:
            return None
        p = p + scale(bound - atom(inner), slope)
    return p.constant


def multiply_powers(a: Poly, b: Poly) -> Poly:
    """Multiply polynomials with ``whole`` powers; each absorbs the other powers of its base."""
    parts = []
    for left, x in a.terms.items():
        for right, y in b.terms.items():
            mono = left + right
            bases = {g.base for g in mono if isinstance(g, Exponential) and g.whole}
            taken = [g for g in mono if isinstance(g, Exponential) and g.base in bases]
            rest = tuple(g for g in mono if g not in taken)
            merged = [powers(base, total_of(g.p for g in taken if g.base == base)) for base in sorted(bases)]
            factor, den = x * y, a.den * b.den
            for single in merged:
                ((more, times),) = single.terms.items()
                rest, factor, den = rest + more, factor * times, den * single.den
            parts.append(poly({tuple(sorted(rest, key=_order)): factor}, den))
    return total_of(parts)


def _number_power(base: int, exponent: int) -> Poly:
    """Raise a number to a known exponent.

    A negative one gives a fraction, which another factor makes whole.
    """
    value = number_power(base, abs(exponent))
    return const(value) if exponent >= 0 else Poly({UNIT: 1}, value)


def number_power(base: int, exponent: int) -> int:
    """Raise a number to a known exponent; refuse a negative exponent, and one above ``MAX_EXPONENT``."""
    if exponent < 0:
        raise NotInteger(f"{base} to the power of {exponent} is no integer")
    if exponent > MAX_EXPONENT:
        raise AlgebraBudget(f"a power has an exponent above {MAX_EXPONENT}")
    return int(base**exponent)


@lru_cache(maxsize=64)
def prime_factors(number: int) -> tuple[tuple[int, int], ...]:
    """Return the prime factors of a number with their multiplicities.

    >>> prime_factors(360)
    ((2, 3), (3, 2), (5, 1))
    """
    found: list[tuple[int, int]] = []
    divisor = 2
    while number > 1:
        if divisor * divisor > number:
            divisor = number
        times = 0
        while number % divisor == 0:
            number, times = number // divisor, times + 1
        if times:
            found.append((divisor, times))
        divisor += 1
    return tuple(found)


def _order(generator: Generator) -> OrderKey:
    return generator.key


define_products(multiply_powers)
