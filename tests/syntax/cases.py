"""Tests as pairs of text: a program, and what is said about it.

A file of cases holds, again and again, a line ``=== name``, a program, a line ``---`` and the expected
text.  With TOLCOST_ACCEPT=1 in the environment the expected texts are written anew, to be reviewed as a
change like any other.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

FOLDER = Path(__file__).parent.parent / "cases"


class Case(Struct, frozen=True):
    file: Path
    name: str
    program: str
    expected: str

    def __str__(self) -> str:
        return f"{self.file.stem}: {self.name}"


def read(folder: str | Path) -> list[Case]:
    """The cases of a folder: one below ``tests/cases``, or any other by its path."""
    return [case for file in sorted((FOLDER / folder).glob("*.txt")) for case in _cases(file)]


def check(case: Case, answer: Callable[[str], str]) -> None:
    compare(case, answer(case.program))


def compare(case: Case, text: str) -> None:
    if os.environ.get("TOLCOST_ACCEPT"):
        _accept(case, text)
    else:
        assert text == case.expected


def _cases(file: Path) -> list[Case]:
    _, *parts = re.split(r"^=== (.*)\n", file.read_text("utf-8"), flags=re.MULTILINE)
    found = []
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        program, _, expected = body.partition("---\n")
        found.append(Case(file, name, program, expected.rstrip("\n")))
    return found


def _accept(case: Case, text: str) -> None:
    """Write one text anew, while other processes may write others of the same file."""
    with case.file.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        write(case.file, [replace(c, expected=text) if c.name == case.name else c for c in _cases(case.file)])


def write(file: Path, cases: Iterable[Case]) -> None:
    """Write a file of cases."""
    written = "\n\n".join(f"=== {c.name}\n{c.program}---\n{c.expected}" for c in cases)
    file.write_text(written + "\n", "utf-8")
