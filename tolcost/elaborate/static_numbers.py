"""Static numbers: their representations, comparison, rounding, and exact evaluation at compile time.

An integer is a polynomial; a real is a fraction or a quotient of polynomials, or a float if nothing else
represents it, like infinity. A result that depends on lengths is left open: it is None, or a condition.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from math import inf, isfinite
from typing import Any, get_args

from msgspec.structs import replace

from tolcost.algebra import (
    FALSE,
    TRUE,
    Cond,
    Exponential,
    Poly,
    by_case,
    ceildiv,
    conj,
    const,
    disj,
    eq,
    exact_div,
    floordiv,
    ge,
    generators_in,
    indicator,
    is_nonnegative,
    maximum,
    minimum,
    mod,
    negate,
    powers,
    prove,
)
from tolcost.algebra.poly import UNIT
from tolcost.diagnostics import Span
from tolcost.elaborate.environment import Env
from tolcost.elaborate.faults import fail
from tolcost.elaborate.shapes import decide, facts_here, require
from tolcost.elaborate.values import NodeValue, Quotient, Spaces, Value, Vec, View, plain
from tolcost.spaces import SPACES, kind_of

Real = Poly | Quotient | Fraction | float


def as_number(value: Value) -> Value:
    """Convert a truth value to 0 or 1; return numbers unchanged."""
    return indicator(value) if isinstance(value, Cond) else value


def truth(value: Value) -> Cond | None:
    """Convert a static numeric to a condition: whether it is non-zero."""
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
    """Return ``over / under``, simplified as far as it is decided."""
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
    """Return numerator and denominator of a number; None for a float."""
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
    """Whether Python can compute with a number as it is."""
    return x.constant is not None if isinstance(x, Poly) else isinstance(x, (float, Fraction))


def python_number(x: Real) -> Fraction | float:
    """Return the Python number of a constant."""
    if isinstance(x, Poly):
        assert x.constant is not None
        return Fraction(x.constant)
    assert isinstance(x, (Fraction, float))
    return x


def alike(a: Fraction | float, b: Fraction | float) -> tuple[Fraction, Fraction] | tuple[float, float]:
    """Convert two numbers so that Python can combine them: if one is a float, so becomes the other."""
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a, b
    return _float(a), _float(b)


def _float(x: Fraction | float) -> float:
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def _real(x: Real) -> Value:
    """Convert a number to a real, as the maximum of an integer and a real is."""
    if not isinstance(x, Poly):
        return x
    return Quotient(x, const(1)) if x.constant is None else Fraction(x.constant)


# ---- order -------------------------------------------------------------------------------


_SENTINEL = 1 << 62
"""Integers from this size on are sentinels, such as the end of a slice that goes up to the end.

