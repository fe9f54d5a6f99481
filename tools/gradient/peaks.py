"""Compares the memory of training steps with recordings of a GPU.

    PYTHONPATH=. python -m tools.gradient.peaks OUT.json [NAME ...] [TYPE]      (needs torch and transformers)

Each recorded model is exported with the attention that it was recorded with, at opset 22 where that is
written out, and its step analysed at the recorded sizes.  What the allocator held before a step and is no
parameter and no state, workspaces of libraries above all, is added to the figure.
"""

from __future__ import annotations

import json
import sys
from functools import lru_cache
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


VISION: dict[str, tuple[str, str, dict[str, Any]]] = {
    "resnet50": ("resnet", "ResNet", {}),
    "convnext-tiny": ("convnext", "ConvNext", {}),
    "mobilenet-v2": ("mobilenet_v2", "MobileNetV2", {}),
    "vit-base": ("vit", "ViT", HIDDEN),
    "deit-base": ("deit", "DeiT", HIDDEN),
    "swin-tiny": ("swin", "Swin", {"drop_path_rate": 0.0}),
}
"""Models of transformers: kind, family and options."""
FIXED = ("swin-tiny",)
"""Models that torch exports at given lengths alone."""
TYPES = ("float32", "bfloat16")
ORDER = ("perceptron", *LANGUAGE, *VISION)


class Whole(nn.Module):
    """A model that returns what it was recorded with alone: logits, or the last states."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, given: torch.Tensor) -> torch.Tensor:
        result = self.module(given)
        found = getattr(result, "logits", None)
        return result.last_hidden_state if found is None else found


@lru_cache(1)
def export_of(name: str, attention: str, of_type: str, batch: int = 2, size: int = 0) -> bytes:
    dtype = getattr(torch, of_type)
    if name == "perceptron":
        with torch.device("meta"):
            module: nn.Module = nn.Sequential(
                nn.Linear(4096, 16384), nn.ReLU(), nn.Linear(16384, 16384), nn.Tanh(), nn.Linear(16384, 4096)
            )
        given = torch.zeros(32, 4096, device="meta", dtype=dtype)
        return exported(module.to(dtype), (given,), {}, ({0: "batch"},), 22)
    opset = 23 if attention == "sdpa" else 22
    lengths = ({0: "batch"} if name in VISION else {0: "batch", 1: "tokens"},) if not size else None
    if name in VISION:
        kind, family, options = VISION[name]
        config = transformers.AutoConfig.for_model(kind, num_labels=1000, **options)
        if attention != "none" or name == "swin-tiny":  # recorded when Swin had one attention
            config._attn_implementation = "eager" if attention == "none" else attention
        module = different(getattr(transformers, f"{family}ForImageClassification")(config).train())
        pixels = torch.zeros(batch, 3, 224, 224, dtype=dtype)
        return exported(Whole(module.to(dtype)), (pixels,), {}, lengths, opset)
    kind, options = LANGUAGE[name]
    config = transformers.AutoConfig.for_model(kind, **options)
    family = transformers.AutoModel if kind == "bert" else transformers.AutoModelForCausalLM
    module = family.from_config(config, attn_implementation=attention).train()
    different(module)
    if kind == "opt":  # in training it draws a number for each layer, and may leave the layer out
        module.model.decoder.training = False
    if hasattr(module.config, "use_cache"):
        module.config.use_cache = False
    ids = torch.zeros((batch, size or 64), dtype=torch.int64)
    return exported(Whole(module.to(dtype)), (ids,), {}, lengths, opset)


def different(module: Any) -> Any:
    """Give all parameters other values: an exporter stores equal tensors once."""
    with torch.no_grad():
        for tensor in module.parameters():
            tensor.uniform_(0.5, 1)
    return module


@lru_cache(2)
def step_of(recompute: bool, *asked: Any) -> Any:
    """Return the step of a model over its open lengths, for all recorded sizes."""
    options = {"recompute": "every 1"} if recompute else {}
    return from_onnx(export_of(*asked)).training("adamw", **options)


def compared(row: dict[str, Any], recompute: bool) -> dict[str, Any]:
    fixed = (row["batch"], row["size"]) if row["model"] in FIXED else ()
    step = step_of(recompute, row["model"], row["attention"], row["type"], *fixed)
    given = {"batch": row["batch"], "tokens": row["size"]}
    at = step.subs({name: given[name] for name in given if name in step.symbols})
    found = at()
    peak = max(row[f"{part}_peak_bytes"] for part in ("forward", "backward", "optimiser"))
    ours = found.train_peak
    training = at.study.training
    held = training.held.parameters + training.held.frozen + training.held.state
    inputs = at.study.holdings.input_bytes
    besides = row["before_bytes"] - int(str(at.number(held))) - int(str(at.number(inputs)))
    return {
        **{key: row[key] for key in ("model", "type", "attention", "recompute", "batch", "size")},
        "parameters": int(str(training.held.trained)),
        "recorded_parameters": row["parameters"],
        "kept": found.kept,
        "recorded_kept": row.get("kept_bytes"),
        "peak": ours,
        "besides": besides,
        "recorded_peak": peak,
        "off": round((ours + besides) / peak - 1, 4),
        "at": step.study.train_peak.node,
        "status": step.status,
    }


def place(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return where a row stands: models as they are recorded, one export after the other."""
    model = ORDER.index(row["model"]), TYPES.index(row["type"])
    return *model, row["attention"], row["batch"], row["recompute"]


def main() -> None:
    rows = json.loads(RECORDED.read_text("utf-8"))["rows"]
    rows.sort(key=place)
    names = {*sys.argv[2:]} - {*TYPES}
    types = {*sys.argv[2:]} & {*TYPES} or {*TYPES}
    done = []
    for row in rows:
        wanted = row["model"] in names or not names
        known = row["model"] in LANGUAGE or row["model"] in VISION or row["model"] == "perceptron"
        if not wanted or not known or row["type"] not in types or "error" in row:
            continue
        try:
            done.append(compared(row, row["recompute"]))
            print(done[-1], flush=True)
        except Exception as problem:
            print(row["model"], row["attention"], type(problem).__name__, str(problem)[:300], flush=True)
        text = ",\n ".join(json.dumps(one) for one in done)
        Path(sys.argv[1]).write_text(f"[\n {text}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
