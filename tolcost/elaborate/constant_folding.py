"""Static numerics, computed exactly while compiling: constant folding with symbolic lengths.

Integers are polynomials, truth values are conditions, reals are fractions or quotients of
polynomials.  What has no exact form becomes a free node (``Opaque``); nothing is rounded
that could decide a length.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import get_args

from tolcost.algebra import (
    FALSE,
    TRUE,
    Cond,
    Poly,
    ceildiv,
    conj,
    const,
    disj,
    floordiv,
    ge,
    is_nonnegative,
    mod,
    negate,
    powers,
)
from tolcost.diagnostics import Span
from tolcost.elaborate.context import Env
from tolcost.elaborate.faults import fail
from tolcost.elaborate.shapes import decide, facts_here, require
from tolcost.elaborate.static_numbers import (
    Real,
    absolute,
    alike,
    as_number,
    as_pair,
    at_least,
    is_plain,
    larger,
    python_number,
    ratio,
    rounding,
    same_number,
    sign,
    smaller,
    truncated,
    whole_by,
)
from tolcost.elaborate.values import Opaque, Quotient, Spaces, Value

_LARGEST_EXPONENT = 64
"""Of what is more than one term."""
_LARGEST_BASE = 1_000
"""Larger numbers are not raised to powers that are not known."""

_INTEGERS: set[type] = {Poly}
_TEXTS: set[type] = {str}
_CONDITIONS: set[type] = set(get_args(Cond))

_LARGE = 1 << 62
"""Integers below this are far from the largest, and so is what one function makes of two."""

MOST_BITS = 14_000
"""The largest static number, in bits: more digits than anything is measured in."""


def fold_plain(env: Env, name: str, args: tuple[Value, ...], kinds: set[type], span: Span) -> Value | None:
    """The function of what most static values are: integers, conditions or texts; None of anything else."""
    if kinds == _INTEGERS:
        found = _of_integers(name, args)
        if found is None and name in _OF_FORMULAS:
            return _bounded(_OF_FORMULAS[name](*args), span)
        return fold_by_rule(env, name, args, span) if found is None else found
    if kinds == _TEXTS:
        return _compare_words(name, args, span)
    if name in _LOGIC and kinds <= _CONDITIONS:
        return decide(env, _LOGIC[name](*args))
    return None


def _of_integers(name: str, numbers: tuple[Value, ...]) -> Value | None:
    """The function of two integers that are known, and not large: nothing is to be proved."""
    rule = _OF_INTEGERS.get(name)
    if rule is None:
        return None
    x, y = numbers
    assert isinstance(x, Poly)
    assert isinstance(y, Poly)
    a, b = x.constant, y.constant
    if a is None or b is None or not (-_LARGE < a < _LARGE and -_LARGE < b < _LARGE):
        return None
    return rule(a, b)


def fold_static(env: Env, name: str, args: tuple[Value, ...], span: Span) -> Value | None:
    """The function of static arguments, or None where only a node can say."""
    kinds = set(map(type, args))
    if Opaque in kinds:
        return None
    if str in kinds or Spaces in kinds:
        return _compare_words(name, args, span)
    if name in _LOGIC and kinds <= _CONDITIONS:
        return decide(env, _LOGIC[name](*args))
    if complex in kinds:
        return None
    numbers = tuple(map(as_number, args))
    found = fold_by_rule(env, name, numbers, span)
    return _by_floats(name, numbers) if found is None else found


def fold_by_rule(env: Env, name: str, numbers: tuple[Value, ...], span: Span) -> Value | None:
    """The function of numbers by the rule that it has, or None: it has none, or that cannot say."""
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


def _compare_words(name: str, args: tuple[Value, ...], span: Span) -> Value:
    left, right = args[0], args[-1]
    if name in ("eq", "ineq"):
        return TRUE if (left == right) == (name == "eq") else FALSE
    if isinstance(left, str) and isinstance(right, str) and name in ("lt", "le", "gt", "ge"):
        holds = {"lt": left < right, "le": left <= right, "gt": left > right, "ge": left >= right}[name]
        return TRUE if holds else FALSE
    fail("T0405", f"`{name}` does not apply to text or spaces", span)


# ---- arithmetic --------------------------------------------------------------------------


def _arithmetic(
    whole: Callable[[Poly, Poly], Poly],
    parts: Callable[[Poly, Poly, Poly, Poly], tuple[Poly, Poly]],
    numbers: Callable[[Fraction | float, Fraction | float], Fraction | float],
) -> Callable[[Env, Span, Real, Real], Value | None]:
    def rule(env: Env, span: Span, x: Real, y: Real) -> Value | None:
        if isinstance(x, Poly) and isinstance(y, Poly):
            return whole(x, y)
        if is_plain(x) and is_plain(y):
            return numbers(*alike(python_number(x), python_number(y)))
        p, q = as_pair(x), as_pair(y)
        if p is None or q is None:
            return None
        return ratio(*parts(*p, *q))

    return rule


def _divide(env: Env, span: Span, x: Real, y: Real) -> Value | None:
    if is_plain(x) and is_plain(y):
        return _quotient(*alike(python_number(x), python_number(y)))
    p, q = as_pair(x), as_pair(y)
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
    if is_plain(x) and is_plain(y):
        a, b = alike(python_number(x), python_number(y))
        return math.nan if b == 0 or a != a or math.isinf(a) else a % b
    return None


def _root(x: Real) -> Fraction | None:
    """The square root of a number that is a square: floating point gives no other."""
    exact = x.constant if isinstance(x, Poly) else x
    if not isinstance(exact, (int, Fraction)) or exact < 0:
        return None
    found = Fraction(math.isqrt(exact.numerator), math.isqrt(exact.denominator))
    return found if found * found == exact else None


def _power(env: Env, span: Span, x: Real, y: Real) -> Value | None:
    if y == Fraction(1, 2):
        return _root(x)
    exponent = y.constant if isinstance(y, Poly) else None
    if exponent is None and isinstance(x, Poly) and isinstance(y, Poly):
        return _number_to_power(env, x.constant, y)
    if exponent is None:
        return None
    if isinstance(x, Poly) and len(x.terms) <= 1 and exponent >= 0:
        return x**exponent  # exact, or too large to be told
    if abs(exponent) > _LARGEST_EXPONENT:
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


def _opposite(condition: Cond | None) -> Cond | None:
    return None if condition is None else negate(condition)


# ---- rounding and signs ------------------------------------------------------------------


def _negative(env: Env, span: Span, x: Real) -> Value | None:
    match x:
        case Quotient(over=over, under=under):
            return Quotient(-over, under)
        case Poly() | Fraction():
            return -x
        case float():
            return -x


def _square(env: Env, span: Span, x: Real) -> Value | None:
    return _RULES["mul"](env, span, x, x)


def _reciprocal(env: Env, span: Span, x: Real) -> Value | None:
    return _divide(env, span, const(1), x)


_LOGIC: dict[str, Callable[..., Cond]] = {
    "and": conj,
    "or": disj,
    "not": negate,
    "xor": lambda a, b: disj(conj(a, negate(b)), conj(negate(a), b)),
}

_OF_INTEGERS: dict[str, Callable[[int, int], Value]] = {
    "add": lambda a, b: const(a + b),
    "sub": lambda a, b: const(a - b),
    "mul": lambda a, b: const(a * b),
    "ge": lambda a, b: TRUE if a >= b else FALSE,
    "le": lambda a, b: TRUE if a <= b else FALSE,
    "lt": lambda a, b: TRUE if a < b else FALSE,
    "gt": lambda a, b: TRUE if a > b else FALSE,
    "eq": lambda a, b: TRUE if a == b else FALSE,
    "ineq": lambda a, b: TRUE if a != b else FALSE,
    "max": lambda a, b: const(max(a, b)),
    "min": lambda a, b: const(min(a, b)),
}

_OF_FORMULAS: dict[str, Callable[..., Poly]] = {"add": operator.add, "sub": operator.sub, "mul": operator.mul}
"""What the algebra computes of any two integers."""

_RULES: dict[str, Callable[..., Value | None]] = {
    "add": _arithmetic(lambda x, y: x + y, lambda a, b, c, d: (a * d + c * b, b * d), lambda x, y: x + y),
    "sub": _arithmetic(lambda x, y: x - y, lambda a, b, c, d: (a * d - c * b, b * d), lambda x, y: x - y),
    "mul": _arithmetic(lambda x, y: x * y, lambda a, b, c, d: (a * c, b * d), lambda x, y: x * y),
    "div": _divide,
    "mod": _modulo,
    "pow": _power,
    "ge": lambda env, span, x, y: at_least(env, x, y),
    "le": lambda env, span, x, y: at_least(env, y, x),
    "lt": lambda env, span, x, y: _opposite(at_least(env, x, y)),
    "gt": lambda env, span, x, y: _opposite(at_least(env, y, x)),
    "eq": lambda env, span, x, y: same_number(env, x, y),
    "ineq": lambda env, span, x, y: _opposite(same_number(env, x, y)),
    "max": larger,
    "min": smaller,
    "floor": whole_by(floordiv, math.floor),
    "ceil": whole_by(ceildiv, math.ceil),
    "round": rounding(round),
    "trunc": truncated,
    "neg": _negative,
    "abs": absolute,
    "sgn": sign,
    "sqr": _square,
    "sqrt": lambda env, span, x: _root(x),
    "recip": _reciprocal,
    "not": lambda env, span, x: -1 - x if isinstance(x, Poly) else None,  # the bits of an integer
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
    if function is None or not all(is_plain(n) for n in numbers):
        return None
    try:
        return function(*(float(python_number(n)) for n in numbers))  # type: ignore[arg-type]
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
