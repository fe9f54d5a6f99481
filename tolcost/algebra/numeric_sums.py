"""Sums at numbers: a closed form once everything is known, Euclid's floor sum, or a loop.

The loop is bounded; a sum that would need more raises ``AlgebraBudget``.
"""

from __future__ import annotations

from collections.abc import Mapping

from tolcost.algebra.errors import AlgebraBudget
from tolcost.algebra.faulhaber import affine_parts, antidifference
from tolcost.algebra.poly import Poly, const, coordinate, poly, powers_of, the_symbol
from tolcost.algebra.substitute import substitute
from tolcost.algebra.symbols import Floor, Sum, Symbol

MAX_LOOP = 10_000_000
_SHORT = 64


def floor_sum(count: int, slope: int, offset: int, divisor: int) -> int:
    """Sum of ``floor((slope*x + offset)/divisor)`` for x from 0 to count - 1, in the steps of Euclid.

    >>> floor_sum(10, 3, 1, 4) == sum((3 * x + 1) // 4 for x in range(10))
    True
    """
    total, sign = 0, 1
    while count > 0:
        total += sign * ((slope // divisor) * (count * (count - 1) // 2) + (offset // divisor) * count)
        slope, offset = slope % divisor, offset % divisor
        top = slope * count + offset
        if top < divisor:
            break
        # Count the lattice points column by column instead: the roles of the two steps exchange.
        count, offset = divmod(top, divisor)
        slope, divisor = divisor, slope
    return total


def sum_numerically(body: Poly, x: Symbol, lo: int, hi: int, values: Mapping[Symbol, int]) -> int:
    """Sum of a body whose other symbols all have values."""
    if hi < lo:
        return 0
    given = {s: const(values[s]) for s in body.free if s is not x and s in values}
    turn = coordinate("x", const(hi), const(lo))
    inside = substitute(body, {**given, x: turn})
    if hi - lo < _SHORT:
        return _loop(inside, the_symbol(turn), lo, hi, values)
    return _closed(inside, the_symbol(turn), lo, hi, values)


def _closed(body: Poly, x: Symbol, lo: int, hi: int, values: Mapping[Symbol, int]) -> int:
    from tolcost.algebra.faulhaber import sum_range

    result = sum_range(body, x, const(lo), const(hi))
    total = 0
    for mono, coef in result.terms.items():
        match mono:
            case ():
                total += coef
            case (Sum() as left,):
                total += coef * _remaining(left, values)
            case _:
                raise AlgebraBudget("a sum does not come down to numbers")
    return total // result.den


def _remaining(left: Sum, values: Mapping[Symbol, int]) -> int:
    """Sum what has no closed form even in numbers."""
    lo, hi = left.lo.constant, left.hi.constant
    if lo is None or hi is None:
        raise AlgebraBudget("a sum does not come down to numbers")
    return _loop(left.body, left.symbol, lo, hi, values)


def _loop(body: Poly, x: Symbol, lo: int, hi: int, values: Mapping[Symbol, int]) -> int:
    from tolcost.algebra.evaluate import evaluate

    if hi - lo >= MAX_LOOP:
        raise AlgebraBudget(f"a sum without a closed form has more than {MAX_LOOP} terms")
    inner = dict(values)
    total = 0
    for value in range(lo, hi + 1):
        inner[x] = value
        total += evaluate(body, inner)
    return total


__all__ = ["Floor", "affine_parts", "antidifference", "floor_sum", "poly", "powers_of", "sum_numerically"]
