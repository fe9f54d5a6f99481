"""Expressions for depth: the largest of several closed forms, which may contain ceil(log2 n).

A logarithm is a symbol of the algebra that stands for it; ``Logs`` knows what of.  Depths are
never negative and only ever grow by adding, so a logarithm always has a positive factor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tolcost.algebra import (
    ONE,
    ZERO,
    Poly,
    Symbol,
    atom,
    data_symbol,
    evaluate,
    is_nonnegative,
    maximum,
    quoted,
    range_of,
    substitute,
    the_symbol,
    to_text,
    total,
)

_MOST_CANDIDATES = 6
_MOST_TERMS = 12


@dataclass(frozen=True, slots=True)
class Depth:
    """The largest of ``candidates``; ``exact`` is False where it may be more than the depth is.

    ``logs`` gives, for each symbol that stands for ``ceil(log2(p))``, its ``p``.
    """

    candidates: tuple[Poly, ...]
    exact: bool = True
    logs: tuple[tuple[Symbol, Poly], ...] = ()

    def __str__(self) -> str:
        """The text form; logarithms read ``ceiling(log(..., 2))``."""
        texts = [self._text(candidate) for candidate in self.candidates]
        return texts[0] if len(texts) == 1 else f"Max({', '.join(texts)})"

    def _text(self, candidate: Poly) -> str:
        text = to_text(candidate)
        for symbol, inside in self.logs:
            text = text.replace(quoted(symbol.name), f"ceiling(log({to_text(inside)}, 2))")
        return text

    def at(self, values: Mapping[Symbol, int]) -> int:
        """Evaluate exactly at a point."""
        known = dict(values)
        for symbol, inside in self.logs:
            known[symbol] = ceil_log2(evaluate(inside, values))
        return max(evaluate(candidate, known) for candidate in self.candidates)


def ceil_log2(value: int) -> int:
    """Give the least e with ``2**e >= value``.

    >>> [ceil_log2(n) for n in (1, 2, 3, 4, 5)]
    [0, 1, 2, 2, 3]
    """
    return max(value - 1, 0).bit_length()


class Logs:
    """The logarithms of one analysis."""

    def __init__(self) -> None:
        """Start with none."""
        self._symbols: dict[Poly, Symbol] = {}
        self._insides: dict[Symbol, Poly] = {}

    def of(self, inside: Poly) -> Poly:
        """Give ``ceil(log2(inside))``; inside is at least 1."""
        known = inside.constant
        if known is not None:
            return ONE * ceil_log2(known)
        if inside not in self._symbols:
            symbol = the_symbol(data_symbol(f"ceiling log2 {len(self._symbols)}", 0, 64))
            self._symbols[inside] = symbol
            self._insides[symbol] = inside
        return atom(self._symbols[inside])

    def used(self, candidates: tuple[Poly, ...]) -> tuple[tuple[Symbol, Poly], ...]:
        """Give the logarithms in some expressions, and what they are of."""
        return tuple((s, p) for s, p in self._insides.items() if any(s in c.free for c in candidates))

    def mentions(self, p: Poly, symbol: Symbol) -> bool:
        """Whether a symbol occurs in an expression, in its logarithms included."""
        return symbol in p.free or any(symbol in inside.free for _, inside in self.used((p,)))

    def substitute(self, p: Poly, symbol: Symbol, value: Poly) -> Poly:
        """Put a value in place of a symbol, in logarithms too."""
        given: dict[Symbol, Poly | int] = {symbol: value}
        for log, inside in self.used((p,)):
            given[log] = self.of(substitute(inside, {symbol: value}))
        return substitute(p, given)

    def grows(self, p: Poly, symbol: Symbol) -> bool | None:
        """Whether an expression grows with a symbol, or falls; None if neither is proved."""
        pieces = [piece for piece in (p, *(q for _, q in self.used((p,)))) if symbol in piece.free]
        steps = [substitute(piece, {symbol: atom(symbol) + 1}) - piece for piece in pieces]
        if all(is_nonnegative(step) for step in steps):
            return True
        return False if all(is_nonnegative(-step) for step in steps) else None


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


def peak(depth: Depth, symbol: Symbol, extent: Poly, logs: Logs) -> Depth:
    """Give the largest depth while a coordinate runs from 1 to its extent."""
    exact = depth.exact
    found: list[Poly] = []
    for candidate in depth.candidates:
        if not logs.mentions(candidate, symbol):
            found.append(candidate)
            continue
        grows = logs.grows(candidate, symbol)
        if grows is None:
            exact = False
            found.append(_sum_instead(candidate, symbol, extent, logs))
        else:
            found.append(logs.substitute(candidate, symbol, extent if grows else ONE))
    return Depth(tuple(found), exact)


def _sum_instead(candidate: Poly, symbol: Symbol, extent: Poly, logs: Logs) -> Poly:
    """Bound the largest of numbers that are not negative by their sum."""
    worst: dict[Symbol, Poly | int] = {}
    for log, inside in logs.used((candidate,)):
        if symbol in inside.free:
            worst[log] = logs.of(total(inside, [(symbol, ONE, extent)]) + 1)
    plain = substitute(candidate, worst)
    return total(plain, [(symbol, ONE, extent)]) if symbol in plain.free else plain
