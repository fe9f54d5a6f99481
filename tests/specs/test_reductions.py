"""Reductions, normalisation, losses and linear algebra where ONNX has no test: old versions, rare options."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from tests.specs.holding import Array, by_reference, held, scalar

RANDOM = np.random.default_rng(11)


def floats(*shape: int) -> Array:
    return np.asarray(RANDOM.standard_normal(shape), np.float32)


# ---- reductions -------------------------------------------------------------------------------

X = floats(2, 3, 4)
WHOLE = RANDOM.integers(-9, 9, (3, 4)).astype(np.int32)
KINDS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attributes", [{"axes": [1]}, {"axes": [-1, 0], "keepdims": 0}, {}])
def test_axes_as_an_attribute(kind: str, attributes: dict[str, Any]) -> None:
    data = np.abs(X) + 1 if kind == "LogSum" else X
    (expected,) = by_reference(f"Reduce{kind}", 11, [data], attributes)
    held(f"Reduce{kind}", 7, [data], attributes, [expected])
    held(f"Reduce{kind}", 12, [data], attributes, [expected])


@pytest.mark.parametrize("kind", KINDS)
def test_without_axes_nothing_is_reduced_if_told_so(kind: str) -> None:
    data = np.abs(X) + 1
    opset = 13 if kind == "Sum" else 18
    held(f"Reduce{kind}", opset, [data, np.zeros(0, np.int64)], {"noop_with_empty_axes": 1})


def test_integers_stay_integers() -> None:
    roots = np.sqrt((WHOLE**2).sum(1, keepdims=True)).astype(np.int32)
    held("ReduceL2", 18, [WHOLE, np.array([1])], {}, [roots])
    means = np.trunc(WHOLE.mean(1, keepdims=True)).astype(np.int32)
    held("ReduceMean", 18, [WHOLE, np.array([1])], {}, [means])
    held("ArgMin", 13, [WHOLE.astype(np.int8)], {"axis": 0, "select_last_index": 1})
    held("ArgMax", 7, [WHOLE], {"axis": -1})


def rows(x: Array, axis: int) -> Array:
    """A tensor as a matrix, as versions before 13 see it."""
    return x.reshape(int(np.prod(x.shape[:axis])), -1)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_softmax_of_a_tensor_made_a_matrix(axis: int) -> None:
    flat = rows(X, axis)
    powers = np.exp(flat)
    soft = (powers / powers.sum(1, keepdims=True)).reshape(X.shape)
    hard = (flat == flat.max(1, keepdims=True)).astype(np.float32).reshape(X.shape)
    assert held("Softmax", 7, [X], {"axis": axis}, [soft]).eops == "5*input_1*input_2*input_3"
    held("LogSoftmax", 11, [X], {"axis": axis - 3}, [np.log(soft)])
    held("Hardmax", 9, [X], {"axis": axis}, [hard])


# ---- normalisation ----------------------------------------------------------------------------

IMAGE = floats(2, 6, 4, 5)
SCALE, BIAS, MEAN = floats(6), floats(6), floats(6)
VARIANCE = np.abs(floats(6)) + 1
AXES = (0, 2, 3)


def channels(v: Array) -> Array:
    return v.reshape(-1, 1, 1)


def normal(x: Array, mean: Array, variance: Array) -> Array:
    return np.asarray((x - channels(mean)) / np.sqrt(channels(variance) + 1e-5), np.float32)


@pytest.mark.parametrize("opset", [7, 9, 14, 15])
def test_batches_by_given_statistics(opset: int) -> None:
    expected = normal(IMAGE, MEAN, VARIANCE) * channels(SCALE) + channels(BIAS)
    result = held("BatchNormalization", opset, [IMAGE, SCALE, BIAS, MEAN, VARIANCE], {}, [expected])
    assert str(result.eops).startswith("3*")


@pytest.mark.parametrize("opset", [7, 9])
def test_more_outputs_once_meant_training(opset: int) -> None:
    mean, variance = IMAGE.mean(AXES), IMAGE.var(AXES)
    expected = [
        normal(IMAGE, mean, variance) * channels(SCALE) + channels(BIAS),
        MEAN * np.float32(0.75) + mean * np.float32(0.25),
        VARIANCE * np.float32(0.75) + variance * np.float32(0.25),
        mean,
        variance,
    ]
    inputs = [IMAGE, SCALE, BIAS, MEAN, VARIANCE]
    held("BatchNormalization", opset, inputs, {"momentum": 0.75}, expected, rtol=1e-4)


def test_every_place_may_have_statistics_of_its_own() -> None:
    scale, bias, mean, variance = (np.abs(floats(6, 4, 5)) + 1 for _ in range(4))
    expected = (IMAGE - mean) / np.sqrt(variance + 1e-5) * scale + bias
    inputs = [IMAGE, scale, bias, mean, variance]
    held("BatchNormalization", 7, inputs, {"spatial": 0}, [expected.astype(np.float32)])


def test_a_vector_is_one_channel() -> None:
    one = [np.array([v], np.float32) for v in (2.0, 0.5, 0.25, 4.0)]
    x = floats(5)
    expected = (x - 0.25) / np.sqrt(np.float32(4 + 1e-5)) * 2 + 0.5
    held("BatchNormalization", 15, [x, *one], {}, [expected.astype(np.float32)])


def test_groups_once_had_a_scale_each() -> None:
    groups = IMAGE.reshape(2, 3, -1)
    middle, spread = groups.mean(2, keepdims=True), groups.var(2, keepdims=True)
    scale, bias = floats(3), floats(3)
    z = (groups - middle) / np.sqrt(spread + 1e-5)
    expected = (z * scale.reshape(3, 1) + bias.reshape(3, 1)).reshape(IMAGE.shape)
    held("GroupNormalization", 18, [IMAGE, scale, bias], {"num_groups": 3}, [expected], rtol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_channels_near_one(size: int) -> None:
    before, after = (size - 1) // 2, size // 2
    squares = np.stack([(IMAGE[:, max(c - before, 0) : c + after + 1] ** 2).sum(1) for c in range(6)], axis=1)
    expected = IMAGE / (2 + np.float32(0.5 / size) * squares) ** 0.75
    held("LRN", 7, [IMAGE], {"size": size, "alpha": 0.5, "bias": 2.0}, [expected], rtol=1e-4)


def test_statistics_of_a_layer() -> None:
    result = held("LayerNormalization", 17, [IMAGE, floats(4, 5)], {"axis": 2}, 3, rtol=1e-4)
    assert result.eops == "2*X_1*X_2*(3*X_3*X_4 + 2)"
    held("LpNormalization", 7, [np.zeros((2, 3), np.float32)], {"p": 1}, [np.zeros((2, 3), np.float32)])


def test_a_few_numbers_over_their_root_mean_square_atom_by_atom() -> None:
    """Onnx has no test of this."""
    x, scale = floats(2, 3), floats(3)
    expected = x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * scale
    assert held("SimplifiedLayerNormalization", 17, [x, scale], {}, [expected]).unrolled is not None


# ---- linear algebra and transforms ------------------------------------------------------------


@pytest.mark.parametrize(
    "equation, shapes, form",
    [
        ("ij,jk", [(2, 3), (3, 4)], "2*Inputs1_1*Inputs1_2*Inputs2_2"),
        ("...ij,...jk", [(2, 1, 2, 3), (5, 3, 4)], "2*Inputs1_1*Inputs1_3*Inputs1_4*Inputs2_1*Inputs2_3"),
        ("ii", [(3, 3)], "Inputs1_1"),
        ("zya", [(2, 3, 4)], "0"),
        (" i j , j -> i", [(2, 3), (3,)], "2*Inputs1_1*Inputs1_2"),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)], "3*Inputs1_1*Inputs1_2*Inputs2_2*Inputs3_2"),
        ("a...b,b->a...", [(2, 5, 3), (3,)], "2*Inputs1_1*Inputs1_2*Inputs1_3"),
        (",ij->ij", [(), (2, 3)], "Inputs2_1*Inputs2_2"),
    ],
)
def test_equations(equation: str, shapes: list[tuple[int, ...]], form: str) -> None:
    inputs = [floats(*shape) for shape in shapes]
    expected = np.asarray(np.einsum(equation.replace(" ", ""), *inputs), np.float32)
    assert held("Einsum", 12, inputs, {"equation": equation}, [expected], rtol=1e-4).eops == form


@pytest.mark.parametrize(
    "matrix",
    [
        [[0, 1, 0], [1, 0, 0], [0, 0, 2]],
        [[1, 2, 3], [2, 4, 6], [1, 0, 1]],
        [[0, 0], [0, 0]],
        [[3]],
        [[2, 1, 0, 3], [4, 2, 1, 1], [0, 1, 5, 2], [1, 0, 2, 2]],
    ],
)
def test_determinants(matrix: list[list[int]]) -> None:
    x = np.array(matrix, np.float32)
    held("Det", 11, [x], {}, [np.asarray(np.linalg.det(x), np.float32)], rtol=1e-4)


@pytest.mark.parametrize("length", [None, 5, 9])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("options", [{}, {"inverse": 1}, {"onesided": 1}])
def test_transforms(length: int | None, parts: int, options: dict[str, int]) -> None:
    if options.get("onesided") and parts == 2:
        options = {"onesided": 1, "inverse": 1}
    size = None if length is None else scalar(length)
    held("DFT", 20, [floats(2, 7, parts), size, scalar(1)], options, rtol=1e-3)
    if length is None:
        held("DFT", 20, [floats(2, 7, parts)], options, rtol=1e-3)
        held("DFT", 17, [floats(2, 7, parts)], options, rtol=1e-3)


def test_frames() -> None:
    signal = floats(2, 20, 1)
    held("STFT", 17, [signal, scalar(3), floats(8)], {}, rtol=1e-3)
    held("STFT", 17, [signal, scalar(4), None, scalar(6)], {"onesided": 0}, rtol=1e-3)
    held("STFT", 17, [floats(2, 20, 2), scalar(4), floats(6)], {"onesided": 0}, rtol=1e-3)


@pytest.mark.parametrize("name", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("periodic", [0, 1])
def test_windows_in_another_type(name: str, periodic: int) -> None:
    options = {"periodic": periodic, "output_datatype": onnx.TensorProto.DOUBLE}
    assert held(name, 17, [np.array(9, np.int32)], options).eops == "0"


@pytest.mark.parametrize("name", ["HannWindow", "HammingWindow", "BlackmanWindow"])
@pytest.mark.parametrize("kind", [onnx.TensorProto.UINT8, onnx.TensorProto.INT64])
def test_windows_of_integers_are_cut(name: str, kind: int) -> None:
    """As a cast does: 0.9 becomes 0."""
    assert held(name, 17, [np.array(9, np.int32)], {"output_datatype": kind}).eops == "0"


def test_a_mel_matrix_of_integers_is_cut() -> None:
    inputs = [scalar(3), scalar(64), scalar(8192), np.float32(0), np.float32(4096)]
    arrays = [np.asarray(one) for one in inputs]
    assert held("MelWeightMatrix", 17, arrays, {"output_datatype": onnx.TensorProto.INT32}).eops == "0"


def test_old_products() -> None:
    a, b, c = floats(2, 3), floats(3, 4), floats(4)
    assert held("Gemm", 7, [a, b, c], {}).eops == "2*A_1*A_2*B_2"
    held("Gemm", 9, [a.T.copy(), b, floats(2, 1)], {"transA": 1, "alpha": 0.5, "beta": 2.0}, rtol=1e-4)
    held("MatMul", 9, [(a * 9).astype(np.int32), (b * 9).astype(np.int32)], {})


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("name", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_ignored_classes(name: str, reduction: str) -> None:
    target = np.array([[0, 2], [1, -1], [-1, 1]], np.int64)
    inputs = [floats(3, 4, 2), target, np.abs(floats(4))]
    held(name, 12, inputs, {"reduction": reduction, "ignore_index": -1}, rtol=1e-4)
