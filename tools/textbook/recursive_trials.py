"""Trials of the programs that apply themselves."""

from __future__ import annotations

import numpy as np

from tools.textbook.holding import Array, Trial

Rng = np.random.Generator


def _power(size: int, most: int = 8) -> int:
    """A power of two, for one size after the other."""
    return int(min(2 ** (size - 1), most))


def merge_sort(rng: Rng, size: int) -> Trial:
    x = rng.integers(-size, size, _power(size)) / 2  # some are equal
    return Trial({"x": x}, (np.sort(x),))


def karatsuba(rng: Rng, size: int) -> Trial:
    a, b = rng.integers(-99, 99, (2, _power(size)))
    return Trial({"a": a, "b": b}, (np.convolve(a, b),))


def _matrices(rng: Rng, size: int) -> Trial:
    n = _power(size, 4)
    a, b = rng.normal(size=(2, n, n))
    return Trial({"a": a, "b": b}, (a @ b,))


strassen = block_product = _matrices


def fourier(rng: Rng, size: int) -> Trial:
    n = _power(size)
    x = rng.normal(size=n) + 1j * rng.normal(size=n)
    return Trial({"x": x, "root": np.exp(-2j * np.pi * np.arange(n) / n)}, (np.fft.fft(x),))


def hadamard(rng: Rng, size: int) -> Trial:
    n = _power(size)
    x = rng.normal(size=n)
    bits = np.arange(n)[:, None] & np.arange(n)
    signs = np.array([[(-1) ** int(b).bit_count() for b in row] for row in bits])
    return Trial({"x": x}, (signs @ x,))


def hanoi(rng: Rng, size: int) -> Trial:
    w = rng.normal(size=size)
    return Trial({"w": w}, (sum(w[disk] for disk in _moved(size)),))


def _moved(disks: int) -> list[int]:
    """The disks in the order in which they move."""
    return [] if disks == 0 else [*_moved(disks - 1), disks - 1, *_moved(disks - 1)]


def horner(rng: Rng, size: int) -> Trial:
    a, x = rng.normal(size=size), rng.normal()
    return Trial({"a": a, "x": x}, (np.polyval(a, x),))


def minimum_and_maximum(rng: Rng, size: int) -> Trial:
    x = rng.normal(size=max(_power(size), 2))
    return Trial({"x": x}, (x.min(), x.max()))


def sums_tree(rng: Rng, size: int) -> Trial:
    x = rng.normal(size=_power(size))
    return Trial({"x": x}, (_tree(x),))


def _tree(x: Array) -> Array:
    half = len(x) // 2
    return x if half == 0 else np.array([x.sum(), *_tree(x[:half]), *_tree(x[half:])])


def filled_merge_sort(rng: Rng, size: int) -> Trial:
    x = rng.integers(-size, size, size) / 2  # some are equal, and most sizes are no powers of 2
    return Trial({"x": x}, (np.sort(x),))
