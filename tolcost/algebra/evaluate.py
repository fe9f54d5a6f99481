"""Exact evaluation at one point, in Python integers, and at many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tolcost.algebra.errors import NotInteger, UnboundSymbol
from tolcost.algebra.poly import Poly, as_poly
from tolcost.algebra.symbols import Floor, Generator, Relu, Sum, Symbol

if TYPE_CHECKING:
    from tolcost.algebra.vectorised import Ints

Values = Mapping[Symbol, int]


def evaluate(p: Poly | int, values: Values) -> int:
    """Give the value at a point.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> evaluate((n * n) // 3, {the_symbol(n): 5})
    8
    """
    return _value(as_poly(p), values, {})


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
    return _generator_value(generator, values, {})


def _value(p: Poly, values: Values, done: dict[Generator, int]) -> int:
    total = 0
    for mono, coef in p.terms.items():
        for generator in mono:
            known = done.get(generator)
            if known is None:
                known = done[generator] = _generator_value(generator, values, done)
            coef *= known
        total += coef
    if p.den == 1:
        return total
    result, rest = divmod(total, p.den)
    if rest:
        raise NotInteger(f"{p} is not an integer at this point")
    return result


def _generator_value(generator: Generator, values: Values, done: dict[Generator, int]) -> int:
    match generator:
        case Symbol():
            if generator not in values:
                raise UnboundSymbol(generator)
            return int(values[generator])
        case Floor(p=p, q=q):
            divisor = _value(q, values, done)
            if divisor < 1:
                raise NotInteger(f"a divisor, {q}, is {divisor} at this point; it must be at least 1")
            return _value(p, values, done) // divisor
        case Relu(p=p):
            return max(_value(p, values, done), 0)
        case Sum(body=body, symbol=symbol, lo=lo, hi=hi):
            from tolcost.algebra.numeric_sums import sum_numerically

            return sum_numerically(body, symbol, _value(lo, values, done), _value(hi, values, done), values)
