"""A tree printed and read again is the same tree, and printing is a fixed point."""

from __future__ import annotations

from hypothesis import given

from tolcost.diagnostics import Source
from tolcost.syntax import format_program, parse
from tolcost.syntax import tree as syntax

from .trees import programs


def reread(text: str) -> syntax.Program:
    return parse(Source("formatted", text))


@given(programs)
def test_printed_and_parsed_is_the_same(program: syntax.Program) -> None:
    text = format_program(program)
    again = reread(text)
    assert again == program
    assert format_program(again) == text
