"""The kernels of PolyBench in loopy: how long ``get_op_map`` takes, and what it finds.

Run by ``bench_polybench`` as ``peer_loopy`` is by ``bench_analysis``.  A kernel is a list of statements, each
with the loops around it; counting needs no more.  Functions that loopy does not count, or counts as something
else, are written as others that count as many: a comparison as a product, a choice as a maximum.  Scalars are
numbers.
"""

from __future__ import annotations

import json
import re
import sys
import warnings

import islpy
import loopy
from peer_loopy import Kernel, measure, totals

I2 = "0 <= i < {} and 0 <= j < {}"
BOX = "1 <= i < n - 1 and 1 <= j < n - 1"


def product(result: str, left: str, right: str, lengths: str, factor: str = "") -> tuple[str, str]:
    """The statement of a matrix product, added to what there is."""
    i, j, k = lengths.split()
    body = f"{result}[i, j] = {result}[i, j] + {factor}{left}[i, k] * {right}[k, j]"
    return f"0 <= i < {i} and 0 <= j < {j} and 0 <= k < {k}", body


def sweep(a: str, b: str, space: str, body: str) -> tuple[str, str]:
    """A sweep of a stencil in every step of time."""
    return f"0 <= t < tsteps and {space}", f"{b} = {body.replace('@', a)}"


_J1 = "0.33333 * (@[i - 1] + @[i] + @[i + 1])"
_J2 = "0.2 * (@[i, j] + @[i, j - 1] + @[i, j + 1] + @[i + 1, j] + @[i - 1, j])"
_H = (
    "0.125 * (@[i + 1, j, k] - 2.0 * @[i, j, k] + @[i - 1, j, k])"
    " + 0.125 * (@[i, j + 1, k] - 2.0 * @[i, j, k] + @[i, j - 1, k])"
    " + 0.125 * (@[i, j, k + 1] - 2.0 * @[i, j, k] + @[i, j, k - 1]) + @[i, j, k]"
)
_CUBE = BOX + " and 1 <= k < n - 1"
_NINE = " + ".join(f"A[i + {u}, j + {v}]" for u in (-1, 0, 1) for v in (-1, 0, 1))
_LU = (
    ("0 <= i < n and 0 <= j < i and 0 <= k < j", "A[i, j] = A[i, j] - A[i, k] * A[k, j]"),
    ("0 <= i < n and 0 <= j < i", "A[i, j] = A[i, j] / A[j, j]"),
    ("0 <= i < n and i <= j < n and 0 <= k < i", "A[i, j] = A[i, j] - A[i, k] * A[k, j]"),
)


def _line(y: str, x: str) -> str:
    """A recursive filter along a line: two entries and two results."""
    return f"{y}[i, j] = a1 * {x}[i, j] + a2 * {x}[i, j + 1] + b1 * {y}[i, j + 1] + b2 * {y}[i, j + 2]"


_COLUMNS = (
    f"0 <= t < tsteps and {BOX}",
    "q[i, j] = (d * u[j, i - 1] + e * u[j, i] - d * u[j, i + 1] - a * q[i, j - 1]) / r[j]",
)
_BACK = (f"0 <= t < tsteps and {BOX}", "v[j, i] = p[j] * v[j + 1, i] + q[i, j]")

