"""Substitution of values for symbols, which evaluates sums that become numeric, and linear equations.

Some facts about a point are equations. ``solve`` uses only equations that are linear in the one unknown left;
any other equation stays as it is, and is checked later with the other conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tolcost.algebra.conditions import Cond, Eq, Ge, map_cond
from tolcost.algebra.poly import UNIT, ZERO, Exponential, Generator, Poly, Symbol, atom
from tolcost.algebra.rebuild import rebuild, rebuilder, replace_generator
from tolcost.algebra.sums import CLOSED

_MOST_HALVINGS = 64
"""The largest exponent that is tried when an equation has its unknown in an exponent."""


def substitute(p: Poly, values: Mapping[Symbol, Poly | int]) -> Poly:
    """Substitute polynomials for symbols, simultaneously; sums that receive numbers are evaluated again.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n, m = length("n"), length("m")
    >>> substitute(m + 2 * n, {the_symbol(m): n, the_symbol(n): m})
    2*m + n
    """
    return rebuild(p, values, CLOSED)


def substituting(values: Mapping[Symbol, Poly | int]) -> Callable[[Poly], Poly]:
    """Return a function that substitutes ``values`` in many forms and rewrites what they share only once."""
    return rebuilder(values, CLOSED)


def step_of(p: Poly, symbol: Symbol) -> Poly:
    """Return the increase of a polynomial when a symbol grows by one."""
    return substitute(p, {symbol: atom(symbol) + 1}) - p


def replace(p: Poly, old: Generator, new: Poly) -> Poly:
    """Replace one generator by a polynomial, at any depth except inside sums."""
    return replace_generator(p, old, new, CLOSED)


def substitute_cond(cond: Cond, values: Mapping[Symbol, Poly | int]) -> Cond:
    """Substitute polynomials for symbols in a condition, simultaneously."""
    return map_cond(cond, lambda p: substitute(p, values))


# --- Equations


def solve(
    equations: Sequence[Poly], values: Mapping[Symbol, int]
) -> tuple[dict[Symbol, int], tuple[Poly, ...]]:
    """Solve for the symbols that the equations ``p == 0`` determine.

    Returns all values, given and found, and the equations that no integer solves.

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
            found = _linear_unknown(substitute(equation, dict(known))) if len(unknown) == 1 else None
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
    """Return the polynomials that must be 0 for the conditions to hold.

    A bound that leaves a symbol one value counts as an equation: ``n <= 1`` for a length.
    """
    return [c.p for c in conditions if isinstance(c, Eq) or (isinstance(c, Ge) and _is_never_above_0(c.p))]


def _is_never_above_0(p: Poly) -> bool:
    found = _linear_unknown(p)
    if found is None:
        return False
    symbol, factor, rest = found
    least = None if symbol.lo is None else symbol.lo.constant
    return factor < 0 and least is not None and factor * least + rest == 0


def _linear_unknown(p: Poly) -> tuple[Symbol, int, int] | None:
    """Return symbol, factor and constant of a linear expression in one symbol, or of one with an exponent.

    An equation with its unknown in an exponent is replaced by a linear equation with the same solution.
    """
    if len(p.free) == 1 and any(isinstance(g, Exponential) for mono in p.terms for g in mono):
        return _solve_exponent(p)
    if len(p.free) != 1 or p.height or max(map(len, p.terms)) != 1:
        return None
    (symbol,) = p.free
    return symbol, p.terms[symbol,], p.terms.get(UNIT, 0)


def _solve_exponent(p: Poly) -> tuple[Symbol, int, int]:
    """Solve for a symbol in an exponent by trial.

    Return ``2*symbol + 1 == 0``, which has no solution, if none fits.
    """
    (symbol,) = p.free
    for value in range(_MOST_HALVINGS):
        if substitute(p, {symbol: value}) == ZERO:
            return symbol, 1, -value
    return symbol, 2, 1
