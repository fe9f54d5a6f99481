"""Counts before they are summed: terms that remember their coordinates and conditions.

A term is a polynomial for one counted thing, to be summed over binders where guards hold.
It stays unsummed while a coordinate from outside occurs in it, because a sum over connected
coordinates is easier taken at once than one coordinate after the other.  A coordinate that
does not occur multiplies at once, and a term without outside coordinates is summed at once,
so what is kept stays small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tolcost.algebra import ONE, ZERO, Cond, Poly, Symbol, negate, symbols_of, symbols_of_cond, total
from tolcost.algebra.conditions import Not, Or
from tolcost.diagnostics import NOWHERE, Span

ItemKind = Literal["data", "index", "atom", "mac"]
Binder: TypeAlias = tuple[Symbol, Poly, Poly]


@dataclass(frozen=True, slots=True)
class Item:
    """What is counted: an elementary function in a space at a place in the source, or an atom."""

    kind: ItemKind
    name: str
    space: str = ""
    span: Span = field(default=NOWHERE, repr=False)


@dataclass(frozen=True, slots=True)
class Place:
    """The coordinates that a term is to be summed over, outermost first, and where it counts."""

    binders: tuple[Binder, ...] = ()
    guards: tuple[Cond, ...] = ()


EVERYWHERE = Place()
Terms: TypeAlias = dict[tuple[Item, Place], Poly]
Totals: TypeAlias = dict[tuple[Poly, Place], Poly]
"""Sums already taken in this analysis: many terms share one."""


def accumulate(terms: Terms, more: Mapping[tuple[Item, Place], Poly], times: int = 1) -> None:
    """Add terms, each ``times`` times, to ``terms`` itself."""
    for key, poly in more.items():
        scaled = poly if times == 1 else poly * times
        found = terms.get(key)
        terms[key] = scaled if found is None else found + scaled


def free_in(poly: Poly, place: Place) -> set[Symbol]:
    """Give the symbols that occur free in a term, lengths included."""
    free = set(symbols_of(poly))
    for guard in place.guards:
        free |= symbols_of_cond(guard)
    for _, low, high in place.binders:
        free |= symbols_of(low) | symbols_of(high)
    return free - {symbol for symbol, _, _ in place.binders}


def quantify(terms: Terms, coords: Iterable[Symbol], extents: Iterable[Poly], totals: Totals) -> Terms:
    """Sum terms over coordinates that run from 1 to their extents."""
    ranges = tuple(zip(coords, extents, strict=True))
    result: Terms = {}
    for (item, place), poly in terms.items():
        outer, value = _bind(poly, place, ranges, totals)
        accumulate(result, {(item, outer): value})
    return result


def _bind(
    poly: Poly, place: Place, ranges: tuple[tuple[Symbol, Poly], ...], totals: Totals
) -> tuple[Place, Poly]:
    free = free_in(poly, place)
    binders = place.binders
    for symbol, extent in reversed(ranges):
        if symbol in free:
            binders = ((symbol, ONE, extent), *binders)
            free |= symbols_of(extent)
        else:
            poly = poly * extent
    bound = Place(binders, place.guards)
    if any(symbol.kind == "coord" for symbol in free_in(poly, bound)):
        return bound, poly
    return EVERYWHERE, summed(poly, bound, totals)


def summed(poly: Poly, place: Place, totals: Totals) -> Poly:
    """Take the sum of one term; coordinates from outside stay in the result."""
    if place == EVERYWHERE:
        return poly
    key = (poly, place)
    if key not in totals:
        totals[key] = total(poly, place.binders, place.guards)
    return totals[key]


def choose(condition: Cond, then: Terms, other: Terms) -> Terms:
    """Count ``then`` where a condition holds and ``other`` elsewhere.

    This is ``other + [condition] * (then - other)``: what both sides share cancels exactly,
    and no negated condition has to be summed.
    """
    if isinstance(condition, Or | Not):
        return choose(negate(condition), other, then)
    result = dict(other)
    difference = dict(then)
    accumulate(difference, other, -1)
    for (item, place), poly in difference.items():
        if poly != ZERO:
            guarded = Place(place.binders, add_guard(place.guards, condition))
            accumulate(result, {(item, guarded): poly})
    return result


def choose_apart(condition: Cond, then: Terms, other: Terms) -> Terms:
    """Count like ``choose`` with a guard on each side, so that no term is negative."""
    result: Terms = {}
    for guard, side in ((condition, then), (negate(condition), other)):
        for (item, place), poly in side.items():
            guarded = Place(place.binders, add_guard(place.guards, guard))
            accumulate(result, {(item, guarded): poly})
    return result


def add_guard(guards: tuple[Cond, ...], condition: Cond) -> tuple[Cond, ...]:
    """Put a condition in front of others, once."""
    return guards if condition in guards else (condition, *guards)


def collapse(terms: Terms, totals: Totals, key: Callable[[Item], Item]) -> dict[Item, Poly]:
    """Sum every term, and add up those that ``key`` makes the same."""
    result: dict[Item, Poly] = {}
    for (item, place), poly in terms.items():
        name = key(item)
        result[name] = result.get(name, ZERO) + summed(poly, place, totals)
    return result
