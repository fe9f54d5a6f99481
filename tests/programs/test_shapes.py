"""Programs whose shapes do not fit: what they are told, to the letter."""

from __future__ import annotations

import re

import pytest

from tests.syntax import cases
from tolcost.diagnostics import Rejected, render_all
from tools.programs.road import lowered

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


CLASHES = ("T0301", "T0307", "T0308", "T0312", "T0327")
"""Two shapes that do not fit each other."""


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.expected.startswith(tuple(f"error[{k}" for k in CLASHES))], ids=str
)
def test_a_clash_shows_both_sides(case: cases.Case) -> None:
    shown = re.findall(r"\[[^\]\n]*\]|capacity \d|lengths \S+ and \S+|a number|list of \d", case.expected)
    assert len(shown) >= 2, case.expected
