"""What the words of the language mean, for hovers and completions: the table of ``words.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

from tolcost.dataclass import dataclass
from tolcost.spaces import SPACES

Kind: TypeAlias = Literal["primitives", "functions", "constants", "keywords", "spaces"]
_FAMILIES = {
    "B": "truth values",
    "Z": "whole numbers",
    "R": "real numbers",
    "C": "complex numbers",
    "S": "text",
}


@dataclass(frozen=True, slots=True)
class WordEntry:
    """A word: how it is called, and what it gives."""

    word: str
    kind: Kind
    call: str
    text: str

    @property
    def markdown(self) -> str:
        """As an editor shows it."""
        cost = {
            "functions": "Applied to data it costs 1 EOP.",
            "primitives": "It costs nothing by itself.",
        }.get(self.kind, "")
        return f"```tolang\n{self.call}\n```\n{self.text}" + (f"\n\n{cost}" if cost else "")


@cache
def words() -> dict[str, WordEntry]:
    """Every word of the language, spaces included.  What can be called hides a keyword of the same name."""
    raw = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
    kinds: tuple[Kind, ...] = ("keywords", "constants", "primitives", "functions")
    found = {word: WordEntry(word, kind, *entry) for kind in kinds for word, entry in raw[kind].items()}
    return {**{name: _space(name) for name in SPACES}, **found}


def _space(name: str) -> WordEntry:
    space = SPACES[name]
    size = f", {space.bits} bits each" if space.bits else ""
    ends = ("" if space.lo is None else f" from {space.lo:g}") + (
        "" if space.hi is None else f" to {space.hi:g}"
    )
    return WordEntry(name, "spaces", name, f"A space of {_FAMILIES[space.kind]}{ends}{size}.")