Forms of lengths are assumed to stay below, as they do for every tensor that exists.
"""


def beyond_lengths(form: Poly) -> int:
    """Return the sign of a form if its constant part is too large for lengths to outweigh; otherwise 0.

    >>> from tolcost.algebra import length
    >>> n, m = length("n"), length("m")
    >>> beyond_lengths(4 * n * m - (2**63 - 1)), beyond_lengths(n * m - 2**40)
    (-1, 0)
    """
    offset = form.terms.get(UNIT, 0)
    if abs(offset) < _SENTINEL * form.den or form.constant is not None:
        return 0
    grows = any(isinstance(one, Exponential) for one in generators_in(form))
    return 0 if grows else 1 if offset > 0 else -1


def at_least(env: Env, x: Real, y: Real) -> Cond | None:
    """Decide ``x >= y``."""
    if isinstance(x, Poly) and isinstance(y, Poly):
        gap = x - y
        far = beyond_lengths(gap)
        return decide(env, ge(gap)) if not far else TRUE if far > 0 else FALSE
    if is_plain(x) and is_plain(y):
        return TRUE if python_number(x) >= python_number(y) else FALSE
    for value, way in ((x, 1), (y, -1)):
        if isinstance(value, float) and math.isinf(value):
            return TRUE if value * way > 0 else FALSE
    p, q = as_pair(x), as_pair(y)
    if p is None or q is None or not (_is_positive(env, p[1]) and _is_positive(env, q[1])):
        return None
    return decide(env, ge(p[0] * q[1] - q[0] * p[1]))


def _is_positive(env: Env, p: Poly) -> bool:
    return prove(ge(p - 1), facts_here(env)) is True


def same_number(env: Env, x: Real, y: Real) -> Cond | None:
    """Decide ``x == y``."""
    if isinstance(x, Poly) and isinstance(y, Poly):
        return FALSE if beyond_lengths(x - y) else decide(env, eq(x - y))
    if is_plain(x) and is_plain(y):
        return TRUE if python_number(x) == python_number(y) else FALSE
    p, q = as_pair(x), as_pair(y)
    if p is None or q is None:
        return FALSE if any(isinstance(v, float) and not math.isfinite(v) for v in (x, y)) else None
    return decide(env, eq(p[0] * q[1] - q[0] * p[1]))


def _extreme(env: Env, x: Real, y: Real, whole: Callable[..., Poly], first_if: bool) -> Value | None:
    """Return the larger or the smaller of two numbers."""
    if isinstance(x, Poly) and isinstance(y, Poly):
        far = beyond_lengths(x - y)
        return (x if (far > 0) == first_if else y) if far else whole(x, y, facts_here(env))
    order = at_least(env, x, y)
    if order is TRUE or order is FALSE:
        return _real(x if (order is TRUE) == first_if else y)
    return None


# ---- rounding ----------------------------------------------------------------------------


def whole_by(
    formula: Callable[[Poly, Poly], Poly], number: Callable[[Fraction | float], int]
) -> Callable[[Env, Span, Real], Value | None]:
    """Make a rule that rounds down or up: ``formula`` for a quotient, ``number`` for a number."""

    def rule(env: Env, span: Span, x: Real) -> Value | None:
        match x:
            case Poly():
                return x
            case Quotient(over=over, under=under):
                return formula(over, under) if _is_positive(env, under) else None
            case _:
                return const(number(x)) if isinstance(x, Fraction) or math.isfinite(x) else x

    return rule


def rounding(whole: Callable[[Fraction], int]) -> Callable[[Env, Span, Real], Value | None]:
    """Make a rule that rounds known numbers; of formulas, only integers can be handled."""

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
    """Round towards 0: down if positive, up if negative."""
    if isinstance(x, Quotient) and x.under != const(1):
        if not _is_positive(env, x.under):
            return None
        down, up, facts = floordiv(x.over, x.under), ceildiv(x.over, x.under), facts_here(env)
        return maximum(down, const(0), facts) + minimum(up, const(0), facts)
    return _TOWARDS_ZERO(env, span, x)


_TOWARDS_ZERO = rounding(math.trunc)


# ---- signs -------------------------------------------------------------------------------


def absolute(env: Env, span: Span, x: Real) -> Value | None:
    """Return the absolute value."""
    if isinstance(x, Poly):
        return maximum(x, -x, facts_here(env))
    if isinstance(x, Fraction):
        return abs(x)
    return abs(x) if isinstance(x, float) else None


def sign(env: Env, span: Span, x: Real) -> Value | None:
    """Return 1, 0 or -1."""
    if isinstance(x, Poly):
        return indicator(decide(env, ge(x - 1))) - indicator(decide(env, ge(-x - 1)))
    if isinstance(x, Fraction):
        return Fraction((x > 0) - (x < 0))
    return None


# === Static numbers in machine types: integers wrap around, and reals are rounded, as they would in a run.
#
# Computation with static reals is exact; they are rounded when they are converted to few bits, and when they
# meet data. Integers of many bits are assumed to hold any value that lengths decide.


_FEW_BITS = 16
"""Lengths may exceed integers of up to this many bits."""

_FORMATS = {"float16": (11, -14, 15), "bfloat16": (8, -126, 127)}
"""The number of digits of a real, and its least and largest exponent.

