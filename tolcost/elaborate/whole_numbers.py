"""Whether reals are integral already: a conversion to integers counts as rounding only if they may not be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isfinite
from typing import Any

from msgspec import Struct, field

from tolcost.algebra import Poly
from tolcost.atoms import nodes as ir
from tolcost.atoms.nodes import Block, Constant, Node, Var
from tolcost.elaborate.environment import Scope
from tolcost.spaces import kind_of

_ROUNDING = frozenset({"floor", "ceil", "round", "trunc", "sgn"})
_CLOSED = frozenset({"add", "sub", "mul", "neg", "abs", "sqr", "max", "min", "mod", "fmod"})


def is_whole(scope: Scope, node: Node) -> bool:
    """Whether every finite element of a value is certainly an integer."""
    return _Whole(scope).node(node)


class _Whole(Struct):
    """The integrality of variables, in blocks that were entered and in the surrounding scope."""

    scope: Scope
    vars: dict[Var, bool] = field(default_factory=dict)
    done: dict[Node, bool] = field(default_factory=dict)

    def node(self, node: Node) -> bool:
        if all(kind_of(part.space) in "BZ" for part in node.type):
            return True
        if node not in self.done:
            rule = _RULES.get(type(node))
            self.done[node] = rule is not None and rule(self, node)
        return self.done[node]

    def block(self, block: Block) -> bool:
        for var, node in block.bindings:
            self.vars[var] = self.node(node)
        return self.node(block.result)

    def var(self, var: Var) -> bool:
        if var not in self.vars:
            found = self.scope.named(var)
            self.vars[var] = found is not None and self.node(found)
        return self.vars[var]

    def fold(self, fold: ir.Fold) -> bool:
        """Decide by induction: integral at the start, and after a step from an integral value."""
        self.vars[fold.accumulator] = True
        return self.node(fold.start) and self.block(fold.body)

    def function(self, node: ir.Lambda) -> bool:
        return node.function in _ROUNDING or (node.function in _CLOSED and all(map(self.node, node.args)))


def _is_whole_number(value: Constant) -> bool:
    match value:
        case Poly() | bool():
            return True
        case Fraction():
            return value.denominator == 1
        case float():
            return not isfinite(value) or value.is_integer()
        case _:
            return False


_RULES: Mapping[type, Callable[[_Whole, Any], bool]] = {
    ir.Number: lambda w, node: _is_whole_number(node.value),
    ir.Table: lambda w, node: all(map(_is_whole_number, node.values)),
    ir.Ref: lambda w, node: w.var(node.var),
    ir.Lambda: _Whole.function,
    ir.Where: lambda w, node: w.node(node.then) and w.node(node.other),
    ir.Select: lambda w, node: w.block(node.then) and w.block(node.other),
    ir.Build: lambda w, node: w.block(node.body),
    ir.Fold: _Whole.fold,
    ir.Join: lambda w, node: w.node(node.left) and w.node(node.right),
    ir.Put: lambda w, node: w.node(node.tol) and w.node(node.value),
    **dict.fromkeys((ir.Member, ir.Filter), lambda w, node: w.node(node.tol)),
    **dict.fromkeys((ir.Component, ir.Embed, ir.Reshape, ir.Length), lambda w, node: w.node(node.value)),
    ir.Convert: lambda w, node: not node.bits and w.node(node.value),
}
"""The rule for each kind of node; a list is integral only if all components are."""
