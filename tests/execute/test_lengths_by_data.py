"""Lengths that data decides, also at every step of a loop: beside NumPy, and beside closed forms."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.execute.random_ir import Gen
from tests.execute.test_random import inputs
from tolcost.algebra import Poly, Symbol, evaluate
from tolcost.cost import count
from tolcost.diagnostics import Rejected, Source
from tolcost.execute import Execution, run_reference, run_unrolled, run_vectorised
from tolcost.pipeline import lower, read_program

RUNS = (run_vectorised, run_reference, run_unrolled)
SPARSE = """
tol ptr: N [n + 1]
tol col: N [nz]
tol val: R [nz]
tol x: R [m]
y := map(tol[n], reduce((ptr[i] + 1)..ptr[i + 1], (s, k) => s + val[k] * x[col[k]], 0), [i])
"""


@pytest.mark.parametrize("seed", range(6))
def test_a_sparse_matrix_costs_two_operations_for_each_entry(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 6, size=2)
    dense = rng.integers(-3, 4, size=(rows, columns)).astype(float)
    dense[0, 0] = 1
    counts, (_, col) = np.count_nonzero(dense, axis=1), np.nonzero(dense)
    given = {"ptr": np.concatenate([[0], np.cumsum(counts)]), "col": col + 1, "val": dense[dense != 0]}
    vector = rng.standard_normal(columns)
    program = lower(read_program(Source("sparse.tol", SPARSE))).program
    for run in RUNS:
        found = run(program, {**given, "x": vector})
        np.testing.assert_allclose(found.outputs["y"], dense @ vector)
        assert found.counts.histogram == {("add", "R"): counts.sum(), ("mul", "R"): counts.sum()}
        assert agrees(count(program).histogram, found.counts.histogram, found, exact=True)


@pytest.mark.parametrize("seed", range(80, 110))
def test_closed_forms_of_random_programs_are_what_runs(seed: int) -> None:
    program = Gen(Random(seed)).program()
    try:
        counts = count(program)
    except Rejected as rejected:  # lengths of one step multiply each other
        assert [one.code for one in rejected.diagnostics] == ["T0602"]  # noqa: PT017
        return
    run = run_reference(program, inputs(seed))
    exact = counts.status != "upper bound"
    assert agrees(counts.histogram, run.counts.histogram, run, exact)
    assert agrees(counts.index, run.counts.index, run, exact)
    assert agrees(counts.atoms, run.counts.atoms, run, exact)


def agrees(forms: dict[object, Poly], executed: dict[object, int], run: Execution, exact: bool) -> bool:
    """Whether closed forms give the executed counts, or at least as much."""
    unvisited: dict[Symbol, int] = {s: 0 for form in forms.values() for s in form.free if s.kind == "data"}
    values = unvisited | run.bindings
    told = {key: evaluate(form, values) for key, form in forms.items()}
    pairs = [(told.get(key, 0), executed.get(key, 0)) for key in {*told, *executed}]
    return all(most == many if exact else most >= many for most, many in pairs)
