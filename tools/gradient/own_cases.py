"""Inputs for operators without a node test, or whose tests leave out what PyTorch computes."""

from __future__ import annotations

import numpy as np
from onnx import defs, helper

from tolcost.catalogue.cases import Case, Item
from tolcost.catalogue.reading import node_of


def own_cases() -> tuple[Case, ...]:
    """Return the cases, without outputs."""
    rng = np.random.default_rng(11)

    def draw(*shape: int) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype(np.float32)

    several = (draw(2, 3), draw(2, 3))
    return (
        _case("GlobalLpPool", draw(2, 3, 4, 5)),
        _case("GlobalLpPool", draw(1, 2, 6), p=3),
        _case("SimplifiedLayerNormalization", draw(3, 4), draw(4)),
        _case("ConcatFromSequence", several, axis=1),
        _case("ConcatFromSequence", several, axis=0, new_axis=1),
        _case("SequenceAt", several, np.array(1)),
        _case("Trilu", draw(3, 4)),
        _case("Trilu", draw(2, 4, 3), np.array(-1), upper=0),
        _case("MaxRoiPool", draw(1, 2, 6, 6), np.array([[0, 0, 0, 3, 3]], np.float32), pooled_shape=[2, 2]),
        _case("Range", *(np.array(x, np.float32) for x in (0.5, 4.0, 0.75))),
        _case("Erf", draw(2, 3)),
        _case("Mish", draw(2, 3)),
        _case("GatherND", draw(3, 4), np.array([[0, 1], [2, 2]])),
        _case("GRU", draw(3, 2, 4), draw(1, 6, 4), draw(1, 6, 2), hidden_size=2, linear_before_reset=1),
        _case("Upsample", draw(1, 2, 3, 4), np.array([1, 1, 2, 3], np.float32)),
        _case("SequenceConstruct", draw(2, 3), draw(2, 3)),
        _case("SequenceInsert", several, draw(2, 3), np.array(1)),
        _case("SequenceErase", several, np.array(0)),
        _case("Optional", draw(2, 3)),
        _case("ai.onnx.ml.Scaler", draw(3, 4), offset=[0.5, -0.25, 0.0, 1.0], scale=[2.0, 0.5, 1.5, 1.0]),
        _case("ai.onnx.ml.Scaler", draw(2, 3), offset=[0.5], scale=[2.0]),
        *(_case("ai.onnx.ml.Normalizer", draw(3, 4), norm=norm) for norm in ("MAX", "L1", "L2")),
        _case("ai.onnx.ml.LinearRegressor", draw(3, 2), coefficients=[0.5, -1.0]),
        _case(
            "ai.onnx.ml.LinearRegressor",
            draw(4, 2),
            coefficients=[0.5, -1.0, 2.0, 0.25],
            intercepts=[1.0, -1.0],
            targets=2,
        ),
        *(
            _case(
                "ai.onnx.ml.SVMRegressor",
                draw(3, 2),
                kernel_type=kernel,
                kernel_params=[0.5, 0.25, 2.0],
                coefficients=[0.5, -1.0, 0.75],
                support_vectors=[0.25, 0.5, -0.5, 1.0, 0.75, -0.25],
                n_supports=3,
                rho=[0.125],
            )
            for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID")
        ),
        _case("ai.onnx.ml.Imputer", draw(3, 2), imputed_value_floats=[1.0, 2.0], replaced_value_float=0.5),
        _case("ai.onnx.ml.FeatureVectorizer", draw(3, 2), draw(3, 4), inputdimensions=[2, 4]),
    )


def _case(op: str, *inputs: Item, **attributes: object) -> Case:
    names = [f"i{k}" for k in range(len(inputs))]
    domain, _, name = op.rpartition(".")
    node = node_of(helper.make_node(name, names, ["o"], domain=domain, **attributes))
    return Case(f"own {op}", node, defs.onnx_opset_version(), inputs, (None,), 0.0, 0.0)
