"""The one table of elementary functions: what may be applied to data, and what it is.

Each application to data costs one EOP.  ``added`` marks those that are neither in the paper's Table 2 nor
an instance of a function there.
What a function computes is given by its NumPy meaning in ``tolcost.execute.functions`` and
its exact static meaning in ``tolcost.elaborate.static_numbers``; this module imports nothing.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

SpaceRule = Literal["arithmetic", "real", "compare", "logic", "same", "where", "test"]
"""How the space of the result follows from the spaces of the arguments.

arithmetic: the join of the arguments' spaces; real: the same, at least R; compare, test: B;
logic: the join (B, or bitwise on integers); same: the first argument's; where: the join of the branches.
"""


class ElementaryFunction(Struct, frozen=True):
    """An elementary function: how many arguments it takes, and what its result is.

    ``kinds`` are the families of spaces that it computes in: a letter each, as in ``tolcost.spaces``.
    """

    name: str
    arity: tuple[int, int]
    rule: SpaceRule
    kinds: str = "BZRC"
    associative: bool = False
    commutative: bool = False
    added: bool = False


def _table(*functions: ElementaryFunction) -> dict[str, ElementaryFunction]:
    return {f.name: f for f in functions}


def _trigonometric(*names: str) -> tuple[ElementaryFunction, ...]:
    return tuple(ElementaryFunction(name, (1, 1), "real") for name in names)


def _comparisons(*names: str) -> tuple[ElementaryFunction, ...]:
    return tuple(
        ElementaryFunction(name, (2, 2), "compare", "BZRCS" if same else "BZRS", commutative=same)
        for name in names
        for same in (name in ("eq", "ineq"),)
    )


FUNCTIONS: dict[str, ElementaryFunction] = _table(
    ElementaryFunction("add", (2, 2), "arithmetic", associative=True, commutative=True),
    ElementaryFunction("sub", (2, 2), "arithmetic"),
    ElementaryFunction("mul", (2, 2), "arithmetic", associative=True, commutative=True),
    ElementaryFunction("div", (2, 2), "real"),
    ElementaryFunction("mod", (2, 2), "arithmetic", "BZR"),
    ElementaryFunction("pow", (2, 2), "arithmetic"),
    ElementaryFunction("log", (1, 2), "real"),
    ElementaryFunction("and", (2, 2), "logic", "BZ", associative=True, commutative=True),
    ElementaryFunction("or", (2, 2), "logic", "BZ", associative=True, commutative=True),
    ElementaryFunction("xor", (2, 2), "logic", "BZ", associative=True, commutative=True),
    ElementaryFunction("not", (1, 1), "logic", "BZ"),
    *_comparisons("lt", "gt", "eq", "le", "ge", "ineq"),
    ElementaryFunction("max", (2, 2), "arithmetic", "BZR", associative=True, commutative=True),
    ElementaryFunction("min", (2, 2), "arithmetic", "BZR", associative=True, commutative=True),
    ElementaryFunction("sgn", (1, 1), "same", "BZR"),
    *_trigonometric("sin", "cos", "tan", "asin", "acos", "atan"),
    *_trigonometric("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    ElementaryFunction("rand", (0, 2), "real", "BZR"),
    # one application of a Table 2 function each, under a shorter name: sub, div, pow, log or ineq
    ElementaryFunction("neg", (1, 1), "arithmetic"),
    ElementaryFunction("recip", (1, 1), "real"),
    ElementaryFunction("exp", (1, 1), "real"),
    ElementaryFunction("sqrt", (1, 1), "real"),
    ElementaryFunction("rsqrt", (1, 1), "real"),
    ElementaryFunction("ln", (1, 1), "real"),
    ElementaryFunction("sqr", (1, 1), "arithmetic"),
    ElementaryFunction("isnan", (1, 1), "test"),
    # not in Table 2
    ElementaryFunction("abs", (1, 1), "same", added=True),
    ElementaryFunction("where", (3, 3), "where", "BZRCS", added=True),
    ElementaryFunction("floor", (1, 1), "same", "BZR", added=True),
    ElementaryFunction("ceil", (1, 1), "same", "BZR", added=True),
    ElementaryFunction("round", (1, 1), "same", "BZR", added=True),
    ElementaryFunction("trunc", (1, 1), "same", "BZR", added=True),
    ElementaryFunction("fmod", (2, 2), "arithmetic", "BZR", added=True),
    ElementaryFunction("isinf", (1, 1), "test", "BZR", added=True),
    ElementaryFunction("shl", (2, 2), "logic", "BZ", added=True),
    ElementaryFunction("shr", (2, 2), "logic", "BZ", added=True),
    ElementaryFunction("erf", (1, 1), "real", "BZR", added=True),
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
