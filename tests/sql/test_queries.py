"""The queries of queries.sql, of every kind that is translated, give DuckDB's rows, in any order."""

from __future__ import annotations

from pathlib import Path

from tests.sql.test_answers import TABLES
from tools.sql_queries import answer, duckdb_rows, same_rows, store

QUERIES = [text.strip() for text in Path(__file__).with_name("queries.sql").read_text("utf-8").split(";")]


def test_rows_are_those_of_duckdb() -> None:
    with store(TABLES) as connection:
        for sql in filter(None, QUERIES):
            expected = duckdb_rows(sql, connection)
            found = answer(sql, TABLES, counted=True)
            assert same_rows(found, expected), f"{sql}: {found} is not {expected}"
