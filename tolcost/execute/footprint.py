"""How many elements a block needs at a time on a grid, told before it is evaluated."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tolcost.atoms.nodes import Node, Ref
from tolcost.atoms.symbols import own_symbols
from tolcost.atoms.walk import Schedule, blocks, inner_nodes
from tolcost.execute.batch import Batch
from tolcost.execute.grid import Grid

if TYPE_CHECKING:
    from tolcost.execute.machine import Machine


_NOTHING = Batch((), 0)


def footprint(machine: Machine, plan: Schedule, grid: Grid) -> int:
    """Give the largest number of elements any step makes, looking at what it depends on.

    A value that varies along few axes is small even on a large grid.
    """
    places: list[frozenset[int]] = []
    bound: dict[object, frozenset[int]] = {}
    largest = 1
    for step in plan.steps:
        own = _own_places(machine, step.node, bound, grid)
        needed = own.union(*(places[k] for k in step.operands))
        places.append(needed)
        bound.update(dict.fromkeys(step.binds, needed))
        largest = max(largest, prod(grid.axes[place].size for place in needed))
    return largest


def _own_places(
    machine: Machine, node: Node, bound: dict[object, frozenset[int]], grid: Grid
) -> frozenset[int]:
    """Give the axes a node varies along by itself, or through the blocks inside it."""
    found = _plain_places(machine, node, bound, grid)
    for block in blocks(node):
        for inner in inner_nodes([*(bound_node for _, bound_node in block.bindings), block.result]):
            found |= _plain_places(machine, inner, bound, grid)
    return found


def _plain_places(
    machine: Machine, node: Node, bound: dict[object, frozenset[int]], grid: Grid
) -> frozenset[int]:
    found = frozenset(grid.places[symbol] for symbol in own_symbols(node) if symbol in grid.places)
    if isinstance(node, Ref):
        found |= bound[node.var] if node.var in bound else _places_of_value(machine, node, grid)
    return found


def _places_of_value(machine: Machine, node: Ref, grid: Grid) -> frozenset[int]:
    """Look at the value itself; one left over from a deeper grid tells only about this one."""
    value = machine.vars.get(node.var, _NOTHING)
    return frozenset(
        place
        for piece in value.pieces
        for place in range(min(value.depth, grid.depth))
        if piece.data.shape[place] > 1
    )
