"""Lengths that only data decides: which terms mention one, and bounding one inside a loop.

The length of a filter outside of loops is one number, and stays a symbol.  Inside a loop it is
another number at every step; no closed form has a name for each, so its upper bound takes
its place, and the result is an upper bound.
"""

from __future__ import annotations

from tolcost.algebra import Cond, Poly, Symbol, is_nonnegative, substitute, symbols_of_cond
from tolcost.cost.terms import Place, Terms, accumulate, free_in
from tolcost.diagnostics import Diagnostic, Rejected, Span


def mentions_data(terms: Terms) -> bool:
    """Whether some term mentions a length that data decides."""
    return any(symbol.kind == "data" for (_, place), poly in terms.items() for symbol in free_in(poly, place))


def bound_above(terms: Terms, symbol: Symbol, most: Poly, span: Span) -> tuple[Terms, bool]:
    """Replace a length by its upper bound; also tell whether anything changed."""
    if not any(symbol in free_in(poly, place) for (_, place), poly in terms.items()):
        return terms, False
    result: Terms = {}
    for (item, place), poly in terms.items():
        bounded = _largest(poly, symbol, most, span)
        accumulate(result, {(item, _widest(place, symbol, most)): bounded})
    return result, True


def _largest(poly: Poly, symbol: Symbol, most: Poly, span: Span) -> Poly:
    """Give an expression without the symbol that is never less than the given one."""
    if symbol not in poly.free:
        return poly
    at_most = substitute(poly, {symbol: most})
    at_least = substitute(poly, {symbol: 0 if symbol.lo is None else symbol.lo})
    for candidate in (at_most, at_most + at_least):
        if is_nonnegative(candidate - poly):
            return candidate
    raise Rejected(
        Diagnostic(
            "T0602",
            f"the cost inside this loop depends on data through {symbol.name} and has no known upper bound",
            span,
            hint="filter before the loop, so that the length is one number",
        )
    )


def _widest(place: Place, symbol: Symbol, most: Poly) -> Place:
    """Let ranges run to the upper bound, and drop the conditions that the symbol decides."""
    binders = tuple((s, low, substitute(high, {symbol: most})) for s, low, high in place.binders)
    guards = tuple(guard for guard in place.guards if not _mentions(guard, symbol))
    return Place(binders, guards, substitute(place.factor, {symbol: most}))


def _mentions(guard: Cond, symbol: Symbol) -> bool:
    return symbol in symbols_of_cond(guard)
