"""Comparison for all lengths: proofs, counterexamples, and honest ignorance."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.algebra.support import at, build, grid, lengths, trees
from tolcost.algebra import (
    Poly,
    compare,
    coordinate,
    data_symbol,
    evaluate,
    ge,
    length,
    maximum,
    minimum,
    relu,
    the_symbol,
    total,
    total_of,
)
from tolcost.algebra.conditions import eq
from tolcost.algebra.points import admissible
from tolcost.algebra.powers import powers

n, m, k, h = length("n"), length("m"), length("k"), length("H")
i = coordinate("i", n)
OPEN = total((i * m) // n, [(the_symbol(i), 1, n)])


@pytest.mark.parametrize(
    "left, right, verdict",
    [
        (n * (n + 1) // 2, (n * n + n) // 2, "equal"),
        (n - n // 2, (n + 1) // 2, "equal"),
        (n // 3 + (n + 1) // 3 + (n + 2) // 3, n, "equal"),
        ((n + m) // 2 + (n + m + 1) // 2, n + m, "equal"),
        (maximum(n, m) * minimum(n, m), n * m, "equal"),
        (relu(n - 3) * relu(n - 3), (n - 3) * relu(n - 3), "equal"),
        (relu(n - 3) * relu(2 - n), n - n, "equal"),
        (n, n * n, "less"),
        (2 * n * m * k, 2 * n * m * k + n * m, "less"),
        (n * n, n, "greater"),
        ((n + 1) // 2, n, "less"),
        (h // 2 * 2, h, "less"),
        (n * n, 10 * n, "crosses"),
        (n * n, 10**6 * n, "crosses"),
        (n, m, "crosses"),
        (n // 2, n // 3 + 1, "crosses"),
        (OPEN, n * m, "unknown"),
        (n**3 - 3 * n**2 + 3 * n - 1, n - n, "greater"),
    ],
)
def test_verdicts(left: Poly, right: Poly, verdict: str) -> None:
    result = compare(left, right)
    assert result.verdict == verdict
    for witness, below in ((result.below, True), (result.above, False)):
        if witness is not None:
            point = dict(witness.point)
            assert evaluate(left, point) == witness.left
            assert evaluate(right, point) == witness.right
            assert (witness.left < witness.right) is below
    assert verdict != "crosses" or (result.below is not None and result.above is not None)


def test_facts_narrow_the_comparison() -> None:
    assert compare(n, m).verdict == "crosses"
    assert compare(n, m, (ge(m - n),)).verdict == "less"
    assert compare(n * n, 10 * n, (ge(n - 10),)).verdict == "greater"


def test_bounds_matter() -> None:
    z = length("z", 0)
    assert compare(n, n * n).verdict == "less"
    assert compare(z, z * z).verdict == "less"
    assert compare(1, n).verdict == "less"
    assert compare(1, z).verdict == "crosses"
    assert compare(5, 5).verdict == "equal"
    assert compare(5, 6).verdict == "less"


@pytest.mark.parametrize(
    "ends", [(None, None), (None, 4), (-3, None), (-3, 9), (0, n), (1, n), (3, 3 * n)], ids=str
)
def test_parts_that_are_all_but_equal_add_up(ends: tuple[Poly | int | None, Poly | int | None]) -> None:
    """Whatever is known of an integer: each of its remainders is looked at from its own least."""
    d = data_symbol("d", *ends)
    for parts in (2, 3, 5):
        together = total_of((d + k) // parts for k in range(parts))
        verdicts = [compare(together, d + more).verdict for more in (-1, 0, 1)]
        assert verdicts == ["greater", "equal", "less"]


@settings(max_examples=150)
@given(trees("nm"), trees("nm"))
def test_never_wrong(a: object, b: object) -> None:
    names = lengths("nm")
    left, right = build(a, names), build(b, names)
    verdict = compare(left, right).verdict
    for point in grid("nm", range(1, 8)):
        x, y = evaluate(left, at(names, point)), evaluate(right, at(names, point))
        assert verdict != "equal" or x == y
        assert verdict != "less" or x <= y
        assert verdict != "greater" or x >= y


COMMON = (
    1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 16, 17, 32, 64, 100, 101, 128, 256, 1000, 4096,
    10_001, 10**6 + 1, 10**9 + 1,
)  # fmt: skip
"""Lengths that are always looked at, whatever the expressions are."""


@pytest.mark.parametrize("size", COMMON)
def test_one_shape_of_common_lengths_is_enough_to_be_seen(size: int) -> None:
    """Differences that are below zero at one shape only: lengths all alike, or all but one at their least."""
    k = length("k")
    for sizes in (
        {n: size},
        {n: size, m: size},
        {n: size, m: 1},
        {n: 1, m: size, k: 1},
        {n: size, m: size, k: size},
    ):
        away = sum((symbol - at) * (symbol - at) for symbol, at in sizes.items())
        found = compare(2 * away, 1).below
        assert found is not None
        assert dict(found.point) == {the_symbol(symbol): at for symbol, at in sizes.items()}
        assert (found.left, found.right) == (0, 1)


def test_lengths_whose_power_is_too_large_to_compute_are_no_points() -> None:
    p = length("p")
    points = admissible(n.free | p.free, (eq(powers(2, p) - n - 1),))
    assert points.at((2,), 2) is not None
    assert points.at((10**6,), 10**6) is None
