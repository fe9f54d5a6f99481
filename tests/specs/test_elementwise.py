"""Elementwise, typed and random operators where ONNX has no test of its own: old versions, rare options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import helper, numpy_helper

from tests.specs.holding import LIBRARY, Array, by_reference
from tolcost.catalogue.cases import Case
from tolcost.catalogue.conformance import Result, check
from tolcost.catalogue.reading import node_of
from tolcost.catalogue.types import SPACE_OF_CODE
from tolcost.execute.dtypes import dtype_of, is_real

RANDOM = np.random.default_rng(7)

# ---- cases of our own -------------------------------------------------------------------------


def case_of(
    op: str,
    opset: int,
    inputs: Sequence[Array | None],
    attributes: Mapping[str, Any],
    outputs: Sequence[Array],
) -> Case:
    names = ["" if array is None else f"i{n}" for n, array in enumerate(inputs)]
    node = node_of(helper.make_node(op, names, [f"o{n}" for n in range(len(outputs))], **attributes))
    return Case(f"{op}-{opset}", node, opset, tuple(inputs), tuple(outputs), 1e-3, 1e-7)


def held(
    op: str,
    opset: int,
    inputs: Sequence[Array | None],
    attributes: Mapping[str, Any] | None = None,
    outputs: Sequence[Array] | None = None,
    asked: int = 1,
) -> Result:
    """Hold a definition to the values given, or to those of the reference implementation."""
    options = attributes or {}
    expected = by_reference(op, opset, inputs, options, asked) if outputs is None else outputs
    result = check(case_of(op, opset, inputs, options, expected), LIBRARY)
    assert result.status == "pass", result.detail or result.cause
    assert result.concrete == ()
    return result


def floats(*shape: int) -> Array:
    return RANDOM.standard_normal(shape).astype(np.float32)


def whole(low: int, high: int, *shape: int, dtype: object = np.uint8) -> Array:
    return np.asarray(RANDOM.integers(low, high, shape)).astype(np.dtype(dtype))  # type: ignore[call-overload]


X = floats(3, 4)


@pytest.mark.parametrize(
    "op, opset, inputs, attributes, form",
    [
        ("Clip", 7, [X], {"min": -0.5, "max": 0.5}, "2*input_1*input_2"),
        ("Clip", 10, [X], {"max": 0.5}, "input_1*input_2"),
        ("Clip", 6, [X], {}, "0"),
        ("Dropout", 7, [X], {"ratio": 0.3}, "0"),
        ("Dropout", 11, [X], {}, "0"),
        ("PRelu", 7, [X, floats(4)], {}, "3*X_1*X_2"),
        ("Cast", 7, [X], {"to": 7}, "input_1*input_2"),
        ("Cast", 13, [X], {"to": 10}, "0"),
        ("CastLike", 15, [X, np.zeros(1, np.int8)], {}, "input_1*input_2"),
        ("QuantizeLinear", 13, [X, np.array(0.02, np.float32), np.array(7, np.int8)], {}, "5*x_1*x_2"),
        ("QuantizeLinear", 13, [X, np.array([0.5, 0.25, 1], np.float32)], {"axis": -2}, "4*x_1*x_2"),
        ("QuantizeLinear", 19, [X, np.array(0.02, np.float32), np.array(7, np.uint8)], {}, "5*x_1*x_2"),
        ("DequantizeLinear", 19, [whole(0, 255, 3, 4), np.array(0.02, np.float32)], {}, "x_1*x_2"),
        ("Max", 8, [X, floats(4)], {}, "data_01_1*data_01_2"),
        ("Sum", 8, [X, floats(3, 1), floats(1)], {}, "2*data_01_1*data_01_2"),
        ("Mean", 8, [X, floats(1, 4), floats(3, 4)], {}, "3*data_01_1*data_01_2"),
        ("Pow", 7, [np.abs(X), floats(1)], {}, "X_1*X_2"),
        ("LeakyRelu", 7, [X], {"alpha": 2.0}, "3*X_1*X_2"),
        ("Selu", 7, [X], {}, "6*X_1*X_2"),
        ("Celu", 12, [X], {}, "4*X_1*X_2"),
        ("Celu", 12, [X], {"alpha": -0.7}, "6*X_1*X_2"),
        ("Elu", 7, [X], {"alpha": -0.7}, "5*X_1*X_2"),
    ],
)
def test_old_versions_and_rare_options(
    op: str, opset: int, inputs: list[Array], attributes: dict[str, object], form: str
) -> None:
    assert held(op, opset, inputs, attributes).eops == form


def test_the_mask_of_an_old_dropout_is_all_ones_in_the_type_that_its_version_says() -> None:
    held("Dropout", 7, [X], {}, [X, np.ones_like(X)])
    held("Dropout", 10, [X], {}, [X, np.ones(X.shape, np.bool_)])


def test_integers_beyond_2_to_53_are_divided_exactly() -> None:
    edges = [2**63 - 1, -(2**63), 2**62 + 1, -(2**53) - 1, 7, -7]
    pairs = [(x, y) for x in edges for y in (1, 2, -3, 2**61 + 1, 2**63 - 1)]
    exact = [abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1) for x, y in pairs]
    x, y = (np.array(side) for side in zip(*pairs, strict=True))
    held("Div", 14, [x, y], {}, [np.array(exact)])
    most = np.array([2**64 - 1, 2**63 + 1], np.uint64)
    held("Div", 14, [most, np.array([1], np.uint64)], {}, [most])
    held("ReduceMean", 13, [np.array([2**61 + 1, 2**61 + 4])], {}, [np.array([2**61 + 2])])


# ---- casts ------------------------------------------------------------------------------------

NUMBERS = [1.75, 0.0, 2.5, 3.0, 1.0, 2.0, 0.25]
SIGNED = [*NUMBERS, -1.75, -0.5, -2.0]
LARGE = [*SIGNED, 300.0, 3e4, -3e4]


def numbers(code: int) -> Array:
    """Numbers that a type can hold, with some beyond what narrower ones can."""
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(code))
    unsigned = dtype.name.startswith(("uint", "bool")) or dtype.name == "float8_e8m0fnu"
    narrow = dtype.itemsize == 1
    chosen = NUMBERS if unsigned else SIGNED if narrow else LARGE
    if dtype.name == "float8_e8m0fnu":
        chosen = [0.125, 1.0, 2.0, 64.0]
    return np.array(chosen, np.float64).astype(dtype)


TINY = ("int2", "uint2", "int4", "uint4")
BEYOND_REFERENCE = {(a, b) for a in (*TINY, "float8_e8m0fnu") for b in (*TINY, "float4_e2m1fn")}
NOT_CAST = ("string", "complex64", "complex128", "float6_e2m3fn", "float6_e3m2fn")
"""Text, what ONNX does not cast, and what its reference cannot cast."""
CODES = [code for code, name in SPACE_OF_CODE.items() if name not in NOT_CAST]


WIDTH = {
    name: int(name.lstrip("uint")) for name in SPACE_OF_CODE.values() if name.lstrip("u").startswith("int")
}


def cut_and_wrapped(given: Array, space: str) -> Array:
    """Reals cut towards 0, modulo the width: in Python's integers, since C leaves what is beyond it open."""
    width = WIDTH[space]
    low = 0 if space.startswith("u") else -(2 ** (width - 1))
    whole = [(int(value) - low) % 2**width + low for value in given.astype(np.float64).tolist()]
    return np.array(whole, np.uint64 if low == 0 else np.int64).astype(dtype_of(space))


