"""Totals of the lengths that data decides at every step of a loop.

Inside a loop such a length is a different number at every step, and no closed form can name them all.  A
count that adds them up only needs their total, which is one number of the run, and so a symbol with a range.
Few totals are enough for all counts that follow the length linearly, or as the sum of 1 to the length.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

from tolcost.algebra import (
    LARGEST_LENGTH,
    ZERO,
    AlgebraBudget,
    Poly,
    Relu,
    Symbol,
    atom,
    const,
    is_nonnegative,
    replace,
    substitute,
    total,
)
from tolcost.algebra.poly import Role, affine_parts, powers_of, symbol_of
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import Schedule, defined_length, regions, schedules
from tolcost.atoms.nodes import Block, Node, Program


class Totals(NamedTuple):
    """What the values of one length amount to over all steps.

    Their sum, the number of steps at which it is not 0, the sum of their squares, and the largest.
    """

    every: Symbol
    some: Symbol
    squares: Symbol
    most: Symbol
    around: frozenset[Symbol]
    """The coordinates of the loops around the place that defines the length."""

    def values(self, seen: Mapping[int, int]) -> Iterator[tuple[Symbol, int]]:
        """Yield each total, given how often each value of the length occurred."""
        yield self.every, sum(value * times for value, times in seen.items())
        yield self.some, sum(times for value, times in seen.items() if value)
        yield self.squares, sum(value * value * times for value, times in seen.items())
        yield self.most, max(seen, default=0)


class _Loop(NamedTuple):
    """The coordinates of a node that evaluates a block for each of them, with their extents."""

    coords: tuple[Symbol, ...]
    extents: tuple[Poly, ...]


def upper_limit(node: Node) -> Poly:
    """Return the largest value of the length that a node defines; ``LARGEST_LENGTH`` if it has no limit."""
    symbol = defined_length(node)
    if symbol is not None and symbol.hi is not None:
        return symbol.hi
    return node.tol.type[0].shape[0] if isinstance(node, ir.Filter) else const(LARGEST_LENGTH)


@lru_cache(maxsize=16)
def totals(program: Program) -> Mapping[Symbol, Totals]:
    """Return the totals of every length that one place inside a loop defines; cached for run after run."""
    found = schedules(program)
    plans: dict[Block | None, Schedule] = {None: found.top, **dict(found.blocks)}
    limits = {
        symbol: upper_limit(node)
        for plan in plans.values()
        for node in plan.nodes
        if (symbol := defined_length(node)) is not None
    }
    if not limits:
        return MappingProxyType({})
    around = _loops_around({block: plan.nodes for block, plan in plans.items()})
    places: dict[Symbol, list[Block | None]] = {}
    for block, plan in plans.items():
        for symbol in map(defined_length, plan.nodes):
            if symbol is not None:
                places.setdefault(symbol, []).append(block)
    in_all = dict(program.in_all)
    return MappingProxyType(
        {
            symbol: _totals_of(symbol, loops, limits, in_all.get(symbol))
            for symbol, (block, *others) in places.items()
            if not others and (loops := around.get(block))
        }
    )


def _loops_around(nodes: Mapping[Block | None, list[Node]]) -> dict[Block | None, tuple[_Loop, ...]]:
    """Return the loops around each block that exactly one place evaluates."""
    owners: dict[Block, list[tuple[Block | None, Node]]] = {}
    for inside, listed in nodes.items():
        for node in listed:
            for region in regions(node):
                owners.setdefault(region.block, []).append((inside, node))
    found: dict[Block | None, tuple[_Loop, ...]] = {None: ()}
    for block in reversed([block for block in nodes if block is not None]):  # outer blocks first
        (inside, node), *others = owners[block]
        if not others and inside in found:
            own = (_Loop(node.coords, node.extents),) if isinstance(node, ir.Build | ir.Fold) else ()
            found[block] = (*found[inside], *(loop for loop in own if loop.coords))
    return found


def _totals_of(
    symbol: Symbol, loops: tuple[_Loop, ...], limits: Mapping[Symbol, Poly], in_all: Poly | None
) -> Totals:
    name, base = symbol.name, symbol.base or symbol.name

    def made(what: Role, most: Poly | None) -> Symbol:
        return symbol_of(f"{name}_{what}", symbol.serial, what, const(0), most, f"{base}_{what}")

    every, some = (_most_in_all(one, loops, limits) for one in (limits[symbol], const(1)))
    limit = _in_limits(limits[symbol], limits)
    highest = limit if limit != LARGEST_LENGTH and all(s.kind == "length" for s in limit.free) else None
    return Totals(
        made("total", every if in_all is None else in_all),
        made("some", some),
        made("squares", None),
        made("most", highest),
        frozenset(coordinate for loop in loops for coordinate in loop.coords),
    )


def _most_in_all(value: Poly, loops: tuple[_Loop, ...], limits: Mapping[Symbol, Poly]) -> Poly | None:
    """Return a bound in lengths of the sum of a limit over all steps of loops; None if there is none."""
    most = _in_limits(value, limits)
    ranges = [
        (coordinate, const(1), _in_limits(extent, limits))
        for loop in loops
        for coordinate, extent in zip(loop.coords, loop.extents, strict=True)
    ]
    if const(LARGEST_LENGTH) in (most, *(high for *_, high in ranges)):
        return None
    try:
        found = total(most, ranges)
    except AlgebraBudget:
        return None
    return found if all(symbol.kind == "length" for symbol in found.free) else None


def _in_limits(form: Poly, limits: Mapping[Symbol, Poly]) -> Poly:
    """Replace every length that data decides by its limit."""
    while open_ := {symbol: limits[symbol] for symbol in form.free if symbol in limits}:
        form = substitute(form, open_)
    return form


def in_totals(form: Poly, symbol: Symbol, sums: Totals, varying: Set[Symbol]) -> tuple[Poly, Poly] | None:
    """Return the sum of a form over all visits, without the part that is the same at each, and that part."""
    for generator in {one for mono in form.terms for one in mono}:
        if isinstance(generator, Symbol) or symbol not in generator.free:
            continue
        parts = affine_parts(generator.p, symbol) if isinstance(generator, Relu) else None
        if parts is None or parts[1] != -1 or not is_nonnegative(parts[0] - 1):
            return None
        form = replace(form, generator, parts[0] * atom(symbol) - atom(sums.some))
    if any(one.kind == "coord" or one in varying - {symbol} for one in form.free):
        return None
    gathered, rest = ZERO, ZERO
    for power, coefficient in powers_of(form, symbol).items():
        for times, factor in powers_of(coefficient, sums.some).items():
            if not power and not times:
                rest += factor
            elif power >= len(_BY_POWER):
                return None
            else:
                gathered += factor * atom(getattr(sums, _BY_POWER[power]))
    return gathered, rest


_BY_POWER = ("some", "every", "squares")
"""The total of a power of a length; times any power of whether it is not 0, a power above 0 is itself."""
