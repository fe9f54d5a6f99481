"""Gradients beside those of PyTorch, recorded by ``tools/gradient/record_torch.py``."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tolcost.cli.analyze import Request, lowered
from tolcost.execute import run_vectorised
from tolcost.gradient import GradientRequest
from tools.gradient.products import derived

HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "torch.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["operator"])
def test_as_torch(case: dict[str, Any]) -> None:
    inputs = {name: np.array(value) for name, value in case["inputs"].items()}
    shapes = {name: list(value.shape) for name, value in inputs.items()}
    path = HERE.parents[1] / "specs" / "onnx" / f"{case['operator']}.tol"
    program = lowered(str(path), Request(shapes, case["attrs"])).program
    wanted = GradientRequest(tuple(case["gradients"]), (program.outputs[0].name,))
    made, _ = derived(program, wanted)
    given = {one.name: (inputs[old.name],) for old, one in zip(program.inputs, made.inputs, strict=False)}
    given[made.inputs[-1].name] = (np.array(case["adjoint"]),)
    found = run_vectorised(made, given)
    for name, output in zip(wanted.inputs, made.outputs, strict=True):
        np.testing.assert_allclose(found.outputs[output.name], case["gradients"][name], rtol=1e-9, atol=1e-9)
