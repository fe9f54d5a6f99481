"""What is said about broken programs, word for word."""

from __future__ import annotations

import pytest

from tolcost.diagnostics import Rejected, Source, explanation, render_all
from tolcost.syntax import Signature, parse, resolve

from . import cases

KNOWN = {"Softmax": Signature(1, 1, frozenset({"input", "axis"})), "len": Signature(1, 1), "limit": None}
CASES = cases.read("diagnostics")


def told(program: str) -> str:
    try:
        found = resolve(parse(Source("case.tol", program)), KNOWN)
    except Rejected as rejected:
        found = rejected.diagnostics
    assert all(explanation(diagnostic.code) for diagnostic in found)
    return render_all(found)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_diagnostics(case: cases.Case) -> None:
    cases.check(case, told)


def test_every_case_has_a_name_of_its_own() -> None:
    assert len({(case.file, case.name) for case in CASES}) == len(CASES)
