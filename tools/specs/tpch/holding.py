"""A TPC-H query in ToLang beside DuckDB: one answer, and counts that are those of the closed form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
from msgspec import Struct

from tolcost.execute import run_vectorised
from tolcost.result.derivation import compare_counts
from tools.specs.library_programs import Ready, ready
from tools.specs.tpch.queries import QUERIES, Row, answered, same
from tools.specs.tpch.tables import FIELDS, Columns


class Held(Struct, frozen=True):
    """What became of a query: how many rows it has, and its cost in closed form and as a number."""

    name: str
    rows: int
    form: str
    eops: int


class Asked(Struct, frozen=True):
    """A query with its values: the program, and the text for DuckDB; ``share`` is Query 11's."""

    name: str
    program: Ready
    sql: str
    share: int


def asked(name: str, given: Mapping[str, Any], share: int, empty: bool = False) -> Asked:
    """A query with other values than the benchmark's; tables without rows are ``empty``."""
    values = {**QUERIES[name].given, **given}
    program = ready("relational", f"tpch/{name}", empty=empty, **values)
    return Asked(name, program, QUERIES[name].sql.format(share=share, **values), share)


def held(query: Asked, columns: Columns, connection: duckdb.DuckDBPyConnection) -> Held:
    """Run a query on both sides."""
    ours, eops = run(query, columns, counted=True)
    theirs = answered(connection.execute(query.sql).fetchall())
    assert same(ours, theirs), f"{query.name}: {ours[:3]} against {theirs[:3]}"
    return Held(query.name, len(ours), str(query.program.analysis.eops), eops)


def held_on_each(
    query: Asked, databases: Sequence[Columns], connection: duckdb.DuckDBPyConnection, counted: int
) -> list[int]:
    """Hold a query to DuckDB on databases whose tables may be empty; give how many rows it has on each.

    The connection has all of them side by side.  The closed forms are held to the first ``counted`` runs.
    Rows are compared in any order: that of a query is settled where it is asked for by itself (``held``).
    """
    theirs = each_answered(query.sql, connection, len(databases))
    for trial, columns in enumerate(databases):
        ours, _ = run(query, columns, counted=trial < counted)
        assert same(sorted(ours), sorted(theirs[trial])), (
            f"{query.name} {trial}: {ours[:3]}, {theirs[trial][:3]}"
        )
    return [len(rows) for rows in theirs]


def run(query: Asked, columns: Columns, counted: bool) -> tuple[list[Row], int]:
    """Our rows, and the EOPs of the run, which the closed forms give, too, if it is ``counted``."""
    dims = {"p": max(len(columns["p_partkey"]), 1), "share": query.share} if query.name == "Q11" else {}
    execution = run_vectorised(query.program.lowered.program, columns, dims)
    if counted:
        text, agree = compare_counts(execution.counts, execution.bindings, query.program.analysis)
        assert agree, f"{query.name}\n{text}"
    return QUERIES[query.name].rows(execution.outputs), sum(execution.counts.histogram.values())


def each_answered(sql: str, connection: duckdb.DuckDBPyConnection, count: int) -> list[list[Row]]:
    """What DuckDB answers on each of the databases that stand side by side: it is asked once for all."""
    tables = ", ".join(
        f"{table} as (select * exclude (trial) from main.{table} as t where t.trial = trials.trial)"
        for table in FIELDS
    )
    query = f"with {tables}, {sql[5:]}" if sql.startswith("with ") else f"with {tables} {sql}"
    found: list[list[Row]] = [[] for _ in range(count)]
    whole = f"select trial, answer.* from range({count}) as trials(trial), lateral ({query}) as answer"
    for trial, *row in connection.execute(whole).fetchall():
        found[trial].append(tuple(row))
    return [answered(rows) for rows in found]
