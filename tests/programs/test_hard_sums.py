"""Sums that are easy to get wrong, and the two ways to count a convolution."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tolcost.algebra import Poly, const, evaluate, to_text
from tolcost.cost import count
from tolcost.elaborate import Argument
from tolcost.execute import run_vectorised
from tools.programs.points import held_at
from tools.programs.road import lowered

EXAMPLES = Path(__file__).parents[2] / "specs" / "examples"
CONV = {"c": 2, "h": 9, "w": 11, "m": 4, "kh": 3, "kw": 3, "s": 2, "p": 1}


def text_of(name: str) -> str:
    return (EXAMPLES / f"{name}.tol").read_text(encoding="utf-8")


def eops_at(text: str, dims: dict[str, int], given: dict[str, Argument] | None = None) -> int:
    lowered_ = lowered(text, given)
    counts = count(lowered_.program)
    return evaluate(counts.eops, {s: dims[s.name] for s in lowered_.program.symbols})


def eops(text: str) -> Poly:
    return count(lowered(text).program).eops


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.tol")), ids=lambda path: path.stem)
def test_an_example_keeps_its_promises(path: Path) -> None:
    assert len(held_at(lowered(path.read_text(encoding="utf-8")).program, wanted=4)) == 4


@pytest.mark.parametrize(
    "name, expected",
    [
        ("matmul", "2*k*m*n"),
        ("softmax", "5*m*n"),
        ("triangle", "n**2 + n"),
        ("attention", "2*s*t*(d + w + 3)"),
        ("causal_attention", "s*(d + w + 3)*(s + 1)"),
        ("block_attention", "s*(2*d*t + 2*t*w + w*floor((t - 1)/b) + 5*t + 2*w + 3*floor((t - 1)/b) + 3)"),
        ("window_attention", "(r*s + Min(r, s)*(s - r + 1))*(2*d + 3*w + 5)/2"),
        ("scan", "n"),
        ("shortest_paths", "2*n**3"),
        ("welford", "6*n + 1"),
        ("histogram", "n"),
    ],
)
def test_what_an_example_costs(name: str, expected: str) -> None:
    assert to_text(eops(text_of(name))) == expected


# ---- attention ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, sees",
    [
        ("attention", lambda i, j: True),
        ("block_attention", lambda i, j: True),
        ("causal_attention", lambda i, j: j <= i),
        ("window_attention", lambda i, j: i - 3 < j <= i),
    ],
)
def test_attention_of_every_kind_is_that_of_numpy(name: str, sees: Callable[[int, int], bool]) -> None:
    s, d, w = 7, 4, 3
    q, k, v = (np.random.default_rng(n).standard_normal((s, width)) for n, width in enumerate((d, d, w)))
    scores = np.where([[sees(i, j) for j in range(s)] for i in range(s)], q @ k.T / np.sqrt(d), -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    expected = weights / weights.sum(1, keepdims=True) @ v
    program = lowered(text_of(name)).program
    three = {symbol.name: 3 for symbol in program.symbols if symbol.name in ("b", "r")}
    run = run_vectorised(program, {"q": q, "k": k, "v": v}, three)
    (found,) = run.outputs.values()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


# ---- convolution -------------------------------------------------------------------------


def test_a_dense_convolution() -> None:
    assert eops_at(text_of("conv2d_dense"), CONV) == 4320


def test_a_padding_exact_convolution() -> None:
    assert eops_at(text_of("conv2d_exact"), CONV) == 3328


def test_a_padding_exact_convolution_with_everything_known() -> None:
    text = text_of("conv2d_exact")
    for name in ("c", "h", "w", "m", "kh", "kw"):
        text = text.replace(f"[{name},", f"[{CONV[name]},").replace(f" {name},", f" {CONV[name]},")
        text = text.replace(f" {name}]", f" {CONV[name]}]").replace(f"= {name} ", f"= {CONV[name]} ")
    text = text.replace("2 * p - kh", "2 * p - 3").replace("2 * p - kw", "2 * p - 3")
    text = text.replace("(h +", "(9 +").replace("(w +", "(11 +").replace("<= w,", "<= 11,")
    assert eops_at(text, CONV) == 3328


def taps(length: int, size: int, step: int, pad: int) -> int:
    """The taps of one axis that fall on the image, one by one."""
    windows = (length + 2 * pad - size) // step + 1
    return sum(1 <= o * step + q + 1 - pad <= length for o in range(windows) for q in range(size))


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("pad", [0, 1, 2])
def test_padding_exact_taps_against_brute_force(step: int, pad: int) -> None:
    given = {"s": const(step), "p": const(pad)}
    done = lowered(text_of("conv2d_exact"), given)
    form = count(done.program).eops
    by_name = {symbol.name: symbol for symbol in done.program.symbols}
    for h, kh in product(range(1, 12), range(1, 6)):
        if h + 2 * pad < kh:
            continue
        dims = {"c": 2, "m": 3, "h": h, "w": 7, "kh": kh, "kw": 3}
        found = evaluate(form, {by_name[name]: value for name, value in dims.items() if name in by_name})
        assert found == 2 * 2 * 3 * taps(h, kh, step, pad) * taps(7, 3, step, pad)


# ---- sums over coordinates ---------------------------------------------------------------


def summed(rows: str, head: str = "tol d: R [n]\n") -> str:
    return f"tol x: R\n{head}y := {rows}\n"


def brute(form: Poly, expected: dict[int, int]) -> None:
    (symbol,) = form.free
    for n, value in expected.items():
        assert evaluate(form, {symbol: n}) == value, n


def test_the_sum_of_i() -> None:
    form = eops(summed("map(tol[n], reduce(tol[i], (a, e) => a + x, 0), [i])"))
    assert to_text(form) == "n*(n + 1)/2"


def test_the_sum_of_i_times_j_over_a_triangle_of_depth_4() -> None:
    body = "reduce(tol[i * j], (s, e) => s + x, s4)"
    for outer, inner in (("k", "l"), ("j", "k"), ("i", "j"), ("n", "i")):
        depth = "ijkl".index(inner)
        body = (
            f"reduce(tol[{outer}], (s{depth + 1}, e) => {body}, {f's{depth}' if depth else '0'}, [{inner}])"
        )
    brute(eops(summed(body)), {n: sum(i * j for i, j in triangle(n)) for n in range(1, 9)})


def triangle(n: int) -> list[tuple[int, int]]:
    """i and j of all i >= j >= k >= l."""
    rows = range(1, n + 1)
    return [(i, j) for i in rows for j in rows[:i] for k in rows[:j] for _ in rows[:k]]


@pytest.mark.parametrize("shift", [0, 1, 2, 5])
def test_the_sum_of_a_third(shift: int) -> None:
    form = eops(summed(f"map(tol[n], reduce(tol[(i + {shift}) / 3], (a, e) => a + x, 0), [i])"))
    brute(form, {n: sum((i + shift) // 3 for i in range(1, n + 1)) for n in range(1, 40)})


def test_the_sum_of_a_minimum() -> None:
    text = summed("map(tol[n], reduce(tol[min(i, k)], (a, e) => a + x, 0), [i])", "tol d: R [n, k]\n")
    done = lowered(text)
    form, symbols = count(done.program).eops, {s.name: s for s in done.program.symbols}
    for n, k in product(range(1, 12), range(1, 12)):
        assert evaluate(form, {symbols["n"]: n, symbols["k"]: k}) == sum(min(i, k) for i in range(1, n + 1))


@pytest.mark.parametrize(
    "condition, holds",
    [
        ("i + j <= n", lambda i, j, n: i + j <= n),
        ("i == j", lambda i, j, n: i == j),
        ("i != j and i * 2 >= j", lambda i, j, n: i != j and i * 2 >= j),
        ("(i + j) % 2 == 0", lambda i, j, n: (i + j) % 2 == 0),
        ("i * 3 - j * 2 < 4 or i == 1", lambda i, j, n: i * 3 - j * 2 < 4 or i == 1),
        ("not(i <= j) and (i - j) % 3 != 1", lambda i, j, n: not i <= j and (i - j) % 3 != 1),
        ("i * j <= n", lambda i, j, n: i * j <= n),
        ("max(i, j) / 2 == min(i, j)", lambda i, j, n: max(i, j) // 2 == min(i, j)),
    ],
)
def test_a_condition_on_two_coordinates(condition: str, holds: object) -> None:
    form = eops(summed(f"map(tol[n, n], where({condition}, x + 1, 0), [i, j])"))
    square = {n: list(product(range(1, n + 1), repeat=2)) for n in range(1, 15)}
    brute(form, {n: sum(holds(i, j, n) for i, j in points) for n, points in square.items()})  # type: ignore[operator]
