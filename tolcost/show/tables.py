r"""Write documents as Markdown, and tables as CSV.

Names of files and programs are untrusted.  They are escaped, so that they can neither end a cell nor become
markup or a formula.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from tolcost.diagnostics import visible
from tolcost.show.document import (
    UNKNOWN,
    Cell,
    Code,
    Document,
    Fact,
    Facts,
    FigureList,
    Heading,
    Lines,
    Link,
    ReportTable,
    Section,
    cell_text,
    cut,
    plain,
    text_of,
)

# ---- Markdown ----------------------------------------------------------------------------


def markdown(document: Document) -> str:
    """Write the blocks of a document, one after another."""
    return "\n".join(text for block in document if (text := "\n".join(_block(block)) + "\n") != "\n")


def _block(block: Section) -> Iterable[str]:
    match block:
        case Heading(text=text):
            return [f"## {markdown_text(text)}"]
        case Facts(rows=rows):
            return _facts(rows)
        case FigureList():
            return _figures(block)
        case Lines(rows=rows):
            mark = "- " if len(rows) > 1 else ""
            return [f"{mark}{markdown_text(row)}" for row in rows]
        case ReportTable():
            return _table(block)


def _facts(rows: Sequence[Fact]) -> Iterator[str]:
    for n, fact in enumerate(rows):
        label, said = markdown_text(fact.label), markdown_text(fact.remark)
        behind = f" ({said})" if said else ""
        if isinstance(fact.value, Code):
            yield f"- {label} {markdown_code(fact.value.text, in_table=False)}{behind}"
        elif fact.value:
            yield f"- {label}: {markdown_text(fact.value)}{behind}"
        elif fact.level:
            yield f"- {markdown_code(fact.label, in_table=False)}" + (f": {said}" if said else "")
        else:
            heads = n + 1 < len(rows) and rows[n + 1].level > 0
            yield from ([""] if n else [])
            yield from (f"{label[:1].upper()}{label[1:]}{':' if heads else ''}", "")


def _figures(found: FigureList) -> Iterator[str]:
    titles = ["figure", *map(markdown_text, found.titles)]
    yield from (_line(titles), _line(["---"] * len(titles)))
    for row in (row for row in found.rows if not row.general):
        name, _, space = row.label.partition(" ") if row.level else (row.label, "", "")
        label = f"{name} {markdown_code(space)}" if space else row.label
        unit = f" {markdown_text(row.unit)}" if row.unit and not row.level else ""
        nothing = UNKNOWN if row.headed else ""
        cells = [nothing if c is None else markdown_code(text_of(c)) + unit for c in found.cells(row)]
        yield _line([("&emsp;" if row.level else "") + label, *cells])


def _table(table: ReportTable) -> Iterator[str]:
    if table.title:
        yield from (f"## {markdown_text(table.title)}", "", table.about, "")
        yield from (f"Made by `{table.command}`.", "")
    if table.by:
        place = [column.key for column in table.columns].index(table.by)
        for part, rows in groupby(table.rows, lambda row: plain(row[place])):
            yield from (f"### {markdown_text(part)}", "", *_rows(table, rows), "")
    else:
        yield from _rows(table, table.rows)
    if table.notes:
        yield ""
        for n, note in enumerate(table.notes, 1):
            yield f"{n}. {' '.join(_markdown_cell(cell) for cell in note)}"


def _rows(table: ReportTable, rows: Iterable[tuple[Cell, ...]]) -> Iterator[str]:
    columns = [(n, column) for n, column in table.shown if column.printed and column.key != table.by]
    yield _line(column.title for _, column in columns)
    yield _line("---:" if column.kind == "number" else "---" for _, column in columns)
    yield from (_line(_markdown_cell(row[n], column.width) for n, column in columns) for row in rows)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown_cell(cell: Cell, width: int | None = None) -> str:
    def code(text: str) -> str:
        lines = text.split("\n") if text else []
        parts = [part for line in lines for part in broken(line, width)]
        return "<br>".join(map(markdown_code, parts))

    def link(found: Link) -> str:
        return f"[{markdown_text(found.text)}]({found.to})"

    return cell_text(cell, markdown_text, code, lambda form: code(cut(text_of(form))), link=link)


def broken(line: str, width: int | None) -> list[str]:
    """Break a line of code after a space or a comma or before an operator; its further lines are indented.

    >>> broken("elem(i) = reduce(vec(i), add, 0) / k", 20)
    ['elem(i) =', '  reduce(vec(i),', '  add, 0) / k']
    """
    if width is None or len(line) <= width:
        return [line]
    found = [""]
    for part in re.split(r"(?<=[ ,])(?=[^ ,)])|(?<=[^*/ ])(?=[+*/])", line):
        if found[-1].strip() and len(found[-1]) + len(part.rstrip()) > width:
            found.append("  ")
        found[-1] += part
    return [part.rstrip() for part in found]


def markdown_text(text: str) -> str:
    r"""Escape a text so that nothing in it is markup.

    >>> print(markdown_text("a_b|<c>"))
    a\_b\|\<c\>
    """
    return re.sub(r"([\\`*_{}\[\]()<>#+!|~&$-])", r"\\\1", visible(text))


def markdown_code(text: str, in_table: bool = True) -> str:
    r"""Write a text as code; ``|`` is escaped in tables only, since elsewhere the backslash would show.

    >>> print(markdown_code("a|b"), markdown_code("a|b", in_table=False), markdown_code("`x`"))
    `a\|b` `a|b` `` `x` ``
    """
    shown = visible(text).replace("|", r"\|") if in_table else visible(text)
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    pad = " " if "`" in shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


# ---- CSV ---------------------------------------------------------------------------------


def csv_text(table: ReportTable) -> str:
    """Write a table as CSV: one header line, every column, every cell in full."""
    import csv  # rarely needed

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_cell(column.key) for column in table.columns])
    for row in table.rows:
        writer.writerow([csv_cell(" ⏎ ".join(plain(cell).split("\n"))) for cell in row])
    return out.getvalue()


def csv_cell(text: str) -> str:
    """Write a cell that no spreadsheet takes for a formula.

    >>> csv_cell("=1+1"), csv_cell("-5"), csv_cell("n - 1")
    ("'=1+1", '-5', 'n - 1')
    """
    shown = visible(text)
    risky = shown[:1] in ("=", "+", "-", "@", "\t", "\r") and not re.fullmatch(r"-?[0-9]+", shown)
    return f"'{shown}" if risky else shown
