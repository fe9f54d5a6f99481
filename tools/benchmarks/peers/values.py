"""Twins held to ONNX: the function that a peer counts gives what ONNX's reference does, on random numbers."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from peers.cases import Case

_ABOVE_ONE = {"Acosh"}
_POSITIVE = {"Log", "Sqrt", "Pow", "ReduceLogSum", "Mod", *_ABOVE_ONE}
TOLERANCE = 1e-3


def arrays(case: Case) -> list[tuple[str, np.ndarray]]:
    """Numbers for the inputs of a case that every function takes."""
    draw = np.random.default_rng(zlib.crc32(case.op.encode()))
    found = []
    for name, shape in case.shapes.items():
        several = shape if shape and isinstance(shape[0], list) else [shape]
        for one in several:
            found.append((name, _numbers(case, name, tuple(one), draw)))
    return found


def _numbers(case: Case, name: str, shape: tuple[int, ...], draw: np.random.Generator) -> np.ndarray:
    kind = np.dtype(case.dtype_of(name))
    if kind == np.bool_:
        return np.asarray(draw.integers(0, 2, shape)).astype(kind)
    if kind.kind in "iu":
        return np.asarray(draw.integers(0, 4, shape)).astype(kind)
    if (case.op, name) == ("Clip", "max"):
        return np.asarray(0.8, kind)
    if (case.op, name) == ("Clip", "min"):
        return np.asarray(0.2, kind)
    least = 0.1 if case.op in _POSITIVE or name == "input_var" else -0.9
    wide = 3 if case.kind == "activation" and case.op not in _POSITIVE else 1
    return np.asarray(draw.uniform(least, 0.9, shape) * wide + (case.op in _ABOVE_ONE)).astype(kind)


def held(case: Case, function: Callable[..., Any]) -> str:
    """Say `as ONNX`, or how a twin differs, or why nobody can tell."""
    inputs = arrays(case)
    try:
        expected = reference(case, inputs)
    except Exception as error:  # the reference has no such operator, or not in this form
        return f"not held: {type(error).__name__}"
    found = function(*(value for _, value in inputs))
    outputs = [np.asarray(one) for one in (found if isinstance(found, tuple) else (found,))]
    for mine, theirs in zip(outputs, expected, strict=False):
        wanted = np.asarray(theirs)
        if mine.size != wanted.size:
            return f"differs: {mine.shape}, not {wanted.shape}"
        gap = np.abs(np.ravel(mine).astype(np.float64) - np.ravel(wanted).astype(np.float64))
        if gap.size and not (gap <= TOLERANCE * (1 + np.abs(np.ravel(wanted).astype(np.float64)))).all():
            return f"differs by {gap.max():.3g}"
    return "as ONNX"


def reference(case: Case, inputs: list[tuple[str, np.ndarray]]) -> list[Any]:
    """What ONNX's reference gives for a case."""
    schema = onnx.defs.get_schema(case.op)
    slots = [slot.name for slot in schema.inputs]
    attributes = {name: value for name, value in case.attrs.items() if name in schema.attributes}
    known = {name: np.asarray(value, np.int64) for name, value in case.attrs.items() if name in slots}
    if case.op in ("CumSum", "CumProd"):
        known["axis"] = np.asarray(case.attrs["axis"], np.int64)
    by_name: dict[str, list[np.ndarray]] = {}
    for name, value in inputs:
        by_name.setdefault(name, []).append(value)
    wired: list[tuple[str, np.ndarray]] = []
    names = []
    for slot in slots:
        values = by_name.get(slot, [known[slot]] if slot in known else [])
        for number, value in enumerate(values):
            wired.append((f"{slot}{number}", value))
            names.append(f"{slot}{number}")
        if not values:
            names.append("")
    while names and not names[-1]:
        names.pop()
    outputs = [f"out{i}" for i in range(case.attrs.get("num_outputs", 1))]
    node = helper.make_node(case.op, names, outputs, **attributes)
    graph = helper.make_graph(
        [node],
        "case",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
            for n, v in wired
        ],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(v, n) for n, v in wired if v.dtype == np.int64 and v.ndim <= 1],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", onnx.defs.onnx_opset_version())])
    return list(ReferenceEvaluator(model).run(None, dict(wired)))


def _described(name: str, value: np.ndarray) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
