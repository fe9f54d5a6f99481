"""The 22 queries of TPC-H in ToLang, on a stored slice of scale 0.001, give DuckDB's answers.

Values of the benchmark that select nothing of so few rows are replaced by others.  `make tpch` does the same
at larger scales, with the benchmark's values, on freshly generated text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.specs.tpch.holding import held
from tests.specs.tpch.queries import QUERIES
from tests.specs.tpch.tables import SLICE, database, stored
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


def test_every_query_is_there() -> None:
    library = read_library("relational")
    assert [p.name for p in library.programs if p.name.startswith("tpch/")] == [f"tpch/{q}" for q in QUERIES]
    assert len(QUERIES) == 22
    assert SLICE.stat().st_size < 200_000
