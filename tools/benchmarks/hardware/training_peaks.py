"""Records the memory of training steps: one command, on a machine with a GPU.

    PYTHONPATH=tools/benchmarks python3 -m hardware.training_peaks FILE.json [NAME ...]

Each module is built with random weights; a step is forward, backward from a gradient of ones of its
output, and AdamW (fused, which needs no room of its own).  ``kept_bytes`` are the storages that autograd
saves, without parameters and inputs, as its hooks show them; ``forward_bytes`` is by how much the
allocator's figure grows by the forward pass; the peaks are the allocator's own.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

Built = tuple[nn.Module, Callable[[int, int], dict[str, torch.Tensor]]]


@dataclass(frozen=True, slots=True)
class Model:
    """A module, the sizes at which it is trained, and whether its blocks can be computed again."""

    name: str
    build: Callable[[str], Built]
    sizes: tuple[tuple[int, int], ...]
    attention: tuple[str, ...] = ("none",)
    recompute: bool = False


def language(kind: str, **config: Any) -> Callable[[str], Built]:
    """A causal or a bidirectional language model of transformers."""

    def build(attention: str) -> Built:
        made = transformers.AutoConfig.for_model(kind, **config)
        family = transformers.AutoModel if kind == "bert" else transformers.AutoModelForCausalLM
        module = family.from_config(made, attn_implementation=attention)
        if hasattr(module.config, "use_cache"):
            module.config.use_cache = False

        def inputs(batch: int, tokens: int) -> dict[str, torch.Tensor]:
            return {"input_ids": torch.randint(0, made.vocab_size, (batch, tokens), device="cuda")}

        return module, inputs

    return build


def vision(kind: str, family: str, **config: Any) -> Callable[[str], Built]:
    """A classifier of images of transformers, for a thousand classes."""

    def build(attention: str) -> Built:
        made = transformers.AutoConfig.for_model(kind, num_labels=1000, **config)
        if attention != "none":
            made._attn_implementation = attention
        module = getattr(transformers, f"{family}ForImageClassification")(made)

        def inputs(batch: int, pixels: int) -> dict[str, torch.Tensor]:
            return {"pixel_values": torch.randn(batch, 3, pixels, pixels, device="cuda")}

        return module, inputs

    return build


def perceptron(attention: str) -> Built:
    module = nn.Sequential(
        nn.Linear(4096, 16384), nn.ReLU(), nn.Linear(16384, 16384), nn.Tanh(), nn.Linear(16384, 4096)
    )
    return module, lambda batch, width: {"input": torch.randn(batch, width, device="cuda")}


LM = ((2, 512), (4, 1024))
BOTH = ("eager", "sdpa")
DROP = {"attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0}
HIDDEN = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
SMALL = {
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 16,
    "num_attention_heads": 16,
    "vocab_size": 32000,
}
MODELS = (
    Model("gpt2", language("gpt2", **DROP), LM, BOTH, True),
    Model("bert-base", language("bert", **HIDDEN), ((4, 256), (8, 512)), BOTH, True),
    Model(
        "opt-125m",
        language(
            "opt", hidden_size=768, num_hidden_layers=12, num_attention_heads=12, ffn_dim=3072, dropout=0.0
        ),
        LM,
        BOTH,
        True,
    ),
    Model(
        "pythia-160m",
        language(
            "gpt_neox",
            hidden_size=768,
            num_hidden_layers=12,
            num_attention_heads=12,
            intermediate_size=3072,
            vocab_size=50304,
        ),
        LM,
        BOTH,
        True,
    ),
    Model("llama-300m", language("llama", **SMALL, num_key_value_heads=4), LM, BOTH, True),
    Model("qwen2-300m", language("qwen2", **SMALL, num_key_value_heads=2), LM, BOTH, True),
    Model("qwen3-300m", language("qwen3", **SMALL, num_key_value_heads=4, head_dim=64), LM, BOTH, True),
    Model("phi3-300m", language("phi3", **SMALL, num_key_value_heads=16, pad_token_id=0), LM, BOTH, True),
    Model("resnet50", vision("resnet", "ResNet"), ((8, 224), (32, 224))),
    Model("convnext-tiny", vision("convnext", "ConvNext"), ((8, 224), (16, 224))),
    Model("mobilenet-v2", vision("mobilenet_v2", "MobileNetV2"), ((8, 224), (32, 224))),
    Model("vit-base", vision("vit", "ViT", **HIDDEN), ((4, 224), (16, 224)), BOTH, True),
    Model("deit-base", vision("deit", "DeiT", **HIDDEN), ((4, 224), (16, 224)), BOTH, True),
    Model("swin-tiny", vision("swin", "Swin", drop_path_rate=0.0), ((4, 224), (16, 224))),
    Model("perceptron", perceptron, ((64, 4096), (1024, 4096))),
)


def output(result: Any) -> torch.Tensor:
    """What the gradient is taken of: the logits, or the only tensor."""
    if isinstance(result, torch.Tensor):
        return result
    found = getattr(result, "logits", None)
    return result.last_hidden_state if found is None else found


def kept(module: nn.Module, inputs: dict[str, torch.Tensor]) -> tuple[int, int]:
    """Bytes and number of the storages that autograd saves, without parameters, buffers and inputs."""
    known = {
        t.untyped_storage().data_ptr() for t in (*module.parameters(), *module.buffers(), *inputs.values())
    }
    storages: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        pointer = tensor.untyped_storage().data_ptr()
        if pointer not in known:
            storages[pointer] = tensor.untyped_storage().nbytes()
        # Detached: an output handed back as it is would hold its own graph, which nothing frees.
        return tensor.detach()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = output(module(**inputs))
    del result
    return sum(storages.values()), len(storages)


def step(module: nn.Module, inputs: dict[str, torch.Tensor], optimiser: Any) -> dict[str, int]:
    """One step, and what the allocator says at each of its points."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    result = output(module(**inputs))
    forward, forward_peak = torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    result.backward(torch.ones_like(result))
    backward_peak = torch.cuda.max_memory_allocated()
    size = result.untyped_storage().nbytes()
    del result
    torch.cuda.reset_peak_memory_stats()
    optimiser.step()
    optimiser_peak = torch.cuda.max_memory_allocated()
    optimiser.zero_grad(set_to_none=True)
    return {
        "before_bytes": before,
        "forward_bytes": forward - before,
        "forward_peak_bytes": forward_peak,
        "backward_peak_bytes": backward_peak,
        "optimiser_peak_bytes": optimiser_peak,
        "output_bytes": size,
        "reserved_bytes": torch.cuda.max_memory_reserved(),
    }


