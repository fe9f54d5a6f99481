"""The operators of ai.onnx.ml, and the optimisers: ONNX has few tests of these."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.specs.holding import LIBRARY, Array, Attributes
from tolcost.catalogue.cases import Case
from tolcost.catalogue.conformance import Result, check
from tolcost.catalogue.reading import node_of

ML = "ai.onnx.ml"
DOMAINS = (ML, "ai.onnx.preview", "ai.onnx.preview.training")


def test_what_has_to_do_with_maps_is_outside() -> None:
    assert set(LIBRARY.outside(ML)) == {"CastMap", "DictVectorizer"}
    assert set(LIBRARY.outside("ai.onnx.preview.training")) == {"Gradient"}


# ---- cases of our own -------------------------------------------------------------------------


def type_of(array: Array) -> int:
    return TensorProto.STRING if array.dtype.kind == "O" else helper.np_dtype_to_tensor_dtype(array.dtype)


def model_of(
    op: str, inputs: Sequence[Array], options: Attributes, asked: int, version: int
) -> onnx.ModelProto:
    names = [f"i{n}" for n in range(len(inputs))]
    results = [f"o{n}" for n in range(asked)]
    node = helper.make_node(op, names, results, domain=ML, **options)
    given = [
        helper.make_tensor_value_info(name, type_of(array), array.shape)
        for name, array in zip(names, inputs, strict=True)
    ]
    graph = helper.make_graph([node], "one", given, [helper.make_empty_tensor_value_info(r) for r in results])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(ML, version)])


def held(
    op: str, inputs: Sequence[Array], options: Attributes, expected: Sequence[Any] | int = 1, version: int = 3
) -> Result:
    """Hold a definition to the values given, or to so many of ONNX's reference implementation."""
    asked = expected if isinstance(expected, int) else len(expected)
    model = model_of(op, inputs, options, asked, version)
    if isinstance(expected, int):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            given = {f"i{n}": array for n, array in enumerate(inputs)}
            expected = list(ReferenceEvaluator(model).run(None, given))
    outputs = tuple(np.asarray(array) for array in expected)
    case = Case(op, node_of(model.graph.node[0]), version, tuple(inputs), outputs, 1e-4, 1e-5)
    result = check(case, LIBRARY, atoms=1000)  # onnx has no test of most: they are unrolled here
    assert result.status == "pass", result.detail or result.cause
    assert result.concrete == ()
    return result


RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((5, 3)).astype(np.float32)
PATCHY = np.where(RANDOM.random((5, 3)) < 0.4, np.nan, X).astype(np.float32)
WORDS = np.array(["a", "d", "c"], object)
NUMBERS = np.array([[1, 3], [7, 2]])


def some(count: int) -> list[float]:
    return [float(v) for v in RANDOM.standard_normal(count).round(2)]


# ---- features ---------------------------------------------------------------------------------

LINE = {"coefficients": some(9), "intercepts": some(3)}
FEATURES = [
    ("Binarizer", [X], {"threshold": 0.3}, "X_1*X_2"),
    ("ArrayFeatureExtractor", [X[0], np.array([2, 0])], {}, "0"),
    ("Scaler", [X], {"offset": some(3), "scale": some(3)}, "2*X_1*X_2"),
    ("Scaler", [X], {"offset": [0.5], "scale": [2.0]}, "2*X_1*X_2"),
    ("Imputer", [PATCHY], {"imputed_value_floats": some(3), "replaced_value_float": np.nan}, "2*X_1*X_2"),
    ("Imputer", [NUMBERS], {"imputed_value_int64s": [9], "replaced_value_int64": 3}, "2*X_1*X_2"),
    ("Normalizer", [np.abs(X)], {"norm": "MAX"}, "2*X_1*(X_2 + 1)"),
    ("Normalizer", [X * (X[:, :1] > 0)], {"norm": "L1"}, "X_1*(3*X_2 + 2)"),
    ("Normalizer", [X], {"norm": "L2"}, "3*X_1*(X_2 + 1)"),
    ("OneHotEncoder", [NUMBERS], {"cats_int64s": [1, 2, 3], "zeros": 1}, "3*X_1*X_2"),
    ("OneHotEncoder", [WORDS], {"cats_strings": ["a", "c"], "zeros": 1}, "2*X_1"),
    ("FeatureVectorizer", [X, X[:, :2]], {"inputdimensions": [2, 4]}, "0"),
    ("LinearRegressor", [X], {**LINE, "targets": 3}, "18*X_1"),
]


