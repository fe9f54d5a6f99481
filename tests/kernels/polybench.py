"""The 30 kernels of PolyBench as loops and NumPy, written apart from the programs of `specs/polybench`."""

# ruff: noqa: N803, N806  (arrays keep the names that PolyBench gives them)

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def gemm(A, B, C, alpha, beta):
    return alpha * A @ B + beta * C


def k2mm(A, B, C, D, alpha, beta):
    return alpha * A @ B @ C + beta * D


def k3mm(A, B, C, D):
    return (A @ B) @ (C @ D)


def atax(A, x):
    return (A @ x) @ A


def bicg(A, p, r):
    return r @ A, A @ p


def mvt(A, x1, x2, y1, y2):
    return x1 + A @ y1, x2 + y2 @ A


def gemver(A, u1, v1, u2, v2, w, x, y, z, alpha, beta):
    A = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = x + beta * y @ A + z
    return A, x, w + alpha * A @ x


def gesummv(A, B, x, alpha, beta):
    return alpha * A @ x + beta * B @ x


def symm(A, B, C, alpha, beta):
    full = np.tril(A) + np.tril(A, -1).T
    return alpha * full @ B + beta * C


def syrk(A, C, alpha, beta):
    full = alpha * A @ A.T + beta * C
    return np.tril(full) + np.triu(C, 1)


def syr2k(A, B, C, alpha, beta):
    full = alpha * A @ B.T + alpha * B @ A.T + beta * C
    return np.tril(full) + np.triu(C, 1)


def trmm(A, B, alpha):
    return alpha * (np.tril(A, -1) + np.eye(len(A))).T @ B


def doitgen(A, C4):
    return A @ C4


def cholesky(A):
    return np.linalg.cholesky(A) + np.triu(A, 1)


def lu(A):
    n = len(A)
    for i in range(n):
        for j in range(n):
            A[i, j] -= sum(A[i, k] * A[k, j] for k in range(min(i, j)))
            if j < i:
                A[i, j] /= A[j, j]
    return A


def ludcmp(A, b):
    return np.linalg.solve(A, b)


def trisolv(L, b):
    return np.linalg.solve(np.tril(L), b)


def durbin(r):
    n = len(r)
    toeplitz = np.array([[1.0 if i == j else r[abs(i - j) - 1] for j in range(n)] for i in range(n)])
    return np.linalg.solve(toeplitz, -r)


def gramschmidt(A):
    _, n = A.shape
    q, r = np.zeros_like(A), np.zeros((n, n))
    for k in range(n):
        r[k, k] = math.sqrt(A[:, k] @ A[:, k])
        q[:, k] = A[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = q[:, k] @ A[:, j]
            A[:, j] -= q[:, k] * r[k, j]
    return q, r


def deriche(imgIn):
    alpha = 0.25
    e = math.exp(-alpha)
    k = (1 - e) * (1 - e) / (1 + 2 * alpha * e - math.exp(2 * alpha))
    a1, a2, a3, a4 = k, k * e * (alpha - 1), k * e * (alpha + 1), -k * math.exp(-2 * alpha)
    b1, b2 = 2.0**-alpha, -math.exp(-2 * alpha)

    def line(x):
        n = len(x)
        forth, back = np.zeros(n), np.zeros(n)
        at = lambda v, j: v[j] if 0 <= j < n else 0.0  # noqa: E731
        for j in range(n):
            forth[j] = a1 * x[j] + a2 * at(x, j - 1) + b1 * at(forth, j - 1) + b2 * at(forth, j - 2)
        for j in reversed(range(n)):
            back[j] = a3 * at(x, j + 1) + a4 * at(x, j + 2) + b1 * at(back, j + 1) + b2 * at(back, j + 2)
        return forth + back

    rows = np.array([line(row) for row in imgIn])
    return np.array([line(column) for column in rows.T]).T


def floyd_warshall(path):
    for k in range(len(path)):
        path = np.minimum(path, path[:, [k]] + path[[k], :])
    return path


def nussinov(seq):
    n = len(seq)
    table = np.zeros((n, n), int)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = max(table[i, j], table[i, j - 1], table[i + 1, j])
            pair = int(seq[i] + seq[j] == 3) if i < j - 1 else 0
            table[i, j] = max(table[i, j], table[i + 1, j - 1] + pair)
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def jacobi_1d(A, B, tsteps):
    for _ in range(tsteps):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return A, B


def jacobi_2d(A, B, tsteps):
    def sweep(x, y):
        y[1:-1, 1:-1] = 0.2 * (x[1:-1, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] + x[2:, 1:-1] + x[:-2, 1:-1])

    for _ in range(tsteps):
        sweep(A, B)
        sweep(B, A)
    return A, B


def heat_3d(A, B, tsteps):
    def sweep(x, y):
        mid = x[1:-1, 1:-1, 1:-1]
        y[1:-1, 1:-1, 1:-1] = mid + 0.125 * (
            (x[2:, 1:-1, 1:-1] - 2 * mid + x[:-2, 1:-1, 1:-1])
            + (x[1:-1, 2:, 1:-1] - 2 * mid + x[1:-1, :-2, 1:-1])
            + (x[1:-1, 1:-1, 2:] - 2 * mid + x[1:-1, 1:-1, :-2])
        )

    if len(A) > 2:
        for _ in range(tsteps):
            sweep(A, B)
            sweep(B, A)
    return A, B


def seidel_2d(A, tsteps):
    n = len(A)
    for _ in range(tsteps):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                A[i, j] = A[i - 1 : i + 2, j - 1 : j + 2].sum() / 9
    return A


def fdtd_2d(ex, ey, hz, fict):
    for t in range(len(fict)):
        ey[0] = fict[t]
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def adi(u0, tsteps):
    u, n = u0, len(u0)
    v, p, q = (np.zeros((n, n)) for _ in range(3))
    mul1, mul2 = 2.0 * (1 / tsteps) / (1 / n) ** 2, 1.0 * (1 / tsteps) / (1 / n) ** 2
    a, b, d, e = -mul1 / 2, 1 + mul1, -mul2 / 2, 1 + mul2
    c, f = a, d
    for _ in range(tsteps):
        for i in range(1, n - 1):
            v[0, i], p[i, 0], q[i, 0] = 1, 0, 1
            for j in range(1, n - 1):
                p[i, j] = -c / (a * p[i, j - 1] + b)
                known = -d * u[j, i - 1] + (1 + 2 * d) * u[j, i] - f * u[j, i + 1]
                q[i, j] = (known - a * q[i, j - 1]) / (a * p[i, j - 1] + b)
            v[n - 1, i] = 1
            for j in range(n - 2, 0, -1):
                v[j, i] = p[i, j] * v[j + 1, i] + q[i, j]
        for i in range(1, n - 1):
            u[i, 0], p[i, 0], q[i, 0] = 1, 0, 1
            for j in range(1, n - 1):
                p[i, j] = -f / (d * p[i, j - 1] + e)
                known = -a * v[i - 1, j] + (1 + 2 * a) * v[i, j] - c * v[i + 1, j]
                q[i, j] = (known - d * q[i, j - 1]) / (d * p[i, j - 1] + e)
            u[i, n - 1] = 1
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]
    return u


def correlation(data):
    mean, spread = data.mean(0), data.std(0)
    spread[spread <= 0.1] = 1
    x = (data - mean) / (math.sqrt(len(data)) * spread)
    found = x.T @ x
    np.fill_diagonal(found, 1)
    return found


def covariance(data):
    x = data - data.mean(0)
    return x.T @ x / (len(data) - 1)
