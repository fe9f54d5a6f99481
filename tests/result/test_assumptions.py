"""Assumptions mean what they say: the lengths that an equation leaves are its solutions, and no others."""

from itertools import product

import pytest

from tolcost.algebra import evaluate, evaluate_cond, length, the_symbol
from tolcost.diagnostics import Rejected
from tolcost.result.assumptions import assumed

N, K = length("n"), length("k")
MOST = 14


def left_by(text: str) -> set[tuple[int, int]]:
    """The lengths up to some that an assumption leaves."""
    try:
        found = assumed([text], {"n": N, "k": K})
    except Rejected:
        return set()
    pair = (found.change(N), found.change(K))
    (free,) = frozenset().union(*(form.free for form in pair)) or {the_symbol(N)}
    points = [{free: value} for value in range(evaluate(free.lo, {}), 3 * MOST)]
    allowed = (at for at in points if all(evaluate_cond(fact, at) for fact in found.facts))
    return {
        (n, k) for n, k in (tuple(evaluate(form, at) for form in pair) for at in allowed) if max(n, k) <= MOST
    }


@pytest.mark.parametrize(
    "a, b", [(1, 2), (3, -2), (4, -6), (-4, 2), (2, -2), (2, 3), (6, 10), (5, -3), (-7, 4)]
)
def test_an_equation_leaves_its_solutions(a: int, b: int) -> None:
    for c in range(-9, 10):
        if (a, b, c) == (2, -2, 0):
            continue  # it makes two lengths one, which either may stand for
        lengths = product(range(1, MOST + 1), repeat=2)
        solutions = {(n, k) for n, k in lengths if a * n + b * k == c}
        assert left_by(f"{a}*n {b:+}*k = {c}") == solutions, (a, b, c)


@pytest.mark.parametrize("texts", [["1 = 1"], ["n = k", "2*n = 2*k"], ["n = 2*k", "3*n - 6*k == 0"]])
def test_an_equation_that_says_nothing_new_changes_nothing(texts: list[str]) -> None:
    names = {"n": N, "k": K}
    assert assumed(texts, names).change(N) == assumed(texts[:-1], names).change(N)


@pytest.mark.parametrize("texts", [["1 = 2"], ["n = k", "2*n = 2*k + 2"], ["n = 3", "2*n == 8"]])
def test_an_equation_that_leaves_nothing_is_refused(texts: list[str]) -> None:
    with pytest.raises(Rejected, match="no lengths fulfil"):
        assumed(texts, {"n": N, "k": K})
