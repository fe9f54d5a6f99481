"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tolcost.show.document import Column, ReportTable
from tolcost.show.tables import markdown

from .study import Errors

Cells = Sequence[object]


def table(head: Cells, lines: Iterable[Cells]) -> list[str]:
    """A table in Markdown; columns after the first are figures."""
    first, *figures = map(str, head)
    columns = (Column(first, first), *(Column(title, title, "number") for title in figures))
    return markdown((ReportTable(columns, [tuple(map(str, line)) for line in lines]),)).split("\n")


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
