"""Write documents as text for a terminal: labels, values and remarks aligned, tables in columns.

Everything fits the width of a terminal.  Without a width, a closed form stays on one line, unless the
document sets ``wrapped``, and tables have their usual width.  Numbers are grouped and aligned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial

from msgspec import Struct, field

from tolcost.diagnostics import visible
from tolcost.show.document import (
    UNKNOWN,
    Bar,
    Caution,
    Cell,
    Code,
    Column,
    Document,
    Fact,
    Facts,
    FigureList,
    FigureRow,
    Form,
    Formula,
    Heading,
    Lines,
    Link,
    MoreNote,
    Remark,
    ReportTable,
    Section,
    ShortForm,
    Verdict,
    plain,
    text_of,
)
from tolcost.show.fit import (
    BLUE,
    BOLD,
    DIM,
    GREEN,
    MORE,
    PLAIN,
    RED,
    YELLOW,
    CellRole,
    FitCell,
    FitColumn,
    FittedTable,
    break_words,
    cut_form,
    fit,
    paint,
)
from tolcost.show.shorten import shortened

_WIDEST = 60
"""The widest label that remarks are aligned after, so that one long condition does not move all of them."""
_WIDE, _MOST_LINES = 96, 8
"""The characters per line of a wrapped form, and the most lines that it may have."""
_BEFORE = 26
"""The room that is left beside a wrapped form, for its label."""
_CELL, _BAR = 72, 40
"""The usual width of a closed form in a cell, and the width of a bar on a logarithmic scale."""
_NARROW = 24
"""The least room for a value beside its label; with less, it goes below."""
_NOTE = f"{MORE} is more than fits: --format json has all"


def text(document: Document, colour: bool = False, width: int | None = None) -> str:
    """Write blocks with an empty line between them, but none after a heading.

    Everything is made to fit ``width`` if it is given.
    """
    parts: list[str] = []
    screen = _Screen(colour, width)
    for n, block in enumerate(document):
        lines = "\n".join(screen.block(block))
        if isinstance(block, Heading):
            parts += ["\n"] * (n > 0) + [f"{lines}\n"]
        elif lines:
            between = n > 0 and not isinstance(document[n - 1], Heading)
            parts += ["\n"] * between + [f"{lines}\n"]
    notes = "\n".join(screen.lines(screen.notes()))
    return "".join((*parts, f"\n{notes}\n" if notes else ""))


class _Screen(Struct):
    """A terminal, or a file where ``width`` is None; it remembers what did not fit."""

    colour: bool = False
    width: int | None = None
    shortened: bool = False
    dropped: dict[str, None] = field(default_factory=dict)

    def block(self, block: Section) -> Iterable[str]:
        """Write one block."""
        match block:
            case Heading(text=title, remark=remark):
                return self._heading(visible(title), visible(remark))
            case Facts(rows=rows):
                return _aligned([_fact(fact) for fact in rows], self.colour, self.width)
            case FigureList():
                return _figures(block, self.colour, self.width)
            case MoreNote(always=rows):
                return self.lines((*rows, *self.notes(block.note)))
            case Lines(rows=rows):
                return self.lines(rows)
            case ReportTable():
                return self._table(block)

    def _heading(self, name: str, file: str) -> list[str]:
        first, *more = (
            [f"{name}  {file}".rstrip()] if self.width is None else break_words(f"{name}  {file}", self.width)
        )
        if self.colour and first.startswith(name):
            first = f"{paint(name, BOLD)}{paint(first[len(name) :], DIM)}"
        return [first, *(f"  {line}" for line in more)]

    def lines(self, rows: Iterable[str]) -> Iterator[str]:
        """Write sentences, each from the beginning of a line."""
        for row in rows:
            shown, style = visible(row), style_of(row) if self.colour else ""
            lines = [shown] if self.width is None else hanging(shown, self.width)
            yield from (paint(line, style) for line in lines) if style else lines

    def _table(self, table: ReportTable) -> tuple[str, ...]:
        found = fitted_table(table, self.colour, self.width)
        self.shortened |= found.shortened
        self.dropped |= dict.fromkeys(found.dropped)
        return found.lines

    def notes(self, note: str = _NOTE) -> list[str]:
        """Say what did not fit since this was asked last."""
        found = [note] if self.shortened else []
        if self.dropped:
            found.append(f"left out to fit: {', '.join(self.dropped)}")
        self.shortened, self.dropped = False, {}
        return found


def hanging(line: str, width: int) -> list[str]:
    """Break a line; what follows stands two columns further in than its beginning."""
    if len(line) <= width:
        return [line]
    space = len(line) - len(line.lstrip())
    first, *rest = break_words(line[space:], width - space - 2)
    return [" " * space + first, *(" " * (space + 2) + more for more in rest)]


# ---- labels and values ---------------------------------------------------------------------


class _Row(Struct, frozen=True, eq=False):
    """One line: its indentation, its label, its value, and a remark after it."""

    indent: int
    label: str
    value: str = ""
    remark: str = ""
    number: bool = False
    style: str = ""


def _fact(fact: Fact) -> _Row:
    style = style_of(fact.value) or style_of(fact.label)
    return _Row(fact.level, visible(fact.label), visible(plain(fact.value)), fact.remark, style=style)


def _aligned(rows: Sequence[_Row], colour: bool, width: int | None) -> Iterator[str]:
    values = [row for row in rows if row.value]
    figures = max((_width(row) for row in values), default=0)
    remarked = [row for row in rows if row.remark and not row.value]
    remarks = max((w for row in remarked if (w := _width(row)) <= _WIDEST), default=0)
    digits = max(len(row.value) for row in values) if values and all(row.number for row in values) else 0
    for row in rows:
        yield from _line(row, figures if row.value else remarks, digits, colour, width)


def _width(row: _Row) -> int:
    return 2 * row.indent + len(row.label)


def _line(row: _Row, before: int, digits: int, colour: bool, width: int | None) -> Iterator[str]:
    """Write a row in one line, or its value and remark in several, beside or below the label."""
    label = ("  " * row.indent + row.label).ljust(before)
    value = row.value.rjust(digits) if row.number else row.value
    gap = "  " if value else ""
    start = len(f"  {label}{gap}")
    style, remark = (row.style, f"{DIM}{row.remark}{PLAIN}") if colour else ("", row.remark)
    below = "\n" + " " * (start + 2)
    whole = f"  {label}{gap}{value}  {row.remark}".rstrip().replace("\n", below)
    if width is None or max(map(len, whole.split("\n"))) <= width:
        painted = [paint(line, style) for line in value.split("\n")] if style else value.split("\n")
        shown = below.join(painted)
        yield f"  {label}{gap}{shown}{f'  {remark}' if row.remark else ''}".rstrip()
        return
    if not value:
        yield from hanging(whole, width)
        return
    indent = start if width - start >= _NARROW else 2 * row.indent + 6
    if indent < start:
        yield f"  {label}".rstrip()
    lines = [paint(part, style) for part in break_words(value, width - indent)]
    last = break_words(value, width - indent)[-1]
    if row.remark and len(last) + 2 + len(row.remark) <= width - indent:
        lines[-1] += f"  {remark}"
    elif row.remark:
        lines += [paint(part, DIM * colour) for part in break_words(row.remark, width - indent)]
    for n, shown in enumerate(lines):
        yield (f"  {label}{gap}{shown}" if n == 0 and indent == start else " " * indent + shown).rstrip()


# ---- figures -------------------------------------------------------------------------------


def _figures(found: FigureList, colour: bool, width: int | None) -> Iterator[str]:
    """Write the closed forms, then the values of the figures at the point."""
    if found.forms:
        yield from _aligned([_figure(row, row.form, found, width) for row in found.rows], colour, width)
    if found.forms and found.at is not None:
        yield ""
    if found.at is not None:
        rows = [_figure(row, row.value, found, width) for row in found.rows if not row.general]
        yield from _aligned([_Row(0, visible(found.at)), *rows], colour, width)


def _figure(row: FigureRow, form: Form | None, found: FigureList, width: int | None) -> _Row:
    if not row.headed:
        return _Row(row.level, row.label)
    if form is None:
        return _Row(row.level, row.label, UNKNOWN if row.form is None else "not defined here")
    shown, remark = text_of(form, grouped=True), row.unit
    if isinstance(form, Fraction) and "/" in shown:
        about = f"{round(form):,}" if abs(form) >= 1000 else f"{float(form):.4g}"
        remark = f"{row.unit}{', ' if row.unit else ''}about {about}"
    room = _WIDE if width is None else min(_WIDE, max(width - _BEFORE, _NARROW))
    value = wrapped(shown, room) if found.wrapped else shown
    return _Row(row.level, row.label, value, remark, isinstance(form, int | Fraction), BOLD * row.strong)


def wrapped(form: str, wide: int = _WIDE) -> str:
    """Break a long closed form into lines between terms; a very long form is cut, with a remark.

    >>> wrapped("n + 1")
    'n + 1'
    """
    rows = [""]
    for term in _terms(form):
        for part in [term] if len(term) <= wide else _terms(term, 1):
            if rows[-1] and len(rows[-1]) + len(part) > wide:
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


def fitted_table(table: ReportTable, colour: bool = False, width: int | None = None) -> FittedTable:
    """Write a table in at most ``width`` columns, or at its usual width."""
    shown = table.shown
    titles = [FitColumn(column.title, column.kind == "number", column.drop) for _, column in shown]
    rows = [[_piece(row[n], column, k == 0) for k, (n, column) in enumerate(shown)] for row in table.rows]
    return fit(titles, rows, width, colour)


def plain_table(titles: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """Align cells that are texts; the columns in ``right`` are aligned to the right."""
    ends = frozenset(right)
    columns = [FitColumn(title, n in ends) for n, title in enumerate(titles)]
    return "\n".join(fit(columns, [[FitCell(cell) for cell in row] for row in rows], None).lines)


def _piece(cell: Cell, column: Column, first: bool) -> FitCell:
    """Return a cell with the way in which it is made to fit."""
    is_name = column.is_name or (first and isinstance(cell, Code))
    match cell:
        case None:
            return FitCell()
        case Remark(kept=kept):
            return FitCell(visible(cell), kept=visible(kept), style=YELLOW if kept else DIM)
        case ShortForm(text=usual, form=form):
            return _form_piece(form, visible(usual), BOLD * first)
        case str() | Code() | Link():
            said = visible(plain(cell))
            role: CellRole = "number" if column.kind == "number" else "name" if is_name else "words"
            style = BOLD if first and not said.startswith(" ") else style_of(cell)
            share = cell.share if isinstance(cell, Verdict) else None
            return FitCell(said, role, share=share, style=style)
        case Bar(value=value, most=most):
            return FitCell(bar(value, most), "bar", short=partial(bar, value, most), style=BLUE)
        case int() | Fraction():
            return FitCell(text_of(cell, grouped=True), "number")
        case _:
            return _form_piece(cell, None, "")


def _form_piece(form: Formula | str, usual: str | None, style: str) -> FitCell:
    """Return a closed form, which is cut at a term if it has to be."""
    whole = visible(form) if isinstance(form, str) else text_of(form, grouped=True)

    def short(width: int) -> str:
        found = MORE if isinstance(form, str) else shortened(form, width)
        return cut_form(whole, width) if found == MORE else found

    return FitCell(short(_CELL) if usual is None else usual, "form", whole, short, style=style)


def style_of(cell: Cell) -> str:
    """Return the colour of a word: green and red for news, yellow for what is no exact figure."""
    match cell:
        case Caution():
            return YELLOW
        case Verdict(good=good) if good is not None:
            return GREEN if good else RED
        case _:
            return ""


def bar(value: int | None, most: int | None, width: int = _BAR) -> str:
    """Draw a bar on a logarithmic scale, on which each character stands for an equal factor."""
    if not value or not most:
        return ""
    return "▇" * max(1, round(width * value.bit_length() / most.bit_length()))
