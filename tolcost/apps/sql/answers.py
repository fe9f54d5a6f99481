"""Run the program of a query on the rows of its files, and read the rows of the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import TypeAlias

from tolcost.apps.sql.program import SqlOutput, Translated
from tolcost.apps.sql.values import SqlType
from tolcost.elaborate import Elaborated
from tolcost.execute import run_vectorised
from tolcost.execute.inputs import nested_array
from tolcost.execute.values import Execution
from tolcost.platform import with_deep_stack

SqlCell: TypeAlias = bool | int | float | str | date | None
_MOST_ROWS = 200
"""So many rows of a result are shown."""


def execute_query(found: Translated, program: Elaborated) -> Execution:
    """Run the program of a query on the rows of its files."""
    arrays = {name: nested_array(column.values or (), name) for name, column in found.inputs.items()}
    return with_deep_stack(lambda: run_vectorised(program.program, arrays))


def result_rows(found: Translated, execution: Execution) -> list[tuple[SqlCell, ...]]:
    """Return the rows of a result: texts and dates as such, and None for NULL."""
    return list(zip(*(_column(output, execution) for output in found.outputs), strict=True))


def _column(output: SqlOutput, execution: Execution) -> list[SqlCell]:
    values = _entries(execution, output.output)
    if output.known is None:
        return [_cell(value, output.type) for value in values]
    known = _entries(execution, output.known)
    pairs = zip(values, known, strict=True)
    return [_cell(value, output.type) if is_known else None for value, is_known in pairs]


def _entries(execution: Execution, name: str) -> list[bool | int | float]:
    value = execution.outputs[name]
    assert not isinstance(value, tuple)  # a column has one component
    found: list[bool | int | float] = value.reshape(-1).tolist()
    return found


def _cell(value: float, type_: SqlType) -> SqlCell:
    match type_.kind:
        case "text":
            return type_.texts[int(value) - 1]
        case "date":
            return date(1970, 1, 1) + timedelta(days=int(value))
        case "exact" if type_.scale == 0:
            return int(value)
        case _:
            return value


def rows_text(names: Sequence[str], rows: Sequence[tuple[SqlCell, ...]]) -> str:
    """Return rows as a text, with the names of the columns above."""
    table = [tuple(names), *(tuple(map(_shown, row)) for row in rows[:_MOST_ROWS])]
    widths = [max(len(row[n]) for row in table) for n in range(len(names))]
    lines = list(_lines(table, widths))
    if len(rows) > _MOST_ROWS:
        lines.append(f"and {len(rows) - _MOST_ROWS:,} more rows")
    return "\n".join(lines) + "\n"


def _lines(table: Sequence[tuple[str, ...]], widths: Sequence[int]) -> Iterator[str]:
    for row in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _shown(cell: SqlCell) -> str:
    match cell:
        case None:
            return "NULL"
        case bool():
            return "true" if cell else "false"
        case float():
            return f"{cell:.10g}"
        case _:
            return str(cell)
