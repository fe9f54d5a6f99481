"""Diagnostics as text: hostile characters, long lines, wide ones, several sources, colours."""

from __future__ import annotations

import re

from tolcost.diagnostics import Diagnostic, Label, Source, Span, place, quoted, render, visible


def shown(text: str, start: int, end: int, **more: object) -> str:
    return render(Diagnostic("T0101", "here", Span(Source("f.tol", text), start, end), **more))  # type: ignore[arg-type]


def marked(text: str, start: int, end: int) -> tuple[str, str]:
    """The source line and the line of marks, without their gutters."""
    source, marks = shown(text, start, end).splitlines()[3:5]
    return source[5:], marks[5:]


def test_marks_stand_below_their_text() -> None:
    assert marked("ab cd ef", 3, 5) == ("ab cd ef", "   ^^")
    assert marked("\tab\tcd", 4, 6) == ("\tab\tcd", "\t  \t^^")
    assert marked("名前 = x", 5, 6) == ("名前 = x", "       ^")
    assert marked("e\u0301 = x", 5, 6) == ("e\u0301 = x", "    ^")
    assert marked("a\x1b[31mb", 6, 7) == ("a\\u{1b}[31mb", "           ^")
    assert marked("a\u202eb", 2, 3) == ("a\\u{202e}b", "         ^")


def test_places_at_the_edges() -> None:
    assert marked("ab", 2, 2) == ("ab", "  ^")
    assert shown("", 0, 0).splitlines()[1:] == ["  --> f.tol"]
    assert marked("ab\r\ncd", 0, 6) == ("ab", "^^")
    assert marked("ab\ncd", 1, 5) == ("ab", " ^")
    found = place(Span(Source("", "a\n\nbc"), 4, 5))
    assert (found.line, found.column) == (3, 2)


def test_long_lines_are_cut_around_the_place() -> None:
    text = "x" * 5000 + "y" + "z" * 5000
    source, marks = marked(text, 5000, 5001)
    assert source[0] == source[-1] == "…"
    assert len(source) == 102
    assert source[marks.index("^")] == "y"
    assert len(shown(text, 0, len(text))) < 500
    assert len(shown("x" * 10_000_000, 9_999_999, 10_000_000)) < 500


def test_labels_in_the_order_of_the_text() -> None:
    source = Source("f.tol", "a\nb\nc\nd\ne")
    other = Source("g.tol", "lib")
    labels = (
        Label(Span(source, 0, 1), "first"),
        Label(Span(other, 0, 3), "there"),
        Label(Span(source, 8, 9), "last"),
    )
    text = render(Diagnostic("T0202", "twice", Span(source, 4, 5), labels, "rename one"))
    assert text.splitlines() == [
        "error[T0202]: twice",
        "  --> f.tol:3:1",
        "   |",
        " 1 | a",
        "   | - first",
        "  ...",
        " 3 | c",
        "   | ^",
        "  ...",
        " 5 | e",
        "   | - last",
        "  ::: g.tol:1:1",
        "   |",
        " 1 | lib",
        "   | --- there",
        "   = hint: rename one",
    ]


def test_without_a_place() -> None:
    assert render(Diagnostic("T0601", "too large", hint="less")) == "error[T0601]: too large\n   = hint: less"
    assert render(Diagnostic("T0420", "slow", severity="warning")).startswith("warning[T0420]: slow")


def test_nothing_hostile_gets_through() -> None:
    source = Source("evil\x1b]0;name\x07.tol", "x")
    text = render(
        Diagnostic("T0101", "bad \x1b[2J \u202e", Span(source, 0, 1), hint="\x9b31m\r\nfake: error")
    )
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text) is None
    assert quoted("a`\x00" + "b" * 1000).startswith("`a`\\u{0}bbb")
    assert len(quoted("b" * 1000)) < 70
    assert len(render(Diagnostic("T0101", "m" * 10**6, hint="h" * 10**6))) < 2000
    assert visible("plain") == "plain"


def test_colour_changes_nothing_but_colour() -> None:
    diagnostic = Diagnostic("T0101", "here", Span(Source("f", "ab"), 0, 1), hint="h")
    coloured = render(diagnostic, colour=True)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == render(diagnostic)
