"""Recognising folds that NumPy can do at once.

A fold whose step is ``f(accumulator, e)``, with f associative and e free of the accumulator,
is a reduction of e over the fold's coordinates.  The step may stand under a static guard that
otherwise leaves the accumulator alone.  If f adds and e is a product, it is a contraction.  What is
subtracted one by one is added up first, and subtracted then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tolcost.algebra import Cond, Poly
from tolcost.atoms.nodes import Block, Build, Fold, Lambda, Member, Node, Ref, Select, Var
from tolcost.atoms.walk import Schedule, blocks, inner_nodes, operands, schedule
from tolcost.elementary import FUNCTIONS
from tolcost.spaces import kind_of

GATHERED = {name: name for name in ("add", "mul", "max", "min", "and", "or", "xor")} | {"sub": "add"}
"""The functions a fold may apply, and by which of them its elements may be brought together first."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """How to do a fold at once.

    ``outside`` are the bindings made at every point.  Where the guard holds (or does not, if
    not ``on_true``), ``inside`` gives e, or the two factors of e if ``product`` is the
    multiplication that makes it.  ``through`` is the variable whose members e is, if it is.
    """

    step: Lambda
    outside: Schedule
    condition: Cond | None
    on_true: bool
    inside: Schedule
    product: Lambda | None
    through: Var | None


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
    product = product_of(element, block.result)
    inside = schedule(block.bindings, product.args if product is not None else (element,))
    through = _through(element, fold) if condition is None and not block.bindings else None
    return Reduction(block.result, schedule(outer, ()), condition, on_true, inside, product, through)


def through_build(reduction: Reduction, build: Build) -> Reduction:
    """Give the reduction of a Build's members as they are computed, without making the Build."""
    element = build.body.result
    product = product_of(element, reduction.step)
    inside = schedule(build.body.bindings, product.args if product is not None else (element,))
    return replace(reduction, inside=inside, product=product, through=None)


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
    if step.function not in GATHERED or not space == step.space == step.type[0].space == fold.type[0].space:
        return False
    logical = FUNCTIONS[step.function].rule == "logic"
    return kind_of(space) in (("B", "Z") if logical else ("Z", "R", "C"))


def _element(step: Lambda, accumulator: Var) -> Node | None:
    """Give the argument that is not the accumulator; all these functions commute, but for one."""
    left, right = step.args
    if _is_accumulator(left, accumulator):
        return right
    return left if step.function == GATHERED[step.function] and _is_accumulator(right, accumulator) else None


def product_of(element: Node, step: Lambda) -> Lambda | None:
    """Give the multiplication whose products a fold adds up directly."""
    if GATHERED.get(step.function) != "add" or not isinstance(element, Lambda) or element.function != "mul":
        return None
    return element if element.space == element.type[0].space == step.space else None


def _mentions(roots: list[Node], var: Var) -> bool:
    """Look for a variable in nodes and everything inside them."""
    return any(_is_accumulator(node, var) for node in inner_nodes(roots))


def _through(element: Node, fold: Fold) -> Var | None:
    """Give the variable whose members, just as they come, are what a fold reduces."""
    if not isinstance(element, Member) or not isinstance(element.tol, Ref):
        return None
    own = tuple(Poly({(symbol,): 1}) for symbol in fold.coords)
    same = len(element.at) == len(own) and all(
        isinstance(index, Poly) and index == coord for index, coord in zip(element.at, own, strict=True)
    )
    return element.tol.var if same else None


def fusible(plan: Schedule, reductions: Mapping[Fold, Reduction | None]) -> frozenset[Var]:
    """Find named Builds of numerics whose only use is to be reduced by a fold of the same block.

    They need not be made: the fold can reduce their members as they are computed.
    """
    built = {
        step.binds[0]: step.node
        for step in plan.steps
        if len(step.binds) == 1 and isinstance(step.node, Build) and numeric_body(step.node)
    }
    if not built:
        return frozenset()
    folds = [step.node for step in plan.steps if isinstance(step.node, Fold)]
    wanted = {
        reduction.through: fold
        for fold in folds
        if (reduction := reductions[fold]) is not None and reduction.through in built
    }
    uses = Counter(_uses(plan))
    return frozenset(
        var for var, fold in wanted.items() if uses[var] == 1 and built[var].extents == fold.extents
    )


def _uses(plan: Schedule) -> Iterator[Var]:
    """Give each variable as often as something takes its value; one Ref may stand in several places."""
    taken = [plan.steps[k].node for k in plan.roots]
    for node in inner_nodes(step.node for step in plan.steps):
        taken.extend(operands(node))
        for block in blocks(node):
            taken.extend((*(bound for _, bound in block.bindings), block.result))
    return (node.var for node in taken if isinstance(node, Ref))


def numeric_body(build: Build) -> bool:
    """Tell whether the members of a Build are numerics."""
    return len(build.type) == 1 and len(build.type[0].shape) == len(build.coords) > 0
