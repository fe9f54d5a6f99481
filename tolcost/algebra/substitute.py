"""Values in place of symbols, where sums that numbers are put into are done again; and equations.

What is known of a point may follow from equations.  Only those that are linear in the unknown that is
left are used; any other stays as it is, for whoever checks conditions later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tolcost.algebra.conditions import Cond, Eq, Ge, map_cond
from tolcost.algebra.poly import UNIT, ZERO, Exponential, Generator, Poly, Symbol, atom
from tolcost.algebra.rebuild import rebuild, rebuilding, replace_generator
from tolcost.algebra.sums import CLOSED

_MOST_HALVINGS = 64
"""The largest exponent that is looked for."""


def substitute(p: Poly, values: Mapping[Symbol, Poly | int]) -> Poly:
    """Put polynomials in place of symbols, all at once; sums into which numbers are put are done again.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n, m = length("n"), length("m")
    >>> substitute(m + 2 * n, {the_symbol(m): n, the_symbol(n): m})
    2*m + n
    """
    return rebuild(p, values, CLOSED)


def substituting(values: Mapping[Symbol, Poly | int]) -> Callable[[Poly], Poly]:
    """What puts polynomials in place of symbols, in many forms that have much in common."""
    return rebuilding(values, CLOSED)


def step_of(p: Poly, symbol: Symbol) -> Poly:
    """Give how much more a polynomial is where a symbol is one more."""
    return substitute(p, {symbol: atom(symbol) + 1}) - p


def replace(p: Poly, old: Generator, new: Poly) -> Poly:
    """Put a polynomial in place of one generator, at any depth except inside sums."""
    return replace_generator(p, old, new, CLOSED)


def substitute_cond(cond: Cond, values: Mapping[Symbol, Poly | int]) -> Cond:
    """Put polynomials in place of symbols, all at once."""
    return map_cond(cond, lambda p: substitute(p, values))


# --- Equations


def solve(
    equations: Sequence[Poly], values: Mapping[Symbol, int]
) -> tuple[dict[Symbol, int], tuple[Poly, ...]]:
    """Find the symbols that ``p == 0`` for every equation leaves no choice for.

    Gives all values, and the equations that no integer fulfils.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> share, n = length("share"), length("n")
    >>> solve([3 * share - n], {the_symbol(n): 12})
    ({n: 12, share: 4}, ())
    >>> solve([3 * share - n], {the_symbol(n): 10})[1]
    (3*share - n,)
    """
    known = dict(values)
    impossible: dict[Poly, None] = {}
    left, open_before = list(equations), len(equations) + 1
    while len(left) < open_before:
        open_before, todo, left = len(left), left, []
        for equation in todo:
            unknown = equation.free.difference(known)
            found = _unknown(substitute(equation, dict(known))) if len(unknown) == 1 else None
            if found is None:
                left += [equation] if unknown else []
                continue
            symbol, slope, offset = found
            if offset % slope:
                impossible[equation] = None
            else:
                known[symbol] = -offset // slope
    return known, tuple(impossible)


def equations_in(conditions: Iterable[Cond]) -> list[Poly]:
    """What must be 0 for the conditions that are equations to hold: ``n <= 1`` is one for a length."""
    return [c.p for c in conditions if isinstance(c, Eq) or (isinstance(c, Ge) and _is_never_above_0(c.p))]


def _is_never_above_0(p: Poly) -> bool:
    found = _unknown(p)
    if found is None:
        return False
    symbol, factor, rest = found
    least = None if symbol.lo is None else symbol.lo.constant
    return factor < 0 and least is not None and factor * least + rest == 0


def _unknown(p: Poly) -> tuple[Symbol, int, int] | None:
    """Give the one unknown of an expression that is linear, or in an exponent; its factor and the rest."""
    if len(p.free) == 1 and any(isinstance(g, Exponential) for mono in p.terms for g in mono):
        return _unknown_exponent(p)
    if len(p.free) != 1 or p.height or max(map(len, p.terms)) != 1:
        return None
    (symbol,) = p.free
    return symbol, p.terms[symbol,], p.terms.get(UNIT, 0)


def _unknown_exponent(p: Poly) -> tuple[Symbol, int, int]:
    """The one unknown where it stands in an exponent; 2 times it and 1 can never be 0, where none fits."""
    (symbol,) = p.free
    for value in range(_MOST_HALVINGS):
        if substitute(p, {symbol: value}) == ZERO:
            return symbol, 1, -value
    return symbol, 2, 1
