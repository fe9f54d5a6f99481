"""Exact evaluation in Python integers: at one point, at many points, and as functions for repeated calls.

A sum without a closed form gets one once everything in it is a number: a closed form of ``sums``, Euclid's
floor sum, or a loop. The loop is bounded; a sum that needs more steps raises ``AlgebraBudget``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter, mul
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct, field

from tolcost.algebra.conditions import Cond, Logic
from tolcost.algebra.floors import MEANING
from tolcost.algebra.poly import (
    UNIT,
    AlgebraBudget,
    Composite,
    Floor,
    Generator,
    Monomial,
    NotInteger,
    Poly,
    Relu,
    Sum,
    Symbol,
    UnboundSymbol,
    affine_parts,
    as_poly,
    coordinate,
    the_symbol,
)
from tolcost.algebra.substitute import substitute
from tolcost.algebra.sums import total
from tolcost.algebra.walk import FormWalk, Rule, RuleTable

if TYPE_CHECKING:
    from tolcost.algebra.vectorised import Ints


MAX_LOOP = 10_000_000
"""The most terms that one evaluation adds one by one; it bounds the time of the evaluation."""
_SHORT_SUM = 256
"""A shorter sum is added up directly: looking for a closed form would take longer."""
_BLOCK = 1 << 16
"""The number of terms evaluated at once in a vectorised loop."""

PointFunction: TypeAlias = Callable[[Mapping[Symbol, int]], int]
"""Computes the value at a point; raises ``KeyError`` if a symbol has no value there."""

PointCondition: TypeAlias = Callable[[Mapping[Symbol, int]], bool]


class _Loops(Struct):
    """The number of terms that may still be added one by one."""

    left: int = MAX_LOOP

    def take(self, count: int) -> None:
        """Take ``count`` terms; raise ``AlgebraBudget`` if not enough are left."""
        self.left -= count
        if self.left < 0:
            raise AlgebraBudget(f"a sum without a closed form has more than {MAX_LOOP} terms")


def _exact(total: int, p: Poly) -> int:
    """Divide the value of a numerator by the form's denominator."""
    result, rest = divmod(total, p.den)
    if rest:
        raise NotInteger(f"{p} is not an integer at this point")
    return result


def _symbol_value(point: _Point, symbol: Symbol) -> int:
    try:
        return int(point.values[symbol])
    except KeyError:
        raise UnboundSymbol(symbol) from None


def _sum_value(point: _Point, generator: Sum) -> int:
    """Add up a short range; for a long range substitute the numbers and look for a closed form again."""
    body, symbol = generator.body, generator.symbol
    lo, hi = point.form(generator.lo), point.form(generator.hi)
    if hi - lo < _SHORT_SUM:
        steps, values = range(lo, hi + 1), dict(point.values)
        point.loops.take(len(steps))
        return sum(_Point({**values, symbol: value}, point.loops).form(body) for value in steps)
    binder = coordinate("x", hi, lo)
    given: dict[Symbol, Poly | int] = {symbol: binder}
    for other in body.free:
        if other is not symbol:
            given[other] = point.generator(other)
    return sum_of_numbers(substitute(body, given), the_symbol(binder), lo, hi, point.loops)


def _value_by_meaning(point: _Point, generator: Composite) -> int:
    return MEANING[type(generator)](generator, *[point.form(part) for part in generator.parts])


VALUES: RuleTable[Rule[int]] = RuleTable(
    "value at a point", {Symbol: _symbol_value, Sum: _sum_value}, otherwise=_value_by_meaning
)


class _Point(FormWalk[int, int]):
    """The values of symbols at a point, those of generators evaluated so far, and the loop budget left."""

    rules = VALUES
    values: Mapping[Symbol, int]
    loops: _Loops

    def form(self, p: Poly) -> int:
        """Return the value of a form."""
        total, done = 0, self.done
        for mono, coef in p.terms.items():
            for generator in mono:
                known = done.get(generator)
                if known is None:
                    known = done[generator] = VALUES[type(generator)](self, generator)
                coef *= known
            total += coef
        return total if p.den == 1 else _exact(total, p)


def evaluate(p: Poly | int, values: Mapping[Symbol, int]) -> int:
    """Return the value at a point.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> evaluate((n * n) // 3, {the_symbol(n): 5})
    8
    """
    form = as_poly(p)
    if form.height or form.den != 1:
        return _Point(values, _Loops()).form(form)
    total = 0
    try:
        for mono, coef in form.terms.items():
            for symbol in mono:  # without floors, clips and sums, every generator is a symbol
                coef *= int(values[symbol])  # type: ignore[index]
            total += coef
    except KeyError as missing:
        raise UnboundSymbol(*missing.args) from None
    return total


def evaluate_each(asked: Iterable[Poly | Cond], values: Mapping[Symbol, int]) -> list[int]:
    """Evaluate several forms at one point, conditions as 1 or 0.

    Forms share the generators evaluated so far.
    """
    point = _Point(values, _Loops())
    return [point.form(one) if isinstance(one, Poly) else evaluate_cond(one, values) for one in asked]


