"""How an expression grows: its degree and the terms that decide it."""

from __future__ import annotations

from tolcost.algebra.poly import Monomial, Poly, as_poly, poly
from tolcost.algebra.symbols import Floor, Generator, Relu, Sum, Symbol


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
        case Sum(body=body, lo=lo, hi=hi):
            return degree(body) + max(degree(lo), degree(hi))
