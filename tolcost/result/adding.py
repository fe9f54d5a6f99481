"""Figures and rows changed form by form, and several of them added up."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from tolcost.algebra import ZERO, Poly, total_of
from tolcost.cost.record import traffic_with
from tolcost.cost.traffic import Traffic
from tolcost.result.claims import Certainty
from tolcost.result.rows import AMOUNTS, TableRow
from tolcost.result.study import Figures

_K = TypeVar("_K", bound=Hashable)
_CERTAINTIES: tuple[Certainty, ...] = ("lower bound", "upper bound", "depends on data", "exact")


def figures_with(figures: Figures, change: Callable[[Poly], Poly]) -> Figures:
    """Figures with every form changed."""
    return Figures(
        histogram={key: change(form) for key, form in figures.histogram.items()},
        index={key: change(form) for key, form in figures.index.items()},
        atoms={key: change(form) for key, form in figures.atoms.items()},
        macs=change(figures.macs),
        flops=change(figures.flops),
        traffic=traffic_with(figures.traffic, change),
        status=figures.status,
    )


def combined(parts: Sequence[Figures]) -> Figures:
    """Several figures added up; the status is the least sure one."""
    moved = [part.traffic for part in parts]
    read, written, least = (
        _added(maps)
        for maps in ([t.read for t in moved], [t.written for t in moved], [t.certain for t in moved])
    )
    unsized = tuple(sorted({space for one in moved for space in one.unsized}))
    statuses = {part.status for part in parts}
    return Figures(
        histogram=_added([part.histogram for part in parts]),
        index=_added([part.index for part in parts]),
        atoms=_added([part.atoms for part in parts]),
        macs=total_of(part.macs for part in parts),
        flops=total_of(part.flops for part in parts),
        traffic=Traffic(read, written, unsized, any(one.open for one in moved), least),
        status=next(status for status in _CERTAINTIES if status in statuses),
    )


def _added(maps: Sequence[Mapping[_K, Poly]]) -> dict[_K, Poly]:
    keys = dict.fromkeys(key for one in maps for key in one)
    return {key: total_of(one.get(key, ZERO) for one in maps) for key in keys}


def row_with(row: TableRow, change: Callable[[Poly], Poly]) -> TableRow:
    """A row with its amounts changed; parameters are held, not spent."""
    amounts = {
        key: form if form is None or key == "parameters" else change(form)
        for key, form in row.amounts.items()
    }
    return replace(row, amounts=amounts, children=tuple(row_with(child, change) for child in row.children))


def rows_added(tables: Sequence[Sequence[TableRow]]) -> Iterator[TableRow]:
    """Rows of the same title as one."""
    found: dict[str, list[TableRow]] = {}
    for row in (row for table in tables for row in table):
        found.setdefault(row.title, []).append(row)
    for same in found.values():
        amounts = {key: _sum([row.amounts[key] for row in same]) for key in AMOUNTS}
        amounts["parameters"] = same[-1].amounts["parameters"]
        children = tuple(rows_added([row.children for row in same]))
        yield replace(same[-1], amounts=amounts, children=children)


def _sum(forms: Sequence[Poly | None]) -> Poly | None:
    known = [form for form in forms if form is not None]
    return total_of(known) if len(known) == len(forms) else None
