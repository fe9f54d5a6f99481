r"""Write documents as Markdown, and tables as CSV.

Names of files and programs are untrusted.  They are escaped, so that they can neither end a cell nor become
markup or a formula.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from tolcost.diagnostics import visible
from tolcost.show.document import (
    UNKNOWN,
    Bar,
    Cell,
    Code,
    Column,
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
from tolcost.show.narrow import MOST_LINES, UNBROKEN, Line, fitting, wrapped

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
    if table.entries:
        yield from _entries(table)
    elif table.by:
        place = [column.key for column in table.columns].index(table.by)
        for part, rows in groupby(table.rows, lambda row: plain(row[place])):
            yield from (f"### {markdown_text(part)}", "", *_rows(table, rows), "")
    else:
        yield from _rows(table, table.rows)
    if table.notes:
        yield ""
        for n, note in enumerate(table.notes, 1):
            yield f"{n}. {' '.join(_markdown_cell(cell) for cell in note)}"


def _entries(table: ReportTable) -> Iterator[str]:
    """Write each row as an entry: its first cell as a heading, and the others with their titles."""
    columns = [(n, column) for n, column in table.shown if column.printed]
    for number, row in enumerate(table.rows, 1):
        (first, _), *rest = columns
        yield from (f"### {number}. {markdown_text(plain(row[first]))}", "")
        for n, column in rest:
            if isinstance(cell := row[n], Code) and "\n" in cell.text:
                yield from (f"- {markdown_text(column.title)}:", "", "  ```")
                yield from (f"  {visible(line)}" for line in cell.text.split("\n"))
                yield from ("  ```", "")
            elif plain(row[n]):
                yield f"- {markdown_text(column.title)}: {_markdown_cell(row[n])}"
        yield ""


class _Stack(Struct, frozen=True):
    """A column of Markdown: its title, the columns below each other in it, each with its place and label."""

    title: str
    parts: tuple[tuple[int, Column, str], ...]


def _stacks(table: ReportTable) -> list[_Stack]:
    """Return the columns that Markdown has: columns of one group are one."""
    found: dict[str, list[tuple[int, Column, str]]] = {}
    for n, column in table.shown:
        if column.printed and not (table.by and column.key == table.by):
            found.setdefault(column.group or f"{n}", []).append((n, column, _label(column)))
    return [_Stack(parts[0][1].group or parts[0][1].title, tuple(parts)) for parts in found.values()]


def _label(column: Column) -> str:
    """Return the title of a column less that of its group: "EOPs, printed" is "printed" under "EOPs"."""
    if column.title.lower() in column.group.lower():
        return ""
    return (
        column.title.removeprefix(column.group).removesuffix(column.group).strip(",: ")
        if column.group
        else ""
    )


def _rows(table: ReportTable, rows: Iterable[tuple[Cell, ...]]) -> Iterator[str]:
    stacks, held = _stacks(table), list(rows)

    def cells(
        stack: _Stack, whole: Sequence[Sequence[Line]], length: int, most: int | None = None
    ) -> list[list[Line]]:
        return [
            [Line(part) for part in wrapped(stack.title, length)],
            *(_cut([part for line in lines for part in _parts(line, length)], most) for lines in whole),
        ]

    columns = [
        partial(
            cells,
            stack,
            [[_whole(row[n], column, label) for n, column, label in stack.parts] for row in held],
        )
        for stack in stacks
    ]
    most = MOST_LINES if table.name else None  # what has a name has a CSV with all of it
    broken = (column(length, most) for column, length in zip(columns, fitting(columns), strict=True))
    title, *lines = zip(*broken, strict=True)
    yield _cells(title)
    yield _line("---:" if _is_number(stack) else "---" for stack in stacks)
    yield from map(_cells, lines)


def _cells(cells: Iterable[Sequence[Line]]) -> str:
    return _line("<br>".join(map(_told, lines)) for lines in cells)


def _is_number(stack: _Stack) -> bool:
    return len(stack.parts) == 1 and stack.parts[0][1].kind == "number"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _whole(cell: Cell, column: Column | None = None, label: str = "") -> Line:
    """Return a cell as one line, with a label where several columns share the cells of Markdown."""
    name, most = f"{label}: " if label else "", column.width if column else None
    match cell:
        case Link(text=text, to=to):
            return Line(name + text, link=to)
        case Code(text=text):
            return Line(name.rstrip(), text, most=most) if text else Line()
        case None | Bar() | str() | int() | Fraction():
            text = cell_text(cell, str, str, text_of)
            return Line(name + text if text else "")
        case _:
            return Line(name.rstrip(), cut(text_of(cell)), most=most)


def _parts(line: Line, length: int = UNBROKEN) -> list[Line]:
    """Break a line at a length."""
    if not line.code:
        parts = wrapped(line.text, length)
        return [Line(part, link=line.link) for part in parts] if line.text else []
    limit = min(length, line.most or length)
    room = max(limit - len(line.text), MOST_LINES) if limit != UNBROKEN else None
    parts = [part for one in line.code.split("\n") for part in broken(one, room)]
    return [Line(line.text if n == 0 else "", part) for n, part in enumerate(parts)]


_MARK = " …"


def _cut(lines: list[Line], most: int | None) -> list[Line]:
    """Cut a cell after some lines, with a mark."""
    if most is None or len(lines) <= most:
        return lines
    last = lines[most - 1]
    room = slice(None) if len(last.code or last.text) <= len(_MARK) else slice(-len(_MARK))
    code, text = (f"{told[room]}{_MARK}" if told else "" for told in (last.code, last.text))
    marked = replace(last, code=code, text=last.text if code else text)
    return [*lines[: most - 1], marked]


def _told(line: Line) -> str:
    words = markdown_text(line.text)
    if line.link:
        return f"[{words}]({line.link})"
    return f"{words} {markdown_code(line.code)}".lstrip() if line.code else words


def _markdown_cell(cell: Cell) -> str:
    return "<br>".join(map(_told, _parts(_whole(cell))))


def broken(line: str, width: int | None) -> list[str]:
    """Break a line of code after a space or a comma or before an operator; its further lines are indented.

    A name that is longer than a line is broken between its parts.

    >>> broken("elem(i) = reduce(vec(i), add, 0) / k", 20)
    ['elem(i) =', '  reduce(vec(i),', '  add, 0) / k']
    """
    if width is None or len(line) <= width:
        return [line]
    found = [""]
    for part in (piece for long in _BEFORE.split(line) for piece in _pieces(long, width)):
        if found[-1].strip() and len(found[-1]) + len(part.rstrip()) > width:
            found.append("  ")
        found[-1] += part
    return [part.rstrip() for part in found]


_BEFORE = re.compile(r"(?<=[ ,])(?=[^ ,)])|(?<=[^*/ ])(?=[+*/])")


def _pieces(part: str, width: int) -> list[str]:
    return [part] if len(part) + 2 <= width else re.split(r"(?<=[_./(\[])(?=[\w|(])", part)


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
