"""Trials of the programs of linear algebra with sparse matrices, against dense ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tools.textbook.holding import Trial

Rng = np.random.Generator


def coordinates(rng: Rng, size: int) -> Trial:
    m, n = 3, 4
    row, column = rng.integers(1, m + 1, size), rng.integers(1, n + 1, size)
    entry, x = rng.normal(size=size), rng.normal(size=n)
    matrix = np.zeros((m, n))
    np.add.at(matrix, (row - 1, column - 1), entry)
    return Trial({"row": row, "column": column, "entry": entry, "x": x}, (matrix @ x,), {"m": m})


def ellpack(rng: Rng, size: int) -> Trial:
    k, n = int(rng.integers(1, 4)), 5
    column, entry, x = rng.integers(1, n + 1, (size, k)), rng.normal(size=(size, k)), rng.normal(size=n)
    matrix = np.zeros((size, n))
    np.add.at(matrix, (np.arange(size)[:, None], column - 1), entry)
    return Trial({"column": column, "entry": entry, "x": x}, (matrix @ x,))


def tridiagonal(rng: Rng, size: int) -> Trial:
    n = size + 1
    a, b, c, x = (rng.normal(size=k) for k in (n - 1, n, n - 1, n))
    matrix = np.diag(a, -1) + np.diag(b) + np.diag(c, 1)
    return Trial({"a": a, "b": b, "c": c, "x": x}, (matrix @ x,), {"n": n})


def band(rng: Rng, size: int) -> Trial:
    w = int(rng.integers(0, 4))
    a, x = rng.normal(size=(size, size)), rng.normal(size=size)
    return Trial({"A": a, "x": x}, (np.triu(np.tril(a, w), -w) @ x,), {"w": w})


def five_points(rng: Rng, size: int) -> Trial:
    u, f = rng.normal(size=(size + 2, size + 2)), rng.normal(size=(size, size))
    cross = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    sums = [[(u[i : i + 3, j : j + 3] * cross).sum() for j in range(size)] for i in range(size)]
    return Trial({"u": u, "f": f}, ((sums + f) / 4,))


def compressed_columns(rng: Rng, size: int) -> Trial:
    matrix = np.where(rng.random((3, size)) < 0.5, rng.normal(size=(3, size)), 0)
    matrix[0, 0] = 1
    column, row = np.nonzero(matrix.T)
    ptr, x = np.append(0, (matrix != 0).sum(0).cumsum()), rng.normal(size=size)
    inputs = {"entry": matrix.T[column, row], "row": row + 1, "ptr": ptr, "x": x}
    return Trial(inputs, (matrix @ x,), {"m": 3})


def row_maxima(rng: Rng, size: int) -> Trial:
    count = rng.integers(0, 4, size)
    count[0] += 1
    entry, ptr = rng.normal(size=count.sum()), np.append(0, count.cumsum())
    return Trial({"entry": entry, "ptr": ptr}, ([entry[a:b].max(initial=-np.inf) for a, b in pairwise(ptr)],))
