"""The rows of a model's table: what nodes cost together, by operator, by node, or by scope as a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from tolcost.algebra import ZERO, Poly, total_of
from tolcost.cost.record import FormRatio
from tolcost.dataclass import dataclass, field, replace

AMOUNTS = ("eops", "flops", "macs", "bytes", "parameters")
"""What adds up."""


@dataclass(frozen=True, slots=True, eq=False)
class TableRow:
    """Some nodes, what they come to, and the rows below it; ``times`` of them are alike.

    ``op``, ``type`` and ``shape`` are there where the nodes have them in common.  An amount is None where
    it is not known.
    """

    title: str
    nodes: int
    amounts: Mapping[str, Poly | None]
    op: str = ""
    type: str = ""
    shape: str = ""
    ops: Mapping[str, int] = field(default_factory=dict)
    """How often each operator is applied that costs something, of a scope."""
    times: int = 1
    children: tuple[TableRow, ...] = ()

    @property
    def shown(self) -> str:
        """Its title, with how many are alike."""
        return f"{self.title} ×{self.times}" if self.times > 1 else self.title

    @property
    def intensity(self) -> FormRatio | None:
        """FLOPs over bytes."""
        moved, done = self.amounts["bytes"], self.amounts["flops"]
        return None if moved is None or done is None or moved == 0 else FormRatio(done, moved)


def gathered(title: str, rows: Sequence[TableRow]) -> TableRow:
    """Several rows as one."""
    added = {key: _added([row.amounts[key] for row in rows]) for key in AMOUNTS}
    return TableRow(title, sum(row.nodes for row in rows), MappingProxyType(added))


def _added(amounts: Iterable[Poly | None]) -> Poly | None:
    known = list(amounts)
    found = [amount for amount in known if amount is not None]
    return None if len(found) < len(known) else total_of(found) if found else ZERO


def costs_nothing(row: TableRow, measure: str | None) -> bool:
    """Whether there is nothing to show of a row: none of what is sorted by, else no function on data."""
    keys = (measure,) if measure in AMOUNTS else ("eops", "macs")
    return all(row.amounts[key] == 0 for key in keys)


@dataclass(frozen=True, slots=True)
class Choice:
    """Which rows are shown: the first so many of those that cost something, largest first."""

    sort: str | None = None
    top: int | None = None


def chosen(rows: Sequence[TableRow], choice: Choice, sizes: Mapping[int, int], what: str) -> list[TableRow]:
    """Rows in order, those that cost nothing as one, and those beyond the top as one; below each, too.

    ``sizes`` are numbers to sort by, for each row by its identity; ``what`` is what rows are called.
    """
    kept = [row for row in rows if not costs_nothing(row, choice.sort)]
    free = [row for row in rows if costs_nothing(row, choice.sort)]
    if choice.sort == "name":
        kept.sort(key=lambda row: row.title)
    elif choice.sort is not None:
        kept.sort(key=lambda row: -sizes[id(row)])
    shown = [replace(row, children=tuple(chosen(row.children, choice, sizes, what))) for row in kept]
    rest = shown[choice.top :] if choice.top is not None else []
    shown = shown[: len(shown) - len(rest)]
    shown += [gathered(f"{len(rest):,} more", rest)] if rest else []
    if len(free) == 1:
        return [*shown, replace(free[0], children=())]
    title = f"{len(free):,} {what} without {_missing(choice.sort)}"
    return [*shown, *([gathered(title, free)] if free else [])]


def _missing(measure: str | None) -> str:
    """What rows lack; without EOPs they cost nothing."""
    return {"flops": "FLOPs", "macs": "MACs", "bytes": "bytes", "parameters": "parameters"}.get(
        measure or "", "cost"
    )


def flat(rows: Iterable[TableRow], level: int = 0) -> Iterator[tuple[int, TableRow]]:
    """Rows with those below them after them, each with how far in it stands."""
    for row in rows:
        yield level, row
        yield from flat(row.children, level + 1)


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
        amounts = {key: _added([row.amounts[key] for row in same]) for key in AMOUNTS}
        amounts["parameters"] = same[-1].amounts["parameters"]
        children = tuple(rows_added([row.children for row in same]))
        yield replace(same[-1], amounts=amounts, children=children)
