"""Powers of numbers: one form for equal ones, values, ranges, order, and sums held to brute force."""

from __future__ import annotations

import copy
import random

import pytest
import sympy

from tolcost.algebra import (
    AlgebraBudget,
    NotInteger,
    bounds,
    ceil_log2,
    const,
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
    to_latex,
    to_mathml,
    to_sympy,
    to_text,
    total,
)
from tolcost.algebra.parse import parse_text
from tolcost.result.regions import region

p, q, n = length("p", 0, 100), length("q", 0, 100), length("n")
P, Q, N = (the_symbol(one) for one in (p, q, n))


def test_equal_powers_are_one() -> None:
    assert powers(2, p + 3) == 8 * powers(2, p)
    assert powers(4, p) == powers(2, p) ** 2 == powers(2, 2 * p)
    assert powers(6, p) == powers(2, p) * powers(3, p)
    assert powers(2, p + q) == powers(2, p) * powers(2, q)
    assert powers(2, p - q) * powers(2, q) == powers(2, p)
    assert powers(2, p - q) ** 2 * powers(2, q) == powers(2, 2 * p - q)
    assert powers(2, const(5)) == 32
    assert powers(1, p) == 1
    assert copy.copy(powers(2, p - q)) == powers(2, p - q)


def test_exponents_that_fall_are_counted_from_their_least() -> None:
    s = coordinate("s", 5)
    assert powers(2, 1 - s) * 16 == powers(2, 5 - s)
    assert [evaluate(powers(2, 5 - s), {the_symbol(s): t}) for t in range(1, 6)] == [16, 8, 4, 2, 1]
    assert bounds(powers(2, 5 - s)) == (1, 16)
    assert powers(2, 5 - s) * powers(2, s) == 32
    t = coordinate("t", p + 3)
    assert evaluate(powers(2, p - t + 3), {P: 2, the_symbol(t): 5}) == 1


def test_values() -> None:
    form = 5 * powers(2, p) * p + powers(3, p)
    for number in (0, 1, 7, 60):
        there = 5 * 2**number * number + 3**number
        assert evaluate(form, {P: number}) == there == prepared(form)({P: number})
    assert evaluate_many(form, {P: [0, 3]}).tolist() == [1, 147]
    assert substitute(powers(2, p - q), {P: 9, Q: 4}) == 32
    assert substitute(powers(2, p), {P: n + 1}) == 2 * powers(2, n)
    with pytest.raises(NotInteger):
        evaluate(powers(2, p - q), {P: 1, Q: 2})
    with pytest.raises(AlgebraBudget):
        evaluate(powers(2, n), {N: 10**6})


def test_ranges_and_proofs() -> None:
    assert bounds(powers(2, length("s", 2, 5))) == (4, 32)
    assert prove(ge(powers(2, p) - 1)) is True
    assert prove(ge(powers(2, p) - 2)) is None
    assert ceil_log2(powers(2, p + 2)) == p + 2
    assert powers(2, length("s", 1, 9)) // 2 * 2 == powers(2, length("s", 1, 9))
    assert to_text(powers(2, p) // 2) == "floor(2**p/2)"


def test_where_definitions_cross_is_found_among_exponents() -> None:
    """8*n**2 against 5*n*log2(n) + 20*n, for n = 2**p."""
    m = powers(2, p)
    assert region(8 * m * m - 5 * m * p - 20 * m) == "p > 1"


@pytest.mark.parametrize("seed", range(40))
def test_sums_are_those_of_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    s = coordinate("s", p)
    bases = [rng.choice((2, 3, 4, 6)) for _ in range(rng.randint(1, 2))]
    body = const(rng.randint(1, 5))
    for base in bases:
        body = body * powers(base, rng.choice((s, p - s, 2 * s, s + q, p, p - s + q, s - 1)))
    body = body * s ** rng.randint(0, 3) + rng.randint(0, 4) * q
    closed = total(body, [(the_symbol(s), 1, p)])
    assert "Sum" not in to_text(closed)
    for levels in range(7):
        each = [evaluate(body, {the_symbol(s): t, P: levels, Q: 2}) for t in range(1, levels + 1)]
        assert evaluate(closed, {P: levels, Q: 2}) == sum(each), (to_text(body), to_text(closed), levels)


@pytest.mark.parametrize("divisor", [1, 2, 3])
def test_exponents_that_do_not_move_evenly_stay_a_sum_of_the_same_value(divisor: int) -> None:
    i = coordinate("i", n)
    for exponent in (i * p, i * i // divisor, (i + p) // divisor * i):
        result = total(powers(2, exponent), [(the_symbol(i), 1, n)])
        for size, other in ((1, 0), (3, 1), (4, 2)):
            at = {N: size, P: other}
            values = (evaluate(exponent, {**at, the_symbol(i): x}) for x in range(1, size + 1))
            assert evaluate(result, at) == sum(2**value for value in values)


def test_elsewhere() -> None:
    form = 3 * powers(2, 2 * p) * n - powers(2, p - q)
    text = to_text(form)
    assert text == "3*2**(2*p)*n - 2**(p - q)"
    assert parse_text(text, {"p": p, "q": q, "n": n}) == form
    shown = to_sympy(form)
    assert shown.subs({x: {"p": 3, "q": 1, "n": 5}[x.name] for x in shown.free_symbols}) == 3 * 64 * 5 - 4
    assert isinstance(to_sympy(powers(2, p)), sympy.Pow)
    assert to_latex(powers(2, p)) == "2^{p}"
    assert "<msup>" in to_mathml(powers(2, p))
