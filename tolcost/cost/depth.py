"""Expressions for depth: the largest of several closed forms, which may contain ceil(log2 n).

Depths are never negative and only ever grow by adding, so a logarithm always has a positive factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tolcost.algebra import (
    ONE,
    ZERO,
    Log2,
    Poly,
    Symbol,
    atom,
    ceil_log2,
    data_symbol,
    evaluate,
    generators_in,
    is_nonnegative,
    maximum,
    range_of,
    replace,
    substitute,
    to_text,
    total,
)

_MOST_CANDIDATES = 6
_MOST_TERMS = 12


@dataclass(frozen=True, slots=True)
class Depth:
    """The largest of ``candidates``; ``exact`` is False where it may be more than the depth is."""

    candidates: tuple[Poly, ...]
    exact: bool = True

    def __str__(self) -> str:
        """The text form."""
        texts = [to_text(candidate) for candidate in self.candidates]
        return texts[0] if len(texts) == 1 else f"Max({', '.join(texts)})"

    def at(self, values: Mapping[Symbol, int]) -> int:
        """Evaluate exactly at a point."""
        return max(evaluate(candidate, values) for candidate in self.candidates)


ZERO_DEPTH = Depth((ZERO,))


def later(depth: Depth, by: Poly) -> Depth:
    """Add to a depth."""
    return Depth(tuple(candidate + by for candidate in depth.candidates), depth.exact)


def latest(*depths: Depth, markers: frozenset[Symbol] = frozenset()) -> Depth:
    """Give the larger of depths.

    ``markers`` are symbols that have to stay plain summands: where there are many candidates,
    only those with the same markers are merged into one expression.
    """
    exact = all(depth.exact for depth in depths)
    kept: list[Poly] = []
    given = [candidate for depth in depths for candidate in depth.candidates]
    for candidate in [c for c in given if c != ZERO] or given[:1]:  # no depth is less than 0
        if not any(_never_less(other, candidate) for other in kept):
            kept = [other for other in kept if not _never_less(candidate, other)]
            kept.append(candidate)
    return Depth(tuple(_merged(kept, markers)), exact)


def _never_less(a: Poly, b: Poly) -> bool:
    """Whether ``a >= b`` is plain to see; a long proof is not worth one candidate less."""
    difference = a - b
    if difference.constant is not None:
        return difference.constant >= 0
    if len(difference.terms) <= _MOST_TERMS and difference.height <= 1:
        return is_nonnegative(difference)
    low = range_of(difference)[0]
    return low is not None and low >= 0


def _merged(candidates: list[Poly], markers: frozenset[Symbol]) -> list[Poly]:
    if len(candidates) <= _MOST_CANDIDATES:
        return candidates
    groups: dict[frozenset[Symbol], Poly] = {}
    for candidate in candidates:
        group = candidate.free & markers
        groups[group] = maximum(groups[group], candidate) if group in groups else candidate
    return list(groups.values())


def peak(depth: Depth, symbol: Symbol, extent: Poly) -> Depth:
    """Give the largest depth while a coordinate runs from 1 to its extent."""
    exact = depth.exact
    found: list[Poly] = []
    for candidate in depth.candidates:
        if symbol not in candidate.free:
            found.append(candidate)
        elif (grows := _grows(candidate, symbol)) is None:
            exact = False
            found.append(_sum_instead(candidate, symbol, extent))
        else:
            found.append(substitute(candidate, {symbol: extent if grows else ONE}))
    return Depth(tuple(found), exact)


def logs_of(p: Poly, symbol: Symbol) -> list[Log2]:
    """Give the logarithms of something that a symbol occurs in."""
    found = (g for g in generators_in(p) if isinstance(g, Log2) and symbol in g.free)
    return sorted(found, key=lambda log: log.key)


def _grows(p: Poly, symbol: Symbol) -> bool | None:
    """Whether an expression grows with a symbol, or falls; None if neither is proved.

    It does if what its logarithms are of does, and what it is while they stay as they are.
    """
    logs = logs_of(p, symbol)
    for log in logs:
        p = replace(p, log, data_symbol("log", 0))
    pieces = [piece for piece in (p, *(log.p for log in logs)) if symbol in piece.free]
    steps = [substitute(piece, {symbol: atom(symbol) + 1}) - piece for piece in pieces]
    if all(is_nonnegative(step) for step in steps):
        return True
    return False if all(is_nonnegative(-step) for step in steps) else None


def _sum_instead(candidate: Poly, symbol: Symbol, extent: Poly) -> Poly:
    """Bound the largest of numbers that are not negative by their sum."""
    for log in logs_of(candidate, symbol):
        candidate = replace(candidate, log, ceil_log2(total(log.p, [(symbol, ONE, extent)]) + 1))
    return total(candidate, [(symbol, ONE, extent)]) if symbol in candidate.free else candidate
