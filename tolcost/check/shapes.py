"""Shapes to try where nothing is proved: small ones first, then larger ones, all of them admissible.

Trying proves nothing; it finds a shape to show, or tells how many were looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TypeAlias

from tolcost.algebra import (
    AlgebraBudget,
    Cond,
    NotInteger,
    Poly,
    Symbol,
    UnboundSymbol,
    evaluate,
    evaluate_cond,
    symbols_of_cond,
)
from tolcost.algebra.equations import equations_in, solve

_STEPS = (0, 1, 2, 3, 6, 7, 15, 31, 63, 127, 1023, 4095)
MOST_TRIED = 400

Point: TypeAlias = dict[Symbol, int]


@dataclass(frozen=True, slots=True)
class Tried:
    """Two expressions at one shape."""

    point: Point
    old: int
    new: int


def try_shapes(old: Poly, new: Poly, facts: Sequence[Cond]) -> Iterator[Tried]:
    """Evaluate both expressions at shapes that fulfil the facts."""
    for point in islice(_admissible(old.free | new.free, facts), MOST_TRIED):
        try:
            yield Tried(point, evaluate(old, point), evaluate(new, point))
        except (AlgebraBudget, NotInteger):
            continue


def _admissible(symbols: Iterable[Symbol], facts: Sequence[Cond]) -> Iterator[Point]:
    ordered = _bounds_first(symbols)
    steps = _STEPS if len(ordered) <= 2 else _STEPS[::2] if len(ordered) <= 4 else _STEPS[:6:2]
    diagonal = ((step,) * len(ordered) for step in _STEPS)
    grid = product(steps, repeat=len(ordered))
    seen: set[tuple[int, ...]] = set()
    for offsets in (*diagonal, *islice(grid, 4 * MOST_TRIED)):
        if offsets not in seen:
            seen.add(offsets)
            point = _completed(_point(ordered, offsets, {}), max(offsets, default=0), facts)
            if point is not None and _hold(facts, point):
                yield point


def _completed(point: Point | None, offset: int, facts: Sequence[Cond]) -> Point | None:
    """Give values to the symbols that only facts mention: those that follow, then any that fit."""
    while point is not None:
        point, _ = solve(equations_in(facts), point)
        others = {s for fact in facts for s in symbols_of_cond(fact)} - point.keys()
        if not others:
            return point
        point = _point(_bounds_first((min(others, key=lambda s: s.key),)), (offset,) * 99, point)
    return None


def _bounds_first(symbols: Iterable[Symbol]) -> list[Symbol]:
    """A symbol comes after those that its bounds mention."""
    ordered: dict[Symbol, None] = {}
    todo = sorted(symbols, key=lambda s: s.key, reverse=True)
    while todo:
        symbol = todo[-1]
        below = {s for bound in (symbol.lo, symbol.hi) if bound is not None for s in bound.free}
        missing = [s for s in sorted(below, key=lambda s: s.key) if s not in ordered]
        if missing:
            todo.extend(missing)
        else:
            ordered.setdefault(todo.pop())
    return list(ordered)


def _point(ordered: Sequence[Symbol], offsets: Sequence[int], known: Point) -> Point | None:
    """Values that far above the lower bounds; None where a range has no value."""
    point = dict(known)
    for symbol, offset in zip(ordered, offsets, strict=False):
        if symbol in point:
            continue
        low = 0 if symbol.lo is None else evaluate(symbol.lo, point)
        high = None if symbol.hi is None else evaluate(symbol.hi, point)
        if high is not None and low > high:
            return None
        start = 0 if low < 0 and (high is None or high >= 0) else low  # attributes are seldom below 0
        point[symbol] = start + offset if high is None else min(start + offset, high)
    return point


def _hold(facts: Sequence[Cond], point: Point) -> bool:
    try:
        return all(evaluate_cond(fact, point) for fact in facts)
    except (UnboundSymbol, NotInteger):
        return False
