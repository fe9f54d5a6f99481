"""The depth of a program at concrete lengths, by walking every coordinate.

Of a choice by data both sides count, and what it is decided by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product

from tolcost.algebra import Poly, Symbol, evaluate, evaluate_cond
from tolcost.algebra.floors import log2_of_number
from tolcost.atoms.accumulation import Accumulation, accumulation
from tolcost.atoms.kit import children, resolve_name
from tolcost.atoms.nodes import Block, Build, Fold, Lambda, Node, Program, Ref, Select, Var, Where
from tolcost.cost.span import tree_element

Env = Mapping[Var, int]


def brute_depth(program: Program, values: Mapping[Symbol, int], trees: bool) -> int:
    """Give the depth of the deepest output."""
    walk = _Walk(trees)
    env: dict[Var, int] = {}
    for var, node in program.bindings:
        env[var] = walk.of(node, values, env)
    return max(walk.of(out.node, values, env) for out in program.outputs)


class _Walk:
    def __init__(self, trees: bool) -> None:
        self.trees = trees

    def of(self, node: Node, values: Mapping[Symbol, int], env: Env) -> int:
        inputs = [self.of(child, values, env) for child in children(node)]
        ready = max(inputs, default=0)
        match node:
            case Ref(var=var):
                return env[var]
            case Lambda(charge=charge) | Where(charge=charge):
                return ready + (charge == "data")
            case Build():
                return max((self.block(node.body, inner, env) for inner in _steps(node, values)), default=0)
            case Fold():
                return self.fold(node, ready, values, env)
            case Select(condition=condition, then=then, other=other):
                sides = (then, other)
                if not isinstance(condition, Node):
                    sides = (then,) if evaluate_cond(condition, values) else (other,)
                return max(ready, *(self.block(side, values, env) for side in sides))
            case _:
                return ready

    def block(self, block: Block, values: Mapping[Symbol, int], env: Env) -> int:
        inner = dict(env)
        for var, node in block.bindings:
            inner[var] = self.of(node, values, inner)
        return self.of(block.result, values, inner)

    def fold(self, node: Fold, start: int, values: Mapping[Symbol, int], env: Env) -> int:
        steps = _steps(node, values)
        element = tree_element(node, dict(node.body.bindings)) if self.trees else None
        if element is not None:
            as_result = Block(node.body.bindings, element)
            leaves = [self.block(as_result, inner, {**env, node.accumulator: 0}) for inner in steps]
            return max((start, *leaves)) + log2_of_number(len(steps) + 1)
        into = accumulation(node, _bound(node.body)) if self.trees else None
        if into is not None:
            return self.into_place(node, into, start, steps, env)
        depth = start
        for inner in steps:
            depth = self.block(node.body, inner, {**env, node.accumulator: depth})
        return depth

    def into_place(
        self, node: Fold, into: Accumulation, start: int, steps: list[dict[Symbol, int]], env: Env
    ) -> int:
        """The deepest sum of what may meet at a place: all steps with the same static indices."""
        bindings, met = tuple(_bound(node.body).items()), Counter[tuple[int, ...]]()
        leaves = [start]
        for inner in steps:
            for needed in into.needed:
                leaves.append(self.block(Block(bindings, needed), inner, {**env, node.accumulator: 0}))
            met[tuple(evaluate(at, inner) for at in into.at if isinstance(at, Poly))] += 1
        return max(leaves) + log2_of_number(max(met.values(), default=0) + 1)


def _bound(block: Block) -> dict[Var, Node]:
    """The names of a step, and of the sides of a choice that it ends with."""
    result = resolve_name(block.result, dict(block.bindings))
    sides = (result.then, result.other) if isinstance(result, Select) else ()
    return {**dict(block.bindings), **{var: n for side in sides for var, n in side.bindings}}


def _steps(node: Build | Fold, values: Mapping[Symbol, int]) -> list[dict[Symbol, int]]:
    ranges = [range(1, evaluate(extent, values) + 1) for extent in node.extents]
    return [{**values, **dict(zip(node.coords, at, strict=True))} for at in product(*ranges)]
