"""BERT and ResNet-18 in every form that onnxruntime makes of them.

All nodes are costed, MACs are those of the exported model, and shapes are as observed at two sets of lengths.
``python -m tools.generate.contrib.models`` makes what is kept; see there.  What a session saves after less
than all of its optimisations is looked at where ``TOLCOST_SOAK`` is set.
"""

from __future__ import annotations

import json
import os
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tolcost.algebra import Poly, evaluate
from tolcost.catalogue.specs import open_library
from tolcost.models.facts import shape_of
from tolcost.models.walking import Session
from tolcost.platform import with_deep_stack
from tolcost.result.model import ModelStudy, study_file

KEPT = Path(__file__).parent / "optimised.zip"
SESSION = Session(open_library())


@cache
def observed() -> dict[str, Any]:
    with zipfile.ZipFile(KEPT) as file:
        found: dict[str, Any] = json.loads(file.read("observed.json"))["models"]
    return found


def exported(name: str) -> str:
    return name.split(".")[0].split("@")[0]


@pytest.fixture(name="folder", scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("optimised")
    with zipfile.ZipFile(KEPT) as file:
        file.extractall(folder)
    return folder


def evaluated(form: Poly, dims: dict[str, int]) -> int:
    return evaluate(form, {symbol: dims[symbol.name] for symbol in form.free})


@cache
def study(path: Path) -> ModelStudy:
    return with_deep_stack(lambda: study_file(path, SESSION))


LOOKED_AT = [n for n in observed() if "TOLCOST_SOAK" in os.environ or not n.endswith(("@basic", "@extended"))]


@pytest.mark.parametrize("name", LOOKED_AT)
def test_a_form_costs_what_the_exported_model_does(folder: Path, name: str) -> None:
    found, plain = study(folder / f"{name}.onnx"), study(folder / f"{exported(name)}.onnx")
    assert found.coverage.missing == ()
    assert found.coverage.costed == found.coverage.nodes
    for seen in observed()[name]:
        dims = seen["dims"]
        assert evaluated(found.total.macs, dims) == evaluated(plain.total.macs, dims)
        for value, shape in seen["shapes"].items():
            lengths = shape_of(found.cost.known(value))
            assert lengths is not None, value
            assert [evaluated(length, dims) for length in lengths] == shape, value


def test_there_is_every_form() -> None:
    levels = ("", "@basic", "@extended", "@all")
    forms = ("", ".fp16", ".int4", ".int8_dynamic", ".int8_qdq", ".int8_qoperator")
    names = {f"{model}{form}{level}" for model in ("bert", "resnet") for form in forms for level in levels}
    fused = {f"bert.{form}{level}" for form in ("fused", "fused_fp16") for level in levels}
    assert set(observed()) == names | fused
