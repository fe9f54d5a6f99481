"""Programs that are nearly right: one of ``specs/`` with a few changes to its signs, lines or expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from tolcost.diagnostics import Source
from tolcost.elementary import INFIX
from tolcost.syntax import parse
from tolcost.syntax.names import BUILTINS
from tolcost.syntax.tree import children
from tools.generate.draw import Draw

SPECS = Path(__file__).parents[2] / "specs"
LONGEST = 1500
"""Characters; what a change does shows in a short program as in a long one, and sooner."""

_SIGN = re.compile(r"\w+|\s+|[^\w\s]")
_NEW = """
( ) [ ] { } | , : * ' := => .. ... 0 1 -1 2.5 1e300 2^63 99999999 n x R Z B C int8 float16 "a"
tol attr static use space list not ? $ é \u200b
"""
_WORDS = (*BUILTINS, *INFIX, *_NEW.split(), "\n", "\n  ")


class Origin(Struct, frozen=True):
    """A program as it stands in a file, and where its expressions begin and end."""

    text: str
    places: tuple[tuple[int, int], ...]


@cache
def origins() -> tuple[Origin, ...]:
    """The short programs of ``specs/`` that can be parsed."""
    texts = (path.read_text("utf-8") for path in sorted(SPECS.rglob("*.tol")))
    return tuple(Origin(text, tuple(_places(text))) for text in texts if len(text) <= LONGEST)


def mutated_program(seed: int) -> str:
    """A program with one to three changes, by seed."""
    draw = Draw(seed)
    origin = draw.pick(origins())
    text = _transplanted(draw, origin) if draw.chance(0.4) else draw.pick(_CHANGES)(draw, origin.text)
    for _ in range(draw.number(0, 2)):
        text = draw.pick(_CHANGES)(draw, text)
    return text


def _places(text: str) -> Iterator[tuple[int, int]]:
    open_: list[Any] = list(parse(Source("origin.tol", text)).statements)
    while open_:
        node = open_.pop()
        open_.extend(children(node))
        if node.span.end > node.span.start:
            yield node.span.start, node.span.end


def _transplanted(draw: Draw, origin: Origin) -> str:
    """One expression, or statement, in the place of another."""
    donor = origin if draw.chance(0.5) else draw.pick(origins())
    if not origin.places or not donor.places:
        return origin.text
    (start, end), (first, last) = draw.pick(origin.places), draw.pick(donor.places)
    return f"{origin.text[:start]}({donor.text[first:last]}){origin.text[end:]}"


def _signs_changed(change: Callable[[Draw, list[str], int], None]) -> Callable[[Draw, str], str]:
    def changed(draw: Draw, text: str) -> str:
        signs = _SIGN.findall(text)
        if signs:
            change(draw, signs, draw.number(0, len(signs) - 1))
        return "".join(signs)

    return changed


def _lines_changed(change: Callable[[Draw, list[str], int], None]) -> Callable[[Draw, str], str]:
    def changed(draw: Draw, text: str) -> str:
        lines = text.split("\n")
        change(draw, lines, draw.number(0, len(lines) - 1))
        return "\n".join(lines)

    return changed


def _drop(_: Draw, items: list[str], at: int) -> None:
    del items[at]


def _double(_: Draw, items: list[str], at: int) -> None:
    items.insert(at, items[at])


def _swap(draw: Draw, items: list[str], at: int) -> None:
    other = draw.number(0, len(items) - 1)
    items[at], items[other] = items[other], items[at]


def _new_word(draw: Draw, items: list[str], at: int) -> None:
    items[at] = draw.pick(_WORDS)


def _own_word(draw: Draw, items: list[str], at: int) -> None:
    items[at] = draw.pick(items)


def _more(draw: Draw, items: list[str], at: int) -> None:
    items.insert(at, draw.pick(_WORDS))


def _cut(_: Draw, text: str) -> str:
    return text[: len(text) // 2]


_CHANGES: tuple[Callable[[Draw, str], str], ...] = (
    *[_signs_changed(change) for change in (_drop, _double, _swap, _own_word, _more)],
    *[_signs_changed(_new_word)] * 3,
    *[_lines_changed(change) for change in (_drop, _double, _swap)],
    _cut,
)
