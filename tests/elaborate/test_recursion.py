"""Functions that apply themselves: their values in three ways to run them, and what these count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tolcost.algebra import evaluate
from tolcost.cost import count
from tolcost.diagnostics import Source
from tolcost.elaborate.inputs import arguments
from tolcost.execute import run_reference, run_unrolled, run_vectorised
from tolcost.execute.dtypes import Array
from tolcost.pipeline import lower, read_program

MERGE_SORT = """
tol x: R [n]
merge(a, b) = {
  k = |a|[1]
  m = |b|[1]
  reduce(tol[k + m], (s, z) => {
    (o, i, j) = s
    left = a[min(i, k)]
    right = b[min(j, m)]
    first = i <= k and (j > m or left <= right)
    ([*o, where(first, left, right)], i + convert(first, Z), j + convert(not(first), Z))
  }, (convert(tol[0], R), 1, 1))[1]'
}
sort(v) = {
  n = |v|[1]
  h = n / 2
  where(n == 1, v, merge(sort(part(v, [1], [h])), sort(part(v, [h + 1], [n]))))
}
y := sort(x)
"""
PRODUCT = """
tol a: Z [n]
tol b: Z [n]
product(u, v) = {
  n = |u|[1]
  h = n / 2
  where(n == 1, [u[1] * v[1], 0], {
    low = product(part(u, [1], [h]), part(v, [1], [h]))
    high = product(part(u, [h + 1], [n]), part(v, [h + 1], [n]))
    both = product(part(u, [1], [h]) + part(u, [h + 1], [n]), part(v, [1], [h]) + part(v, [h + 1], [n]))
    middle = both - low - high
    map(tol[2 * n], where(k <= h, low[min(k, n)], where(k <= n, low[min(k, n)] + middle[max(k - h, 1)],
      where(k <= n + h, high[max(k - n, 1)] + middle[min(k - h, n)], high[max(k - n, 1)]))), [k])
  })
}
y := product(a, b)
"""
QUICKSORT = """
tol x: R [n]
sort(v) = {
  n = |v|[1]
  where(n <= 1, v, {
    rest = part(v, [2], [n])
    less = sort(filter(rest, map(rest, * < v[1])))
    more = sort(filter(rest, map(rest, * >= v[1])))
    join(join(less, [v[1]], 1), more, 1)
  })
}
y := sort(x)
"""
CASES: dict[str, tuple[str, dict[str, str], Callable[..., Array], tuple[int, ...]]] = {
    "merge sort": (MERGE_SORT, {"x": "R"}, np.sort, (1, 2, 5, 8)),
    "quicksort": (QUICKSORT, {"x": "R"}, np.sort, (1, 2, 4, 6)),
    "product": (PRODUCT, {"a": "Z", "b": "Z"}, lambda a, b: np.append(np.convolve(a, b), 0), (1, 2, 4, 8)),
}


@pytest.mark.parametrize("name", CASES)
def test_at_known_lengths(name: str) -> None:
    text, inputs, expected, lengths = CASES[name]
    parsed, random = read_program(Source(name, text)), np.random.default_rng(0)
    for n in lengths:
        arrays = {
            one: random.integers(-9, 9, n) if space == "Z" else random.normal(size=n)
            for one, space in inputs.items()
        }
        program = lower(parsed, arguments(parsed.program, {one: [n] for one in inputs})).program
        counts = count(program)
        for run in (run_reference, run_vectorised, run_unrolled):
            done = run(program, arrays)
            np.testing.assert_allclose(done.outputs["y"], expected(*arrays.values()))
            never = dict.fromkeys(counts.eops.free, 0)  # lengths in branches that this run does not take
            assert done.counts.eops == evaluate(counts.eops, {**never, **done.bindings})
