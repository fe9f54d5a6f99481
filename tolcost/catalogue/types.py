"""ONNX values as ours: element types as spaces, constants as static values.

Static integers become polynomials, so that shapes can be computed with them; static reals become the simplest
fraction that rounds to the same float, so that lengths computed from a scale of 0.6 are the intended ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from tolcost.algebra import FALSE, TRUE, Poly, const
from tolcost.atoms.nodes import Constant, Part, Table
from tolcost.catalogue.messages import TensorProto
from tolcost.diagnostics import refuse
from tolcost.elaborate.values import Cast, NodeValue, Value, Vec

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, Any]
else:  # NumPy is loaded only where there is an array
    Array = Any

MAX_STATIC = 1 << 20
"""Limit on the elements of a constant that is converted to static values."""

SMALL = 1024
"""Elements up to which a constant tensor may decide a shape."""

SPACE_OF_CODE: dict[int, str] = {
    TensorProto.FLOAT: "float32",
    TensorProto.UINT8: "uint8",
    TensorProto.INT8: "int8",
    TensorProto.UINT16: "uint16",
    TensorProto.INT16: "int16",
    TensorProto.INT32: "int32",
    TensorProto.INT64: "int64",
    TensorProto.STRING: "string",
    TensorProto.BOOL: "bool",
    TensorProto.FLOAT16: "float16",
    TensorProto.DOUBLE: "float64",
    TensorProto.UINT32: "uint32",
    TensorProto.UINT64: "uint64",
    TensorProto.COMPLEX64: "complex64",
    TensorProto.COMPLEX128: "complex128",
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.FLOAT8E4M3FN: "float8_e4m3fn",
    TensorProto.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
    TensorProto.FLOAT8E5M2: "float8_e5m2",
    TensorProto.FLOAT8E5M2FNUZ: "float8_e5m2fnuz",
    TensorProto.UINT4: "uint4",
    TensorProto.INT4: "int4",
    TensorProto.FLOAT4E2M1: "float4_e2m1fn",
    TensorProto.FLOAT8E8M0: "float8_e8m0fnu",
    TensorProto.UINT2: "uint2",
    TensorProto.INT2: "int2",
    TensorProto.FLOAT6E2M3: "float6_e2m3fn",
    TensorProto.FLOAT6E3M2: "float6_e3m2fn",
}
"""ONNX's codes of element types, with their spaces."""

CODE_OF_SPACE: dict[str, int] = {name: code for code, name in SPACE_OF_CODE.items()}


def space_of_code(code: int) -> str:
    """Return the space of an ONNX element type.

    >>> space_of_code(1), space_of_code(22)
    ('float32', 'int4')
    """
    if code not in SPACE_OF_CODE:
        refuse("T0650", f"there is no element type number {code}")
    return SPACE_OF_CODE[code]


def space_of_dtype(dtype: np.dtype[Any]) -> str:
    """Return the space of a NumPy element type.

    >>> import numpy as np
    >>> space_of_dtype(np.dtype("f2")), space_of_dtype(np.dtype("?"))
    ('float16', 'bool')
    """
    if dtype.kind in "OUST":
        return "string"
    if dtype.name not in CODE_OF_SPACE:
        refuse("T0650", f"there is no element type for {dtype.name}")
    return dtype.name


# ---- static values -----------------------------------------------------------------------


def static_value(array: Array) -> Value:
    """Convert an array to a compile-time value; a numeric for rank 0.

    >>> import numpy as np
    >>> static_value(np.array([1, 2])).items
    (1, 2)
    """
    if array.size > MAX_STATIC:
        refuse("T0651", f"a constant of {array.size} elements is too large")
    one = _converter(array.dtype)
    if array.ndim == 0:
        return one(array[()])
    return Vec(tuple(array.shape), tuple(one(item) for item in array.reshape(-1)))


def constant(array: Array) -> Value:
    """Convert a constant tensor to a compile-time value if it may decide a shape, else to data.

    Either way it keeps its element type.
    """
    if array.size <= SMALL:
        return Cast(static_value(array), space_of_dtype(array.dtype))
    return table(array)


def array_of(value: Cast) -> Array:
    """Convert a constant of numbers back to an array.

    >>> import numpy as np
    >>> array_of(constant(np.array([0.5], np.float32)))
    array([0.5], dtype=float32)
    """
    import numpy as np

    inner = value.value
    shape, items = (inner.shape, inner.items) if isinstance(inner, Vec) else ((), (inner,))
    numbers = [item.constant if isinstance(item, Poly) else item for item in items]
    return np.array(numbers).astype(value.space).reshape(shape)


def table(array: Array) -> Value:
    """Convert an array to constants of a program, which have an element type and cost nothing."""
    part = Part(tuple(map(const, array.shape)), space_of_dtype(array.dtype))
    value = static_value(array)
    items = value.items if isinstance(value, Vec) else (value,)
    return NodeValue(Table(cast("tuple[Constant, ...]", items), (part,)))


def _converter(dtype: np.dtype[Any]) -> Callable[[Any], Value]:
    if dtype.kind in "OUST":
        return lambda item: item.decode("utf-8", "replace") if isinstance(item, bytes) else str(item)
    if dtype.kind == "b":
        return lambda item: TRUE if item else FALSE
    if dtype.kind in "iu" or dtype.name in ("int4", "uint4", "int2", "uint2"):
        return lambda item: const(int(item))
    if dtype.kind == "c":
        return complex
    return lambda item: simplest(float(item), dtype.name)


def simplest(value: float, space: str = "float32") -> Value:
    """Return the fraction with the smallest denominator that rounds to a float; NaN and infinities stay.

    >>> simplest(0.6000000238418579), simplest(1e-05), simplest(math.inf)
    (Fraction(3, 5), Fraction(1, 100000), inf)
    """
    if not math.isfinite(value):
        return value
    if value == int(value):
        return Fraction(int(value))
    found = _simplest_between(*_around(abs(value), *_SHARP.get(space, _SHARP["float32"])))
    return Fraction(*found) if value > 0 else -Fraction(*found)


_REACH = 24
"""The range ends half way to the next float, less a part in 2 to this power: double rounding is safe."""

_SHARP = {"float16": (10, -13), "bfloat16": (7, -125), "float32": (23, -125), "float64": (52, -1021)}
"""Bits of the fraction, and the exponent of the smallest normal number as one half times a power of 2."""


def _around(value: float, bits: int, lowest: int) -> tuple[int, int, int, int]:
    """Return the range of numbers that round to a non-integer float: two fractions, as integers."""
    part, exponent = math.frexp(value)
    step = max(exponent, lowest) - 1 - bits
    over, under = value.as_integer_ratio()
    unit = max(under.bit_length() - 1, 1 - step) + _REACH  # every term is a multiple of 2 to minus this
    middle = over << (unit - under.bit_length() + 1)
    above = 1 << (step + unit - _REACH)
    below = above >> 1 if part == 0.5 else above  # below a power of 2, floats are twice as dense
    reach = (1 << (_REACH - 1)) - 1
    return middle - below * reach, 1 << unit, middle + above * reach, 1 << unit


def _simplest_between(low: int, under: int, high: int, beneath: int) -> tuple[int, int]:
    """Return the fraction of the smallest denominator strictly between ``low/under`` and ``high/beneath``."""
    whole, rest = divmod(low, under)
    if (whole + 1) * beneath < high:
        return whole + 1, 1
    left = high - whole * beneath
    if rest == 0:
        times = beneath // left + 1
        return whole * times + 1, times
    over, denominator = _simplest_between(beneath, left, under, rest)
    return whole * over + denominator, over
