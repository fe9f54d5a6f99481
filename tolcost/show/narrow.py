"""How wide a table of Markdown is where GitHub shows it, and how its cells are broken so that it fits.

Widths are estimates in pixels, from above: of DejaVu Sans, which is wider than most fonts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

PAGE = 1012
"""The width of GitHub's column on a wide screen."""
MOST_LINES = 8
"""The most lines that a cell of a report may have."""
WIDTHS = (160, 120, 90, 74, 62, 54, 47, 41, 36, 32, 28, 25, 22, 19, 16, 14)
"""Lengths of a line in characters of code; a column that must be narrower gets the next."""

_BORDER, _FIRST_BORDER = 27, 1
_CODE, _AROUND_CODE = 8.2, 11
_LETTERS = {
    **dict.fromkeys(" iljI|'.,:;/\\!", 5.5),
    **dict.fromkeys('ftrJ()[]-"`', 6.7),
    **dict.fromkeys("cskvxyz", 9.5),
    **dict.fromkeys("mwMW%@●—…", 15.8),
    **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ+=<>&#~", 12.8),
}
_LETTER, _BOLD = 10.3, 1.1
_LONG_WORD = 14
"""A longer word of text may be broken where it has parts."""
_PARTS = re.compile(r"(?<=[/_.:=\-])(?=\w)|(?<=[a-z])(?=[A-Z])")


class Line(Struct, frozen=True):
    """A line of a cell: a label or words, then code, or a link to a file."""

    text: str = ""
    code: str = ""
    link: str = ""
    most: int | None = None
    """The most characters of a line of its code."""


CellLines = Sequence[Line]
UNBROKEN = WIDTHS[0]


class _Choice(Struct, frozen=True):
    """A column at a length of its lines: the width that it needs, and how high each of its cells is."""

    width: float
    lines: tuple[int, ...]


@lru_cache(maxsize=2**14)
def width_of(text: str) -> float:
    """Estimate how wide a text is.

    >>> round(width_of("printed")), round(width_of("MMM"))
    (60, 47)
    """
    return sum(_LETTERS.get(letter, _LETTER) for letter in text)


def parts_of(word: str) -> list[str]:
    """Return the parts of a word between which it may be broken, if it is long.

    >>> parts_of("SimplifiedLayerNormalization"), parts_of("specs/onnx")
    (['Simplified', 'Layer', 'Normalization'], ['specs/onnx'])
    """
    return _PARTS.split(word) if len(word) > _LONG_WORD else [word]


def wrapped(text: str, length: int) -> list[str]:
    """Break a text between words, and long words between their parts, at a length in characters of code.

    >>> wrapped("the sum of all specs/textbook/dynamic", 20)
    ['the sum of all', 'specs/textbook/', 'dynamic']
    """
    room, found, between = length * _CODE + _AROUND_CODE, [""], ""
    if width_of(text) <= room or length == UNBROKEN:
        return [text]
    for word in text.split():
        for part in parts_of(word):
            if found[-1] and width_of(found[-1] + between + part) > room:
                found.append(part)
            else:
                found[-1] += between + part
            between = ""
        between = " "
    return found


def fitting(columns: Sequence[Callable[[int], Sequence[CellLines]]]) -> list[int]:
    """Choose the length of the lines in each column so that a table fits a page, and is as low as it can be.

    Each column is a function that returns its cells, the title first, with lines of a length.
    """
    if _table(_choice(column(UNBROKEN)) for column in columns) <= PAGE:
        return [UNBROKEN for _ in columns]
    choices = [list(_choices(column)) for column in columns]
    steps = [0 for _ in columns]
    while _table(column[step] for column, step in zip(choices, steps, strict=True)) > PAGE:
        narrower = [
            (_price(choices, steps, n, step), n, step)
            for n, column in enumerate(choices)
            for step in _further(column, steps[n])
        ]
        if not narrower:
            break
        _, n, steps[n] = min(narrower)
    return [WIDTHS[step] for step in steps]


def _choices(column: Callable[[int], Sequence[CellLines]]) -> Iterator[_Choice]:
    found = _Choice(float("inf"), ())
    for length in WIDTHS:
        if found.width > length * _CODE:  # else no line is longer
            found = _choice(column(length))
        yield found


def _table(columns: Iterable[_Choice]) -> float:
    return _FIRST_BORDER + sum(_BORDER + column.width for column in columns)


def _further(choices: Sequence[_Choice], step: int) -> list[int]:
    """Return the next choice that makes a column narrower."""
    return [n for n in range(step + 1, len(choices)) if choices[n].width < choices[step].width][:1]


def _price(
    choices: Sequence[Sequence[_Choice]], steps: Sequence[int], n: int, step: int
) -> tuple[bool, float]:
    """Return whether a narrower column has cells that are too high, and the lines that each pixel costs."""
    others = [column[at].lines for k, (column, at) in enumerate(zip(choices, steps, strict=True)) if k != n]
    now, then = choices[n][steps[n]], choices[n][step]
    highest = [max(row) for row in zip(*others, strict=True)] if others else [0] * len(now.lines)
    more = sum(max(h, b) - max(h, a) for h, a, b in zip(highest, now.lines, then.lines, strict=True))
    return max(then.lines, default=0) > MOST_LINES, more / (now.width - then.width)


def _choice(cells: Sequence[CellLines]) -> _Choice:
    title, *rest = cells
    wide = max((line_width(line) for lines in rest for line in lines), default=0.0)
    bold = _BOLD * max(map(line_width, title))
    return _Choice(max(wide, bold), tuple(map(len, cells)))


def line_width(line: Line) -> float:
    """Estimate how wide a line of a cell is."""
    if line.code:
        return _CODE * len(line.code) + _AROUND_CODE + width_of(f"{line.text} " if line.text else "")
    return width_of(line.text)
