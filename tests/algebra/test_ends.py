"""Goals put to the ends of their ranges: what holds there holds at every admissible point."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tolcost.algebra import Poly, coordinate, evaluate, length, relu, the_symbol
from tolcost.algebra.prove import holds_at_ends

N = length("n")
X = coordinate("i", N)
J = coordinate("j", N - X)
K = coordinate("k", relu(N - 2))
PARTS = (N, X, J, K, relu(N - 2), relu(X - J), relu(J + K - N))
FACTORS = st.lists(st.integers(-2, 2), min_size=len(PARTS), max_size=len(PARTS))


def points() -> list[dict[object, int]]:
    """All admissible points of small ranges."""
    n, i, j, k = map(the_symbol, (N, X, J, K))
    return [
        {n: size, i: a, j: b, k: c}
        for size in range(1, 6)
        for a in range(1, size + 1)
        for b in range(1, size - a + 1)
        for c in range(1, max(size - 2, 0) + 1)
    ]


@settings(max_examples=400)
@given(FACTORS, st.integers(-2, 4))
def test_what_holds_at_the_ends_holds_everywhere(factors: list[int], number: int) -> None:
    goal: Poly = sum((f * part for f, part in zip(factors, PARTS, strict=True)), start=N * 0 + number)
    if holds_at_ends(goal):
        assert min(evaluate(goal, point) for point in points()) >= 0


def test_what_bounds_one_cancels_against_the_rest() -> None:
    deep = coordinate("d", coordinate("e", X))
    for seen in (N - X, N - J - X, N - deep, X - deep, N - X - J, N - K, N - K - 1, J - 1, relu(N - 2) - K):
        assert holds_at_ends(seen)
    for seen in (relu(X - J) - X + J, 2 * N - 2 * X, N * (N + 1) // 2 - N * (N + 1) // 2, (N - X) // 1):
        assert holds_at_ends(seen)
    half, more = coordinate("h", N // 2), coordinate("p", N + 1)
    twice, sixth = coordinate("t", 2 * N), coordinate("s", N * (N + 1) // 2)
    others = (X - N, J - N, N - 2 * X, N * N - X, N - half, N - more, N - twice, N - sixth, N - X * J)
    for not_seen in (*others, N - 2, length("m") - X, N - K - 2):
        assert not holds_at_ends(not_seen)
