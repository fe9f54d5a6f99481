"""The lines of a program that the figures of a plan come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tolcost.algebra import ZERO
from tolcost.diagnostics import place

if TYPE_CHECKING:
    from tolcost.apps.plan.calls import CalledProgram
    from tolcost.apps.plan.plan import Plan


def lines_of(plan: Plan) -> dict[str, set[int]]:
    """Return the lines of the program that call each operator or function."""
    lines: dict[str, set[int]] = {}
    for call in (*plan.served.called.calls, *plan.served.reading.calls):
        lines.setdefault(call.kind.name, set()).add(place(call.span).line)
    return lines


def line_of(plan: Plan, name: str) -> int:
    """Return the line of the program that declares an input."""
    return place(plan.served.called.declared[name]).line


def logits_line(called: CalledProgram) -> int:
    """Return the line of the last product, which makes the logits."""
    products = (one for one in called.calls if one.kind.analysis.counts.macs != ZERO)
    return max(place(one.span).line for one in products if not one.scopes)
