"""The 22 queries of TPC-H in ToLang give DuckDB's answers, on a slice of scale 0.001 and on random databases.

Values of the benchmark that select nothing of so few rows are replaced by others.  `make tpch` does the same
at larger scales, with the benchmark's values, on freshly generated text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pytest

from tolcost.catalogue.listing import read_library
from tools.specs.tpch.holding import asked, held, held_on_each
from tools.specs.tpch.queries import QUERIES
from tools.specs.tpch.random_tables import COUNTED, TRIALS, random_databases, side_by_side
from tools.specs.tpch.tables import SLICE, Columns, database, stored

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


Databases: TypeAlias = tuple[duckdb.DuckDBPyConnection, list[Columns], duckdb.DuckDBPyConnection]


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Databases:
    """The slice in DuckDB, random databases, and all of these in DuckDB."""
    found = random_databases()
    whole, trials = side_by_side(found)
    sliced, random = (Path(tmp_path_factory.mktemp(name)) for name in ("slice", "random"))
    return database(COLUMNS, sliced), found, database(whole, random, trials)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_gives_the_answers_of_duckdb(name: str, databases: Databases) -> None:
    """On the slice, and on random databases: no rows at all, a table without, one row in each, and others."""
    connection, random, all_random = databases
    query = asked(name, OTHERS.get(name, {}), share=100, empty=True)
    assert held(query, COLUMNS, connection).rows, "a query that selects nothing shows little"
    rows = held_on_each(query, random, all_random, COUNTED)
    assert len(rows) >= (read_library("relational").find(f"tpch/{name}").inputs or 0) >= TRIALS
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
