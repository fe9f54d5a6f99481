"""Bounds of static numbers whose value only a run determines, from the functions that compute them.

An index that is clipped to its dimension needs no check at run time: ``max(min(k, n), 1)`` lies between 1 and
n for every k.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, isfinite

from msgspec import Struct

from tolcost.algebra import Cond, Poly, const, ge
from tolcost.atoms import nodes as ir
from tolcost.atoms.nodes import Block, Node, Var
from tolcost.elaborate.environment import Env
from tolcost.elaborate.shapes import facts_here, try_prove
from tolcost.spaces import SPACES, kind_of

_MANY_BITS = 32
"""Integers of at least this many bits are assumed not to wrap at values that lengths decide."""

_WHOLE = {"floor", "ceil", "round", "trunc"}
_CLIPS = {("max", True): any, ("max", False): all, ("min", True): all, ("min", False): any}
"""Whether any operand, or every operand, must respect a bound: a lower bound (True) or an upper bound."""


def is_within(env: Env, node: Node, low: Poly, high: Poly) -> bool:
    """Whether a number is shown to lie between two integers, both included."""
    bounds = _Bounds(env, facts_here(env), {})
    return bounds.keeps(node, low, True) and bounds.keeps(node, high, False)


class _Bounds(Struct, frozen=True, eq=False):
    """The facts that hold here, and the bindings of the blocks entered so far (``bound``)."""

    env: Env
    facts: tuple[Cond, ...]
    bound: dict[Var, Node]

    def keeps(self, node: Node, end: Poly, lower: bool) -> bool:
        """Whether a number respects an integer as its lower bound, or as its upper bound."""
        match node:
            case ir.Number(value=value):
                return self._number_keeps(value, end, lower)
            case ir.Ref(var=var):
                named = self.bound.get(var) or self.env.scope.named(var)
                return named is not None and self.keeps(named, end, lower)
            case ir.Lambda():
                return self._function_keeps(node, end, lower)
            case ir.Convert(value=value) if _keeps_order(node):
                return self.keeps(value, end, lower)
            case ir.Select(then=then, other=other):
                return self._block_keeps(then, end, lower) and self._block_keeps(other, end, lower)
            case ir.Where(then=then, other=other):
                return self.keeps(then, end, lower) and self.keeps(other, end, lower)
            case _:
                return False

    def _block_keeps(self, block: Block, end: Poly, lower: bool) -> bool:
        self.bound.update(block.bindings)
        return self.keeps(block.result, end, lower)

    def _number_keeps(self, value: ir.Constant, end: Poly, lower: bool) -> bool:
        if isinstance(value, (Fraction, float)) and isfinite(value):
            value = const(floor(value) if lower else ceil(value))
        if not isinstance(value, Poly):
            return False
        return try_prove(ge(value - end if lower else end - value), self.facts) is True

    def _function_keeps(self, node: ir.Lambda, end: Poly, lower: bool) -> bool:
        clips = _CLIPS.get((node.function, lower))
        if clips is not None:
            return clips([self.keeps(arg, end, lower) for arg in node.args])
        if node.function in _WHOLE:
            return self.keeps(node.args[0], end, lower)
        if node.function not in ("add", "sub", "mod"):
            return False
        first, second = node.args
        if node.function == "add" and _integer_of(first) is not None:
            first, second = second, first
        number = _integer_of(second)
        if number is None:
            return False
        if node.function == "mod":
            positive = self._number_keeps(number, const(1), True)
            return positive and self._number_keeps(const(0) if lower else number - 1, end, lower)
        return self.keeps(first, end - number if node.function == "add" else end + number, lower)


def _integer_of(node: Node) -> Poly | None:
    """Return the integer that a node is, if it is known."""
    value = node.value if isinstance(node, ir.Number) else None
    return value if isinstance(value, Poly) else None


def _keeps_order(node: ir.Convert) -> bool:
    """Whether a conversion keeps the order of numbers: it neither wraps nor reinterprets bits."""
    space = SPACES[node.type[0].space]
    wide = not space.finite or kind_of(node.type[0].space) == "R" or (space.bits or 0) >= _MANY_BITS
    return wide and not node.bits
