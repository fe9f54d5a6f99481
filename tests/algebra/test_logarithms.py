"""Logarithms rounded up: values, ranges, order, substitution, sums."""

from __future__ import annotations

import copy
import math
from itertools import product

import sympy

from tolcost.algebra import (
    bounds,
    ceil_log2,
    coordinate,
    evaluate,
    evaluate_many,
    ge,
    length,
    powers,
    prepared,
    prove,
    substitute,
    the_symbol,
    to_mathml,
    to_sympy,
    total,
)

n, m = length("n"), length("m")
N, M = the_symbol(n), the_symbol(m)


def expected(value: int) -> int:
    return next(e for e in range(80) if 2**e >= value)


def test_values() -> None:
    numbers = [*range(1, 70), 2**40, 2**40 + 1, 2**62 - 1]
    form = 3 * ceil_log2(n + 1) + n
    for number in numbers:
        there = 3 * expected(number + 1) + number
        assert evaluate(form, {N: number}) == there
        assert prepared(form)({N: number}) == there
    assert evaluate_many(form, {N: numbers}).tolist() == [3 * expected(x + 1) + x for x in numbers]
    assert [evaluate(ceil_log2(x), {}) for x in (-3, 0, 1)] == [0, 0, 0]


def test_ranges_and_proofs() -> None:
    assert bounds(ceil_log2(n)) == (0, 31)
    assert bounds(ceil_log2(n + 1)) == (1, 31)
    assert prove(ge(ceil_log2(n + 1) - 1)) is True
    assert prove(ge(ceil_log2(n) - 1)) is None
    assert ceil_log2(length("k", 5, 8)) == 3


def test_equal_logarithms_are_one() -> None:
    assert ceil_log2(n + m) - ceil_log2(m + n) == 0
    assert copy.copy(ceil_log2(n)) == ceil_log2(n)


def test_logarithms_of_powers() -> None:
    p = length("p", 0, 9)
    s = coordinate("s", p + 3)
    for base, number, exponent in product((2, 3, 4, 6), (1, 2, 3, 8), (p, p + 1, 2 * p, p - s + 3)):
        form = number * powers(base, exponent)
        found = ceil_log2(form)
        assert found == ceil_log2(number) + ceil_log2(base) * exponent or number == 3 or base in (3, 6)
        for x in range(4):
            for y in range(1, x + 4):
                there = {the_symbol(p): x, the_symbol(s): y}
                assert evaluate(found, there) == expected(evaluate(form, there))
    assert ceil_log2(powers(2, p - s)) == p - s


def test_substitution_goes_inside() -> None:
    assert substitute(ceil_log2(n + 1) * n, {N: 7}) == 21
    assert substitute(ceil_log2(n), {N: m + 1}) == ceil_log2(m + 1)


def test_sums() -> None:
    i = coordinate("i", n)
    over = [(the_symbol(i), 1, n)]
    assert total(ceil_log2(m) * i, over) == ceil_log2(m) * (n * (n + 1) // 2)
    left = total(ceil_log2(i), over)
    for number in (1, 5, 9, 300):
        assert evaluate(left, {N: number}) == sum(expected(x) for x in range(1, number + 1))


def test_elsewhere() -> None:
    shown = to_sympy(ceil_log2(n))
    assert shown.has(sympy.log)
    assert shown.subs(next(iter(shown.free_symbols)), 9) == math.ceil(math.log2(9))
    assert "<mi>log</mi>" in to_mathml(ceil_log2(n))
