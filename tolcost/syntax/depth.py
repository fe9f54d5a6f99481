"""How deep a tree is, found without recursion."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from tolcost.syntax.tree import Expr, Statement


def deepest(statement: Statement, limit: int) -> Statement | Expr | None:
    """A node that lies deeper than ``limit`` in a statement, or None."""
    level: list[Any] = [statement]
    for _ in range(limit):
        level = [child for node in level for child in children(node)]
        if not level:
            return None
    return level[0] if level else None


def children(node: Any) -> list[Any]:
    """The nodes right below a node, in the order in which they are written."""
    found: list[Any] = []
    for name in _parts(node.__class__):
        _collect(getattr(node, name), found)
    return found


def _collect(value: Any, found: list[Any]) -> None:
    if isinstance(value, tuple):
        for item in value:
            _collect(item, found)
    elif hasattr(value, "span"):
        found.append(value)


@cache
def _parts(kind: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind) if f.name != "span")