@pytest.mark.parametrize("op, inputs, options, form", FEATURES)
def test_features(op: str, inputs: list[Array], options: Attributes, form: str) -> None:
    assert held(op, inputs, options).eops == form


@pytest.mark.parametrize(
    "labels", [{"classlabels_int64s": [4, 2, 7]}, {"classlabels_strings": ["b", "a", "c"]}]
)
def test_maps_of_rows_are_the_table_of_their_values(labels: Attributes) -> None:
    """What onnxruntime gives: ``[dict(zip(labels, row)) for row in X]``; ONNX's reference has no ZipMap."""
    assert held("ZipMap", [X], labels, [X], 1).eops == "0"


@pytest.mark.parametrize(
    "version, x, options, row",
    [
        (1, WORDS, {"classes_strings": ["c", "b", "a"]}, [2, -1, 0]),
        (1, NUMBERS[0], {"classes_strings": ["c", "b"]}, ["b", "_Unused"]),
        (2, WORDS, {"keys_strings": ["a", "c"], "values_int64s": [5, 6]}, [5, -1, 6]),
        (2, NUMBERS[0], {"keys_int64s": [3, 3], "values_strings": ["x", "y"]}, ["_Unused", "y"]),
        (4, PATCHY[:1, :1] * np.nan, {"keys_floats": [1.0, np.nan], "values_int64s": [1, 2]}, [[2]]),
    ],
)
def test_labels(version: int, x: Array, options: Attributes, row: list[Any]) -> None:
    kind: Any = np.object_ if isinstance(row[0], str) else np.int64
    held("LabelEncoder", [x], options, [np.array(row, kind)], version)


def test_categories_both_ways() -> None:
    table = {"cats_strings": ["c", "a"], "cats_int64s": [1, 7]}
    held("CategoryMapper", [WORDS], table, [np.array([7, -1, 1])], 1)
    held("CategoryMapper", [NUMBERS[1]], table, [np.array(["a", "_Unused"], np.object_)], 1)


# ---- classifiers ------------------------------------------------------------------------------


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"])
@pytest.mark.parametrize(
    "labels", [{"classlabels_ints": [4, 5, 6]}, {"classlabels_strings": ["a", "b", "c"]}]
)
def test_linear_classifiers(labels: Attributes, transform: str) -> None:
    held("LinearClassifier", [X], {**LINE, **labels, "post_transform": transform}, 2)
    one = {"coefficients": some(3), "intercepts": some(1), "classlabels_ints": [4, 5]}
    held("LinearClassifier", [X], {**one, "post_transform": transform}, 2)


def test_the_inverse_of_the_normal_distribution() -> None:
    options = {
        "coefficients": [0.1, 0.2, 0.1] * 3,
        "intercepts": [0.2, 0.6, 0.1],  # away from one half, where single precision leaves few digits
        "classlabels_ints": [4, 5, 6],
    }
    held("LinearClassifier", [np.abs(X) / 4], {**options, "post_transform": "PROBIT"}, 2)


MACHINE = {"kernel_params": [0.4, 0.3, 3.0], "support_vectors": some(15), "rho": some(3)}
KERNELS = [
    ("LINEAR", "10*X_1*(X_2 + 1)"),
    ("POLY", "5*X_1*(2*X_2 + 5)"),
    ("SIGMOID", "5*X_1*(2*X_2 + 5)"),
    ("RBF", "5*X_1*(3*X_2 + 4)"),
]


@pytest.mark.parametrize("kernel, form", KERNELS)
def test_support_vector_machines(kernel: str, form: str) -> None:
    machine = {**MACHINE, "kernel_type": kernel}
    single = {**machine, "coefficients": some(5), "n_supports": 5, "rho": [0.2]}
    assert held("SVMRegressor", [X], single).eops == form
    held("SVMRegressor", [X], {**single, "one_class": 1})
    three = {"coefficients": some(10), "vectors_per_class": [2, 1, 2], "classlabels_ints": [7, 8, 9]}
    held("SVMClassifier", [X], {**machine, **three}, 2)
    two = {"coefficients": some(5), "vectors_per_class": [3, 2], "classlabels_ints": [7, 8], "rho": [0.1]}
    held("SVMClassifier", [X], {**machine, **two}, 2)
    held("SVMClassifier", [X], {**machine, **two, "prob_a": [-0.8], "prob_b": [0.2]}, 2)


