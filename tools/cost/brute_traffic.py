"""The elements that a program reads, found by walking every coordinate, backwards from the outputs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from tolcost.algebra import Poly, Symbol, evaluate, evaluate_cond
from tolcost.atoms.kit import children, inner_nodes, roots
from tolcost.atoms.nodes import (
    Block,
    Build,
    Component,
    Convert,
    Filter,
    Fold,
    Input,
    Member,
    Node,
    Number,
    Pack,
    Program,
    Ref,
    Reshape,
    Select,
    Table,
    Var,
)

TAKEN = {Input, Ref, Number, Table, Member, Component, Reshape, Convert, Pack, Select}
Values = Mapping[Symbol, int]
Names = dict[Var, tuple[Node, Values]]
Element = tuple[str, tuple[int, ...]]


def walked(program: Program, values: Values) -> set[Element]:
    """The elements that outputs and what is computed need, one by one; no index may come from data."""
    walk = _Walk()
    names: Names = {var: (node, values) for var, node in program.bindings}
    for _, node in program.bindings:
        walk.computed(node, values, names)
    for out in program.outputs:
        walk.need(out.node, values, names)
    return walk.found


def can_be_walked(program: Program) -> bool:
    """Whether inputs are plain, and lengths and coordinates alone say which elements are read."""
    nodes = list(inner_nodes(roots(program)))
    places = (index for node in nodes if isinstance(node, Member) for index in node.at)
    chosen = (node.condition for node in nodes if isinstance(node, Select))
    return (
        all(len(given.type) == 1 for given in program.inputs)
        and not any(isinstance(one, Node) for one in (*places, *chosen))
        and not any(isinstance(node, Filter) for node in nodes)
    )


class _Walk:
    """The elements found so far, and which values that have a name were walked."""

    def __init__(self) -> None:
        self.found: set[Element] = set()
        self.done: set[tuple[Var, frozenset[tuple[Symbol, int]]]] = set()

    def need(self, node: Node, values: Values, names: Names) -> None:
        match node:
            case Input(name=name, type=(part,)):
                every = product(*(range(1, n + 1) for n in numbers(part.shape, values)))
                self.found |= {(name, at) for at in every}
            case Ref(var=var) if var in names:
                named, where = names[var]
                key = (var, frozenset(where.items()))
                if key not in self.done:
                    self.done.add(key)
                    self.need(named, where, names)
            case Member(tol=tol, at=at) if isinstance(tol := begun(tol, values, names), Input):
                self.found.add((tol.name, tuple(numbers(at, values))))
            case Component(value=value, j=j) if isinstance(pack := begun(value, values, names), Pack):
                self.need(pack.items[j - 1], values, names)
            case Build() | Fold():
                for child in children(node):
                    self.need(child, values, names)
                for at in product(*(range(1, n + 1) for n in numbers(node.extents, values))):
                    self.inside(node.body, {**values, **dict(zip(node.coords, at, strict=True))}, names)
            case Select(condition=condition, then=then, other=other):
                self.inside(then if evaluate_cond(condition, values) else other, values, names)
            case _:
                for child in children(node):
                    self.need(child, values, names)

    def inside(self, block: Block, values: Values, names: Names) -> None:
        bound = {var: (node, values) for var, node in block.bindings}
        for _, node in block.bindings:
            self.computed(node, values, {**names, **bound})
        self.need(block.result, values, {**names, **bound})

    def computed(self, node: Node, values: Values, names: Names) -> None:
        """What is named is computed, whoever asks for it, unless it is only taken from somewhere."""
        if any(type(inner) not in TAKEN for inner in inner_nodes((node,))):
            start = begun(node, values, names)
            for item in start.items if isinstance(start, Pack) else (start,):
                if not isinstance(begun(item, values, names), Input):
                    self.need(item, values, names)


def begun(node: Node, values: Values, names: Names) -> Node:
    """What a value is: a fold that takes no turn is what it begins with."""
    while True:
        if isinstance(node, Ref) and node.var in names:
            node, values = names[node.var]
        elif isinstance(node, Fold) and 0 in numbers(node.extents, values):
            node = node.start
        elif isinstance(node, Component) and isinstance(pack := begun(node.value, values, names), Pack):
            node = pack.items[node.j - 1]
        else:
            return node


def numbers(forms: tuple[Poly, ...], values: Values) -> list[int]:
    """What forms come to."""
    return [evaluate(form, values) for form in forms]
