"""Which of two costs is the larger, where a proof of their difference as it stands fails."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement, product
from random import Random

import pytest

from tests.algebra.support import admissible
from tolcost.algebra import (
    Cond,
    Poly,
    const,
    eq,
    evaluate,
    evaluate_cond,
    ge,
    length,
    maximum,
    relu,
    the_symbol,
)
from tolcost.algebra.compare import compare
from tolcost.algebra.poly import product_of
from tolcost.result.judgement import clip_cases, order_of
from tolcost.result.regions import where_positive

n, m, k = length("n"), length("m"), length("k")

NEVER_BELOW_ZERO: list[tuple[Poly, tuple[Cond, ...]]] = [
    ((n - m) * (n - m), ()),
    ((n - m) * (n - m) * (n - k) * (n - k), ()),
    ((n - k + 1) * (n - k + 1) * (n + 1), ()),
    ((n - 1) * (n - 2) * (n - 3), ()),
    ((n - 10_000) * (n - 10_001), ()),
    ((n - k + 1) * (n - k + 1) * (n - k + 1), (ge(n - k + 1),)),
    ((n - k) * (n - 2 * k), (ge(n - 2 * k),)),
    (n * (n - k) * (n + k - 1), (ge(n - k),)),
    ((n + m) * maximum(n, m) - n * m - m * m, ()),
    (relu(n - m) * (relu(n - m) - 1), ()),
    ((n - k) * (n - k) + relu(n - k), ()),
]


@pytest.mark.parametrize("gap, facts", NEVER_BELOW_ZERO, ids=str)
def test_what_is_never_below_zero(gap: Poly, facts: tuple[Cond, ...]) -> None:
    assert compare(0, gap, facts).verdict in ("unknown", "less")  # some the algebra proves by now
    assert order_of(const(0), gap, facts).verdict == "less"
    assert order_of(gap, const(0), facts).verdict == "greater"
    assert order_of(gap, gap, facts).verdict == "equal"
    for numbers in product(range(1, 6), repeat=3):
        there = dict(zip(map(the_symbol, (n, m, k)), numbers, strict=True))
        assert evaluate(gap, there) >= 0 or not all(evaluate_cond(fact, there) for fact in facts)


@pytest.mark.parametrize(
    "gap, facts",
    [
        ((n - 2) * (n - 5) * (n - 7), ()),
        ((n - 20) * (m - 30), ()),
        ((n - k + 1) * (n - k + 1) * (n - k + 1), ()),
        ((n - 100) * (n - 2 * k), (ge(n - 2 * k),)),
        (n * n * m - 900 * n * k, ()),
    ],
    ids=str,
)
def test_what_crosses(gap: Poly, facts: tuple[Cond, ...]) -> None:
    assert order_of(const(0), gap, facts).verdict == order_of(gap, const(0), facts).verdict == "crosses"


@pytest.mark.parametrize("seed", range(6))
def test_sums_of_products_of_what_facts_keep_from_below_zero(seed: int) -> None:
    """They have no factors to look at, and more of them than a proof takes in: it counts from the least."""
    rng = Random(seed)
    windows = [length("w") - k + 1, length("v") - m + 1]
    gap = sum((product_of(rng.choices([n, *windows], k=3)) for _ in range(3)), start=windows[0])
    assert order_of(const(0), gap, tuple(map(ge, windows))).verdict == "less"


def test_the_cases_of_a_clip_leave_no_shape_out() -> None:
    gap = 100 * n + m + 7 * relu(n - m)
    found = {
        evaluate(case, point)
        for case in clip_cases(gap)
        for point in admissible(sorted(case.free, key=lambda symbol: symbol.key), 3)
    }
    sizes = range(1, 5)
    assert found >= {100 * a + b + 7 * max(a - b, 0) for a, b in product(sizes, sizes)}


def test_what_is_not_known_is_not_said() -> None:
    assert order_of(n * n * k, n * n * n + k * k * k).verdict == "unknown"


FACTS: dict[str, tuple[tuple[Cond, ...], range]] = {
    "any": ((), range(1, 60)),
    "from 4 on": ((ge(n - 4),), range(4, 60)),
    "up to 5": ((ge(5 - n),), range(1, 6)),
    "from 3 to 6": ((ge(n - 3), ge(6 - n)), range(3, 7)),
    "no more than another": ((ge(m - n),), range(1, 60)),
}


@pytest.mark.parametrize(
    "roots", [r for k in (1, 2, 3) for r in combinations_with_replacement((1, 3, 5, 8), k)]
)
@pytest.mark.parametrize("known", FACTS)
def test_of_one_length_everything_is_decided(roots: tuple[int, ...], known: str) -> None:
    """A product of differences, and what signs it takes at every length."""
    facts, lengths = FACTS[known]
    gap = const(1)
    for root in roots:
        gap = gap * (n - root)
    signs = {(value > 0) - (value < 0) for x in lengths for value in [evaluate(gap, {the_symbol(n): x})]}
    expected = {frozenset({0}): "equal", frozenset({0, 1}): "less", frozenset({1}): "less",
                frozenset({-1}): "greater", frozenset({0, -1}): "greater"}  # fmt: skip
    assert order_of(const(0), gap, facts).verdict == expected.get(frozenset(signs), "crosses")
    opposite = expected.get(frozenset(-sign for sign in signs), "crosses")
    assert order_of(gap, const(0), facts).verdict == opposite


SKEWED = [
    tuple(high if k in chosen else low for k in range(3))
    for low, high in ((1, 1000), (1000, 1), (2, 30), (30, 2))
    for few in (1, 2)
    for chosen in combinations(range(3), few)
]


@pytest.mark.parametrize("sizes", SKEWED, ids=str)
@pytest.mark.parametrize("most", [None, 1000, 30])
def test_shapes_with_one_or_two_lengths_unlike_the_others_are_seen(
    sizes: tuple[int, ...], most: int | None
) -> None:
    """A difference below zero at one such shape only crosses, unless lengths may not be so large."""
    lengths = [n, m, k] if most is None else [length(name, 1, most) for name in "nmk"]
    away = sum((symbol - at) * (symbol - at) for symbol, at in zip(lengths, sizes, strict=True))
    is_there = most is None or max(sizes) <= most
    assert (order_of(const(0), 2 * away - 1).verdict == "crosses") == is_there


@pytest.mark.parametrize("step", [2, 3, 4])
@pytest.mark.parametrize("rest", [0, 1, 2])
@pytest.mark.parametrize(
    "gap",
    [(n - 2) * (n - 4), n * n + n - 6 * (n // 2), n * n + n - 7 * (n // 2), (n - 5) * (n - 8) - 2 * (n // 3)],
    ids=str,
)
def test_of_lengths_that_leave_a_rest_only_those_count(gap: Poly, step: int, rest: int) -> None:
    """(n - 2)*(n - 4) was said to take both signs at multiples of 2, and the second to be positive at 2."""
    facts = (eq(n - step * (n // step) - rest % step),)
    values = [evaluate(gap, {the_symbol(n): i}) for i in range(1, 200) if i % step == rest % step]
    found = order_of(const(0), gap, facts)
    verdict = found.verdict
    assert verdict != "crosses" or min(values) < 0 < max(values)
    assert not found.never_above or min(values) >= 0
    assert not found.never_below or max(values) <= 0
    said = where_positive(gap, facts)
    assert said != "for all lengths" or min(values) > 0
