"""Sums that start in another way: the same values, and the counts that a run of the program counts."""

from __future__ import annotations

import numpy as np
import pytest

from tolcost.algebra import Poly, evaluate
from tolcost.algebra.parse import parse_text
from tolcost.apps.paper.readings import paper_rows
from tolcost.apps.paper.starts import STARTS, Start, restarted
from tolcost.atoms.verify import verify
from tolcost.catalogue.specs import open_library
from tolcost.cost.count import count
from tolcost.diagnostics import Source
from tolcost.elaborate.inputs import arguments
from tolcost.execute import run_reference
from tolcost.pipeline import lower, read_program
from tolcost.result.instances import OperatorInstance, lower_instance, lower_source
from tolcost.syntax import parse

PROGRAMS = {
    "sum": ("tol x: R [n]\ny := reduce(x, add, 0)", "n", "n - 1"),
    "product": ("tol x: R [n]\ny := reduce(x, mul, 1)", "n", "n - 1"),
    "largest": ("tol x: R [n]\ny := reduce(x, max, -Inf)", "n", "n - 1"),
    "from 1": ("tol x: R [n]\ny := reduce(x, add, 1)", "n + 1", "n"),
    "from a bias": ("tol x: R [n]\ntol b: R\ny := reduce(x, add, b)", "n + 1", "n"),
    "of rows": (
        "tol x: R [n, m]\ny := map(tol[n], reduce(x[i], (a, e) => a + e * e, 0), [i])",
        "2*m*n",
        "2*m*n - n",
    ),
    "of all": ("tol x: R [n, m]\ny := reduce(x, add, 0)", "m*n", "m*n - 1"),
    "no sum": ("tol x: R [n]\ny := map(x, (e) => e + e + e)", "2*n", "2*n"),
    "not associative": ("tol x: R [n]\ny := reduce(x, sub, 0)", "n", "n"),
}
SIZES = {"n": 4, "m": 3}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("start", STARTS)
def test_a_sum_starts_where_it_is_told_and_gives_the_same(name: str, start: Start) -> None:
    text, neutral, first = PROGRAMS[name]
    program = lower(read_program(Source("test", text))).program
    changed = restarted(program, start)
    verify(changed)
    form: Poly = count(changed).eops
    assert form == parse_text(neutral if start == "neutral element" else first)
    rng = np.random.default_rng(1)
    given = {
        needed.name: rng.integers(1, 9, [SIZES[str(extent)] for extent in needed.type[0].shape]).astype(float)
        for needed in program.inputs
    }
    before, after = run_reference(program, given), run_reference(changed, given)
    assert np.array_equal(before.outputs["y"], after.outputs["y"])
    at = {symbol: SIZES[symbol.name] for symbol in form.free}
    assert after.counts.eops == evaluate(form, at)


def test_a_sum_over_a_list_is_known_by_its_place() -> None:
    """The loop over a list is unrolled: ONNX's Sum starts at its first input."""
    instance = OperatorInstance("Sum", {"data_0": [["n"], ["n"], ["n"]]}, {}, 1)
    program = lower_instance(instance, open_library()).program
    eops = {start: count(restarted(program, start)).eops for start in STARTS}
    assert count(program).eops == parse_text("2*n")
    assert eops == {"neutral element": parse_text("3*n"), "first term": parse_text("2*n")}


def test_a_sum_of_whole_tensors_is_known_through_its_members() -> None:
    row = next(row for row in paper_rows() if row.operator == "Sum")
    assert row.reading is not None
    given = arguments(parse(row.reading), row.shapes, {})
    program = lower_source(row.reading, open_library(), given).program
    eops = {start: count(restarted(program, start)).eops for start in STARTS}
    assert eops == {"neutral element": parse_text("3*m"), "first term": parse_text("2*m")}
