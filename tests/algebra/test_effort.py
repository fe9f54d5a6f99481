"""Limits hold wherever the work is done: what takes too much is left open; nothing cut short is kept."""

from __future__ import annotations

import time

import pytest

from tests.algebra.support import brute_sum
from tolcost.algebra import (
    Poly,
    Sum,
    conj,
    const,
    coordinate,
    disj,
    eq,
    evaluate,
    ge,
    generators_in,
    is_nonnegative,
    length,
    minimum,
    relu,
    the_symbol,
    total,
)
from tolcost.algebra.poly import OutOfEffort, limit_effort, spend
from tolcost.algebra.rebuild import opaque_sum

n, m, k = length("n"), length("m"), length("k")
SECONDS = 5


def test_what_is_spent_inside_is_spent_around() -> None:
    with limit_effort(10):
        with limit_effort(100):
            spend(8)
        spend(2)
        with pytest.raises(OutOfEffort):
            spend(1)
    spend(1000)  # nobody asks


def test_a_proof_that_was_cut_short_is_not_remembered() -> None:
    goal = (n - k) * (n - k) + (n // 3) * (m + 2 * k) - (n // 3) * m + n * m // 7
    with limit_effort(1), pytest.raises(OutOfEffort):
        is_nonnegative(goal)
    assert is_nonnegative(goal) == is_nonnegative(goal + 0)


def test_a_sum_of_many_cases_and_proofs_is_left_open_soon() -> None:
    """Each problem that was taken up counted, and not what was asked of it: it took ten seconds."""
    i, j, h = coordinate("i", n), coordinate("j", m), coordinate("h", k)
    over = [(the_symbol(x), const(1), end) for x, end in ((i, n), (j, m), (h, k))]
    either = disj(
        eq((j + 3 * n * j + 2 * m) % 5 - (2 * k - i + j) // 4), ge(max_of(2 * n + h + 1, h + 5) - m - 7)
    )
    guard = conj(ge(minimum(h * m + 7, 2 * m - j + 7) - (n + j + 3 * i + 6) % 3 - 1), either)
    start = time.process_time()
    found = total(1, over, [guard])
    assert time.process_time() - start < SECONDS
    assert any(isinstance(g, Sum) for g in generators_in(found))
    for sizes in ((1, 2, 3), (4, 3, 2)):
        there = dict(zip(map(the_symbol, (n, m, k)), sizes, strict=True))
        assert evaluate(found, there) == brute_sum(const(1), over, [guard], there)


def max_of(a: Poly, b: Poly) -> Poly:
    return a + b - minimum(a, b)


def test_sums_that_share_what_is_inside_of_them_are_made_soon() -> None:
    """How deep sums nest was found anew at each place where a form stands: 2 to the power of its height."""
    body = coordinate("i", n)
    x = the_symbol(body)
    for step in range(10):
        other = length(f"b{step}")
        body = relu(body * other - 3) + relu(body - other * other)
    start = time.process_time()
    opaque_sum(body, x, const(1), n)
    assert time.process_time() - start < 2
