"""Where formulas come from: each has a place and was held to it, and no rule goes without a word."""

import csv
import json
from collections import defaultdict
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import pytest

from tolcost.algebra.parse import parse_text
from tolcost.apps.referee.formulas import shipped_formulas
from tolcost.apps.referee.subjects import ModelProgram, title_of
from tolcost.catalogue.specs import open_library
from tolcost.elaborate.inputs import PlainShapes
from tools.referee.rules import RULES, known

FILES = shipped_formulas()
REPORTS = Path(__file__).parents[2] / "reports"
NAMESAKES = {"MoE"}
"""Rules for what an operator of ours has the name of, and is not."""

MORE_THAN_A_RULE = {"jax/gather", "onnxsim/MatMul-vectors"}
"""What was counted is the rule and more, places from the end; or it is about matrices, and no vectors."""


def test_every_formula_says_where_it_is_from_and_what_it_was_held_to() -> None:
    for formulas in FILES.values():
        for formula in formulas:
            assert formula.source.strip() not in ("", formula.name.partition("/")[0]), formula.name
            assert formula.checked, formula.name


@pytest.mark.parametrize("source", RULES)
def test_every_rule_has_a_verdict_or_a_reason(source: str) -> None:
    """`python -m tools.referee.rules` holds the same lists to a copy of the source."""
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
    without = RULES[source]["without"]
    left_out = {name for name in without for domain in library.domains() if library.find(domain, name)}
    assert left_out <= NAMESAKES


@pytest.mark.parametrize(
    "source, column, least",
    [("onnx_tool", "onnx_tool", 50), ("onnxsim", "onnxsim", 3), ("jax", "roofline", 30)],
)
def test_what_a_tool_is_said_to_say_is_what_it_answered(source: str, column: str, least: int) -> None:
    """Formulas in our notation against what the tools gave for a node of the operator (`make peers`)."""
    witnesses = csv.DictReader((REPORTS / "witnesses.csv").read_text("utf-8").splitlines())
    answered = {row["operator"]: row for row in witnesses if row[column]}
    held = 0
    for formula in FILES[source]:
        row = answered.get(title_of(formula.subject))
        lengths = fitted(formula.subject.shapes, json.loads(row["shapes"])) if row else None
        if row is not None and lengths is not None and formula.counts != "bytes":
            names = {name: parse_text(str(value)) for name, value in lengths.items()}
            said = parse_text(formula.text, names)
            if not said.free and formula.name not in MORE_THAN_A_RULE:
                assert said == int(row[column]), formula.name
                held += 1
    assert held >= least


def fitted(shapes: PlainShapes, given: dict[str, Any]) -> dict[str, int] | None:
    """What lengths are at given shapes, of the same inputs and ranks; one length stands for all elements."""
    lengths: dict[str, int] = {}
    if set(shapes) != set(given):
        return None
    for name, shape in shapes.items():
        flat = len(shape) == 1 and all(isinstance(entry, int) for entry in given[name])
        here = [prod(given[name])] if flat else given[name]
        if len(here) != len(shape) or any(not isinstance(entry, str) for entry in shape):
            return None
        lengths |= dict(zip(map(str, shape), here, strict=True))
    return lengths


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
    wrong = {"too low", "too high", "too low and too high"}
    assert {row["verdict"] for row in rows} - {"undecided"} == {"equal", "another convention", *wrong}
    for row in (row for row in rows if row["verdict"] != "undecided"):
        shown = row["witness"].split("; ") if row["witness"] else []
        executed = row["executed"].split("; ") if row["executed"] else []
        signs = []
        for text, taken in zip(shown, executed, strict=True):
            published, _, counted = text.rpartition(": ")[2].replace(",", "").partition(" not ")
            assert int(counted) == int(taken), row["formula"]
            value = Fraction(published.partition(" ")[0].rstrip(","))
            signs.append("too low" if value < int(taken) else "too high")
        wanted = row["verdict"].replace("too low and", "too low|").split("| ")
        assert signs == wanted if row["verdict"] in wrong else bool(signs) == (row["verdict"] != "equal")
        assert bool(row["reading"]) == (row["verdict"] == "another convention")
