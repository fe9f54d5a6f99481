"""Breaking lines: a flat stream of words and places where a line may end becomes text.

A line breaks only where what follows, up to the next such place at the same level, does not fit; so
outer levels break before inner ones, and short things stay together.  Two passes over the stream, no
recursion, linear time.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TypeAlias

from tolcost.dataclass import dataclass

WIDTH = 110
STEP = 2


class Layout(Enum):
    """A place in the stream."""

    OPEN = auto()
    """What follows is one level deeper."""
    HOLD = auto()
    """What follows is as deep as the present line."""
    CLOSE = auto()
    """Back to the level before."""
    SOFT = auto()
    """A space, or the end of a line."""
    HARD = auto()
    """The end of a line."""


@dataclass(frozen=True, slots=True)
class Aside:
    """A comment at the end of a line; it does not count for the width."""

    text: str


Stream: TypeAlias = list["str | Layout | Aside"]


def lay_out(stream: Stream) -> str:
    """The text of a stream.

    >>> lay_out(["f(", Layout.OPEN, "a,", Layout.SOFT, "b", Layout.CLOSE, ")"])
    'f(a, b)'
    """
    needs = _needs(stream)
    lines: list[str] = []
    line: list[str] = []
    column = indent = 0
    indents = [0]
    for piece, need in zip(stream, needs, strict=True):
        match piece:
            case str():
                line.append(piece)
                column += len(piece)
            case Aside(text=text):
                line.append(f"  {text}")
            case Layout.OPEN:
                indents.append(indent + STEP)
            case Layout.HOLD:
                indents.append(indent)
            case Layout.CLOSE:
                indents.pop()
            case Layout.SOFT if column + need <= WIDTH:
                line.append(" ")
                column += 1
            case Layout.SOFT | Layout.HARD:
                lines.append("".join(line).rstrip())
                column = indent = indents[-1]
                line = [" " * indent]
    return "\n".join([*lines, "".join(line).rstrip()])


def _needs(stream: Stream) -> list[int]:
    """For each soft break the columns up to the next chance to break at its level, or after its level."""
    needs = [0] * len(stream)
    total = nearest = 0
    levels = [0]
    for index in range(len(stream) - 1, -1, -1):
        piece = stream[index]
        match piece:
            case str():
                total += len(piece)
            case Layout.CLOSE:
                levels.append(nearest)
            case Layout.OPEN | Layout.HOLD:
                levels.pop()
            case Layout.SOFT:
                total += 1
                needs[index] = total - levels[-1]
                levels[-1] = nearest = total
            case Layout.HARD:
                nearest = total
                levels[:] = [total] * len(levels)
            case Aside():
                pass
    return needs
