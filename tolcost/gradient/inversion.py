"""Solving for coordinates: from where in a domain an element is reached.

A read ``x[2*o + q - 1]`` at every ``o`` and ``q`` reaches the element ``s`` where ``2*o + q - 1 == s``. The
adjoint of the read is a sum over these places: ``o`` is ``(s + 1 - q)/2``, under the conditions that the
division has no remainder and that the result lies in its range, and ``q`` is left to be summed over. What
cannot be solved for a coordinate becomes a condition of the sum, so no place is ever lost.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from msgspec import Struct, field

from tolcost.algebra import (
    LARGEST_LENGTH,
    ONE,
    Cond,
    Ge,
    Poly,
    Symbol,
    atom,
    const,
    coordinate,
    eq,
    exact_div,
    floordiv,
    ge,
    is_nonnegative,
    maximum,
    mod,
    product_of,
    prove,
    substitute,
    substitute_cond,
    substituting,
    the_symbol,
)
from tolcost.algebra.poly import affine_parts
from tolcost.diagnostics import refuse
from tolcost.gradient.equations import Nest, Values, unproved
from tolcost.gradient.places import is_one_to_one, linear, reshaped


class Preimage(Struct, frozen=True):
    """Where a domain reaches an element: coordinates left to vary, and the values of the others."""

    domain: Nest
    values: dict[Symbol, Poly]


def preimage(domain: Nest, at: Iterable[Poly], target: Nest) -> Preimage:
    """Solve ``at == target`` for the coordinates of a domain, as far as possible.

    The guards of the result say when a coordinate of the result belongs to the domain and reaches the target.
    """
    indices = tuple(at)
    moved = _rearranged(domain, indices, target)
    if moved is not None:
        return moved
    work = _Work(dict(zip(domain.coords, domain.extents, strict=True)), list(domain.guards))
    work.equations = [index - place for index, place in zip(indices, target.at, strict=True)]
    while work.solve_alone() or work.split_digits() or work.solve_one() or work.solve_pinned():
        pass
    own = work.guards[: len(domain.guards)]
    guards = [*map(eq, work.equations), *work.exact, *work.guards[len(own) :], *own]
    return _ordered(work.left, guards, work.values, target.guards)


def _rearranged(domain: Nest, at: tuple[Poly, ...], target: Nest) -> Preimage | None:
    """Return the place that reaches an element where the domain is the target in another shape."""
    own = set(domain.coords)
    if domain.guards or at == domain.at or any(not e.free.isdisjoint(own) for e in domain.extents):
        return None
    if at != reshaped(domain.at, domain.extents, target.extents):
        return None
    if not is_one_to_one(domain.extents, target.extents):
        return None
    values = reshaped(target.at, target.extents, domain.extents)
    most = product_of(domain.extents)
    fits = most == product_of(target.extents)
    last = () if fits else (ge(most - 1 - linear(target.at, target.extents)),)
    guards = unproved(last, target.guards)
    return Preimage(
        Nest((), (), guards), dict(zip(domain.coords, cast("tuple[Poly, ...]", values), strict=True))
    )


def is_injective(domain: Nest, at: Iterable[Poly]) -> bool:
    """Whether a domain reaches every element at most once."""
    indices = tuple(at)
    names = [the_symbol(coordinate("s", LARGEST_LENGTH)) for _ in indices]
    target = Nest(tuple(names), (const(LARGEST_LENGTH),) * len(names))
    left = preimage(Nest(domain.coords, domain.extents), indices, target).domain
    return all(extent == ONE for extent in left.extents)


class _Work(Struct):
    left: dict[Symbol, Poly]
    guards: list[Cond]
    equations: list[Poly] = field(default_factory=list)
    exact: list[Cond] = field(default_factory=list)
    """That divisions have no remainder; the other guards often follow from it."""
    values: dict[Symbol, Poly] = field(default_factory=dict)

    def among(self, p: Poly) -> list[Symbol]:
        return [symbol for symbol in self.left if symbol in p.free]

    def solve_alone(self) -> bool:
        """Solve an equation in which one coordinate is left."""
        for equation in self.equations:
            symbols = self.among(equation)
            if len(symbols) == 1 and equation.den == 1:
                parts = affine_parts(equation, symbols[0])
                if parts is not None and self.divide(equation, symbols[0], *parts):
                    return True
        return False

    def split_digits(self) -> bool:
        """Solve for the last digit of a mixed radix: for ``j`` up to ``m`` in ``(i - 1)*m + j``."""
        for equation in self.equations:
            symbols = self.among(equation)
            for symbol in symbols if equation.den == 1 and len(symbols) > 1 else ():
                parts, extent = affine_parts(equation, symbol), self.left[symbol]
                if parts is None or parts[0] != 1 or self.among(extent):
                    continue
                least = substitute(equation, dict.fromkeys(symbols, ONE))
                higher = exact_div(equation - least - (atom(symbol) - 1), extent)
                if higher is None:
                    continue
                base = extent if is_nonnegative(extent - 1) else maximum(extent, 1)
                self.equations.remove(equation)
                self.equations.append(higher - floordiv(-least, base))
                self.give(symbol, mod(-least, base) + 1)
                return True
        return False

    def solve_one(self) -> bool:
        """Solve an equation for one of its coordinates: the one with the most values, as others stay."""
        ranked = []
        for n, equation in enumerate(self.equations):
            for k, symbol in enumerate(self.left):
                parts = affine_parts(equation, symbol) if equation.den == 1 else None
                if parts is None or parts[0].constant in (None, 0):
                    continue
                few = self.left[symbol].constant
                slope = abs(parts[0].constant or 0)
                ranked.append(((few is not None, -(few or 0), slope, n, k), equation, symbol, parts))
        for _, equation, symbol, parts in sorted(ranked, key=lambda row: row[0]):
            if self.divide(equation, symbol, *parts):
                return True
        return False

    def solve_pinned(self) -> bool:
        """Give a coordinate its only value, where a guard leaves no other."""
        for symbol, extent in self.left.items():
            lows = [
                ONE,
                *(atom(symbol) - g.p for g in self.guards if isinstance(g, Ge) and _is_unit(g.p, symbol, 1)),
            ]
            highs = [
                extent,
                *(g.p + atom(symbol) for g in self.guards if isinstance(g, Ge) and _is_unit(g.p, symbol, -1)),
            ]
            for low in lows:
                if low in highs and symbol not in low.free:
                    self.guards += [ge(low - 1), ge(extent - low)]
                    self.give(symbol, low)
                    return True
        return False

    def divide(self, equation: Poly, symbol: Symbol, slope: Poly, rest: Poly) -> bool:
        """Solve ``slope*symbol + rest == 0``."""
        if is_nonnegative(-slope - 1):
            slope, rest = -slope, -rest
        if not is_nonnegative(slope - 1):
            return False
        self.equations.remove(equation)
        value = -rest if slope == ONE else floordiv(-rest, slope)
        if slope != ONE:
            self.exact.append(eq(slope * value + rest))
        extent = self.left[symbol]
        self.guards += [ge(value - 1), ge(extent - value)]
        self.give(symbol, value)
        return True

    def give(self, symbol: Symbol, value: Poly) -> None:
        """Replace a coordinate by its value everywhere."""
        ranges = dict(self.left)
        if self.among(value):  # an extent must not depend on what it bounds: lay it out over the largest
            for other, extent in ranges.items():
                if symbol in extent.free:
                    self.left[other] = largest(extent, ranges)
                    self.guards.append(ge(extent - atom(other)))
        del self.left[symbol]
        put = substituting({symbol: value})
        self.left = {other: put(extent) for other, extent in self.left.items()}
        self.equations = list(map(put, self.equations))
        self.guards = [substitute_cond(guard, {symbol: value}) for guard in self.guards]
        self.exact = [substitute_cond(guard, {symbol: value}) for guard in self.exact]
        self.values = {**{other: put(known) for other, known in self.values.items()}, symbol: value}


def _is_unit(p: Poly, symbol: Symbol, slope: int) -> bool:
    parts = affine_parts(p, symbol) if symbol in p.free and p.den == 1 else None
    return parts is not None and parts[0] == slope


def _ordered(
    left: dict[Symbol, Poly], guards: list[Cond], values: Values, facts: tuple[Cond, ...]
) -> Preimage:
    """Rename what is left, so that every extent depends on earlier coordinates only."""
    extents: dict[Symbol, Poly] = {}
    waiting = list(left)
    for symbol, extent in left.items():
        if extent.free.isdisjoint(waiting):
            extents[symbol] = extent
        else:
            extents[symbol] = largest(extent, {other: left[other] for other in waiting})
            guards.append(ge(extent - atom(symbol)))
        waiting.remove(symbol)
    domain, renamed = Nest(tuple(extents), tuple(extents.values()), ()).fresh()
    held = [substitute_cond(guard, renamed) for guard in guards]
    known = {symbol: substitute(value, renamed) for symbol, value in values.items()}
    return Preimage(Nest(domain.coords, domain.extents, unproved(held, facts)), {**known, **renamed})


def largest(extent: Poly, ranges: Values) -> Poly:
    """Return a length that is at least as large as an extent at all values of some coordinates."""
    found = extent
    for _ in range(len(ranges) + 1):
        inner = [symbol for symbol in ranges if symbol in found.free]
        if not inner:
            return found
        symbol = max(inner, key=lambda one: one.depth)
        ends = [substitute(found, {symbol: ranges[symbol]}), substitute(found, {symbol: ONE})]
        for end in (*ends, maximum(ends[0], ends[1])):
            if prove(ge(end - found)) is True:
                found = end
                break
        else:
            break
    if found.free.isdisjoint(ranges):
        return found
    refuse("T0903", f"the derivative needs the largest value of the length {extent}, which is not found")