def test_without_support_vectors_a_machine_is_linear() -> None:
    assert held("SVMRegressor", [X], {"coefficients": some(3), "rho": [0.2]}).eops == "2*X_1*X_2"
    held("SVMClassifier", [X], {"coefficients": some(6), "rho": [0.2], "classlabels_ints": [7, 8]}, 2)


# ---- trees ------------------------------------------------------------------------------------


def forest(trees: int, depth: int, votes: str, classes: Sequence[int]) -> dict[str, list[Any]]:
    """Random trees of some depth; their leaves vote for the classes, or for the first only."""
    nodes: dict[str, list[Any]] = {
        f"nodes_{key}": []
        for key in ["treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids"]
    }
    cast: dict[str, list[Any]] = {f"{votes}_{key}": [] for key in ("treeids", "nodeids", "ids", "weights")}

    def grow(tree: int, left: int, number: int) -> int:
        place = len(nodes["nodes_modes"])
        leaf = left == 0 or (left < depth and RANDOM.random() < 0.2)
        row = [tree, number, int(RANDOM.integers(3)), some(1)[0], "LEAF" if leaf else "BRANCH_LEQ", 0, 0]
        for column, value in zip(nodes.values(), row, strict=True):
            column.append(value)
        if leaf:
            for c in classes if votes == "class" else [int(RANDOM.choice(classes))]:
                for column, value in zip(cast.values(), [tree, number, c, some(1)[0]], strict=True):
                    column.append(value)
            return number + 1
        nodes["nodes_truenodeids"][place] = number + 1
        nodes["nodes_falsenodeids"][place] = middle = grow(tree, left - 1, number + 1)
        return grow(tree, left - 1, middle)

    for tree in range(trees):
        grow(tree, depth, 0)
    return nodes | cast


@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("targets", [1, 2])
def test_regression_trees(how: str, targets: int) -> None:
    trees = forest(3, 3, "target", range(targets))
    result = held("TreeEnsembleRegressor", [X], {**trees, "n_targets": targets, "aggregate_function": how})
    assert result.eops == ("21*X_1" if how != "AVERAGE" else f"{21 + targets}*X_1")


def test_modes_and_missing_values() -> None:
    trees = forest(2, 3, "target", [0])
    modes = ["BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_LEQ"]
    trees["nodes_modes"] = [m if m == "LEAF" else str(RANDOM.choice(modes)) for m in trees["nodes_modes"]]
    held("TreeEnsembleRegressor", [X], {**trees, "n_targets": 1})
    tracks = [int(v) for v in RANDOM.integers(0, 2, len(trees["nodes_modes"]))]
    held(
        "TreeEnsembleRegressor",
        [PATCHY],
        {**trees, "n_targets": 1, "nodes_missing_value_tracks_true": tracks},
    )


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC"])
def test_classification_trees(transform: str) -> None:
    many = {**forest(3, 2, "class", range(3)), "classlabels_strings": ["a", "b", "c"]}
    held("TreeEnsembleClassifier", [X], {**many, "post_transform": transform, "base_values": some(3)}, 2)
    single = {**forest(3, 2, "class", [0]), "classlabels_int64s": [4, 5]}
    held("TreeEnsembleClassifier", [X], {**single, "post_transform": transform}, 2)


@pytest.mark.parametrize("how", [0, 1, 2, 3])
def test_trees_with_leaves_of_their_own(how: int) -> None:
    options = {
        "tree_roots": [0, 2],
        "nodes_featureids": [0, 1, 2],
        "nodes_modes": numpy_helper.from_array(np.array([0, 3, 1], np.uint8)),
        "nodes_splits": numpy_helper.from_array(np.array([0.1, -0.2, 0.3], np.float32)),
        "nodes_trueleafs": [0, 1, 1],
        "nodes_truenodeids": [1, 0, 3],
        "nodes_falseleafs": [1, 1, 1],
        "nodes_falsenodeids": [2, 1, 4],
        "leaf_targetids": [0, 1, 0, 1, 1],
        "leaf_weights": numpy_helper.from_array(np.array(some(5), np.float32)),
    }
    held("TreeEnsemble", [X], {**options, "n_targets": 2, "aggregate_function": how}, 1, 5)
