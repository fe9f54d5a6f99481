"""The outcome of a check for people at a terminal: one line that says it, then what changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from tolcost.check.records import Change, GateReport, Held, severity
from tolcost.report.gate_words import QUOTED, cut, details, headline, held_at, held_text, hints, verdict

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


def _program(name: str, changes: Sequence[Change], report: GateReport, colour: bool) -> Iterable[str]:
    shown = cut(name, 200)
    yield f"{_BOLD}{shown}{_PLAIN}" if colour else shown
    for change in changes:
        if not change.metric:
            yield f"  {verdict(change, report)}"
            yield from (f"    {line}" for line in details(change))
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


def _indented(metric: str, line: str) -> str:
    if line.startswith(QUOTED):
        return f"      {line}"
    return f"    {metric} {line}" if line.startswith("at ") else f"    {line}"


def _row(change: Change, report: GateReport) -> tuple[str, ...]:
    forms = (cut(form) for form in (change.old, change.new, change.difference))
    return (change.metric, verdict(change, report), *forms)


def _table(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    titled = [("metric", "verdict", "old", "new", "difference"), *rows]
    widths = [max(len(row[column]) for row in titled) for column in range(5)]
    for row in titled:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _budget(held: Held) -> Iterable[str]:
    yield cut(held.name, 200)
    yield f"  budget {cut(held.budget, 120)}: {held_text(held)}"
    numbers = held_at(held)
    if held.actual != held.limit:
        yield f"    {held.metric} {cut(held.actual)}, allowed {cut(held.limit)}"
    if numbers is not None:
        yield f"    {numbers}"
