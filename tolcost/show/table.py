"""A table of a report, and its forms as Markdown and CSV.

Cells keep what they are: text, code, closed forms, numbers, so that each format can show them in
its own way.  The same table always gives the same bytes, and no cell can become markup, a formula
of a spreadsheet or a command.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from tolcost.algebra import Poly
from tolcost.cost import Quotient
from tolcost.result.forms import text_of
from tolcost.show.escape import csv_cell, markdown_code, markdown_text

CellKind: TypeAlias = Literal["text", "code", "form", "number"]
LONGEST = 160
"""A longer closed form is cut in what people read; the CSV has all of it."""


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of a program or a command line; lines are kept apart."""

    text: str


Cell: TypeAlias = str | Code | Poly | Quotient | int | Fraction | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its key in data, its title for people, and what it holds."""

    key: str
    title: str
    kind: CellKind = "text"
    shown: bool = True
    """Whether people see it; the CSV has every column."""
    printed: bool = True
    """Whether it is set in LaTeX, where a page is only so wide."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table under a title, with the command that makes its figures."""

    name: str
    title: str
    about: str
    command: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]


def shown_columns(table: Table) -> tuple[tuple[int, Column], ...]:
    """The columns that people see, with their places."""
    return tuple((n, column) for n, column in enumerate(table.columns) if column.shown)


def plain(cell: Cell) -> str:
    """Give a cell as bare text.

    >>> plain(Fraction(3, 2)), plain(None), plain(Code("map(t,exp)"))
    ('1.5', '', 'map(t,exp)')
    """
    match cell:
        case None:
            return ""
        case str():
            return cell
        case Code(text=text):
            return text
        case _:
            return text_of(cell)


def rounded(value: Fraction, digits: int = 4) -> str:
    """Give a number to a few significant digits, marked where that is not all of it.

    >>> rounded(Fraction(1, 3)), rounded(Fraction(5, 4)), rounded(Fraction(123456, 7))
    ('0.3333', '1.25', '17640')
    """
    if value.denominator == 1:
        return str(value.numerator)
    if abs(value) >= 10**digits:
        return str(round(value, digits - 1 - len(str(int(abs(value)))) + 1).numerator)
    return f"{float(value):.{digits}g}"


def cut(text: str) -> str:
    """Shorten what is too long to be read."""
    return text if len(text) <= LONGEST else text[: LONGEST - 2] + " …"


# ---- Markdown ----------------------------------------------------------------------------


def markdown(table: Table) -> str:
    """Give a section: title, what it is, the command, the table."""
    columns = shown_columns(table)
    lines = [f"## {markdown_text(table.title)}", "", table.about, "", f"Made by `{table.command}`.", ""]
    lines += [_line(column.title for _, column in columns), _line(_rule(column) for _, column in columns)]
    lines += [_line(_markdown_cell(row[n]) for n, _ in columns) for row in table.rows]
    return "\n".join(lines) + "\n"


def _rule(column: Column) -> str:
    return "---:" if column.kind == "number" else "---"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case str():
            return markdown_text(cell)
        case Code(text=text):
            return "<br>".join(markdown_code(line) for line in text.split("\n"))
        case Fraction():
            return rounded(cell)
        case int():
            return text_of(cell, grouped=True)
        case _:
            return markdown_code(cut(text_of(cell)))


# ---- CSV ---------------------------------------------------------------------------------


def csv_text(table: Table) -> str:
    """Give the table as CSV: one header line, every column, every cell in full."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.key for column in table.columns])
    for row in table.rows:
        writer.writerow([csv_cell(" ⏎ ".join(plain(cell).split("\n"))) for cell in row])
    return out.getvalue()
