"""Counts as plain data, before any summation, for a second way of summing them.

A program applies a function a number of times at every coordinate of nested ranges where guards hold. This
module reads those numbers off the atoms as they are: it takes no sum, cancels nothing and negates no guard.
``count`` does all of that with our own algebra; the second derivation (``second_opinion``) starts from here,
and ``walked`` adds up by visiting every coordinate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec import Struct

from tolcost.algebra import Cond, Poly, Symbol, evaluate, evaluate_cond, negate, symbols_of_cond
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import Schedule, schedules, static_condition
from tolcost.atoms.nodes import Block, Node, Program
from tolcost.cost.count import CountKey, filter_lengths

Guarded: TypeAlias = tuple[tuple[Symbol, Poly] | Cond, ...]
"""Coordinates that run from 1 to their extents, and conditions, outermost first."""


class Larger(Struct, frozen=True):
    """The larger of two counts, where data decides between the sides."""

    then: tuple[Summand, ...]
    other: tuple[Summand, ...]


class Summand(Struct, frozen=True):
    """A weight at every coordinate of ranges (each from 1 to its extent) where guards hold.

    An extent or a guard may mention coordinates that precede it in ``scopes``.
    """

    scopes: Guarded
    weight: int
    of: Larger | None = None

    @property
    def ranges(self) -> tuple[tuple[Symbol, Poly], ...]:
        """The coordinates with their extents, outermost first."""
        return tuple(scope for scope in self.scopes if isinstance(scope, tuple))


_Terms: TypeAlias = dict[tuple[CountKey, Guarded, Larger | None], int]


def unsummed(program: Program) -> dict[CountKey, tuple[Summand, ...]]:
    """Return the functions that a program applies to data, by function and space."""
    found = schedules(program)
    inside: dict[Block, _Terms] = {}
    for block, plan in found.blocks:
        inside[block] = _visited(plan, inside)
    return _by_function(_visited(found.top, inside))


def symbols_in(summands: Iterable[Summand]) -> set[Symbol]:
    """Return every symbol that counts mention, coordinates included."""
    found: set[Symbol] = set()
    for summand in summands:
        for scope in summand.scopes:
            found |= scope[1].free if isinstance(scope, tuple) else symbols_of_cond(scope)
        if summand.of is not None:
            found |= symbols_in((*summand.of.then, *summand.of.other))
    return found


def lengths_in_loops(program: Program) -> set[Symbol]:
    """Return the lengths that data decides at every step of a loop; counts that mention one are not exact."""
    return {symbol for lengths in filter_lengths(schedules(program)).values() for symbol, _ in lengths}


def _visited(plan: Schedule, inside: Mapping[Block, _Terms]) -> _Terms:
    """Return the counts of one visit of a block."""
    terms: _Terms = {}
    for step in plan.steps:
        for term, weight in _own(step.node, inside).items():
            terms[term] = terms.get(term, 0) + weight * step.times
    return terms


def _own(node: Node, inside: Mapping[Block, _Terms]) -> _Terms:
    """Return the counts of a node itself, without its operands."""
    match node:
        case ir.Lambda(charge="data") | ir.Where(charge="data"):
            function = node.function if isinstance(node, ir.Lambda) else "where"
            return {((function, node.space), (), None): 1}
        case ir.Build(body=body) | ir.Fold(body=body):
            return _within(tuple(zip(node.coords, node.extents, strict=True)), inside[body])
        case ir.Select(then=then, other=other):
            condition = static_condition(node)
            if condition is None:
                return _larger(inside[then], inside[other])
            return _within((condition,), inside[then]) | _within((negate(condition),), inside[other])
        case _:
            return {}


def _within(scopes: Guarded, terms: _Terms) -> _Terms:
    return {(key, (*scopes, *inner), of): weight for (key, inner, of), weight in terms.items()}


def _larger(then: _Terms, other: _Terms) -> _Terms:
    sides = [_by_function(side) for side in (then, other)]
    return {
        (key, (), Larger(sides[0].get(key, ()), sides[1].get(key, ()))): 1
        for key in dict.fromkeys((*sides[0], *sides[1]))
    }


def _by_function(terms: _Terms) -> dict[CountKey, tuple[Summand, ...]]:
    result: dict[CountKey, list[Summand]] = {}
    for (key, scopes, of), weight in terms.items():
        result.setdefault(key, []).append(Summand(scopes, weight, of))
    return {key: tuple(result[key]) for key in sorted(result)}


class TooManyCoordinates(Exception):
    """A point has more coordinates than the limit allows to visit."""


def walked(summands: tuple[Summand, ...], values: Mapping[Symbol, int], most: int = 200_000) -> int:
    """Evaluate counts at a point by visiting every coordinate, at most ``most`` of them."""
    walk = _Walk(dict(values), most)
    return walk.total(summands)


class _Walk(Struct):
    point: dict[Symbol, int]
    left: int

    def total(self, summands: tuple[Summand, ...]) -> int:
        return sum(self.visit(summand, 0) for summand in summands)

    def visit(self, summand: Summand, depth: int) -> int:
        self.left -= 1
        if self.left < 0:
            raise TooManyCoordinates
        if depth == len(summand.scopes):
            of = summand.of
            return summand.weight * (1 if of is None else max(self.total(of.then), self.total(of.other)))
        scope = summand.scopes[depth]
        if not isinstance(scope, tuple):
            return self.visit(summand, depth + 1) if evaluate_cond(scope, self.point) else 0
        symbol, extent = scope
        total = 0
        for k in range(1, evaluate(extent, self.point) + 1):
            self.point[symbol] = k
            total += self.visit(summand, depth + 1)
        return total
