"""Numbers that are known while compiling: what they are made of, how they compare, and what they round to.

An integer is a polynomial, a real a fraction or a quotient of polynomials, and a float where nothing else
says it, as infinity.  What lengths decide is left open: None, or a condition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tolcost.algebra import (
    FALSE,
    TRUE,
    Cond,
    Poly,
    ceildiv,
    const,
    eq,
    exact_div,
    floordiv,
    ge,
    indicator,
    maximum,
    minimum,
    negate,
    prove,
)
from tolcost.diagnostics import Span
from tolcost.elaborate.context import Env
from tolcost.elaborate.shapes import decide, facts_here
from tolcost.elaborate.values import Quotient, Value

Real = Poly | Quotient | Fraction | float


def as_number(value: Value) -> Value:
    """A truth value as 0 or 1; numbers unchanged."""
    return indicator(value) if isinstance(value, Cond) else value


def truth(value: Value) -> Cond | None:
    """A static numeric as a condition: whether it is not zero."""
    if isinstance(value, Cond):
        return value
    if isinstance(value, Poly):
        return negate(eq(value))
    if isinstance(value, (Fraction, float)):
        return TRUE if value else FALSE
    if isinstance(value, Quotient):
        return negate(eq(value.over))
    return None


def ratio(over: Poly, under: Poly) -> Value:
    """``over / under``, as simple as can be told."""
    a, b = over.constant, under.constant
    if a is not None and b is not None and b != 0:
        return Fraction(a, b)
    if b is not None and b < 0:
        over, under = -over, -under
    quotient = exact_div(over, under)
    if quotient is not None:
        return Quotient(quotient, const(1))
    return Quotient(over, under)


def as_pair(x: Real) -> tuple[Poly, Poly] | None:
    """What a number is over what, or None: a float says neither."""
    match x:
        case Poly():
            return x, const(1)
        case Quotient(over=over, under=under):
            return over, under
        case Fraction():
            return const(x.numerator), const(x.denominator)
        case _:
            return None


def is_plain(x: object) -> bool:
    """A number that Python can compute with as it stands."""
    return x.constant is not None if isinstance(x, Poly) else isinstance(x, (float, Fraction))


def python_number(x: Real) -> Fraction | float:
    """The Python number of a constant."""
    if isinstance(x, Poly):
        assert x.constant is not None
        return Fraction(x.constant)
    assert isinstance(x, (Fraction, float))
    return x


def alike(a: Fraction | float, b: Fraction | float) -> tuple[Fraction, Fraction] | tuple[float, float]:
    """Two numbers that Python can combine: a float makes the other one too, however large that is."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a, b
    return _float(a), _float(b)


def _float(x: Fraction | float) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def _real(x: Real) -> Value:
    """The same number as a real: of an integer and a real, the larger is one too."""
    if not isinstance(x, Poly):
        return x
    return Quotient(x, const(1)) if x.constant is None else Fraction(x.constant)


# ---- order -------------------------------------------------------------------------------


def at_least(env: Env, x: Real, y: Real) -> Cond | None:
    """The condition ``x >= y``."""
    if isinstance(x, Poly) and isinstance(y, Poly):
        return decide(env, ge(x - y))
    if is_plain(x) and is_plain(y):
        return TRUE if python_number(x) >= python_number(y) else FALSE
    for value, way in ((x, 1), (y, -1)):
        if isinstance(value, float) and math.isinf(value):
            return TRUE if value * way > 0 else FALSE
    p, q = as_pair(x), as_pair(y)
    if p is None or q is None or not (_positive(env, p[1]) and _positive(env, q[1])):
        return None
    return decide(env, ge(p[0] * q[1] - q[0] * p[1]))


def _positive(env: Env, p: Poly) -> bool:
    return prove(ge(p - 1), facts_here(env)) is True


def same_number(env: Env, x: Real, y: Real) -> Cond | None:
    """The condition ``x == y``."""
    if isinstance(x, Poly) and isinstance(y, Poly):
        return decide(env, eq(x - y))
    if is_plain(x) and is_plain(y):
        return TRUE if python_number(x) == python_number(y) else FALSE
    p, q = as_pair(x), as_pair(y)
    if p is None or q is None:
        return FALSE if any(isinstance(v, float) and not math.isfinite(v) for v in (x, y)) else None
    return decide(env, eq(p[0] * q[1] - q[0] * p[1]))


def larger(env: Env, span: Span, x: Real, y: Real) -> Value | None:
    """The larger of two."""
    return _extreme(env, x, y, maximum, first_if=True)


def smaller(env: Env, span: Span, x: Real, y: Real) -> Value | None:
    """The smaller of two."""
    return _extreme(env, x, y, minimum, first_if=False)


def _extreme(env: Env, x: Real, y: Real, whole: Callable[..., Poly], first_if: bool) -> Value | None:
    if isinstance(x, Poly) and isinstance(y, Poly):
        return whole(x, y, facts_here(env))
    order = at_least(env, x, y)
    if order is TRUE or order is FALSE:
        return _real(x if (order is TRUE) == first_if else y)
    return None


# ---- rounding ----------------------------------------------------------------------------


def whole_by(
    formula: Callable[[Poly, Poly], Poly], number: Callable[[Fraction | float], int]
) -> Callable[[Env, Span, Real], Value | None]:
    """Round down or up: a quotient by this formula, a number by that function."""

    def rule(env: Env, span: Span, x: Real) -> Value | None:
        match x:
            case Poly():
                return x
            case Quotient(over=over, under=under):
                return formula(over, under) if _positive(env, under) else None
            case _:
                return const(number(x)) if isinstance(x, Fraction) or math.isfinite(x) else x

    return rule


def rounding(whole: Callable[[Fraction], int]) -> Callable[[Env, Span, Real], Value | None]:
    """Round a number that is known; of formulas, only those that are integers need no rounding."""

    def rule(env: Env, span: Span, x: Real) -> Value | None:
        match x:
            case Poly():
                return x
            case Quotient(over=over, under=under):
                return over if under == const(1) else None
            case Fraction():
                return const(whole(x))
            case _:
                return None

    return rule


def truncated(env: Env, span: Span, x: Real) -> Value | None:
    """Towards 0: down above it, and up below."""
    if isinstance(x, Quotient) and x.under != const(1):
        if not _positive(env, x.under):
            return None
        down, up, facts = floordiv(x.over, x.under), ceildiv(x.over, x.under), facts_here(env)
        return maximum(down, const(0), facts) + minimum(up, const(0), facts)
    return _TOWARDS_ZERO(env, span, x)


_TOWARDS_ZERO = rounding(math.trunc)


# ---- signs -------------------------------------------------------------------------------


def absolute(env: Env, span: Span, x: Real) -> Value | None:
    """How far a number is from 0."""
    if isinstance(x, Poly):
        return maximum(x, -x, facts_here(env))
    if isinstance(x, Fraction):
        return abs(x)
    return abs(x) if isinstance(x, float) else None


def sign(env: Env, span: Span, x: Real) -> Value | None:
    """1, 0 or -1."""
    if isinstance(x, Poly):
        return indicator(decide(env, ge(x - 1))) - indicator(decide(env, ge(-x - 1)))
    if isinstance(x, Fraction):
        return Fraction((x > 0) - (x < 0))
    return None
