"""The 22 queries of TPC-H in ToLang give DuckDB's answers, on a slice of scale 0.001 and on random databases.

Values of the benchmark that select nothing of so few rows are replaced by others.  `make tpch` does the same
at larger scales, with the benchmark's values, on freshly generated text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pytest

from tests.specs.tpch.holding import held, held_on_each
from tests.specs.tpch.queries import QUERIES
from tests.specs.tpch.random_tables import GIVEN, TRIALS, random_databases, side_by_side
from tests.specs.tpch.tables import SLICE, Columns, database, stored
from tolcost.catalogue.libraries import read_library

COLUMNS = stored()
OTHERS: dict[str, dict[str, Any]] = {
    "Q02": {"region": "AMERICA", "size": 45},
    "Q05": {"region": "AMERICA"},
    "Q07": {"first": "PERU", "second": "UNITED KINGDOM"},
    "Q11": {"nation": "PERU"},
    "Q18": {"pieces": 250},
    "Q20": {"nation": "PERU", "colour": "bisque"},
    "Q21": {"nation": "PERU"},
}


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    return database(COLUMNS, Path(tmp_path_factory.mktemp("tpch")))


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_gives_the_answer_of_duckdb(name: str, connection: duckdb.DuckDBPyConnection) -> None:
    found = held(name, COLUMNS, connection, OTHERS.get(name, {}), share=100)
    assert found.rows, "a query that selects nothing shows little"


Random: TypeAlias = tuple[list[Columns], duckdb.DuckDBPyConnection]


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Random:
    found = random_databases()
    whole, trials = side_by_side(found)
    return found, database(whole, Path(tmp_path_factory.mktemp("random")), trials)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_on_random_databases(name: str, databases: Random) -> None:
    """The first has no rows at all, the next have one table without, or one row in each."""
    rows = held_on_each(name, *databases, GIVEN.get(name, {}), share=4, counted=20)
    assert len(rows) >= read_library("relational").find(f"tpch/{name}").inputs == TRIALS
    assert sum(map(bool, rows)) > 3, "databases on which a query selects nothing show little"


def test_random_databases_are_as_small_as_they_may_be() -> None:
    sizes = [{len(column) for column in each.values()} for each in random_databases()]
    assert sizes[0] == {0}
    assert all(0 in each for each in sizes[1:9])
    assert sizes.count({1}) >= 6


def test_every_query_is_there() -> None:
    library = read_library("relational")
    assert [p.name for p in library.programs if p.name.startswith("tpch/")] == [f"tpch/{q}" for q in QUERIES]
    assert len(QUERIES) == 22
    assert SLICE.stat().st_size < 200_000
