"""Trials of the programs of dynamic programming, against all that there is to choose from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations, pairwise, product

import numpy as np

from tools.textbook.holding import Trial

Rng = np.random.Generator


def _subsets(n: int) -> Iterator[list[int]]:
    for bits in product((False, True), repeat=n):
        yield [i for i in range(n) if bits[i]]


def longest_common_subsequence(rng: Rng, size: int) -> Trial:
    a, b = rng.integers(0, 3, size), rng.integers(0, 3, int(rng.integers(1, 6)))

    @cache
    def common(i: int, j: int) -> set[tuple[int, ...]]:
        """All subsequences that two beginnings share."""
        return {tuple(a[list(at)]) for k in range(i + 1) for at in combinations(range(i), k)} & {
            tuple(b[list(at)]) for k in range(j + 1) for at in combinations(range(j), k)
        }

    table = [[max(map(len, common(i, j))) for j in range(1, len(b) + 1)] for i in range(1, len(a) + 1)]
    return Trial({"a": a, "b": b}, (table,))


def knapsack(rng: Rng, size: int) -> Trial:
    things, value, w = rng.integers(1, 5, size), rng.random(size), 6
    packed = [(things[chosen].sum(), value[chosen].sum()) for chosen in _subsets(size)]
    best = [max(v for s, v in packed if s <= bag) for bag in range(1, w + 1)]
    return Trial({"size": things, "value": value}, (best,), {"w": w})


def subset_sums(rng: Rng, size: int) -> Trial:
    x, w = rng.integers(1, 5, size), 7
    sums = [x[chosen].sum() for chosen in _subsets(size)]
    return Trial({"x": x}, ([sums.count(s) for s in range(w + 1)],), {"w": w})


def coin_change(rng: Rng, size: int) -> Trial:
    """The coefficients of the product of all 1/(1 - z^coin)."""
    coin, w = rng.permutation(8)[:size] + 1, 9
    ways = np.eye(1, w + 1)[0]
    for c in coin:
        ways = np.convolve(ways, [float(k % c == 0) for k in range(w + 1)])[: w + 1]
    return Trial({"coin": coin}, (ways,), {"w": w})


def optimal_search_tree(rng: Rng, size: int) -> Trial:
    p = rng.random(size)

    @cache
    def trees(i: int, j: int) -> float:
        below = [trees(i, root) + trees(root + 1, j) for root in range(i, j)]
        return min(below) + p[i:j].sum() if below else 0.0

    return Trial({"p": p}, (trees(0, size),))


def longest_increasing_subsequence(rng: Rng, size: int) -> Trial:
    x = rng.integers(0, 5, size).astype(float)
    rising = [at for at in _subsets(size) if all(x[i] < x[j] for i, j in pairwise(at))]
    return Trial({"x": x}, ([max(len(at) for at in rising if at and at[-1] == j) for j in range(size)],))


def rod_cutting(rng: Rng, size: int) -> Trial:
    price = rng.random(size)

    def revenue(n: int) -> float:
        """The best of all sets of places to cut."""
        if not n:
            return 0.0
        cuts = ([0, *(c + 1 for c in at), n] for at in _subsets(n - 1))
        return max(sum(price[b - a - 1] for a, b in pairwise(at)) for at in cuts)

    return Trial({"price": price}, ([revenue(n) for n in range(size + 1)],))


def maximum_subarray(rng: Rng, size: int) -> Trial:
    x = rng.normal(size=size)
    return Trial({"x": x}, (max(x[i:j].sum() for i in range(size) for j in range(i + 1, size + 1)),))


def forward(rng: Rng, size: int) -> Trial:
    n, t = int(rng.integers(1, 4)), min(size, 4)
    start, a, seen = rng.random(n), rng.random((n, n)), rng.random((t + 1, n))
    last = np.zeros(n)
    for way in product(range(n), repeat=t + 1):
        steps = np.prod([a[i, j] for i, j in pairwise(way)])
        last[way[-1]] += start[way[0]] * steps * np.prod([seen[k, i] for k, i in enumerate(way)])
    return Trial({"start": start, "a": a, "seen": seen}, (last,))


def viterbi(rng: Rng, size: int) -> Trial:
    n, t = int(rng.integers(1, 4)), min(size, 4)
    start, a, seen = rng.normal(size=n), rng.normal(size=(n, n)), rng.normal(size=(t + 1, n))
    ways = product(range(n), repeat=t + 1)
    best = max(
        start[way[0]] + sum(a[i, j] for i, j in pairwise(way)) + sum(seen[k, i] for k, i in enumerate(way))
        for way in ways
    )
    return Trial({"start": start, "a": a, "seen": seen}, (best,))


def needleman_wunsch(rng: Rng, size: int) -> Trial:
    """Every alignment pairs some letters of both, in order; the others face a gap."""
    n, m = min(size, 4), int(rng.integers(1, 5))
    a, b = rng.integers(1, 4, n), rng.integers(1, 4, m)
    score, gap = rng.normal(size=(3, 3)), rng.random()

    def best(j: int) -> float:
        return max(
            sum(score[a[p] - 1, b[q] - 1] for p, q in zip(left, right, strict=True)) - gap * (n + j - 2 * k)
            for k in range(min(n, j) + 1)
            for left in combinations(range(n), k)
            for right in combinations(range(j), k)
        )

    return Trial({"a": a, "b": b, "score": score, "gap": gap}, ([best(j) for j in range(m + 1)],))
