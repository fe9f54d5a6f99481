"""The degree of an expression, and solving equations: what lengths must be, given the others.

Only equations that are linear in the unknown that is left are used; any other stays as it is,
for whoever checks conditions later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tolcost.algebra.conditions import Cond, Eq
from tolcost.algebra.evaluate import evaluate
from tolcost.algebra.poly import Monomial, Poly, as_poly, poly
from tolcost.algebra.sums import substitute
from tolcost.algebra.symbols import Floor, Generator, Log2, Relu, Sum, Symbol


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
    """What must be 0 for the conditions that are equations to hold."""
    return [condition.p for condition in conditions if isinstance(condition, Eq)]


def _unknown(p: Poly) -> tuple[Symbol, int, int] | None:
    """Give the one unknown of a linear expression, its factor and what is added to it."""
    if len(p.free) != 1 or degree(p) != 1 or _has_steps(p):
        return None
    (symbol,) = p.free
    at_0, at_1 = (evaluate(substitute(p, {symbol: n}) * p.den, {}) for n in (0, 1))
    return symbol, at_1 - at_0, at_0


def _has_steps(p: Poly) -> bool:
    """Whether an expression is made of more than symbols: floors, clips or sums."""
    return any(not isinstance(generator, Symbol) for mono in p.terms for generator in mono)


def degree(p: Poly | int) -> int:
    """Give the total degree in the symbols; a floor by a number counts like its argument.

    >>> from tolcost.algebra.poly import length
    >>> n, m = length("n"), length("m")
    >>> degree(n * m // 2 + n)
    2
    """
    return max((_monomial_degree(mono) for mono in as_poly(p).terms), default=0)


def leading_terms(p: Poly | int) -> Poly:
    """Give the terms of the highest degree.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> leading_terms(n * n * 3 + n)
    3*n**2
    """
    value = as_poly(p)
    top = degree(value)
    return poly({m: c for m, c in value.terms.items() if _monomial_degree(m) == top}, value.den)


def _monomial_degree(mono: Monomial) -> int:
    return sum(map(_degree, mono))


def _degree(generator: Generator) -> int:
    match generator:
        case Symbol():
            return 1
        case Floor(p=p, q=q):
            return max(degree(p) - degree(q), 0)
        case Relu(p=p):
            return degree(p)
        case Log2():
            return 0
        case Sum(body=body, lo=lo, hi=hi):
            return degree(body) + max(degree(lo), degree(hi))