@pytest.mark.parametrize("source", CODES, ids=SPACE_OF_CODE.get)
def test_casts_between_all_types_are_those_of_onnx(source: int) -> None:
    array = numbers(source)
    positive = array[np.asarray(array.astype(np.float64) > 0)]
    for target in CODES:
        given = positive if SPACE_OF_CODE[target] == "float8_e8m0fnu" else array
        expected = None
        if is_real(given.dtype) and SPACE_OF_CODE[target] in WIDTH:
            expected = [cut_and_wrapped(given, SPACE_OF_CODE[target])]
        elif (given.dtype.name, SPACE_OF_CODE[target]) in BEYOND_REFERENCE:
            middle = np.float32 if given.dtype.name == "float8_e8m0fnu" else np.int64
            expected = [given.astype(middle).astype(helper.tensor_dtype_to_np_dtype(target))]
        held("Cast", 25, [given], {"to": target}, expected)


@pytest.mark.parametrize("mode", ["up", "down", "nearest"])
def test_powers_of_two_are_rounded_as_told(mode: str) -> None:
    values = np.array([0.124, 1.0, 1.0000001, 1.5, 1.4999999, 3.0, 1e30, 6e-30], np.float32)
    expected = numpy_helper.to_float8e8m0(values, True, mode)
    held("Cast", 24, [values], {"to": 24, "round_mode": mode}, [expected])


def test_what_float8_e8m0_cannot_hold_is_its_end_or_nan() -> None:
    values = np.array([0.0, np.inf, np.nan, 1e-45], np.float32)
    ends = np.array([2.0**-127, 2.0**127, np.nan, 2.0**-127]).astype(ml_dtypes.float8_e8m0fnu)
    held("Cast", 24, [values], {"to": 24}, [ends])


