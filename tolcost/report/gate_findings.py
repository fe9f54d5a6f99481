"""What a check found, as machines want it: one finding per problem, with a rule, a level and a place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from tolcost.check.records import FINE, UNDECIDED, Change, GateReport, Held, severity
from tolcost.report.gate_words import QUOTED, cut, details, held_at, held_text, verdict

Level = Literal["error", "warning", "note"]

RULES = {
    "costlier": "A program costs more than before.",
    "crosses": "A program costs more than before at some shapes.",
    "undecided": "Whether a program costs more than before is not proved.",
    "new": "A program is not in the lock file.",
    "gone": "A program of the lock file is not there any more.",
    "renamed": "A program has another name than in the lock file.",
    "cheaper": "A program costs less than the lock file says.",
    "broken": "A program cannot be read.",
    "budget": "A program exceeds its budget.",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem; ``why`` where someone accepted it."""

    rule: str
    level: Level
    program: str
    file: str
    line: int
    title: str
    message: str
    why: str | None = None

    @property
    def fingerprint(self) -> str:
        """The same for the same problem of the same program, wherever its line moves."""
        return sha256("\0".join((self.rule, self.program, self.title)).encode("utf-8", "replace")).hexdigest()


def findings(report: GateReport) -> Iterator[Finding]:
    """The problems of a check, the worst first; what was accepted comes as notes."""
    for change in report.changes:
        code = severity(change, report.new_fails, report.strict)
        if code != FINE or change.why is not None:
            level: Level = "note" if change.why is not None else "warning" if code == UNDECIDED else "error"
            yield _of_change(change, report, level)
    for held in report.budgets:
        if held.kind != "within":
            yield _of_budget(held)


def _of_change(change: Change, report: GateReport, level: Level) -> Finding:
    figure = f" {change.metric}" if change.metric else ""
    forms = f"was {cut(change.old)}, is {cut(change.new)}" if change.metric and change.old else ""
    said = [line for line in details(change) if not line.startswith(QUOTED)]
    message = "; ".join(part for part in (verdict(change, report), forms, *said) if part)
    place = change.place
    known = place is not None and place.file == change.file
    return Finding(
        rule=change.kind,
        level=level,
        program=change.name,
        file=change.file or change.name,
        line=place.line if place is not None and known and place.line > 0 else 1,
        title=f"{cut(change.name, 200)}{figure}",
        message=message,
        why=change.why,
    )


def _of_budget(held: Held) -> Finding:
    numbers = held_at(held)
    message = f"budget {cut(held.budget, 200)}: {held_text(held)}" + (f"; {numbers}" if numbers else "")
    level: Level = "warning" if held.kind == "undecided" else "error"
    title = f"{cut(held.name, 200)} {held.metric} budget {cut(held.budget, 120)}"
    return Finding("budget", level, held.name, held.name.partition("#")[0], 1, title, message)
