"""PyTorch's calls held to the values of our definitions, at a small size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .pytorch import bind
from .table import ROOT, Case, read_table

EXPECTED = ROOT / "reports" / "data" / "h200" / "expected.npz"
TOLERANCE = {"float32": 1e-4, "bfloat16": 3e-2}


def error_of(case: Case, stored: Mapping[str, Any], device: str) -> float:
    """How far the call's first output is from the expected one: the norm of the difference, relative."""
    float_type = case.floats[0]
    inputs: dict[str, Any] = {}
    for key in (key for key in stored if key.startswith(f"{case.name}|") and not key.endswith("|")):
        name = key.split("|")[1]
        tensor = torch.from_numpy(stored[key]).to(device)
        tensor = tensor.to(getattr(torch, float_type)) if tensor.is_floating_point() else tensor
        inputs.setdefault(name, []).append(tensor)
    inputs = {name: v if isinstance(case.inputs[name], list) else v[0] for name, v in inputs.items()}
    output = bind(case, inputs, case.small, device)()
    first = output[0] if isinstance(output, tuple | list) else output
    want = stored[f"{case.name}|"].astype(np.float64)
    got = first.detach().cpu().double().numpy().reshape(want.shape)
    return float(np.linalg.norm(got - want) / (np.linalg.norm(want) or 1.0))


def check_all(device: str, file: Path = EXPECTED) -> dict[str, float]:
    """The error of every case; a case that cannot be computed has an infinite one."""
    with np.load(file) as stored:
        arrays = dict(stored)
    errors = {}
    for case in read_table().values():
        try:
            errors[case.name] = error_of(case, arrays, device)
        except Exception as problem:  # a call that does not exist here must not stop the others
            print(f"{case.name}: {problem}", flush=True)
            errors[case.name] = float("inf")
    return errors


def agrees(case: Case, error: float) -> bool:
    """Whether an error is one of rounding only."""
    return error <= TOLERANCE[case.floats[0]]
