"""Second opinions as a document: what sympy derives beside what we do, and how far the two agree."""

from __future__ import annotations

from collections.abc import Sequence

from tolcost.cost.second_opinion import Opinion
from tolcost.diagnostics import visible
from tolcost.show import write
from tolcost.show.document import Cell, Code, Column, Document, Heading, Lines, ReportTable
from tolcost.show.forms import text_of
from tolcost.show.json import Json
from tolcost.show.json import document as json_document
from tolcost.show.tables import csv_text

Opinions = tuple[str, tuple[Opinion, ...]]
"""A file, and what the two derivations say about every function it applies."""

_COLUMNS = (
    Column("file", "program", shown=False),
    Column("function", "function"),
    Column("space", "space"),
    Column("sympy", "by sympy", "code"),
    Column("tolcost", "by tolcost", "form"),
    Column("verdict", "the same"),
    Column("reason", "why not more"),
)


def write_opinions(found: Sequence[Opinions], form: str, colour: bool = False) -> str:
    """Write what sympy derives for some programs."""
    if form == "json":
        return json_document("opinions", {"engine": "sympy", "programs": [_json(one) for one in found]})
    if form == "csv":
        return csv_text(_table([row for one in found for row in _rows(one)]))
    return write(tuple(block for one in found for block in _document(one)), form, colour)


def _document(one: Opinions) -> Document:
    file, opinions = one
    agreed = sum(opinion.verdict == "for all lengths" for opinion in opinions)
    said = f"{agreed} of {len(opinions)} counts are the same for all lengths"
    return (Heading(visible(file), "by sympy"), _table(_rows(one)), Lines((said,)))


def _table(rows: list[tuple[Cell, ...]]) -> ReportTable:
    return ReportTable(_COLUMNS, rows, name="opinions")


def _rows(one: Opinions) -> list[tuple[Cell, ...]]:
    file, opinions = one
    return [
        (file, *opinion.function, Code(_theirs(opinion)), opinion.ours, opinion.verdict, opinion.reason)
        for opinion in opinions
    ]


def _theirs(opinion: Opinion) -> str:
    return "" if opinion.theirs is None else str(opinion.theirs)


def _json(one: Opinions) -> Json:
    file, opinions = one
    return {
        "file": file,
        "functions": [
            {
                "function": opinion.function[0],
                "space": opinion.function[1],
                "sympy": _theirs(opinion) or None,
                "tolcost": text_of(opinion.ours),
                "verdict": opinion.verdict,
                "reason": opinion.reason or None,
            }
            for opinion in opinions
        ],
    }
