"""The one table of elementary functions: what may be applied to data, and what it is.

Each application to data costs one EOP.  ``table2`` names the basic elementary function of the
paper's Table 2 that the entry is an instance of; ``added`` marks those the paper lacks.
What a function computes is given by its NumPy meaning in ``tolcost.execute.functions`` and
its exact static meaning in ``tolcost.elaborate.constant_folding``; this module imports nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Rule = Literal["arithmetic", "real", "compare", "logic", "same", "where", "test"]
"""How the space of the result follows from the spaces of the arguments.

arithmetic: the join of the arguments' spaces; real: the same, at least R; compare, test: B;
logic: the join (B, or bitwise on integers); same: the first argument's; where: the join of the branches.
"""


@dataclass(frozen=True, slots=True)
class Function:
    """An elementary function: how often it takes arguments, and what it is an instance of."""

    name: str
    arity: tuple[int, int]
    table2: str
    rule: Rule
    associative: bool = False
    commutative: bool = False
    added: bool = False


def _table(*functions: Function) -> dict[str, Function]:
    return {f.name: f for f in functions}


def _trigonometric(*names: str) -> tuple[Function, ...]:
    return tuple(Function(name, (1, 1), name, "real") for name in names)


def _comparisons(*names: str) -> tuple[Function, ...]:
    return tuple(
        Function(name, (2, 2), name, "compare", commutative=name in ("eq", "ineq")) for name in names
    )


FUNCTIONS: dict[str, Function] = _table(
    Function("add", (2, 2), "add", "arithmetic", associative=True, commutative=True),
    Function("sub", (2, 2), "sub", "arithmetic"),
    Function("mul", (2, 2), "mul", "arithmetic", associative=True, commutative=True),
    Function("div", (2, 2), "div", "real"),
    Function("mod", (2, 2), "mod", "arithmetic"),
    Function("pow", (2, 2), "pow", "arithmetic"),
    Function("log", (1, 2), "log", "real"),
    Function("and", (2, 2), "and", "logic", associative=True, commutative=True),
    Function("or", (2, 2), "or", "logic", associative=True, commutative=True),
    Function("xor", (2, 2), "xor", "logic", associative=True, commutative=True),
    Function("not", (1, 1), "not", "logic"),
    *_comparisons("lt", "gt", "eq", "le", "ge", "ineq"),
    Function("max", (2, 2), "max", "arithmetic", associative=True, commutative=True),
    Function("min", (2, 2), "min", "arithmetic", associative=True, commutative=True),
    Function("sgn", (1, 1), "sgn", "same"),
    *_trigonometric("sin", "cos", "tan", "asin", "acos", "atan"),
    *_trigonometric("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    Function("rand", (0, 2), "rand", "real"),
    # one application of a Table 2 function each, under a shorter name
    Function("neg", (1, 1), "sub", "arithmetic"),
    Function("recip", (1, 1), "div", "real"),
    Function("exp", (1, 1), "pow", "real"),
    Function("sqrt", (1, 1), "pow", "real"),
    Function("rsqrt", (1, 1), "pow", "real"),
    Function("ln", (1, 1), "log", "real"),
    Function("sqr", (1, 1), "pow", "arithmetic"),
    Function("isnan", (1, 1), "ineq", "test"),
    # not in Table 2
    Function("abs", (1, 1), "abs", "same", added=True),
    Function("where", (3, 3), "where", "where", added=True),
    Function("floor", (1, 1), "floor", "same", added=True),
    Function("ceil", (1, 1), "ceil", "same", added=True),
    Function("round", (1, 1), "round", "same", added=True),
    Function("trunc", (1, 1), "trunc", "same", added=True),
    Function("fmod", (2, 2), "fmod", "arithmetic", added=True),
    Function("isinf", (1, 1), "isinf", "test", added=True),
    Function("shl", (2, 2), "shl", "logic", added=True),
    Function("shr", (2, 2), "shr", "logic", added=True),
    Function("erf", (1, 1), "erf", "real", added=True),
)

INFIX: dict[str, str] = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "%": "mod",
    "^": "pow",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "==": "eq",
    "!=": "ineq",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}
"""Which function each infix operator stands for."""
