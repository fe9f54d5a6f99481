"""Polynomials and conditions made into functions of their symbols, for those asked at many points in turn.

``evaluate`` is for a few points, and ``evaluate_many`` for points that are all known at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import TypeAlias

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Not, Or, Truth
from tolcost.algebra.errors import NotInteger
from tolcost.algebra.evaluate import generator_value
from tolcost.algebra.poly import UNIT, Poly
from tolcost.algebra.symbols import Floor, Generator, Relu, Sum, Symbol

At: TypeAlias = Callable[[Mapping[Symbol, int]], int]
"""The value at a point; a ``KeyError`` where a symbol has none there."""

Holds: TypeAlias = Callable[[Mapping[Symbol, int]], bool]


def prepared(p: Poly) -> At:
    """Give the function from the values of symbols to that of a polynomial.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> prepared((n * n) // 3 + 1)({the_symbol(n): 5})
    9
    """
    constant = p.terms.get(UNIT, 0)
    rows = tuple((coef, tuple(map(_part, mono))) for mono, coef in p.terms.items() if mono)
    if p.den != 1:
        return _quotient(_total(constant, rows), p)
    if not rows:
        return lambda values: constant
    if len(rows) == 1 and rows[0][0] == 1 and len(rows[0][1]) == 1:
        (part,) = rows[0][1]
        return (lambda values: part(values) + constant) if constant else part
    return _total(constant, rows)


def _total(constant: int, rows: tuple[tuple[int, tuple[At, ...]], ...]) -> At:
    def value(values: Mapping[Symbol, int]) -> int:
        total = constant
        for product, parts in rows:
            for part in parts:
                product *= part(values)
            total += product
        return total

    return value


def _quotient(top: At, p: Poly) -> At:
    def value(values: Mapping[Symbol, int]) -> int:
        result, rest = divmod(top(values), p.den)
        if rest:
            raise NotInteger(f"{p} is not an integer at this point")
        return result

    return value


def _part(generator: Generator) -> At:
    match generator:
        case Symbol():
            return itemgetter(generator)
        case Floor(p=p, q=q):
            return _floor(prepared(p), prepared(q), q)
        case Relu(p=p):
            inside = prepared(p)
            return lambda values: max(inside(values), 0)
        case Sum():
            return lambda values: generator_value(generator, values)


def _floor(top: At, bottom: At, q: Poly) -> At:
    divisor = q.constant
    if divisor is not None and divisor >= 1:
        return lambda values: top(values) // divisor

    def value(values: Mapping[Symbol, int]) -> int:
        divisor = bottom(values)
        if divisor < 1:
            raise NotInteger(f"a divisor, {q}, is {divisor} at this point; it must be at least 1")
        return top(values) // divisor

    return value


def prepared_cond(cond: Cond) -> Holds:
    """Give the function from the values of symbols to whether a condition holds.

    >>> from tolcost.algebra.conditions import ge
    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> prepared_cond(ge(n - 3))({the_symbol(n): 2})
    False
    """
    match cond:
        case Truth(value=value):
            return lambda values: value
        case Ge(p=p):
            amount = prepared(p)
            return lambda values: amount(values) >= 0
        case Eq(p=p):
            difference = prepared(p)
            return lambda values: difference(values) == 0
        case Not(part=part):
            holds = prepared_cond(part)
            return lambda values: not holds(values)
        case And(parts=parts):
            return _every(tuple(map(prepared_cond, parts)))
        case Or(parts=parts):
            none = _every(tuple(prepared_cond(Not(part)) for part in parts))
            return lambda values: not none(values)


def _every(parts: tuple[Holds, ...]) -> Holds:
    def value(values: Mapping[Symbol, int]) -> bool:
        for holds in parts:  # noqa: SIM110 - a loop is quicker than a generator
            if not holds(values):
                return False
        return True

    return value
