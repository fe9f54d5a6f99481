"""Traffic, depth, derivations, and the record that brings them together."""

from __future__ import annotations

from fractions import Fraction

import pytest

import tolcost
from tolcost.algebra import UnboundSymbol, const, coordinate, evaluate, to_text
from tolcost.atoms.nodes import Input, Node, Var
from tolcost.cost import analyze_program, depths, traffic
from tolcost.cost.derive import derive
from tolcost.cost.traffic import bytes_of
from tolcost.diagnostics import place
from tools.cost import programs
from tools.cost.programs import R0, A, X, apply, k, m, n, number, program
from tools.execute.builders import build, fold, mem, ref, tensor

N, M, K = programs.SYMBOLS


def test_traffic_of_matmul():
    found = traffic(programs.matmul())
    assert found.read == {"R": 4 * k * (m + n)}
    assert found.written == {"R": 4 * m * n}
    assert found.total == 4 * (k * m + k * n + m * n)


def test_unused_inputs_are_not_read():
    spare = Input("spare", tensor("R", m))
    assert traffic(program(A, inputs=(A, spare))).read == {"R": 4 * n * k}
    assert traffic(program(mem(A, n, k), inputs=(A, spare))).read == {"R": const(4)}


@pytest.mark.parametrize(
    "space, size",
    [("B", 5), ("Z", 40), ("R", 20), ("C", 40), ("N*", 40), ("float16", 10), ("int4", 3), ("uint2", 2)],
)
def test_widths(space, size):
    found = traffic(program(Input("x", tensor(space, const(5)))))
    assert found.total == size


def test_narrow_elements_are_packed_per_tensor():
    assert to_text(bytes_of((n,), "int4")) == "floor((n + 1)/2)"


def test_texts_have_no_size():
    found = traffic(program(Input("x", tensor("S", const(5)))))
    assert found.unsized == ("S",)
    assert found.total is None


CHOLESKY = """tol a: R [n, n]
below(l, row, i, j) = reduce(tol[j - 1], (s, z) => s - row[k] * l[j, k], a[i, j], [k]) / l[j, j]
last(row, i) = sqrt(reduce(tol[i - 1], (s, z) => s - row[k] * row[k], a[i, i], [k]))
line(l, i) = {
  row = reduce(tol[i - 1], (r, z) => put(r, j, below(l, r, i, j)), tol[n], [j])
  put(row, i, last(row, i))
}
y := reduce(tol[n], (l, z) => put(l, i, line(l, i)), tol[n, n], [i])"""


def test_no_chain_is_longer_than_all_functions_together():
    """The depth of a Cholesky decomposition of one number was "6 at most", at one EOP."""
    for size, deep in ((1, 1), (2, 5), (3, 9), (6, 21)):  # the depths of its circuits
        cost = tolcost.analyze(CHOLESKY, dims={"n": size})
        assert deep <= cost.depth <= cost.eops
    cost = tolcost.analyze(CHOLESKY)
    assert all(cost.subs(n=size).parallelism >= 1 for size in range(1, 20))


def test_depth_of_matmul():
    found = depths(programs.matmul())
    assert str(found.chain) == "k + 1"
    assert str(found.tree) == "ceiling(log(k + 1, 2)) + 1"
    assert [found.tree.at({K: size}) for size in (1, 2, 3, 4, 1000)] == [2, 3, 3, 4, 11]


def test_depth_is_the_larger_of_two_branches():
    i = coordinate("i", n)
    rows = fold([i], [n], Var("acc", R0), number(0), apply("exp", mem(X, i)))
    acc, other = Var("acc", R0), Var("acc", R0)
    j, h = coordinate("j", m), coordinate("h", k)
    left = fold([j], [m], acc, number(0), apply("add", ref(acc), number(1)))
    right = fold([h], [k], other, number(0), apply("add", ref(other), number(1)))
    found = depths(program(apply("mul", apply("add", left, right), rows)))
    assert found.chain.exact
    assert found.chain.at({N: 9, M: 3, K: 5}) == 7
    assert str(found.chain) == "Max(m + 2, k + 2)"


def test_a_fold_that_is_not_a_tree_stays_a_chain():
    acc = Var("acc", R0)
    i = coordinate("i", n)
    for step in (
        apply("sub", ref(acc), mem(X, i)),
        apply("add", ref(acc), apply("mul", ref(acc), mem(X, i))),
    ):
        found = depths(program(fold([i], [n], acc, number(0), step)))
        assert found.chain.at({N: 6}) == found.tree.at({N: 6})


