"""Conditions of an analysis, ready to be shown: each once, with its reason and its place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tolcost.algebra import cond_text
from tolcost.atoms.nodes import Condition
from tolcost.diagnostics import NOWHERE, Span, place, visible


@dataclass(frozen=True, slots=True)
class Given:
    """A condition as text, why it is needed, and the line it comes from (None: nowhere)."""

    text: str
    reason: str
    line: int | None
    file: str = ""

    @property
    def place(self) -> str:
        """The line, and the file where it is another one."""
        if self.line is None:
            return ""
        return f"{self.file}:{self.line}" if self.file else f"line {self.line}"


def given_conditions(conditions: Iterable[Condition], file: str) -> tuple[Given, ...]:
    """Give each condition once; ``file`` is the one whose name need not be said."""
    found: dict[tuple[str, str], Given] = {}
    for condition in conditions:
        text, reason = cond_text(condition.condition), visible(condition.reason)
        found.setdefault((text, reason), Given(text, reason, *_where(condition.span, file)))
    return tuple(found.values())


def _where(span: Span, file: str) -> tuple[int | None, str]:
    if span.source is NOWHERE.source:
        return None, ""
    name = span.source.name
    return place(span).line, "" if name == file else visible(name)
