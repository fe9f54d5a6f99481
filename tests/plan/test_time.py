"""Times of ``tolcost plan``, held to recorded runs of nine models on an H200."""

import json
import statistics
from pathlib import Path
from typing import Any

from tolcost.apps.plan.door import shipped_model
from tolcost.apps.plan.figures import ModelRun, ServedModel, served
from tolcost.apps.plan.precision import precision_of
from tolcost.apps.plan.time import RunTime, run_time
from tolcost.cost.device import load_device
from tolcost.cost.engine import engine_of

ROOT = Path(__file__).parents[2]
RECORDED: dict[str, Any] = json.loads(
    (ROOT / "tools" / "benchmarks" / "hardware" / "language_models.json").read_text("utf-8")
)
FOR_HOST = ("llama3.2-1b", "qwen2.5-3b")
"""The models that the time to start a kernel comes from."""


def every_model() -> dict[str, ServedModel]:
    return {name: served(shipped_model(name)) for name in {row["model"] for row in RECORDED["rows"]}}


def times(models: dict[str, ServedModel]) -> list[tuple[dict[str, Any], RunTime]]:
    device, precision, engine = load_device("h200"), precision_of(), engine_of("transformers")

    found = []
    for row in RECORDED["rows"]:
        read, batch = row["tokens"], row["batch"]
        step = ModelRun(batch, read) if row["phase"] == "prefill" else ModelRun(batch, 1, read - 1)
        found.append((row, run_time(device, models[row["model"]].work(step, precision), engine)))
    return found


def test_recorded_models() -> None:
    """Parameters and caches are exact, bounds hold, and predictions are as good as the documentation says."""
    precision, models = precision_of(), every_model()
    found = times(models)
    assert len(found) > 100
    for row, time in found:
        model = models[row["model"]]
        assert model.parameter_count == row["parameters"]
        if row["phase"] == "decode":
            assert model.cache_bytes(row["batch"], row["tokens"], precision) == row["cache_bytes"]
        assert time.bound <= min(row["graph_low_us"], row["eager_low_us"])
    assert_close([float(time.graph or 0) / row["graph_us"] for row, time in found], 0.07, 0.17)
    assert_close([float(time.eager or 0) / row["eager_us"] for row, time in found])
    others = [(row, time) for row, time in found if row["model"] not in FOR_HOST]
    assert_close([float(time.eager or 0) / row["eager_us"] for row, time in others])


def assert_close(ratios: list[float], median: float = 0.135, most: float = 0.30) -> None:
    errors = sorted(abs(ratio - 1) for ratio in ratios)
    assert statistics.median(errors) <= median
    assert errors[int(0.9 * len(errors))] <= most
    assert sum(error <= 0.35 for error in errors) >= 0.97 * len(errors)
