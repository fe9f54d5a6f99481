"""Programs whose shapes do not fit: what they are told, to the letter."""

from __future__ import annotations

import pytest

from tests.programs.road import lowered
from tests.syntax import cases
from tolcost.diagnostics import Rejected, render_all

CASES = cases.read("shapes")


def told(text: str) -> str:
    try:
        lowered(text)
    except Rejected as rejected:
        return render_all(rejected.diagnostics)
    return "accepted"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shape_errors(case: cases.Case) -> None:
    cases.check(case, told)
