"""Multiply–accumulate, found in the structure: multiplications whose product a fold adds up.

A multiplication counts when its product reaches the accumulator of a fold through additions
alone: as ``acc + x*w`` in the step, or as the element of a built ToL that the step adds
(``reduce(map(..., mul), add, 0)``), through names, static choices, and the copies that
reshape and convert make.  The accumulator may be a list or a ToL whose members add up, as
when a transposed convolution puts ``t[p] + x*w`` back into ``t``.  A product chosen by data,
or added outside a fold, does not count.

What is summed may be computed elsewhere: of a program that is one node of a model, ``passing`` tells
which inputs folds add up directly, and which products and inputs an output directly is.  There, a
product with a single number is a scale and none.
"""

from __future__ import annotations

from collections.abc import Mapping

from tolcost.atoms.kit import Schedules, blocks, bound_nodes, children, is_ref, schedules
from tolcost.atoms.nodes import (
    Build,
    Component,
    Convert,
    Embed,
    Fold,
    Input,
    Join,
    Lambda,
    Member,
    Node,
    Number,
    Pack,
    Program,
    Put,
    Ref,
    Reshape,
    Select,
    Var,
)
from tolcost.dataclass import dataclass


def accumulated_products(program: Program, found: Schedules) -> set[Node]:
    """Give the multiplications that folds add up directly."""
    return {node for node in _summed(bound_nodes(program, found), found) if isinstance(node, Lambda)}


def _summed(bound: dict[Var, Node], found: Schedules) -> set[Node]:
    """Give the multiplications and inputs that folds add up directly."""
    summed: set[Node] = set()
    for plan in found:
        for node in plan.nodes:
            if isinstance(node, Fold):
                for term in _added_terms(node):
                    summed |= _directly(term, bound)
    return summed


InputNames = frozenset[str]


@dataclass(frozen=True, slots=True)
class OutputSources:
    """What an output directly is: products, each with the inputs that its factors are, and inputs."""

    products: Mapping[Node, tuple[InputNames, ...]]
    inputs: InputNames


@dataclass(frozen=True, slots=True)
class Passing:
    """The inputs that folds of a program add up directly, and what its outputs directly are."""

    added: InputNames
    outputs: Mapping[str, OutputSources]


def passing(program: Program) -> Passing:
    """Tell what a program sums of what it is given, and what it gives that may be summed."""
    found = schedules(program)
    bound = bound_nodes(program, found)
    outputs = {}
    for output in program.outputs:
        leaves = _directly(output.node, bound)
        products: dict[Node, tuple[InputNames, ...]] = {
            leaf: tuple(_inputs(_directly(factor, bound)) for factor in leaf.args)
            for leaf in leaves
            if isinstance(leaf, Lambda) and not any(_is_single(factor, bound) for factor in leaf.args)
        }
        outputs[output.name] = OutputSources(products, _inputs(leaves))
    return Passing(_inputs(_summed(bound, found)), outputs)


def _is_single(node: Node, bound: dict[Var, Node]) -> bool:
    """Whether a factor is one number for all products: a scale, which could as well be applied to the sum."""
    match node:
        case Number():
            return True
        case Input(type=type_):
            return all(d.constant == 1 for part in type_ for d in part.shape)
        case Ref(var=var) if var in bound:
            return _is_single(bound[var], bound)
        case Member(tol=value) | Reshape(value=value) | Convert(value=value):
            return _is_single(value, bound)
        case _:
            return False


def _inputs(leaves: set[Node]) -> InputNames:
    return frozenset(leaf.name for leaf in leaves if isinstance(leaf, Input))


def _added_terms(fold: Fold) -> list[Node]:
    """Give what the step of a fold adds to its accumulator, or to members of it."""
    order = _additions(fold)
    reaching: set[Node] = set()
    for node, summands in order:
        if is_ref(node, fold.accumulator) or any(summand in reaching for summand in summands):
            reaching.add(node)
    return [
        arg
        for node, _ in order
        if isinstance(node, Lambda) and sum(arg in reaching for arg in node.args) == 1
        for arg in node.args
        if arg not in reaching
    ]


def _additions(fold: Fold) -> list[tuple[Node, tuple[Node, ...]]]:
    """Give the nodes that a step is the sum of, each with its summands, summands first.

    Only names bound inside the step are looked through: others cannot hold the accumulator.
    """
    bound = dict(fold.body.bindings)
    order: list[tuple[Node, tuple[Node, ...]]] = []
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(fold.body.result, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append((node, _summands(node, bound)))
        elif node not in seen:
            seen.add(node)
            for block in blocks(node):
                bound.update(block.bindings)
            stack.append((node, True))
            stack.extend((summand, False) for summand in _summands(node, bound))
    return order


def _summands(node: Node, bound: dict[Var, Node]) -> tuple[Node, ...]:
    """Give the values that a value is the sum of, or has as members; nothing where it is neither."""
    match node:
        case Ref(var=var) if var in bound:
            return (bound[var],)
        case Lambda(function="add", charge="data", args=args):
            return args
        case Build() | Select():
            return tuple(block.result for block in blocks(node))
        case Member(tol=tol):
            return (tol,)
        case Put(tol=tol, value=value):
            return (tol, value)
        case Pack() | Join() | Component() | Embed() | Reshape() | Convert():
            return children(node)
        case _:
            return ()


def _directly(term: Node, bound: dict[Var, Node]) -> set[Node]:
    """Give the multiplications and inputs that a value, or the elements of a ToL, directly are."""
    found: set[Node] = set()
    seen: set[Node] = set()
    stack = [term]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        match node:
            case Lambda(function="mul", charge="data") | Input():
                found.add(node)
            case Ref(var=var) if var in bound:
                stack.append(bound[var])
            case Member(tol=value) | Reshape(value=value) | Convert(value=value):
                stack.append(value)
            case Build(body=body):
                stack.append(body.result)
            case Select(then=then, other=other):
                stack += [then.result, other.result]
            case _:
                pass
    return found
