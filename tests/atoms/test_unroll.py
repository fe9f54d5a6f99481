"""Unrolled programs: only the five atoms, as many as counted, and the right values."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.execute import programs as p
from tests.execute.random_ir import Gen
from tests.execute.test_random import inputs
from tolcost.algebra import evaluate
from tolcost.atoms.nodes import Program
from tolcost.atoms.text import unrolled_text
from tolcost.atoms.unroll import Unrolled, unroll
from tolcost.cost import analyze_program
from tolcost.diagnostics import Rejected, Source
from tolcost.execute import run_reference, run_unrolled
from tolcost.pipeline import lower, read_program


def unrolled_for(program: Program, values: dict[str, np.ndarray]) -> Unrolled:
    run = run_reference(program, values)
    return unroll(program, {symbol.name: value for symbol, value in run.bindings.items()})


def same_as_reference(program: Program, values: dict[str, np.ndarray]) -> None:
    """Both give the same values, and count the same functions and atoms."""
    run, found = run_reference(program, values), run_unrolled(program, values)
    random = any(function == "rand" for function, _ in run.counts.histogram)
    for name, expected in run.outputs.items():
        for a, b in zip(*map(parts, (found.outputs[name], expected)), strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            if not random:
                np.testing.assert_array_equal(a, b)
    assert found.counts == run.counts
    assert found.bindings == run.bindings


def parts(value: np.ndarray | tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    return value if isinstance(value, tuple) else (value,)


def test_matmul_of_two_by_two_reads_like_the_paper():
    a, b = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[5.0, 6.0], [7.0, 8.0]])
    same_as_reference(p.matmul_direct(), {"a": a, "b": b})
    assert run_unrolled(p.matmul_direct(), {"a": a, "b": b}).outputs["y"].tolist() == (a @ b).tolist()
    text = unrolled_text(unrolled_for(p.matmul_direct(), {"a": a, "b": b}))
    assert text.splitlines()[:6] == [
        "%1 = Π(a; 1, 1)",
        "%2 = Π(b; 1, 1)",
        "%3 = Λ(mul; %1, %2)",
        "%4 = Λ(add; 0, %3)",
        "%5 = Π(a; 1, 2)",
        "%6 = Π(b; 2, 1)",
    ]
    # the innermost joins run over the first coordinate: f11 with f21, then f12 with f22
    assert text.splitlines()[-6:] == [
        "%33 = %8 ⋈ %24",
        "%34 = %16 ⋈ %32",
        "%35 = Ξ(%33)",
        "%36 = Ξ(%34)",
        "%37 = %35 ⋈ %36",
        "y := %37",
    ]


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (2, 3)])
def test_shapes_with_ones(shape):
    same_as_reference(p.elementwise(), {"x": np.ones(shape)})
    same_as_reference(p.matmul(), {"a": np.ones(shape), "b": np.ones((shape[1], 2))})


@pytest.mark.parametrize(
    "program, values",
    [
        (p.conv(2, 1), {"x": np.ones((2, 7)), "w": np.ones((2, 2, 3))}),
        (p.conv(2, 1, exact=True), {"x": np.ones((2, 7)), "w": np.ones((2, 2, 3))}),
        (p.argmax(), {"x": np.array([[1.0, 3.0], [5.0, 2.0]])}),
        (p.cumsum(), {"x": np.array([1.0, 2.0, 3.0])}),
        (p.gather(), {"x": np.eye(3), "at": np.array([3, 1])}),
        (p.flattened(), {"x": np.arange(6, dtype=np.int8).reshape(2, 3)}),
        (p.triangle_built(), {"x": np.arange(9.0).reshape(3, 3)}),
        (p.keep_positive(), {"x": np.arange(6.0).reshape(3, 2), "s": np.array([1.0, -1.0, 2.0])}),
        (p.keep_positive(), {"x": np.arange(6.0).reshape(3, 2), "s": -np.ones(3)}),
        (p.scatter(), {"x": np.zeros(3), "at": np.array([1, 3, 1]), "u": np.array([4, 5, 6])}),
    ],
)
def test_programs(program, values):
    same_as_reference(program, values)


def test_only_the_five_atoms():
    made = unrolled_for(p.argmax(), {"x": np.ones((2, 2))})
    assert {atom.operation for atom in made.atoms} == {"lambda", "member", "join"}


def test_a_length_that_stands_for_a_number_is_asked_for():
    """Free, as it is known early: the counts are those of the closed form."""
    text = "tol x: R [n, m]\ny := map(tol[n], reduce(x[i], add, 0) / (2 * m - n), [i])\n"
    program = lower(read_program(Source("mean.tol", text))).program
    values = {"x": np.arange(6.0).reshape(2, 3)}
    same_as_reference(program, values)
    lines = unrolled_text(unrolled_for(program, values)).splitlines()
    asked = lines.index("%7 = ‖x‖")
    assert [line.partition("= ")[2] for line in lines[asked:asked + 6]] == [
        "‖x‖", "Π(%7; 2)", "Λ(mul; 2, %8)", "Π(%7; 1)", "Λ(mul; -1, %10)", "Λ(add; %9, %11)",
    ]  # fmt: skip
    assert sum("‖" in line for line in lines) == 1


EMPTY_MAPS = (
    "map(tol[n - 1, 2], (x[i], x[i + 1]), [i, j])",
    "map(tol[2, n - 1, 3], (x[j], x[j + 1], 1), [i, j, k])",
    "map(tol[n - 1, 2], (x[i], x), [i, j])",
    "map(tol[n - 1], x)",
)


@pytest.mark.parametrize("body", EMPTY_MAPS)
def test_a_map_without_members_counts_as_its_closed_form_says(body):
    program = lower(read_program(Source("p.tol", f"tol x: R [n]\ny := {body}\n"))).program
    for n in (1, 2, 3):
        values = {"x": np.arange(1.0, n + 1)}
        same_as_reference(program, values)
        closed = analyze_program(program).counts.atoms
        at = dict.fromkeys({symbol for form in closed.values() for symbol in form.free}, n)
        found = run_unrolled(program, values).counts.atoms
        assert {name: evaluate(form, at) for name, form in closed.items()} == dict(found)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    """Also where data decides a length, a choice or a place."""
    same_as_reference(Gen(Random(seed)).program(), inputs(seed))


@pytest.mark.parametrize(
    "program, dims",
    [
        (p.matmul_direct(), {"n": 1000, "m": 1000, "k": 1000}),
        (p.matmul_direct(), {"n": 2}),
        (p.keep_positive(), {"n": 2, "m": 2}),
        (p.scatter(), {"n": 2, "m": 2}),
    ],
)
def test_what_cannot_be_unrolled_is_told(program, dims):
    with pytest.raises(Rejected) as caught:
        unroll(program, dims)
    assert caught.value.diagnostics[0].code == "T0510"
