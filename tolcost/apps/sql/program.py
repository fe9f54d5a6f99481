"""Write the program of a query: filter, join, group and sort row numbers, and read values last."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tolcost.apps.sql.frames import ProgramWriter
from tolcost.apps.sql.query import SqlQuery
from tolcost.apps.sql.subqueries import InnerQueries
from tolcost.apps.sql.tables import SqlColumn
from tolcost.apps.sql.values import SqlType
from tolcost.diagnostics import Source
from tolcost.syntax import parse
from tolcost.syntax.format import format_program


class SqlOutput(Struct, frozen=True):
    """A column of the result: its output, and the one that says where it is known, if it may be NULL."""

    name: str
    output: str
    type: SqlType
    known: str | None = None


class Translated(Struct, frozen=True, eq=False):
    """The program of a query, the column of each of its inputs, and the outputs of each column."""

    source: Source
    inputs: Mapping[str, SqlColumn]
    outputs: tuple[SqlOutput, ...]


def translated(query: SqlQuery) -> Translated:
    """Write the program of a query."""
    writer = ProgramWriter(query.source)
    queries = InnerQueries()
    result = queries.result(query.tree, queries.context(writer, query.tables))
    frame = result.frame
    outputs = []
    for column, read in zip(frame.columns, result.inline, strict=True):
        name = writer.name(column.name)

        def row(text: str) -> str:
            if frame.alone:
                return text
            return (
                f"map({result.picks}, (q) => {text})"
                if result.picks
                else f"map(tol[{frame.count}], {text}, [q])"
            )

        value = read("1" if frame.alone else "q")
        writer.outputs.append((name, row(value.real)))
        known = None
        if value.known is not None:
            known = writer.name(f"{column.name}_known")
            writer.outputs.append((known, row(value.known)))
        outputs.append(SqlOutput(column.name, name, value.type, known))
    text = format_program(parse(Source("<sql>", writer.text())))
    return Translated(Source("<sql>", text), dict(writer.columns), tuple(outputs))