def rows(model: Model, dtype: torch.dtype) -> Iterator[dict[str, Any]]:
    for attention in model.attention:
        for again in (False, True) if model.recompute else (False,):
            with torch.device("cuda"):
                module, inputs = model.build(attention)
            module = module.to(dtype).train()
            if again:
                module.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            optimiser = torch.optim.AdamW(module.parameters(), fused=True)
            count = sum(tensor.numel() for tensor in module.parameters())
            for batch, size in model.sizes:
                row: dict[str, Any] = {"model": model.name, "type": str(dtype).removeprefix("torch.")}
                row |= {"attention": attention, "recompute": again, "batch": batch, "size": size}
                row |= {"parameters": count}
                try:
                    given = {
                        name: tensor.to(dtype) if tensor.is_floating_point() else tensor
                        for name, tensor in inputs(batch, size).items()
                    }
                    for _ in range(2):
                        measured = step(module, given, optimiser)
                    row |= measured
                    if not again:
                        row["kept_bytes"], row["kept_tensors"] = kept(module, given)
                except (RuntimeError, TypeError, ValueError, AttributeError) as problem:
                    row["error"] = (str(problem).splitlines() or [type(problem).__name__])[0][:200]
                    print(row, flush=True)
                optimiser.zero_grad(set_to_none=True)
                gc.collect()
                torch.cuda.empty_cache()
                yield row
            del module, optimiser, inputs
            gc.collect()
            torch.cuda.empty_cache()


def record(file: Path, names: list[str]) -> None:
    began = time.monotonic()
    done: list[dict[str, Any]] = []
    for model in MODELS:
        if names and model.name not in names:
            continue
        for dtype in (torch.float32, torch.bfloat16):
            try:
                done += rows(model, dtype)
            except (RuntimeError, TypeError, ValueError, AttributeError, ImportError) as problem:
                print(model.name, type(problem).__name__, problem, flush=True)
        print(f"{model.name} after {time.monotonic() - began:.0f} s", flush=True)
        head = {
            "date": datetime.now(UTC).date().isoformat(),
            "device": torch.cuda.get_device_name(0),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        }
        text = ",\n  ".join(json.dumps(row) for row in done)
        file.write_text(json.dumps(head)[:-1] + f', "rows": [\n  {text}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    torch.backends.cuda.matmul.allow_tf32 = False
    record(Path(sys.argv[1]), sys.argv[2:])
