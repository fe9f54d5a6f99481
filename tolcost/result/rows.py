"""The rows of a model's table: what nodes cost together, by operator, by node, or by scope as a tree."""

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

# === Nodes by the modules they come from: a tree of scopes, in which scopes that are alike are one.
#
# Pure functions over paths: what a node costs comes in as something that can be compared.


NO_SCOPE = "(no scope)"
NO_NODE = "(no node)"
"""What a model gives as it holds it."""
_NUMBER = re.compile(r"[0-9]+")


def path_of(step: GraphNode) -> tuple[str, ...]:
    """The scopes around a node: as its exporter noted them, else the first parts of its name.

    A name is split at ``/`` or, without any, at ``.``; where a node has none, its first output speaks for it.
    """
    if step.scope:
        return step.scope
    name = step.name or next((o for o in step.outputs if o), "")
    return tuple(part for part in name.split("/" if "/" in name else ".") if part)[:-1]


def scope_of(step: GraphNode, depth: int) -> str:
    """The scope of a node so many levels down."""
    path = path_of(step)[:depth]
    mark = "/" if step.scope or "/" in step.name else "."
    return mark.join(path) if path else NO_SCOPE


class ModuleScope(Struct, frozen=True):
    """A scope, or ``times`` of them that are alike: its title, all nodes below it, the scopes inside."""

    title: str
    times: int
    nodes: tuple[int, ...]
    children: tuple[ModuleScope, ...] = ()


class _Branch(Struct):
    nodes: list[int] = field(default_factory=list)
    children: dict[str, _Branch] = field(default_factory=dict)

    def below(self) -> Iterator[int]:
        """All nodes in it, those right here first."""
        yield from self.nodes
        for child in self.children.values():
            yield from child.below()


def scope_tree(paths: Iterable[Sequence[str]], costs: Sequence[Hashable | None]) -> tuple[ModuleScope, ...]:
    """Nodes as a tree; scopes whose names differ in numbers alone and whose nodes cost the same are one.

    ``costs`` tells nodes that cost the same from others, and is None for those that cost nothing.

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
    """The scopes inside of branches that are alike, those that are alike themselves as one."""
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
    """A scope that holds nothing but one other is written as one: ``model/encoder``."""
    if len(scope.children) != 1 or any(branch.nodes for branch in branches):
        return scope
    only = scope.children[0]
    return ModuleScope(f"{scope.title}/{only.title}", scope.times * only.times, scope.nodes, only.children)


# === Rows.


_WORK = keys_in("diff of operators")
"""A part without any of these costs nothing."""


class TableRow(Struct, frozen=True, eq=False):
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
    status: Certainty = "exact"
    """How sure its counts are; where some of the nodes are not costed, the others come to the amounts."""

    @property
    def partly(self) -> bool:
        """Whether some of the nodes are not costed."""
        return self.status in INCOMPLETE

    @property
    def shown(self) -> str:
        """Its title, with how many are alike."""
        title = f"{self.title} ×{self.times}" if self.times > 1 else self.title
        return f"{title}, in part" if self.partly and self.amounts[LEADING] is not None else title

    @property
    def intensity(self) -> FormRatio | None:
        """FLOPs over bytes."""
        moved, done = self.amounts["bytes"], self.amounts["flops"]
        return None if self.partly or moved is None or done is None or moved == 0 else FormRatio(done, moved)

    def map_forms(self, change: Callable[[Poly], Poly]) -> TableRow:
        """Return this row and those below with what they cost changed; parameters are held, not spent."""
        amounts = {
            key: form if form is None or key == HELD else change(form) for key, form in self.amounts.items()
        }
        return replace(
            self, amounts=amounts, children=tuple(child.map_forms(change) for child in self.children)
        )


def gathered(title: str, rows: Sequence[TableRow]) -> TableRow:
    """Several rows as one."""
    added = {key: total_known([row.amounts[key] for row in rows]) for key in AMOUNTS}
    status = least_sure(row.status for row in rows)
    return TableRow(title, sum(row.nodes for row in rows), MappingProxyType(added), status=status)


def costs_nothing(row: TableRow, measure: str | None) -> bool:
    """Whether there is nothing to show of a row: none of what is sorted by, else no function on data."""
    return all(row.amounts[key] == 0 for key in ((measure,) if measure in AMOUNTS else _WORK))


def chosen(
    rows: Sequence[TableRow], sort: str | None, top: int | None, sizes: Mapping[int, int], what: str
) -> list[TableRow]:
    """Rows in order, those that cost nothing as one, and those beyond the top as one; below each, too.

    What is not costed is not known to cost nothing: it is a row of its own, without amounts.  Last comes
    what is of no node.

    ``sizes`` are numbers to sort by, for each row by its identity; ``what`` is what rows are called.
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
    """Rows as one of that title; a single one keeps its own."""
    if rows:
        yield replace(rows[0], children=()) if len(rows) == 1 else gathered(title, rows)


def _without_amounts(row: TableRow) -> TableRow:
    """A row of which nothing is known but the parameters that it holds."""
    kept = {key: row.amounts[key] if key == HELD else None for key in AMOUNTS}
    title = row.title if row.title.endswith(" not costed") else f"{row.title}, not costed"
    return replace(row, title=title, amounts=MappingProxyType(kept))


def flat(rows: Iterable[TableRow], level: int = 0) -> Iterator[tuple[int, TableRow]]:
    """Rows with those below them after them, each with how far in it stands."""
    for row in rows:
        yield level, row
        yield from flat(row.children, level + 1)


def rows_added(tables: Sequence[Sequence[TableRow]]) -> Iterator[TableRow]:
    """Rows of the same title as one."""
    found: dict[str, list[TableRow]] = {}
    for row in (row for table in tables for row in table):
        found.setdefault(row.title, []).append(row)
    for same in found.values():
        whole, last = gathered("", same), same[-1]
        amounts = {**whole.amounts, HELD: last.amounts[HELD]}
        children = tuple(rows_added([row.children for row in same]))
        yield replace(last, amounts=amounts, children=children, status=whole.status)
