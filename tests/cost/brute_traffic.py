"""The elements that a program reads, found by walking every coordinate, backwards from the outputs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from tolcost.algebra import Poly, Symbol, evaluate, evaluate_cond
from tolcost.atoms.kit import children, inner_nodes, roots
from tolcost.atoms.nodes import Block, Build, Fold, Input, Member, Node, Program, Ref, Select, Var

Values = Mapping[Symbol, int]
Names = dict[Var, tuple[Node, Values]]
Element = tuple[str, tuple[int, ...]]


def walked(program: Program, values: Values) -> set[Element]:
    """The elements that outputs need, one by one; no index may come from data."""
    walk = _Walk()
    names: Names = {var: (node, values) for var, node in program.bindings}
    for out in program.outputs:
        walk.need(out.node, values, names)
    return walk.found


def can_be_walked(program: Program) -> bool:
    """Whether inputs are plain, and lengths and coordinates alone say which elements are read."""
    nodes = list(inner_nodes(roots(program)))
    places = (index for node in nodes if isinstance(node, Member) for index in node.at)
    chosen = (node.condition for node in nodes if isinstance(node, Select))
    return all(len(given.type) == 1 for given in program.inputs) and not any(
        isinstance(one, Node) for one in (*places, *chosen)
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
            case Member(tol=Input(name=name), at=at):
                self.found.add((name, tuple(numbers(at, values))))
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
        self.need(block.result, values, {**names, **bound})


def numbers(forms: tuple[Poly, ...], values: Values) -> list[int]:
    """What forms come to."""
    return [evaluate(form, values) for form in forms]
