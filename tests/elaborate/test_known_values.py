"""What is known while compiling has the value it has in a run: infinite, no number, by negative divisors."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

import tolcost
from tolcost.diagnostics import Rejected, Source
from tolcost.execute import run_reference, run_vectorised
from tolcost.pipeline import lower, read_program

X = np.array([1.0, 2.0])
GRID = "a = [[1, 2], [3, 4]]\n"


def values(text: str) -> list[float]:
    """What a program on x = [1, 2] gives, by both interpreters."""
    program = lower(read_program(Source("a.tol", f"tol x: R [n]\n{text}\n"))).program
    first, second = (run(program, {"x": X}).outputs["y"] for run in (run_vectorised, run_reference))
    np.testing.assert_array_equal(first, second)
    return [float(value) for value in np.asarray(first).ravel()]


@pytest.mark.parametrize(
    "text, added",
    [
        ("1.5 / 0", math.inf),
        ("0.0 / 0", math.nan),
        ("n / (0 - 2)", -1),
        ("(n + 1) / (0 - 2)", -2),
        ("n % (0 - 3)", -1),
        ("7 % (0 - 3)", -2),
        ("7.5 % 2", 1.5),
        ("n % 2.5", 2),
        ("Inf % 3", math.nan),
        ("trunc(n / (0 - 2.0))", -1),
        ("floor((n + 1) / (0 - 2.0))", -2),
        ("round(n / 4.0)", 0),
        ("min(Inf, n / 2.0)", 1),
        ("max(0 - Inf, n / 2.0)", 1),
        ("abs(convert(0 - 3, C))", 3),
        ("convert(2.5e300, Z)", 2.5e300),
        ("convert(0 - 2.5, Z)", -2),
        ("[[1, 2], [3, 4]][2][1]", 3),
    ],
)
def test_a_number(text: str, added: float) -> None:
    np.testing.assert_array_equal(values(f"y := map(x, * + {text})"), X + added)


@pytest.mark.parametrize(
    "condition, holds",
    [
        ("n / 2.0 > Inf", False),
        ("Inf >= n / 3.0", True),
        ("n / 3.0 == Inf", False),
        ("n / 3.0", True),
    ],
)
def test_a_condition_on_a_quotient(condition: str, holds: bool) -> None:
    assert values(f"y := map(x, where({condition}, *, 2 * *))") == [1 + (not holds), 2 + 2 * (not holds)]


@pytest.mark.parametrize(
    "text, found",
    [
        (f"{GRID}y := a[2]", [3, 4]),
        (f"{GRID}y := map(tol[2], a[2][i] + x[1], [i])", [4, 5]),
        (f"{GRID}b = a[1]\ny := map(b, * * x[2])", [2, 4]),
        ("m = map(tol[2, 2], i + 2 * j, [i, j])\ny := m[2]", [4, 6]),
    ],
)
def test_a_row_of_a_grid(text: str, found: Sequence[float]) -> None:
    assert values(text) == found


def test_rows_of_an_attribute() -> None:
    text = "tol x: R [n]\nattr k: Z [2, 2]\ny := map(x, * * k[2, 1] + k[1, 2])"
    assert str(tolcost.analyze(text, attrs={"k": [[1, 2], [3, 4]]}).eops) == "2*n"
    with pytest.raises(Rejected, match="the rows of `k` differ in length"):
        tolcost.analyze(text, attrs={"k": [[1, 2], [3]]})
