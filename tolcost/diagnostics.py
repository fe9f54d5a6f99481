"""Spans and diagnostics: how a mistake in a program is reported to its author.

A user's mistake is a ``Diagnostic``.  Stages collect as many as they can and raise ``Rejected`` once.  A
broken promise of our own code is an ``InternalError`` instead.

``codes.md`` explains each code in a section: T00 reading, T01 syntax, T02 names, T03 shapes, T04 types, T05
limits, T06 cost models and ONNX, T07 the gate, T08 queries, T09 derivatives.

``render`` writes a diagnostic as text.  Programs are untrusted data: characters that would move the cursor,
change the direction of the text or hide in it are shown as escapes, and long lines are cut around the place
that matters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from itertools import accumulate, groupby
from pathlib import Path
from typing import Literal, NoReturn, SupportsIndex

from msgspec import Struct
from msgspec.structs import replace


class Source(Struct, frozen=True):
    """A text and its name in messages."""

    name: str
    text: str

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        """Keep ``NO_SOURCE`` a single object in every process."""
        return "NO_SOURCE" if self is NO_SOURCE else object.__reduce_ex__(self, protocol)


class Span(Struct, frozen=True):
    """A piece of a source, by offsets into its text."""

    source: Source
    start: int
    end: int

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[object, ...]:
        """Keep ``NOWHERE`` a single object in every process."""
        return "NOWHERE" if self is NOWHERE else object.__reduce_ex__(self, protocol)

    @property
    def text(self) -> str:
        """The text of the span."""
        return self.source.text[self.start : self.end]


NO_SOURCE = Source("<nowhere>", "")
NOWHERE = Span(NO_SOURCE, 0, 0)

_LONGEST_PIECE = 72
"""Characters of source text quoted within a line."""


def on_one_line(span: Span, longest: int = _LONGEST_PIECE) -> str:
    """Return the text of a span on one line, shortened if it is long; nothing for ``NOWHERE``.

    >>> source = Source("demo", "y := (a + b) * (c + d)")
    >>> on_one_line(Span(source, 6, 21))
    '(a + b) * (c + d)'
    """
    text = " ".join(_balanced(span).text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _balanced(span: Span) -> Span:
    """Extend a span by the parentheses around its first and last operands, which spans leave out."""
    text, start, end = span.source.text, span.start, span.end
    depths = [0, *accumulate((sign == "(") - (sign == ")") for sign in span.text)]
    for _ in range(depths[-1] - min(depths)):
        end = len(text) - len(text[end:].lstrip())
        end += text.startswith(")", end)
    for _ in range(-min(depths)):
        start = len(text[:start].rstrip())
        start -= text.endswith("(", 0, start)
    return Span(span.source, start, end)


class Label(Struct, frozen=True):
    """A secondary place that helps to understand a diagnostic, with its text."""

    span: Span
    text: str


class Fix(Struct, frozen=True):
    """A replacement of a span that removes the reason for a diagnostic."""

    title: str
    span: Span
    text: str


class Diagnostic(Struct, frozen=True):
    r"""A message to a user about a program; ``fix`` only if a change is certain to help.

    >>> import tolcost
    >>> try:
    ...     tolcost.analyze("tol x: R [n]\ny := map(x, sqt(*)) + z")
    ... except tolcost.Rejected as error:
    ...     [one.message for one in error.diagnostics]
    ['there is no function `sqt`', 'there is nothing named `z`']
    """

    code: str
    message: str
    span: Span = NOWHERE
    labels: tuple[Label, ...] = ()
    hint: str | None = None
    severity: Literal["error", "warning"] = "error"
    fix: Fix | None = None


class Rejected(Exception):
    r"""The input cannot be used; the diagnostics state why, and the properties describe the first one.

    >>> import tolcost
    >>> try:
    ...     tolcost.analyze("tol x: R [n]\ny := map(x, sqt(*))")
    ... except tolcost.Rejected as error:
    ...     error.code, error.place, error.hint
    ('T0201', '<text>:2:13', 'did you mean `sqrt`?')
    """

    def __init__(self, *diagnostics: Diagnostic) -> None:
        """Store the diagnostics; there is at least one."""
        super().__init__(*diagnostics)
        self.diagnostics = diagnostics

    def at(self, span: Span) -> Rejected:
        """Return a copy whose diagnostics without a place have this one."""
        return Rejected(
            *(replace(one, span=span) if one.span is NOWHERE else one for one in self.diagnostics)
        )

    @property
    def code(self) -> str:
        """The code, which `tolcost explain` explains."""
        return self.diagnostics[0].code

    @property
    def message(self) -> str:
        """The problem, in one sentence."""
        return self.diagnostics[0].message

    @property
    def place(self) -> str | None:
        """The place, as ``file:line:column``; None if it is in no file."""
        span = self.diagnostics[0].span
        where = place(span)
        return None if span.source is NOWHERE.source else f"{span.source.name}:{where.line}:{where.column}"

    @property
    def hint(self) -> str | None:
        """A suggestion."""
        return self.diagnostics[0].hint

    def __str__(self) -> str:
        """Return the text that the command line prints."""
        return render_all(self.diagnostics)

    def label(self, *labels: Label) -> None:
        """Add labels to the first diagnostic before it is reported."""
        head, *rest = self.diagnostics
        self.diagnostics = (replace(head, labels=(*head.labels, *labels)), *rest)


def refuse(code: str, message: str, span: Span = NOWHERE, hint: str | None = None) -> NoReturn:
    """Reject an input with a single diagnostic."""
    raise Rejected(Diagnostic(code, message, span, hint=hint))


class UnknownLength(Rejected):
    """A length was given that the program or model does not have, so it is wrong at every point."""


class InternalError(Exception):
    """A promise of tolcost's own code was broken.  Exit code 70; never the user's fault."""


# ---- diagnostics as text --------------------------------------------------------------

_WIDTH = 100
"""Limit on the columns shown of a source line."""

_LONGEST_NAME = 60
"""Characters of a name in a message: names come from untrusted programs."""
_LONGEST_MESSAGE = 600
"""Characters of a message or hint, which may quote text of any length."""
_RED, _YELLOW, _BLUE, _BOLD, _PLAIN = "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;34m", "\x1b[1m", "\x1b[0m"


class Position(Struct, frozen=True):
    """Line and column, both counted from 1, and the extent of the line in the text."""

    line: int
    column: int
    start: int
    end: int


def place(span: Span) -> Position:
    r"""Return the position at which a span starts.

    >>> place(Span(Source("demo", "ab\ncd"), 4, 5)).line
    2
    """
    text = span.source.text
    start = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.start)
    end = len(text) if end < 0 else end
    return Position(text.count("\n", 0, span.start) + 1, span.start - start + 1, start, end)


def quoted(name: str, mark: str = "`") -> str:
    r"""Quote a name from a program for use inside a message: escaped, and limited in length.

    >>> quoted("x\x1b[2J"), quoted("SAME", '"')
    ('`x\\u{1b}[2J`', '"SAME"')
    """
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return f"{mark}{visible(short)}{mark}"


def unreadable(error: OSError | UnicodeError) -> str:
    """Describe why a file cannot be read as text.

    >>> unreadable(FileNotFoundError(2, "No such file or directory", "a.toml"))
    'no such file or directory'
    """
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return "it is not text in UTF-8"


def visible(text: str) -> str:
    """Escape everything in a text that is invisible or acts on the screen."""
    return text if text.isprintable() else "".join(map(_shown, text))


def render(diagnostic: Diagnostic, colour: bool = False) -> str:
    """Render a diagnostic as lines of text, without a newline at the end.

    >>> source = Source("demo.tol", "y = f(x")
    >>> print(render(Diagnostic("T0102", "`(` is never closed", Span(source, 5, 6))))
    error[T0102]: `(` is never closed
      --> demo.tol:1:6
       |
     1 | y = f(x
       |      ^
    """
    paint = _Paint(colour, diagnostic.severity)
    head = f"{diagnostic.severity}[{diagnostic.code}]"
    lines = [f"{paint.main(head)}{paint.bold(': ' + _cut(visible(diagnostic.message)))}"]
    gutter = 1
    if diagnostic.span.source is not NOWHERE.source:
        marks = _marks(diagnostic)
        gutter = max(len(str(mark.place.line)) for mark in marks)
        lines.extend(_excerpts(marks, diagnostic.span, gutter, paint))
    if diagnostic.hint:
        hint = f"{paint.bold('hint')}: {_cut(visible(diagnostic.hint))}"
        lines.append(f"{' ' * gutter}  {paint.edge('=')} {hint}")
    return "\n".join(lines)


def render_all(diagnostics: Iterable[Diagnostic], colour: bool = False) -> str:
    """Render several diagnostics, with an empty line between them."""
    return "\n\n".join(render(diagnostic, colour) for diagnostic in diagnostics)


class _Paint(Struct, frozen=True, eq=False):
    """Colours, or none."""

    on: bool
    severity: str

    def main(self, text: str) -> str:
        return self._in(_RED if self.severity == "error" else _YELLOW, text)

    def edge(self, text: str) -> str:
        return self._in(_BLUE, text)

    def bold(self, text: str) -> str:
        return self._in(_BOLD, text)

    def _in(self, code: str, text: str) -> str:
        return f"{code}{text}{_PLAIN}" if self.on else text


class _Mark(Struct, frozen=True, eq=False):
    """A place to mark, and the sign for it."""

    label: Label
    sign: str
    place: Position


def _marks(diagnostic: Diagnostic) -> list[_Mark]:
    """Return all places of a diagnostic: by source, its own first, then in the order of the text."""
    labels = [(Label(diagnostic.span, ""), "^"), *((label, "-") for label in diagnostic.labels)]
    marks = [
        _Mark(label, sign, place(label.span))
        for label, sign in labels
        if label.span.source is not NOWHERE.source
    ]
    sources = list(dict.fromkeys(id(mark.label.span.source) for mark in marks))
    return sorted(marks, key=lambda m: (sources.index(id(m.label.span.source)), m.label.span.start))


def _excerpts(marks: list[_Mark], main: Span, gutter: int, paint: _Paint) -> list[str]:
    """Return the lines that have marks, each once, with the marks below."""
    lines: list[str] = []
    last: Source | None = None
    shown = 0
    for (_, line), group in groupby(marks, key=lambda mark: (id(mark.label.span.source), mark.place.line)):
        together = list(group)
        source = together[0].label.span.source
        if source is not last:
            where = place(main) if source is main.source else together[0].place
            arrow = paint.edge("-->" if source is main.source else ":::")
            if not source.text:  # a file that could not be read, or is empty
                lines.append(f"{' ' * gutter} {arrow} {visible(source.name)}")
                continue
            lines.append(f"{' ' * gutter} {arrow} {visible(source.name)}:{where.line}:{where.column}")
            lines.append(f"{' ' * gutter}  {paint.edge('|')}")
        elif line > shown + 1:
            lines.append(f"{' ' * gutter} {paint.edge('...')}")
        lines.extend(_excerpt(together, gutter, paint))
        last, shown = source, line
    return lines


def _excerpt(marks: list[_Mark], gutter: int, paint: _Paint) -> list[str]:
    """Return a line, and the marks below it."""
    window = _window(next((mark for mark in marks if mark.sign == "^"), marks[0]))
    edge, lines = paint.edge("|"), []
    for mark in marks:
        indent, width = window.under(mark.label.span)
        colour = paint.main if mark.sign == "^" else paint.edge
        said = f" {_cut(visible(mark.label.text))}" if mark.label.text else ""
        lines.append(f"{' ' * gutter}  {edge} {indent}{colour(mark.sign * width + said)}")
    return [f"{marks[0].place.line:>{gutter + 1}} {edge} {window.shown}".rstrip(), *lines]


class _Window(Struct, frozen=True):
    """The part of a line that is shown, and whether it continues on either side."""

    text: str
    first: int
    last: int
    left: str
    right: str

    @property
    def shown(self) -> str:
        return f"{self.left}{''.join(map(_shown, self._between(self.first, self.last)))}{self.right}"

    def under(self, span: Span) -> tuple[str, int]:
        """Return the blanks before a span, and its width in columns; a span outside is drawn at the edge."""
        start = min(max(span.start, self.first), self.last)
        before, inside = self._between(self.first, start), self._between(start, min(span.end, self.last))
        blanks = "".join("\t" if c == "\t" else " " * _columns(c) for c in before)
        width = sum(1 if c == "\t" else _columns(c) for c in inside)
        outside = bool(self.left) and span.end <= self.first and span.start < self.first
        return ("" if outside else " " * len(self.left)) + blanks, max(width, 1)

    def _between(self, start: int, end: int) -> str:
        return self.text[start : max(start, end)].rstrip("\r")


def _window(mark: _Mark) -> _Window:
    """Return the part of a line around a mark, or all of a short line."""
    span, where = mark.label.span, mark.place
    first, last = where.start, where.end
    if last - first > _WIDTH:
        first = max(first, min(span.start - _WIDTH // 3, last - _WIDTH))
        last = min(last, first + _WIDTH)
    left, right = "…" if first > where.start else "", "…" if last < where.end else ""
    return _Window(span.source.text, first, last, left, right)


def _shown(character: str) -> str:
    if character == "\t" or character.isprintable():
        return character
    return f"\\u{{{ord(character):x}}}"


def _columns(character: str) -> int:
    """Return the number of columns that a character takes on a terminal."""
    if not character.isprintable():
        return len(_shown(character))
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"


# ---- explanations of codes -------------------------------------------------------------------


_SECTION = re.compile(r"^## (T\d{4}) ", re.MULTILINE)


def explanation(code: str) -> str | None:
    """Return the text for a code, with its title in the first line; None for a code that does not exist.

    >>> explanation("t0206").splitlines()[0]
    'T0206 `*` outside of any `map` or `reduce`'
    """
    return _sections().get(code.upper())


def codes() -> tuple[str, ...]:
    """Return all codes, sorted."""
    return tuple(sorted(_sections()))


@cache
def _sections() -> dict[str, str]:
    _, *parts = _SECTION.split(Path(__file__).with_name("codes.md").read_text("utf-8"))
    return {code: f"{code} {text.strip()}" for code, text in zip(parts[::2], parts[1::2], strict=True)}
