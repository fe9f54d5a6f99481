"""Exact symbolic integers: polynomials with floors, clips and sums, proofs about them, and their text.

Everything here is exact: an undecidable question is answered with "unknown", and a sum without a closed form
stays a sum. sympy is used only to convert results for other programs (``sympy_form``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tolcost.algebra.compare import Order, Witness, compare, leading_terms, witness_at
from tolcost.algebra.conditions import (
    FALSE,
    TRUE,
    And,
    Cond,
    Eq,
    Ge,
    Logic,
    Not,
    Or,
    Truth,
    by_case,
    conj,
    disj,
    eq,
    exclude_each_other,
    ge,
    map_cond,
    negate,
    polys_of,
    symbols_of_cond,
    weaker_bounds,
)
from tolcost.algebra.evaluate import (
    PointFunction,
    decide_many,
    evaluate,
    evaluate_cond,
    evaluate_each,
    evaluate_many,
    prepared,
    prepared_cond,
)
from tolcost.algebra.floors import ceil_log2, exact_div, range_of
from tolcost.algebra.piecewise import (
    ceildiv,
    clips_in,
    either,
    fewer_clips,
    floordiv,
    indicator,
    maximum,
    minimum,
    mod,
    relu,
    sign,
    simplify,
)
from tolcost.algebra.poly import (
    LARGEST_LENGTH,
    ONE,
    ZERO,
    AlgebraBudget,
    Exponential,
    Floor,
    Generator,
    Log2,
    Monomial,
    NotInteger,
    Poly,
    Relu,
    Sum,
    Symbol,
    UnboundSymbol,
    as_poly,
    atom,
    const,
    coordinate,
    data_symbol,
    length,
    numbered_coordinate,
    only_symbol,
    product_of,
    reach,
    scale,
    the_symbol,
    total_known,
    total_of,
)
from tolcost.algebra.powers import powers
from tolcost.algebra.printers import (
    comparison_sides,
    cond_text,
    display_names,
    factored,
    is_one_term,
    quoted,
    to_browser,
    to_latex,
    to_mathml,
    to_text,
    to_words,
)
from tolcost.algebra.prove import as_fact, bounds, contradict, is_nonnegative, prove
from tolcost.algebra.quick_checks import direction
from tolcost.algebra.rebuild import generators_in
from tolcost.algebra.restricted import plain_bounds, restricting, without_data
from tolcost.algebra.substitute import (
    equations_in,
    replace,
    solve,
    step_of,
    substitute,
    substitute_cond,
    substituting,
)
from tolcost.algebra.sums import sum_over, total

if TYPE_CHECKING:
    from collections.abc import Mapping

    import sympy


def to_sympy(p: Poly | int, symbols: Mapping[Symbol, sympy.Symbol] | None = None) -> sympy.Expr:
    """Convert an expression to sympy; sympy is loaded only here."""
    from tolcost.algebra.sympy_form import to_sympy as convert

    return convert(p, symbols)
