"""The canonical form of programs, word for word, and that it is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tolcost.diagnostics import Source
from tolcost.syntax import parse
from tolcost.syntax.format import format_program

from . import cases

SPECS = sorted((Path(__file__).parents[2] / "specs").rglob("*.tol"))


def formatted(program: str) -> str:
    tree = parse(Source("case.tol", program))
    text = format_program(tree)
    again = parse(Source("case.tol", text))
    assert again == tree
    assert sorted(c.text for c in again.comments) == sorted(c.text for c in tree.comments)
    assert format_program(again) == text
    return text.rstrip("\n")


@pytest.mark.parametrize("case", cases.read("format"), ids=str)
def test_format(case: cases.Case) -> None:
    cases.check(case, formatted)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.name)
def test_formatting_keeps_the_programs_that_come_along(path: Path) -> None:
    formatted(path.read_text("utf-8"))


def test_empty_program() -> None:
    assert format_program(parse(Source("case.tol", "\n\n"))) == ""


def test_line_ends_and_byte_order_mark_are_unified() -> None:
    assert (
        formatted("\ufeffx = 1\r\n\r\n# c\r\ny = {\r\n  a = 2\r\n  a }\r\n")
        == "x = 1\n\n# c\ny = {\n  a = 2\n  a\n}"
    )
