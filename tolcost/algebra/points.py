"""Points: a value for every symbol, within its range, at which all known facts hold.

Equations among the facts determine some symbols from the others, so only the others are chosen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from tolcost.algebra.conditions import Cond, symbols_of_cond
from tolcost.algebra.evaluate import evaluate, evaluate_cond
from tolcost.algebra.floors import generator_range
from tolcost.algebra.poly import AlgebraBudget, NotInteger, Poly, Symbol, affine_parts
from tolcost.algebra.substitute import equations_in, solve

Assignment: TypeAlias = dict[Symbol, int]


class Admissible(Struct, frozen=True):
    """The points that satisfy a set of facts.

    ``chosen`` are the symbols to choose values for; ``others`` follow from equations or occur only in facts.
    """

    chosen: tuple[Symbol, ...]
    others: tuple[Symbol, ...]
    equations: tuple[Poly, ...]
    facts: tuple[Cond, ...]

    def at(
        self, offsets: Iterable[int], others: int, known: Mapping[Symbol, int] | None = None, low: bool = True
    ) -> Assignment | None:
        """Return the point whose chosen symbols lie ``offsets`` above their least values.

        The result is None if the facts do not hold there.

        ``others`` is the offset of symbols that are neither chosen nor determined by an equation. Without
        ``low``, a symbol that may be negative is counted from 0 instead of its least value.
        """
        try:
            return self._at(offsets, others, dict(known or {}), low)
        except AlgebraBudget:  # a power that decides a length is too large to compute
            return None

    def _at(self, offsets: Iterable[int], others: int, point: Assignment, low: bool) -> Assignment | None:
        if not all(_choose(point, *one, low) for one in zip(self.chosen, offsets, strict=False)):
            return None
        told = self._add_determined(point)
        for symbol in self.others:
            if symbol not in point:
                if not _choose(point, symbol, others, low):
                    return None
                told |= self._add_determined(point)
        inside = all(_is_in_range(symbol, point) for symbol in told)
        return point if inside and hold_at(self.facts, point) else None

    def _add_determined(self, point: Assignment) -> set[Symbol]:
        """Add the symbols that equations determine at this point, and return them."""
        if not self.equations:
            return set()
        found, _ = solve(self.equations, point)
        told = found.keys() - point.keys()
        point.update(found)
        return told


def admissible(symbols: Iterable[Symbol], facts: Sequence[Cond]) -> Admissible:
    """Describe the points over the given symbols and the symbols that the facts mention.

    >>> from tolcost.algebra.conditions import eq
    >>> from tolcost.algebra.poly import length
    >>> n, p = length("n"), length("p")
    >>> points = admissible(n.free | p.free, (eq(n + 1 - p),))
    >>> points.chosen, points.at((3,), 3)
    ((n,), {n: 4, p: 5})
    """
    equations = tuple(equations_in(facts))
    wanted = bounds_first(symbols)
    every = (
        bounds_first({*wanted, *(s for fact in facts for s in symbols_of_cond(fact))}) if facts else wanted
    )
    bounding = {other for symbol in every for end in _ends(symbol) for other in end.free}
    follow = set(_determined_symbols(equations, bounding, frozenset(wanted)))
    chosen = tuple(symbol for symbol in wanted if symbol not in follow)
    return Admissible(chosen, tuple(s for s in every if s not in chosen), equations, tuple(facts))


def _determined_symbols(
    equations: Iterable[Poly], bounding: set[Symbol], wanted: frozenset[Symbol]
) -> Iterator[Symbol]:
    """Yield a symbol for each equation that determines it whatever the other symbols are.

    A symbol that bounds others is never taken, and a symbol that is not wanted is taken first.
    """
    taken = set(bounding)
    for equation in equations:
        for symbol in sorted(equation.free - taken, key=lambda s: (s not in wanted, s.key), reverse=True):
            parts = affine_parts(equation, symbol)
            if parts is not None and parts[0].constant in (1, -1):
                taken |= equation.free
                yield symbol
                break


def _ends(symbol: Symbol) -> list[Poly]:
    return [end for end in (symbol.lo, symbol.hi) if end is not None]


def _range(symbol: Symbol, point: Assignment) -> tuple[int, int | None]:
    if not symbol.depth:  # bounded by numbers
        least, most = generator_range(symbol)
        return least or 0, most
    low = 0 if symbol.lo is None else evaluate(symbol.lo, point)
    return low, None if symbol.hi is None else evaluate(symbol.hi, point)


def _choose(point: Assignment, symbol: Symbol, offset: int, from_low: bool) -> bool:
    """Set a symbol to the given offset within its range, if it has no value yet.

    Return False if the range is empty.
    """
    if symbol in point:
        return True
    low, high = _range(symbol, point)
    if high is not None and low > high:
        return False
    start = 0 if not from_low and low < 0 and (high is None or high >= 0) else low
    point[symbol] = start + offset if high is None else min(start + offset, high)
    return True


def _is_in_range(symbol: Symbol, point: Assignment) -> bool:
    low, high = _range(symbol, point)
    return (symbol.lo is None or low <= point[symbol]) and (high is None or point[symbol] <= high)


def in_ranges(point: Mapping[Symbol, int]) -> bool:
    """Whether every symbol of a point lies within its own bounds."""
    try:
        return all(_is_in_range(symbol, dict(point)) for symbol in point)
    except (AlgebraBudget, KeyError, NotInteger):
        return False


def hold_at(facts: Iterable[Cond], point: Mapping[Symbol, int]) -> bool:
    """Whether all facts hold at a point; False also if one cannot be evaluated there."""
    try:
        return all(evaluate_cond(fact, point) for fact in facts)
    except (AlgebraBudget, KeyError, NotInteger):
        return False


def bounds_first(symbols: Iterable[Symbol]) -> list[Symbol]:
    """Sort symbols so that each comes after the symbols in its bounds, which are added."""
    ordered: dict[Symbol, None] = {}

    def visit(symbol: Symbol) -> None:
        for bound in _ends(symbol):
            for other in sorted(bound.free, key=lambda s: s.key):
                visit(other)
        ordered.setdefault(symbol)

    for symbol in sorted(symbols, key=lambda s: s.key):
        visit(symbol)
    return list(ordered)
