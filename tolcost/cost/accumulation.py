"""Multiply–accumulate, found in the structure: multiplications whose product a fold adds up.

A multiplication counts when its product reaches the accumulator of a fold through additions
alone: as ``acc + x*w`` in the step, or as the element of a built ToL that the step adds
(``reduce(map(..., mul), add, 0)``), through names, static choices, and the copies that
reshape and convert make.  A product chosen by data, or added outside a fold, does not count.
"""

from __future__ import annotations

from tolcost.atoms.nodes import (
    Build,
    Component,
    Convert,
    Fold,
    Lambda,
    Member,
    Node,
    Pack,
    Program,
    Ref,
    Reshape,
    Select,
)
from tolcost.cost.walk import Bindings, Regions, bindings_of


def accumulated_products(program: Program, found: Regions) -> set[int]:
    """Give the identities of the multiplications that folds add up directly."""
    bound = bindings_of(program, found)
    products: set[int] = set()
    for region in found:
        for node in region.order:
            if isinstance(node, Fold):
                for term in _added_terms(node, bound):
                    products |= _products(term, bound)
    return products


def _added_terms(fold: Fold, bound: Bindings) -> list[Node]:
    """Give what the step of a fold adds to its accumulator."""
    order = _additions(fold.body.result, bound)
    reaching: set[int] = set()
    for node in order:
        is_accumulator = isinstance(node, Ref) and node.var is fold.accumulator
        if is_accumulator or any(id(child) in reaching for child in _summands(node, bound)):
            reaching.add(id(node))
    return [
        arg
        for node in order
        if isinstance(node, Lambda) and sum(id(arg) in reaching for arg in node.args) == 1
        for arg in node.args
        if id(arg) not in reaching
    ]


def _summands(node: Node, bound: Bindings) -> tuple[Node, ...]:
    """Give the values that a value is the sum of, or is one of; nothing where it is neither."""
    match node:
        case Ref(var=var) if var in bound:
            return (bound[var],)
        case Component(value=value):
            return (value,)
        case Pack(items=items):
            return items
        case Lambda(function="add", charge="data", args=args):
            return args
        case Select(then=then, other=other):
            return (then.result, other.result)
        case _:
            return ()


def _additions(result: Node, bound: Bindings) -> list[Node]:
    """Give the nodes that a sum is made of, summands before sums."""
    order: list[Node] = []
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(result, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in _summands(node, bound))
    return order


def _products(term: Node, bound: Bindings) -> set[int]:
    """Give the multiplications that a value, or the elements of a ToL, directly are."""
    found: set[int] = set()
    seen: set[int] = set()
    stack = [term]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        match node:
            case Lambda(function="mul", charge="data"):
                found.add(id(node))
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
