"""The canonical form of programs, word for word, and that it is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tolcost.diagnostics import Source
from tolcost.syntax import parse
from tolcost.syntax.format import format_program

from . import cases

SPECS = Path(__file__).parents[2] / "specs"
FOLDERS = sorted({path.parent for path in SPECS.rglob("*.tol")})


def formatted(program: str, name: str = "case.tol") -> str:
    tree = parse(Source(name, program))
    text = format_program(tree)
    again = parse(Source(name, text))
    assert again == tree, name
    assert sorted(c.text for c in again.comments) == sorted(c.text for c in tree.comments), name
    assert format_program(again) == text, name
    return text.rstrip("\n")


@pytest.mark.parametrize("case", cases.read("format"), ids=str)
def test_format(case: cases.Case) -> None:
    cases.check(case, formatted)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(SPECS)))
def test_formatting_keeps_the_programs_that_come_along(folder: Path) -> None:
    for path in sorted(folder.glob("*.tol")):
        formatted(path.read_text("utf-8"), path.name)


def test_empty_program() -> None:
    assert format_program(parse(Source("case.tol", "\n\n"))) == ""


def test_line_ends_and_byte_order_mark_are_unified() -> None:
    assert (
        formatted("\ufeffx = 1\r\n\r\n# c\r\ny = {\r\n  a = 2\r\n  a }\r\n")
        == "x = 1\n\n# c\ny = {\n  a = 2\n  a\n}"
    )
