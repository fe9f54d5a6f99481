"""Static numerics, computed exactly while compiling: constant folding with symbolic lengths.

Integers are polynomials, truth values are conditions, reals are fractions or quotients of
polynomials.  What has no exact form becomes a free node (``Opaque``); nothing is rounded
that could decide a length.
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
    conj,
    const,
    disj,
    eq,
    exact_div,
    floordiv,
    ge,
    indicator,
    is_nonnegative,
    maximum,
    minimum,
    mod,
    negate,
    powers,
    prove,
)
from tolcost.diagnostics import Span
from tolcost.elaborate.context import Env, fail
from tolcost.elaborate.shapes import decide, facts_here, require
from tolcost.elaborate.values import Opaque, Quotient, Spaces, Value

_LARGEST_BASE = 1_000
"""Larger numbers are not raised to powers that are not known."""

Real = Poly | Quotient | Fraction | float

MOST_BITS = 14_000
"""The largest static number, in bits: more digits than anything is measured in."""


def fold_static(env: Env, name: str, args: tuple[Value, ...], span: Span) -> Value | None:
    """The function of static arguments, or None where only a node can say."""
    if any(isinstance(a, Opaque) for a in args):
        return None
    if any(isinstance(a, (str, Spaces)) for a in args):
        return _compare_words(name, args, span)
    if name in _LOGIC and all(isinstance(a, Cond) for a in args):
        return decide(env, _LOGIC[name](*args))
    numbers = tuple(as_number(a) for a in args)
    if any(isinstance(n, complex) for n in numbers):
        return None
    found = _by_rule(env, name, numbers, span)
    return _by_floats(name, numbers) if found is None else found


def fold_integers(env: Env, name: str, args: tuple[Value, ...], span: Span) -> Value | None:
    """The function of integers, which most static values are; None where any is something else."""
    for a in args:
        if not isinstance(a, Poly):
            return None
    return _by_rule(env, name, args, span)


def _by_rule(env: Env, name: str, numbers: tuple[Value, ...], span: Span) -> Value | None:
    rule = _RULES.get(name)
    if rule is None:
        return None
    try:
        found = rule(env, span, *numbers)
    except ZeroDivisionError:
        fail("T0306", "division by a length that is 0", span, definite=True)
    return None if found is None else _bounded(found, span)


def _bounded(value: Value, span: Span) -> Value:
    """Refuse a static number that grows without end."""
    exact = value.constant if isinstance(value, Poly) else value
    if exact is None:
        return value
    sizes = (exact.numerator, exact.denominator) if isinstance(exact, (int, Fraction)) else ()
    if any(part.bit_length() > MOST_BITS for part in sizes):
        fail("T0507", f"a number of more than {MOST_BITS:,} bits while compiling", span)
    return value


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


def _compare_words(name: str, args: tuple[Value, ...], span: Span) -> Value:
    left, right = args[0], args[-1]
    if name in ("eq", "ineq"):
        return TRUE if (left == right) == (name == "eq") else FALSE
    if isinstance(left, str) and isinstance(right, str) and name in ("lt", "le", "gt", "ge"):
        holds = {"lt": left < right, "le": left <= right, "gt": left > right, "ge": left >= right}[name]
        return TRUE if holds else FALSE
    fail("T0405", f"`{name}` does not apply to text or spaces", span)


# ---- quotients ---------------------------------------------------------------------------


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


def _pair(x: Real) -> tuple[Poly, Poly] | None:
    match x:
        case Poly():
            return x, const(1)
        case Quotient(over=over, under=under):
            return over, under
        case Fraction():
            return const(x.numerator), const(x.denominator)
        case _:
            return None


def _integer(x: object) -> bool:
    return isinstance(x, Poly)


def _is_plain(x: object) -> bool:
    """A number that Python can compute with as it stands."""
    return isinstance(x, (Fraction, float)) or (isinstance(x, Poly) and x.constant is not None)


def _python_number(x: Real) -> Fraction | float:
    """The Python number of a constant."""
    if isinstance(x, Poly):
        assert x.constant is not None
        return Fraction(x.constant)
    assert isinstance(x, (Fraction, float))
    return x


def _alike(a: Fraction | float, b: Fraction | float) -> tuple[Fraction, Fraction] | tuple[float, float]:
    """Two numbers that Python can combine: a float makes the other one too, however large that is."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a, b
    return _float(a), _float(b)


def _float(x: Fraction | float) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def _arithmetic(
    whole: Callable[[Poly, Poly], Poly],
    parts: Callable[[Poly, Poly, Poly, Poly], tuple[Poly, Poly]],
    numbers: Callable[[Fraction | float, Fraction | float], Fraction | float],
) -> Callable[[Env, Span, Real, Real], Value | None]:
    def rule(env: Env, span: Span, x: Real, y: Real) -> Value | None:
        if isinstance(x, Poly) and isinstance(y, Poly):
            return whole(x, y)
        if _is_plain(x) and _is_plain(y):
            return numbers(*_alike(_python_number(x), _python_number(y)))
        p, q = _pair(x), _pair(y)
        if p is None or q is None:
            return None
        return ratio(*parts(*p, *q))

    return rule


