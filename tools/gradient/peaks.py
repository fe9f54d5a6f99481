"""Compares the memory of training steps with recordings of a GPU.

    PYTHONPATH=. python -m tools.gradient.peaks OUT.json [NAME ...]      (needs torch and transformers)

Each recorded model is exported with the attention that it was recorded with, at opset 22 where that is
written out, and its step analysed at the recorded sizes.  What the allocator held before a step and is no
parameter and no state, workspaces of libraries above all, is added to the figure.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

from tolcost import from_onnx
from tolcost.apps.torch.export import exported

RECORDED = Path(__file__).parents[1] / "benchmarks" / "hardware" / "training_peaks.json"

SMALL = {
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 16,
    "num_attention_heads": 16,
    "vocab_size": 32000,
}
NONE = {"attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0}
HIDDEN = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
TWELVE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}
LANGUAGE: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("gpt2", NONE),
    "bert-base": ("bert", HIDDEN),
    "opt-125m": ("opt", {**TWELVE, "ffn_dim": 3072, "dropout": 0.0}),
    "pythia-160m": ("gpt_neox", {**TWELVE, "intermediate_size": 3072, "vocab_size": 50304}),
    "llama-300m": ("llama", {**SMALL, "num_key_value_heads": 4}),
    "qwen2-300m": ("qwen2", {**SMALL, "num_key_value_heads": 2}),
    "qwen3-300m": ("qwen3", {**SMALL, "num_key_value_heads": 4, "head_dim": 64}),
    "phi3-300m": ("phi3", {**SMALL, "num_key_value_heads": 16, "pad_token_id": 0}),
}


class Whole(nn.Module):
    """A language model that returns what it was recorded with alone: logits, or the last states."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        result = self.module(input_ids=input_ids)
        found = getattr(result, "logits", None)
        return result.last_hidden_state if found is None else found


def export_of(name: str, attention: str, batch: int, size: int) -> bytes:
    if name == "perceptron":
        with torch.device("meta"):
            module: nn.Module = nn.Sequential(
                nn.Linear(4096, 16384), nn.ReLU(), nn.Linear(16384, 16384), nn.Tanh(), nn.Linear(16384, 4096)
            )
        return exported(module, (torch.zeros(batch, size, device="meta"),), {}, None, 22)
    kind, options = LANGUAGE[name]
    config = transformers.AutoConfig.for_model(kind, **options)
    family = transformers.AutoModel if kind == "bert" else transformers.AutoModelForCausalLM
    module = family.from_config(config, attn_implementation=attention).train()
    if hasattr(module.config, "use_cache"):
        module.config.use_cache = False
    ids = torch.zeros((batch, size), dtype=torch.int64)
    return exported(Whole(module), (ids,), {}, None, 22 if attention == "eager" else 23)


def compared(row: dict[str, Any], recompute: bool) -> dict[str, Any]:
    model = export_of(row["model"], row["attention"], row["batch"], row["size"])
    frozen = ("*inv_freq",) if b"inv_freq" in model else ()
    asked = {"freeze": frozen} | ({"recompute": "every 1"} if recompute else {})
    step = from_onnx(model).training("adamw", **asked)
    found = step()
    besides = row["before_bytes"] - 12 * row["parameters"]
    peak = max(row[f"{part}_peak_bytes"] for part in ("forward", "backward", "optimiser"))
    ours = found.train_peak
    parameters = int(str(step.param_bytes)) // 4
    return {
        **{key: row[key] for key in ("model", "attention", "recompute", "batch", "size")},
        "parameters": parameters,
        "recorded_parameters": row["parameters"],
        "kept": found.kept,
        "recorded_kept": row.get("kept_bytes"),
        "peak": ours,
        "besides": besides,
        "recorded_peak": peak,
        "off": round((ours + besides) / peak - 1, 4),
        "status": step.status,
    }


def main() -> None:
    rows = json.loads(RECORDED.read_text("utf-8"))["rows"]
    names = sys.argv[2:]
    done = []
    for row in rows:
        wanted = row["model"] in names or not names
        known = row["model"] in LANGUAGE or row["model"] == "perceptron"
        if not wanted or not known or row["type"] != "float32" or "error" in row:
            continue
        if row["attention"] == "sdpa" and row["model"] not in ("gpt2", "bert-base", "opt-125m"):
            continue  # rotations at opset 23 read a cache that only one sentence has
        try:
            done.append(compared(row, row["recompute"]))
            print(done[-1], flush=True)
        except Exception as problem:
            print(row["model"], row["attention"], type(problem).__name__, str(problem)[:300], flush=True)
        text = ",\n ".join(json.dumps(one) for one in done)
        Path(sys.argv[1]).write_text(f"[\n {text}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