STATEMENTS: dict[str, tuple[tuple[str, str], ...]] = {
    "gemm": (
        (I2.format("ni", "nj"), "C[i, j] = C[i, j] * beta"),
        product("C", "A", "B", "ni nj nk", "alpha * "),
    ),
    "2mm": (
        product("T", "A", "B", "ni nj nk", "alpha * "),
        (I2.format("ni", "nl"), "D[i, j] = D[i, j] * beta"),
        product("D", "T", "C", "ni nl nj"),
    ),
    "3mm": (
        product("E", "A", "B", "ni nj nk"),
        product("F", "C", "D", "nj nl nm"),
        product("G", "E", "F", "ni nl nj"),
    ),
    "atax": (
        (I2.format("m", "n"), "s[i] = s[i] + A[i, j] * x[j]"),
        (I2.format("m", "n"), "y[j] = y[j] + A[i, j] * s[i]"),
    ),
    "bicg": (
        (I2.format("n", "m"), "s[j] = s[j] + r[i] * A[i, j]"),
        (I2.format("n", "m"), "q[i] = q[i] + A[i, j] * p[j]"),
    ),
    "mvt": (
        (I2.format("n", "n"), "x[i] = x[i] + A[i, j] * y[j]"),
        (I2.format("n", "n"), "u[i] = u[i] + A[j, i] * v[j]"),
    ),
    "gemver": (
        (I2.format("n", "n"), "A[i, j] = A[i, j] + u1[i] * v1[j] + u2[i] * v2[j]"),
        (I2.format("n", "n"), "x[i] = x[i] + beta * A[j, i] * y[j]"),
        ("0 <= i < n", "x[i] = x[i] + z[i]"),
        (I2.format("n", "n"), "w[i] = w[i] + alpha * A[i, j] * x[j]"),
    ),
    "gesummv": (
        (I2.format("n", "n"), "s[i] = s[i] + A[i, j] * x[j]"),
        (I2.format("n", "n"), "y[i] = y[i] + B[i, j] * x[j]"),
        ("0 <= i < n", "y[i] = alpha * s[i] + beta * y[i]"),
    ),
    "symm": (
        ("0 <= i < m and 0 <= j < n and 0 <= k < i", "C[k, j] = C[k, j] + alpha * B[i, j] * A[i, k]"),
        ("0 <= i < m and 0 <= j < n and 0 <= k < i", "T[i, j] = T[i, j] + B[k, j] * A[i, k]"),
        (I2.format("m", "n"), "C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * T[i, j]"),
    ),
    "syrk": (
        ("0 <= i < n and 0 <= j <= i", "C[i, j] = C[i, j] * beta"),
        ("0 <= i < n and 0 <= j <= i and 0 <= k < m", "C[i, j] = C[i, j] + alpha * A[i, k] * A[j, k]"),
    ),
    "syr2k": (
        ("0 <= i < n and 0 <= j <= i", "C[i, j] = C[i, j] * beta"),
        (
            "0 <= i < n and 0 <= j <= i and 0 <= k < m",
            "C[i, j] = C[i, j] + (A[j, k] * alpha * B[i, k] + B[j, k] * alpha * A[i, k])",
        ),
    ),
    "trmm": (
        ("0 <= i < m and 0 <= j < n and i < k < m", "B[i, j] = B[i, j] + A[k, i] * B[k, j]"),
        (I2.format("m", "n"), "B[i, j] = alpha * B[i, j]"),
    ),
    "doitgen": (
        (
            "0 <= i < nr and 0 <= j < nq and 0 <= k < np and 0 <= l < np",
            "D[i, j, k] = D[i, j, k] + A[i, j, l] * C[l, k]",
        ),
    ),
    "cholesky": (
        ("0 <= i < n and 0 <= j < i and 0 <= k < j", "A[i, j] = A[i, j] - A[i, k] * A[j, k]"),
        ("0 <= i < n and 0 <= j < i", "A[i, j] = A[i, j] / A[j, j]"),
        ("0 <= i < n and 0 <= k < i", "A[i, i] = A[i, i] - A[i, k] * A[i, k]"),
        ("0 <= i < n", "A[i, i] = sqrt(A[i, i])"),
    ),
    "lu": _LU,
    "ludcmp": (
        *_LU,
        ("0 <= i < n and 0 <= j < i", "y[i] = y[i] - A[i, j] * y[j]"),
        ("0 <= i < n and i < j < n", "x[i] = x[i] - A[i, j] * x[j]"),
        ("0 <= i < n", "x[i] = x[i] / A[i, i]"),
    ),
    "trisolv": (
        ("0 <= i < n and 0 <= j < i", "x[i] = x[i] - L[i, j] * x[j]"),
        ("0 <= i < n", "x[i] = x[i] / L[i, i]"),
    ),
    "durbin": (
        ("0 <= i < 2", "u[i] = 1.25 * v[i]"),
        ("1 <= k < n", "b[k] = (1.0 - a[k] * a[k]) * b[k - 1]"),
        ("1 <= k < n and 0 <= i < k", "s[k] = s[k] + r[k - i - 1] * y[i]"),
        ("1 <= k < n", "a[k] = 1.25 * (r[k] + s[k]) / b[k]"),
        ("1 <= k < n and 0 <= i < k", "z[i] = y[i] + a[k] * y[k - i - 1]"),
    ),
    "gramschmidt": (
        ("0 <= k < n and 0 <= i < m", "s[k] = s[k] + A[i, k] * A[i, k]"),
        ("0 <= k < n", "R[k, k] = sqrt(s[k])"),
        ("0 <= k < n and 0 <= i < m", "Q[i, k] = A[i, k] / R[k, k]"),
        ("0 <= k < n and k < j < n and 0 <= i < m", "R[k, j] = R[k, j] + Q[i, k] * A[i, j]"),
        ("0 <= k < n and k < j < n and 0 <= i < m", "A[i, j] = A[i, j] - Q[i, k] * R[k, j]"),
    ),
    "deriche": tuple(
        statement
        for x, y in (("x", "y"), ("y", "z"))
        for statement in (
            (I2.format("w", "h"), _line("f", x)),
            (I2.format("w", "h"), _line("g", x)),
            (I2.format("w", "h"), f"{y}[i, j] = c * (f[i, j] + g[i, j])"),
        )
    ),
    "floyd-warshall": (
        ("0 <= i < n and 0 <= j < n and 0 <= k < n", "A[i, j] = fmin(A[i, j], A[i, k] + A[k, j])"),
    ),
    "nussinov": (
        ("0 <= i < n and i < j < n", "A[i, j] = fmax(A[i, j], A[i, j - 1])"),
        ("0 <= i < n and i < j < n", "A[i, j] = fmax(A[i, j], A[i + 1, j])"),
        ("0 <= i < n and i + 1 < j < n", "A[i, j] = fmax(A[i, j], A[i + 1, j - 1] + 3.0 * (s[i] + s[j]))"),
        ("0 <= i < n and j = i + 1 and j < n", "A[i, j] = fmax(A[i, j], A[i + 1, j - 1])"),
        ("0 <= i < n and i < j < n and i < k < j", "A[i, j] = fmax(A[i, j], A[i, k] + A[k + 1, j])"),
    ),
    "jacobi-1d": (
        sweep("A", "B[i]", "1 <= i < n - 1", _J1),
        sweep("B", "A[i]", "1 <= i < n - 1", _J1),
    ),
    "jacobi-2d": (sweep("A", "B[i, j]", BOX, _J2), sweep("B", "A[i, j]", BOX, _J2)),
    "heat-3d": (sweep("A", "B[i, j, k]", _CUBE, _H), sweep("B", "A[i, j, k]", _CUBE, _H)),
    "seidel-2d": (sweep("A", "A[i, j]", BOX, f"({_NINE}) / 9.0"),),
    "fdtd-2d": (
        (
            "0 <= t < tmax and 1 <= i < nx and 0 <= j < ny",
            "y[i, j] = y[i, j] - 0.5 * (h[i, j] - h[i - 1, j])",
        ),
        (
            "0 <= t < tmax and 0 <= i < nx and 1 <= j < ny",
            "x[i, j] = x[i, j] - 0.5 * (h[i, j] - h[i, j - 1])",
        ),
        (
            "0 <= t < tmax and 0 <= i < nx - 1 and 0 <= j < ny - 1",
            "h[i, j] = h[i, j] - 0.7 * (x[i, j + 1] - x[i, j] + y[i + 1, j] - y[i, j])",
        ),
    ),
    "adi": (_COLUMNS, _BACK, _COLUMNS, _BACK),
    "correlation": (
        (I2.format("n", "m"), "a[j] = a[j] + x[i, j]"),
        ("0 <= j < m", "a[j] = a[j] / c"),
        (I2.format("n", "m"), "s[j] = s[j] + (x[i, j] - a[j]) * (x[i, j] - a[j])"),
        ("0 <= j < m", "s[j] = fmax(sqrt(s[j] / c) * 1.5, 1.0)"),
        (I2.format("n", "m"), "x[i, j] = (x[i, j] - a[j]) / (d * s[j])"),
        ("0 <= i < m and i < j < m and 0 <= k < n", "R[i, j] = R[i, j] + x[k, i] * x[k, j]"),
    ),
    "covariance": (
        (I2.format("n", "m"), "a[j] = a[j] + x[i, j]"),
        ("0 <= j < m", "a[j] = a[j] / c"),
        (I2.format("n", "m"), "x[i, j] = x[i, j] - a[j]"),
        ("0 <= i < m and i <= j < m and 0 <= k < n", "R[i, j] = R[i, j] + x[k, i] * x[k, j]"),
        ("0 <= i < m and i <= j < m", "R[i, j] = R[i, j] / c"),
    ),
}
SCALARS = re.compile(r"\b(alpha|beta|[abcde][1-4]?)\b(?!\[)")
LENGTHS = "n m w h ni nj nk nl nm np nq nr nx ny tmax tsteps"


