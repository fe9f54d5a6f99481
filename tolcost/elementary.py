"""The one table of elementary functions: what may be applied to data, and what it is.

Each application to data costs one EOP.  ``table2`` names the basic elementary function of the
paper's Table 2 that the entry is an instance of; ``added`` marks those the paper lacks.
What a function computes is given by its NumPy meaning in ``tolcost.execute.functions`` and
its exact static meaning in ``tolcost.elaborate.static_numbers``; this module imports nothing.
"""

from __future__ import annotations

from typing import Literal

from tolcost.dataclass import dataclass

SpaceRule = Literal["arithmetic", "real", "compare", "logic", "same", "where", "test"]
"""How the space of the result follows from the spaces of the arguments.

arithmetic: the join of the arguments' spaces; real: the same, at least R; compare, test: B;
logic: the join (B, or bitwise on integers); same: the first argument's; where: the join of the branches.
"""


@dataclass(frozen=True, slots=True)
class ElementaryFunction:
    """An elementary function: how often it takes arguments, and what it is an instance of.

    ``kinds`` are the families of spaces that it computes in: a letter each, as in ``tolcost.spaces``.
    """

    name: str
    arity: tuple[int, int]
    table2: str
    rule: SpaceRule
    kinds: str = "BZRC"
    associative: bool = False
    commutative: bool = False
    added: bool = False


def _table(*functions: ElementaryFunction) -> dict[str, ElementaryFunction]:
    return {f.name: f for f in functions}


def _trigonometric(*names: str) -> tuple[ElementaryFunction, ...]:
    return tuple(ElementaryFunction(name, (1, 1), name, "real") for name in names)


def _comparisons(*names: str) -> tuple[ElementaryFunction, ...]:
    return tuple(
        ElementaryFunction(name, (2, 2), name, "compare", "BZRCS" if same else "BZRS", commutative=same)
        for name in names
        for same in (name in ("eq", "ineq"),)
    )


FUNCTIONS: dict[str, ElementaryFunction] = _table(
    ElementaryFunction("add", (2, 2), "add", "arithmetic", associative=True, commutative=True),
    ElementaryFunction("sub", (2, 2), "sub", "arithmetic"),
    ElementaryFunction("mul", (2, 2), "mul", "arithmetic", associative=True, commutative=True),
    ElementaryFunction("div", (2, 2), "div", "real"),
    ElementaryFunction("mod", (2, 2), "mod", "arithmetic", "BZR"),
    ElementaryFunction("pow", (2, 2), "pow", "arithmetic"),
    ElementaryFunction("log", (1, 2), "log", "real"),
    ElementaryFunction("and", (2, 2), "and", "logic", "BZ", associative=True, commutative=True),
    ElementaryFunction("or", (2, 2), "or", "logic", "BZ", associative=True, commutative=True),
    ElementaryFunction("xor", (2, 2), "xor", "logic", "BZ", associative=True, commutative=True),
    ElementaryFunction("not", (1, 1), "not", "logic", "BZ"),
    *_comparisons("lt", "gt", "eq", "le", "ge", "ineq"),
    ElementaryFunction("max", (2, 2), "max", "arithmetic", "BZR", associative=True, commutative=True),
    ElementaryFunction("min", (2, 2), "min", "arithmetic", "BZR", associative=True, commutative=True),
    ElementaryFunction("sgn", (1, 1), "sgn", "same", "BZR"),
    *_trigonometric("sin", "cos", "tan", "asin", "acos", "atan"),
    *_trigonometric("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    ElementaryFunction("rand", (0, 2), "rand", "real", "BZR"),
    # one application of a Table 2 function each, under a shorter name
    ElementaryFunction("neg", (1, 1), "sub", "arithmetic"),
    ElementaryFunction("recip", (1, 1), "div", "real"),
    ElementaryFunction("exp", (1, 1), "pow", "real"),
    ElementaryFunction("sqrt", (1, 1), "pow", "real"),
    ElementaryFunction("rsqrt", (1, 1), "pow", "real"),
    ElementaryFunction("ln", (1, 1), "log", "real"),
    ElementaryFunction("sqr", (1, 1), "pow", "arithmetic"),
    ElementaryFunction("isnan", (1, 1), "ineq", "test"),
    # not in Table 2
    ElementaryFunction("abs", (1, 1), "abs", "same", added=True),
    ElementaryFunction("where", (3, 3), "where", "where", "BZRCS", added=True),
    ElementaryFunction("floor", (1, 1), "floor", "same", "BZR", added=True),
    ElementaryFunction("ceil", (1, 1), "ceil", "same", "BZR", added=True),
    ElementaryFunction("round", (1, 1), "round", "same", "BZR", added=True),
    ElementaryFunction("trunc", (1, 1), "trunc", "same", "BZR", added=True),
    ElementaryFunction("fmod", (2, 2), "fmod", "arithmetic", "BZR", added=True),
    ElementaryFunction("isinf", (1, 1), "isinf", "test", "BZR", added=True),
    ElementaryFunction("shl", (2, 2), "shl", "logic", "BZ", added=True),
    ElementaryFunction("shr", (2, 2), "shr", "logic", "BZ", added=True),
    ElementaryFunction("erf", (1, 1), "erf", "real", "BZR", added=True),
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
