"""The outcome of a check as Markdown, for the summary of a job or a comment.

Hosts cut, or refuse, what is long: the largest changes come first, and the text stays below the
limit of the strictest of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tolcost.check.records import Change, GateReport
from tolcost.report.gate_words import (
    QUOTED,
    cut,
    details,
    growth,
    headline,
    held_at,
    held_text,
    hints,
    verdict,
)
from tolcost.show.escape import markdown_code, markdown_text

LIMIT = 60_000
"""Bytes; a comment on GitHub holds 65,536 characters, a job summary a mebibyte."""

_LONGEST_FORM = 200
_ROOM = 2_000


def gate_markdown(report: GateReport) -> str:
    """The report as Markdown of a limited length."""
    head = f"## tolcost: {markdown_text(headline(report))}\n"
    tail = "".join(f"\n{markdown_text(line)}\n" for line in (*report.notes[:10], *hints(report)))
    sections = [*_changes(report), *_budgets(report)]
    room = LIMIT - _ROOM - len(head.encode()) - len(tail.encode())
    kept: list[str] = []
    for section in sections:
        room -= len(section.encode()) + 1
        if room < 0:
            break
        kept.append(section)
    left = len(sections) - len(kept)
    more = [f"{left:,} more are not shown here.\n"] if left else []
    return "\n".join((head, *kept, *more)) + tail


def _changes(report: GateReport) -> Iterable[str]:
    figures = sorted((c for c in report.changes if c.metric), key=lambda c: -growth(c))
    if figures:
        yield _table(["program", "metric", "verdict", "old", "new", "difference"])
    yield from (_row(change, report) for change in figures)
    for change in sorted(report.changes, key=lambda c: -growth(c)):
        lines, name = details(change), markdown_code(cut(change.name, 200))
        if not change.metric:
            yield f"\n- {name}: {markdown_text(verdict(change, report))}"
        elif lines:
            yield f"\n- {name} {change.metric}"
        yield from (f"  - {_line(line)}" for line in lines)


def _line(text: str) -> str:
    return markdown_code(text.removeprefix(QUOTED)) if text.startswith(QUOTED) else markdown_text(text)


def _table(titles: Sequence[str]) -> str:
    return f"| {' | '.join(titles)} |\n|{' --- |' * len(titles)}"


def _row(change: Change, report: GateReport) -> str:
    forms = [
        markdown_code(cut(f, _LONGEST_FORM)) if f else "" for f in (change.old, change.new, change.difference)
    ]
    said = markdown_text(verdict(change, report))
    return f"| {' | '.join((markdown_code(cut(change.name, 200)), change.metric, said, *forms))} |"


def _budgets(report: GateReport) -> Iterable[str]:
    for held in report.budgets:
        if held.kind != "within":
            said = f"{markdown_code(held.budget)} of {markdown_code(cut(held.name, 200))}: {held_text(held)}"
            numbers = held_at(held)
            yield f"\n- budget {said}" + (f"\n  - {markdown_text(numbers)}" if numbers else "")
