"""What the serving programs compute, held to transformers' modules with the same parameters.

``tools/serving/values.py`` compares more types, and a further token: ``reports/data/serving_values.json``.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tolcost.apps.plan.door import model_in
from tolcost.platform import with_deep_stack
from tools.serving.layouts import drawn, parameters
from tools.serving.run import run_program

RECORDED = Path(__file__).parents[2] / "reports" / "data" / "serving_values.json"
CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "values.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["config"]["model_type"])
def test_a_prompt(case: dict[str, Any]) -> None:
    kind = case["config"]["model_type"]
    model = model_in(case["config"], kind)
    given = parameters(kind, drawn(case["shapes"]), model)
    given |= {name: np.array(case[name]) for name in ("ids", "cosines", "sines") if name in case}
    theirs = np.array(case["logits"])
    ours = with_deep_stack(lambda: run_program(model, given, 0))
    assert np.abs(ours - theirs).max() < 1e-5 * np.abs(theirs).max()


def test_all_types_as_recorded() -> None:
    """Norms are rounded to 32 bits in the modules."""
    found = json.loads(RECORDED.read_text("utf-8"))["largest difference over the largest logit"]
    assert max(error for row in found.values() for error in row.values()) < 1e-5
    assert {"falcon alibi", "gpt_oss", "deepseek_v3", "mamba2", "jamba", "rwkv", "bert", "t5"} <= set(found)
