"""Depths as sympy objects: the largest of closed forms in which logarithms stand for symbols."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import sympy

from tolcost.algebra.poly import Poly
from tolcost.algebra.symbols import Symbol
from tolcost.algebra.sympy_form import sympy_symbols, to_sympy

Expr: TypeAlias = sympy.Expr
"""For those who hand expressions on without touching sympy."""


def largest_to_sympy(candidates: Sequence[Poly], logs: Iterable[tuple[Symbol, Poly]] = ()) -> Expr:
    """Give the largest of several forms; each symbol of ``logs`` stands for ``ceil(log2(p))`` of its p.

    >>> from tolcost.algebra.poly import length
    >>> largest_to_sympy([length("n"), length("m")])
    Max(m, n)
    """
    known = tuple(logs)
    free = {s for p in (*candidates, *(inside for _, inside in known)) for s in p.free}
    symbols = sympy_symbols(free - {symbol for symbol, _ in known})
    for symbol, inside in known:
        symbols[symbol] = sympy.ceiling(sympy.log(to_sympy(inside, symbols), 2))
    forms = [to_sympy(candidate, symbols) for candidate in candidates]
    return forms[0] if len(forms) == 1 else sympy.Max(*forms, evaluate=False)
