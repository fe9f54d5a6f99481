"""Exact evaluation at many points, whatever the size of the numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algebra.support import build, lengths, trees, value
from tolcost.algebra import (
    NotInteger,
    Poly,
    UnboundSymbol,
    conj,
    coordinate,
    data_symbol,
    disj,
    eq,
    evaluate,
    evaluate_many,
    ge,
    length,
    negate,
    powers,
    prepared,
    relu,
    solve,
    the_symbol,
    total,
)
from tolcost.algebra.evaluate import floor_sum, prepared_all

n, m, k = length("n"), length("m"), length("k")
N, M, K = map(the_symbol, (n, m, k))


@settings(max_examples=150)
@given(trees("nm", positive="n", leaves=8), st.lists(st.tuples(st.integers(1, 2**40), st.integers(1, 2**40))))
def test_many_agrees_with_python(tree: object, rows: list[tuple[int, int]]) -> None:
    names = lengths("nm")
    columns = {N: [a for a, _ in rows], M: [b for _, b in rows]}
    expected = [value(tree, {"n": a, "m": b}) for a, b in rows]
    form = build(tree, names)
    assert evaluate_many(form, columns).tolist() == expected
    assert [prepared(form)({N: a, M: b}) for a, b in rows] == expected
    asked = (form, ge(form - m), disj(eq(form), negate(ge(n - m))), conj(ge(n - 2), ge(form)))
    found = [prepared_all(asked)({N: a, M: b}) for a, b in rows]
    assert found == [
        [e, e >= b, e == 0 or a < b, a >= 2 and e >= 0] for e, (a, b) in zip(expected, rows, strict=True)
    ]


def exact_half() -> Poly:
    return Poly(dict(n.terms), 2)


def test_a_half_is_refused() -> None:
    with pytest.raises(NotInteger):
        prepared_all((exact_half(),))({N: 3})
    assert prepared_all((exact_half(),))({N: 6}) == [3]


def test_very_long_sums_are_prepared() -> None:
    long = Poly({(N,) * power: power for power in range(1, 30)}, 1) * Poly(
        {(M,) * p: 1 for p in range(1, 25)}
    )
    assert prepared_all((long,))({N: 2, M: 3}) == [evaluate(long, {N: 2, M: 3})]


@pytest.mark.parametrize("exponent", range(1, 24))
def test_every_size_of_number(exponent: int) -> None:
    """From int64 through two limbs to Python integers, with cancellation and both signs."""
    rng = np.random.default_rng(exponent)
    a, b = rng.integers(1, 2**16, 500), rng.integers(1, 2**16, 500)
    p = (n - m) * n ** (exponent // 2) * m ** (exponent - exponent // 2) - 7 * n**exponent + (n + m) // 3
    result = evaluate_many(p, {N: a, M: b}).tolist()
    assert result == [evaluate(p, {N: int(x), M: int(y)}) for x, y in zip(a, b, strict=True)]


def test_the_borders_of_int64() -> None:
    for number in (2**31 - 1, 2**31, 2**32, 3037000499, 3037000500, 2**62, 2**63 - 1, 2**63, 2**64):
        assert evaluate_many(n * n, {N: [number]}).tolist() == [number * number]
        assert evaluate_many(n * n - n * n * 2 + n, {N: [number, 1]}).tolist() == [number - number**2, 0]
        assert evaluate_many(n // 3, {N: [number]}).tolist() == [number // 3]
        fits = np.int64 if number < 2**63 else object
        assert evaluate_many(n * m, {N: [number], M: [1]}).dtype == fits
        assert evaluate_many(n * m * k, {N: [number], M: [0], K: [1]}).dtype == fits
        assert evaluate_many(n * m, {N: [number, 1], M: [2, 2]}).tolist() == [2 * number, 2]


def test_denominators() -> None:
    numbers = [*range(1, 40), 2**31 - 2, 10**15]
    p = n * (n + 1) * (n + 2) // 6
    assert evaluate_many(p, {N: numbers}).tolist() == [x * (x + 1) * (x + 2) // 6 for x in numbers]
    with pytest.raises(NotInteger):
        evaluate_many(Poly({(N,): 1}, 2), {N: [2, 3]})
    assert evaluate_many(Poly({(N,): 1}, 2**70), {N: [0]}).tolist() == [0]
    large = evaluate_many(Poly({(N, N, N): 1}, 2**20), {N: [2**25, 2**26]})
    assert (large.tolist(), large.dtype) == ([2**55, 2**58], np.int64)


def test_a_million_points() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(1, 10**5, 10**6), rng.integers(1, 10**5, 10**6)
    result = evaluate_many(2 * n * m * ((n + 15) // 32) + relu(n - m), {N: a, M: b})
    assert result.dtype == np.int64
    expected = 2 * a * b * ((a + 15) // 32) + np.maximum(a - b, 0)
    assert (result == expected).all()


def test_sums_without_closed_form() -> None:
    i = coordinate("i", n)
    p = total((i * m) // n, [(the_symbol(i), 1, n)])
    columns = {N: [1, 5, 7, 5], M: [3, 3, 4, 3]}
    expected = [sum(x * b // a for x in range(1, a + 1)) for a, b in zip(columns[N], columns[M], strict=True)]
    assert evaluate_many(p, columns).tolist() == expected


def test_long_sums_without_closed_form() -> None:
    """As many terms as NumPy takes at once, and more."""
    i = coordinate("i", n)
    p = total((i * i * m) // n, [(the_symbol(i), 1, n)])
    for count in (3, 1500, 65_537):
        assert evaluate(p, {N: count, M: 7}) == sum(x * x * 7 // count for x in range(1, count + 1))


def test_long_sums_of_floors_are_those_of_a_loop() -> None:
    """Ranges that are too long to be added up one by one, and divisors too large to go through remainders."""
    for slope, offset, divisor, first in product((1, 7, -5), (0, -40, 300), (97, 1131), (-30, 1)):
        x = coordinate("x", n, first)
        for body in ((slope * x + offset) // divisor, 3 * ((slope * x + m) // divisor) - 2 * (x // 101) + x):
            found = evaluate(total(body, [(the_symbol(x), first, n)]), {N: 600, M: 9})
            each = prepared(body)
            assert found == sum(each({the_symbol(x): at, M: 9}) for at in range(first, 601))


def test_edges() -> None:
    assert evaluate_many(n, {N: []}).tolist() == []
    assert evaluate_many(7, {}).tolist() == [7]
    assert evaluate_many(7, {N: [1, 2]}).tolist() == [7, 7]
    with pytest.raises(UnboundSymbol):
        evaluate_many(n + m, {N: [1]})
    with pytest.raises(ValueError, match="different lengths"):
        evaluate_many(n + m, {N: [1], M: [1, 2]})
    with pytest.raises(NotInteger):
        evaluate_many(n // m, {N: [1], M: [0]})
    small = {N: np.array([3], dtype=np.uint64), M: np.array([4], dtype=np.int8)}
    assert evaluate_many(n + m, small).tolist() == [7]


@given(st.integers(-50, 50), st.lists(st.tuples(st.sampled_from([-3, -2, -1, 1, 2, 3]), st.integers(-9, 9))))
def test_a_chain_of_equations_is_solved_as_far_as_it_goes(first: int, steps: list[tuple[int, int]]) -> None:
    """Each length follows from the one before, if it is an integer; the equations come in the wrong order."""
    names = [data_symbol(f"x{k}", None, None) for k in range(len(steps) + 1)]
    equations = [a * y + b - x for x, y, (a, b) in zip(names, names[1:], steps, strict=False)]
    expected, broken = {the_symbol(names[0]): first}, []
    for name, equation, (a, b) in zip(names[1:], equations, steps, strict=False):
        first, rest = divmod(first - b, a)
        if rest:
            broken = [equation]
            break
        expected[the_symbol(name)] = first
    known, impossible = solve(equations[::-1], {the_symbol(names[0]): expected[the_symbol(names[0])]})
    assert known == expected
    assert list(impossible) == broken


def test_an_exponent_is_found_or_there_is_none() -> None:
    s = data_symbol("s", 0, 40)
    for number in range(1, 70):
        known, impossible = solve([powers(2, s) - n], {N: number})
        exact = number & (number - 1) == 0
        assert known.get(the_symbol(s)) == (number.bit_length() - 1 if exact else None)
        assert len(impossible) == (not exact)


@given(st.integers(0, 60), st.integers(0, 50), st.integers(-50, 50), st.integers(1, 50))
def test_floor_sum(count: int, slope: int, offset: int, divisor: int) -> None:
    expected = sum((slope * x + offset) // divisor for x in range(count))
    assert floor_sum(count, slope, offset, divisor) == expected
