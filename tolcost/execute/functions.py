"""The meaning of every elementary function, on NumPy arrays of any shape.

Arguments are first converted to the space that the function computes in; the result is rounded or wrapped to
the space of the result.  No function raises on data: a division by zero or a logarithm of a negative number
gives the machine's result.

``rand`` has no state.  Its value follows from its arguments and its position (the call and the coordinates
around it), so every interpreter computes the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from math import erf as scalar_erf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tolcost.atoms.kit import program_nodes
from tolcost.atoms.nodes import Lambda, Program
from tolcost.elementary import FUNCTIONS
from tolcost.execute.dtypes import Array, convert, is_real, working_dtype
from tolcost.execute.whole_numbers import ENDLESS, exact_result, exactly, unheld, verdicts
from tolcost.spaces import kind_of

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def erf(x: Array) -> NDArray[np.float64]:
    """Return the error function, as exact as the C library's.

    >>> erf(np.array([0.0, 1.0])).round(6).tolist()
    [0.0, 0.842701]
    """
    values = np.asarray(x, np.float64)
    flat = map(scalar_erf, values.reshape(-1).tolist())
    return np.fromiter(flat, np.float64, values.size).reshape(values.shape)


def uniform(site: int, coordinates: Sequence[Array | int], args: Sequence[Array]) -> NDArray[np.float64]:
    """Return numbers in [0, 1) that depend on the call, the coordinates and the arguments.

    >>> bool(0 <= uniform(1, [3], []) < 1)
    True
    """
    state = _mixed(np.asarray(site, np.uint64))
    for coordinate in coordinates:
        state = _mixed(state ^ np.asarray(coordinate).astype(np.uint64))
    for arg in args:
        state = _mixed(state ^ _bits(arg))
    return np.asarray((state >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _bits(arg: Array) -> NDArray[np.uint64]:
    """Return the bit patterns of numbers; equal numbers of different types agree."""
    exact: NDArray[Any] = np.asarray(arg).astype(np.float64) + 0.0
    return exact.view(np.uint64)


def _mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64 bits (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        state = np.asarray(state + _GOLDEN)
        state = np.asarray((state ^ (state >> np.uint64(30))) * _MIX_1)
        state = np.asarray((state ^ (state >> np.uint64(27))) * _MIX_2)
        return np.asarray(state ^ (state >> np.uint64(31)))


ArrayFunction = Callable[..., Any]


def apply_function(function: str, space: str, result: str, args: Sequence[Array]) -> Array:
    """Apply an elementary function that computes in one space and returns values of another.

    >>> apply_function("add", "int8", "int8", [np.int8(127), np.int8(1)]).tolist()
    -128
    >>> apply_function("lt", "R", "B", [np.array([1.0, 3.0]), np.array(2.0)]).tolist()
    [True, False]
    """
    return apply_checked(function, space, result, args)[0]


def apply_checked(
    function: str, space: str, result: str, args: Sequence[Array]
) -> tuple[Array, Array | None]:
    """Apply a function; the second result marks errors among results that must be whole numbers.

    >>> apply_checked("neg", "Z", "Z", [np.array([5])])
    (array([-5]), None)
    """
    exact = exact_result(function, space, args)
    if exact is not None:
        return exact, None
    meaning, dtype = resolved(function, space)
    ready = [as_dtype(np.asarray(arg), space, dtype) for arg in args]
    found = np.asarray(meaning(*ready))
    if result not in ENDLESS:
        return convert(found, result), None
    wrong = unheld(found) if exactly(function, space, result) is None else verdicts(function, ready)
    return convert(found, result), wrong


@cache
def resolved(function: str, space: str) -> tuple[ArrayFunction, np.dtype[Any]]:
    """Look up a function's implementation and computing type; cached, since every element needs it."""
    return MEANINGS[function], _computing_dtype(function, space)


def as_dtype(arg: Array, space: str, dtype: np.dtype[Any]) -> Array:
    """Convert an argument to the space of the computation, then to its computing type."""
    if arg.dtype == dtype:
        return arg
    return np.asarray(convert(arg, space).astype(dtype))


