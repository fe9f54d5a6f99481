"""The recorded gradients of operators beside PyTorch's, and three of them held to differences again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tolcost.catalogue.cases import derive, load_cases
from tolcost.catalogue.specs import open_library
from tools.gradient.points import NEAR, at_other_lengths, changed, difference_errors, moved, point_at, widened
from tools.gradient.products import derived
from tools.gradient.report_operators import REPORT, is_held, programs, recorded, report, report_programs

ROWS = recorded()["operators"]
SPECS = Path(__file__).parents[2] / "specs"


def test_the_report_is_that_of_its_data() -> None:
    assert REPORT.read_text("utf-8") == report() + report_programs()


def test_programs_are_held_to_torch() -> None:
    rows = programs()
    assert not [name for name, row in rows.items() if "wrong" in row]
    assert len([row for row in rows.values() if row.get("shapes", 0) > 1]) >= 300
    there = {path.with_suffix("").relative_to(SPECS).as_posix() for path in SPECS.glob("*/*.tol")}
    folders = {name.partition("/")[0] for name in rows}
    assert {name for name in there if name.partition("/")[0] in folders} <= rows.keys()


def test_every_operator_is_held_or_has_a_reason() -> None:
    library = open_library()
    assert set(library.names("")) <= ROWS.keys()
    held = [row for row in ROWS.values() if is_held(row)]
    by_torch = [row["operator"] for row in held if row.get("torch")]
    assert len([name for name in by_torch if not name.startswith("com.microsoft.")]) >= 150
    assert len([row for row in held if row["shapes"] > 1]) >= 150
    assert not [row["operator"] for row in ROWS.values() if row.get("wrong")]
    assert all(row["counted"] >= row.get("torch", 0) + row.get("differences", 0) for row in held)


@pytest.mark.parametrize("name", ["Softsign", "MatMul", "Gather"])
def test_again(name: str) -> None:
    library = open_library()
    case = next(case for case in load_cases([name]) if case.node.op == name)
    spec = library.find("", name, case.opset)
    assert spec is not None
    wide = changed(case, spec, lambda array: moved(widened(array)))
    program = derive(wide, spec, library).lowered.program
    made, _ = derived(program)
    other = next(at_other_lengths(wide, spec))
    assert [a.shape for a in other.inputs] != [a.shape for a in wide.inputs]
    for one in (wide, other):
        point = point_at(one, spec, program, made)
        assert point.counted is None
        errors, kinks = difference_errors(point)
        assert not kinks
        assert max(errors) <= NEAR
    assert ROWS[name]["torch"] >= 2
