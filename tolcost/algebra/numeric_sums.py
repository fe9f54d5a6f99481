"""Sums at numbers: a closed form once everything is known, Euclid's floor sum, or a loop.

The loop is bounded; a sum that would need more raises ``AlgebraBudget``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tolcost.algebra.errors import AlgebraBudget
from tolcost.algebra.faulhaber import affine_parts
from tolcost.algebra.poly import Poly
from tolcost.algebra.sums import total
from tolcost.algebra.symbols import Floor, Generator, Sum, Symbol

MAX_LOOP = 10_000_000
_SHORT = 32
_BLOCK = 1 << 16


@dataclass(slots=True)
class Loops:
    """How many terms may still be added one by one."""

    left: int = MAX_LOOP

    def take(self, count: int) -> None:
        """Take this many."""
        self.left -= count
        if self.left < 0:
            raise AlgebraBudget(f"a sum without a closed form has more than {MAX_LOOP} terms")


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


def sum_of_numbers(body: Poly, x: Symbol, lo: int, hi: int, loops: Loops) -> int:
    """Sum of a body in which x is the only symbol.

    >>> from tolcost.algebra.poly import coordinate, the_symbol
    >>> i = coordinate("i", 10**12)
    >>> sum_of_numbers(355 * i // 1131, the_symbol(i), 1, 10**12, Loops())
    156940760388693633952254
    """
    if hi < lo:
        return 0
    if hi - lo < _SHORT:
        return _loop(body, x, lo, hi, loops)
    closed = total(body, [(x, lo, hi)])
    parts = 0
    for mono, coef in closed.terms.items():
        parts += coef if not mono else coef * _product(mono, loops)
    return parts // closed.den


def _product(generators: tuple[Generator, ...], loops: Loops) -> int:
    result = 1
    for generator in generators:
        if not isinstance(generator, Sum) or generator.free:
            raise AlgebraBudget("a sum does not come down to numbers")
        result *= _last_resort(generator, loops)
    return result


def _last_resort(left: Sum, loops: Loops) -> int:
    """Sum what has no closed form even in numbers."""
    from tolcost.algebra.evaluate import evaluate

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


def _loop(body: Poly, x: Symbol, lo: int, hi: int, loops: Loops) -> int:
    from tolcost.algebra.evaluate import value_at

    loops.take(hi - lo + 1)
    if hi - lo < _BLOCK // 64 or any(isinstance(g, Sum) for mono in body.terms for g in mono):
        return sum(value_at(body, {x: value}, loops) for value in range(lo, hi + 1))
    return _vectorised_loop(body, x, lo, hi)


def _vectorised_loop(body: Poly, x: Symbol, lo: int, hi: int) -> int:
    from tolcost.algebra.evaluate import evaluate_many

    result = 0
    for start in range(lo, hi + 1, _BLOCK):
        values = evaluate_many(body, {x: range(start, min(start + _BLOCK, hi + 1))})
        result += sum(values.tolist())
    return result
