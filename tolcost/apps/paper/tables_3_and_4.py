"""The paper's Tables 3 and 4 as its reader expects them: its rows and columns, and ours beside the print.

The program of a row is a correct one: the printed program if it is right on every node test, else its
correction.  Both counts are derived from it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Literal, TypeAlias

from tolcost.apps.paper.general_table import body_of
from tolcost.apps.paper.judge import Judged
from tolcost.cost import Analysis
from tolcost.diagnostics import Source
from tolcost.show.document import Cell, Code, Column, Link, ReportTable, Verdict, text_of
from tolcost.show.tables import broken

_ROW = "Operator and representation"
_PROGRAM = 46
_MOST_LINES = 7
"""A program with more lines than this is shown by a link."""

COLUMNS = (
    Column("operator", "Operator", "code", group=_ROW),
    Column("representation", "Representation", "code", width=_PROGRAM, group=_ROW),
    Column("flops", "FLOPs by weights", "form", group="FLOPs"),
    Column("eops", "EOPs, derived", "form", group="EOPs"),
    Column("flops_printed", "FLOPs, printed", "code", group="FLOPs"),
    Column("eops_printed", "EOPs, printed", "code", group="EOPs"),
    Column("verdict", "verdict", group="verdict"),
    Column("other_start", "other start", printed=False),
    Column("note", "note", "number", group="verdict"),
    Column("program", "the whole program", "code", shown=False),
    Column("file", "its file", shown=False),
)
_NUMBER_OF_PART = {1: 3, 2: 4}
"""Part 1 of the paper's table of operators is its Table 3, part 2 its Table 4."""

RowVerdict: TypeAlias = Literal["holds", "miscounted", "miswritten", "wrong"]
_GOOD: dict[RowVerdict, bool | None] = {
    "holds": True, "miscounted": None, "miswritten": None, "wrong": False,
}  # fmt: skip


def paper_tables(judged: Sequence[Judged], first: Sequence[Judged]) -> tuple[ReportTable, ...]:
    """Make Tables 3 and 4 with exactly the paper's rows, in its order.

    ``first`` are the same rows with every sum started at its first term.
    """
    pairs = list(zip(judged, first, strict=True))
    return tuple(
        _table(part, [pair for pair in pairs if pair[0].row.part == part]) for part in _NUMBER_OF_PART
    )


def _table(part: int, pairs: Sequence[tuple[Judged, Judged]]) -> ReportTable:
    number = _NUMBER_OF_PART[part]
    about = (
        f"The rows of the paper's Table {number}. The representation is the paper's program if it is "
        "right on all of ONNX's node tests that fit its signature, and a corrected one elsewhere (see"
        " the note). FLOPs and EOPs are derived from it. EOPs count every function applied to data. "
        "FLOPs count arithmetic and elementary functions as 1, and comparisons and choices as 0, so "
        "that the two differ by these weights alone. Counts by other tools are in "
        "[evidence.md](evidence.md). *Verdict*: a row *holds* if its program is right and costs what "
        "is printed. It is *miscounted* if only the printed EOPs are not the cost of the program, "
        "*miswritten* if only the program needs a correction, and *wrong* if both are so. A sum of n "
        "terms starts at the neutral element and costs n. If every sum started at its first term, it "
        "would cost n - 1; a note has the count and the verdict that this changes (see "
        "[starts.md](starts.md)). [paper.md](paper.md) has what was run, and "
        "[catalogue.md](catalogue.md) operators at every rank."
    )
    found = [note_of(*pair) for pair in pairs]
    numbers = accumulate(map(bool, found))
    rows = tuple(
        _row(*pair, number if note else None)
        for pair, note, number in zip(pairs, found, numbers, strict=True)
    )
    title = f"Table {number}: ONNX operators in ToLang, part {part} of 2"
    notes = tuple(filter(None, found))
    return ReportTable(COLUMNS, rows, f"table{number}", title, about, "tolcost report", notes=notes)


def _row(found: Judged, first: Judged, note: int | None) -> tuple[Cell, ...]:
    source, analysis = shown_program(found)
    row, body, verdict = found.row, body_of(source), row_verdict(found)
    lines = sum(len(broken(line, _PROGRAM)) for line in body.split("\n"))
    return (
        Code(row.signature),
        Code(body) if lines <= _MOST_LINES else Link(source.name.rpartition("/")[2], f"../{source.name}"),
        analysis.flops,
        analysis.eops,
        Code(row.flops),
        Code(row.eops),
        Verdict(verdict, _GOOD[verdict]),
        "" if row_verdict(first) == verdict else row_verdict(first),
        note,
        Code(body),
        source.name,
    )


def shown_program(found: Judged) -> tuple[Source, Analysis]:
    """Return the correct program of a row, and its cost."""
    program = found.program
    if found.holds_up and program.source is not None and program.analysis is not None:
        return program.source, program.analysis
    return found.row.right, found.right


def row_verdict(found: Judged) -> RowVerdict:
    """Judge a row in a word, from its program and its printed EOPs."""
    if found.value == "right on all":
        return "holds" if found.holds_up else "miscounted"
    return "miswritten" if found.corrected.equal else "wrong"


def note_of(found: Judged, first: Judged) -> tuple[Cell, ...]:
    """Return the note of a row: what is wrong with the print, and why a definition costs something else."""
    return tuple(_sentences(found, first))


def _sentences(found: Judged, first: Judged) -> Iterator[Cell]:
    row = found.row
    if not found.holds_up and row.why:
        yield Link("The print:", f"../{row.printed.name}") if row.printed else "The print:"
        yield row.why[:1].lower() + row.why[1:]
    if found.reading.repaired is not None:
        yield "The printed formula is ill-formed, and read as"
        yield Code(found.reading.repaired)
    if row.definition:
        yield row.definition
    other = shown_program(first)[1].eops
    if text_of(other) != text_of(shown_program(found)[1].eops):
        yield "Started at its first term, it costs"
        yield Code(text_of(other))
    if row_verdict(first) != row_verdict(found):
        yield f"and the row {_judged(row_verdict(first))}."


def _judged(verdict: RowVerdict) -> str:
    return verdict if verdict == "holds" else f"is {verdict}"
