"""What the serving programs compute, held to transformers' modules with the same parameters.

``tools/serving/values.py`` compares all types, at two sizes: ``reports/data/serving_values.json``.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tolcost.apps.plan.door import family_of, model_in, type_names
from tolcost.platform import with_deep_stack
from tools.serving.layouts import drawn, parameters
from tools.serving.run import run_program

RECORDED = Path(__file__).parents[2] / "reports" / "data" / "serving_values.json"
CASES: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "values.json").read_text("utf-8"))
NO_MODULE = {"kimi_k2"}
"""transformers has none of its own: it is DeepSeek V3's."""


@pytest.mark.parametrize("name", CASES)
def test_a_case(name: str) -> None:
    """A prompt and the next token, of every program."""
    case = CASES[name]
    kind = case["config"]["model_type"]
    model = model_in(case["config"], kind)
    weights = parameters(kind, drawn(case["shapes"]), model)
    for run in case["runs"]:
        given = weights | {key: np.array(value) for key, value in run["given"].items()}
        theirs = np.array(run["logits"])
        ours = with_deep_stack(lambda given=given, run=run: run_program(model, given, run["past"]))
        assert np.abs(ours - theirs).max() < 1e-5 * np.abs(theirs).max()


def test_cases_run_all_programs() -> None:
    known = {family_of(case["config"]["model_type"]).program for case in CASES.values()}
    assert known == {family_of(name).program for name in type_names()}


def test_all_types_as_recorded() -> None:
    """Each at two sizes, and the next token too; norms are rounded to 32 bits in the modules."""
    found = json.loads(RECORDED.read_text("utf-8"))["largest difference over the largest logit"]
    assert max(error for row in found.values() for error in row.values()) < 1e-5
    for name in set(type_names()) - NO_MODULE:
        rows = [row for one, row in found.items() if one == name or one.startswith(f"{name} ")]
        assert len(rows) >= 2, name
        assert all("token" in row for row in rows) or name == "bert", name
