"""Random queries, translated and run, give DuckDB's rows; and counts are those of the closed forms."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import numpy as np
import pytest

from tests.sql.random_queries import TABLES, query
from tolcost.apps.sql import SqlColumn, SqlTable, read_query, translated
from tolcost.diagnostics import Source
from tolcost.execute import run_vectorised
from tolcost.pipeline import analyze_lowered, lower, read_program
from tolcost.result.derivation import compare_counts
from tools.specs.library_programs import possibly_empty

COUNTED = 13
"""Every so many queries the closed forms are derived and held to the run."""


def tables(seed: int, sizes: Sequence[int] = (1, 2, 4, 6)) -> dict[str, SqlTable]:
    """Tables of few rows and few different numbers."""
    draw = random.Random(seed)
    found = {}
    for name, columns in TABLES.items():
        size = draw.choice(sizes)
        made = {}
        for column, kind in columns.items():
            if isinstance(kind, tuple):
                values = tuple(draw.randint(1, len(kind)) for _ in range(size))
                made[column] = SqlColumn(column, "N*", tuple(sorted(kind)), values)
            else:
                numbers = tuple(draw.randint(0, 5) / (2 if kind == "R" else 1) for _ in range(size))
                made[column] = SqlColumn(
                    column, kind, values=tuple(map(int, numbers)) if kind == "Z" else numbers
                )
        found[name] = SqlTable(name, made)
    return found


def stored(found: dict[str, SqlTable]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    kinds = {"Z": "bigint", "R": "double", "N*": "varchar"}
    for table in found.values():
        typed = ", ".join(f"{c.name} {kinds[c.space]}" for c in table.columns.values())
        columns = [
            [c.texts[int(v) - 1] for v in c.values or ()] if c.texts else c.values
            for c in table.columns.values()
        ]
        rows = ", ".join(f"({', '.join(map(repr, row))})" for row in zip(*columns, strict=True))
        connection.execute(f"create table {table.name} ({typed})")
        if rows:
            connection.execute(f"insert into {table.name} values {rows}")
    return connection


def ours(sql: str, found: dict[str, SqlTable], counted: bool) -> list[tuple[Any, ...]]:
    program = translated(read_query(Source("<sql>", sql), found))
    parsed = read_program(program.source)
    lowered = lower(parsed)
    if not all(column.values for column in program.inputs.values()):
        lowered = lower(parsed, possibly_empty(lowered.program))
    arrays = {name: np.array(column.values) for name, column in program.inputs.items()}
    execution = run_vectorised(lowered.program, arrays)
    if counted:
        text, agree = compare_counts(execution.counts, execution.bindings, analyze_lowered(lowered, "<sql>"))
        assert agree, text
    columns = [np.atleast_1d(np.asarray(value)).tolist() for value in execution.outputs.values()]
    return list(zip(*columns, strict=True))


def theirs(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Text as its number; every column of text has the same three."""
    codes = {"blue": 1, "green": 2, "red": 3}
    return [tuple(codes[v] if isinstance(v, str) else v for v in row) for row in rows]


def is_empty(rows: Sequence[tuple[Any, ...]]) -> bool:
    """Whether DuckDB says NULL: an aggregate of nothing, which is 0, or no number, here."""
    return any(value is None for row in rows for value in row)


def held(found: dict[str, SqlTable], seeds: Iterable[int]) -> int:
    """Hold queries to DuckDB; give how many of them it answers without NULL."""
    connection = stored(found)
    answered = 0
    for seed in seeds:
        sql = query(seed)
        rows = theirs(connection.execute(sql).fetchall())
        if is_empty(rows):
            continue
        answered += 1
        result = ours(sql, found, seed % COUNTED == 0)
        one, other = (result, rows) if " order by " in sql else (sorted(result), sorted(rows))
        assert len(one) == len(other), sql
        np.testing.assert_allclose(
            np.array(one, float), np.array(other, float).reshape(np.array(one, float).shape), err_msg=sql
        )
    return answered


@pytest.mark.parametrize("batch", range(4))
def test_random_queries(batch: int) -> None:
    assert held(tables(batch), range(32 * batch, 32 * batch + 32)) >= 25


def test_random_queries_on_tables_without_rows() -> None:
    assert held(tables(4, (0, 0, 3)), range(200, 210)) >= 4
