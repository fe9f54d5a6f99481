"""Steps of training of planned models beside an H200: ``python -m tools.serving.steps``.

``hardware.training_peaks`` recorded the memory, ``hardware.training_times`` the times.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tolcost.apps.plan.door import model_in
from tolcost.apps.plan.figures import served
from tolcost.apps.plan.training import PlannedStep, StepAsked, step_of
from tolcost.cost.device import load_device

HARDWARE = Path(__file__).parents[1] / "benchmarks" / "hardware"
RECORDED, TIMES = HARDWARE / "training_peaks.json", HARDWARE / "training_times.json"
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


def times_over_bounds() -> Iterator[tuple[dict[str, Any], float]]:
    """Yield what was recorded of times, and the least time of a step over the bound that a plan gives."""
    device = load_device("h200")
    recorded = json.loads(TIMES.read_text("utf-8"))["rows"]
    for name in dict.fromkeys(row["model"] for row in recorded):
        model = served(model_in(MODELS[name], name))
        steps = {again: step_of(model, StepAsked("adamw", "bf16", again)) for again in (False, True)}
        for row in recorded:
            if row["model"] == name:
                bound = PlannedStep(steps[row["recompute"]], row["batch"], row["size"], device).bound
                assert bound is not None
                yield row, row["low_us"] / float(bound[0])


def main() -> None:
    """Print how much more was measured than is planned."""
    for name in MODELS:
        for row, found in rows(name):
            peak, kept = measured_over_planned(row, found)
            told = "" if kept is None else f"kept {kept:.3f}"
            print(f"{_title(row)}  peak {peak:.3f} {told}")
    for row, share in times_over_bounds():
        print(f"{_title(row)}  time {share:.2f}")


def _title(row: dict[str, Any]) -> str:
    return f"{row['model']:12} {row['batch']} x {row['size']:5} {'again' if row['recompute'] else '':6}"


if __name__ == "__main__":
    main()
