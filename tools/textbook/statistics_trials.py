"""Trials of the programs of statistics."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from tools.textbook.holding import Trial

Rng = np.random.Generator


def two_pass_variance(rng: Rng, size: int) -> Trial:
    x = rng.normal(size=size + 1)
    return Trial({"x": x}, (x.mean(), x.var(ddof=1)))


def covariance_matrix(rng: Rng, size: int) -> Trial:
    x = rng.normal(size=(size, 3))
    return Trial({"x": x}, (np.cov(x.T, bias=True),))


def kendall(rng: Rng, size: int) -> Trial:
    x, y = rng.permutation(9)[: size + 1], rng.permutation(9)[: size + 1]
    pairs = list(combinations(range(size + 1), 2))
    signs = sum(np.sign((x[i] - x[j]) * (y[i] - y[j])) for i, j in pairs)
    return Trial({"x": x.astype(float), "y": y.astype(float)}, (signs / len(pairs),))


def mann_whitney(rng: Rng, size: int) -> Trial:
    x, y = rng.integers(0, 5, size).astype(float), rng.integers(0, 5, 3).astype(float)
    return Trial({"x": x, "y": y}, (np.subtract.outer(x, y).clip(0, 1).sum(),))


def theil_sen(rng: Rng, size: int) -> Trial:
    x, y = rng.permutation(9)[:size] / 2, rng.normal(size=size)
    across = np.subtract.outer(x, x) + np.eye(size)
    return Trial({"x": x, "y": y}, (np.tril(np.subtract.outer(y, y) / across, -1),))


def markov_chain(rng: Rng, size: int) -> Trial:
    p, a, t = rng.random(size), rng.random((size, size)), int(rng.integers(0, 4))
    return Trial({"p": p, "a": a}, (p @ np.linalg.matrix_power(a, t),), {"t": t})


def nearest_neighbours(rng: Rng, size: int) -> Trial:
    x, y = rng.normal(size=(size, 2)), rng.normal(size=(4, 2))
    distance = np.linalg.norm(x[:, None] - y, axis=2)
    return Trial({"x": x, "y": y}, (distance.argmin(axis=1) + 1,))


def smoothing(rng: Rng, size: int) -> Trial:
    x, a = rng.normal(size=size + 1), float(rng.random())
    weights = [
        [a * (1 - a) ** (i - k) if 0 < k <= i else 0 for k in range(size + 1)] for i in range(size + 1)
    ]
    first = (1 - a) ** np.arange(size + 1)
    return Trial({"x": x, "a": a}, (np.array(weights) @ x + first * x[0],))


def naive_bayes(rng: Rng, size: int) -> Trial:
    x, prior, said = rng.integers(1, 4, (size, 2)), rng.normal(size=3), rng.normal(size=(3, 2, 3))
    score = [
        [prior[c] + sum(said[c, j, x[i, j] - 1] for j in range(2)) for c in range(3)] for i in range(size)
    ]
    return Trial({"x": x, "prior": prior, "said": said}, (np.argmax(score, axis=1) + 1,))
