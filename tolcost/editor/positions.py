"""Places in a text as editors count them: lines from 0, and columns in units of an encoding."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A line and a column."""

    line: int
    column: int


@lru_cache(maxsize=8)
def _starts(text: str) -> tuple[int, ...]:
    return (0, *(match.end() for match in _LINE_END.finditer(text)))


def place_at(text: str, offset: int, encoding: Encoding = "utf-16") -> Place:
    r"""Where an offset is.

    >>> place_at("a\n𝛼b", 3), place_at("a\n𝛼b", 3, "utf-8")
    (Place(line=1, column=2), Place(line=1, column=4))
    """
    starts = _starts(text)
    line = bisect_right(starts, offset) - 1
    return Place(line, _units(text[starts[line] : offset], encoding))


def offset_at(text: str, place: Place, encoding: Encoding = "utf-16") -> int:
    r"""Which offset a place has: the nearest one, where there is no such place.

    >>> offset_at("a\n𝛼b", Place(1, 2)), offset_at("ab", Place(7, 0)), offset_at("a\nb", Place(0, 9))
    (3, 2, 1)
    """
    starts = _starts(text)
    if place.line >= len(starts):
        return len(text)
    offset, left = starts[place.line], place.column
    while left > 0 and offset < len(text) and text[offset] not in "\r\n":
        left -= _units(text[offset], encoding)
        offset += 1
    return offset


def line_end(text: str, line: int) -> int:
    """The offset at which a line ends, lines counted from 0."""
    starts = _starts(text)
    begin = starts[min(line, len(starts) - 1)]
    match = _LINE_END.search(text, begin)
    return len(text) if match is None else match.start()


def _units(text: str, encoding: Encoding) -> int:
    if text.isascii() or encoding == "utf-32":
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)
