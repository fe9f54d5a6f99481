"""The paper's formulas: what is read, what is not, and what they come to."""

import pytest

from tolcost.algebra import Poly, evaluate, floordiv, length, the_symbol
from tolcost.apps.paper.readings import FormulaNames, IllFormed, read
from tolcost.apps.paper.readings import evaluate as value_of

N, M, K, S, P = (length(name) for name in "nmksp")
MEANING = FormulaNames({"t": (N, M), "k": (K, K), "t1": (N, K), "t2": (K, M)}, {"s": S, "p": P})


@pytest.mark.parametrize(
    "text, expected",
    [
        ("0", 0 * N),
        ("vol(t)", N * M),
        ("2*vol(t)+3", 2 * N * M + 3),
        ("2*vol(t1)*|t2|[2]", 2 * N * K * M),
        ("vol(t)*n", N * N * M),
        ("|k|", K * K),
        ("Pi(|t|[axes])", N * M),
        (
            "Pi((|t|[axes]+2*p-|k|)/s+1)*2*|k|",
            (floordiv(N + 2 * P - K, S) + 1) * (floordiv(M + 2 * P - K, S) + 1) * 2 * K * K,
        ),
        (" ( n ) - 1 - 2 ", N - 3),
        ("12/5", 2 + 0 * N),
    ],
)
def test_a_formula_is_read(text: str, expected: Poly) -> None:
    assert value_of(text, MEANING) == expected


def test_precedence_is_the_usual_one() -> None:
    form = value_of("2+3*n/s-1", MEANING)
    point = {the_symbol(N): 7, the_symbol(S): 2}
    assert evaluate(form, point) == 2 + 21 // 2 - 1


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "no formula"),
        ("2*", "no formula"),
        ("(n", "no formula"),
        ("n)", "closes nothing"),
        ("n m", "no formula"),
        ("vol(u)", "no ToL called u"),
        ("|t|[3]", "no axis 3"),
        ("|t|[axes]", "means nothing"),
        ("exp(n)", "means nothing"),
        ("n/0", "divides by 0"),
        ("n$", "no formula"),
        ("*n", "no formula"),
        ("n**2", "means nothing"),
    ],
)
def test_what_is_no_formula_says_why(text: str, why: str) -> None:
    with pytest.raises(IllFormed, match=why.replace("(", r"\(").replace(")", r"\)")):
        value_of(text, MEANING)


def test_the_bracket_that_four_rows_lack_is_put_in_and_told() -> None:
    found = read("Pi(|t|[axes]+2*p-s)/s+1)*s", FormulaNames({"t": (N,)}, {"s": S, "p": P}))
    assert found.problem == "`)` at place 24 closes nothing"
    assert found.repaired == "Pi((|t|[axes]+2*p-s)/s+1)*s"
    assert found.form == (floordiv(N + 2 * P - S, S) + 1) * S


@pytest.mark.parametrize("text", ["vol(t))", "Pi(n))/s)", "2*(n"])
def test_nothing_else_is_repaired(text: str) -> None:
    with pytest.raises(IllFormed):
        read(text, MEANING)
