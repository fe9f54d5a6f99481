"""Trials of the programs that search."""

from __future__ import annotations

import numpy as np

from tools.textbook.holding import Trial


def sequential(rng: np.random.Generator, size: int) -> Trial:
    x, key = rng.integers(0, 4, size), int(rng.integers(0, 4))
    return Trial({"x": x.astype(float), "key": float(key)}, ([*x, key].index(key) + 1 if key in x else 0,))


def binary(rng: np.random.Generator, size: int) -> Trial:
    p = (size + 1) // 2
    x, key = np.sort(rng.integers(0, 9, 2**p - 1)), float(rng.integers(-1, 10))
    return Trial({"x": x.astype(float), "key": key}, (np.searchsorted(x, key),), {"p": p})


def maximum(rng: np.random.Generator, size: int) -> Trial:
    x = rng.normal(size=size)
    return Trial({"x": x}, (x.max(),))


def minimum_and_maximum(rng: np.random.Generator, size: int) -> Trial:
    x = rng.normal(size=2 * size)
    return Trial({"x": x}, (x.min(), x.max()), {"n_share": size})


def second_greatest(rng: np.random.Generator, size: int) -> Trial:
    p = (size + 1) // 2
    x = rng.integers(0, 20, 2**p).astype(float)
    return Trial({"x": x}, tuple(np.sort(x)[:-3:-1]), {"p": p})


def saddleback(rng: np.random.Generator, size: int) -> Trial:
    a = rng.integers(0, 3, (size, int(rng.integers(1, 6)))).cumsum(0).cumsum(1).astype(float)
    key = float(rng.integers(0, a.max() + 2))
    return Trial({"a": a, "key": key}, (key in a,))


def bisection(rng: np.random.Generator, size: int) -> Trial:
    x = np.sort(rng.integers(0, 5, size)).astype(float)
    key = float(rng.integers(0, 6))
    return Trial({"x": x, "key": key}, (np.searchsorted(x, key) + 1,))
