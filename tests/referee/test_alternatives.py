"""Other algorithms for operators: right where they are for, counted as they run, and compared by proof."""

from pathlib import Path

import pytest

from tolcost.catalogue.alternatives import alternatives, hold_to_tests, operators_with_alternatives
from tolcost.catalogue.cases import load_cases
from tolcost.catalogue.specs import open_library
from tolcost.referee.alternatives import EVERYWHERE, Comparison, compare_alternatives, held_at_sizes
from tolcost.referee.alternatives_table import algorithms_table, tables
from tolcost.result.regions import try_shapes
from tolcost.show.tables import csv_text, markdown

REPORTS = Path(__file__).parents[2] / "reports"
LIBRARY = open_library()


@pytest.fixture(scope="module")
def compared() -> list[Comparison]:
    return [one for name in operators_with_alternatives() for one in compare_alternatives(name, LIBRARY)]


def test_the_committed_report_is_of_today(compared: list[Comparison]) -> None:
    """Every alternative is held to every node test that it is for."""
    cases = load_cases(operators_with_alternatives())
    every = [one for name in operators_with_alternatives() for one in alternatives(name, LIBRARY)]
    tests = {(one.operator, one.name): hold_to_tests(one, cases, LIBRARY) for one in every}
    assert not {key: said.failures for key, said in tests.items() if said.failures}
    assert (REPORTS / "alternatives.md").read_text("utf-8") == markdown(tables(compared, tests)), (
        "run `make alternatives`"
    )
    assert (REPORTS / "alternatives.csv").read_text("utf-8") == csv_text(algorithms_table(compared, tests)), (
        "run `make alternatives`"
    )


def test_every_alternative_is_compared_somewhere(compared: list[Comparison]) -> None:
    shown = {(one.setting.instance.op, row.name) for one in compared for row in one.rows}
    every = {
        (a.operator, a.name) for name in operators_with_alternatives() for a in alternatives(name, LIBRARY)
    }
    assert every <= shown


def test_at_random_inputs_they_give_and_count_what_the_definition_does(compared: list[Comparison]) -> None:
    assert [problem for one in compared for problem in held_at_sizes(one)] == []


def test_no_comparison_is_contradicted_at_small_sizes(compared: list[Comparison]) -> None:
    for one in compared:
        for pair in one.crossings:
            facts = (*pair.first.facts, *pair.second.facts)
            signs = {
                (tried.old > tried.new) - (tried.old < tried.new)
                for tried in try_shapes(pair.first.eops, pair.second.eops, facts)
            }
            allowed = {"equal": {0}, "less_or_equal": {0, -1}, "greater_or_equal": {0, 1}}
            assert signs <= allowed.get(pair.verdict, {-1, 0, 1}), (one.setting, pair)
            assert pair.verdict != "crosses" or {-1, 1} <= signs, (one.setting, pair)
            assert EVERYWHERE not in (pair.first_fewer, pair.second_fewer) or 0 not in signs
