"""What people write who come from other languages, and what stands for it here."""

from __future__ import annotations

from collections.abc import Mapping

_LOOP = "there are no loops: `map(t, f(*))` computes every element, `reduce(t, f, 0)` takes one after another"
CHOICE = "`where(c, a, b)` is one of two values, and `choose(c, a, b)` computes only that one"
_FUNCTION = "`f(x) = x + 1` defines a function, and `(x) => x + 1` is one without a name"
_SHAPE = "`|x|` is the shape of x, and `|x|[1]` its first length"
_MODULE = "no module stands before a function: `exp(x)`"
_OUTPUT = "the last definition is the output, or those marked with `:=`"

KEYWORDS: Mapping[str, str] = {
    "for": _LOOP, "while": _LOOP, "if": CHOICE, "then": CHOICE, "else": CHOICE, "elif": CHOICE,
    "def": _FUNCTION, "fn": _FUNCTION, "function": _FUNCTION, "lambda": _FUNCTION, "return": _OUTPUT,
    "let": "`y = x` defines a name, and `y := x` an output", "var": "`y = x` defines a name",
    "import": "`use name` brings in a library file",
}  # fmt: skip
"""Words that other languages begin with; here they are names, which nothing defines."""

CALLS: Mapping[str, str] = {
    **KEYWORDS,
    "sum": "`reduce(t, add, 0)` adds up all elements",
    "prod": "`reduce(t, mul, 1)` multiplies all elements",
    "dot": "`reduce(map(x, * * y[i], [i]), add, 0)` is the product of two vectors",
    "len": _SHAPE, "size": _SHAPE, "shape": _SHAPE, "length": _SHAPE, "dim": _SHAPE,
    "zeros": "`tol y = [n, m]` is a ToL of zeros",
    "ones": "`map(tol[n, m], 1)` is a ToL of ones",
    "average": "`reduce(t, add, 0) / vol(t)` is the mean of all elements",
    "sort": "`TopK(x, |x|)` gives a vector from its largest element to its smallest",
    "append": "`[*t, row]` is t with one more row",
    "np": _MODULE, "numpy": _MODULE, "torch": _MODULE, "math": _MODULE,
    "print": _OUTPUT,
}  # fmt: skip
"""Functions that other languages have."""

MEMBERS: Mapping[str, str] = {**CALLS, "T": "`Transpose(x)` is x with its axes turned around"}
"""What other languages write behind a value and a dot."""

_ALL = "`reduce(t, {0}, {1})` takes {0} over all elements"
ARGUMENTS: Mapping[str, str] = {
    "reduce": "the third is what it begins with: `reduce(t, add, 0)`",
    "map": "`map(t, exp(*))` computes every element",
    "add": _ALL.format("add", "0"), "mul": _ALL.format("mul", "1"),
    "max": _ALL.format("max", "-Inf"), "min": _ALL.format("min", "Inf"),
}  # fmt: skip
"""What is said of functions that get fewer arguments than they take."""

PAIRS: Mapping[str, tuple[str, str | None]] = {
    "->": ("a function is `(x) => x + 1`", "=>"),
    **dict.fromkeys(
        ("+=", "-=", "*=", "/="), ("a name is defined once: `z = y + 1` defines another one", None)
    ),
}
"""Signs of other languages that begin with an operator of ours: what to do instead, and what to write."""

TYPES: Mapping[str, str] = {
    "Real": "R", "real": "R", "float": "float32", "Float": "float32", "double": "float64", "half": "float16",
    "int": "int64", "Int": "Z", "Integer": "Z", "integer": "Z", "nat": "N", "Natural": "N",
    "Bool": "B", "boolean": "B", "Boolean": "B", "complex": "C", "Complex": "C", "str": "S", "String": "S",
}  # fmt: skip
"""Types that other languages have, and the spaces they are here."""

QUOTIENT = "a quotient rounded down is floor(a / b)"
