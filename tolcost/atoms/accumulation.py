"""Accumulation into place: a fold whose step adds to one member of a ToL, where data may decide which.

It is a fold of puts, in atoms as in ToLang, and unrolls as one.  But the order of its steps does not matter:
what is added to a member is a sum over the steps that meet there, so that it can be a tree.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from tolcost.algebra import ONE, Poly, Symbol, atom, product_of
from tolcost.atoms.kit import Indices, index_nodes, inner_nodes, is_ref, resolve_name, static_condition
from tolcost.atoms.nodes import (
    Block,
    Component,
    Fold,
    Input,
    Lambda,
    Member,
    Node,
    Number,
    Put,
    Ref,
    Select,
    Var,
)
from tolcost.elementary import FUNCTIONS


class Accumulation(Struct, frozen=True, eq=False):
    """What a step combines with the member at a place, where the steps of some coordinates meet."""

    term: Node
    at: Indices
    function: str
    meeting: Poly
    """How many steps meet at a place, at most: all that differ in coordinates which are no index alone."""

    @property
    def needed(self) -> tuple[Node, ...]:
        """What a step needs but the accumulator: the term, and indices that are computed."""
        return (self.term, *index_nodes(self.at))


def accumulation(fold: Fold, bound: Mapping[Var, Node]) -> Accumulation | None:
    """Return how a fold accumulates into place; None if it does anything else.

    A step may leave the accumulator as it is where a condition on coordinates fails.
    """
    if fold.ends is not None or len(fold.type) != 1:
        return None
    moving = set(fold.coords)
    if any(symbol in moving for length in fold.type[0].shape for symbol in length.free):
        return None  # the accumulator grows
    step = resolve_name(_taken(fold, bound), bound)
    if not isinstance(step, Put) or not is_ref(step.tol, fold.accumulator):
        return None
    value = resolve_name(step.value, bound)
    if not isinstance(value, Lambda) or value.charge != "data":
        return None
    known = FUNCTIONS[value.function]
    if not (known.associative and known.commutative and len(value.args) == 2):
        return None
    for old, term in (value.args, value.args[::-1]):
        member = resolve_name(old, bound)
        if (
            isinstance(member, Member)
            and is_ref(member.tol, fold.accumulator)
            and same_place(member.at, step.at, bound)
        ):
            found = Accumulation(term, step.at, value.function, _meeting(fold, step.at))
            needed = inner_nodes(found.needed, dict(bound))
            return None if any(is_ref(node, fold.accumulator) for node in needed) else found
    return None


def _taken(fold: Fold, bound: Mapping[Var, Node]) -> Node:
    """Return the result of a step, where a condition may leave the accumulator as it is."""
    result = resolve_name(fold.body.result, bound)
    if not isinstance(result, Select) or static_condition(result) is None:
        return result
    for taken, left in ((result.then, result.other), (result.other, result.then)):
        if is_ref(_result(left, bound), fold.accumulator):
            return _result(taken, bound)
    return result


def _result(block: Block, bound: Mapping[Var, Node]) -> Node:
    return resolve_name(block.result, {**bound, **dict(block.bindings)})


def _meeting(fold: Fold, at: Indices) -> Poly:
    """Return how many steps meet at a place, at most.

    Steps that differ in a coordinate do not meet if an index is this coordinate, give or take a length.
    """
    apart: set[Symbol] = set()
    for index in at:
        if isinstance(index, Poly):
            moving = [symbol for symbol in fold.coords if symbol in index.free]
            if len(moving) == 1 and (index - atom(moving[0])).free.isdisjoint(fold.coords):
                apart.add(moving[0])
    left = [(c, n) for c, n in zip(fold.coords, fold.extents, strict=True) if c not in apart]
    if any(not n.free.isdisjoint(fold.coords) for _, n in left):
        return product_of(fold.extents)
    return product_of(n for _, n in left) if left else ONE


# ---- equal places ------------------------------------------------------------------------------


def same_place(left: Indices, right: Indices, bound: Mapping[Var, Node]) -> bool:
    """Whether two index lists are certainly equal."""
    return len(left) == len(right) and all(_same(a, b, bound) for a, b in zip(left, right, strict=True))


def _same(left: Poly | Node, right: Poly | Node, bound: Mapping[Var, Node]) -> bool:
    if isinstance(left, Poly) or isinstance(right, Poly):
        return isinstance(left, Poly) and isinstance(right, Poly) and left == right
    a, b = resolve_name(left, bound), resolve_name(right, bound)
    if a is b:
        return True
    match a, b:
        case Ref(), Ref():
            return a.var is b.var
        case Input(), Input():
            return a.name == b.name
        case Number(), Number():
            return a.type == b.type and a.value == b.value
        case Component(), Component():
            return a.j == b.j and _same(a.value, b.value, bound)
        case Member(), Member():
            return _same(a.tol, b.tol, bound) and same_place(a.at, b.at, bound)
        case Lambda(), Lambda():
            alike = a.function == b.function != "rand" and a.space == b.space
            return alike and same_place(a.args, b.args, bound)
        case _:
            return False
