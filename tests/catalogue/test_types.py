"""ONNX's element types and numbers as ours."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from onnx import TensorProto, helper, numpy_helper

from tolcost.algebra import TRUE, const
from tolcost.catalogue import types
from tolcost.catalogue.protobuf import _CODES, _DECIDING, array_of, attribute_value, small_value
from tolcost.catalogue.types import (
    CODE_OF_SPACE,
    SPACE_OF_CODE,
    constant,
    simplest,
    space_of_code,
    space_of_dtype,
    static_value,
    table,
)
from tolcost.diagnostics import Rejected
from tolcost.elaborate.values import NodeValue, Vec
from tolcost.models.facts import frozen
from tolcost.spaces import SPACES


def test_every_element_type_of_onnx_has_a_space() -> None:
    missing = set(TensorProto.DataType.values()) - SPACE_OF_CODE.keys() - {TensorProto.UNDEFINED}
    # no operator of ONNX takes or gives these two yet, so nothing could be tested
    assert {TensorProto.DataType.Name(code) for code in missing} <= {"FLOAT6E2M3", "FLOAT6E3M2"}
    assert set(CODE_OF_SPACE) <= SPACES.keys()


@pytest.mark.parametrize("code", sorted(SPACE_OF_CODE))
def test_numpy_and_onnx_agree_on_the_space(code: int) -> None:
    assert space_of_dtype(helper.tensor_dtype_to_np_dtype(code)) == space_of_code(code)


def test_an_unknown_element_type_is_refused() -> None:
    with pytest.raises(Rejected):
        space_of_code(999)
    with pytest.raises(Rejected):
        space_of_dtype(np.dtype("M8[s]"))


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_the_simplest_fraction_rounds_to_the_float(value: float) -> None:
    found = simplest(value)
    assert isinstance(found, Fraction)
    assert np.float32(found.numerator / found.denominator) == np.float32(value)
    assert found.denominator <= Fraction(value).denominator


@given(st.floats(width=16, allow_nan=False, allow_infinity=False))
def test_half_precision_needs_less(value: float) -> None:
    found = simplest(value, "float16")
    assert isinstance(found, Fraction)
    assert np.float16(found.numerator / found.denominator) == np.float16(value)


@given(st.floats(width=16, min_value=2**-9, max_value=32))
def test_no_fraction_of_a_smaller_denominator_rounds_to_the_float(value: float) -> None:
    found = simplest(value, "float16")
    assert isinstance(found, Fraction)
    exact = Fraction(value)
    steps = [Fraction(float(np.nextafter(np.float16(value), np.float16(to)))) - exact for to in (0, 99)]
    low, high = (exact + step / 2 * Fraction(10**6 - 1, 10**6) for step in steps)
    assert low < found < high or found == exact
    for under in range(1, found.denominator):
        over = math.floor(low * under) + 1
        assert Fraction(over, under) >= high


@pytest.mark.parametrize("space, known", types._SHARP.items())
def test_what_is_known_of_floats_is_so(space: str, known: tuple[int, int]) -> None:
    told = ml_dtypes.finfo(space)
    assert known == (told.nmant, math.frexp(float(told.smallest_normal))[1])


@given(st.data())
def test_small_tensors_are_read_as_numpy_reads_them(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(sorted(_CODES)))
    array = data.draw(arrays(dtype, data.draw(st.sampled_from([(), (1,), (3,), (2, 2), (0,)]))))
    tensor = numpy_helper.from_array(array)
    if data.draw(st.booleans()):
        numbers = array.ravel().tolist()
        tensor = helper.make_tensor("x", tensor.data_type, array.shape, numbers)
    found = small_value(tensor, dtype, array.size)
    assert frozen(found) == frozen(
        constant(array_of(tensor)) if array.size < 2 or dtype in _DECIDING else None
    )


@pytest.mark.parametrize("space, number", [("uint8", 300), ("int8", -129), ("bool", 2), ("int16", 1 << 15)])
def test_numbers_too_large_for_their_type_are_read_as_numpy_reads_them(space: str, number: int) -> None:
    tensor = TensorProto(data_type=types.CODE_OF_SPACE[space], int32_data=[number])
    assert frozen(small_value(tensor, space, 1)) == frozen(constant(array_of(tensor)))


def test_numbers_that_people_write_come_back() -> None:
    for text in ("0.1", "0.6", "1e-5", "-0.75", "2.3333333", "0.2"):
        assert simplest(float(np.float32(text))) in (Fraction(text), Fraction(7, 3))


def test_static_values_keep_their_kind() -> None:
    assert static_value(np.array(3)) == const(3)
    assert static_value(np.array([[True]])) == Vec((1, 1), (TRUE,))
    assert static_value(np.array([0.5], np.float32)) == Vec((1,), (Fraction(1, 2),))
    assert static_value(np.array(["a", b"b"], object)) == Vec((2,), ("a", "b"))


def test_small_integers_come_out_of_a_tensor() -> None:
    proto = helper.make_tensor("t", TensorProto.INT4, [3], [-8, 7, 1])
    assert static_value(array_of(proto)) == Vec((3,), (const(-8), const(7), const(1)))


def test_a_tensor_attribute_keeps_its_element_type() -> None:
    value = table(np.array([1, 2], np.int8))
    assert isinstance(value, NodeValue)
    assert value.node.type[0].space == "int8"


def test_attributes_become_static_values() -> None:
    def read(value: object) -> object:
        return attribute_value(helper.make_attribute("a", value))

    assert read(3) == const(3)
    assert read(0.1) == Fraction(1, 10)
    assert read("text") == "text"
    assert read([1, 2]) == Vec((2,), (const(1), const(2)))
    assert read(["x"]) == Vec((1,), ("x",))
