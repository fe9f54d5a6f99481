"""Any text at all: it is a program, or there are diagnostics that can be shown; nothing else happens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tolcost.diagnostics import Diagnostic, Rejected, Source, render
from tolcost.syntax import parse, resolve
from tolcost.syntax.format import format_program

WORDS = """
x f tol attr static space list operator use and or xor not map reduce part' R R* Z+ 1 2.5 3. 1e3 "t" 't' " '
( ) [ ] { } | || , ; : := = == => < <= != + - * / // # % ^ . .. ... ? $ é ≤ \u200b \\
""".split()  # noqa: SIM905 - a list of literals would hide the signs among quotes
WORDS += ["\n", "\n  ", "\r\n", "\t"]
SPECS = Path(__file__).parents[2] / "specs" / "paper"
PROGRAMS = [file.read_text("utf-8") for file in sorted(SPECS.rglob("*.tol"))]


def tell(diagnostics: Sequence[Diagnostic], size: int) -> None:
    assert all(render(diagnostic) for diagnostic in diagnostics)
    assert all(0 <= d.span.start <= d.span.end <= size for d in diagnostics)


def read(text: str) -> None:
    source = Source("fuzz.tol", text)
    try:
        program = parse(source)
    except Rejected as rejected:
        tell(rejected.diagnostics, len(text))
        return
    tell(resolve(program), len(text))
    formatted = format_program(program)
    again = parse(Source("formatted.tol", formatted))
    assert again == program
    assert format_program(again) == formatted


@given(st.lists(st.sampled_from(WORDS), max_size=25), st.sampled_from(["", " "]))
def test_any_words(words: list[str], between: str) -> None:
    read(between.join(words))


@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    read(text)


@given(st.sampled_from(PROGRAMS), st.data())
def test_programs_with_a_piece_replaced(program: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(program)))
    end = data.draw(st.integers(start, min(len(program), start + 12)))
    read(program[:start] + data.draw(st.sampled_from(["", *WORDS])) + program[end:])
