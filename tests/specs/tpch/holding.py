"""A TPC-H query in ToLang beside DuckDB: one answer, and counts that are those of the closed form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb

from tests.specs.library_programs import ready
from tests.specs.tpch.queries import QUERIES, answered, same
from tests.specs.tpch.tables import Columns
from tolcost.execute import run_vectorised
from tolcost.result.derivation import compare_counts


@dataclass(frozen=True, slots=True)
class Held:
    """What became of a query: how many rows it has, and its cost in closed form and as a number."""

    name: str
    rows: int
    form: str
    eops: int


def held(
    name: str, columns: Columns, connection: duckdb.DuckDBPyConnection, given: Mapping[str, Any], share: int
) -> Held:
    """Run a query on both sides; ``given`` are other values than the benchmark's, ``share`` is Query 11's."""
    query = QUERIES[name]
    values = {**query.given, **given}
    program = ready("relational", f"tpch/{name}", **values)
    dims = {"p": len(columns["p_partkey"]), "share": share} if name == "Q11" else {}
    execution = run_vectorised(program.lowered.program, columns, dims)
    text, agree = compare_counts(execution.counts, execution.bindings, program.analysis)
    assert agree, f"{name}\n{text}"
    ours = query.rows(execution.outputs)
    theirs = answered(connection.execute(query.sql.format(share=share, **values)).fetchall())
    assert same(ours, theirs), f"{name}: {ours[:3]} against {theirs[:3]}"
    eops = sum(execution.counts.histogram.values())
    return Held(name, len(ours), str(program.analysis.eops), eops)
