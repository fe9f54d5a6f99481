"""What goes wrong outside of a program: missing inputs, wrong shapes, runs too large."""

from __future__ import annotations

import numpy as np
import pytest

from tests.execute import programs as p
from tests.execute.compare import same_both_ways
from tolcost.algebra import coordinate, ge, length
from tolcost.atoms.nodes import Condition, Program, Var
from tolcost.diagnostics import Rejected
from tolcost.execute import folds, machine, run_reference, run_vectorised, values
from tools.execute.builders import build, embed, join, lam, mem, num, program, ref, tol, total

BOTH = pytest.mark.parametrize("run", [run_reference, run_vectorised])


def codes(caught: pytest.ExceptionInfo[Rejected]) -> list[str]:
    return [d.code for d in caught.value.diagnostics]


@BOTH
@pytest.mark.parametrize(
    "inputs, code",
    [
        ({"a": np.ones((2, 3))}, "T0340"),
        ({"a": np.ones((2, 3)), "b": np.ones(3)}, "T0341"),
        ({"a": np.ones((2, 3)), "b": (np.ones((3, 2)), np.ones((3, 2)))}, "T0341"),
        ({"a": np.ones((2, 3)), "b": np.full((3, 2), "x")}, "T0341"),
        ({"a": np.ones((2, 3)), "b": np.ones((4, 2))}, "T0342"),
    ],
)
def test_inputs_that_do_not_fit(run, inputs, code):
    with pytest.raises(Rejected) as caught:
        run(p.matmul(), inputs)
    assert codes(caught) == [code]


@BOTH
def test_lengths_given_by_name(run):
    n = length("n")
    i = coordinate("i", n)
    made = Program("test", (), (), program(build([i], [n], num(i))).outputs, (), tuple(n.free))
    assert run(made, {}, {"n": 3}).outputs["y"].tolist() == [1.0, 2.0, 3.0]
    for dims, code in (({}, "T0345"), ({"n": 0}, "T0343")):
        with pytest.raises(Rejected) as caught:
            run(made, {}, dims)
        assert codes(caught) == [code]


@BOTH
def test_declared_expressions_are_checked(run):
    n = length("n")
    x, y = tol("x", "R", n), tol("y", "R", 2 * n)
    made = program(x, y, inputs=[x, y])
    assert run(made, {"x": np.ones(2), "y": np.ones(4)}).outputs["y1"].shape == (4,)
    with pytest.raises(Rejected) as caught:
        run(made, {"x": np.ones(2), "y": np.ones(5)})
    assert codes(caught) == ["T0342"]


@BOTH
def test_broken_conditions_are_told(run):
    n = length("n")
    x = tol("x", "R", n)
    made = Program("test", (x,), (), program(x).outputs, (Condition(ge(n - 3), "n is at least 3"),))
    assert run(made, {"x": np.ones(3)}).outputs["y"].shape == (3,)
    with pytest.raises(Rejected) as caught:
        run(made, {"x": np.ones(2)})
    assert codes(caught) == ["T0344"]
    assert "n is at least 3" in caught.value.diagnostics[0].message


@BOTH
def test_too_much_work_stops(run):
    node = num(1.0)
    for _ in range(60):
        node = total([coordinate("i", 1000)], [1000], lam("exp", node))
    with pytest.raises(Rejected) as caught:
        run(program(node), {}, max_steps=3000)
    assert codes(caught) == ["T0520"]


@BOTH
def test_a_result_too_large_stops(run):
    big = [coordinate("i", 2**20), coordinate("j", 2**20)]
    with pytest.raises(Rejected) as caught:
        run(program(build(big, [2**20, 2**20], num(1.0))), {})
    assert codes(caught) == ["T0520"]


def test_many_nested_builds():
    node = num(1.0)
    for _ in range(60):
        node = build([coordinate("i", 1)], [1], mem(node, *[1] * len(node.type[0].shape)))
    same_both_ways(program(node), {})


@BOTH
def test_integers_too_large_for_the_machine(run):
    with pytest.raises(Rejected) as caught:
        run(program(num(2**70, "Z")), {})
    assert codes(caught) == ["T0522"]


SMALL = [
    (p.elementwise(), {"x": np.ones((5, 7))}),
    (p.matmul(), {"a": np.arange(35.0).reshape(5, 7), "b": np.arange(21.0).reshape(7, 3)}),
    (p.matmul_direct(), {"a": np.arange(35.0).reshape(5, 7), "b": np.arange(21.0).reshape(7, 3)}),
    (p.triangle(), {"x": np.arange(49.0).reshape(7, 7)}),
    (p.triangle_built(), {"x": np.arange(49.0).reshape(7, 7)}),
    (p.ragged_joined(), {"x": np.arange(7)}),
    (p.conv(2, 1, exact=True), {"x": np.arange(14.0).reshape(2, 7), "w": np.ones((3, 2, 3))}),
    (p.keep_per_row(), {"x": np.arange(-10.0, 10).reshape(4, 5)}),
]


@pytest.mark.parametrize("limit", [1, 3, 10])
@pytest.mark.parametrize("program_, inputs", SMALL)
def test_cutting_a_grid_changes_nothing(monkeypatch, limit, program_, inputs):
    monkeypatch.setattr(machine, "MAX_POINTS", limit)
    monkeypatch.setattr(folds, "MAX_ELEMENTS", limit)
    same_both_ways(program_, inputs)


def test_a_build_that_is_reduced_at_once_is_not_made():
    n, m = length("n"), length("m")
    x = tol("x", "Z", n, m)
    i, j = coordinate("i", n), coordinate("j", m)
    a, b = coordinate("a", n), coordinate("b", m)
    squares = build([i, j], [n, m], lam("sqr", mem(x, i, j)))
    named = Var("v", squares.type)
    summed = total([a, b], [n, m], mem(ref(named), a, b))
    made = program(summed, inputs=[x], bindings=[(named, squares)])
    done = same_both_ways(made, {"x": np.arange(6).reshape(2, 3)})
    assert done.outputs["y"].tolist() == 55
    assert done.counts.atoms == {"lambda": 12, "norm": 0, "member": 12, "join": 5, "embed": 3}


@BOTH
def test_doubling_again_and_again_stops(run, monkeypatch):
    monkeypatch.setattr(values, "MAX_ELEMENTS", 2**20)  # of the 2**28 there may be
    x = tol("x", "Z", 1)
    bindings = []
    node = x
    for step in range(40):
        node = join(node, node)
        var = Var(f"v{step}", node.type)
        bindings.append((var, node))
        node = ref(var)
    with pytest.raises(Rejected) as caught:
        run(program(num(1), inputs=[x], bindings=bindings), {"x": np.ones(1)})
    assert codes(caught) == ["T0520"]


@BOTH
def test_too_many_dimensions_stop(run):
    node = tol("x", "Z", 1)
    for _ in range(70):
        node = embed(node)
    with pytest.raises(Rejected) as caught:
        run(program(node, inputs=[tol("x", "Z", 1)]), {"x": np.ones(1)})
    assert codes(caught) == ["T0520"]