Values of wider formats are not rounded at compile time.
"""


def fit_to_space(env: Env, value: Value, space: str) -> Value:
    """Return a static value as a machine type holds it; a value that is not a number yet stays as it is."""
    if not SPACES[space].finite:
        return value
    match value:
        case Vec(items=items):
            kept = tuple([fit_to_space(env, item, space) for item in items])
            same = all(a is b for a, b in zip(kept, items, strict=True))
            return value if same else Vec(value.shape, kept, value.loose)
        case View(get=get, static=True) if kind_of(space) == "Z":
            return replace(value, get=lambda here, at: fit_to_space(here, plain(get(here, at)), space))
        case Poly() if kind_of(space) == "Z":
            return _wrap(env, value, space)
        case Fraction() if space in _FORMATS:
            return round_to_digits(value, *_FORMATS[space])
        case float() if space in _FORMATS and isfinite(value):
            return round_to_digits(Fraction(value), *_FORMATS[space])
        case _:
            return value


def _wrap(env: Env, value: Poly, space: str) -> Poly:
    """Wrap an integer to the bits of a machine type."""
    kept = SPACES[space]
    bits, low, high, number = kept.bits or 0, int(kept.lo or 0), int(kept.hi or 0), value.constant
    if number is not None:
        return value if low <= number <= high else const((number - low) % 2**bits + low)
    if bits > _FEW_BITS or prove(conj(ge(value - low), ge(high - value)), facts_here(env)) is True:
        return value
    return mod(value - low, const(2**bits)) + low


def round_to_digits(value: Fraction, digits: int, least: int, most: int) -> Fraction | float:
    """Round to a number of binary digits, to even in a tie; infinite beyond the largest exponent.

    >>> round_to_digits(Fraction(1, 10), 11, -14, 15), round_to_digits(Fraction(70000), 11, -14, 15)
    (Fraction(819, 8192), inf)
    """
    if not value:
        return value
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    unit = Fraction(2) ** (max(exponent, least) - digits + 1)
    found = round(value / unit) * unit
    return found if abs(found) < Fraction(2) ** (most + 1) else inf if found > 0 else -inf


# === Constant folding with symbolic lengths: exact evaluation of static numerics at compile time.
#
# Integers are polynomials, truth values are conditions, reals are fractions or quotients of polynomials. A
# value without an exact form becomes a static node. Nothing that could decide a length is
# rounded.


_LARGEST_EXPONENT = 64
"""The largest exponent of a form of several terms."""
_LARGEST_BASE = 1_000
"""The largest base of a power with a symbolic exponent: it is split into primes."""

_INTEGERS: set[type] = {Poly}
_TEXTS: set[type] = {str}
_CONDITIONS: set[type] = set(get_args(Cond))

_SAFE = 1 << 62
"""Integers below this, and their sums, are far from the limits, so that no check is needed."""

MOST_BITS = 14_000
"""The largest static number, in bits: more digits than any measurement has."""


def fold_plain(env: Env, name: str, args: tuple[Value, ...], kinds: set[type], span: Span) -> Value | None:
    """Evaluate a function of the usual static values: integers, conditions or texts; None for any other."""
    if kinds == _INTEGERS:
        return (fold_integers if len(args) == 2 else fold_by_rule)(env, name, args, span)
    if kinds == _TEXTS:
        return _compare_words(name, args, span)
    if name in _LOGIC and kinds <= _CONDITIONS:
        return decide(env, _LOGIC[name](*args))
    return None


def fold_integers(env: Env, name: str, numbers: tuple[Any, ...], span: Span) -> Value | None:
    """Evaluate a function of two integers; if both are known and not large, nothing must be proved."""
    x, y = numbers
    a, b = x.constant, y.constant
    if a is not None and b is not None and -_SAFE < a < _SAFE > b > -_SAFE and name in _OF_INTEGERS:
        return _OF_INTEGERS[name](a, b)
    if name in _OF_FORMULAS:
        return _check_bits(_OF_FORMULAS[name](x, y), span)
    return fold_by_rule(env, name, numbers, span)


def fold_static(env: Env, name: str, args: tuple[Value, ...], span: Span) -> Value | None:
    """Evaluate a function of static arguments; None if only a node can express it."""
    kinds = set(map(type, args))
    if NodeValue in kinds:
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
    """Evaluate a function of numbers by its rule; None if it has none, or the rule cannot decide."""
    rule = _RULES.get(name)
    if rule is None:
        return None
    try:
        found = rule(env, span, *numbers)
    except ZeroDivisionError:
        fail("T0306", "division by a length that is 0", span, definite=True)
    return None if found is None else _check_bits(found, span)


def _check_bits(value: Value, span: Span) -> Value:
    """Reject a static number that grows beyond ``MOST_BITS``."""
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
    hint = "texts and spaces can be compared with `==` and `!=`, texts by their order, too"
    fail("T0405", f"`{name}` does not apply to text or spaces", span, hint=hint)


# ---- arithmetic --------------------------------------------------------------------------


def _arithmetic(
    whole: Callable[[Poly, Poly], Poly] | None,
    parts: Callable[[Poly, Poly, Poly, Poly], tuple[Poly, Poly]],
    numbers: Callable[[Fraction | float, Fraction | float], Fraction | float],
) -> Callable[[Env, Span, Real, Real], Value | None]:
    def rule(env: Env, span: Span, x: Real, y: Real) -> Value | None:
        if whole is not None and isinstance(x, Poly) and isinstance(y, Poly):
            return whole(x, y)
        if is_plain(x) and is_plain(y):
            return numbers(*alike(python_number(x), python_number(y)))
        p, q = as_pair(x), as_pair(y)
        if p is None or q is None:
            return None
        return ratio(*parts(*p, *q))

    return rule


def _quotient(a: Fraction | float, b: Fraction | float) -> Fraction | float:
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a)
    return a / b


def integer_division(env: Env, span: Span, x: Poly, y: Poly) -> Poly:
    """Divide static integers (``/``): floor division by a positive divisor."""
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


def _truncated_modulo(x: Real, y: Real) -> Value | None:
    """Return the exact remainder of a division rounded towards 0; it has the sign of the dividend."""
    if not (is_plain(x) and is_plain(y)):
        return None
    a, b = python_number(x), python_number(y)
    if isinstance(a, float) or isinstance(b, float) or b == 0:
        return None
    found = a - b * math.trunc(Fraction(a) / b)
    return const(int(found)) if isinstance(x, Poly) and isinstance(y, Poly) else Fraction(found)


def _root(x: Real) -> Fraction | None:
    """Return the square root of a square; for any other number floats must do."""
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
        return x**exponent  # exact, or rejected as too large
    if abs(exponent) > _LARGEST_EXPONENT:
        return None
    if isinstance(x, Poly) and exponent >= 0:
        return x**exponent
    if isinstance(x, Fraction) and (x or exponent >= 0):
        return x**exponent
    return None


def _number_to_power(env: Env, base: int | None, exponent: Poly) -> Value | None:
    """Raise an integer to a symbolic exponent that is known to be non-negative.

    In a block that is never visited, every exponent counts as non-negative.
    """
    if base is None or not 1 <= base <= _LARGEST_BASE:
        return None
    return powers(base, exponent) if env.scope.never or is_nonnegative(exponent, facts_here(env)) else None


def _negate(condition: Cond | None) -> Cond | None:
    return None if condition is None else negate(condition)


def _negative(env: Env, span: Span, x: Real) -> Value | None:
    match x:
        case Quotient(over=over, under=under):
            return Quotient(-over, under)
        case Poly() | Fraction():
            return -x
        case float():
            return -x


_LOGIC: dict[str, Callable[..., Cond]] = {
    "and": conj,
    "or": disj,
    "not": negate,
    "xor": lambda a, b: by_case(a, negate(b), b),
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
"""The functions of any two integers that the algebra computes."""

_RULES: dict[str, Callable[..., Value | None]] = {
    "add": _arithmetic(lambda x, y: x + y, lambda a, b, c, d: (a * d + c * b, b * d), lambda x, y: x + y),
    "sub": _arithmetic(lambda x, y: x - y, lambda a, b, c, d: (a * d - c * b, b * d), lambda x, y: x - y),
    "mul": _arithmetic(lambda x, y: x * y, lambda a, b, c, d: (a * c, b * d), lambda x, y: x * y),
    "div": _arithmetic(None, lambda a, b, c, d: (a * d, b * c), _quotient),
    "mod": _modulo,
    "fmod": lambda env, span, x, y: _truncated_modulo(x, y),
    "pow": _power,
    "ge": lambda env, span, x, y: at_least(env, x, y),
    "le": lambda env, span, x, y: at_least(env, y, x),
    "lt": lambda env, span, x, y: _negate(at_least(env, x, y)),
    "gt": lambda env, span, x, y: _negate(at_least(env, y, x)),
    "eq": lambda env, span, x, y: same_number(env, x, y),
    "ineq": lambda env, span, x, y: _negate(same_number(env, x, y)),
    "max": lambda env, span, x, y: _extreme(env, x, y, maximum, first_if=True),
    "min": lambda env, span, x, y: _extreme(env, x, y, minimum, first_if=False),
    "floor": whole_by(floordiv, math.floor),
    "ceil": whole_by(ceildiv, math.ceil),
    "round": rounding(round),
    "trunc": truncated,
    "neg": _negative,
    "abs": absolute,
    "sgn": sign,
    "sqr": lambda env, span, x: _RULES["mul"](env, span, x, x),
    "sqrt": lambda env, span, x: _root(x),
    "recip": lambda env, span, x: _RULES["div"](env, span, const(1), x),
    # the bitwise complement of an integer
    "not": lambda env, span, x: -1 - x if isinstance(x, Poly) else None,
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
