"""Trials of the programs of linear algebra with dense matrices."""

from __future__ import annotations

import numpy as np

from tools.textbook.holding import Array, Trial

Rng = np.random.Generator


def _dominant(rng: Rng, n: int) -> Array:
    """A matrix whose elimination needs no exchange of rows."""
    return rng.normal(size=(n, n)) + 2 * n * np.eye(n)


def _system(rng: Rng, n: int) -> tuple[Array, Array]:
    return _dominant(rng, n), rng.normal(size=n)


def _solved(rng: Rng, size: int) -> Trial:
    a, b = _system(rng, size)
    return Trial({"A": a, "b": b}, (np.linalg.solve(a, b),))


gaussian_elimination = gauss_jordan = _solved


def back_substitution(rng: Rng, size: int) -> Trial:
    a, b = _system(rng, size)
    return Trial({"U": a, "b": b}, (np.linalg.solve(np.triu(a), b),))


def ldl(rng: Rng, size: int) -> Trial:
    a = rng.normal(size=(size, size))
    a = a @ a.T + np.eye(size)
    c = np.linalg.cholesky(a)
    return Trial({"A": a}, (np.tril(c / np.diag(c), -1), np.diag(c) ** 2))


def thomas(rng: Rng, size: int) -> Trial:
    a, c = rng.normal(size=size), rng.normal(size=size)
    b, d = rng.normal(size=size + 1) + 9, rng.normal(size=size + 1)
    matrix = np.diag(a, -1) + np.diag(b) + np.diag(c, 1)
    return Trial({"a": a, "b": b, "c": c, "d": d}, (np.linalg.solve(matrix, d),))


def _tall(rng: Rng, size: int) -> tuple[Array, int, int]:
    n, m = int(rng.integers(1, size + 1)), size
    return rng.normal(size=(m + n, n)), m, n


def householder(rng: Rng, size: int) -> Trial:
    a, m, n = _tall(rng, size)
    r = np.linalg.qr(a, mode="complete")[1]
    return Trial({"A": a}, (r,), {"m": m, "n": n})


def givens(rng: Rng, size: int) -> Trial:
    a, m, n = _tall(rng, size)
    r = np.linalg.qr(a, mode="r")
    r = r * np.sign(np.diag(r))[:, None]  # the rotations leave a positive diagonal
    return Trial({"A": a}, (np.vstack([r, np.zeros((m, n))]),), {"m": m, "n": n})


def classical_gram_schmidt(rng: Rng, size: int) -> Trial:
    a = rng.normal(size=(size + 3, size)) + np.eye(size + 3, size)
    q, r = np.linalg.qr(a)
    return Trial({"A": a}, (q * np.sign(np.diag(r)),))


def triangular_inverse(rng: Rng, size: int) -> Trial:
    a = _dominant(rng, size)
    return Trial({"L": a}, (np.linalg.inv(np.tril(a)),))


def inverse(rng: Rng, size: int) -> Trial:
    a = _dominant(rng, size)
    return Trial({"A": a}, (np.linalg.inv(a),))


def hessenberg(rng: Rng, size: int) -> Trial:
    """By Householder's matrices written out."""
    n = size
    a = rng.normal(size=(n + 2, n + 2))
    h = a
    for k in range(n):
        v = h[:, k] * (np.arange(n + 2) > k)
        v[k + 1] += np.copysign(np.linalg.norm(v), v[k + 1])
        p = np.eye(n + 2) - 2 * np.outer(v, v) / (v @ v)
        h = p @ h @ p
    return Trial({"A": a}, (h,), {"n": n})


def levinson(rng: Rng, size: int) -> Trial:
    r, b = rng.uniform(-0.5, 0.5, size) / size, rng.normal(size=size + 1)
    t = np.array([[[1.0, *r][abs(i - j)] for j in range(size + 1)] for i in range(size + 1)])
    return Trial({"r": r, "b": b}, (np.linalg.solve(t, b),))


def kronecker(rng: Rng, size: int) -> Trial:
    m, n, p, q = rng.integers(1, 4, 4)
    a, b = rng.normal(size=(m, n)), rng.normal(size=(p, q))
    return Trial({"A": a, "B": b}, (np.kron(a, b),))


def jacobi_sweep(rng: Rng, size: int) -> Trial:
    (a, b), x = _system(rng, size), rng.normal(size=size)
    d = np.diag(a)
    return Trial({"A": a, "b": b, "x": x}, ((b - (a - np.diag(d)) @ x) / d,))


def gauss_seidel_sweep(rng: Rng, size: int) -> Trial:
    (a, b), x = _system(rng, size), rng.normal(size=size)
    return Trial({"A": a, "b": b, "x": x}, (np.linalg.solve(np.tril(a), b - np.triu(a, 1) @ x),))


def normal_equations(rng: Rng, size: int) -> Trial:
    a, b = rng.normal(size=(size + 4, size)) + np.eye(size + 4, size), rng.normal(size=size + 4)
    return Trial({"A": a, "b": b}, (np.linalg.lstsq(a, b, rcond=None)[0],))


def winograd_inner_products(rng: Rng, size: int) -> Trial:
    m, n = rng.integers(1, 5, 2)
    a, b = rng.normal(size=(m, 2 * size)), rng.normal(size=(2 * size, n))
    return Trial({"A": a, "B": b}, (a @ b,), {"h": size})


def vandermonde(rng: Rng, size: int) -> Trial:
    x, f = rng.permutation(9)[:size] / 2, rng.normal(size=size)
    return Trial({"x": x, "f": f}, (np.linalg.solve(np.vander(x, increasing=True), f),))


def faddeev_leverrier(rng: Rng, size: int) -> Trial:
    a = rng.normal(size=(size, size))
    return Trial({"A": a}, (np.poly(a),))
