"""What is said about broken programs, word for word."""

from __future__ import annotations

import re

import pytest

from tolcost.diagnostics import Rejected, Source, explanation, render_all
from tolcost.syntax import Signature, parse, resolve, syntax_errors

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


HINTS = (
    *syntax_errors.CALLS.values(),
    *syntax_errors.MEMBERS.values(),
    *syntax_errors.ARGUMENTS.values(),
    *(hint for hint, _ in syntax_errors.PAIRS.values()),
)
SHOWN = dict.fromkeys(piece for hint in HINTS for piece in re.findall(r"`([\w(|[][^`]+)`", hint))


@pytest.mark.parametrize("piece", SHOWN)
def test_what_a_hint_shows_is_right(piece: str) -> None:
    """`x => x + 1` was shown, which is refused."""
    is_statement = re.match(r"(use|tol) |\w+(\(\w\))? :?= ", piece) is not None
    assert parse(Source("hint", piece if is_statement else f"y := {piece}"))
