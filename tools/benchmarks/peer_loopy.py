"""The kernels of ``bench_analysis`` in loopy: how long ``get_op_map`` takes, and what it finds.

Run by ``bench_analysis`` with an interpreter that has loopy and islpy-barvinok; it needs nothing of
tolcost.  The first argument is a JSON object with ``rounds`` and, by case, the ``points`` to evaluate at.
Every round makes a kernel with names of its own, so that nothing is found in a cache, and measures
processor time of (a) counting a kernel that is made already and (b) making it from text and counting.
loopy's own disk cache is switched off by the caller: writing to it would only slow loopy down.
"""

from __future__ import annotations

import gc
import json
import re
import sys
import time
import warnings
from dataclasses import dataclass

import islpy
import loopy
import numpy

QUIET = ["insn_count_subgroups_upper_bound"]


@dataclass(frozen=True)
class Kernel:
    """A loop nest: its domains, its instructions, its arrays of reals, and its lengths."""

    domains: tuple[str, ...]
    body: str
    arrays: str
    lengths: str


_CONV = (
    "0 <= f < m and 0 <= d < c and 0 <= u < kh and 0 <= v < kw and 0 <= i and 2*i <= h + 2 - kh"
    " and 0 <= j and 2*j <= w + 2 - kw"
)
_INSIDE = "0 <= 2*i + u - 1 < h and 0 <= 2*j + v - 1 < w"
KERNELS = {
    "matmul": Kernel(
        ("{[i, j, l]: 0 <= i < n and 0 <= j < m and 0 <= l < k}",),
        "y[i, j] = sum(l, a[i, l] * b[l, j])",
        "a, b, y",
        "n k m",
    ),
    "conv, stride 2": Kernel(
        ("{[f, i, j, d, u, v]: " + _CONV + "}",),
        "y[f, i, j] = sum((d, u, v), z[f, d, u, v] * x[d, 2*i + u, 2*j + v])",  # x has its padding already
        "x, y, z",
        "c h w m kh kw",
    ),
    "conv, stride 2, exact": Kernel(
        ("{[f, i, j, d, u, v]: " + _CONV + " and " + _INSIDE + "}",),
        "y[f, i, j] = sum((d, u, v), z[f, d, u, v] * x[d, 2*i + u - 1, 2*j + v - 1])",
        "x, y, z",
        "c h w m kh kw",
    ),
    "triangle": Kernel(
        ("{[i, j]: 0 <= i < n and 0 <= j <= i}",), "y[i] = sum(j, l[i, j] * x[j])", "l, x, y", "n"
    ),
    "softmax": Kernel(
        ("{[i]: 0 <= i < n}", *(f"{{[j{q}]: 0 <= j{q} < m}}" for q in range(4))),
        """
        for i
            <> top = -1e300 {id=top0}
            <> total = 0.0 {id=total0}
            for j0
                top = fmax(top, x[i, j0]) {id=top, dep=top0}
            end
            for j1
                e[i, j1] = exp(x[i, j1] - top) {id=e, dep=top}
            end
            for j2
                total = total + e[i, j2] {id=total, dep=e:total0}
            end
            for j3
                y[i, j3] = e[i, j3] / total {dep=total}
            end
        end
        """,
        "x, e, y",
        "n m",
    ),
}


def renamed(kernel: Kernel, turn: int) -> Kernel:
    """Give the kernel with lengths that no earlier one had."""
    pattern = re.compile(rf"\b({'|'.join(kernel.lengths.split())})\b")
    domains = tuple(pattern.sub(rf"\g<1>_{turn}", domain) for domain in kernel.domains)
    return Kernel(domains, kernel.body, kernel.arrays, kernel.lengths)


def made(kernel: Kernel) -> loopy.TranslationUnit:
    arrays = [loopy.GlobalArg(kernel.arrays, numpy.float64, shape=loopy.auto), "..."]
    return loopy.make_kernel(
        list(kernel.domains),
        kernel.body,
        arrays,
        target=loopy.CTarget(),
        lang_version=(2018, 2),
        silenced_warnings=QUIET,
    )


def counted(unit: loopy.TranslationUnit) -> loopy.ToCountMap:
    return loopy.get_op_map(unit, subgroup_size=1, count_within_subscripts=False)


def measure(kernel: Kernel, first: int, rounds: int) -> dict[str, float]:
    count = text = float("inf")
    for turn in range(first, first + rounds):
        fresh = renamed(kernel, turn)
        gc.collect()
        start = time.process_time()
        unit = made(fresh)
        middle = time.process_time()
        counted(unit)
        end = time.process_time()
        count, text = min(count, end - middle), min(text, end - start)
    return {"count": count, "text": text}


def totals(kernel: Kernel, points: list[dict[str, int]]) -> list[int]:
    found = counted(made(kernel)).filter_by(dtype=[numpy.float64])
    return [int(found.eval_and_sum(point)) for point in points]


def main() -> None:
    warnings.simplefilter("ignore")
    asked = json.loads(sys.argv[1])
    versions = f"loopy {loopy.version.VERSION_TEXT}, islpy {islpy.version.VERSION_TEXT}"
    found = {}
    for name, kernel in KERNELS.items():
        values = totals(kernel, asked["points"][name])
        found[name] = {**measure(kernel, asked["first"], asked["rounds"]), "values": values}
    print(json.dumps({"versions": versions, "cases": found}))


if __name__ == "__main__":
    main()
