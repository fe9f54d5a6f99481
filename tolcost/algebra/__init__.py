"""Exact symbolic integers: polynomials with floors, clips and sums, proofs about them, and their text.

Everything here is exact: a question that cannot be decided is answered "unknown", a sum without
a closed form stays a sum.  sympy is used only to hand results out (``sympy_form``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tolcost.algebra.clips import maximum, minimum, relu, sign
from tolcost.algebra.compare import Comparison, Witness, compare
from tolcost.algebra.conditions import (
    FALSE,
    TRUE,
    And,
    Cond,
    Eq,
    Ge,
    Not,
    Or,
    Truth,
    conj,
    disj,
    eq,
    evaluate_cond,
    ge,
    indicator,
    le,
    lt,
    negate,
    substitute_cond,
    symbols_of_cond,
)
from tolcost.algebra.errors import AlgebraBudget, NotInteger, UnboundSymbol
from tolcost.algebra.evaluate import evaluate, evaluate_many
from tolcost.algebra.floors import ceildiv, exact_div, floordiv, mod
from tolcost.algebra.latex import to_latex
from tolcost.algebra.measure import degree, leading_terms
from tolcost.algebra.parse import parse_text
from tolcost.algebra.poly import (
    LARGEST_LENGTH,
    ONE,
    ZERO,
    Poly,
    as_poly,
    const,
    coordinate,
    data_symbol,
    length,
    the_symbol,
)
from tolcost.algebra.prove import bounds, is_nonnegative, prove
from tolcost.algebra.substitute import substitute, symbols_of
from tolcost.algebra.sums import sum_over, total
from tolcost.algebra.symbols import Floor, Generator, Relu, Sum, Symbol
from tolcost.algebra.text import cond_text, display_names, factor_text, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    import sympy


def to_sympy(p: Poly | int, symbols: Mapping[Symbol, sympy.Symbol] | None = None) -> sympy.Expr:
    """Give the expression as a sympy object; sympy is loaded only here."""
    from tolcost.algebra.sympy_form import to_sympy as convert

    return convert(p, symbols)


__all__ = [
    "FALSE",
    "LARGEST_LENGTH",
    "ONE",
    "TRUE",
    "ZERO",
    "AlgebraBudget",
    "And",
    "Comparison",
    "Cond",
    "Eq",
    "Floor",
    "Ge",
    "Generator",
    "Not",
    "NotInteger",
    "Or",
    "Poly",
    "Relu",
    "Sum",
    "Symbol",
    "Truth",
    "UnboundSymbol",
    "Witness",
    "as_poly",
    "bounds",
    "ceildiv",
    "compare",
    "cond_text",
    "conj",
    "const",
    "coordinate",
    "data_symbol",
    "degree",
    "disj",
    "display_names",
    "eq",
    "evaluate",
    "evaluate_cond",
    "evaluate_many",
    "exact_div",
    "factor_text",
    "floordiv",
    "ge",
    "indicator",
    "is_nonnegative",
    "le",
    "leading_terms",
    "length",
    "lt",
    "maximum",
    "minimum",
    "mod",
    "negate",
    "parse_text",
    "prove",
    "relu",
    "sign",
    "substitute",
    "substitute_cond",
    "sum_over",
    "symbols_of",
    "symbols_of_cond",
    "the_symbol",
    "to_latex",
    "to_sympy",
    "to_text",
    "total",
]
