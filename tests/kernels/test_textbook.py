"""The algorithms of textbooks: every program against another implementation, and with a published cost."""

from __future__ import annotations

import pytest

from tolcost.apps.referee.formulas import PublishedFormula, shipped_formulas
from tolcost.apps.referee.judge import judge_formulas
from tolcost.apps.referee.subjects import ModelProgram
from tolcost.catalogue.listing import read_library
from tolcost.catalogue.specs import open_library
from tools.textbook.holding import SIZES, hold

PROGRAMS = [program.name for program in read_library("textbook").programs]
FORMULAS = shipped_formulas()["textbook"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_counts(name: str) -> None:
    """`python -m tools.textbook` does so on as many inputs as the library says."""
    hold(name, SIZES)


def test_every_program_has_a_published_cost() -> None:
    told = {formula.subject.path for formula in FORMULAS if isinstance(formula.subject, ModelProgram)}
    assert {f"textbook/{name}" for name in PROGRAMS} <= told


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.name)
def test_the_published_cost_is_right_or_it_is_said_what_is_not(formula: PublishedFormula) -> None:
    (found,) = judge_formulas([formula], open_library())
    assert found.verdict == formula.expect
    assert found.verdict in ("equal", "another convention") or formula.about
