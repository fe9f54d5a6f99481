"""A step of training held to PyTorch: what is kept, what is counted, and the values of optimisers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, parser

import tolcost
from tolcost.algebra import const
from tolcost.diagnostics import Source
from tolcost.elaborate import Argument, Tensor
from tolcost.execute import run_vectorised
from tolcost.pipeline import lower, read_program
from tolcost.platform import specs_root
from tolcost.result.training import TrainingStudy

RECORD = json.loads((Path(__file__).parent / "torch.json").read_text("utf-8"))
MODULES: Mapping[str, Mapping[str, Any]] = RECORD["modules"]


def step_of(name: str) -> tolcost.Cost:
    one = MODULES[name]
    shape = ", ".join(map(str, one["input"]))
    text = f'<ir_version: 10, opset_import: ["" : 22]> g (float[{shape}] x) => (float y) {{ {one["text"]} }}'
    model = parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    for key, size in one["parameters"]:
        raw = np.zeros(size, np.float32).tobytes()
        model.graph.initializer.append(
            TensorProto(name=key, dims=size, data_type=TensorProto.FLOAT, raw_data=raw)
        )
    for key, values in one["constants"]:
        model.graph.initializer.append(helper.make_tensor(key, TensorProto.INT64, [len(values)], values))
    return tolcost.from_onnx(model).training("sgd")


@pytest.mark.parametrize("name", MODULES)
def test_kept_as_by_autograd(name: str) -> None:
    assert step_of(name).kept == MODULES[name]["kept"]


@pytest.mark.parametrize("name", MODULES)
def test_flops_as_counted(name: str) -> None:
    """Twice the MACs of products; what scales and sums elsewhere is none of them for the counter."""
    step = step_of(name)
    assert isinstance(step.study, TrainingStudy)
    found = {group.title: int(str(group.figures.macs)) for group in step.groups("op")}
    forward, backward = (
        2 * sum(found.get(f"{op}{end}", 0) for op in ("MatMul", "Conv")) for end in ("", " backward")
    )
    assert (forward, backward) == (MODULES[name]["forward"], MODULES[name]["backward"])


def attributes(name: str, step: int) -> dict[str, Argument]:
    """Return what changes from step to step, for all elements alike."""
    if name in ("adam", "adamw"):
        return {"first": 1 - Fraction(9, 10) ** step, "second": 1 - Fraction(999, 1000) ** step}
    if name == "adafactor":
        share = Fraction(step**-0.8).limit_denominator(10**12)
        return {"share": share, "rate": min(Fraction(1, 100), Fraction(1 / step**0.5))}
    return {"rate": const(1)} if name == "muon" else {}


@pytest.mark.parametrize(
    "row", RECORD["optimisers"], ids=lambda row: f"{row['optimiser']}{len(row['start'])}"
)
def test_optimisers_as_in_torch(row: Mapping[str, Any]) -> None:
    name, start = row["optimiser"], np.array(row["start"])
    vectors = specs_root().joinpath("optimizers", f"{name}.vectors.tol")
    file = (
        vectors
        if start.ndim == 1 and vectors.is_file()
        else specs_root().joinpath("optimizers", f"{name}.tol")
    )
    text = file.read_text("utf-8").replace("float32", "float64")
    parsed = read_program(Source(f"{name}.tol", text))
    values: dict[str, np.ndarray] = {"p": start}
    for n, step in enumerate(row["steps"], start=1):
        values["g"] = np.array(step["gradient"])
        sizes = dict(zip("mn" if start.ndim == 2 else "n", start.shape, strict=True))
        given: dict[str, Argument] = {"p": Tensor(tuple(map(const, start.shape)), "float64")}
        program = lower(parsed, {**given, **attributes(name, n)}).program
        for needed in program.inputs:
            shape = tuple(extent.constant or 0 for extent in needed.type[0].shape)
            values.setdefault(needed.name, np.zeros(shape))
        assert prod(sizes.values()) == start.size
        found = run_vectorised(program, {one.name: (values[one.name],) for one in program.inputs}, {})
        values |= {key.removesuffix("_next"): np.asarray(value) for key, value in found.outputs.items()}
        tolerance = 0.05 if name == "muon" else 1e-8  # Muon computes in bfloat16 there
        np.testing.assert_allclose(values["p"], np.array(step["after"]), atol=tolerance, rtol=0)
