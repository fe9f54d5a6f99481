"""The paper's two tables as a reader of the paper expects them: operator, definition, FLOPs, EOPs.

First the rows that the paper has there.  Their definition is one that holds up: the printed program where it
is right on every node test, else its correction; both counts are derived from it.  Then the operators of the
catalogue between the same letters, with general forms.  Evidence and verdicts stand in tables beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tolcost.audit.catalogue import status_of
from tolcost.audit.general_table import catalogue_row
from tolcost.audit.judge import Judged
from tolcost.audit.peers import Measured, by_operator
from tolcost.catalogue.general.record import GeneralForms
from tolcost.catalogue.listing import Entry
from tolcost.catalogue.specs import Library
from tolcost.cost import Analysis
from tolcost.diagnostics import Source
from tolcost.result.conformance import Conformance
from tolcost.show.document import Cell, Code, Column, ReportTable

COLUMNS = (
    Column("operator", "Operator", "code"),
    Column("representation", "Representation", "code"),
    Column("flops", "FLOPs", "form"),
    Column("eops", "EOPs", "form"),
)
_NUMBER_OF_PART = {1: 3, 2: 4}
"""Part 1 of the paper's table of operators is its Table 3, part 2 its Table 4."""


def four_column_tables(
    judged: Sequence[Judged],
    listed: Sequence[Entry],
    forms: GeneralForms,
    record: Conformance,
    points: Sequence[Measured],
    library: Library,
) -> tuple[ReportTable, ...]:
    """Tables 3 and 4, each with the rows that the paper has there, in its order, and then the catalogue's."""
    measured = by_operator(points)
    first = min(one.row.operator for one in judged if one.row.part == 2)
    rows: dict[int, list[tuple[Cell, ...]]] = {part: [] for part in _NUMBER_OF_PART}
    for entry in listed:
        spec = entry.spec
        if spec is not None and status_of(entry, record.of(entry.name)) == "verified":
            body, others = body_of(spec.source), measured.get(entry.name, ())
            row = catalogue_row(entry, spec, body, forms, record, others, library)
            rows[1 if entry.name < first else 2].append(row)
    return tuple(
        _table(part, [one for one in judged if one.row.part == part], more) for part, more in rows.items()
    )


def _table(part: int, judged: Sequence[Judged], catalogue: Sequence[tuple[Cell, ...]]) -> ReportTable:
    number = _NUMBER_OF_PART[part]
    about = (
        f"The rows of the paper's Table {number}, with programs that compute their operators: as printed "
        "where that is right on all of ONNX's node tests that the signature admits, corrected elsewhere. "
        "FLOPs weigh arithmetic and elementary functions with 1, comparisons and choices with 0; EOPs count "
        "every function. What is wrong with a print, and what was run, is in the table of verdicts. Then "
        "every verified operator of ONNX, under its full name and with its attributes: its forms hold for "
        "every rank, and speak of what the definition names (vol(X), prod(k), |X|[a]); what they were held "
        "to is in the table of general forms. Below FLOPs by weights stands what other tools count, as a "
        "multiple of EOPs (of MACs, for onnx-tool)."
    )
    title = f"Table {number}: ONNX operators in ToLang, part {part} of 2"
    rows = (*map(_row, judged), *catalogue)
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
    left_out = r"#|tol \w+\??(\.\.\.)?: |attr |static |use |operator "
    return "\n".join(line for line in source.text.splitlines() if line and not re.match(left_out, line))
