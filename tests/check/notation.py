"""Entries of the gate in a short notation, for tests: ``x R[n, 4]; y R[m]``, and ``n >= 3; z from 0..n``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tolcost.algebra.parse import unquoted
from tolcost.check.records import (
    Comparison,
    Domain,
    InputPart,
    LockedFigure,
    LockedInput,
    LockEntry,
    SymbolBounds,
)

_PIECE = re.compile(r"`(?:[^`\\]|\\.)*`| or |.", re.DOTALL)
_INPUT = re.compile(r"(`(?:[^`\\]|\\.)*`|[^\s`\[\];]+) (.*)", re.DOTALL)
_BOUND = re.compile(r"(`(?:[^`\\]|\\.)*`|[A-Za-z_]\w*) (in|from) (.*?)\.\.(.*)", re.DOTALL)
_COMPARISON = re.compile(r" (>=|<=|==|!=) ")
_LINE = re.compile(r"(\S+) (\S+) (.*)")


def domain(inputs: str = "", where: str = "") -> Domain:
    """What names mean: inputs, and bounds and conditions."""
    items = _split(where, ";")
    bounds = [match for item in items if (match := _BOUND.fullmatch(item))]
    demands = [item for item in items if not _BOUND.fullmatch(item)]
    return Domain(
        tuple(map(_input, _split(inputs, ";"))),
        tuple(
            SymbolBounds(_name(m[1]), "data" if m[2] == "from" else "length", m[3] or None, m[4] or None)
            for m in bounds
        ),
        tuple(tuple(Comparison(*_COMPARISON.split(one)) for one in _split(item, " or ")) for item in demands),
    )


def entry(
    name: str,
    inputs: str = "",
    where: str = "",
    figures: Iterable[tuple[str, LockedFigure]] = (),
    source: str = "",
) -> LockEntry:
    return LockEntry(name, domain(inputs, where), tuple(figures), source=source)


def entries(text: str) -> dict[str, LockEntry]:
    """Entries as lines: a name with ``inputs``, ``where`` or ``source`` and a text, or with a figure."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        assert match is not None, line
        assert match[2] not in found.setdefault(match[1], {}), line
        found[match[1]][match[2]] = match[3]
    return {name: _entry(name, said) for name, said in found.items()}


def _entry(name: str, said: dict[str, str]) -> LockEntry:
    inputs, where, source = (said.pop(word, "") for word in ("inputs", "where", "source"))
    figures = sorted((metric, LockedFigure(*text.split(" ", 1))) for metric, text in said.items())  # type: ignore[arg-type]
    return entry(name, inputs, where, figures, source)


def _input(text: str) -> LockedInput:
    match = _INPUT.fullmatch(text)
    assert match is not None, text
    return LockedInput(_name(match[1]), tuple(map(_part, _split(match[2], "&"))))


def _part(text: str) -> InputPart:
    space, _, shape = text.removesuffix("]").partition("[")
    return InputPart(space, tuple(_split(shape, ",")))


def _name(text: str) -> str:
    return unquoted(text) if text.startswith("`") else text


def _split(text: str, sign: str) -> list[str]:
    """Split at a sign that stands neither in quotes nor in brackets."""
    pieces, depth = [""], 0
    for piece in _PIECE.findall(text):
        depth += (piece in "([") - (piece in ")]") if len(piece) == 1 else 0
        if piece == sign and not depth:
            pieces.append("")
        else:
            pieces[-1] += piece
    return [piece.strip() for piece in pieces if piece.strip()]