def _divide(env: Env, span: Span, x: Real, y: Real) -> Value | None:
    if _is_plain(x) and _is_plain(y):
        return _quotient(*_alike(_python_number(x), _python_number(y)))
    p, q = _pair(x), _pair(y)
    if p is None or q is None:
        return None
    return ratio(p[0] * q[1], p[1] * q[0])


def _quotient(a: Fraction | float, b: Fraction | float) -> Fraction | float:
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a)
    return a / b


def integer_division(env: Env, span: Span, x: Poly, y: Poly) -> Poly:
    """``/`` between static integers: floor division by a positive divisor."""
    divisor = y.constant
    if divisor == 0:
        fail("T0306", "division by a length that is 0", span, definite=True)
    if divisor is not None and divisor < 0:
        return floordiv(-x, const(-divisor))
    require(env, ge(y - 1), "a divisor is at least 1", span, "division by a length that is not positive")
    return floordiv(x, y)


def _modulo(env: Env, span: Span, x: Real, y: Real) -> Value | None:
    if isinstance(x, Poly) and isinstance(y, Poly):
        divisor = y.constant
        if divisor == 0:
            fail("T0306", "remainder by a length that is 0", span, definite=True)
        if divisor is not None and divisor < 0:
            return -mod(-x, const(-divisor))
        require(env, ge(y - 1), "a divisor is at least 1", span, "remainder by a length that is not positive")
        return mod(x, y)
    if _is_plain(x) and _is_plain(y):
        a, b = _alike(_python_number(x), _python_number(y))
        return math.nan if b == 0 or a != a or math.isinf(a) else a % b
    return None


def _power(env: Env, span: Span, x: Real, y: Real) -> Value | None:
    exponent = y.constant if isinstance(y, Poly) else None
    if exponent is None and isinstance(x, Poly) and isinstance(y, Poly):
        return _number_to_power(env, x.constant, y)
    if exponent is None or abs(exponent) > 64:
        return None
    if isinstance(x, Poly) and exponent >= 0:
        return x**exponent
    if isinstance(x, Fraction) and (x or exponent >= 0):
        return x**exponent
    return None


def _number_to_power(env: Env, base: int | None, exponent: Poly) -> Value | None:
    """A whole number to the power of a length or coordinate that is known not to be below 0."""
    if base is None or not 1 <= base <= _LARGEST_BASE or not is_nonnegative(exponent, facts_here(env)):
        return None
    return powers(base, exponent)


# ---- order -------------------------------------------------------------------------------


def _at_least(env: Env, x: Real, y: Real) -> Cond | None:
    """The condition ``x >= y``."""
    if isinstance(x, Poly) and isinstance(y, Poly):
        return decide(env, ge(x - y))
    if _is_plain(x) and _is_plain(y):
        return TRUE if _python_number(x) >= _python_number(y) else FALSE
    for value, sign in ((x, 1), (y, -1)):
        if isinstance(value, float) and math.isinf(value):
            return TRUE if value * sign > 0 else FALSE
    p, q = _pair(x), _pair(y)
    if p is None or q is None or not (_positive(env, p[1]) and _positive(env, q[1])):
        return None
    return decide(env, ge(p[0] * q[1] - q[0] * p[1]))


def _positive(env: Env, p: Poly) -> bool:
    return prove(ge(p - 1), facts_here(env)) is True


def _same_number(env: Env, x: Real, y: Real) -> Cond | None:
    if isinstance(x, Poly) and isinstance(y, Poly):
        return decide(env, eq(x - y))
    if _is_plain(x) and _is_plain(y):
        return TRUE if _python_number(x) == _python_number(y) else FALSE
    p, q = _pair(x), _pair(y)
    if p is None or q is None:
        return FALSE if any(isinstance(v, float) and not math.isfinite(v) for v in (x, y)) else None
    return decide(env, eq(p[0] * q[1] - q[0] * p[1]))


def _opposite(condition: Cond | None) -> Cond | None:
    return None if condition is None else negate(condition)


def _larger(env: Env, span: Span, x: Real, y: Real) -> Value | None:
    return _extreme(env, x, y, maximum, first_if=True)


def _smaller(env: Env, span: Span, x: Real, y: Real) -> Value | None:
    return _extreme(env, x, y, minimum, first_if=False)


def _extreme(env: Env, x: Real, y: Real, whole: Callable[..., Poly], first_if: bool) -> Value | None:
    if isinstance(x, Poly) and isinstance(y, Poly):
        return whole(x, y, facts_here(env))
    order = _at_least(env, x, y)
    if order is TRUE or order is FALSE:
        return _real(x if (order is TRUE) == first_if else y)
    return None


def _real(x: Real) -> Value:
    """The same number as a real: of an integer and a real, the larger is one too."""
    if not isinstance(x, Poly):
        return x
    return Quotient(x, const(1)) if x.constant is None else Fraction(x.constant)


