"""The numbered examples of the paper; docs/examples.md says where ours differ, and why."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tolcost.algebra import to_text
from tolcost.atoms.nodes import Program
from tolcost.atoms.unroll import unroll
from tolcost.cost import count
from tolcost.cost.derive import derive
from tolcost.execute import run_reference
from tools.programs.road import lowered

ROOT = Path(__file__).parents[2]
PRODUCT = """tol a: R [2, 2]
tol b: R [2, 2]
result := map(tol[2, 2], reduce(a[i], (s, e) => s + e * b[u, j], 0, [u]), [i, j])"""
MATMUL = (ROOT / "specs" / "examples" / "matmul.tol").read_text(encoding="utf-8")


def program(text: str) -> Program:
    return lowered(text + "\n").program


def value(expression: str, head: str = "", **inputs: Any) -> Any:
    """What an expression comes to; a list as one array per component."""
    run = run_reference(program(f"{head}\ny := {expression}"), {k: np.asarray(v) for k, v in inputs.items()})
    found = run.outputs["y"]
    return tuple(x.tolist() for x in found) if isinstance(found, tuple) else found.tolist()


def eops(text: str) -> str:
    return to_text(count(program(text)).eops)


def spaces(text: str) -> list[str]:
    return [part.space for part in program(text).outputs[0].node.type]


# ---- section 3: values and atoms ---------------------------------------------------------


def test_example_1_a_list_space_and_a_tol_of_lists() -> None:
    declared = program("list l: Z, R, N*\ntol t: l [2, 2]\ny := t")
    (output,) = declared.outputs
    assert [(part.space, [to_text(d) for d in part.shape]) for part in output.node.type] == [
        ("Z", ["2", "2"]),
        ("R", ["2", "2"]),
        ("N*", ["2", "2"]),
    ]
    written = "[[(1, 1.0, 1), (2, 2.0, 2)], [(3, 3.0, 3), (4, 4.0, 4)]]"
    assert value(written) == ([[1, 2], [3, 4]],) * 3
    assert value(f"|{written}|'") == 3
    assert value("3.14") == 3.14


def test_example_2_the_sum_of_two_matrices_is_an_elementary_computation() -> None:
    text = "tol a: R [n, n]\ntol b: R [n, n]\ny := a + b"
    assert {key: to_text(times) for key, times in count(program(text)).histogram.items()} == {
        ("add", "R"): "n**2"
    }


def test_example_3_the_atoms() -> None:
    assert value("asin(x)", "tol x: R", x=1.0) == pytest.approx(np.pi / 2)
    assert value("|[(1, 1.), (2, 2.), (3, 3.)]|") == [3]  # the paper: 3
    assert value("|[(1, 1.), (2, 2.), (3, 3.)]|'") == 2
    assert value("[[1, 2], [3, 4]][2, 2]") == 4
    assert value("join([1, 2, 3], [1, 2])") == [1, 2, 3, 1, 2]
    assert value("((3, 0.14), 3.2)") == (3, 0.14, 3.2)
    assert value("embed([1, 2, 3])") == [[1], [2], [3]]


def test_example_4_a_product_of_two_by_two_matrices_as_atoms() -> None:
    written = unroll(program(PRODUCT), {})
    tally = Counter(atom.operation for atom in written.atoms)
    assert set(tally) <= {"lambda", "norm", "member", "join", "embed"}
    functions = Counter(atom.function for atom in written.atoms if atom.operation == "lambda")
    assert functions == {"mul": 8, "add": 8}  # the paper: 4 additions, for it starts from the first product
    assert (tally["member"], tally["join"], tally["embed"]) == (16, 3, 2)  # as many as in the paper
    given = {"a": np.array([[1.0, 2], [3, 4]]), "b": np.array([[5.0, 6], [7, 8]])}
    assert run_reference(program(PRODUCT), given).outputs["result"].tolist() == [[19, 22], [43, 50]]


# ---- section 4: operators ----------------------------------------------------------------


def test_example_5_the_type_list() -> None:
    assert spaces("y := (0, 3.0, 1)") == ["Z", "R", "Z"]  # the paper: Z, R, N
    assert spaces("y := [0, 3.0, 1]") == ["R"]


def test_example_6_convert() -> None:
    text = "tol t: Z [n, m]\ny := convert(t, [R])"
    assert spaces(text) == ["R"]
    assert eops(text) == "0"


def test_example_7_part() -> None:
    assert value("part([[1, 2], [3, 4]], [2, 2])") == 4


def test_example_8_swap() -> None:
    assert value("swap([[1, 2], [3, 4]], 2, [2, 1])") == [[2, 1], [4, 3]]  # the paper: dimension 1
    assert value("swap([[1, 2], [3, 4]], 1, [2, 1])") == [[3, 4], [1, 2]]


def test_example_9_reshape_and_tile() -> None:
    assert value("reshape([[1, 2], [3, 4], [5, 6]], [2, 3])") == [[1, 2, 3], [4, 5, 6]]
    lists = value("tile([[(1, 'a'), (2, 'b')], [(3, 'c'), (4, 'd')]])")
    assert list(zip(*lists, strict=True)) == [(1, "a", 2, "b"), (3, "c", 4, "d")]


def test_example_10_map_and_reduce() -> None:
    assert value("map([1., 2., 3.], sqrt)") == pytest.approx([1.0, 1.41, 1.73], abs=0.005)
    assert value("reduce([1, 2, 3, 4, 5], add, 0)") == 15


def test_example_11_a_sum_and_a_scalar_multiple() -> None:
    head = "tol m: R [2, 3]\ntol r: R\nf1(t) = reduce(t, +, 0)\nfr(x) = x * r\nf2(t) = map(t, fr)"
    m, r = [[1.0, 2, 3], [4, 5, 6]], 2.0
    assert value("f1(m)", head, m=m, r=r) == 21
    assert value("f2(m)", head, m=m, r=r) == [[2, 4, 6], [8, 10, 12]]
    assert eops("tol m: R [n, k]\ny := reduce(m, +, 0)") == "k*n"
    assert eops("tol m: R [n, k]\ntol r: R\ny := map(m, mul(*, r))") == "k*n"


# ---- section 6.1: counts -----------------------------------------------------------------


def test_example_13_a_line_and_a_length() -> None:
    assert eops("tol x: R\ntol a: R\ntol b: R\nf(x) = a * x + b\ny := f(x)") == "2"
    root = "tol v: R [n]\ny := sqrt(reduce(map(v, * * *), add, 0))"
    assert eops(root) == "2*n + 1"  # the paper: 2*n, with n - 1 additions
    squares = {key: to_text(times) for key, times in count(program(root)).histogram.items()}
    assert squares == {("add", "R"): "n", ("mul", "R"): "n", ("sqrt", "R"): "1"}


def test_example_14_the_product_of_two_matrices() -> None:
    square = MATMUL.replace("[n, k]", "[n, n]").replace("[k, m]", "[n, n]")
    assert eops(square) == "2*n**3"
    assert eops(MATMUL) == "2*k*m*n"


def test_example_14_is_derived_step_by_step() -> None:
    square = MATMUL.replace("[n, k]", "[n, n]").replace("[k, m]", "[n, n]")
    derived = derive(program(square))
    assert to_text(derived.total) == "2*n**3"
    (chain,) = derived.chains
    assert chain.complete
    assert len(chain.steps) >= 4
    assert all(step.span.source.name == "case.tol" for step in chain.steps)
    told = " ".join(step.text_after for step in chain.steps)
    assert "2*n" in re.sub(r"\s", "", told)


# ---- the table ---------------------------------------------------------------------------


def test_every_example_is_in_the_table() -> None:
    text = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \|", text, re.M)
    assert sorted(set(map(int, rows))) == list(range(1, 15))
