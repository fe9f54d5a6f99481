"""Who counts what: every verified operator has a witness or a reason, and no twin computes something else."""

import csv
import tomllib
from pathlib import Path

from tolcost.apps.paper.recorded import league_table, who_counts_table
from tolcost.apps.referee.formulas import shipped_formulas
from tolcost.apps.referee.table import gather, witnesses_table
from tolcost.catalogue.specs import open_library
from tolcost.show.tables import csv_text

REPORTS = Path(__file__).parents[2] / "reports"
ROWS = list(csv.DictReader((REPORTS / "witnesses.csv").read_text("utf-8").splitlines()))


def test_every_operator_has_a_witness_or_a_reason() -> None:
    assert len(ROWS) > 185
    for row in ROWS:
        witnessed = any(row[key] for key in ("written", "roofline", "onnx_tool", "executed", "rules"))
        assert witnessed or row["reason"], row["operator"]


def test_reasons_are_for_operators_without_a_witness() -> None:
    reasons = tomllib.loads((REPORTS / "data" / "witness_reasons.toml").read_text("utf-8"))["reasons"]
    assert {row["operator"]: row["reason"] for row in ROWS if row["reason"]} == reasons


def test_no_twin_computes_something_else() -> None:
    told = csv.DictReader((REPORTS / "data" / "witnesses.csv").read_text("utf-8").splitlines())
    values = [row["values"] for row in told]
    assert sum(value == "as ONNX" for value in values) > 300
    assert not [value for value in values if value.startswith("differs")]


def test_the_committed_table_is_what_is_gathered() -> None:
    formulas = [formula for formulas in shipped_formulas().values() for formula in formulas]
    table = witnesses_table(gather(REPORTS / "data", formulas, open_library()))
    assert (REPORTS / "witnesses.csv").read_text("utf-8") == csv_text(table), "run `make referee`"


def test_the_league_has_every_source() -> None:
    (league,) = league_table(REPORTS)
    assert [row[0] for row in league.rows] != []
    assert {row[0] for row in league.rows} == set(shipped_formulas())
    (who,) = who_counts_table(REPORTS)
    assert len(who.rows) == len(ROWS)
