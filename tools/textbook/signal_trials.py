"""Trials of the programs on signals."""

from __future__ import annotations

import numpy as np

from tools.textbook.holding import Trial

Rng = np.random.Generator


def fir(rng: Rng, size: int) -> Trial:
    k = int(rng.integers(1, 4))
    x, h = rng.normal(size=size + k), rng.normal(size=k + 1)
    return Trial({"x": x, "h": h}, (np.convolve(x, h, "valid"),), {"n": size, "k": k})


def biquad(rng: Rng, size: int) -> Trial:
    """By the equation between what goes in and what comes out."""
    x, a, b = rng.normal(size=size), rng.normal(size=2), rng.normal(size=3)
    y: list[float] = []
    for i in range(size):
        before = [y[i - k] if i >= k else 0.0 for k in (1, 2)]
        y.append(sum(b[k] * x[i - k] for k in range(3) if i >= k) - a @ before)
    return Trial({"x": x, "a": a, "b": b}, (y,))


def moving_sums(rng: Rng, size: int) -> Trial:
    k = int(rng.integers(1, 4))
    x = rng.normal(size=size + k + 1)
    return Trial({"x": x}, (np.convolve(x, np.ones(k + 1), "valid"),), {"n": size, "k": k})


def haar(rng: Rng, size: int) -> Trial:
    p = size // 2
    matrix = np.eye(1)
    while len(matrix) < 2**p:
        matrix = np.vstack([np.kron(matrix, [1, 1]), np.kron(np.eye(len(matrix)), [1, -1])])
    x = rng.normal(size=2**p)
    return Trial({"x": x}, (matrix @ x,), {"p": p})


def inverse_haar(rng: Rng, size: int) -> Trial:
    there = haar(rng, size)
    (transformed,) = there.outputs
    return Trial({"x": transformed}, (there.inputs["x"],), there.lengths)


def discrete_fourier(rng: Rng, size: int) -> Trial:
    x = rng.normal(size=size) + 1j * rng.normal(size=size)
    return Trial({"x": x}, (np.fft.fft(x),))


def goertzel(rng: Rng, size: int) -> Trial:
    x, k = rng.normal(size=size), int(rng.integers(0, size))
    found = np.fft.fft(x)[k]
    return Trial({"x": x}, (found.real, found.imag), {"k": k})


def autocorrelation(rng: Rng, size: int) -> Trial:
    x = rng.normal(size=size)
    return Trial({"x": x}, (np.correlate(x, x, "full")[size - 1 :],))


def separable_filter(rng: Rng, size: int) -> Trial:
    k, m = int(rng.integers(1, 3)), 3
    x, u, v = rng.normal(size=(size + k, m + k)), rng.normal(size=k + 1), rng.normal(size=k + 1)
    return Trial({"x": x, "u": u, "v": v}, (_filtered(x, np.outer(u, v)),), {"n": size, "m": m, "k": k})


def filter_2d(rng: Rng, size: int) -> Trial:
    k, m = int(rng.integers(1, 3)), 3
    x, w = rng.normal(size=(size + k, m + k)), rng.normal(size=(k + 1, k + 1))
    return Trial({"x": x, "w": w}, (_filtered(x, w),), {"n": size, "m": m, "k": k})


def _filtered(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape)
    return np.einsum("ijpq,pq->ij", windows, w)


def median_of_three(rng: Rng, size: int) -> Trial:
    x = rng.normal(size=size + 2)
    windows = np.lib.stride_tricks.sliding_window_view(x, 3)
    return Trial({"x": x}, (np.median(windows, axis=1),), {"n": size})


def karatsuba_level(rng: Rng, size: int) -> Trial:
    a, b = rng.normal(size=(2, 2 * size))
    return Trial({"a": a, "b": b}, (np.convolve(a, b),), {"h": size})
