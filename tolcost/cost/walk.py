"""Walking the atomic IR without recursion: regions, and the order of nodes inside one.

A *region* is what one visit of a block evaluates: every node that its bindings and its result
reach without entering another block.  Programs nest deeper than Python's stack allows, so
every walk here keeps its own stack.  Nothing here counts anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tolcost.algebra import And, Cond, Eq, Ge, Not, Or, Poly, Symbol, Truth
from tolcost.atoms.nodes import Block, Filter, Lambda, Node, Program, Select, Var, Where
from tolcost.atoms.walk import blocks, operands

Bindings: TypeAlias = dict[Var, Node]


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """The roots that one visit evaluates, and all its nodes, operands before their users."""

    roots: tuple[Node, ...]
    order: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Regions:
    """Every region of a program: those of its blocks, inner ones first, and the top one."""

    blocks: tuple[tuple[Block, Region], ...]
    top: Region

    def __iter__(self) -> Iterator[Region]:
        """Inner regions before the regions that enter them, the top region last."""
        yield from (region for _, region in self.blocks)
        yield self.top


def decided_by(node: Select) -> Cond | None:
    """Give the condition on lengths and coordinates that decides a choice; None where a node does."""
    condition = node.condition
    return condition if isinstance(condition, (Truth, Ge, Eq, And, Or, Not)) else None


def roots_of(block: Block) -> tuple[Node, ...]:
    """Give what one visit of a block evaluates."""
    return (*(node for _, node in block.bindings), block.result)


def region(roots: Iterable[Node]) -> Region:
    """Put every node that the roots reach in an order with operands first."""
    listed = tuple(roots)
    order: list[Node] = []
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(node, False) for node in reversed(listed)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in operands(node))
    return Region(listed, tuple(order))


def regions(program: Program) -> Regions:
    """Find every region of a program, each once, inner ones first."""
    top = region((*(node for _, node in program.bindings), *(out.node for out in program.outputs)))
    return Regions(inner_blocks(top), top)


def inner_blocks(top: Region) -> tuple[tuple[Block, Region], ...]:
    """Find the blocks that a region enters, directly or not, inner ones first."""
    found: list[tuple[Block, Region]] = []
    entered: set[int] = set()
    stack: list[tuple[Block, Region | None]] = [(block, None) for block in _entries(top)]
    while stack:
        block, inside = stack.pop()
        if inside is not None:
            found.append((block, inside))
        elif id(block) not in entered:
            entered.add(id(block))
            inside = region(roots_of(block))
            stack.append((block, inside))
            stack.extend((entry, None) for entry in _entries(inside))
    return tuple(found)


def _entries(inside: Region) -> Iterator[Block]:
    return (block for node in inside.order for block in blocks(node))


def bindings_of(program: Program, found: Regions) -> Bindings:
    """Give the node that each variable of a program is bound to; accumulators are not among them."""
    bound = dict(program.bindings)
    for block, _ in found.blocks:
        bound.update(block.bindings)
    return bound


def filters_of(found: Regions) -> dict[int, tuple[tuple[Symbol, Poly], ...]]:
    """Give the lengths that filters define inside each block, by its identity, with upper bounds.

    Those of inner blocks are among those of the blocks around them.
    """
    result: dict[int, tuple[tuple[Symbol, Poly], ...]] = {}
    for block, inside in found.blocks:
        lengths: dict[Symbol, Poly] = {}
        for node in inside.order:
            for entry in blocks(node):
                lengths.update(result[id(entry)])
            if isinstance(node, Filter):
                lengths[node.length] = _upper_bound(node)
        result[id(block)] = tuple(lengths.items())
    return result


def _upper_bound(node: Filter) -> Poly:
    """A filter keeps at most what there is."""
    return node.length.hi if node.length.hi is not None else node.tol.type[0].shape[0]


def applying(found: Regions) -> set[int]:
    """Give the identities of the nodes and blocks that apply some function to data."""
    result: set[int] = set()
    for block, inside in found.blocks:
        _mark(inside, result)
        if any(id(root) in result for root in inside.roots):
            result.add(id(block))
    _mark(found.top, result)
    return result


def _mark(inside: Region, result: set[int]) -> None:
    for node in inside.order:
        own = isinstance(node, (Lambda, Where)) and node.charge == "data"
        if own or any(id(part) in result for part in (*operands(node), *blocks(node))):
            result.add(id(node))
