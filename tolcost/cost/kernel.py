"""Whether a program is one kernel: a single loop whose steps do not wait for one another.

Recorded times are of such kernels.  A reduction is one, as its steps can be grouped in any way.  A fold that
hands on a ToL, or a number that is not merely added to, is not: each of its steps waits for the one before.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from tolcost.algebra import Poly, atom
from tolcost.atoms.kit import (
    blocks,
    bound_nodes,
    children,
    inner_nodes,
    is_numeric,
    is_ref,
    parts_first,
    resolve_name,
    roots,
    schedules,
)
from tolcost.atoms.nodes import Build, Fold, Lambda, Member, Node, Program, Ref, Var, Where
from tolcost.cost.span import tree_element
from tolcost.elementary import FUNCTIONS

Obstacle = Literal["number", "list", "vector", "matrix", "ToL", "loops"]
"""What makes a program more than one kernel: the value that a fold carries along, or loops in a row."""

_CARRIED: tuple[Obstacle, ...] = ("number", "list", "vector", "matrix", "ToL")
"""What a fold may carry, the largest last."""
_BY_RANK: tuple[Obstacle, ...] = ("list", "vector", "matrix")


@lru_cache(maxsize=1 << 8)
def carried(program: Program) -> Obstacle | None:
    """Return the largest value for which steps of a fold wait; None where no step waits for another."""
    bound = bound_nodes(program, schedules(program))
    folds = (node for node in inner_nodes(roots(program), bound) if isinstance(node, Fold))
    found = [_carried(node) for node in folds if _waits(node, bound)]
    return max(found, key=_CARRIED.index, default=None)


def obstacle(program: Program) -> Obstacle | None:
    """Return why a program is not one kernel; None if it is one."""
    return carried(program) or ("loops" if _in_a_row(program) > 1 else None)


def _carried(fold: Fold) -> Obstacle:
    if is_numeric(fold.type):
        return "number"
    rank = max(len(part.shape) for part in fold.type)
    return _BY_RANK[rank] if rank < len(_BY_RANK) else "ToL"


def _waits(fold: Fold, bound: dict[Var, Node]) -> bool:
    """Whether each step of a fold needs the result of the one before, other than to add to it."""
    if tree_element(fold, bound) is not None or (is_numeric(fold.type) and not _computes(fold)):
        return False
    step = resolve_name(fold.body.result, bound)
    own: tuple[Poly, ...] = ()
    if isinstance(step, Build):
        own, step = tuple(map(atom, step.coords)), resolve_name(step.body.result, bound)
    if fold.ends is not None or not isinstance(step, Lambda) or len(step.args) != 2:
        return True
    accumulated = [_is_element(arg, own, fold.accumulator, bound) for arg in step.args]
    grouped = FUNCTIONS[step.function].associative or (step.function == "sub" and accumulated[0])
    if not grouped or sum(accumulated) != 1:
        return True
    added = step.args[accumulated.index(False)]
    return any(is_ref(node, fold.accumulator) for node in inner_nodes((added,), bound))


def _is_element(arg: Node, own: tuple[Poly, ...], accumulator: Var, bound: dict[Var, Node]) -> bool:
    """Whether a node is the accumulator, or its element at the coordinates of the loop over all of them."""
    node = resolve_name(arg, bound)
    if isinstance(node, Member) and own:
        return is_ref(node.tol, accumulator) and node.at == own
    return isinstance(node, Ref) and not own and node.var is accumulator


def _computes(loop: Build | Fold) -> bool:
    """Whether a loop applies a function to data."""
    inside = inner_nodes(roots(loop.body))
    return any(isinstance(node, Lambda | Where) and node.charge == "data" for node in inside)


def _in_a_row(program: Program) -> int:
    """Return how many loops that apply functions to data read, at most, what another of them makes."""
    bound, levels = dict(program.bindings), dict[Node, int]()
    outputs = [out.node for out in program.outputs]
    for node in parts_first(outputs, lambda node: _needed(node, bound)):
        own = isinstance(node, Build | Fold) and _computes(node)
        levels[node] = own + max((levels[one] for one in _needed(node, bound)), default=0)
    return max((levels[node] for node in outputs), default=0)


def _needed(node: Node, bound: dict[Var, Node]) -> list[Node]:
    """Return the operands of a node, and the values with a name that it or its blocks read."""
    inside = [one for block in blocks(node) for one in inner_nodes(roots(block))]
    named = (one.var for one in (node, *inside) if isinstance(one, Ref))
    return [*children(node), *(bound[var] for var in dict.fromkeys(named) if var in bound)]