def _computing_dtype(function: str, space: str) -> np.dtype[Any]:
    """Choose the computing type: real functions need reals, and adding truth values counts them."""
    rule = FUNCTIONS[function].rule if function in FUNCTIONS else "same"
    dtype = working_dtype(space)
    if rule == "real" and kind_of(space) in ("B", "Z"):
        return np.dtype(np.float64)
    if kind_of(space) == "B" and rule in ("arithmetic", "same"):
        return np.dtype(np.int64)
    return dtype


def _power(base: Array, exponent: Array) -> Array:
    """Raise to a power; integers wrap around, and negative exponents truncate towards 0."""
    if base.dtype.kind not in "iu":
        return np.asarray(np.power(base, exponent))
    result = np.power(base, np.maximum(exponent, 0))
    odd = np.where((exponent % 2) != 0, base, base * base)
    inverse = np.where((base == 1) | (base == base.dtype.type(0) - 1), odd, base * 0)
    return np.where(exponent < 0, inverse, result).astype(base.dtype)


def _logarithm(x: Array, base: Array | None = None) -> Array:
    """Return the logarithm, exact for powers of 2 and 10 in those bases."""
    natural = np.log(x)
    if base is None:
        return natural
    if base.dtype.kind == "c":
        return np.asarray(natural / np.log(base))
    other = natural / np.log(base)
    return np.where(base == 2, np.log2(x), np.where(base == 10, np.log10(x), other)).astype(natural.dtype)


def _logical(on_truth: ArrayFunction, on_bits: ArrayFunction) -> ArrayFunction:
    """Combine truth values logically, and integers bit by bit."""

    def meaning(*args: Array) -> Array:
        if args[0].dtype.kind in "iu":
            return np.asarray(on_bits(*args))
        return np.asarray(on_truth(*(arg != 0 for arg in args)))

    return meaning


def _shift(move: ArrayFunction) -> ArrayFunction:
    def meaning(value: Array, by: Array) -> Array:
        whole = [arg.astype(np.int64) if arg.dtype == np.bool_ else arg for arg in (value, by)]
        return np.asarray(move(*whole))

    return meaning


def _on_reals(rounding: ArrayFunction) -> ArrayFunction:
    """Round reals; integers are already whole."""

    def meaning(x: Array) -> Array:
        return np.asarray(rounding(x)) if is_real(x.dtype) else x

    return meaning


def _test(holds: ArrayFunction) -> ArrayFunction:
    """Apply a test that holds only for some floating-point values."""

    def meaning(x: Array) -> Array:
        return np.asarray(holds(x)) if x.dtype.kind in "fc" else np.zeros(x.shape, np.bool_)

    return meaning


MEANINGS: Mapping[str, ArrayFunction] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "mod": np.mod,
    "pow": _power,
    "log": _logarithm,
    "and": _logical(np.logical_and, np.bitwise_and),
    "or": _logical(np.logical_or, np.bitwise_or),
    "xor": _logical(np.logical_xor, np.bitwise_xor),
    "not": _logical(np.logical_not, np.bitwise_not),
    "lt": np.less,
    "gt": np.greater,
    "eq": np.equal,
    "le": np.less_equal,
    "ge": np.greater_equal,
    "ineq": np.not_equal,
    "max": np.maximum,
    "min": np.minimum,
    "sgn": np.sign,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "neg": np.negative,
    "recip": lambda x: np.true_divide(x.dtype.type(1), x),
    "exp": np.exp,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: np.true_divide(x.dtype.type(1), np.sqrt(x)),
    "ln": np.log,
    "sqr": lambda x: np.multiply(x, x),
    "isnan": _test(np.isnan),
    "abs": np.abs,
    "where": lambda condition, then, other: np.where(condition != 0, then, other),
    "floor": _on_reals(np.floor),
    "ceil": _on_reals(np.ceil),
    "round": _on_reals(np.rint),
    "trunc": _on_reals(np.trunc),
    "fmod": np.fmod,
    "isinf": _test(np.isinf),
    "shl": _shift(np.left_shift),
    "shr": _shift(np.right_shift),
    "erf": erf,
}
"""Every elementary function except ``rand``, which also needs its position."""


@lru_cache(maxsize=8)
def rand_sites(program: Program) -> Mapping[Lambda, int]:
    """Number the calls of ``rand`` by their position in the program."""
    calls = (node for node in program_nodes(program) if isinstance(node, Lambda) and node.function == "rand")
    return {node: number for number, node in enumerate(calls, 1)}
