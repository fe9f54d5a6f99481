"""Where formulas come from: each has a place and was held to it, and no rule goes without a word."""

import csv
from collections import defaultdict
from pathlib import Path

import pytest

from tests.referee.rules import RULES, known
from tolcost.catalogue.specs import open_library
from tolcost.referee.formulas import shipped_files
from tolcost.referee.subjects import ModelProgram

FILES = {file.name: file.formulas for file in shipped_files()}
REPORTS = Path(__file__).parents[2] / "reports"
NOBODY_IS_HELD_TO = {"Compress", "NonMaxSuppression", "NonZero", "Scan"}
"""Operators of ours with a rule elsewhere whose count data decides, or a graph that they run."""


def test_every_formula_says_where_it_is_from_and_what_it_was_held_to() -> None:
    for formulas in FILES.values():
        for formula in formulas:
            assert formula.source.strip() not in ("", formula.name.partition("/")[0]), formula.name
            assert formula.checked, formula.name


@pytest.mark.parametrize("source", RULES)
def test_every_rule_has_a_verdict_or_a_reason(source: str) -> None:
    """`python -m tests.referee.rules` holds the same lists to a copy of the source."""
    said = RULES[source]
    names = {formula.name.partition("/")[2] for formula in FILES[source]}
    stems = names | {name.partition("-")[0] for name in names}
    assert set(said["judged"]) <= stems
    assert set(said.get("named", {}).values()) <= stems
    assert all(said.get("without", {}).values())
    told = [*said["judged"], *said.get("named", {}), *said.get("without", {})]
    assert len(told) == len(set(told)) == len(known(source))


@pytest.mark.parametrize("source", ["yobx", "onnx_tool"])
def test_rules_by_the_names_of_onnx_are_judged_where_we_have_the_operator(source: str) -> None:
    library = open_library()
    left_out = {name for name in RULES[source]["without"] if library.find("", name) is not None}
    assert left_out <= NOBODY_IS_HELD_TO


def test_as_many_are_judged_as_asked() -> None:
    assert len(RULES["tileops"]["judged"]) >= 150
    families = defaultdict(set)
    for source, formulas in FILES.items():
        for formula in formulas:
            if isinstance(formula.subject, ModelProgram) and formula.subject.path.startswith("families/"):
                families[formula.subject.path].add(source)
    assert len(families) >= 12
    assert sum(map(len, families.values())) >= 10
    assert len(set().union(*families.values())) >= 10


def test_every_difference_has_sizes_that_were_executed() -> None:
    """Too low: a run at the size takes more than is published; too high: less; both: one of each."""
    rows = list(csv.DictReader((REPORTS / "referee.csv").read_text("utf-8").splitlines()))
    assert {row["verdict"] for row in rows} == {"equal", "too low", "too high", "too low and too high"}
    for row in rows:
        shown = row["witness"].split("; ") if row["witness"] else []
        executed = row["executed"].split("; ") if row["executed"] else []
        signs = []
        for text, taken in zip(shown, executed, strict=True):
            published, _, counted = text.rpartition(": ")[2].replace(",", "").partition(" not ")
            assert int(counted) == int(taken), row["formula"]
            signs.append("too low" if int(published) < int(taken) else "too high")
        wanted = (
            [] if row["verdict"] == "equal" else row["verdict"].replace("too low and", "too low|").split("| ")
        )
        assert signs == wanted, row["formula"]
