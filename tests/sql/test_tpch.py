"""The 22 queries of TPC-H, in the words of its specification, give DuckDB's rows in their order."""

from __future__ import annotations

from tools.sql_tpch import SEED, answered, drawn, store, tables, texts


def test_every_query_gives_the_rows_of_duckdb() -> None:
    rows = drawn(SEED)
    known = tables(rows)
    with store(rows) as connection:
        found = [answered(name, sql, known, connection) for name, sql in texts().items()]
    assert len(found) == 22
    assert all(one.rows for one in found)
