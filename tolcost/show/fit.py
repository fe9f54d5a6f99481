"""Fit tables and sentences into the width of a terminal, without ever cutting a number.

A table that is too wide gives up, in this order and only as much as it has to: bars; titles on one line and
closed forms beyond their usual length; the alignment of remarks; columns that may be left out; words on one
line; the beginnings of names; and, last, the ends of closed forms, which then end in ``…``.  If this is not
enough, the columns that are left over follow below, beside the first one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

CellRole: TypeAlias = Literal["number", "name", "form", "words", "bar"]
"""How a cell is made to fit: not at all, from its beginning, at a term, at a space, or in scale."""

MORE = "…"
_GAP = 2
_LEAST: dict[CellRole, int] = {"name": 14, "form": 12, "words": 14, "bar": 6}
"""The narrowest cells, in characters, that still say something."""
_BAR = 10
"""The characters of a bar beside a share."""
_MOST_LINES, _INDENT = 2, 4
"""The most lines of words beside a row, and how far words below it are indented."""
_NEAR = 8
"""How many more characters of a name are left out to begin at one of its parts."""
_EIGHTHS = " ▏▎▍▌▋▊▉"
BOLD, DIM, RED, GREEN, YELLOW, BLUE = (f"\x1b[{code}m" for code in ("1", "2", "31", "32", "33", "34"))
PLAIN = "\x1b[0m"


# ---- cutting and breaking ----------------------------------------------------------------------


def cut_form(text: str, longest: int) -> str:
    """Shorten a closed form, at a term if possible, and never inside of a number or a name.

    >>> cut_form("3*m*n**2 + 12345*n + 7", 22), cut_form("3*m*n**2 + 12345*n + 7", 20)
    ('3*m*n**2 + 12345*n + 7', '3*m*n**2 + …')
    >>> cut_form("12345*(seq + 67890*batch)", 20), cut_form("1234567", 4)
    ('12345*(seq + 67890*…', '…')
    """
    if len(text) <= longest:
        return text
    depth = term = part = 0
    for at in range(1, longest):
        depth += (text[at - 1] == "(") - (text[at - 1] == ")")
        if text[at - 3 : at] in (" + ", " - "):
            part, term = at, at if depth == 0 else term
        elif text[at - 1] in "*/(" and "*" not in (text[at], text[at - 2 : at - 1]):
            part = at
    if not part and text[0].isalpha():  # a long name
        return text[: longest - 1].rstrip("0123456789.,") + MORE
    return text[: term if 2 * term >= part else part] + MORE


def tail(text: str, longest: int) -> str:
    """Shorten a name from its beginning, since names differ at their ends; its indentation stays.

    >>> tail("  /encoder/layer.12/MatMul", 16), tail("13 operators without cost", 18), tail("abc", 2)
    ('  ….12/MatMul', '… without cost', '…c')
    """
    if len(text) <= longest:
        return text
    bare = text.lstrip()
    space = len(text) - len(bare)
    start = len(bare) - max(longest - space - 1, 0)
    near = next((at for at in range(start, min(start + _NEAR, len(bare))) if bare[at] in "/._ "), start)
    while near < len(bare) and bare[near].isdigit() and bare[near - 1].isdigit():
        near += 1  # a number stays whole
    return f"{text[:space]}{MORE}{bare[near:]}"


def break_words(text: str, width: int) -> list[str]:
    """Break a text into lines at spaces; a word that is too long for a line is broken at its signs.

    >>> break_words("n*(n + 1)/2 for all n", 12), break_words("a_long_name/of/a_file", 12)
    (['n*(n + 1)/2', 'for all n'], ['a_long_name/', 'of/a_file'])
    """
    lines: list[str] = []
    for given in text.split("\n"):
        line = ""
        for word in _words(given, width):
            if line and len(line) + len(word.rstrip()) > width:
                lines.append(line.rstrip())
                line = ""
            line += word
        lines.append(line.rstrip())
    return lines


def _words(text: str, width: int) -> Iterator[str]:
    """Yield words with the spaces behind them; of words that are too long, the parts that end in a sign.

    A sign stays with its operand, and both sides of a comparison stay together, if they fit.
    """
    for word in re.findall(r"\s*(?:[+-] )?\S+(?: (?:=|[<>]=) \S+)?\s*", text):
        if len(word.strip()) <= width:
            yield word
        elif " " in word.strip():
            yield from (part for single in re.findall(r"\s*\S+\s*", word) for part in _words(single, width))
        else:
            yield from re.findall(r"[^*/();:=|&_-]*(?:\*\*|[*/();:=|&_-]|$)\s*", word)


def paint(text: str, style: str) -> str:
    """Put a text into a style of the terminal, without the spaces around it."""
    bare = text.strip()
    if not style or not bare:
        return text
    start = len(text) - len(text.lstrip())
    return f"{text[:start]}{style}{bare}{PLAIN}{text[start + len(bare) :]}"


# ---- cells and columns -------------------------------------------------------------------------


class FitCell(Struct, frozen=True, eq=False):
    """A cell: its text at its usual length, how it fits, and how it looks.

    ``whole`` is its text in full, and ``short`` writes it in less room, if that needs more than the text.
    ``kept`` is the part of a remark that stays if the rest has no room.  ``share`` is drawn as a bar.
    """

    text: str = ""
    role: CellRole = "words"
    whole: str = ""
    short: Callable[[int], str] | None = None
    kept: str | None = None
    share: float | None = None
    style: str = ""
    floor: int | None = None
    """The least width, if it is not that of the role."""
    prefix: str = ""
    """The indentation and mark before the text; lines that follow are indented a little more."""

    @property
    def natural(self) -> int:
        """The width of the cell in full."""
        return len(self.prefix) + max(map(len, (self.whole or self.text).split("\n")))

    @property
    def usual(self) -> int:
        """The width of the cell at its usual length."""
        return len(self.prefix) + max(map(len, self.text.split("\n")))

    @property
    def least(self) -> int:
        """The least width that the cell may have."""
        if self.floor is not None:
            return self.floor
        if self.role == "number":
            return self.usual
        if self.role == "words":
            words = (len(word.strip()) for word in _words(self.text, _LEAST["words"]))
            longest = max(words, default=0) + (len(self.prefix) + 2 if self.prefix else 0)
            return max(longest, min(self.usual, _LEAST["words"]))
        return min(self.usual, _LEAST[self.role])

    @property
    def may_spill(self) -> bool:
        """Whether the cell may go below its row."""
        return self.role == "words" and self.floor is None and self.kept is None

    def lines(self, width: int) -> list[str]:
        """Write the cell in at most so many columns."""
        full = self.whole or self.text
        if self.natural <= width:
            return [self.prefix + line for line in full.split("\n")]
        match self.role:
            case "form" | "bar":
                return [self.short(width) if self.short is not None else cut_form(full, width)]
            case "name":
                return [tail(full, width)]
            case "words":
                return self._broken(full, width)
            case _:
                return full.split("\n")

    def _broken(self, text: str, width: int) -> list[str]:
        """Break the text at spaces, behind the prefix and below it."""
        if not self.prefix:
            return break_words(text, width)
        indent = len(self.prefix) + 2
        first, *rest = break_words(text, width - indent)
        return [self.prefix + first, *(" " * indent + line for line in rest)]


class FitColumn(Struct, frozen=True, eq=False):
    """A column: its title, whether it is aligned to the right, and when it is left out (0 for never)."""

    title: str = ""
    right: bool = False
    drop: int = 0


class FittedTable(Struct, frozen=True, eq=False):
    """The lines of a table, whether a cell was shortened, and the titles of columns that were left out."""

    lines: tuple[str, ...]
    shortened: bool = False
    dropped: tuple[str, ...] = ()


FitRows: TypeAlias = Sequence[Sequence[FitCell]]


def fit(columns: Sequence[FitColumn], rows: FitRows, width: int | None, colour: bool = False) -> FittedTable:
    r"""Write a table in at most ``width`` columns; without a width every cell has its usual length.

    >>> rows = [[FitCell("a_name", "name"), FitCell("12345", "number"), FitCell("3*n**2 + 17*n", "form")]]
    >>> titles = [FitColumn("name"), FitColumn("value", right=True), FitColumn("form")]
    >>> print("\n".join(fit(titles, rows, 27).lines))
    name    value  form
    a_name  12345  3*n**2 + …
    """
    if width is None:
        plain = [[replace(cell, whole="") for cell in row] for row in rows]
        return _written(columns, plain, _naturals(columns, plain), colour)
    barred, bars = _with_bars(columns, rows)
    if len(barred) > len(columns):
        widths = _narrowed(barred, bars, width, _EASY)
        if widths is not None:
            return _written(barred, bars, widths, colour)
    return _fitted(columns, rows, width, colour)


def _fitted(columns: Sequence[FitColumn], rows: FitRows, width: int, colour: bool) -> FittedTable:
    """Give up what has to be given up; columns in their order are left out before cells become narrow."""
    order = sorted((n for n, column in enumerate(columns) if column.drop), key=lambda n: columns[n].drop)
    for count in range(len(order) + 1):
        gone = order[:count]
        last = count == len(order)
        kept = [n for n in range(len(columns)) if n not in gone]
        some, cells = [columns[n] for n in kept], [[row[n] for n in kept] for row in rows]
        widths = None if _is_ragged(cells) else _narrowed(some, cells, width, _EASY)
        if widths is None and _is_remarked(cells):
            some, cells = _joined(some, cells)
            widths = _narrowed(some, cells, width, _EASY)
        if widths is None and last:
            widths = _narrowed(some, cells, width, _EVERY)
        if widths is not None or last:
            dropped = tuple(columns[n].title for n in sorted(gone) if columns[n].title)
            if widths is None:
                return replace(_below(some, cells, width, colour), dropped=dropped)
            return replace(_written(some, cells, widths, colour), dropped=dropped)
    raise AssertionError("the last round always returns")


def _with_bars(columns: Sequence[FitColumn], rows: FitRows) -> tuple[list[FitColumn], list[list[FitCell]]]:
    """Add a column of bars after each column of shares."""
    shared = [n for n in range(len(columns)) if any(row[n].share is not None for row in rows)]
    titles = [one for n, c in enumerate(columns) for one in ((c, FitColumn()) if n in shared else (c,))]
    cells = [
        [one for n, cell in enumerate(row) for one in ((cell, _bar(cell)) if n in shared else (cell,))]
        for row in rows
    ]
    return titles, cells


def _bar(cell: FitCell) -> FitCell:
    """Draw a share of at most 1 in eighths of a character."""
    eighths = round(min(max(cell.share or 0.0, 0.0), 1.0) * 8 * _BAR)
    drawn = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
    return FitCell(drawn or ("▏" if cell.share else ""), "bar", style=cell.style or BLUE, floor=_BAR)


def _is_remarked(rows: FitRows) -> bool:
    return any(row and row[-1].kept is not None for row in rows)


def _is_ragged(rows: FitRows) -> bool:
    """Whether remarks stand closer to their figures than in a column, since a form is longer than usual."""
    return _is_remarked(rows) and any(cell.natural > cell.usual for row in rows for cell in row[-2:-1])


def _joined(columns: Sequence[FitColumn], rows: FitRows) -> tuple[list[FitColumn], list[list[FitCell]]]:
    """Move the remarks in the last column to the left, right after the cells before them."""
    return [*columns[:-1]], [[*row[:-2], _with_remark(row[-2], row[-1])] for row in rows]


def _with_remark(cell: FitCell, remark: FitCell) -> FitCell:
    """Join a cell and its remark; with little room only the part ``kept`` of the remark stays."""
    if not remark.text:
        return cell

    def short(width: int) -> str:
        first = cell.whole or cell.text
        for said in (remark.text, remark.kept or ""):
            room = width - len(said) - _GAP * bool(said and first)
            if len(first) <= room:
                break
        written = first if len(first) <= room else replace(cell, role="form").lines(max(room, 1))[0]
        return f"{written}{' ' * _GAP * bool(written and said)}{said}"

    kept = remark.kept or ""
    both = f"{cell.whole or cell.text}{' ' * _GAP * bool(cell.text)}{remark.text}"
    usual = f"{cell.text}{' ' * _GAP * bool(kept and cell.text)}{kept}"
    least = min(cell.usual, _LEAST["form"]) + len(kept) + _GAP * bool(kept and cell.text)
    return FitCell(usual, "form", both, short, style=cell.style, floor=least)


# ---- widths --------------------------------------------------------------------------------------


_EASY, _EVERY = 1, 5
"""The stages of narrowing before columns are left out, and all of them."""
_COMFORTABLE = 32
"""The narrowest column of words before others are left out for it."""


def _narrowed(columns: Sequence[FitColumn], rows: FitRows, width: int, stages: int) -> list[int] | None:
    """Return widths that fit, made narrower in at most so many stages; None if there are none."""
    widths = [min(found, width) for found in _naturals(columns, rows)]
    for stage in range(stages):
        lows = _lows(columns, rows, stage)
        while _total(widths) > width:
            widest = max(
                (n for n in range(len(widths)) if widths[n] > lows[n]), key=lambda n: widths[n], default=None
            )
            if widest is None:
                break
            widths[widest] -= 1
        if _total(widths) <= width:
            return widths
    return None


_GIVEN_UP: tuple[CellRole, ...] = ("bar", "bar", "words", "name", "form")
"""The roles whose cells have their least width from a stage on; before that, words at the end go below."""
_WORTH = 20
"""The narrowest closed forms that are kept in a column that may be left out."""
_SPILLED = 12
"""The narrowest column of words at the end of a table, whose longer cells go below their rows."""


def _low(column: FitColumn, cells: Sequence[FitCell], stage: int, last: bool) -> int:
    """Return the least width of a column: first titles and long forms, then words, names and all forms."""
    roles = _GIVEN_UP[: stage + 1]
    found = [max(map(len, column.title.split()), default=0)]
    for cell in cells:
        if last and stage and cell.may_spill:
            found.append(min(cell.natural, _SPILLED))
        elif cell.role in roles:
            found.append(cell.least)
        elif cell.role == "form" and column.drop:
            found.append(min(cell.usual, _WORTH))
        elif cell.role == "form" or cell.kept is not None:
            found.append(cell.usual)
        else:
            found.append(min(cell.natural, _COMFORTABLE) if cell.role == "words" else cell.natural)
    return max(found)


def _lows(columns: Sequence[FitColumn], rows: FitRows, stage: int) -> list[int]:
    last = len(columns) - 1
    return [_low(column, [row[n] for row in rows], stage, 0 < n == last) for n, column in enumerate(columns)]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _naturals(columns: Sequence[FitColumn], rows: FitRows) -> list[int]:
    """Return the width of each column in full."""
    return [max([len(column.title), *(row[n].natural for row in rows)]) for n, column in enumerate(columns)]


def _below(columns: Sequence[FitColumn], rows: FitRows, width: int, colour: bool) -> FittedTable:
    """Write columns that do not fit below the others, each time beside the first column."""
    lows = _lows(columns, rows, _EVERY - 1)
    parts: list[list[int]] = []
    for n in range(1, len(columns)):
        if parts and _total([lows[0], *(lows[k] for k in parts[-1]), lows[n]]) <= width:
            parts[-1].append(n)
        else:
            parts.append([n])
    found: list[FittedTable] = []
    for part in parts or [[]]:
        kept = [0, *part]
        some, cells = [columns[n] for n in kept], [[row[n] for n in kept] for row in rows]
        widths = _narrowed(some, cells, width, _EVERY) or [lows[n] for n in kept]
        found.append(_written(some, cells, widths, colour))
    lines = [line for n, one in enumerate(found) for line in (*([""] if n else []), *one.lines)]
    return FittedTable(tuple(lines), any(one.shortened for one in found))


# ---- lines ---------------------------------------------------------------------------------------


def _spilled(row: Sequence[FitCell], written: list[list[str]]) -> FitCell | None:
    """Take the last cell out of a row if it is of words that need many lines there."""
    last = row[-1]
    if len(row) < 2 or not last.may_spill or len(written[-1]) <= _MOST_LINES:
        return None
    written[-1] = [""]
    return last


def _written(columns: Sequence[FitColumn], rows: FitRows, widths: Sequence[int], colour: bool) -> FittedTable:
    """Write the lines of a table in columns of these widths."""
    titles = [break_words(column.title, width) for column, width in zip(columns, widths, strict=True)]
    high = max(map(len, titles), default=0)
    heads = [[*[""] * (high - len(lines)), *lines] for lines in titles]  # titles stand right above cells
    body = [[cell.lines(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    spilled = [_spilled(row, written) for row, written in zip(rows, body, strict=True)]
    every = [heads, *body] if any(column.title for column in columns) else body
    real = [max((len(line) for cells in every for line in cells[n]), default=0) for n in range(len(columns))]
    ends = [column.right for column in columns]
    whole = _total(real)
    lines: list[str] = []
    for k, cells in enumerate(every):
        row = None if every is not body and k == 0 else rows[k - (every is not body)]
        styles = [DIM] * len(columns) if row is None else [cell.style for cell in row]
        for n in range(max(map(len, cells), default=0)):
            texts = (one[n] if n < len(one) else "" for one in cells)
            padded = [t.rjust(w) if end else t.ljust(w) for t, w, end in zip(texts, real, ends, strict=True)]
            painted = map(paint, padded, styles) if colour else padded
            lines.append((" " * _GAP).join(painted).rstrip())
        below = None if row is None else spilled[k - (every is not body)]
        if below is not None:
            found = break_words(below.whole or below.text, whole - _INDENT)
            lines += (" " * _INDENT + paint(line, below.style if colour else "") for line in found)
    cut = any(
        MORE in line and cell.role in ("form", "name")
        for row, written in zip(rows, body, strict=True)
        for cell, found in zip(row, written, strict=True)
        for line in found
    )
    return FittedTable(tuple(lines), cut)
