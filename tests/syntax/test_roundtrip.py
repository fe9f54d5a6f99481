"""A tree printed and read again is the same tree; printing is a fixed point; no comment is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tolcost.diagnostics import Source
from tolcost.syntax import parse
from tolcost.syntax import tree as syntax
from tolcost.syntax.format import format_program

from .trees import programs


def reread(text: str) -> syntax.Module:
    return parse(Source("formatted", text))


@given(programs)
def test_printed_and_parsed_is_the_same(program: syntax.Module) -> None:
    text = format_program(program)
    again = reread(text)
    assert again == program
    assert format_program(again) == text


@given(programs, st.data())
def test_comments_survive(program: syntax.Module, data: st.DataObject) -> None:
    lines = format_program(program).split("\n")
    commented: list[str] = []
    for number, line in enumerate(lines):
        commented += data.draw(st.sampled_from([[], [f"  # above {number}"], ["", f"// above {number}"]]))
        commented.append(line + data.draw(st.sampled_from(["", f" # beside {number}"])))
    before = reread("\n".join(commented))
    text = format_program(before)
    after = reread(text)
    assert after == before == program
    assert sorted(c.text for c in after.comments) == sorted(c.text for c in before.comments)
    assert format_program(after) == text
