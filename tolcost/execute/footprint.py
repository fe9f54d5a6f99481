"""How many elements a block needs at a time on a grid, told before it is evaluated."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from tolcost.algebra import Cond, Poly, symbols_of_cond
from tolcost.atoms.nodes import Member, Node, Number, Put, Ref, Table
from tolcost.atoms.walk import Schedule, blocks
from tolcost.execute.grid import Grid

if TYPE_CHECKING:
    from tolcost.execute.machine import Machine


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
    """Give the axes a node varies along by itself; what contains blocks may vary along all."""
    if blocks(node):
        return frozenset(range(grid.depth))
    match node:
        case Ref(var=var):
            return bound[var] if var in bound else _places_of_value(machine, node)
        case Number(value=Poly() as value):
            return _places_of(value, grid)
        case Number(value=value):
            known = symbols_of_cond(value) if isinstance(value, Cond) else frozenset()
            return frozenset(grid.places[symbol] for symbol in known if symbol in grid.places)
        case Table():
            return frozenset(range(grid.depth))
        case Member(at=at) | Put(at=at):
            return frozenset().union(*(_places_of(index, grid) for index in at if isinstance(index, Poly)))
        case _:
            return frozenset()


def _places_of(p: Poly, grid: Grid) -> frozenset[int]:
    return frozenset(grid.places[symbol] for symbol in p.free if symbol in grid.places)


def _places_of_value(machine: Machine, node: Ref) -> frozenset[int]:
    value = machine.vars[node.var]
    return frozenset(
        place for piece in value.pieces for place in range(value.depth) if piece.data.shape[place] > 1
    )