# ---- rounding and signs ------------------------------------------------------------------


def _floor(env: Env, span: Span, x: Real) -> Value | None:
    match x:
        case Poly():
            return x
        case Quotient(over=over, under=under):
            return floordiv(over, under) if _positive(env, under) else None
        case Fraction():
            return const(math.floor(x))
        case _:
            return const(math.floor(x)) if math.isfinite(x) else x


def _ceil(env: Env, span: Span, x: Real) -> Value | None:
    match x:
        case Poly():
            return x
        case Quotient(over=over, under=under):
            return ceildiv(over, under) if _positive(env, under) else None
        case Fraction():
            return const(math.ceil(x))
        case _:
            return const(math.ceil(x)) if math.isfinite(x) else x


def _rounding(whole: Callable[[Fraction], int]) -> Callable[[Env, Span, Real], Value | None]:
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


def _truncated(env: Env, span: Span, x: Real) -> Value | None:
    """Towards 0: down above it, and up below."""
    if isinstance(x, Quotient) and x.under != const(1):
        if not _positive(env, x.under):
            return None
        down, up, facts = floordiv(x.over, x.under), ceildiv(x.over, x.under), facts_here(env)
        return maximum(down, const(0), facts) + minimum(up, const(0), facts)
    return _TOWARDS_ZERO(env, span, x)


_TOWARDS_ZERO = _rounding(math.trunc)


def _negative(env: Env, span: Span, x: Real) -> Value | None:
    match x:
        case Quotient(over=over, under=under):
            return Quotient(-over, under)
        case Poly() | Fraction():
            return -x
        case float():
            return -x


def _absolute(env: Env, span: Span, x: Real) -> Value | None:
    if isinstance(x, Poly):
        return maximum(x, -x, facts_here(env))
    if isinstance(x, Fraction):
        return abs(x)
    return abs(x) if isinstance(x, float) else None


def _sign(env: Env, span: Span, x: Real) -> Value | None:
    if isinstance(x, Poly):
        return indicator(decide(env, ge(x - 1))) - indicator(decide(env, ge(-x - 1)))
    if isinstance(x, Fraction):
        return Fraction((x > 0) - (x < 0))
    return None


def _square(env: Env, span: Span, x: Real) -> Value | None:
    product = _RULES["mul"](env, span, x, x)
    assert product is None or not isinstance(product, str)
    return product


def _reciprocal(env: Env, span: Span, x: Real) -> Value | None:
    return _divide(env, span, const(1), x)


_LOGIC: dict[str, Callable[..., Cond]] = {
    "and": conj,
    "or": disj,
    "not": negate,
    "xor": lambda a, b: disj(conj(a, negate(b)), conj(negate(a), b)),
}

_RULES: dict[str, Callable[..., Value | None]] = {
    "add": _arithmetic(lambda x, y: x + y, lambda a, b, c, d: (a * d + c * b, b * d), lambda x, y: x + y),
    "sub": _arithmetic(lambda x, y: x - y, lambda a, b, c, d: (a * d - c * b, b * d), lambda x, y: x - y),
    "mul": _arithmetic(lambda x, y: x * y, lambda a, b, c, d: (a * c, b * d), lambda x, y: x * y),
    "div": _divide,
    "mod": _modulo,
    "pow": _power,
    "ge": lambda env, span, x, y: _at_least(env, x, y),
    "le": lambda env, span, x, y: _at_least(env, y, x),
    "lt": lambda env, span, x, y: _opposite(_at_least(env, x, y)),
    "gt": lambda env, span, x, y: _opposite(_at_least(env, y, x)),
    "eq": lambda env, span, x, y: _same_number(env, x, y),
    "ineq": lambda env, span, x, y: _opposite(_same_number(env, x, y)),
    "max": _larger,
    "min": _smaller,
    "floor": _floor,
    "ceil": _ceil,
    "round": _rounding(round),
    "trunc": _truncated,
    "neg": _negative,
    "abs": _absolute,
    "sgn": _sign,
    "sqr": _square,
    "recip": _reciprocal,
    "not": lambda env, span, x: _opposite(truth(x)),
    "isnan": lambda env, span, x: TRUE if isinstance(x, float) and math.isnan(x) else FALSE,
    "isinf": lambda env, span, x: TRUE if isinstance(x, float) and math.isinf(x) else FALSE,
}

_FLOATS: dict[str, Callable[..., float]] = {
    "pow": math.pow,
    "log": lambda x, base=math.e: math.log(x) if base == math.e else math.log(x, base),
    "ln": math.log,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "erf": math.erf,
    "fmod": math.fmod,
    **{n: getattr(math, n) for n in ("sin", "cos", "tan", "asin", "acos", "atan")},
    **{n: getattr(math, n) for n in ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh")},
}


def _by_floats(name: str, numbers: tuple[Value, ...]) -> Value | None:
    function = _FLOATS.get(name)
    if function is None or not all(_is_plain(n) for n in numbers):
        return None
    try:
        return function(*(float(_python_number(n)) for n in numbers))  # type: ignore[arg-type]
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
