"""Exact evaluation at one point, in Python integers; at many; and as functions made once, asked often.

A sum without a closed form is one again once everything in it is a number: a closed form then, Euclid's
floor sum, or a loop.  The loop is bounded; a sum that would need more raises ``AlgebraBudget``.

What is known of a point may follow from equations.  Only those that are linear in the unknown that is
left are used; any other stays as it is, for whoever checks conditions later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Not, Or, Truth
from tolcost.algebra.intervals import log2_of_number
from tolcost.algebra.poly import UNIT, Poly, affine_parts, as_poly, coordinate, the_symbol
from tolcost.algebra.powers import number_power
from tolcost.algebra.sums import substitute, total
from tolcost.algebra.symbols import (
    AlgebraBudget,
    Exponential,
    Floor,
    Generator,
    Log2,
    NotInteger,
    Relu,
    Sum,
    Symbol,
    UnboundSymbol,
)
from tolcost.dataclass import dataclass, field

if TYPE_CHECKING:
    from tolcost.algebra.vectorised import Ints

MAX_LOOP = 10_000_000
_MOST_HALVINGS = 64
_SHORT_SUM = 256
_BLOCK = 1 << 16

PointFunction: TypeAlias = Callable[[Mapping[Symbol, int]], int]
"""The value at a point; a ``KeyError`` where a symbol has none there."""

PointCondition: TypeAlias = Callable[[Mapping[Symbol, int]], bool]


@dataclass(slots=True)
class _Loops:
    """How many terms may still be added one by one."""

    left: int = MAX_LOOP

    def take(self, count: int) -> None:
        """Take this many."""
        self.left -= count
        if self.left < 0:
            raise AlgebraBudget(f"a sum without a closed form has more than {MAX_LOOP} terms")


@dataclass(frozen=True, slots=True)
class _Point:
    """Mapping[Symbol, int] of symbols, of the generators met so far, and what is left to spend on loops."""

    values: Mapping[Symbol, int]
    loops: _Loops
    done: dict[Generator, int] = field(default_factory=dict)


def evaluate(p: Poly | int, values: Mapping[Symbol, int]) -> int:
    """Give the value at a point.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> evaluate((n * n) // 3, {the_symbol(n): 5})
    8
    """
    form = as_poly(p)
    if form.height or form.den != 1:
        return _value_at(form, values, _Loops())
    total = 0
    for mono, coef in form.terms.items():
        for symbol in mono:  # without floors, clips and sums, nothing but symbols
            if symbol not in values:
                raise UnboundSymbol(symbol)
            coef *= int(values[symbol])  # type: ignore[index]
        total += coef
    return total


def evaluate_each(asked: Iterable[Poly | Cond], values: Mapping[Symbol, int]) -> list[int]:
    """Give the values of several at one point, 1 or 0 for conditions; what they share is worked out once."""
    point = _Point(values, _Loops())
    return [_value(one, point) if isinstance(one, Poly) else evaluate_cond(one, values) for one in asked]


def _value_at(p: Poly, values: Mapping[Symbol, int], loops: _Loops) -> int:
    """Give the value at a point, with what is left to spend on loops."""
    return _value(p, _Point(values, loops))


def evaluate_many(p: Poly | int, values: Mapping[Symbol, Sequence[int] | Ints]) -> Ints:
    """Give the values at many points: a NumPy array, of int64 where all fit, else of Python integers.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> evaluate_many(n * n, {the_symbol(n): [1, 2, 3]}).tolist()
    [1, 4, 9]
    """
    from tolcost.algebra.vectorised import evaluate_columns  # NumPy is loaded only where it is needed

    return evaluate_columns(as_poly(p), values, _generator_at)


def decide_many(cond: Cond, values: Mapping[Symbol, Sequence[int] | Ints]) -> Ints:
    """Decide a condition at many points: an array of truths, or one for all of them."""
    from tolcost.algebra.vectorised import decide_columns

    return decide_columns(cond, values, _generator_at)


def _generator_at(generator: Generator, values: Mapping[Symbol, int]) -> int:
    """Give the value of one generator at a point."""
    return _generator_value(generator, _Point(values, _Loops()))


def _value(p: Poly, point: _Point) -> int:
    total, done = 0, point.done
    for mono, coef in p.terms.items():
        for generator in mono:
            known = done.get(generator)
            if known is None:
                known = done[generator] = _generator_value(generator, point)
            coef *= known
        total += coef
    if p.den == 1:
        return total
    result, rest = divmod(total, p.den)
    if rest:
        raise NotInteger(f"{p} is not an integer at this point")
    return result


def _generator_value(generator: Generator, point: _Point) -> int:
    match generator:
        case Symbol():
            if generator not in point.values:
                raise UnboundSymbol(generator)
            return int(point.values[generator])
        case Floor(p=p, q=q):
            divisor = _value(q, point)
            if divisor < 1:
                raise NotInteger(f"a divisor, {q}, is {divisor} at this point; it must be at least 1")
            return _value(p, point) // divisor
        case Relu(p=p):
            return max(_value(p, point), 0)
        case Log2(p=p):
            return log2_of_number(_value(p, point))
        case Exponential(base=base, p=p):
            return number_power(base, _value(p, point))
        case Sum(body=body, symbol=symbol, lo=lo, hi=hi):
            return _sum_value(body, symbol, _value(lo, point), _value(hi, point), point)


def _sum_value(body: Poly, symbol: Symbol, lo: int, hi: int, point: _Point) -> int:
    """Add up a short range; for a long one put the numbers in and look for a closed form again."""
    if hi - lo < _SHORT_SUM:
        steps, values = range(lo, hi + 1), dict(point.values)
        point.loops.take(len(steps))
        return sum(_value_at(body, {**values, symbol: value}, point.loops) for value in steps)
    binder = coordinate("x", hi, lo)
    given: dict[Symbol, Poly | int] = {symbol: binder}
    for other in body.free:
        if other is not symbol:
            given[other] = _generator_value(other, point)
    return sum_of_numbers(substitute(body, given), the_symbol(binder), lo, hi, point.loops)


def evaluate_cond(cond: Cond, values: Mapping[Symbol, int]) -> bool:
    """Decide a condition at a point."""
    match cond:
        case Truth(value=value):
            return value
        case Ge(p=p):
            return evaluate(p, values) >= 0
        case Eq(p=p):
            return evaluate(p, values) == 0
        case Not(part=part):
            return not evaluate_cond(part, values)
        case And(parts=parts):
            return all(evaluate_cond(part, values) for part in parts)
        case Or(parts=parts):
            return any(evaluate_cond(part, values) for part in parts)


def floor_sum(count: int, slope: int, offset: int, divisor: int) -> int:
    """Sum of ``floor((slope*x + offset)/divisor)`` for x from 0 to count - 1, in the steps of Euclid.

    >>> floor_sum(10, 3, 1, 4) == sum((3 * x + 1) // 4 for x in range(10))
    True
    """
    result = 0
    while count > 0:
        result += (slope // divisor) * (count * (count - 1) // 2) + (offset // divisor) * count
        slope, offset = slope % divisor, offset % divisor
        # What is left counts lattice points below a line: count them the other way round.
        count, offset = divmod(slope * count + offset, divisor)
        slope, divisor = divisor, slope
    return result


def sum_of_numbers(body: Poly, x: Symbol, lo: int, hi: int, loops: _Loops) -> int:
    """Sum of a body in which x is the only symbol.

    >>> from tolcost.algebra.poly import coordinate, the_symbol
    >>> i = coordinate("i", 10**12)
    >>> sum_of_numbers(355 * i // 1131, the_symbol(i), 1, 10**12, _Loops())
    156940760388693633952254
    """
    closed = total(body, [(x, lo, hi)])
    parts = 0
    for mono, coef in closed.terms.items():
        parts += coef if not mono else coef * _sum_product(mono, loops)
    return parts // closed.den


def _sum_product(generators: tuple[Generator, ...], loops: _Loops) -> int:
    result = 1
    for generator in generators:
        if not isinstance(generator, Sum) or generator.free:
            raise AlgebraBudget("a sum does not come down to numbers")
        result *= _last_resort(generator, loops)
    return result


def _last_resort(left: Sum, loops: _Loops) -> int:
    """Sum what has no closed form even in numbers."""
    lo, hi = evaluate(left.lo, {}), evaluate(left.hi, {})
    by_steps = _by_euclid(left.body, left.symbol, lo, hi)
    return _loop(left.body, left.symbol, lo, hi, loops) if by_steps is None else by_steps


def _by_euclid(body: Poly, x: Symbol, lo: int, hi: int) -> int | None:
    """Add up floors of linear arguments, if the body is nothing else."""
    result = 0
    for mono, coef in body.terms.items():
        floor = mono[0] if len(mono) == 1 else None
        parts = affine_parts(floor.p, x) if isinstance(floor, Floor) else None
        if parts is None or not isinstance(floor, Floor):
            return None
        slope, offset, divisor = parts[0].constant, parts[1].constant, floor.q.constant
        if slope is None or offset is None or divisor is None or slope < 0:
            return None
        result += coef * floor_sum(hi - lo + 1, slope, slope * lo + offset, divisor)
    return result // body.den


def _loop(body: Poly, x: Symbol, lo: int, hi: int, loops: _Loops) -> int:
    loops.take(hi - lo + 1)
    if hi - lo < _BLOCK // 64 or any(isinstance(g, Sum) for mono in body.terms for g in mono):
        return sum(_value_at(body, {x: value}, loops) for value in range(lo, hi + 1))
    return _vectorised_loop(body, x, lo, hi)


def _vectorised_loop(body: Poly, x: Symbol, lo: int, hi: int) -> int:
    result = 0
    for start in range(lo, hi + 1, _BLOCK):
        values = evaluate_many(body, {x: range(start, min(start + _BLOCK, hi + 1))})
        result += sum(values.tolist())
    return result


def prepared(p: Poly) -> PointFunction:
    """Give the function from the values of symbols to that of a polynomial.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> prepared((n * n) // 3 + 1)({the_symbol(n): 5})
    9
    """
    constant = p.terms.get(UNIT, 0)
    if p.den == 1 and p.height == 0 and all(len(mono) <= 1 for mono in p.terms):
        return _prepared_line(constant, [(coef, mono[0]) for mono, coef in p.terms.items() if mono])
    rows = tuple((coef, tuple(map(_prepared_part, mono))) for mono, coef in p.terms.items() if mono)
    if p.den != 1:
        return _exact_quotient(_prepared_total(constant, rows), p)
    if len(rows) == 1 and rows[0][0] == 1 and len(rows[0][1]) == 1:
        (part,) = rows[0][1]
        return (lambda values: part(values) + constant) if constant else part
    return _prepared_total(constant, rows)


def _prepared_line(constant: int, rows: list[tuple[int, Generator]]) -> PointFunction:
    """The same of what most polynomials are: a constant, and symbols with a factor each."""
    if not rows:
        return lambda values: constant
    ((first, symbol), *more) = rows
    if not more and first == 1:
        return (lambda values: values[symbol] + constant) if constant else itemgetter(symbol)  # type: ignore[index]

    def value(values: Mapping[Symbol, int]) -> int:
        total = constant
        for factor, symbol in rows:
            total += factor * values[symbol]  # type: ignore[index]
        return total

    return value


def _prepared_total(constant: int, rows: tuple[tuple[int, tuple[PointFunction, ...]], ...]) -> PointFunction:
    def value(values: Mapping[Symbol, int]) -> int:
        total = constant
        for product, parts in rows:
            for part in parts:
                product *= part(values)
            total += product
        return total

    return value


def _exact_quotient(top: PointFunction, p: Poly) -> PointFunction:
    def value(values: Mapping[Symbol, int]) -> int:
        result, rest = divmod(top(values), p.den)
        if rest:
            raise NotInteger(f"{p} is not an integer at this point")
        return result

    return value


def _prepared_part(generator: Generator) -> PointFunction:
    match generator:
        case Symbol():
            return itemgetter(generator)
        case Floor(p=p, q=q):
            return _prepared_floor(prepared(p), prepared(q), q)
        case Relu(p=p):
            inside = prepared(p)
            return lambda values: max(inside(values), 0)
        case Log2(p=p):
            argument = prepared(p)
            return lambda values: log2_of_number(argument(values))
        case Exponential(base=base, p=p):
            exponent = prepared(p)
            return lambda values: number_power(base, exponent(values))
        case Sum():
            return lambda values: _generator_at(generator, values)


def _prepared_floor(top: PointFunction, bottom: PointFunction, q: Poly) -> PointFunction:
    divisor = q.constant
    if divisor is not None and divisor >= 1:
        return lambda values: top(values) // divisor

    def value(values: Mapping[Symbol, int]) -> int:
        divisor = bottom(values)
        if divisor < 1:
            raise NotInteger(f"a divisor, {q}, is {divisor} at this point; it must be at least 1")
        return top(values) // divisor

    return value


def prepared_cond(cond: Cond) -> PointCondition:
    """Give the function from the values of symbols to whether a condition holds.

    >>> from tolcost.algebra.conditions import ge
    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> prepared_cond(ge(n - 3))({the_symbol(n): 2})
    False
    """
    match cond:
        case Truth(value=value):
            return lambda values: value
        case Ge(p=p):
            amount = prepared(p)
            return lambda values: amount(values) >= 0
        case Eq(p=p):
            difference = prepared(p)
            return lambda values: difference(values) == 0
        case Not(part=part):
            holds = prepared_cond(part)
            return lambda values: not holds(values)
        case And(parts=parts):
            return _every(tuple(map(prepared_cond, parts)))
        case Or(parts=parts):
            none = _every(tuple(prepared_cond(Not(part)) for part in parts))
            return lambda values: not none(values)


def _every(parts: tuple[PointCondition, ...]) -> PointCondition:
    def value(values: Mapping[Symbol, int]) -> bool:
        for holds in parts:  # noqa: SIM110 - a loop is quicker than a generator
            if not holds(values):
                return False
        return True

    return value


# ---- solving ---------------------------------------------------------------------------------


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
    """What must be 0 for the conditions that are equations to hold: ``n <= 1`` is one for a length."""
    return [c.p for c in conditions if isinstance(c, Eq) or (isinstance(c, Ge) and _is_never_above_0(c.p))]


def _is_never_above_0(p: Poly) -> bool:
    found = _unknown(p)
    if found is None:
        return False
    symbol, factor, rest = found
    least = None if symbol.lo is None else symbol.lo.constant
    return factor < 0 and least is not None and factor * least + rest == 0


def _unknown(p: Poly) -> tuple[Symbol, int, int] | None:
    """Give the one unknown of an expression that is linear, or in an exponent; its factor and the rest."""
    if len(p.free) == 1 and any(isinstance(g, Exponential) for mono in p.terms for g in mono):
        return _unknown_exponent(p)
    if len(p.free) != 1 or p.height or max(map(len, p.terms)) != 1:
        return None
    (symbol,) = p.free
    return symbol, p.terms[symbol,], p.terms.get(UNIT, 0)


def _unknown_exponent(p: Poly) -> tuple[Symbol, int, int]:
    """The one unknown where it stands in an exponent; 2 times it and 1 can never be 0, where none fits."""
    (symbol,) = p.free
    for value in range(_MOST_HALVINGS):
        try:
            if evaluate(p, {symbol: value}) == 0:
                return symbol, 1, -value
        except NotInteger:
            continue
    return symbol, 2, 1
