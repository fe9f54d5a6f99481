"""Applications that come to something simpler: a sum with 0, a product with 1, a function of numbers.

These rules are for what a derivative adds. What a program itself says is never simplified.
"""

from __future__ import annotations

from fractions import Fraction
from typing import cast

from tolcost.algebra import ONE, Poly
from tolcost.gradient.equations import Expression, Static


def _fixed(expr: Expression) -> Fraction | float | Poly | None:
    """Return a static number as one to compute with, or a form in lengths; None for anything else."""
    value = expr.value if isinstance(expr, Static) else None
    if isinstance(value, Poly):
        return value if value.constant is None else Fraction(value.constant)
    return value if isinstance(value, (Fraction, float)) else None


def is_zero(expr: Expression) -> bool:
    """Whether an expression is the number 0."""
    value = _fixed(expr)
    return isinstance(value, (Fraction, float)) and value == 0


def _is_one(expr: Expression) -> bool:
    value = _fixed(expr)
    return isinstance(value, (Fraction, float)) and value == 1


def simplified(function: str, args: tuple[Expression, ...]) -> Expression | None:
    """Return a simpler expression for an application, if there is one."""
    first, last = args[0], args[-1]
    match function:
        case "add" if is_zero(first):
            return last
        case "add" | "sub" if is_zero(last):
            return first
        case "mul" if is_zero(first) or _is_one(last):
            return first
        case "mul" if is_zero(last) or _is_one(first):
            return last
        case "div" if is_zero(first) or _is_one(last):
            return first
        case "pow" if _is_one(last):
            return first
        case "pow" if is_zero(last):
            return Static(ONE, first.space)
        case "neg" if is_zero(first):
            return first
        case "where" if is_zero(args[1]) and is_zero(last):
            return last
    return _computed(function, args)


def _computed(function: str, args: tuple[Expression, ...]) -> Expression | None:
    """Return the value of a function of static numbers."""
    values = [_fixed(arg) for arg in args]
    if any(value is None for value in values) or not (isinstance(args[0], Static)):
        return None
    space = args[0].space
    match function, values:
        case "add", [Poly() | Fraction() as a, Poly() | Fraction() as b]:
            return _number(a, b, 1, space)
        case "sub", [Poly() | Fraction() as a, Poly() | Fraction() as b]:
            return _number(a, b, -1, space)
        case "neg", [Fraction() as a]:
            return _of(-a, space)
        case "mul", [Fraction() as a, Fraction() as b]:
            return _of(a * b, space)
        case "div", [Fraction() as a, Fraction() as b] if b:
            return _of(a / b, space)
        case (("add" | "sub" | "mul" | "neg"), [float() | Fraction(), *_]):
            if any(isinstance(v, Poly) for v in values):
                return None
            numbers = [float(cast(float, v)) for v in values]
            first, last = numbers[0], numbers[-1]
            results = {"add": first + last, "sub": first - last, "mul": first * last, "neg": -first}
            return Static(results[function], space)
        case _:
            return None


def _number(a: Poly | Fraction, b: Poly | Fraction, sign: int, space: str) -> Expression | None:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return _of(a + sign * b, space)
    sides = [p if isinstance(p, Poly) else ONE * int(p) if p.denominator == 1 else None for p in (a, b)]
    return None if sides[0] is None or sides[1] is None else Static(sides[0] + sides[1] * sign, space)


def _of(value: Fraction, space: str) -> Static:
    return Static(ONE * int(value) if value.denominator == 1 else value, space)
