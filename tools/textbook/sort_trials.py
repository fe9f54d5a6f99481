"""Trials of the programs that sort."""

from __future__ import annotations

import numpy as np

from tools.textbook.holding import Array, Trial


def _sorted(rng: np.random.Generator, size: int) -> Trial:
    x = rng.integers(-size, size, size) / 2  # some are equal
    return Trial({"x": x}, (np.sort(x),))


selection = bubble = insertion = comparison_counting = quicksort = _sorted


def two_way_merge(rng: np.random.Generator, size: int) -> Trial:
    a, b = np.sort(rng.normal(size=size)), np.sort(rng.normal(size=int(rng.integers(1, 7))))
    return Trial({"a": a, "b": b}, (np.sort(np.concatenate([a, b])),))


def radix(rng: np.random.Generator, size: int) -> Trial:
    key = rng.integers(0, 3, (size, int(rng.integers(1, 4))))
    return Trial({"key": key}, (np.lexsort(key.T[::-1]) + 1,), {"k": 3})


def partition(rng: np.random.Generator, size: int) -> Trial:
    x = rng.integers(0, 4, size).astype(float)
    order, place = _lomuto(x)
    assert set(order[:place]) <= {e for e in x if e <= x[-1]}
    return Trial({"x": x}, (order, place))


def _lomuto(x: Array) -> tuple[Array, int]:
    """The numbers up to the last one, then the others, in the order that exchanges leave."""
    small, large = [], []
    for e in x[:-1]:
        if e <= x[-1]:
            small.append(e)
            large = [*large[1:], large[0]] if large else large
        else:
            large.append(e)
    return np.array([*small, x[-1], *large[1:], *large[:1]]), len(small) + 1
