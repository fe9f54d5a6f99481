"""Nodes by the modules they come from: a tree of scopes, in which scopes that are alike are one.

Pure functions over paths: what a node costs comes in as something that can be compared.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence

from tolcost.catalogue.graph import GraphNode
from tolcost.dataclass import dataclass, field

NO_SCOPE = "(no scope)"
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


@dataclass(frozen=True, slots=True)
class ModuleScope:
    """A scope, or ``times`` of them that are alike: its title, all nodes below it, the scopes inside."""

    title: str
    times: int
    nodes: tuple[int, ...]
    children: tuple[ModuleScope, ...] = ()


@dataclass(slots=True)
class _Branch:
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


def flattened(scopes: Iterable[ModuleScope], depth: int, level: int = 0) -> Iterator[tuple[int, ModuleScope]]:
    """Scopes with those inside of them below, so many levels down, each with how far in it stands."""
    for scope in scopes:
        yield level, scope
        if level + 1 < depth:
            yield from flattened(scope.children, depth, level + 1)
