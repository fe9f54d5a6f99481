"""What may be written at a place: names of the program and its libraries, words of the language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from tolcost.dataclass import dataclass
from tolcost.editor.names import names_of
from tolcost.editor.reading import Reading, known_names, specs_of
from tolcost.editor.words import words
from tolcost.library import spec_names
from tolcost.spaces import SPACES

SuggestionKind: TypeAlias = Literal["value", "function", "operator", "space", "constant", "keyword", "file"]
_KINDS: dict[str, SuggestionKind] = {
    "primitives": "function", "functions": "function", "constants": "constant",
    "keywords": "keyword", "spaces": "space",
}  # fmt: skip
_DECLARING = re.compile(r"\s*(?:tol|static|attr|space|list)\s+\w+(?:\?|\.\.\.)?\s*:\s*[\w*+-]*$")
_USING = re.compile(r"\s*use\s+[\w, ]*$")
_STARTING = re.compile(r"\w*$")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Something to write, what it is, and a line about it."""

    label: str
    kind: SuggestionKind
    detail: str = ""
    text: str = ""


def completions_at(reading: Reading, last_good: Reading | None, offset: int) -> tuple[Suggestion, ...]:
    """What may be written at a place; ``last_good`` knows names where the text cannot be read."""
    start = reading.source.text.rfind("\n", 0, offset) + 1
    line = reading.source.text[start:offset]
    if _USING.match(line):
        return tuple(Suggestion(name, "file", f"specs/lib/{name}.tol") for name in spec_names("lib"))
    if _DECLARING.match(line):
        return tuple(_word(name) for name in SPACES)
    known = reading if reading.program is not None else last_good or reading
    found = {one.label: one for one in _everything(known, at_start=bool(_STARTING.match(line)))}
    return tuple(found.values())


def _everything(reading: Reading, at_start: bool) -> Iterator[Suggestion]:
    yield from (_word(name) for name, entry in words().items() if entry.kind != "keywords" or at_start)
    for name in specs_of(reading).callable_names():
        yield Suggestion(name, "operator", "ONNX operator")
    for name, signature in known_names(reading).items():
        yield Suggestion(name, "value" if signature is None else "function", "from a library file")
    for one in names_of(reading):
        kind: SuggestionKind = "function" if one.sort == "function" else "value"
        yield Suggestion(one.name, kind, f"{one.sort} of this program")


def _word(name: str) -> Suggestion:
    entry = words()[name]
    return Suggestion(name, _KINDS[entry.kind], entry.call, entry.markdown)
