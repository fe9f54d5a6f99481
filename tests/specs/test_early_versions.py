"""Operators as they were before version 7, of which ONNX has no node tests.

They are held to NumPy as their schemas tell it, to ONNX's reference implementation where it has such a
version, and to what ONNX's converter makes of a model: in values, in shapes, and in all that they cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper, version_converter
from onnx.reference import ReferenceEvaluator

import tolcost
from tests.models.running import run_model
from tests.specs.holding import LIBRARY, Array, Attributes, by_reference, held, model_of
from tests.specs.test_recurrent import expected, layer_case
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.reading import model_in

NAMES = {2: "n", 3: "c", 4: "h", 5: "w"}
"""What lengths are called where they are left open."""


def floats(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def figures(model: ModelProto) -> tuple[object, ...]:
    """All that a model costs, where all of it is known."""
    cost = tolcost.from_onnx(model)
    assert cost.status == "exact", cost.to_text()
    return cost.eops, cost.flops, cost.macs, cost.bytes, cost.index, cost.histogram, cost.conditions


def with_names(model: ModelProto) -> ModelProto:
    """The same with names for the lengths of what is given."""
    found = ModelProto()
    found.CopyFrom(model)
    for value in found.graph.input:
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_value in NAMES:
                dimension.dim_param = NAMES[dimension.dim_value]
    return found


def cost_the_same(one: ModelProto, other: ModelProto) -> None:
    assert figures(one) == figures(other)
    assert figures(with_names(one)) == figures(with_names(other))


def refusal(op: str, opset: int, inputs: Sequence[Array], attributes: Attributes, asked: int = 1) -> str:
    """What is said of a node of which nothing is counted."""
    cost = tolcost.from_onnx(model_of(op, opset, inputs, attributes, asked))
    assert cost.status in ("lower bound", "invalid")
    assert cost.eops == 0
    return cost.to_text()


# ---- two tensors, of which the second is broadcast when told to -------------------------------

ARITHMETIC: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": lambda a, b: np.abs(a) ** b,
    "Greater": np.greater,
    "Less": np.less,
}
LOGIC: dict[str, Callable[[Array, Array], Array]] = {
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "Equal": np.equal,
}
IN_VERSION_6 = ("Add", "Sub", "Mul", "Div")
FITTING: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, int]]] = [
    ((2, 3, 4, 5), (2, 3, 4, 5), {}),
    ((2, 3, 4, 5), (2, 3, 4, 5), {"axis": 1}),  # it says nothing without `broadcast`
    ((2, 3, 4, 5), (2, 3, 4, 5), {"broadcast": 1}),
    ((2, 3, 4, 5), (), {"broadcast": 1}),
    ((2, 3, 4, 5), (1, 1), {"broadcast": 1}),
    ((2, 3, 4, 5), (1,), {"broadcast": 1, "axis": 2}),
    ((2, 3, 4, 5), (5,), {"broadcast": 1}),
    ((2, 3, 4, 5), (4, 5), {"broadcast": 1}),
    ((2, 3, 4, 5), (3, 4), {"broadcast": 1, "axis": 1}),
    ((2, 3, 4, 5), (2,), {"broadcast": 1, "axis": 0}),
    ((2, 3, 4, 5), (3,), {"broadcast": 1, "axis": 1}),
    ((2, 3, 4, 5), (5,), {"broadcast": 1, "axis": -1}),
    ((3, 3, 3), (3,), {"broadcast": 1, "axis": 1}),  # lengths do not tell where it stands
    ((3, 3, 3), (3, 3), {"broadcast": 1, "axis": 0}),
    ((1, 3, 1), (1, 3), {"broadcast": 1, "axis": 0}),
    ((4, 5), (4,), {"broadcast": 1, "axis": 0}),
    ((4,), (4,), {}),
    ((), (), {}),
]
"""The examples of the schemas, and what else they allow."""


def aligned(a: Array, b: Array, attributes: Mapping[str, int]) -> Array:
    """The second tensor so that NumPy broadcasts it as the schema says."""
    if not attributes.get("broadcast") or b.size == 1:
        return b.reshape(()) if b.size == 1 and a.ndim != b.ndim else b
    start = attributes.get("axis", a.ndim - b.ndim) % a.ndim
    assert b.shape == a.shape[start : start + b.ndim]
    return b.reshape(b.shape + (1,) * (a.ndim - start - b.ndim))


def pair(op: str, one: tuple[int, ...], other: tuple[int, ...]) -> tuple[Array, Array]:
    random = np.random.default_rng(len(one) + 7 * len(other))
    if op == "Equal":
        return random.integers(0, 3, one).astype(np.int32), random.integers(0, 3, other).astype(np.int32)
    if op in LOGIC:
        return random.random(one) < 0.5, random.random(other) < 0.5
    a, b = (random.standard_normal(s).astype(np.float32) for s in (one, other))
    return (np.abs(a) if op == "Pow" else a), b


AT_AN_AXIS = [
    (op, *case)
    for op in (*ARITHMETIC, *LOGIC)
    for case in (FITTING if op in ("Add", "And") else FITTING[::4])
]
"""One operator of each kind at every axis, the others, which are defined by the same words, at a few."""


@pytest.mark.parametrize("op, one, other, attributes", AT_AN_AXIS, ids=str)
def test_a_second_tensor_stands_at_an_axis(
    op: str, one: tuple[int, ...], other: tuple[int, ...], attributes: dict[str, int]
) -> None:
    a, b = pair(op, one, other)
    a, b = np.asarray(a), np.asarray(b)
    beside = aligned(a, b, attributes)
    result = np.asarray((ARITHMETIC | LOGIC)[op](a, beside))
    assert held(op, 6, [a, b], attributes, [result]).since == 1
    old = model_of(op, 6, [a, b], attributes)
    cost_the_same(old, model_of(op, 7, [a, beside], {}))
    hint = {"consumed_inputs": [0, 0]} if op in IN_VERSION_6 else {}
    assert figures(model_of(op, 1, [a, b], attributes | hint)) == figures(old)


@pytest.mark.parametrize("op", IN_VERSION_6)
def test_integers_are_counted_and_cut_as_later(op: str) -> None:
    a, b = np.arange(-6, 6, dtype=np.int32).reshape(2, 3, 2), np.array([2, -3, 4], np.int32)
    beside = b.reshape(3, 1)
    result = np.trunc(a / beside).astype(np.int32) if op == "Div" else ARITHMETIC[op](a, beside)
    held(op, 6, [a, b], {"broadcast": 1, "axis": 1}, [result])
    assert "does not take int32" in refusal(op, 5, [a, b], {"broadcast": 1, "axis": 1})


NOT_FITTING: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, int], str]] = [
    ((2, 3, 4, 5), (5,), {}, "broadcast only with broadcast=1"),
    ((2, 3, 4, 5), (2,), {"axis": 0}, "broadcast only with broadcast=1"),
    ((2, 3, 4, 5), (), {}, "broadcast only with broadcast=1"),
    ((2, 3), (1, 3), {}, "lengths 1 and 2 differ"),
    ((1, 3), (2, 3), {}, "lengths 2 and 1 differ"),
    ((1, 3), (2, 3), {"broadcast": 1}, "lengths 2 and 1 differ"),  # the first is never stretched
    ((5,), (4, 5), {"broadcast": 1}, "more dimensions than the first"),
    ((2, 3, 4, 5), (3, 4), {"broadcast": 1}, "lengths 3 and 4 differ"),
    ((2, 3, 4, 5), (3, 1), {"broadcast": 1, "axis": 1}, "lengths 1 and 4 differ"),  # nor is a part of 1
    ((2, 3, 4, 5), (4, 5), {"broadcast": 1, "axis": 3}, "3 is none of 0, 1, 2"),
    ((2, 3, 4, 5), (5,), {"broadcast": 1, "axis": 4}, "4 is none of 0, 1, 2, 3"),
    ((2, 3, 4, 5), (5,), {"broadcast": 1, "axis": -5}, "is none of 0, 1, 2, 3"),
    ((2, 3, 4, 5), (0,), {"broadcast": 1}, "lengths 0 and 5 differ"),
]


@pytest.mark.parametrize("one, other, attributes, said", NOT_FITTING, ids=str)
@pytest.mark.parametrize("op", [*ARITHMETIC, *LOGIC])
def test_other_shapes_are_refused(
    op: str, one: tuple[int, ...], other: tuple[int, ...], attributes: dict[str, int], said: str
) -> None:
    a, b = pair(op, one, other)
    assert said in refusal(op, 6, [np.asarray(a), np.asarray(b)], attributes)


@pytest.mark.parametrize(
    "lengths, eops",
    [
        ((2, 3, 4, 2, 3), 24),
        ((2, 3, 4, 1, 1), 24),  # one element
        ((1, 3, 4, 1, 3), 12),
        ((2, 3, 4, 1, 3), None),
        ((1, 3, 4, 2, 3), None),  # the first is never stretched
        ((2, 3, 4, 2, 2), None),
    ],
    ids=str,
)
def test_lengths_that_are_open_are_held_to_the_same(lengths: tuple[int, ...], eops: int | None) -> None:
    told = {"broadcast": 1, "axis": 0}
    model = model_of("Add", 6, [floats(7, 8, 9), floats(10, 11)], told)
    names = iter("nchde")
    for value in model.graph.input:
        for dimension in value.type.tensor_type.shape.dim:
            dimension.dim_param = next(names)
    cost, point = tolcost.from_onnx(model), dict(zip("nchde", lengths, strict=True))
    if eops is None:
        with pytest.raises(tolcost.Rejected):
            cost(**point)
    else:
        assert cost(**point).eops == eops


# ---- several tensors, which are not broadcast before version 8 ---------------------------------


@pytest.mark.parametrize("op", ["Max", "Min", "Mean", "Sum"])
def test_several_tensors_have_one_shape(op: str) -> None:
    inputs = [floats(2, 3), 2 * floats(2, 3), -floats(2, 3)]
    how: dict[str, Callable[..., Any]] = {"Max": np.max, "Min": np.min, "Mean": np.mean, "Sum": np.sum}
    result = how[op](np.stack(inputs), axis=0)
    for opset in (1, 6, 7):
        held(op, opset, inputs, {}, [result])
        cost_the_same(model_of(op, opset, inputs, {}), model_of(op, 8, inputs, {}))
        assert "broadcast" in refusal(op, opset, [floats(2, 3), floats(3)], {})
    assert "lengths 1 and 2 differ" in refusal(op, 6, [floats(2, 3), floats(1, 3)], {})
    with_hint = model_of(op, 5, inputs, {"consumed_inputs": [0, 0, 0]})
    assert figures(with_hint) == figures(model_of(op, 6, inputs, {}))


# ---- a hint which inputs may be overwritten says nothing of a value ----------------------------

ONE_TENSOR = (
    "Abs Ceil Clip Elu Exp Floor HardSigmoid LeakyRelu Log Neg Reciprocal Relu Selu Sigmoid Sqrt Tanh"
)


@pytest.mark.parametrize("op", [*ONE_TENSOR.split(), "Tanh"])
def test_a_hint_says_nothing_of_a_value(op: str) -> None:
    x = np.abs(floats(2, 3)) if op in ("Log", "Sqrt") else floats(2, 3)
    factors = {"alpha": 1.5, "gamma": 1.25} if op == "Selu" else {}
    for opset in (1, 5):
        held(op, opset, [x], factors, by_reference(op, 6, [x], factors))
        hint = {"consumed_inputs": [0]}
        cost_the_same(model_of(op, opset, [x], factors | hint), model_of(op, 6, [x], factors))


def test_a_hint_says_nothing_of_normalisation() -> None:
    inputs = [floats(2, 3, 4), floats(3), floats(3)]
    held("InstanceNormalization", 1, inputs, {}, by_reference("InstanceNormalization", 6, inputs, {}))
    hint = {"consumed_inputs": [0, 0, 0], "epsilon": 0.5}
    old = model_of("InstanceNormalization", 5, inputs, hint)
    cost_the_same(old, model_of("InstanceNormalization", 6, inputs, {"epsilon": 0.5}))


def test_factors_that_are_not_given_had_fewer_digits() -> None:
    x = floats(3, 4)
    alpha, gamma = np.float32(1.6732), np.float32(1.0507)
    held("Selu", 1, [x], {}, [np.where(x > 0, gamma * x, gamma * (alpha * np.exp(x) - alpha))], rtol=1e-6)


# ---- products ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 4), (4,), (1,), (1, 4), (2, 1), (1, 1), ()], ids=str)
@pytest.mark.parametrize(
    "turned, scaled",
    [((0, 0), {}), ((1, 0), {}), ((0, 1), {}), ((1, 1), {"alpha": 0.5, "beta": 0.25})],
    ids=str,
)
def test_products_with_a_third_matrix(
    shape: tuple[int, ...], turned: tuple[int, int], scaled: dict[str, float]
) -> None:
    a, b, c = floats(2, 3), floats(3, 4), floats(*shape)
    given = [a.T.copy() if turned[0] else a, b.T.copy() if turned[1] else b, np.asarray(c)]
    attributes = {"transA": turned[0], "transB": turned[1], **scaled}
    result = scaled.get("alpha", 1) * (a @ b) + scaled.get("beta", 1) * c
    for opset in (1, 6):
        old = model_of("Gemm", opset, given, attributes | {"broadcast": 1})
        held("Gemm", opset, given, attributes | {"broadcast": 1}, [result.astype(np.float32)])
        cost_the_same(old, model_of("Gemm", 7, given, attributes))
        if shape == (2, 4):
            held("Gemm", opset, given, attributes, [result.astype(np.float32)])
            cost_the_same(model_of("Gemm", opset, given, attributes), old)
        else:
            said = "broadcast only" if len(shape) < 2 else "differ, but must agree"
            assert said in refusal("Gemm", opset, given, attributes)
    held("Gemm", 6, given, {**attributes, "broadcast": 1})  # as ONNX's reference implementation has it


def test_a_third_matrix_that_does_not_fit() -> None:
    a, b = floats(2, 3), floats(3, 4)
    told = {"broadcast": 1}
    assert "lengths 3 and 4 differ" in refusal("Gemm", 6, [a, b, floats(3)], told)
    assert "lengths 3 and 2 differ" in refusal("Gemm", 6, [a, floats(2, 4), floats(2, 4)], told)
    assert "needs its input" in refusal("Gemm", 6, [a, b], told)


# ---- normalisation and dropout, which test or train ----------------------------------------------


def normalised(inputs: Sequence[Array], test: bool, spatial: bool) -> list[Array]:
    """What normalisation by batches gives, as the schema of version 6 says, with its defaults."""
    x, scale, bias, mean, var = (a.astype(np.float64) for a in inputs)
    axes = (0, *range(2, x.ndim)) if spatial else (0,)

    def wide(p: Array) -> Array:
        return p.reshape((-1,) + (1,) * (x.ndim - 2)) if spatial else p.reshape(x.shape[1:])

    m, v = (mean, var) if test else (x.mean(axes).reshape(mean.shape), x.var(axes).reshape(var.shape))
    y = wide(scale) * (x - wide(m)) / np.sqrt(wide(v) + 1e-5) + wide(bias)
    running = [] if test else [old * 0.9 + new * 0.1 for old, new in ((mean, m), (var, v))]
    return [a.astype(np.float32) for a in (y, *running, *([] if test else [m, v]))]


@pytest.mark.parametrize("spatial", [1, 0])
@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5)], ids=str)
def test_normalisation_by_batches_tests_or_trains(shape: tuple[int, ...], spatial: int) -> None:
    op, each = "BatchNormalization", (3,) if spatial else (int(np.prod(shape[1:])),)
    inputs = [floats(*shape), *(k * np.abs(floats(*each)) for k in (1, 2, 3, 4))]
    test, train = normalised(inputs, True, bool(spatial)), normalised(inputs, False, bool(spatial))
    for opset, hint in ((1, {"consumed_inputs": [0, 0, 0, 1, 1]}), (6, {})):
        tested = {"spatial": spatial, "is_test": 1, **hint}
        held(op, opset, inputs, tested, test, rtol=1e-4)
        cost_the_same(model_of(op, opset, inputs, tested), model_of(op, 7, inputs, {"spatial": spatial}))
        trained = {"spatial": spatial, **hint}  # which is what it does unless it is told to test
        held(op, opset, inputs, trained, train, rtol=1e-4)
        held(op, opset, inputs, {**trained, "is_test": 0}, train[:1], rtol=1e-4)
        cost_the_same(
            model_of(op, opset, inputs, trained, 5), model_of(op, 7, inputs, {"spatial": spatial}, 5)
        )
        assert "a test gives no statistics" in refusal(op, opset, inputs, tested, 5)
    if spatial:
        held(op, 6, inputs, {"is_test": 1})  # as ONNX's reference implementation has it


@pytest.mark.parametrize("place", [1, 2, 3, 4])
def test_what_is_told_of_channels_is_told_of_each(place: int) -> None:
    for length in (1, 4):
        inputs = [floats(2, 3, 4), *(floats(length if n == place else 3) for n in (1, 2, 3, 4))]
        said = f"lengths {length} and 3 differ"
        assert said in refusal("BatchNormalization", 6, inputs, {"is_test": 1})
        assert said in refusal("BatchNormalization", 6, inputs, {}, 5)
        assert said in refusal("BatchNormalization", 7, inputs, {})


def test_dropout_tests_or_trains() -> None:
    x = np.abs(floats(20, 30)) + 1
    for opset, hint in ((1, {"consumed_inputs": [0]}), (6, {})):
        held("Dropout", opset, [x], {"is_test": 1, "ratio": 0.25, **hint}, [x, np.ones_like(x)])
        tested, trained = (model_of("Dropout", opset, [x], {"is_test": t, **hint}, 2) for t in (1, 0))
        cost_the_same(tested, model_of("Dropout", 7, [x], {}, 2))
        model = model_in(trained.SerializeToString(), "m", "m")
        found, eops = run_model(model, {"i0": x}, LIBRARY)
        kept = found["o1"] == 1
        assert found["o1"].dtype == np.float32
        assert 150 < kept.sum() < 450
        np.testing.assert_allclose(found["o0"], np.where(kept, x / 0.5, 0))
        assert eops == tolcost.from_onnx(trained).eops > 0


# ---- slopes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, slope, later",
    [
        ((2, 3, 4, 5), (3,), (3, 1, 1)),  # one for each channel
        ((2, 3, 3, 3), (3,), (3, 1, 1)),
        ((2, 3), (3,), (3,)),
        ((2, 3, 4), (1,), (1,)),
        ((2, 3, 4), (), ()),
        ((3,), (3,), (3,)),
        ((2, 3, 4), (2, 3, 4), (2, 3, 4)),
        ((2, 3, 4), (3, 1), (3, 1)),
    ],
    ids=str,
)
def test_slopes_are_those_of_channels(
    shape: tuple[int, ...], slope: tuple[int, ...], later: tuple[int, ...]
) -> None:
    x, s = floats(*shape), np.asarray(floats(*slope))
    for opset, hint in ((1, {"consumed_inputs": [0, 0]}), (6, {})):
        held("PRelu", opset, [x, s], hint, [np.where(x < 0, s.reshape(later) * x, x)])
        assert figures(model_of("PRelu", opset, [x, s], hint)) == figures(
            model_of("PRelu", 7, [x, s.reshape(later)], {})
        )
    assert "differ" in refusal("PRelu", 6, [floats(2, 3, 4), floats(4)], {})


# ---- types, parts and scales -----------------------------------------------------------------------

TYPES = {
    "FLOAT": np.float32,
    "DOUBLE": np.float64,
    "FLOAT16": np.float16,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "BOOL": np.bool_,
}


@pytest.mark.parametrize("name", TYPES)
def test_types_are_named(name: str) -> None:
    x = np.array([0, 1.5, 2.75, 100], np.float32)
    for opset in (1, 5):
        held("Cast", opset, [x], {"to": name}, [x.astype(TYPES[name])])
    code = helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[name]))
    cost_the_same(model_of("Cast", 5, [x], {"to": name}), model_of("Cast", 6, [x], {"to": code}))


def test_types_that_have_no_such_name() -> None:
    x = floats(2)
    assert '"float" is given for `to`' in refusal("Cast", 5, [x], {"to": "float"})
    assert '"STRING" is given for `to`' in refusal("Cast", 5, [x], {"to": "STRING"})
    assert "must be of type string" in refusal("Cast", 5, [x], {"to": 1})


def test_parts_of_lengths_that_are_given_in_two_ways() -> None:
    x = floats(4, 6)
    parts = [x[:, :2], x[:, 2:]]
    held("Split", 1, [x], {"axis": 1, "split": [2, 4]}, parts)
    held("Split", 1, [x, np.array([2, 4], np.float32)], {"axis": 1}, parts)
    held("Split", 1, [x], {"axis": 1}, [x[:, :3], x[:, 3:]])
    held("Split", 1, [x], {}, [x[:2], x[2:]])
    cost_the_same(model_of("Split", 1, [x], {"axis": 1}, 2), model_of("Split", 2, [x], {"axis": 1}, 2))
    assert "differ" in refusal("Split", 1, [x], {"axis": 1, "split": [2, 5]}, 2)


@pytest.mark.parametrize("mode", ["nearest", "bilinear"])
def test_images_have_two_scales(mode: str) -> None:
    x = floats(1, 2, 3, 4)
    scales = {"height_scale": 2.0, "width_scale": 1.5}
    old = model_of("Upsample", 6, [x], {"mode": mode, **scales})
    new = model_of("Upsample", 7, [x], {"mode": mode.removeprefix("bi"), "scales": [1.0, 1.0, 2.0, 1.5]})
    assert figures(old) == figures(new)
    (found, _), (later, _) = (run(model, {"i0": x}) for model in (old, new))
    np.testing.assert_array_equal(found["o0"], later["o0"])
    if mode == "nearest":
        held("Upsample", 1, [x], {"height_scale": 2.0, "width_scale": 3.0}, [x.repeat(2, 2).repeat(3, 3)])


# ---- recurrent layers --------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_layers_say_twice_that_steps_are_asked_for(op: str, seed: int) -> None:
    inputs, options = layer_case(op, seed)
    results = expected(op, inputs, options)
    for opset, sequence in ((3, {}), (6, {"output_sequence": 0}), (6, {"output_sequence": 1})):
        held(op, opset, inputs, options | sequence, results, rtol=1e-4)
        old = model_of(op, opset, inputs, options | sequence, len(results))
        cost_the_same(old, model_of(op, 7, inputs, options, len(results)))


@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_steps_that_nobody_asks_for_cost_nothing(op: str) -> None:
    inputs, options = layer_case(op, 2)
    old, new = (model_of(op, opset, inputs, options, 2) for opset in (6, 7))
    for model in (old, new):
        model.graph.node[0].output[0] = ""
        del model.graph.output[0]
    cost_the_same(old, new)


# ---- as ONNX's converter has it ------------------------------------------------------------------------


def run(model: ModelProto, inputs: dict[str, Array]) -> tuple[dict[str, Array], int]:
    return run_model(model_in(model.SerializeToString(), "m", "m"), inputs, LIBRARY)


def with_shapes(model: ModelProto, inputs: dict[str, Array]) -> ModelProto:
    """The same with the shape of all that it computes, which the converter asks for."""
    found = ModelProto()
    found.CopyFrom(model)

    def note(node: GraphNode, arrays: Sequence[Array]) -> None:
        for name, array in zip(node.outputs, arrays, strict=False):
            kept = found.graph.output[0] if name == "y" else found.graph.value_info.add()
            code = helper.np_dtype_to_tensor_dtype(array.dtype)
            kept.CopyFrom(helper.make_tensor_value_info(name, code, array.shape))

    run_model(model_in(model.SerializeToString(), "m", "m"), inputs, LIBRARY, note)
    return found


def model_with(
    nodes: Sequence[Any], shape: Sequence[int], weights: Mapping[str, Array], opset: int = 5
) -> ModelProto:
    """A model of nodes from ``x`` to ``y``."""
    given = [helper.make_tensor_value_info("x", 1, shape)]
    given += [helper.make_tensor_value_info(name, 1, array.shape) for name, array in weights.items()]
    held_ = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    gives = [helper.make_empty_tensor_value_info("y")]
    graph = helper.make_graph(nodes, "early", given, gives, held_)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3)


def image_classifier() -> ModelProto:
    """Convolutions, local response, pooling, dropout and dense layers: as many channels as images."""
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"], consumed_inputs=[0]),
        helper.make_node("LRN", ["b"], ["c"], size=3),
        helper.make_node("MaxPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Reshape", ["d", "flat"], ["e"]),
        helper.make_node("Gemm", ["e", "w2", "b2"], ["f"], broadcast=1, transB=1),
        helper.make_node("Relu", ["f"], ["g"], consumed_inputs=[0]),
        helper.make_node("Dropout", ["g"], ["h"], is_test=1, ratio=0.5, consumed_inputs=[0]),
        helper.make_node("Gemm", ["h", "w3", "b3"], ["i"], broadcast=1, transB=1),
        helper.make_node("Softmax", ["i"], ["y"]),
    ]
    weights = {"w1": floats(4, 3, 3, 3), "w2": floats(7, 64), "b2": floats(7), "w3": floats(5, 7)}
    model = model_with(nodes, (4, 3, 8, 8), weights | {"b3": floats(5)})
    model.graph.input.append(helper.make_tensor_value_info("flat", 7, [2]))
    model.graph.initializer.append(numpy_helper.from_array(np.array([4, -1]), "flat"))
    return model


def residual_block() -> ModelProto:
    """Convolutions normalised by batches, and what skips them."""
    names = ("s", "t", "m", "v")
    normal = {"is_test": 1, "epsilon": 1e-3, "consumed_inputs": [0, 0, 0, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["a", *names], ["b"], **normal),
        helper.make_node("Relu", ["b"], ["c"], consumed_inputs=[0]),
        helper.make_node("Conv", ["c", "w2"], ["d"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["d", *names], ["e"], **normal),
        helper.make_node("Sum", ["e", "x"], ["f"], consumed_inputs=[0, 0]),
        helper.make_node("Mul", ["f", "k"], ["g"], broadcast=1, consumed_inputs=[0, 0]),
        helper.make_node("Add", ["g", "u"], ["y"], broadcast=1, axis=0, consumed_inputs=[0, 0]),
    ]
    weights = {"w1": floats(3, 3, 3, 3), "w2": floats(3, 3, 3, 3), "k": floats(4, 5), "u": floats(2)}
    return model_with(nodes, (2, 3, 4, 5), weights | {name: np.abs(floats(3)) for name in names})


def dense_layers() -> ModelProto:
    """Whatever else the converter knows of, one after another."""
    nodes = [
        helper.make_node("Sub", ["x", "b"], ["a"], broadcast=1, consumed_inputs=[0, 0]),
        helper.make_node("Div", ["a", "b"], ["c"], broadcast=1, consumed_inputs=[0, 0]),
        helper.make_node("Abs", ["c"], ["d"], consumed_inputs=[0]),
        helper.make_node("Pow", ["d", "two"], ["e"], broadcast=1),
        helper.make_node("PRelu", ["e", "one"], ["f"], consumed_inputs=[0, 0]),
        helper.make_node("Clip", ["f"], ["g"], min=-0.5, max=9.0, consumed_inputs=[0]),
        helper.make_node("Concat", ["g", "x"], ["h"], axis=1),
        helper.make_node("Tanh", ["h"], ["y"], consumed_inputs=[0]),
    ]
    return model_with(
        nodes, (2, 3, 4), {"b": floats(3, 4), "two": np.array([2], np.float32), "one": floats(1)}
    )


@pytest.mark.parametrize("built", [image_classifier, residual_block, dense_layers])
def test_models_cost_what_they_are_converted_to(built: Callable[[], ModelProto]) -> None:
    old = built()
    (x,) = (value for value in old.graph.input if value.name == "x")
    given = {"x": floats(*(d.dim_value for d in x.type.tensor_type.shape.dim))}
    found, eops = run(old, given)
    cost = tolcost.from_onnx(old)
    assert (cost.status, cost.eops) == ("exact", eops), cost.to_text()
    told = with_shapes(old, given)
    for opset in (6, 7, 9, 15):
        new = version_converter.convert_version(told, opset)
        later = tolcost.from_onnx(new)
        assert later.status == "exact", later.to_text()
        assert (cost.eops, cost.macs, cost.histogram) == (later.eops, later.macs, later.histogram)
    (result,) = ReferenceEvaluator(new).run(None, given)  # before version 14 it always trains
    np.testing.assert_allclose(found["y"], result, rtol=1e-4, atol=1e-5)


def alexnet(opset: int) -> ModelProto:
    """AlexNet for any batch, as the first models were written; without values of its weights."""
    nodes, given = [], [helper.make_tensor_value_info("x", 1, ["n", 3, 227, 227])]
    early = opset < 7

    def weight(name: str, *shape: int) -> str:
        given.append(helper.make_tensor_value_info(name, 1, shape))
        return name

    def add(op: str, inputs: Sequence[str], output: str, **attributes: Any) -> None:
        nodes.append(helper.make_node(op, inputs, [output], **attributes))

    layers = [(3, 96, 11, 1, 4, 0), (96, 256, 5, 2, 1, 2), (256, 384, 3, 1, 1, 1), (384, 384, 3, 2, 1, 1)]
    at = "x"
    for n, (before, after, k, groups, stride, pad) in enumerate([*layers, (384, 256, 3, 2, 1, 1)], start=1):
        shape = (after, before // groups, k, k)
        inputs = [at, weight(f"w{n}", *shape), weight(f"b{n}", after)]
        sizes = {"kernel_shape": [k, k], "strides": [stride] * 2, "pads": [pad] * 4}
        add("Conv", inputs, f"c{n}", group=groups, **sizes)
        add("Relu", [f"c{n}"], at := f"r{n}", **({"consumed_inputs": [0]} if opset < 6 else {}))
        if n < 3:
            add("LRN", [at], at := f"l{n}", size=5)
        if n in (1, 2, 5):
            add("MaxPool", [at], at := f"p{n}", kernel_shape=[3, 3], strides=[2, 2])
    add("Flatten", [at], at := "flat")
    for n, (before, after) in enumerate([(9216, 4096), (4096, 4096), (4096, 1000)], start=6):
        inputs = [at, weight(f"w{n}", after, before), weight(f"b{n}", after)]
        add("Gemm", inputs, at := f"g{n}", transB=1, **({"broadcast": 1} if early else {}))
        if n < 8:
            add("Relu", [at], at := f"r{n}")
            add("Dropout", [at], at := f"d{n}", **({"is_test": 1} if early else {}))
    add("Softmax", [at], "y")
    graph = helper.make_graph(nodes, "alexnet", given, [helper.make_empty_tensor_value_info("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=3)


def test_a_model_of_images_costs_the_same_in_every_version() -> None:
    newest = figures(alexnet(12))
    assert str(newest[2]) == "724406816*n"  # as others count it
    for opset in range(1, 12):
        assert figures(alexnet(opset)) == newest
