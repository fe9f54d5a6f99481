"""Pipelines of scikit-learn, XGBoost and LightGBM as converters write them, with an open number of rows.

    python tools/benchmarks/export_pipelines.py FOLDER [NAME...]

Each is fitted to a small table.  A file that is there already is kept.  Needs scikit-learn, skl2onnx,
xgboost, lightgbm and onnxmltools, which tolcost does not.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import skl2onnx
import xgboost
from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm
from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from skl2onnx.common.shape_calculator import (
    calculate_linear_classifier_output_shapes,
    calculate_linear_regressor_output_shapes,
)
from sklearn import (
    cluster,
    compose,
    cross_decomposition,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_extraction,
    feature_selection,
    gaussian_process,
    impute,
    linear_model,
    mixture,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)

ROWS, FEATURES = 60, 6
RANDOM = np.random.default_rng(7)
NUMBERS = RANDOM.normal(size=(ROWS, FEATURES)).astype(np.float32)
COUNTS = RANDOM.integers(0, 5, (ROWS, FEATURES)).astype(np.float32)
CLASSES = np.arange(ROWS) % 3
NAMES = np.array(["low", "middle", "high"])[CLASSES]
TARGETS = NUMBERS @ np.arange(1, FEATURES + 1)
COLOURS = np.array(["red", "green", "blue"])[RANDOM.integers(0, 3, ROWS)].reshape(-1, 1)
TEXTS = np.array(["a red bird", "the green tree", "a blue bird in a tree"])[CLASSES].reshape(-1, 1)

FLOATS = [("x", FloatTensorType([None, FEATURES]))]


def then(*steps: Any) -> Any:
    return pipeline.make_pipeline(*steps)


def columns() -> Any:
    """Numbers and words in one table."""
    numbers = then(impute.SimpleImputer(), preprocessing.StandardScaler())
    words = preprocessing.OneHotEncoder(handle_unknown="ignore")
    parts = compose.ColumnTransformer([("n", numbers, [0, 1]), ("w", words, [2])])
    return then(parts, linear_model.LogisticRegression())


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: then(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
    "sgd": lambda: then(preprocessing.MinMaxScaler(), linear_model.SGDClassifier(loss="log_loss")),
    "svc": lambda: then(preprocessing.RobustScaler(), svm.SVC(probability=True)),
    "linear_perceptron": lambda: then(preprocessing.Normalizer(), linear_model.Perceptron()),
    "tree": lambda: tree.DecisionTreeClassifier(max_depth=4),
    "forest": lambda: ensemble.RandomForestClassifier(n_estimators=8, max_depth=4),
    "extra_trees": lambda: ensemble.ExtraTreesClassifier(n_estimators=8, max_depth=4),
    "boosting": lambda: ensemble.GradientBoostingClassifier(n_estimators=8),
    "ada": lambda: ensemble.AdaBoostClassifier(n_estimators=4),
    "bagging": lambda: ensemble.BaggingClassifier(tree.DecisionTreeClassifier(max_depth=3), n_estimators=4),
    "voting": lambda: ensemble.VotingClassifier(
        [("l", linear_model.LogisticRegression()), ("t", tree.DecisionTreeClassifier(max_depth=3))],
        voting="soft",
        flatten_transform=False,
    ),
    "stacking": lambda: ensemble.StackingClassifier(
        [("l", linear_model.LogisticRegression()), ("t", tree.DecisionTreeClassifier(max_depth=3))]
    ),
    "neighbours": lambda: then(decomposition.PCA(3), neighbors.KNeighborsClassifier(3)),
    "gaussian_bayes": naive_bayes.GaussianNB,
    "perceptron": lambda: neural_network.MLPClassifier(hidden_layer_sizes=(16, 8), max_iter=50),
    "discriminant": discriminant_analysis.LinearDiscriminantAnalysis,
    "quadratic": discriminant_analysis.QuadraticDiscriminantAnalysis,
    "polynomial": lambda: then(
        preprocessing.PolynomialFeatures(2), linear_model.LogisticRegression(max_iter=500)
    ),
    "selected": lambda: then(feature_selection.SelectKBest(k=3), linear_model.LogisticRegression()),
    "binned": lambda: then(
        preprocessing.KBinsDiscretizer(4, encode="ordinal"), linear_model.LogisticRegression()
    ),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=8, max_depth=3),
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=8, min_child_samples=4, verbose=-1),
    "scaled_xgboost": lambda: then(preprocessing.StandardScaler(), xgboost.XGBClassifier(n_estimators=4)),
    "scaled_lightgbm": lambda: then(
        decomposition.PCA(4), lightgbm.LGBMClassifier(n_estimators=4, min_child_samples=4, verbose=-1)
    ),
}

REGRESSORS: dict[str, Callable[[], Any]] = {
    "linear_regressor": linear_model.LinearRegression,
    "ridge": lambda: then(preprocessing.StandardScaler(), linear_model.Ridge()),
    "svr": svm.SVR,
    "forest_regressor": lambda: ensemble.RandomForestRegressor(n_estimators=8, max_depth=4),
    "gaussian_process": lambda: gaussian_process.GaussianProcessRegressor(gaussian_process.kernels.RBF()),
    "partial_least_squares": lambda: cross_decomposition.PLSRegression(2),
    "perceptron_regressor": lambda: neural_network.MLPRegressor(hidden_layer_sizes=(16,), max_iter=50),
    "neighbours_regressor": lambda: neighbors.KNeighborsRegressor(3),
    "xgboost_regressor": lambda: xgboost.XGBRegressor(n_estimators=8, max_depth=3),
    "lightgbm_regressor": lambda: lightgbm.LGBMRegressor(n_estimators=8, min_child_samples=4, verbose=-1),
}

TRANSFORMERS: dict[str, Callable[[], Any]] = {
    "clusters": lambda: then(preprocessing.StandardScaler(), cluster.KMeans(4)),
    "mixture": lambda: mixture.GaussianMixture(3),
    "kernel_components": lambda: decomposition.KernelPCA(3, kernel="rbf"),
    "imputed": lambda: then(impute.KNNImputer(n_neighbors=2), preprocessing.MaxAbsScaler()),
    "powers": lambda: then(preprocessing.PowerTransformer(), decomposition.TruncatedSVD(2)),
    "forest_isolation": lambda: ensemble.IsolationForest(n_estimators=4),
}


def register() -> None:
    """Tell skl2onnx what converts the trees of other libraries."""
    plain = {"nocl": [True, False], "zipmap": [True, False, "columns"]}
    for kind, classes, convert in (
        (xgboost.XGBClassifier, True, convert_xgboost),
        (xgboost.XGBRegressor, False, convert_xgboost),
        (lightgbm.LGBMClassifier, True, convert_lightgbm),
        (lightgbm.LGBMRegressor, False, convert_lightgbm),
    ):
        shapes = (
            calculate_linear_classifier_output_shapes if classes else calculate_linear_regressor_output_shapes
        )
        skl2onnx.update_registered_converter(
            kind, kind.__name__, shapes, convert, options=plain if classes else None
        )


def fitted() -> dict[str, Callable[[], tuple[Any, list[Any]]]]:
    """All pipelines by name: each fitted, with the types of its inputs."""
    numbers: dict[str, Callable[[], tuple[Any, list[Any]]]] = {
        **{
            name: lambda make=make: (make().fit(NUMBERS, CLASSES), FLOATS)
            for name, make in CLASSIFIERS.items()
        },
        **{
            name: lambda make=make: (make().fit(NUMBERS, TARGETS), FLOATS)
            for name, make in REGRESSORS.items()
        },
        **{name: lambda make=make: (make().fit(NUMBERS), FLOATS) for name, make in TRANSFORMERS.items()},
    }
    counts = {
        "multinomial_bayes": naive_bayes.MultinomialNB,
        "complement_bayes": naive_bayes.ComplementNB,
        "ordinal": lambda: then(preprocessing.OrdinalEncoder(), tree.DecisionTreeClassifier(max_depth=3)),
    }
    table = np.concatenate([NUMBERS[:, :2].astype(object), COLOURS], axis=1)
    kinds = [
        ("a", FloatTensorType([None, 1])),
        ("b", FloatTensorType([None, 1])),
        ("colour", StringTensorType([None, 1])),
    ]
    return {
        **numbers,
        **{name: lambda make=make: (make().fit(COUNTS, CLASSES), FLOATS) for name, make in counts.items()},
        "names": lambda: (linear_model.LogisticRegression().fit(NUMBERS, NAMES), FLOATS),
        "whole_numbers": lambda: (
            tree.DecisionTreeClassifier(max_depth=3).fit(COUNTS, CLASSES),
            [("x", Int64TensorType([None, FEATURES]))],
        ),
        "columns": lambda: (columns().fit(table, CLASSES), kinds),
        "words": lambda: (
            then(feature_extraction.text.TfidfVectorizer(), linear_model.LogisticRegression()).fit(
                TEXTS.ravel(), CLASSES
            ),
            [("text", StringTensorType([None]))],
        ),
    }


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    register()
    made = fitted()
    for name in sys.argv[2:] or made:
        file = folder / f"sklearn__{name}.onnx"
        if file.exists():
            continue
        try:
            model, inputs = made[name]()
            converted = skl2onnx.to_onnx(model, initial_types=inputs, target_opset={"": 18, "ai.onnx.ml": 3})
            file.write_bytes(converted.SerializeToString())
            print(file.name, flush=True)
        except Exception as error:  # whatever the converter cannot do
            print(f"{name}: {type(error).__name__}: {str(error).strip().splitlines()[0][:200]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
