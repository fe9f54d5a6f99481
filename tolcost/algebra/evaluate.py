"""Exact evaluation at one point, in Python integers, and at many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tolcost.algebra.errors import NotInteger, UnboundSymbol
from tolcost.algebra.numeric_sums import Loops, sum_of_numbers
from tolcost.algebra.poly import Poly, as_poly, coordinate, the_symbol
from tolcost.algebra.substitute import substitute
from tolcost.algebra.symbols import Floor, Generator, Relu, Sum, Symbol

if TYPE_CHECKING:
    from tolcost.algebra.vectorised import Ints

Values = Mapping[Symbol, int]
_SHORT = 256


@dataclass(frozen=True, slots=True)
class _Point:
    """Values of symbols, of the generators met so far, and what is left to spend on loops."""

    values: Values
    loops: Loops
    done: dict[Generator, int] = field(default_factory=dict)


def evaluate(p: Poly | int, values: Values) -> int:
    """Give the value at a point.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> evaluate((n * n) // 3, {the_symbol(n): 5})
    8
    """
    return value_at(as_poly(p), values, Loops())


def value_at(p: Poly, values: Values, loops: Loops) -> int:
    """Give the value at a point, with what is left to spend on loops."""
    return _value(p, _Point(values, loops))


def evaluate_many(p: Poly | int, values: Mapping[Symbol, Sequence[int]]) -> Ints:
    """Give the values at many points: a NumPy array, of int64 where all fit, else of Python integers.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> evaluate_many(n * n, {the_symbol(n): [1, 2, 3]}).tolist()
    [1, 4, 9]
    """
    from tolcost.algebra.vectorised import evaluate_columns

    return evaluate_columns(as_poly(p), values)


def generator_value(generator: Generator, values: Values) -> int:
    """Give the value of one generator at a point."""
    return _generator_value(generator, _Point(values, Loops()))


def _value(p: Poly, point: _Point) -> int:
    total, done = 0, point.done
    for mono, coef in p.terms.items():
        for generator in mono:
            known = done.get(generator)
            if known is None:
                known = done[generator] = _generator_value(generator, point)
            coef *= known
        total += coef
    if p.den == 1:
        return total
    result, rest = divmod(total, p.den)
    if rest:
        raise NotInteger(f"{p} is not an integer at this point")
    return result


def _generator_value(generator: Generator, point: _Point) -> int:
    match generator:
        case Symbol():
            if generator not in point.values:
                raise UnboundSymbol(generator)
            return int(point.values[generator])
        case Floor(p=p, q=q):
            divisor = _value(q, point)
            if divisor < 1:
                raise NotInteger(f"a divisor, {q}, is {divisor} at this point; it must be at least 1")
            return _value(p, point) // divisor
        case Relu(p=p):
            return max(_value(p, point), 0)
        case Sum(body=body, symbol=symbol, lo=lo, hi=hi):
            return _sum_value(body, symbol, _value(lo, point), _value(hi, point), point)


def _sum_value(body: Poly, symbol: Symbol, lo: int, hi: int, point: _Point) -> int:
    """Add up a short range; for a long one put the numbers in and look for a closed form again."""
    if hi - lo < _SHORT:
        point.loops.take(max(hi - lo + 1, 0))
        values = dict(point.values)
        return sum(value_at(body, {**values, symbol: value}, point.loops) for value in range(lo, hi + 1))
    binder = coordinate("x", hi, lo)
    given: dict[Symbol, Poly | int] = {symbol: binder}
    for other in body.free:
        if other is not symbol:
            given[other] = _generator_value(other, point)
    return sum_of_numbers(substitute(body, given), the_symbol(binder), lo, hi, point.loops)
