"""What people write who come from other languages, and what stands for it here."""

from __future__ import annotations

from collections.abc import Mapping

_LOOP = "there are no loops: `map(t, f(*))` computes every element, `reduce(t, f, 0)` takes one after another"
_CHOICE = "`where(c, a, b)` is one of two values, and `choose(c, a, b)` computes only that one"
_FUNCTION = "`f(x) = x + 1` defines a function, and `x => x + 1` is one without a name"
_SHAPE = "`|x|` is the shape of x, and `|x|[1]` its first length"
_OUTPUT = "the last definition is the output, or those marked with `:=`"

KEYWORDS: Mapping[str, str] = {
    "for": _LOOP, "while": _LOOP, "if": _CHOICE, "then": _CHOICE, "else": _CHOICE, "elif": _CHOICE,
    "def": _FUNCTION, "fn": _FUNCTION, "function": _FUNCTION, "lambda": _FUNCTION, "return": _OUTPUT,
    "let": "`y = x` defines a name, and `y := x` an output", "var": "`y = x` defines a name",
    "import": "`use name` brings in a library file",
}  # fmt: skip
"""Words that other languages begin with; here they are names, which nothing defines."""

FUNCTIONS: Mapping[str, str] = {
    **KEYWORDS,
    "sum": "`reduce(t, add, 0)` adds up all elements",
    "prod": "`reduce(t, mul, 1)` multiplies all elements",
    "dot": "`reduce(map(x, * * y[i], [i]), add, 0)` is the product of two vectors",
    "len": _SHAPE, "size": _SHAPE, "shape": _SHAPE, "length": _SHAPE, "dim": _SHAPE,
    "zeros": "`tol y = [n, m]` is a ToL of zeros",
    "print": _OUTPUT,
}  # fmt: skip
"""Functions that other languages have."""

TYPES: Mapping[str, str] = {
    "Real": "R", "real": "R", "float": "float32", "Float": "float32", "double": "float64", "half": "float16",
    "int": "int64", "Int": "Z", "Integer": "Z", "integer": "Z", "nat": "N", "Natural": "N",
    "Bool": "B", "boolean": "B", "Boolean": "B", "complex": "C", "Complex": "C", "str": "S", "String": "S",
}  # fmt: skip
"""Types that other languages have, and the spaces they are here."""