def evaluate_many(p: Poly | int, values: Mapping[Symbol, Sequence[int] | Ints]) -> Ints:
    """Evaluate at many points: a NumPy array, of int64 if all values fit, else of Python integers.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> evaluate_many(n * n, {the_symbol(n): [1, 2, 3]}).tolist()
    [1, 4, 9]
    """
    from tolcost.algebra.vectorised import evaluate_columns  # NumPy is loaded only here

    return evaluate_columns(as_poly(p), values, _generator_at)


def decide_many(cond: Cond, values: Mapping[Symbol, Sequence[int] | Ints]) -> Ints:
    """Decide a condition at many points: an array of truth values, or one value for all of them."""
    from tolcost.algebra.vectorised import decide_columns

    return decide_columns(cond, values, _generator_at)


def _generator_at(generator: Generator, values: Mapping[Symbol, int]) -> int:
    """Return the value of one generator at a point."""
    return _Point(values, _Loops()).generator(generator)


def evaluate_cond(cond: Cond, values: Mapping[Symbol, int]) -> bool:
    """Decide a condition at a point."""
    return NUMBERS.of(cond, lambda p: evaluate(p, values))


NUMBERS: Logic[int, bool] = Logic(
    lambda value: value >= 0, lambda value: value == 0, lambda value: value != 0, bool, all, any
)
"""Conditions on numbers."""


