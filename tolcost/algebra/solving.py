"""Finding values that equations decide: a length given as ``b * share`` gives ``share``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tolcost.algebra.conditions import Cond, Eq
from tolcost.algebra.errors import NotInteger
from tolcost.algebra.evaluate import evaluate
from tolcost.algebra.poly import Poly
from tolcost.algebra.substitute import symbols_of
from tolcost.algebra.symbols import Symbol


def complete(
    conditions: Iterable[Cond], values: Mapping[Symbol, int], zeros: Iterable[Poly] = ()
) -> dict[Symbol, int]:
    """The values together with those that equations, and formulas known to be 0, give in terms of them.

    >>> from tolcost.algebra import eq, length, the_symbol
    >>> n, share = length("n"), length("share")
    >>> complete([eq(n - 2 * share)], {the_symbol(n): 6})[the_symbol(share)]
    3
    """
    found = dict(values)
    equations = [*zeros, *(c.p for c in conditions if isinstance(c, Eq))]
    progress = True
    while progress:
        progress = False
        for p in equations:
            unknown = [s for s in symbols_of(p) if s not in found]
            value = _solved(p, unknown[0], found) if len(unknown) == 1 else None
            if value is not None:
                found[unknown[0]] = value
                progress = True
    return found


def _solved(p: Poly, symbol: Symbol, values: Mapping[Symbol, int]) -> int | None:
    """The one value of a symbol that makes a linear formula 0."""
    if any(sum(g is symbol for g in mono) > 1 or _hidden(mono, symbol) for mono in p.terms):
        return None
    try:
        at_zero = evaluate(p, {**values, symbol: 0})
        slope = evaluate(p, {**values, symbol: 1}) - at_zero
    except NotInteger:
        return None
    if slope == 0 or at_zero % slope:
        return None
    return -at_zero // slope


def _hidden(mono: tuple[object, ...], symbol: Symbol) -> bool:
    """Whether a symbol stands inside a floor, a clip or a sum."""
    return any(g is not symbol and symbol in getattr(g, "free", ()) for g in mono)
