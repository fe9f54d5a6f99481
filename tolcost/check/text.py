"""The outcome of a check for people: text for a terminal, Markdown for the summary of a job or a comment.

Hosts cut, or refuse, what is long: in Markdown the largest changes come first, and the text stays
below the limit of the strictest of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from tolcost.check.records import CostChange, GateReport, HeldBudget, severity
from tolcost.check.words import (
    Detail,
    cut,
    details,
    growth,
    headline,
    held_at,
    held_text,
    hints,
    verdict,
)
from tolcost.show.tables import markdown_code, markdown_text

_RED, _GREEN, _BOLD, _PLAIN = "\x1b[1;31m", "\x1b[32m", "\x1b[1m", "\x1b[0m"


def gate_text(report: GateReport, colour: bool = False) -> str:
    """The report as text; what is unchanged is only counted."""
    head = headline(report)
    if colour:
        head = f"{_RED if report.exit_code else _GREEN}{head}{_PLAIN}"
    blocks = [head]
    changes = sorted(report.changes, key=lambda c: (_first(report, c.name), c.name))
    for name, group in groupby(changes, key=lambda c: c.name):
        blocks.append("\n".join(_program(name, list(group), report, colour)))
    over = [held for held in report.budgets if held.kind != "within"]
    blocks += ["\n".join(_budget(held)) for held in over]
    ending = [f"note: {cut(note, 300)}" for note in report.notes] + hints(report)
    blocks += ["\n".join(ending)] if ending else []
    return "\n\n".join(blocks) + "\n"


def _first(report: GateReport, name: str) -> int:
    """Where the worst change of a program stands."""
    return next(n for n, change in enumerate(report.changes) if change.name == name)


def _program(name: str, changes: Sequence[CostChange], report: GateReport, colour: bool) -> Iterable[str]:
    shown = cut(name, 200)
    yield f"{_BOLD}{shown}{_PLAIN}" if colour else shown
    for change in changes:
        if not change.metric:
            yield f"  {verdict(change, report)}"
            yield from (f"    {line.text}" for line in details(change))
    figures = [change for change in changes if change.metric]
    if figures:
        yield from _table([_row(change, report) for change in figures])
    seen: set[str] = set()
    for change in figures:
        if severity(change, report.new_fails) or change.why is not None or change.kind == "cheaper":
            for line in details(change):
                shown = _indented(change.metric, line)
                if shown not in seen:
                    seen.add(shown)
                    yield shown


def _indented(metric: str, line: Detail) -> str:
    before = {"numbers": f"    {metric} ", "source": "      | ", "remark": "    "}
    return f"{before[line.kind]}{line.text}"


def _row(change: CostChange, report: GateReport) -> tuple[str, ...]:
    forms = (cut(form) for form in (change.old, change.new, change.difference))
    return (change.metric, verdict(change, report), *forms)


def _table(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    titled = [("metric", "verdict", "old", "new", "difference"), *rows]
    widths = [max(len(row[column]) for row in titled) for column in range(5)]
    for row in titled:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _budget(held: HeldBudget) -> Iterable[str]:
    yield cut(held.name, 200)
    yield f"  budget {cut(held.budget, 120)}: {held_text(held)}"
    numbers = held_at(held)
    if held.actual != held.limit:
        yield f"    {held.metric} {cut(held.actual)}, allowed {cut(held.limit)}"
    if numbers is not None:
        yield f"    {numbers}"


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
        yield _markdown_table(["program", "metric", "verdict", "old", "new", "difference"])
    yield from (_markdown_row(change, report) for change in figures)
    for change in sorted(report.changes, key=lambda c: -growth(c)):
        lines, name = details(change), markdown_code(cut(change.name, 200))
        if not change.metric:
            yield f"\n- {name}: {markdown_text(verdict(change, report))}"
        elif lines:
            yield f"\n- {name} {change.metric}"
        yield from (f"  - {_line(line)}" for line in lines)


def _line(line: Detail) -> str:
    return markdown_code(line.text) if line.kind == "source" else markdown_text(line.text)


def _markdown_table(titles: Sequence[str]) -> str:
    return f"| {' | '.join(titles)} |\n|{' --- |' * len(titles)}"


def _markdown_row(change: CostChange, report: GateReport) -> str:
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