def floor_sum(count: int, slope: int, offset: int, divisor: int) -> int:
    """Sum ``floor((slope*x + offset)/divisor)`` for x from 0 to count - 1, by Euclid's algorithm.

    >>> floor_sum(10, 3, 1, 4) == sum((3 * x + 1) // 4 for x in range(10))
    True
    """
    result = 0
    while count > 0:
        result += (slope // divisor) * (count * (count - 1) // 2) + (offset // divisor) * count
        slope, offset = slope % divisor, offset % divisor
        # The rest counts lattice points below a line: count them along the other axis.
        count, offset = divmod(slope * count + offset, divisor)
        slope, divisor = divisor, slope
    return result


def sum_of_numbers(body: Poly, x: Symbol, lo: int, hi: int, loops: _Loops) -> int:
    """Sum a body in which x is the only symbol.

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
        result *= _sum_without_closed_form(generator, loops)
    return result


def _sum_without_closed_form(left: Sum, loops: _Loops) -> int:
    """Sum a body without a closed form even in numbers."""
    lo, hi = evaluate(left.lo, {}), evaluate(left.hi, {})
    by_steps = _by_euclid(left.body, left.symbol, lo, hi)
    return _loop(left.body, left.symbol, lo, hi, loops) if by_steps is None else by_steps


def _by_euclid(body: Poly, x: Symbol, lo: int, hi: int) -> int | None:
    """Sum floors of linear arguments by Euclid's algorithm; None if the body contains anything else."""
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
        return sum(_Point({x: value}, loops).form(body) for value in range(lo, hi + 1))
    return _vectorised_loop(body, x, lo, hi)


def _vectorised_loop(body: Poly, x: Symbol, lo: int, hi: int) -> int:
    result = 0
    for start in range(lo, hi + 1, _BLOCK):
        values = evaluate_many(body, {x: range(start, min(start + _BLOCK, hi + 1))})
        result += sum(values.tolist())
    return result


# === Functions for evaluation at very many points: a list of steps, run by one loop.
#
# A step computes a value from those of the steps before, and puts it into the next slot; slot 0 has the
# values of symbols. Every generator, and every product of several, has one slot, however many forms contain
# it.


Slots: TypeAlias = list[Any]
EvaluationStep: TypeAlias = Callable[[Slots], int]


def _multiply(left: int, right: int) -> EvaluationStep:
    return lambda slots: slots[left] * slots[right]


def _total(constant: int, terms: Sequence[tuple[int, int]]) -> EvaluationStep:
    """Add up slots with a factor each."""
    if not terms:
        return lambda slots: constant
    if len(terms) == 1:
        ((factor, slot),) = terms
        return lambda slots: factor * slots[slot] + constant
    factors, pick = [factor for factor, _ in terms], itemgetter(*(slot for _, slot in terms))
    return lambda slots: sum(map(mul, factors, pick(slots)), constant)


def _floor_step(steps: _Steps, floor: Floor) -> int:
    divisor = floor.q.constant
    if divisor is None or divisor < 1:
        return _step_by_meaning(steps, floor)
    top = steps.form(floor.p)
    return steps.add(lambda slots: slots[top] // divisor)


def _clip_step(steps: _Steps, clip: Relu) -> int:
    inside = steps.form(clip.p)
    return steps.add(lambda slots: max(slots[inside], 0))


def _step_by_meaning(steps: _Steps, generator: Composite) -> int:
    meaning, parts = MEANING[type(generator)], [steps.form(part) for part in generator.parts]
    return steps.add(lambda slots: meaning(generator, *[slots[part] for part in parts]))


STEPS: RuleTable[Rule[int]] = RuleTable(
    "step",
    {
        Symbol: lambda steps, symbol: steps.add(lambda slots: slots[0][symbol]),
        Floor: _floor_step,
        Relu: _clip_step,
        Sum: lambda steps, generator: steps.add(lambda slots: _generator_at(generator, slots[0])),
    },
    otherwise=_step_by_meaning,
)


class _Steps(FormWalk[int, int]):
    """Writes the steps that compute forms; a form or a generator becomes the number of its slot."""

    rules = STEPS
    steps: list[EvaluationStep] = field(default_factory=list)
    products: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, step: EvaluationStep) -> int:
        """Add a step; return its slot."""
        self.steps.append(step)
        return len(self.steps)

    def form(self, p: Poly) -> int:
        """Add up the products, and divide by the denominator."""
        constant = p.terms.get(UNIT, 0)
        terms = [(coef, self.product(mono)) for mono, coef in p.terms.items() if mono]
        if p.den == 1 and not constant and len(terms) == 1 and terms[0][0] == 1:
            return terms[0][1]
        total = self.add(_total(constant, terms))
        return total if p.den == 1 else self.add(lambda slots: _exact(slots[total], p))

    def product(self, mono: Monomial) -> int:
        """Multiply generators, each product of the first ones once."""
        slot, *more = map(self.generator, mono)
        for factor in more:
            pair = slot, factor
            if pair not in self.products:
                self.products[pair] = self.add(_multiply(*pair))
            slot = self.products[pair]
        return slot

    def pick(self, p: Poly) -> Callable[[Slots], int]:
        """Return what takes the value of a form out of the slots."""
        return itemgetter(self.form(p))

    def run(self, values: Mapping[Symbol, int]) -> Slots:
        """Compute all slots at a point."""
        slots: Slots = [values]
        for step in self.steps:
            slots.append(step(slots))
        return slots


def prepared_all(asked: Sequence[Poly | Cond]) -> Callable[[Mapping[Symbol, int]], list[int]]:
    """Prepare a function that computes the values of forms, and whether conditions hold, at a point.

    >>> from tolcost.algebra import ge, length, the_symbol
    >>> n = length("n")
    >>> prepared_all((n * n // 3 + 1, ge(n - 6)))({the_symbol(n): 5})
    [9, False]
    """
    steps = _Steps()
    found = [
        steps.form(one) if isinstance(one, Poly) else steps.add(_DECISIONS.of(one, steps.pick))
        for one in asked
    ]

    def function(values: Mapping[Symbol, int]) -> list[int]:
        slots = steps.run(values)
        return [slots[slot] for slot in found]

    return function


def _all_hold(parts: tuple[Callable[[Any], bool], ...], given: object) -> bool:
    for holds in parts:  # noqa: SIM110 - a loop is quicker than a generator
        if not holds(given):
            return False
    return True


def _any_holds(parts: tuple[Callable[[Any], bool], ...], given: object) -> bool:
    for holds in parts:  # noqa: SIM110 - a loop is quicker than a generator
        if holds(given):
            return True
    return False


def _prepare_linear(constant: int, rows: list[tuple[int, Generator]]) -> PointFunction:
    """Prepare a polynomial of degree 1, the usual case: a constant, and symbols with a factor each."""
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


def prepared(p: Poly) -> PointFunction:
    """Prepare a function that computes the value of a polynomial from the values of its symbols.

    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> prepared((n * n) // 3 + 1)({the_symbol(n): 5})
    9
    """
    if p.den == 1 and p.height == 0 and all(len(mono) <= 1 for mono in p.terms):
        return _prepare_linear(
            p.terms.get(UNIT, 0), [(coef, mono[0]) for mono, coef in p.terms.items() if mono]
        )
    steps = _Steps()
    slot = steps.form(p)
    return lambda values: steps.run(values)[slot]


def prepared_cond(cond: Cond) -> PointCondition:
    """Prepare a function that decides a condition from the values of its symbols.

    >>> from tolcost.algebra.conditions import ge
    >>> from tolcost.algebra.poly import length, the_symbol
    >>> n = length("n")
    >>> prepared_cond(ge(n - 3))({the_symbol(n): 2})
    False
    """
    return _DECISIONS.of(cond, prepared)


_DECISIONS: Logic[Callable[[Any], int], Callable[[Any], bool]] = Logic(
    lambda amount: lambda given: amount(given) >= 0,
    lambda amount: lambda given: amount(given) == 0,
    lambda amount: lambda given: amount(given) != 0,
    lambda value: lambda _: value,
    lambda parts: partial(_all_hold, tuple(parts)),
    lambda parts: partial(_any_holds, tuple(parts)),
)
"""Conditions as functions, of what their amounts are functions of."""
