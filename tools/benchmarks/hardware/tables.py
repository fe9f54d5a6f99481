"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .study import Errors

Cells = Sequence[object]


def table(head: Cells, lines: Iterable[Cells]) -> list[str]:
    """A table in Markdown; columns after the first are figures."""
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return [f"| {' | '.join(map(str, line))} |" for line in (head, rule, *lines)] + [""]


def error_table(what: str, found: Mapping[str, Errors]) -> list[str]:
    """Errors, a line for each predictor."""
    head = (what, "points", "median error", "within 10 %", "within 15 %", "within 50 %")
    return table(
        head,
        (
            (
                name,
                e.count,
                f"{e.median:.1%}",
                f"{e.within_10:.0%}",
                f"{e.within_15:.0%}",
                f"{e.within_50:.0%}",
            )
            for name, e in found.items()
        ),
    )
