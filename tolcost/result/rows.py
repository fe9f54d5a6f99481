"""The rows of a model's table: the costs of nodes by operator, by node, or by scope as a tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import Poly, total_known
from tolcost.certainty import INCOMPLETE, Certainty, least_sure
from tolcost.cost.record import FormRatio
from tolcost.result.metrics import AMOUNTS, HELD, LEADING, TITLES, keys_in

if TYPE_CHECKING:
    from tolcost.catalogue.graph import GraphNode

# === Nodes by the modules they come from: a tree of scopes, in which equal scopes are merged.
#
# Pure functions over paths: the cost of a node is any value that can be compared.


NO_SCOPE = "(no scope)"
NO_NODE = "(no node)"
"""The title of the row for parameters that a model returns and no node uses."""
_NUMBER = re.compile(r"[0-9]+")


def scope_of(step: GraphNode, depth: int) -> str:
    """Return the scope of a node, cut to ``depth`` levels."""
    path = step.path[:depth]
    mark = "/" if step.scope or "/" in step.name else "."
    return mark.join(path) if path else NO_SCOPE


class ModuleScope(Struct, frozen=True):
    """A scope, or ``times`` equal ones: its title, all nodes below it, and the scopes inside."""

    title: str
    times: int
    nodes: tuple[int, ...]
    children: tuple[ModuleScope, ...] = ()


class _Branch(Struct):
    nodes: list[int] = field(default_factory=list)
    children: dict[str, _Branch] = field(default_factory=dict)

    def below(self) -> Iterator[int]:
        """Yield all nodes in it, those outside of its children first."""
        yield from self.nodes
        for child in self.children.values():
            yield from child.below()


def scope_tree(paths: Iterable[Sequence[str]], costs: Sequence[Hashable | None]) -> tuple[ModuleScope, ...]:
    """Arrange nodes in a tree; scopes that differ only in the numbers of their names are merged.

    Merged scopes also have nodes of equal cost.  ``costs`` has equal entries for nodes of equal cost, and
    None for nodes that cost nothing.

    >>> for scope in scope_tree([("layer.0",), ("layer.1",), ("layer.2",)], [7, 7, 8]):
    ...     print(scope.title, scope.times, scope.nodes)
    layer.* 2 (0, 1)
    layer.2 1 (2,)
    """
    root = _Branch()
    for n, path in enumerate(paths):
        at = root
        for part in path:
            at = at.children.setdefault(part, _Branch())
        at.nodes.append(n)
    outside = (ModuleScope(NO_SCOPE, 1, tuple(root.nodes)),) if root.nodes else ()
    return (*_folded([root], costs), *outside)


def _folded(alike: Sequence[_Branch], costs: Sequence[Hashable | None]) -> Iterator[ModuleScope]:
    """Yield the scopes inside of equal branches, with equal ones merged."""
    groups: dict[tuple[str, Hashable], dict[str, list[_Branch]]] = {}
    for branch in alike:
        for title, child in branch.children.items():
            key = (_NUMBER.sub("*", title), _signature(child, costs))
            groups.setdefault(key, {}).setdefault(title, []).append(child)
    for (kind, _), named in groups.items():
        found = [child for children in named.values() for child in children]
        nodes = tuple(n for child in found for n in child.below())
        title = kind if len(named) > 1 else next(iter(named))
        times = -(-len(found) // len(alike))
        yield _shortened(ModuleScope(title, times, nodes, tuple(_folded(found, costs))), found)


def _signature(branch: _Branch, costs: Sequence[Hashable | None]) -> Hashable:
    return frozenset(Counter(costs[n] for n in branch.below() if costs[n] is not None).items())


def _shortened(scope: ModuleScope, branches: Sequence[_Branch]) -> ModuleScope:
    """Merge a scope with its only child, if it has no other nodes: ``model/encoder``."""
    if len(scope.children) != 1 or any(branch.nodes for branch in branches):
        return scope
    only = scope.children[0]
    return ModuleScope(f"{scope.title}/{only.title}", scope.times * only.times, scope.nodes, only.children)


# === Rows.


_WORK = keys_in("diff of operators")
"""A part with none of these metrics costs nothing."""


class TableRow(Struct, frozen=True, eq=False):
    """Some nodes, their amounts, and the rows below; ``times`` of them are equal.

    ``op`` is set if the nodes have it in common; ``type`` and ``shape`` are those of what the nodes give to
    others, if all of it has the same.  An amount is None if it is not known.
    """

    title: str
    nodes: int
    amounts: Mapping[str, Poly | None]
    op: str = ""
    type: str = ""
    shape: str = ""
    ops: Mapping[str, int] = field(default_factory=dict)
    """For a scope, the number of applications of each operator that costs something."""
    times: int = 1
    children: tuple[TableRow, ...] = ()
    status: Certainty = "exact"
    """The certainty of its counts; nodes that are not costed do not contribute to the amounts."""

    @property
    def partly(self) -> bool:
        """Whether some of the nodes are not costed."""
        return self.status in INCOMPLETE

    @property
    def shown(self) -> str:
        """Its title, with the number of equal scopes."""
        title = f"{self.title} ×{self.times}" if self.times > 1 else self.title
        return f"{title}, in part" if self.partly and self.amounts[LEADING] is not None else title

    @property
    def intensity(self) -> FormRatio | None:
        """FLOPs over bytes; None if it is not known."""
        moved, done = self.amounts["bytes"], self.amounts["flops"]
        return None if self.partly or moved is None or done is None or moved == 0 else FormRatio(done, moved)

    def map_forms(self, change: Callable[[Poly], Poly]) -> TableRow:
        """Return this row and those below with their costs changed; parameters are held, so they stay."""
        amounts = {
            key: form if form is None or key == HELD else change(form) for key, form in self.amounts.items()
        }
        return replace(
            self, amounts=amounts, children=tuple(child.map_forms(change) for child in self.children)
        )


def gathered(title: str, rows: Sequence[TableRow]) -> TableRow:
    """Add up several rows in one."""
    added = {key: total_known([row.amounts[key] for row in rows]) for key in AMOUNTS}
    status = least_sure(row.status for row in rows)
    return TableRow(title, sum(row.nodes for row in rows), MappingProxyType(added), status=status)


def costs_nothing(row: TableRow, measure: str | None) -> bool:
    """Whether a row has nothing to show: 0 of the measure that rows are sorted by, or no counts at all."""
    return all(row.amounts[key] == 0 for key in ((measure,) if measure in AMOUNTS else _WORK))


def chosen(
    rows: Sequence[TableRow], sort: str | None, top: int | None, sizes: Mapping[int, int], what: str
) -> list[TableRow]:
    """Sort rows, and gather those that cost nothing in one and those beyond the top in one, at all levels.

    A part that is not costed may cost something: it has a row of its own, without amounts.  Rows without
    nodes come last.

    ``sizes`` are numbers to sort by, for each row by its identity; ``what`` names the rows in titles.
    """
    outside = [row for row in rows if not row.nodes and sort != HELD]
    kept = [row for row in rows if not costs_nothing(row, sort)]
    nothing = [row for row in rows if row not in outside and costs_nothing(row, sort)]
    free = [row for row in nothing if not row.partly]
    unknown = [row for row in nothing if row.partly]
    if sort == "name":
        kept.sort(key=lambda row: row.title)
    elif sort is not None:
        kept.sort(key=lambda row: -sizes[id(row)])
    shown = [replace(row, children=tuple(chosen(row.children, sort, top, sizes, what))) for row in kept]
    rest = shown[top:] if top is not None else []
    shown = shown[: len(shown) - len(rest)]
    shown += [gathered(f"{len(rest):,} more", rest)] if rest else []
    shown += map(_without_amounts, _as_one(f"{len(unknown):,} {what} not costed", unknown))
    lacking = "cost" if sort not in AMOUNTS or sort == LEADING else TITLES.get(sort, sort)
    shown += _as_one(f"{len(free):,} {what} without {lacking}", free)
    return [*shown, *outside]


def _as_one(title: str, rows: Sequence[TableRow]) -> Iterator[TableRow]:
    """Gather rows under a title; a single row keeps its own."""
    if rows:
        yield replace(rows[0], children=()) if len(rows) == 1 else gathered(title, rows)


def _without_amounts(row: TableRow) -> TableRow:
    """Return a row of which only the parameters are known."""
    kept = {key: row.amounts[key] if key == HELD else None for key in AMOUNTS}
    title = row.title if row.title.endswith(" not costed") else f"{row.title}, not costed"
    return replace(row, title=title, amounts=MappingProxyType(kept))


def flat(rows: Iterable[TableRow], level: int = 0) -> Iterator[tuple[int, TableRow]]:
    """Yield each row before the rows below it, with its level."""
    for row in rows:
        yield level, row
        yield from flat(row.children, level + 1)


def rows_added(tables: Sequence[Sequence[TableRow]]) -> Iterator[TableRow]:
    """Add up rows of one title; parameters are held once, so those of the last row are kept."""
    found: dict[str, list[TableRow]] = {}
    for row in (row for table in tables for row in table):
        found.setdefault(row.title, []).append(row)
    for same in found.values():
        whole, last = gathered("", same), same[-1]
        amounts = {**whole.amounts, HELD: last.amounts[HELD]}
        children = tuple(rows_added([row.children for row in same]))
        yield replace(last, amounts=amounts, children=children, status=whole.status)