def test_a_deep_chain_needs_no_stack():
    value: Node = mem(X, n)
    for _ in range(5000):
        value = apply("add", value, number(1))
    assert depths(program(value)).chain.at({}) == 5000


def test_the_derivation_of_example_14():
    chain = derive(programs.matmul()).chains[0]
    assert [chain.steps[0].text_before, *(step.text_after for step in chain.steps)] == [
        "EOPs(result)",
        "EOPs(map(result, elem(i,j), [i,j]))",
        "m*n*EOPs(reduce(vec(i,j), add, 0))",
        "m*n*(EOPs(vec(i,j)) + k*EOPs(add))",
        "m*n*(EOPs(map(a[i], mul(*, b[*,j]))) + k*EOPs(add))",
        "m*n*(k*EOPs(mul) + k*EOPs(add))",
        "m*n*(k*1 + k*EOPs(add))",
        "m*n*(k*1 + k*1)",
        "2*k*m*n",
    ]
    assert [place(step.span).line for step in chain.steps] == [6, 6, 5, 4, 4, 4, 5, 6]
    assert chain.complete


def test_a_derivation_shows_the_sum_that_it_closes():
    chain = derive(programs.triangle()).chains[0]
    texts = [step.text_after for step in chain.steps]
    assert "Sum(i*EOPs(add), (i, 1, n))" in texts
    assert texts[-1] == "n**2 + n"


def test_a_long_derivation_is_cut_and_says_so():
    value: Node = mem(X, n)
    for _ in range(400):
        value = apply("add", value, apply("exp", value))
    chain = derive(program(value)).chains[0]
    assert not chain.complete
    assert len(chain.steps) <= 101
    assert "left out" in chain.steps[-1].reason


def test_the_record():
    made = programs.matmul()
    analysis = analyze_program(made, "matmul.tol")
    assert [(t.name, t.text) for t in analysis.inputs] == [("a", "R [n, k]"), ("b", "R [k, m]")]
    assert [(t.name, t.text) for t in analysis.outputs] == [("result", "R [n, m]")]
    assert (analysis.name, analysis.file, analysis.status) == ("matmul", "matmul.tol", "exact")
    assert analysis.flops == analysis.eops == 2 * k * m * n
    assert str(analysis.parallelism) == "(2*k*m*n)/(k + 1)"
    assert str(analysis.intensity) == "(2*k*m*n)/(4*k*m + 4*k*n + 4*m*n)"
    assert {s.name for s in analysis.symbols} == {"n", "m", "k"}
    assert analysis.intensity is not None
    assert analysis.intensity.at({N: 2, M: 2, K: 2}) == Fraction(16, 48)


def test_figures_at_a_point():
    found, at = analyze_program(programs.matmul()), {N: 2, M: 3, K: 4}
    assert [evaluate(form, at) for form in (found.eops, found.counts.macs, found.flops)] == [48, 24, 48]
    assert found.bytes is not None
    assert found.span is not None
    assert evaluate(found.bytes, at) == 4 * (12 + 8 + 6)
    assert (found.span.chain.at(at), found.span.tree.at(at)) == (5, 4)
    assert {key: evaluate(form, at) for key, form in found.counts.histogram.items()} == {
        ("add", "R"): 24,
        ("mul", "R"): 24,
    }


def test_a_figure_without_all_lengths_is_unknown_not_0():
    found = analyze_program(programs.matmul())
    with pytest.raises(UnboundSymbol):
        evaluate(found.eops, {N: 2})
    assert evaluate(found.counts.atoms["norm"], {N: 2}) == 0


def test_data_decides():
    made, _ = programs.filtered()
    found = analyze_program(made)
    with pytest.raises(UnboundSymbol):
        evaluate(found.eops, {N: 4})
    assert evaluate(found.counts.histogram["gt", "R"], {N: 4}) == 4


def test_a_convolution_counts_both_ways():
    dims = {"H": 9, "W": 11, "Ci": 2, "Co": 4}
    for is_exact, eops, macs in ((False, 4320, 2160), (True, 3328, 1664)):
        found = analyze_program(programs.conv2d(exact=is_exact))
        at = {symbol: dims[symbol.name] for symbol in found.symbols}
        assert (evaluate(found.eops, at), evaluate(found.counts.macs, at)) == (eops, macs)


def test_nothing_computed():
    i = coordinate("i", n)
    analysis = analyze_program(program(build([i], [n], mem(X, i)), inputs=(X,)))
    assert analysis.eops == 0
    assert analysis.parallelism is None
    assert analysis.parallelism_tree is None
