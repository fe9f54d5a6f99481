"""Steps of training of planned models beside an H200: ``python -m tools.serving.steps [TIMES.json]``.

The file is what ``hardware.training_times`` writes; without it, memory alone is compared.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tolcost.apps.plan.door import model_in
from tolcost.apps.plan.figures import served
from tolcost.apps.plan.training import PlannedStep, StepAsked, step_of
from tolcost.cost.device import load_device

RECORDED = Path(__file__).parents[1] / "benchmarks" / "hardware" / "training_peaks.json"
SMALL = {
    "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 16, "num_attention_heads": 16,
    "vocab_size": 32000, "hidden_act": "silu",
}  # fmt: skip
BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}
MODELS: dict[str, dict[str, Any]] = {
    "gpt2": {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
             "vocab_size": 50257, "activation_function": "gelu_new"},
    "opt-125m": {"model_type": "opt", **BASE, "ffn_dim": 3072, "vocab_size": 50272,
                 "max_position_embeddings": 2048, "activation_function": "relu"},
    "pythia-160m": {"model_type": "gpt_neox", **BASE, "intermediate_size": 3072, "vocab_size": 50304,
                    "hidden_act": "gelu", "rotary_pct": 0.25, "tie_word_embeddings": False},
    "llama-300m": {"model_type": "llama", **SMALL, "num_key_value_heads": 4},
    "qwen2-300m": {"model_type": "qwen2", **SMALL, "num_key_value_heads": 2},
    "qwen3-300m": {"model_type": "qwen3", **SMALL, "num_key_value_heads": 4, "head_dim": 64},
    "phi3-300m": {"model_type": "phi3", **SMALL, "num_key_value_heads": 16},
}  # fmt: skip
"""The recorded modules, as configurations."""


def rows(name: str) -> Iterator[tuple[dict[str, Any], PlannedStep]]:
    """Yield what was recorded of a model in bfloat16 with fused attention, and the same step as planned."""
    model = served(model_in(MODELS[name], name))
    steps = {again: step_of(model, StepAsked("adamw", "bf16", again)) for again in (False, True)}
    for row in json.loads(RECORDED.read_text("utf-8"))["rows"]:
        if (row["model"], row["type"], row["attention"]) == (name, "bfloat16", "sdpa"):
            yield row, PlannedStep(steps[row["recompute"]], row["batch"], row["size"])


def measured_over_planned(row: dict[str, Any], found: PlannedStep) -> tuple[float, float | None]:
    """Return the measured peak besides what is held over the planned one, and the same of what is kept."""
    held = found.step.held
    planned = found.peak.bytes - held["parameters"] - held["optimiser"]
    kept = row["kept_bytes"] / found.kept if "kept_bytes" in row else None
    return (row["backward_peak_bytes"] - row["before_bytes"]) / planned, kept


def main() -> None:
    """Print how much more was measured than is planned."""
    device, times = load_device("h200"), dict[tuple[object, ...], float]()
    for file in sys.argv[1:]:
        for one in json.loads(Path(file).read_text("utf-8"))["rows"]:
            times[one["model"], one["recompute"], one["batch"], one["size"]] = one["low_us"]
    for name in MODELS:
        for row, found in rows(name):
            peak, kept = measured_over_planned(row, found)
            again = "again" if row["recompute"] else ""
            told = "" if kept is None else f"kept {kept:.3f}"
            least = times.get((name, row["recompute"], row["batch"], row["size"]))
            bound = replace(found, device=device).bound
            time = "" if least is None or bound is None else f"time {least / float(bound[0]):.2f}"
            print(f"{name:12} {row['batch']} x {row['size']:5} {again:6} peak {peak:.3f} {told:11} {time}")


if __name__ == "__main__":
    main()