@pytest.mark.parametrize(
    "source, target",
    [
        (np.dtype(ml_dtypes.bfloat16), 4),
        (np.dtype(np.uint16), 16),
        (np.dtype(np.float16), 5),
        (np.dtype(ml_dtypes.float8_e5m2), 2),
        (np.dtype(np.uint8), 17),
        (np.dtype(np.uint64), 11),
    ],
)
def test_bits_keep_when_read_as_another_type(source: np.dtype[Any], target: int) -> None:
    raw = np.arange(3, 3 + 4 * source.itemsize, dtype=np.uint8)
    assert held("BitCast", 26, [raw.view(source)], {"to": target}).eops == "0"


def test_an_infinity_that_is_not_asked_for_costs_nothing() -> None:
    options = {"detect_negative": 0, "detect_positive": 0}
    x = np.array([np.inf, 1], np.float32)
    assert held("IsInf", 20, [x], options, [np.zeros(2, np.bool_)]).eops == "0"


# ---- quantised --------------------------------------------------------------------------------


def test_blocks_may_be_left_over() -> None:
    x = floats(3, 5)
    scale = np.abs(floats(3, 2)) + 0.1
    zero = whole(0, 9, 3, 2)
    options = {"axis": 1, "block_size": 3}
    assert held("QuantizeLinear", 21, [x, scale, zero], options).eops == "5*x_1*x_2"
    held("DequantizeLinear", 23, [whole(0, 255, 3, 5), scale, zero], {**options, "output_dtype": 10})


def test_the_precision_of_quantising_can_be_chosen() -> None:
    x = np.array([1.0, 3.14159, -700.0, 2049.0], np.float32)
    scale = np.array(0.1, np.float32)
    held("QuantizeLinear", 23, [x, scale, np.array(0, np.int16)], {"precision": 10})


def test_half_precision_reaches_the_whole_range_of_int16() -> None:
    x = np.array([6e4, -6e4, 3e4, 0.5], np.float16)
    scale = np.array(1, np.float16)
    held("QuantizeLinear", 21, [x, scale], {"output_dtype": 5})
    held("DequantizeLinear", 21, [np.array([65535, 3], np.uint16), np.array(0.01, np.float16)])


def test_unsaturated_float8_overflows() -> None:
    x = np.array([1e6, -1e6, 3.3], np.float32)
    zero = np.zeros((), ml_dtypes.float8_e5m2)
    held("QuantizeLinear", 19, [x, np.array(1, np.float32), zero], {"saturate": 0})


def test_a_tensor_of_zeros_is_quantised_to_zeros() -> None:
    held("DynamicQuantizeLinear", 11, [np.zeros((2, 3), np.float32)], asked=3)


def as_int(array: Array, zero: Array) -> Array:
    return np.asarray(array.astype(np.int64) - zero.astype(np.int64))


def test_zero_points_of_rows_and_columns() -> None:
    a, b = whole(0, 255, 3, 4), whole(-128, 127, 4, 5, dtype=np.int8)
    za, zb = whole(0, 255, 3), whole(-128, 127, 5, dtype=np.int8)
    product = as_int(a, za[:, None]) @ as_int(b, zb)
    held("MatMulInteger", 10, [a, b, za, zb], {}, [product.astype(np.int32)])
    held("MatMulInteger", 10, [a, b, None, zb], {}, [(a.astype(int) @ as_int(b, zb)).astype(np.int32)])
    result = held("MatMulInteger", 10, [a, b])
    assert result.eops == "2*A_1*A_2*B_2"


def test_batches_have_zero_points_of_their_own() -> None:
    a, b = whole(0, 255, 2, 3, 4), whole(0, 255, 2, 4, 5)
    za, zb = whole(0, 255, 2, 3, 1), whole(0, 255, 2, 1, 5)
    held("MatMulInteger", 10, [a, b, za, zb])


def test_scales_of_rows_and_columns() -> None:
    a, b = whole(0, 255, 3, 4), whole(0, 255, 4, 5)
    za, zb = whole(0, 255, 3), whole(0, 255, 5)
    sa, sb = np.abs(floats(3)) + 0.1, np.abs(floats(5)) + 0.1
    sy, zy = np.array(700, np.float32), np.array(100, np.uint8)
    real = (as_int(a, za[:, None]) * sa[:, None].astype(float)) @ (as_int(b, zb) * sb.astype(float))
    expected = np.clip(np.rint(real / sy) + 100, 0, 255).astype(np.uint8)
    result = held("QLinearMatMul", 10, [a, sa, za, b, sb, zb, sy, zy], {}, [expected])
    assert result.eops == "2*a_1*a_2*b_2 + a_1*a_2 + 7*a_1*b_2 + a_2*b_2"


