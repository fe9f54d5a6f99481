"""Elementary functions: what each computes, in every family of spaces."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tolcost.elementary import FUNCTIONS
from tolcost.execute.dtypes import convert, dtype_of, number
from tolcost.execute.functions import MEANINGS, apply_function, erf, uniform
from tolcost.spaces import SPACES


def on(function: str, space: str, *args: object, result: str | None = None) -> object:
    values = [np.asarray(convert(np.asarray(arg), space)) for arg in args]
    with np.errstate(all="ignore"):
        return apply_function(function, space, result or space, values).tolist()


def test_every_function_has_a_meaning():
    assert set(MEANINGS) | {"rand"} == set(FUNCTIONS)


def test_every_space_has_an_element_type():
    assert all(dtype_of(space) is not None for space in SPACES)
    assert dtype_of("bfloat16") == ml_dtypes.bfloat16


@pytest.mark.parametrize(
    "function", ["sin", "cos", "tan", "asin", "atan", "sinh", "cosh", "tanh", "exp", "erf"]
)
def test_real_functions(function):
    assert on(function, "R", 0.3) == pytest.approx(getattr(math, function)(0.3), rel=1e-15)


@pytest.mark.parametrize(
    "function, space, args, expected",
    [
        ("add", "int8", (127, 1), -128),
        ("sub", "uint8", (0, 1), 255),
        ("mul", "int4", (7, 3), 5),
        ("neg", "uint4", (1,), 15),
        ("mod", "Z", (-7, 3), 2),
        ("mod", "R", (-7.5, 2.0), 0.5),
        ("fmod", "Z", (-7, 3), -1),
        ("fmod", "R", (-7.5, 2.0), -1.5),
        ("mod", "int64", (7, 0), 0),
        ("pow", "Z", (2, 10), 1024),
        ("pow", "int64", (2, -1), 0),
        ("pow", "Z", (-1, -3), -1),
        ("pow", "Z", (-1, -2), 1),
        ("pow", "int8", (2, 7), -128),
        ("pow", "R", (2.0, 0.5), math.sqrt(2)),
        ("log", "R", (8.0, 2.0), 3.0),
        ("log", "R", (1000.0, 10.0), 3.0),
        ("log", "R", (math.e,), 1.0),
        ("round", "R", (2.5,), 2.0),
        ("round", "R", (3.5,), 4.0),
        ("round", "R", (-0.5,), 0.0),
        ("trunc", "R", (-2.7,), -2.0),
        ("floor", "R", (-2.1,), -3.0),
        ("ceil", "R", (-2.9,), -2.0),
        ("floor", "Z", (5,), 5),
        ("sgn", "R", (-3.0,), -1.0),
        ("abs", "int8", (-128,), -128),
        ("and", "Z", (12, 10), 8),
        ("or", "uint8", (12, 3), 15),
        ("xor", "Z", (12, 10), 6),
        ("not", "uint8", (1,), 254),
        ("not", "B", (True,), False),
        ("and", "B", (True, False), False),
        ("shl", "uint8", (129, 1), 2),
        ("shr", "int32", (-8, 1), -4),
        ("shl", "int32", (1, 40), 0),
        ("sqr", "Z", (-3,), 9),
        ("recip", "float32", (4.0,), 0.25),
        ("rsqrt", "R", (4.0,), 0.5),
        ("add", "C", (1j, 2.0), 2 + 1j),
        ("abs", "C", (3 + 4j,), 5 + 0j),
        ("where", "R", (1.0, 2.0, 3.0), 2.0),
    ],
)
def test_values(function, space, args, expected):
    assert on(function, space, *args) == expected


def test_real_division_of_integers():
    assert on("div", "Z", 7, 2, result="R") == 3.5
    assert on("div", "float32", 1.0, 3.0) == np.float32(1) / np.float32(3)


def test_not_a_number_is_kept():
    for function in ("max", "min"):
        assert math.isnan(on(function, "R", math.nan, 1.0))
        assert math.isnan(on(function, "R", 1.0, math.nan))
    assert on("isnan", "R", [math.nan, 1.0], result="B") == [True, False]
    assert on("isinf", "R", [math.inf, 1.0], result="B") == [True, False]
    assert on("isnan", "Z", [1, 2], result="B") == [False, False]


def test_adding_truths_counts_them():
    assert on("add", "B", True, True, result="Z") == 2


def test_comparisons():
    assert on("lt", "R", [1.0, 2.0], 2.0, result="B") == [True, False]
    assert apply_function("eq", "S", "B", [np.array("a", object), np.array("a", object)]).tolist() is True


@pytest.mark.parametrize("space", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_narrow_results_are_rounded_once(space):
    a, b = number(1.0, space), number(0.0625, space)
    exact = np.asarray(np.float32(1.0) + np.float32(0.0625)).astype(dtype_of(space))
    assert apply_function("add", space, space, [a, b]) == exact


def test_conversions():
    assert convert(np.array([2.5, 3.5, -0.5]), "Z").tolist() == [2, 4, 0]
    assert convert(np.array([-1]), "uint16").tolist() == [65535]
    assert convert(np.array([2.0**63]), "uint64").tolist() == [2**63]
    assert convert(np.array([-1.0, -(2.0**63) - 2048, 2.0**70 + 2.0**20]), "uint64").tolist() == [
        2**64 - 1,
        2**63 - 2048,
        2**20 * (2**50 + 1) % 2**64,
    ]
    assert convert(np.array([-1.0, 300.0, -129.0, 2.0**63]), "int8").tolist() == [-1, 44, 127, 0]
    assert convert(np.array([np.nan, np.inf, -np.inf]), "int64").tolist() == [0, 0, 0]
    assert convert(np.array([0.0, -2.0, np.nan]), "B").tolist() == [False, True, True]
    assert convert(np.array([1 + 2j]), "R").tolist() == [1.0]
    assert convert(np.array(["1.5", "2"], object), "float32").tolist() == [1.5, 2.0]


def test_erf_is_exact():
    x = np.linspace(-6, 6, 1001)
    assert erf(x).tolist() == [math.erf(v) for v in x]
    assert erf(np.zeros((0, 2))).shape == (0, 2)


def test_random_numbers_are_uniform_and_a_function_of_where_they_stand():
    drawn = uniform(1, [np.arange(10_000)], [np.float64(3.0)])
    assert ((drawn >= 0) & (drawn < 1)).all()
    assert abs(drawn.mean() - 0.5) < 0.01
    assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.03
    assert np.array_equal(drawn, uniform(1, [np.arange(10_000)], [np.float64(3.0)]))
    assert not np.array_equal(drawn, uniform(2, [np.arange(10_000)], [np.float64(3.0)]))
    assert not np.array_equal(drawn, uniform(1, [np.arange(10_000)], [np.float64(4.0)]))
