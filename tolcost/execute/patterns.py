"""Recognising folds that NumPy can do at once.

A fold whose step is ``f(accumulator, e)``, with f associative and e free of the accumulator,
is a reduction of e over the fold's coordinates.  The step may stand under a static guard that
otherwise leaves the accumulator alone.  If f adds and e is a product, it is a contraction.
"""

from __future__ import annotations

from dataclasses import dataclass

from tolcost.algebra import Cond
from tolcost.atoms.nodes import Block, Fold, Lambda, Node, Ref, Select, Var
from tolcost.atoms.walk import Schedule, blocks, operands, schedule
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import kind_of

REDUCIBLE = frozenset(("add", "mul", "max", "min", "and", "or", "xor"))


@dataclass(frozen=True, slots=True)
class Reduction:
    """How to do a fold at once.

    ``outside`` are the bindings made at every point.  Where the guard holds (or does not, if
    not ``on_true``), ``inside`` gives e, or the two factors of e if ``product`` is the
    multiplication that makes it.
    """

    step: Lambda
    outside: Schedule
    condition: Cond | None
    on_true: bool
    inside: Schedule
    product: Lambda | None


def recognise(fold: Fold) -> Reduction | None:
    """Find out whether a fold is a reduction; ``None`` if it has to be done step by step."""
    if len(fold.type) != 1 or fold.type[0].shape:
        return None
    found = _guarded_step(fold.body, fold.accumulator)
    if found is None:
        return None
    condition, on_true, block = found
    if not isinstance(block.result, Lambda) or not _is_reducible(block.result, fold):
        return None
    element = _element(block.result, fold.accumulator)
    if element is None:
        return None
    outer = fold.body.bindings if block is not fold.body else ()
    needed = [*(node for _, node in (*outer, *block.bindings)), element]
    if _mentions(needed, fold.accumulator):
        return None
    product = _product(element, block.result)
    inside = schedule(block.bindings, product.args if product is not None else (element,))
    return Reduction(block.result, schedule(outer, ()), condition, on_true, inside, product)


def _guarded_step(body: Block, accumulator: Var) -> tuple[Cond | None, bool, Block] | None:
    """Give the block of the step, and the guard it stands under if there is one."""
    result = body.result
    if not isinstance(result, Select):
        return None, True, body
    if isinstance(result.condition, Node):
        return None
    if _is_accumulator(result.other.result, accumulator) and not result.other.bindings:
        return result.condition, True, result.then
    if _is_accumulator(result.then.result, accumulator) and not result.then.bindings:
        return result.condition, False, result.other
    return None


def _is_accumulator(node: Node, accumulator: Var) -> bool:
    return isinstance(node, Ref) and node.var is accumulator


def _is_reducible(step: Lambda, fold: Fold) -> bool:
    """The function must be associative, and no step may change the space."""
    space = fold.accumulator.type[0].space
    if step.function not in REDUCIBLE or not space == step.space == step.type[0].space == fold.type[0].space:
        return False
    logical = FUNCTIONS[step.function].rule == "logic"
    return kind_of(space) in (("B", "Z") if logical else ("Z", "R", "C"))


def _element(step: Lambda, accumulator: Var) -> Node | None:
    """Give the argument that is not the accumulator; all these functions commute."""
    left, right = step.args
    if _is_accumulator(left, accumulator):
        return right
    return left if _is_accumulator(right, accumulator) else None


def _product(element: Node, step: Lambda) -> Lambda | None:
    if step.function != "add" or not isinstance(element, Lambda) or element.function != "mul":
        return None
    return element if element.space == element.type[0].space == step.space else None


def _mentions(roots: list[Node], var: Var) -> bool:
    """Look for a variable in nodes and everything inside them."""
    seen: set[Node] = set()
    pending = list(roots)
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if _is_accumulator(node, var):
            return True
        pending.extend(operands(node))
        for block in blocks(node):
            pending.extend(inner for _, inner in block.bindings)
            pending.append(block.result)
    return False
