"""Elementary functions of Python numbers, as the oracle computes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

INFIX = {
    "+": "add", "-": "sub", "*": "mul", "%": "mod", "^": "pow", "and": "and", "or": "or", "xor": "xor",
    "==": "eq", "!=": "ineq", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
}  # fmt: skip


def _alike(a: Any, b: Any, chosen: Any) -> Any:
    """One of two numbers, real if either is, and none if either is none."""
    if a != a or b != b:
        return math.nan
    return float(chosen) if isinstance(a, float) or isinstance(b, float) else chosen


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b if b else math.copysign(math.inf, a) if a else math.nan,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": lambda a, b: _alike(a, b, max(a, b)),
    "min": lambda a, b: _alike(a, b, min(a, b)),
    "and": lambda a, b: bool(a and b),
    "or": lambda a, b: bool(a or b),
    "eq": lambda a, b: a == b,
    "ineq": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "neg": lambda a: -a,
    "not": lambda a: ~a if type(a) is int else not a,
    "abs": lambda a: abs(a),
    "sqr": lambda a: a * a,
    "sgn": lambda a: type(a)((a > 0) - (a < 0)) if a == a else a,
    "floor": lambda a: math.floor(a) if math.isfinite(a) else a,
    "exp": lambda a: math.exp(a) if a < 700 else math.inf,
    "sin": lambda a: math.sin(a) if math.isfinite(a) else math.nan,
    "cos": lambda a: math.cos(a) if math.isfinite(a) else math.nan,
    "tanh": lambda a: math.tanh(a),
    "atan": lambda a: math.atan(a),
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
}
"""By name; ``floordiv`` is what ``/`` means between whole numbers known early."""
