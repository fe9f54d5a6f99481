"""The step of a fold: whether it combines each number of the accumulator with a term, and by which function.

A fold that does so is a sum, a maximum and the like, and each number of its result is a reduction of its own.
Any other fold carries a state from step to step.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from msgspec import Struct

from tolcost.algebra import Cond, Poly, Symbol, atom, negate
from tolcost.atoms import nodes as ir
from tolcost.atoms.accumulation import same_place
from tolcost.atoms.kit import Bindings, inner_nodes, is_ref, resolve_name, static_condition
from tolcost.atoms.nodes import Node, Var


class FoldStep(Struct, frozen=True, eq=False):
    """A step that combines the accumulator with a term: ``f(a, term)``, where ``guards`` hold."""

    function: str
    term: Node
    within: str
    space: str
    guards: tuple[Cond, ...]
    bindings: Bindings = ()
    build: ir.Build | None = None


class PutStep(FoldStep, frozen=True, eq=False):
    """A step that puts a term at a place of the accumulator: adds it there, or replaces what is there."""

    at: tuple[Poly | Node, ...] = ()


_COMBINING = {"add": 2, "sub": 1, "max": 2, "min": 2, "and": 2, "or": 2, "xor": 2}
"""Functions that a step may combine by, and how many of their arguments may be the accumulator."""


def steps_of(node: ir.Fold) -> list[FoldStep] | None:
    """Return the steps of a fold, one for each component; None if it is no reduction."""
    bound = dict(node.body.bindings)
    count = len(node.type)
    result = resolve_name(node.body.result, bound)
    items: Sequence[Node]
    if count == 1:
        items = (result,)
    elif isinstance(result, ir.Pack) and len(result.items) == count:
        items = result.items
    else:
        return None
    steps = []
    for k, item in enumerate(items):
        step = _Reading(node.accumulator, set(node.coords), count, k + 1, bound).step(item, (), ())
        if step is None:
            return None
        steps.append(step)
    return steps


class _Reading(Struct, eq=False):
    """Reads a step: which of its nodes are the accumulator."""

    accumulator: Var
    coords: set[Symbol]
    count: int
    component: int
    bound: dict[Var, Node]
    build: ir.Build | None = None

    def step(self, item: Node, guards: tuple[Cond, ...], bindings: Bindings) -> FoldStep | None:
        """Return the step that a node takes, under guards; ``bindings`` are those of blocks around it."""
        item = resolve_name(item, self.bound)
        match item:
            case ir.Lambda(charge="data") if item.function in _COMBINING:
                return self.combined(item, guards, bindings)
            case ir.Select(condition=condition) if static_condition(item) is not None:
                return self.selected(item, cast(Cond, condition), guards, bindings)
            case ir.Build() if self.build is None and self.is_steady(item):
                self.build = item
                self.bound.update(item.body.bindings)
                return self.step(item.body.result, guards, (*bindings, *item.body.bindings))
            case ir.Put() if self.build is None and self.is_carried(item.tol):
                return self.added(item, guards, bindings)
        return None

    def combined(self, item: ir.Lambda, guards: tuple[Cond, ...], bindings: Bindings) -> FoldStep | None:
        carried = [self.is_element(arg) for arg in item.args[: _COMBINING[item.function]]]
        if sum(carried) != 1:
            return None
        term = item.args[1 - carried.index(True)]
        if self.mentions((term,)):
            return None
        space = item.type[0].space
        return FoldStep(item.function, term, item.space, space, guards, self.harmless(bindings), self.build)

    def selected(
        self, item: ir.Select, condition: Cond, guards: tuple[Cond, ...], bindings: Bindings
    ) -> FoldStep | None:
        for side, kept, holds_ in (
            (item.then, item.other, condition),
            (item.other, item.then, negate(condition)),
        ):
            if self.is_element(resolve_name(kept.result, dict(kept.bindings))):
                self.bound.update(side.bindings)
                return self.step(side.result, (*guards, holds_), (*bindings, *side.bindings))
        return None

    def added(self, item: ir.Put, guards: tuple[Cond, ...], bindings: Bindings) -> FoldStep | None:
        nodes = [index for index in item.at if not isinstance(index, Poly)]
        if nodes and not self.mentions((item.value, *nodes)):
            space = item.type[self.component - 1].space
            held = self.harmless(bindings)
            return PutStep("put", item.value, space, space, guards, held, None, item.at)
        value = resolve_name(item.value, self.bound)
        if not (isinstance(value, ir.Lambda) and value.function == "add" and value.charge == "data"):
            return None
        for old, term in (value.args, value.args[::-1]):
            member = resolve_name(old, self.bound)
            if (
                isinstance(member, ir.Member)
                and self.is_carried(member.tol)
                and same_place(member.at, item.at, self.bound)
            ):
                if self.mentions((term, *nodes)):
                    return None
                space = value.type[0].space
                return PutStep(
                    "add", term, value.space, space, guards, self.harmless(bindings), None, item.at
                )
        return None

    def is_steady(self, build: ir.Build) -> bool:
        """Whether a shape is the same at every step."""
        return all(extent.free.isdisjoint(self.coords) for extent in build.extents)

    def is_carried(self, node: Node) -> bool:
        """Whether a node is this component of the accumulator."""
        node = resolve_name(node, self.bound)
        if self.count == 1:
            return is_ref(node, self.accumulator)
        return (
            isinstance(node, ir.Component)
            and node.j == self.component
            and is_ref(resolve_name(node.value, self.bound), self.accumulator)
        )

    def is_element(self, node: Node) -> bool:
        """Whether a node is what the accumulator has at this place."""
        node = resolve_name(node, self.bound)
        if self.build is None:
            return self.is_carried(node)
        at = tuple(map(atom, self.build.coords))
        return isinstance(node, ir.Member) and node.at == at and self.is_carried(node.tol)

    def mentions(self, nodes: Iterable[Node]) -> bool:
        """Whether nodes need the accumulator."""
        return any(is_ref(node, self.accumulator) for node in inner_nodes(nodes, self.bound))

    def harmless(self, bindings: Bindings) -> Bindings:
        """Return the bindings that do not need the accumulator."""
        return tuple((var, node) for var, node in bindings if not self.mentions((node,)))


def harmless(node: ir.Fold) -> set[Node]:
    """Return the nodes that the body of a fold binds without need of the accumulator."""
    bound = dict(node.body.bindings)
    return {
        value
        for _, value in node.body.bindings
        if not any(is_ref(n, node.accumulator) for n in inner_nodes((value,), bound))
    }
