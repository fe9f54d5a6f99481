"""Assumptions mean what they say: the lengths that an equation leaves are its solutions, and no others."""

from itertools import product

import pytest

from tolcost.algebra import data_symbol, evaluate, evaluate_cond, length, the_symbol
from tolcost.diagnostics import Rejected
from tolcost.result.assumptions import assumed, partitions

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


EXPERTS = {name: data_symbol(name, 0, 2 * length("tokens"), "kept") for name in ("z_1", "z_2", "z_3")}
SUM = "sum(z_*) = 2*tokens"


@pytest.mark.parametrize(
    "texts, told, why",
    [
        ([SUM, "each(z_*) = 2*tokens"], [SUM, "each(z_*) = 2*tokens"], "does not hold where"),
        ([SUM, "each(z_*) = tokens/2"], [SUM, "each(z_*) = tokens/2"], "would be"),
        (
            ["tokens = 4*k", "tokens = 4*k + 1"],
            ["tokens = 4*k", "tokens = 4*k + 1"],
            "would be 4*k and 4*k + 1",
        ),
        (
            ["tokens <= 3", "tokens = 4*k"],
            ["tokens <= 3"],
            "it holds of no lengths from 1 on",
        ),
    ],
)
def test_assumptions_that_contradict_are_told_with_the_reason(
    texts: list[str], told: list[str], why: str
) -> None:
    with pytest.raises(Rejected) as caught:
        assumed(texts, {**EXPERTS, "tokens": length("tokens")})
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message.startswith("no lengths fulfil what is assumed")
    assert all(f"`{text}`" in diagnostic.message for text in told)
    assert why in (diagnostic.hint or "")


def test_equal_parts_are_offered_only_where_no_part_is_told() -> None:
    """After a sum of four experts was assumed, three were left, and a third was offered to each."""
    one, *others = (the_symbol(form) for form in EXPERTS.values())
    (said,) = partitions((one, *others), ())
    assert "sum(z_*) = 2*tokens" in said
    assert "each(z_*) = (2*tokens)/3" in said
    assert list(partitions(others, (one,))) == []
