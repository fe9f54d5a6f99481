"""Where one closed form overtakes another as a length grows, exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from tolcost.algebra import AlgebraBudget, NotInteger, Poly, Symbol, UnboundSymbol, evaluate, total_of
from tolcost.algebra.poly import poly
from tolcost.result.regions import positive_from
from tolcost.result.study import Crossing


def crossings_of(forms: Mapping[str, Poly], symbol: Symbol, values: Sequence[int]) -> Iterator[Crossing]:
    """Yield where forms overtake each other, from one of some values of a symbol to another.

    >>> from tolcost.algebra import length, the_symbol
    >>> n = length("n")
    >>> forms = {"square": n * n, "line": 100 * n}
    >>> [(c.earlier, c.later, c.at) for c in crossings_of(forms, the_symbol(n), (1, 100, 1000))]
    [('line', 'square', 101)]
    """
    for (a, f), (b, g) in combinations(forms.items(), 2):
        gap = _only(g - f, symbol)
        if gap is None:
            continue
        signs = [(value, sign) for value in values if (sign := _sign(gap, symbol, value))]
        for (low, before), (high, after) in pairwise(signs):
            if before != after:
                (earlier, later), rise = ((a, b), gap) if after > 0 else ((b, a), -gap)
                at = _overtaken(rise, symbol, low, high)
                if at is not None:
                    yield Crossing(earlier, later, at)


def _overtaken(gap: Poly, symbol: Symbol, low: int, high: int) -> int | None:
    """Return the length from which a difference is positive up to the last; None if that is not decided."""
    try:
        return positive_from(gap, symbol, low, high)
    except (NotInteger, AlgebraBudget):
        return None


def _only(gap: Poly, symbol: Symbol) -> Poly | None:
    """Return a difference in one symbol, after dividing by the others if possible; else None."""
    if gap.free <= {symbol}:
        return gap
    if gap.height:
        return None
    rests = {tuple(g for g in mono if g is not symbol) for mono in gap.terms}
    if len(rests) != 1:
        return None
    return total_of(poly({tuple(g for g in m if g is symbol): c}, gap.den) for m, c in gap.terms.items())


def _sign(gap: Poly, symbol: Symbol, value: int) -> int:
    try:
        found = evaluate(gap, {symbol: value})
    except (UnboundSymbol, NotInteger, AlgebraBudget):
        return 0
    return (found > 0) - (found < 0)
