"""Holding an operator's definition to cases of our own, for what ONNX's node tests leave out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from onnx import ModelProto, helper
from onnx.reference import ReferenceEvaluator

from tolcost.catalogue.cases import Case
from tolcost.catalogue.conformance import FEW_ATOMS, Result, check
from tolcost.catalogue.reading import node_of
from tolcost.catalogue.specs import open_library

Array: TypeAlias = np.ndarray[Any, Any]
Attributes: TypeAlias = Mapping[str, Any]

LIBRARY = open_library()


def whole(*entries: int) -> Array:
    """A vector of integers."""
    return np.array(entries, np.int64)


def scalar(entry: int) -> Array:
    """An integer by itself."""
    return np.array(entry, np.int64)


def model_of(
    op: str, opset: int, inputs: Sequence[Array | None], attributes: Attributes, asked: int = 1
) -> ModelProto:
    """A model of one node."""
    names = ["" if array is None else f"i{n}" for n, array in enumerate(inputs)]
    results = [f"o{n}" for n in range(asked)]
    code = helper.np_dtype_to_tensor_dtype
    given = [
        helper.make_tensor_value_info(name, code(array.dtype), array.shape)
        for name, array in zip(names, inputs, strict=True)
        if array is not None
    ]
    node = helper.make_node(op, names, results, **attributes)
    graph = helper.make_graph([node], "one", given, [helper.make_empty_tensor_value_info(r) for r in results])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def by_reference(
    op: str, opset: int, inputs: Sequence[Array | None], attributes: Attributes, asked: int = 1
) -> list[Array]:
    """What ONNX's reference implementation gives."""
    model = model_of(op, opset, inputs, attributes, asked)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = ReferenceEvaluator(model).run(
            None, {f"i{n}": array for n, array in enumerate(inputs) if array is not None}
        )
    return [np.asarray(array) for array in found]


def held(
    op: str,
    opset: int,
    inputs: Sequence[Array | None],
    attributes: Attributes,
    expected: Sequence[Array] | int = 1,
    rtol: float = 1e-5,
    atoms: int = FEW_ATOMS,
) -> Result:
    """Hold a definition to the values given, or to so many of the reference implementation."""
    if isinstance(expected, int):
        expected = by_reference(op, opset, inputs, attributes, expected)
    node = node_of(model_of(op, opset, inputs, attributes, len(expected)).graph.node[0])
    case = Case(f"{op}-{opset}", node, opset, tuple(inputs), tuple(expected), rtol, 1e-6)
    result = check(case, LIBRARY, atoms=atoms)
    assert result.status == "pass", result.detail or result.cause
    return result
