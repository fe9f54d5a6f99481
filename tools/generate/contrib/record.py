"""Observing onnxruntime, and keeping what it says: results of cases, and schemas."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import AttributeProto, ModelProto, helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as inner

from tools.generate.contrib.draw import DOMAIN, Array, Trial, trials

SPECS = Path(__file__).parents[3] / "specs"
FOLDER = SPECS / DOMAIN
NUMPY_KINDS = "biufcOUS"


def _input_names(trial: Trial) -> list[str]:
    return ["" if array is None else f"i{n}" for n, array in enumerate(trial.inputs)]


def model_of(op: str, trial: Trial) -> ModelProto:
    """A model of one node; tensors of types that NumPy lacks are constants of it."""
    names = _input_names(trial)
    results = [f"o{n}" if asked else "" for n, asked in enumerate(trial.asked)]
    used = names[: max(n for n, name in enumerate(names, start=1) if name)]
    node = helper.make_node(op, used, results, domain=trial.domain, **trial.attrs)
    inputs, constants = [], []
    for n, (name, array) in enumerate(zip(names, trial.inputs, strict=True)):
        if array is None:
            continue
        if _is_constant(trial, n, array):
            constants.append(numpy_helper.from_array(array, name))
        else:
            code = helper.np_dtype_to_tensor_dtype(array.dtype)
            inputs.append(helper.make_tensor_value_info(name, code, array.shape))
    outputs = [helper.make_empty_tensor_value_info(name) for name in results if name]
    graph = helper.make_graph([node], "one", inputs, outputs, constants)
    versions = {"": 20, DOMAIN: 1, trial.domain: trial.opset}
    opsets = [helper.make_opsetid(domain, version) for domain, version in versions.items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _is_constant(trial: Trial, place: int, array: Array) -> bool:
    return place in trial.constant or array.dtype.kind not in NUMPY_KINDS


def observed(op: str, trial: Trial) -> list[Array]:
    """What onnxruntime gives, by one thread, nothing fused."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    providers = ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(model_of(op, trial).SerializeToString(), options, providers)
    given = {
        name: array
        for n, (name, array) in enumerate(zip(_input_names(trial), trial.inputs, strict=True))
        if array is not None and not _is_constant(trial, n, array)
    }
    return [np.asarray(found) for found in session.run(None, given)]


def write(title: str) -> int:
    """Keep the cases of an operator, named with its domain if that is not the usual one; their bytes."""
    drawn, op = trials(title), title.rpartition(".")[2]
    stated = drawn[0].stated is not None
    source = "its documentation, as stated in tools/generate/contrib" if stated else "its results"
    lines: list[dict[str, Any]] = [{"onnxruntime": onnxruntime.__version__, "from": source}]
    for trial in drawn:
        found = iter(observed(op, trial) if trial.stated is None else trial.stated)
        one: dict[str, Any] = {
            "attrs": trial.attrs,
            "in": [_kept(array) for array in trial.inputs],
            "out": [_kept(next(found)) if asked else None for asked in trial.asked],
        }
        settings = {"rtol": trial.rtol or _tolerance(one), "atol": trial.atol, "opset": trial.opset}
        one.update({k: v for k, v in settings.items() if v not in (None, 1)})
        lines.append(one)
    text = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines) + "\n"
    raw = gzip.compress(text.encode(), 9, mtime=0)
    folder = SPECS / (drawn[0].domain or "onnx") / "recorded"
    folder.mkdir(exist_ok=True)
    (folder / f"{op}.json.gz").write_bytes(raw)
    return len(raw)


def _tolerance(one: dict[str, Any]) -> float | None:
    short = any(kept and kept[0] in ("float16", "bfloat16") for kept in (*one["in"], *one["out"]))
    return 1e-2 if short else None


def _kept(array: Array | None) -> list[Any] | None:
    if array is None:
        return None
    if array.dtype.kind in "OUS":
        return ["string", list(array.shape), array.ravel().tolist()]
    raw = np.ascontiguousarray(array).tobytes()
    return [array.dtype.name, list(array.shape), base64.b64encode(raw).decode()]


# ---- schemas -----------------------------------------------------------------------------


def write_schemas() -> None:
    """Keep what onnxruntime says of every operator of the domain, the newest version of each."""
    found: dict[str, Any] = {}
    for schema in inner.get_all_operator_schema():
        if schema.domain == DOMAIN and not schema.deprecated:
            found[schema.name] = _schema(schema)
    lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(found[n])}" for n in sorted(found))
    head = f'{{"onnxruntime": "{onnxruntime.__version__}", "operators": {{\n'
    (FOLDER / "schemas.json").write_text(head + lines + "\n}}\n", encoding="utf-8")


def _schema(schema: Any) -> dict[str, Any]:
    types = {
        t.type_param_str: [_plain(s) for s in sorted(t.allowed_type_strs)] for t in schema.type_constraints
    }
    return {
        "since": schema.since_version,
        "inputs": [[p.name + _mark(p), p.typeStr] for p in schema.inputs],
        "outputs": [[p.name + _mark(p), p.typeStr] for p in schema.outputs],
        "attributes": {
            a.name: _attribute(a) for a in sorted(schema.attributes.values(), key=lambda a: a.name)
        },
        "types": types,
    }


def _plain(type_name: str) -> str:
    inside = type_name.removeprefix("tensor(").removesuffix(")")
    return inside if f"tensor({inside})" == type_name else type_name


def _mark(parameter: Any) -> str:
    option = str(parameter.option)
    several = "*" if parameter.isHomogeneous else "**"  # of one type, or of any
    return "?" if "Optional" in option else several if "Variadic" in option else ""


def _attribute(attribute: Any) -> list[Any]:
    kind = str(attribute.type).rpartition(".")[2].lower() + ("!" if attribute.required else "")
    if not attribute._default_value:
        return [kind]
    value = helper.get_attribute_value(AttributeProto.FromString(attribute._default_value))
    if isinstance(value, float):
        value = float(f"{value:.7g}")
    return [kind, value.decode() if isinstance(value, bytes) else value]
