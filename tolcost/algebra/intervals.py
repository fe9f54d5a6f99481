"""Cheap numeric ranges: where an expression lies for all admissible values of its symbols.

Only numbers are looked at; bounds that are symbolic count by their own range.  ``prove`` is
the stronger and slower tool.
"""

from __future__ import annotations

from math import inf

from tolcost.algebra.poly import Monomial, Poly
from tolcost.algebra.symbols import (
    MAX_BITS,
    MAX_EXPONENT,
    Exponential,
    Floor,
    Generator,
    Interval,
    Log2,
    Relu,
    Sum,
    Symbol,
    behind,
    remember_interval,
)

EVERYTHING: Interval = (None, None)
_UNIT: Interval = (1, 1)
_DEEP = 8


def range_of(p: Poly) -> Interval:
    """Give integers below and above every value, ``None`` where there is none.

    >>> from tolcost.algebra.poly import length
    >>> range_of(length("n", 1, 10) * 2 - 3)
    (-1, 17)
    """
    low, high = numerator_range(p)
    return (None if low is None else -(-low // p.den)), (None if high is None else high // p.den)


def is_attained(p: Poly) -> bool:
    """Whether the ends of a range are seen to be values: a sum of symbols that do not depend on each other.

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
    """Give the range of the numerator, that is of ``p * p.den``."""
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
        if low is None and high is None:
            break
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
            low, high = _times((low, high), (least, most))
        if index > 8 and high is not None and high.bit_length() > MAX_BITS:
            return EVERYTHING
    if len(mono) == 2 and mono[0] is mono[1] and (low is None or low < 0):
        low = 0  # a square
    return low, high


def _times(a: Interval, b: Interval) -> Interval:
    """Product of two ranges of any sign."""
    ends = [_end_product(x, y) for x in _ends(a) for y in _ends(b)]
    low, high = min(ends), max(ends)
    return (low if isinstance(low, int) else None), (high if isinstance(high, int) else None)


def _ends(a: Interval) -> tuple[int | float, int | float]:
    return (-inf if a[0] is None else a[0]), (inf if a[1] is None else a[1])


def _end_product(x: int | float, y: int | float) -> int | float:
    """Product where only the infinities are floats, and 0 times infinity is 0."""
    if x == 0 or y == 0:
        return 0
    if isinstance(x, int) and isinstance(y, int):
        return x * y
    return inf if (x > 0) == (y > 0) else -inf


def generator_range(generator: Generator) -> Interval:
    """Give the range of one generator; computed once."""
    if generator.interval is None:
        if isinstance(generator, Symbol) and generator.depth > _DEEP:
            for symbol in behind(generator):  # from the outside in, so that no recursion gets deep
                generator_range(symbol)
        remember_interval(generator, _compute(generator))
    return generator.interval or EVERYTHING


def _compute(generator: Generator) -> Interval:
    match generator:
        case Symbol(lo=lo, hi=hi):
            return (None if lo is None else range_of(lo)[0]), (None if hi is None else range_of(hi)[1])
        case Relu(p=p):
            low, high = range_of(p)
            return max(low or 0, 0), None if high is None else max(high, 0)
        case Floor(p=p, q=q):
            return _floor_range(range_of(p), range_of(q))
        case Log2(p=p):
            low, high = range_of(p)
            return 0 if low is None else log2_of_number(low), None if high is None else log2_of_number(high)
        case Exponential(base=base, p=p):
            least, most = range_of(p)
            top = most if most is not None and 0 <= most <= MAX_EXPONENT else None
            return int(base ** min(max(least or 0, 0), MAX_EXPONENT)), None if top is None else int(base**top)
        case Sum():
            return _sum_range(generator)


def log2_of_number(value: int) -> int:
    """Give the least e with ``2**e >= value``.

    >>> [log2_of_number(n) for n in (0, 1, 2, 3, 4, 5)]
    [0, 0, 1, 2, 2, 3]
    """
    return max(value - 1, 0).bit_length()


def _floor_range(top: Interval, bottom: Interval) -> Interval:
    """Range of a floor whose divisor is at least 1."""
    least, most = max(bottom[0] or 1, 1), bottom[1]
    if most is not None and most < 1:  # nobody ever divides: the domain around it is empty
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
