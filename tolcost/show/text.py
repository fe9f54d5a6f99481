"""Write documents as text for a terminal: labels, values and remarks aligned, tables in columns.

A closed form stays on one line, so that it can be copied, unless the document sets ``wrapped``.  Numbers are
grouped and aligned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from msgspec import Struct

from tolcost.diagnostics import visible
from tolcost.show.document import (
    UNKNOWN,
    Bar,
    Cell,
    Code,
    Document,
    Facts,
    FigureList,
    FigureRow,
    Form,
    Heading,
    Lines,
    Link,
    Remark,
    ReportTable,
    Section,
    cut,
    plain,
    text_of,
)

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_WIDEST = 60
"""The widest label that remarks are aligned after, so that one long condition does not move all of them."""
_WIDE, _MOST_LINES = 96, 8
"""The characters per line of a wrapped form, and the most lines that it may have."""
_CELL, _BAR = 72, 40
_LEAST_ROOM = 4


def text(document: Document, colour: bool = False, width: int | None = None) -> str:
    """Write blocks with an empty line between them, but none after a heading.

    Tables are made to fit ``width`` if it is given.
    """
    parts: list[str] = []
    for n, block in enumerate(document):
        lines = "\n".join(_block(block, colour, width))
        if isinstance(block, Heading):
            parts += ["\n"] * (n > 0) + [f"{lines}\n"]
        elif lines:
            between = n > 0 and not isinstance(document[n - 1], Heading)
            parts += ["\n"] * between + [f"{lines}\n"]
    return "".join(parts)


def _block(block: Section, colour: bool, width: int | None) -> Iterable[str]:
    match block:
        case Heading(text=title, remark=remark):
            name, file = visible(title), visible(remark)
            shown = f"{_BOLD}{name}{_PLAIN}  {_DIM}{file}{_PLAIN}" if colour else f"{name}  {file}"
            return [shown.rstrip()]
        case Facts(rows=rows):
            return _aligned(
                [_Row(f.level, visible(f.label), visible(plain(f.value)), f.remark) for f in rows], colour
            )
        case FigureList():
            return _figures(block, colour)
        case Lines(rows=rows):
            return map(visible, rows)
        case ReportTable():
            return _table(block, width)


# ---- labels and values ---------------------------------------------------------------------


class _Row(Struct, frozen=True, eq=False):
    """One line: its indentation, its label, its value, and a remark after it."""

    indent: int
    label: str
    value: str = ""
    remark: str = ""
    number: bool = False
    strong: bool = False


def _aligned(rows: Sequence[_Row], colour: bool) -> Iterator[str]:
    values = [row for row in rows if row.value]
    figures = max((_width(row) for row in values), default=0)
    remarked = [row for row in rows if row.remark and not row.value]
    remarks = max((w for row in remarked if (w := _width(row)) <= _WIDEST), default=0)
    digits = max(len(row.value) for row in values) if values and all(row.number for row in values) else 0
    for row in rows:
        yield _line(row, figures if row.value else remarks, digits, colour)


def _width(row: _Row) -> int:
    return 2 * row.indent + len(row.label)


def _line(row: _Row, width: int, digits: int, colour: bool) -> str:
    label = ("  " * row.indent + row.label).ljust(width)
    value = row.value.rjust(digits) if row.number else row.value.replace("\n", "\n" + " " * (width + 6))
    if colour:
        value = f"{_BOLD}{value}{_PLAIN}" if row.strong else value
        remark = f"  {_DIM}{row.remark}{_PLAIN}" if row.remark else ""
    else:
        remark = f"  {row.remark}" if row.remark else ""
    gap = "  " if value else ""
    return f"  {label}{gap}{value}{remark}".rstrip()


# ---- figures -------------------------------------------------------------------------------


def _figures(found: FigureList, colour: bool) -> Iterator[str]:
    """Write the closed forms, then the values of the figures at the point."""
    if found.forms:
        yield from _aligned([_figure(row, row.form, found) for row in found.rows], colour)
    if found.forms and found.at is not None:
        yield ""
    if found.at is not None:
        rows = [_figure(row, row.value, found) for row in found.rows if not row.general]
        yield from _aligned([_Row(0, visible(found.at)), *rows], colour)


def _figure(row: FigureRow, form: Form | None, found: FigureList) -> _Row:
    if not row.headed:
        return _Row(row.level, row.label)
    if form is None:
        return _Row(row.level, row.label, UNKNOWN if row.form is None else "not defined here")
    shown, remark = text_of(form, grouped=True), row.unit
    if isinstance(form, Fraction) and "/" in shown:
        about = f"{round(form):,}" if abs(form) >= 1000 else f"{float(form):.4g}"
        remark = f"{row.unit}{', ' if row.unit else ''}about {about}"
    value = wrapped(shown) if found.wrapped else shown
    return _Row(row.level, row.label, value, remark, isinstance(form, int | Fraction), row.strong)


def wrapped(form: str) -> str:
    """Break a long closed form into lines between terms; a very long form is cut, with a remark.

    >>> wrapped("n + 1")
    'n + 1'
    """
    rows = [""]
    for term in _terms(form):
        for part in [term] if len(term) <= _WIDE else _terms(term, 1):
            if rows[-1] and len(rows[-1]) + len(part) > _WIDE:
                rows.append("")
            rows[-1] += part if rows[-1] else part.lstrip()
    if len(rows) > _MOST_LINES:
        rows = [*rows[:_MOST_LINES], "… and more: --format json has all of it"]
    return "\n".join(rows)


def _terms(form: str, deep: int = 0) -> Iterator[str]:
    """Split a form into terms with their signs, at parentheses of depth ``deep`` or less."""
    start = depth = 0
    for n, letter in enumerate(form):
        depth += (letter == "(") - (letter == ")")
        if depth <= deep and n > start and (form[n : n + 3] in (" + ", " - ") or form[n - 1 : n + 1] == ", "):
            yield form[start:n]
            start = n
    yield form[start:]


# ---- tables --------------------------------------------------------------------------------


def _table(table: ReportTable, width: int | None) -> Iterator[str]:
    shown = table.shown
    right = {k for k, (n, column) in enumerate(shown) if column.kind == "number"}
    rows = [[column.title for _, column in shown]]
    rows += [[_cell(row[n]) for n, _ in shown] for row in table.rows]
    last = [row[shown[-1][0]] if shown else None for row in table.rows]
    kept = ["", *(cell.kept if isinstance(cell, Remark) else "" for cell in last)]
    yield columns(rows, right) if width is None else fitting(rows, right, width, kept)
    forms = ((row[n], _cell(row[n])) for row in table.rows for n, _ in shown)
    if any(shown_.endswith(" …") for cell, shown_ in forms if not isinstance(cell, str | Code)):
        yield "… is more of a form than fits: --format json"


def _cell(cell: Cell) -> str:
    match cell:
        case None:
            return ""
        case str():
            return visible(cell)
        case Code(text=text) | Link(text=text):
            return visible(text)
        case Bar(value=value, most=most):
            return bar(value, most)
        case _:
            return cut(text_of(cell, grouped=True), _CELL)


def columns(rows: Sequence[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Align rows of cells in columns; those in ``right`` are aligned to the right."""
    ends = frozenset(right)
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if n in ends else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def fitting(rows: Sequence[Sequence[str]], right: Iterable[int], width: int, kept: Sequence[str] = ()) -> str:
    """Align rows of cells to fit ``width``: the last cells move left, are cut, or are left out.

    The part of a row's last cell in ``kept`` is never cut; the cell before it is cut instead.

    >>> rows = [["n", "form", ""], ["a", "x + y + z", "at most"], ["b", "x", "bytes, about"]]
    >>> print(fitting(rows, [], 17, ["", "at most", ""]))
    n  form
    a  x + …  at most
    b  x
    """
    whole = columns(rows, right)
    if len(rows[0]) < 3 or max(map(len, whole.splitlines())) <= width:
        return whole
    before = columns([row[:-1] for row in rows], right).splitlines()
    lines = [f"{line}  {row[-1]}".rstrip() for line, row in zip(before, rows, strict=True)]
    if any(kept):
        starts = columns([row[:-2] for row in rows], right).splitlines()
        told = zip(lines, before, starts, kept, strict=True)
        return "\n".join(
            line if len(line) <= width else _kept(begun, start, words, width)
            for line, begun, start, words in told
        )
    rooms = [width - len(line) - 2 for line, row in zip(before, rows, strict=True) if row[-1]]
    if min(rooms, default=0) < _LEAST_ROOM:
        return fitting([row[:-1] for row in rows], right, width)
    return "\n".join(cut(line, width) for line in lines)


def _kept(before: str, start: str, kept: str, width: int) -> str:
    """Reduce the last cell of a line to ``kept``, and cut or leave out the cell before it to make room."""
    room = width - len(kept) - 2 if kept else width
    return f"{cut(before, room) if room >= len(start) + _LEAST_ROOM else start}  {kept}".rstrip()


def bar(value: int | None, most: int | None) -> str:
    """Draw a bar on a logarithmic scale, on which each character stands for an equal factor."""
    if not value or not most:
        return ""
    return "▇" * max(1, round(_BAR * value.bit_length() / most.bit_length()))