def test_convolutions_of_integers_have_groups_and_strides() -> None:
    x, w = whole(0, 255, 2, 4, 7, 6), whole(0, 255, 6, 2, 3, 2)
    zw = whole(0, 255, 6)
    options: dict[str, object] = {"group": 2, "strides": [2, 1], "pads": [1, 0, 1, 1], "dilations": [1, 2]}
    held("ConvInteger", 10, [x, w, np.array(9, np.uint8), zw], options)
    del options["pads"]
    held("ConvInteger", 10, [x, w], {**options, "auto_pad": "SAME_LOWER", "dilations": [1, 1]})


def test_a_quantised_convolution_has_a_bias_and_a_scale_for_each_output() -> None:
    x, w = whole(0, 255, 1, 2, 5, 5), whole(-128, 127, 3, 2, 2, 2, dtype=np.int8)
    inputs = [
        x,
        np.array(0.02, np.float32),
        np.array(120, np.uint8),
        w,
        np.array([0.01, 0.02, 0.03], np.float32),
        np.array([1, -2, 3], np.int8),
        np.array(0.5, np.float32),
        np.array(17, np.int8),
        np.array([1000, -2000, 3], np.int32),
    ]
    held("QLinearConv", 10, inputs, {"pads": [1, 1, 0, 0]})


# ---- random -----------------------------------------------------------------------------------

MANY = [60, 100]


@pytest.mark.parametrize(
    "op, inputs, attributes, sample, each",
    [
        ("RandomUniform", [], {"shape": MANY}, RANDOM.random(MANY), 1),
        ("RandomUniform", [], {"shape": MANY, "low": -3.0, "high": 2.0}, RANDOM.uniform(-3, 2, MANY), 3),
        ("RandomNormal", [], {"shape": MANY}, RANDOM.standard_normal(MANY), 9),
        (
            "RandomNormal",
            [],
            {"shape": MANY, "mean": 4.0, "scale": 0.5, "seed": 1.0},
            RANDOM.normal(4, 0.5, MANY),
            11,
        ),
    ],
)
def test_random_numbers_have_their_distribution(
    op: str, inputs: list[Array], attributes: dict[str, object], sample: Array, each: int
) -> None:
    for code, dtype in ((1, np.float32), (11, np.float64), (10, np.float16)):
        result = held(op, 22, inputs, {**attributes, "dtype": code}, [sample.astype(dtype)])
        assert result.eops == str(each * 6000)
    like = {name: value for name, value in attributes.items() if name != "shape"}
    result = held(f"{op}Like", 22, [np.zeros(MANY, np.float32)], like, [sample.astype(np.float32)])
    assert result.eops == f"{each}*input_1*input_2".removeprefix("1*")
    held(f"{op}Like", 22, [np.zeros(MANY, np.int32)], {**like, "dtype": 11}, [sample])


def test_random_numbers_of_one_element_are_independent() -> None:
    """The two uniform numbers of a normal one would otherwise lie on a curve; the tails would be wrong."""
    uniform = RANDOM.random((2, 6000))
    sample = np.sqrt(-2 * np.log(1 - uniform[0])) * np.cos(2 * np.pi * uniform[1])
    held("RandomNormal", 22, [], {"shape": [6000], "dtype": 11}, [sample])


def test_classes_are_drawn_as_often_as_they_are_likely() -> None:
    chance = np.array([0.5, 0.05, 0.3, 0.15])
    expected = RANDOM.choice(4, (1, 6000), p=chance)
    inputs = [(np.log(chance[None]) + 3).astype(np.float32)]
    held("Multinomial", 7, inputs, {"sample_size": 6000}, [expected.astype(np.int32)])
    held("Multinomial", 22, inputs, {"sample_size": 6000, "dtype": 7}, [expected.astype(np.int64)])


@pytest.mark.parametrize(
    "op, inputs, attributes, sample",
    [
        ("RandomUniform", [], {"shape": [3, 2]}, RANDOM.random((3, 2))),
        ("RandomNormal", [], {"shape": [3, 2]}, RANDOM.standard_normal((3, 2))),
        ("RandomUniformLike", [np.zeros((3, 2), np.float32)], {}, RANDOM.random((3, 2))),
        ("RandomNormalLike", [np.zeros((3, 2), np.float32)], {}, RANDOM.standard_normal((3, 2))),
        ("Multinomial", [np.zeros((1, 3), np.float32)], {"sample_size": 2}, np.array([[0, 2]])),
    ],
)
def test_a_few_random_numbers_atom_by_atom(
    op: str, inputs: list[Array], attributes: dict[str, object], sample: Array
) -> None:
    """Onnx has no test of these."""
    dtype = np.int32 if op == "Multinomial" else np.float32
    assert held(op, 22, inputs, attributes, [sample.astype(dtype)]).unrolled is not None
