"""Functions that apply themselves: their values in three ways to run them, and what these count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tolcost.algebra import evaluate, to_text
from tolcost.cost import count
from tolcost.diagnostics import Rejected, Source
from tolcost.elaborate.inputs import arguments
from tolcost.execute import run_reference, run_unrolled, run_vectorised
from tolcost.execute.dtypes import Array
from tolcost.pipeline import lower, read_program
from tools.programs.recursions import judge

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
  where(n == 1, [u[1] * v[1]], {
    low = product(part(u, [1], [h]), part(v, [1], [h]))
    high = product(part(u, [h + 1], [n]), part(v, [h + 1], [n]))
    both = product(part(u, [1], [h]) + part(u, [h + 1], [n]), part(v, [1], [h]) + part(v, [h + 1], [n]))
    middle = both - low - high
    map(tol[2 * n - 1], where(k <= h, low[k], where(k < n, low[k] + middle[k - h],
      where(k == n, middle[h], where(k < n + h, high[k - n] + middle[k - h], high[k - n])))), [k])
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
STRASSEN = """
tol a: R [n, n]
tol b: R [n, n]
product(u, v) = {
  n = |u|[1]
  h = n / 2
  where(n == 1, u * v, {
    u11 = part(u, [1, 1], [h, h])
    u12 = part(u, [1, h + 1], [h, n])
    u21 = part(u, [h + 1, 1], [n, h])
    u22 = part(u, [h + 1, h + 1], [n, n])
    v11 = part(v, [1, 1], [h, h])
    v12 = part(v, [1, h + 1], [h, n])
    v21 = part(v, [h + 1, 1], [n, h])
    v22 = part(v, [h + 1, h + 1], [n, n])
    m1 = product(u11 + u22, v11 + v22)
    m2 = product(u21 + u22, v11)
    m3 = product(u11, v12 - v22)
    m4 = product(u22, v21 - v11)
    m5 = product(u11 + u12, v22)
    m6 = product(u21 - u11, v11 + v12)
    m7 = product(u12 - u22, v21 + v22)
    join(join(m1 + m4 - m5 + m7, m3 + m5, 2), join(m2 + m4, m1 - m2 + m3 + m6, 2), 1)
  })
}
y := product(a, b)
"""
HANOI = """
tol x: N [3]
attr p: N
moves(n, a, b, c) = where(n == 0, tol[0, 2],
  join(join(moves(n - 1, a, c, b), [[a, c]], 1), moves(n - 1, b, a, c), 1))
y := moves(p, x[1], x[2], x[3])
"""
CASES: dict[str, tuple[str, dict[str, str], Callable[..., Array], tuple[int, ...]]] = {
    "merge sort": (MERGE_SORT, {"x": "R"}, np.sort, (1, 2, 5, 8)),
    "quicksort": (QUICKSORT, {"x": "R"}, np.sort, (1, 2, 4, 6)),
    "product": (PRODUCT, {"a": "Z", "b": "Z"}, np.convolve, (1, 2, 4, 8)),
}


KINDS = {"R": np.float64, "Z": np.int64}


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


HALVED = {"merge sort": "9*2**p*p", "product": "7*3**p - 8*2**p + 2"}


@pytest.mark.parametrize("name", HALVED)
def test_for_all_powers_of_two(name: str) -> None:
    """One formula for all levels is what each run counts, and what the applications written out count."""
    text, inputs, expected, _ = CASES[name]
    parsed, random = read_program(Source(name, text)), np.random.default_rng(1)
    program = lower(parsed, arguments(parsed.program, {key: ["2**p"] for key in inputs})).program
    (p,) = program.symbols
    eops = count(program).eops
    assert to_text(eops) == HALVED[name]
    for level in range(4):
        n = 2**level
        arrays = {one: random.integers(-9, 9, n).astype(KINDS[space]) for one, space in inputs.items()}
        for run in (run_reference, run_vectorised, run_unrolled)[: 3 if level < 3 else 2]:
            done = run(program, arrays)
            np.testing.assert_allclose(done.outputs["y"], expected(*arrays.values()))
            assert done.counts.eops == evaluate(eops, {p: level})
        alone = lower(parsed, arguments(parsed.program, {key: [n] for key in inputs})).program
        assert count(alone).eops == evaluate(eops, {p: level})


def hanoi(p: int, a: int, b: int, c: int) -> list[list[int]]:
    return [] if p == 0 else [*hanoi(p - 1, a, c, b), [a, c], *hanoi(p - 1, b, a, c)]


def test_the_towers_of_hanoi() -> None:
    program = lower(read_program(Source("hanoi", HANOI))).program
    for level in range(1, 5):
        for run in (run_reference, run_vectorised):
            done = run(program, {"x": np.array([1, 2, 3])}, {"p": level})
            assert done.outputs["y"].tolist() == hanoi(level, 1, 2, 3)


def test_the_product_of_strassen() -> None:
    parsed, random = read_program(Source("strassen", STRASSEN)), np.random.default_rng(2)
    program = lower(parsed, arguments(parsed.program, {key: ["2**p", "2**p"] for key in "ab"})).program
    assert to_text(count(program).eops) == "7*7**p - 6*2**(2*p)"
    a, b = random.normal(size=(2, 4, 4))
    np.testing.assert_allclose(run_vectorised(program, {"a": a, "b": b}).outputs["y"], a @ b)


@pytest.mark.parametrize("seed", range(8))
def test_random_functions(seed: int) -> None:
    """`python -m tools.programs.recursions` judges as many as one likes."""
    assert judge(seed) in ("agree", "written out only")


@pytest.mark.parametrize(
    "declared, hint",
    [("attr n: N", "give the number: --attr n=8"), ("tol v: R [n]", "--shape x=8")],
)
def test_the_hint_says_how_to_give_what_is_open(declared: str, hint: str) -> None:
    text = f"tol x: R\n{declared}\nway(k) = where(k < 2, x, way(k - 1) + way(k - 2))\ny := way(n)\n"
    with pytest.raises(Rejected) as rejected:
        lower(read_program(Source("way", text)))
    assert hint in (rejected.value.diagnostics[0].hint or "")