def kernel_of(statements: tuple[tuple[str, str], ...]) -> Kernel:
    """All statements as one kernel: the loops of each have names of their own."""
    domains, bodies = [], []
    for number, (space, body) in enumerate(statements):
        loops = [name for name in "tijkl" if re.search(rf"\b{name}\b", space)]
        renamed = re.compile(rf"\b({'|'.join(loops)})\b")
        domains.append("{[" + ", ".join(loops) + "]: " + space + "}")
        domains[-1] = renamed.sub(rf"\g<1>_{number}", domains[-1])
        around = ":".join(f"{name}_{number}" for name in loops)
        statement = renamed.sub(rf"\g<1>_{number}", SCALARS.sub("1.25", body))
        bodies.append(f"{statement} {{inames={around}}}")
    text = "\n".join(bodies)
    arrays = sorted(set(re.findall(r"\b([A-Za-z]\w*)\[", text)))
    return Kernel(tuple(domains), text, ", ".join(arrays), LENGTHS)


def main() -> None:
    warnings.simplefilter("ignore")
    asked = json.loads(sys.argv[1])
    versions = f"loopy {loopy.version.VERSION_TEXT}, islpy {islpy.version.VERSION_TEXT}"
    found = {}
    for name, statements in STATEMENTS.items():
        kernel = kernel_of(statements)
        values = totals(kernel, [asked["point"]])
        found[name] = {**measure(kernel, asked["first"], asked["rounds"]), "values": values}
    print(json.dumps({"versions": versions, "cases": found}))


if __name__ == "__main__":
    main()
