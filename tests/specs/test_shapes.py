"""Operators that move data, where ONNX has no test of its own: old versions, rare options, sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.specs.holding import scalar, whole
from tolcost.algebra import to_text
from tolcost.catalogue.cases import Case, Item
from tolcost.catalogue.conformance import Result, check
from tolcost.catalogue.reading import node_of
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Source
from tolcost.elaborate import elaborate
from tolcost.syntax import parse

LIBRARY = open_library()
RANDOM = np.random.default_rng(5)

Array: TypeAlias = np.ndarray[Any, Any]
Attributes: TypeAlias = Mapping[str, Any]

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
S = (X[0], X[1], X[0] + 7)
TIES = RANDOM.integers(0, 4, (3, 5, 2)).astype(np.float32)
BYTES = RANDOM.integers(0, 3, (4, 3)).astype(np.uint8)
BOXES = RANDOM.random((2, 7, 4)).astype(np.float32)
SCORES = RANDOM.random((2, 3, 7)).astype(np.float32)
SPARSE = helper.make_sparse_tensor(
    helper.make_tensor("values", onnx.TensorProto.FLOAT, [2], [1.0, 2.0]),
    helper.make_tensor("places", onnx.TensorProto.INT64, [2], [1, 3]),
    [5],
)


def real(entry: float) -> Array:
    return np.array([entry], np.float32)


# ---- every version has a definition -----------------------------------------------------------

# the first Split has an input and an attribute of one name; no model from opset 2 on can mean it
# ---- cases of our own -------------------------------------------------------------------------


def node(op: str, inputs: Sequence[Item], attributes: Attributes, asked: int) -> onnx.NodeProto:
    names = ["" if item is None else f"i{n}" for n, item in enumerate(inputs)]
    return helper.make_node(op, names, [f"o{n}" for n in range(asked)], **attributes)


def by_reference(
    op: str, opset: int, inputs: Sequence[Item], attributes: Attributes, asked: int
) -> tuple[Item, ...]:
    """What ONNX's reference implementation gives."""
    given = {f"i{n}": item for n, item in enumerate(inputs) if isinstance(item, np.ndarray)}
    code = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        [node(op, inputs, attributes, asked)],
        "one",
        [helper.make_tensor_value_info(name, code(item.dtype), item.shape) for name, item in given.items()],
        [helper.make_empty_tensor_value_info(f"o{n}") for n in range(asked)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return tuple(np.asarray(array) for array in ReferenceEvaluator(model).run(None, given))


def held(
    op: str,
    opset: int,
    inputs: Sequence[Item],
    attributes: Attributes,
    expected: Sequence[Item] | int = 1,
) -> Result:
    """Hold a definition to the values given, or to so many of the reference implementation."""
    if isinstance(expected, int):
        expected = by_reference(op, opset, inputs, attributes, expected)
    proto = node(op, inputs, attributes, len(expected))
    case = Case(f"{op}-{opset}", node_of(proto), opset, tuple(inputs), tuple(expected), 1e-5, 1e-7)
    result = check(case, LIBRARY)
    assert result.status == "pass", result.detail or result.cause
    return result


OLD = [
    ("Squeeze", 9, [X.reshape(1, 2, 1, 12)], {"axes": [0]}, 1),
    ("Squeeze", 11, [X.reshape(1, 2, 1, 12)], {"axes": [-2]}, 1),
    ("Squeeze", 9, [X.reshape(1, 2, 1, 12)], {}, 1),
    ("Unsqueeze", 9, [X], {"axes": [0, 2]}, 1),
    ("Unsqueeze", 11, [X], {"axes": [-1]}, 1),
    ("Tile", 5, [X, scalar(2), scalar(1)], {}, [np.tile(X, (1, 2, 1))]),
    ("Concat", 3, [X, X], {}, [np.concatenate([X, X], 1)]),
    ("Concat", 3, [X, X], {"axis": 2}, [np.concatenate([X, X], 2)]),
    ("Reshape", 4, [X], {"shape": [6, -1]}, [X.reshape(6, 4)]),
    ("Reshape", 7, [X, whole(0, -1)], {}, 1),
    ("Split", 9, [X], {"axis": 2}, 2),
    ("Split", 9, [X], {"axis": 2, "split": [1, 3]}, 2),
    ("Split", 11, [X], {"axis": -2}, 3),
    ("Slice", 9, [X], {"axes": [0, 2], "starts": [0, 1], "ends": [1, -1]}, 1),
    ("Slice", 9, [X], {"starts": [0, 1], "ends": [1000, 1000]}, 1),
    ("Pad", 2, [X], {"pads": [0, 1, 2, 0, 0, 3], "value": 1.5},
     [np.pad(X, [(0, 0), (1, 0), (2, 3)], constant_values=1.5)]),
    ("Pad", 10, [X], {"pads": [0, 1, 2, 0, 0, 3], "mode": "reflect"},
     [np.pad(X, [(0, 0), (1, 0), (2, 3)], "reflect")]),
    ("Pad", 10, [X], {"pads": [0, 1, 2, 0, 0, 3], "mode": "edge"},
     [np.pad(X, [(0, 0), (1, 0), (2, 3)], "edge")]),
    ("Pad", 1, [X], {"paddings": [0, 1, 2, 0, 0, 3]}, [np.pad(X, [(0, 0), (1, 0), (2, 3)])]),
    ("Shape", 7, [X], {}, 1),
    ("GatherND", 11, [X, whole(1, -2).reshape(2, 1)], {}, [X[[1, 0]]]),
    ("DepthToSpace", 7, [X.reshape(1, 4, 2, 3)], {"blocksize": 2}, 1),
    ("Scatter", 9, [X[0], whole(0, 2).reshape(1, 2), -X[0, :1, :2]], {"axis": 1},
     [np.array([[0, 1, -1, 3], *X[0, 1:]], np.float32)]),
]  # fmt: skip

OPTIONS = [
    ("Squeeze", 13, [X.reshape(1, 2, 1, 12)], {}, 1),
    ("Slice", 13, [X, whole(-1), whole(-100), whole(2), whole(-1)], {}, 1),
    ("Slice", 13, [X, whole(-1), whole(-(2**63)), whole(1), whole(-2)], {}, 1),
    ("Slice", 13, [X, whole(5), whole(0), whole(1), whole(-1)], {}, 1),
    ("Slice", 13, [X, whole(0), whole(-100), whole(1)], {}, 1),
    ("Slice", 13, [X, whole(1), whole(2**63 - 1), whole(2), whole(2)], {}, 1),
    ("Slice", 13, [X, whole(-10), whole(2), whole(1)], {}, 1),
    ("Pad", 13, [X, whole(0, -1, 2, 0, 0, -1)], {}, [np.pad(X[:, 1:, :-1], [(0, 0), (0, 0), (2, 0)])]),
    ("Pad", 13, [X, whole(0, 0, 5, 0, 0, 6)], {"mode": "reflect"}, 1),
    ("Pad", 19, [X, whole(0, 0, 5, 0, 0, 6)], {"mode": "wrap"}, 1),
    ("Pad", 19, [X.astype(bool), whole(0, 0, 5, 0, 0, 6)], {}, 1),
    ("CenterCropPad", 18, [X, whole(5, 2, 7)], {}, 1),
    ("CenterCropPad", 18, [X, whole(3)], {"axes": [-1]}, 1),
    ("Expand", 13, [np.array(3, np.float32), whole(2, 2)], {}, 1),
    ("Expand", 13, [X, whole(1)], {}, 1),
    ("Flatten", 13, [np.array(3, np.float32)], {"axis": 0}, 1),
    ("Flatten", 13, [X], {"axis": 3}, 1),
    ("Transpose", 13, [np.array(3, np.float32)], {}, 1),
    ("Gather", 13, [X, scalar(-1)], {"axis": -1}, 1),
    ("ConstantOfShape", 9, [whole(2, 3)], {}, 1),
    ("ConstantOfShape", 9, [whole()], {}, 1),
    ("Constant", 13, [], {"value_float": 1.5}, 1),
    ("Constant", 13, [], {"value_floats": [1.5, 2.0]}, 1),
    ("Constant", 13, [], {"value_int": 3}, 1),
    ("Constant", 13, [], {"value_ints": [3, 4]}, 1),
    ("Constant", 13, [], {"value_strings": ["ab", "c"]}, [np.array(["ab", "c"], np.object_)]),
    ("Constant", 13, [], {"value": numpy_helper.from_array(np.zeros((2, 0), np.int8))}, 1),
    ("Constant", 13, [], {"sparse_value": SPARSE}, [np.array([0, 1, 0, 2, 0], np.float32)]),
    ("TensorScatter", 24, [X, -X[:, :2]], {}, [np.concatenate([-X[:, :2], X[:, 2:]], 1)]),
    ("CumSum", 14, [X.astype(np.int64), scalar(1)], {"exclusive": 1, "reverse": 1}, 1),
    ("Range", 11, [np.array(0.5), np.array(3.0), np.array(0.7)], {}, 1),
    ("Range", 11, [scalar(3), scalar(3), scalar(1)], {}, 1),
]

SEQUENCES = [
    ("SequenceConstruct", [*S], {}, S),
    ("SequenceEmpty", [], {}, ()),
    ("SequenceAt", [S, scalar(-1)], {}, S[2]),
    ("SequenceAt", [S, scalar(1)], {}, S[1]),
    ("SequenceErase", [S], {}, S[:2]),
    ("SequenceErase", [S, scalar(-3)], {}, S[1:]),
    ("SequenceErase", [S[:1]], {}, ()),
    ("SequenceInsert", [S, X[1], scalar(-1)], {}, (S[0], S[1], X[1], S[2])),
    ("SequenceInsert", [(), X[1]], {}, (X[1],)),
    ("SequenceLength", [S], {}, scalar(3)),
    ("SequenceLength", [()], {}, scalar(0)),
    ("SplitToSequence", [np.arange(9), scalar(4)], {}, tuple(np.split(np.arange(9), [4, 8]))),
    ("SplitToSequence", [X, whole(1, 3)], {"axis": 2, "keepdims": 0}, tuple(np.split(X, [1], 2))),
    ("SplitToSequence", [X], {"axis": 1}, tuple(np.split(X, 3, 1))),
    ("ConcatFromSequence", [S], {"axis": 1}, np.concatenate(S, 1)),
    ("ConcatFromSequence", [S], {"axis": -1, "new_axis": 1}, np.stack(S, -1)),
    ("Optional", [X], {}, X),
    ("Optional", [S], {}, S),
    ("Optional", [], {"type": helper.make_tensor_type_proto(1, None)}, None),
    ("OptionalGetElement", [X], {}, X),
    ("OptionalHasElement", [X], {}, np.array(True)),
]


@pytest.mark.parametrize("op, opset, inputs, attributes, expected", OLD)
def test_old_versions(
    op: str, opset: int, inputs: list[Item], attributes: Attributes, expected: list[Item] | int
) -> None:
    result = held(op, opset, inputs, attributes, expected)
    assert (result.eops, result.concrete) == ("0", ())


@pytest.mark.parametrize("op, opset, inputs, attributes, expected", OPTIONS)
def test_rare_options(
    op: str, opset: int, inputs: list[Item], attributes: Attributes, expected: list[Item] | int
) -> None:
    assert held(op, opset, inputs, attributes, expected).concrete == ()


@pytest.mark.parametrize("op, inputs, attributes, expected", SEQUENCES)
def test_sequences_and_optionals_are_structure(
    op: str, inputs: list[Item], attributes: Attributes, expected: Item
) -> None:
    assert held(op, 15 if op.startswith("Opt") else 11, inputs, attributes, [expected]).eops == "0"


# ---- work that depends on data ----------------------------------------------------------------


@pytest.mark.parametrize(
    "opset, array, k, attributes, form",
    [
        (9, TIES, 3, {"axis": 1}, "6*X_1*X_2*X_3"),
        (10, TIES, 5, {"axis": 1}, "10*X_1*X_2*X_3"),
        (11, TIES, 2, {"axis": 0, "largest": 0}, "4*X_1*X_2*X_3"),
        (11, np.array([-np.inf, 1, -np.inf], np.float32), 3, {}, "6*X_1"),
        (11, np.zeros(3, np.uint8), 2, {}, "4*X_1"),
        (11, np.full(3, 255, np.uint8), 2, {"largest": 0}, "4*X_1"),
    ],
)
def test_top_k_keeps_the_first_of_equals(
    opset: int, array: Array, k: int, attributes: Attributes, form: str
) -> None:
    if opset < 10:
        result = held("TopK", opset, [array], {**attributes, "k": k}, 2)
    else:
        result = held("TopK", opset, [array, whole(k)], attributes, 2)
    assert result.eops == form


@pytest.mark.parametrize(
    "array, attributes, asked, form",
    [
        (BYTES.reshape(-1), {}, 1, "X_1**2 + 2*z1**2"),
        (BYTES.reshape(-1), {}, 4, "X_1**2 + 2*z1**2 + X_1"),
        (BYTES.reshape(-1), {"sorted": 0}, 4, "X_1**2 + X_1"),
        (BYTES, {}, 4, None),
        (BYTES, {"axis": 0}, 4, None),
        (BYTES, {"axis": -1}, 1, None),
    ],
)
def test_unique(array: Array, attributes: Attributes, asked: int, form: str | None) -> None:
    result = held("Unique", 11, [array], attributes, asked)
    assert form is None or result.eops == form


def test_without_a_limit_every_box_may_be_taken() -> None:
    most = [BOXES, SCORES, whole(7), real(0.3), real(0.2)]
    expected = by_reference("NonMaxSuppression", 11, most, {}, 1)
    unlimited = [BOXES, SCORES, scalar(2**63 - 1), real(0.3), real(0.2)]
    result = held("NonMaxSuppression", 11, unlimited, {}, expected)
    assert result.eops == "boxes_1*boxes_2*(16*boxes_2*scores_2 + 3*scores_2 + 7)"


@pytest.mark.parametrize("centered", [0, 1])
def test_boxes_in_both_formats(centered: int) -> None:
    inputs = [BOXES, SCORES, whole(3), real(0.3), real(0.2)]
    held("NonMaxSuppression", 10, inputs, {"center_point_box": centered})


def test_no_boxes_are_asked_for() -> None:
    held("NonMaxSuppression", 11, [BOXES, SCORES], {}, [np.zeros((0, 3), np.int64)])


# ---- shapes are ordinary values ---------------------------------------------------------------


@pytest.mark.parametrize(
    "expression, shape",
    [
        (
            "Reshape(x, Concat(Slice(Shape(x), [1], [9]), Unsqueeze(Gather(Shape(x), 0), [0]), axis: 0))",
            "m, n",
        ),
        ("Range(0, n, 2)", "floor((n + 1)/2)"),
        ("Expand(x, Where([true, false], [n, 1], [3, m]))", "n, m"),
        ("Tile(x, [2, n])", "2*n, m*n"),
        ("Squeeze(Unsqueeze(x, [0, -1]))", "n, m"),
        ("Pad(x, [0, 1, 0, n])", "n, m + n + 1"),
        ("Slice(x, [1], [2147483647], [1], [2])", "n, floor(m/2)"),
        ("Slice(x, [-1], [-9223372036854775807], [1], [-1])", "n, m"),
        ("Compress(x, x[1] > 0, axis: 1)", "n, z1"),
        ("NonZero(Expand(1, [n]))", "1, n"),
    ],
)
def test_shapes_stay_symbolic(expression: str, shape: str) -> None:
    program = parse(Source("shapes", f"tol x: R [n, m]\ny := {expression}\n"))
    lowered = elaborate(program, operators=LIBRARY.operators()).program
    assert ", ".join(map(to_text, lowered.outputs[0].node.type[0].shape)) == shape
