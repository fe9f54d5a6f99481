"""The paper's two tables as a reader of the paper expects them: operator, definition, FLOPs, EOPs.

The definition is one that holds up: the printed program where it is right on every node test, else its
correction; both counts are derived from it.  Evidence and verdicts stand in the table beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tolcost.audit.judge import Judged
from tolcost.cost import Analysis
from tolcost.diagnostics import Source
from tolcost.show.document import Cell, Code, Column, ReportTable

COLUMNS = (
    Column("operator", "Operator", "code"),
    Column("representation", "Representation", "code"),
    Column("flops", "FLOPs", "form"),
    Column("eops", "EOPs", "form"),
)
_NUMBER_OF_PART = {1: 3, 2: 4}
"""Part 1 of the paper's table of operators is its Table 3, part 2 its Table 4."""


def four_column_tables(judged: Sequence[Judged]) -> tuple[ReportTable, ...]:
    """Tables 3 and 4, each with the rows that the paper has there, in its order."""
    return tuple(_table(part, [one for one in judged if one.row.part == part]) for part in _NUMBER_OF_PART)


def _table(part: int, judged: Sequence[Judged]) -> ReportTable:
    number = _NUMBER_OF_PART[part]
    about = (
        f"The rows of the paper's Table {number}, with programs that compute their operators: as printed "
        "where that is right on all of ONNX's node tests that the signature admits, corrected elsewhere. "
        "FLOPs weigh arithmetic and elementary functions with 1, comparisons and choices with 0; EOPs count "
        "every function. What is wrong with a print, and what was run, is in the table of verdicts."
    )
    title = f"Table {number}: ONNX operators in ToLang, part {part} of 2"
    rows = tuple(map(_row, judged))
    return ReportTable(COLUMNS, rows, f"table{number}", title, about, "tolcost report")


def _row(found: Judged) -> tuple[Cell, ...]:
    source, analysis = _holding(found)
    return Code(found.row.signature), Code(body_of(source)), analysis.flops, analysis.eops


def _holding(found: Judged) -> tuple[Source, Analysis]:
    """The program of a row that is right, and what it costs."""
    program = found.program
    if found.holds_up and program.source is not None and program.analysis is not None:
        return program.source, program.analysis
    return found.row.right, found.right


def body_of(source: Source) -> str:
    r"""A program as the paper shows one: without comments, declarations and libraries.

    >>> body_of(Source("a", "# why: x\ntol t: R [n]\nattr p: Z\nresult := map(t, exp)\n"))
    'result := map(t, exp)'
    """
    left_out = r"#|tol \w+(\.\.\.)?: |attr |static |use "
    return "\n".join(line for line in source.text.splitlines() if line and not re.match(left_out, line))
