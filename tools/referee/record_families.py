"""What real models compute and count at one small size each: specs/families is held to it.

    python -m tools.referee.record_families reports/data/families.json

needs torch and transformers, and no tolcost.  Weights come from the names of a program's inputs
(``family_inputs``), are put into the model of transformers, and the logits written down beside what PyTorch's
FlopCounterMode counts and what a Trainer of transformers takes a step for.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from tools.referee import real_models
from tools.referee.family_inputs import inputs_of


def fused() -> dict[str, int]:
    """What is counted of an attention in one call, on this machine and as a product and a softmax."""
    q = torch.zeros(1, 2, 4, 3)
    found = {}
    for name, how in (
        ("fused", nn.functional.scaled_dot_product_attention),
        ("apart", lambda a, b, c: a @ b.mT @ c),
    ):
        with FlopCounterMode(display=False) as counter:
            how(q, q, q)
        found[name] = counter.get_total_flops()
    return found


DECODER = {"b": 2, "s": 4, "v": 7, "d": 8, "c": 2, "g": 2, "r": 2, "l": 2, "f": 5}
SIZES: dict[str, tuple[Callable[..., Any], dict[str, int]]] = {
    "gpt2": (real_models.gpt2, {"b": 2, "s": 4, "v": 7, "h": 2, "e": 3, "p": 5, "l": 2, "f": 5}),
    "llama": (real_models.llama, DECODER),
    "llama_causal": (real_models.llama, DECODER),
    "mistral": (real_models.mistral, DECODER | {"window": 2}),
    "mixtral": (real_models.mixtral, DECODER | {"n": 4, "k": 2}),
    "deepseek": (
        real_models.deepseek,
        {"b": 2, "s": 4, "v": 7, "d": 6, "c": 1, "l": 2, "r": 5, "e": 3, "h": 2, "t": 4, "u": 3, "f": 5},
    ),
    "bert": (real_models.bert, {"b": 2, "s": 4, "v": 7, "h": 2, "e": 3, "p": 5, "l": 2, "f": 5}),
    "t5": (real_models.t5, {"b": 2, "n": 3, "s": 4, "v": 7, "d": 6, "h": 2, "e": 3, "l": 1, "m": 2, "f": 5}),
    "vit": (
        real_models.vit,
        {"b": 2, "n": 3, "p": 2, "y": 2, "x": 2, "h": 2, "e": 3, "l": 2, "f": 5, "v": 4},
    ),
    "resnet": (real_models.resnet, {"b": 2, "n": 2, "y": 4, "x": 3, "c": 3, "l": 2, "v": 4}),
    "mixer": (
        real_models.mixer,
        {"b": 2, "n": 2, "p": 2, "y": 2, "x": 2, "d": 5, "t": 3, "l": 2, "f": 4, "v": 4},
    ),
    "mamba": (real_models.mamba, {"b": 2, "s": 4, "v": 7, "d": 4, "w": 8, "n": 3, "k": 3, "q": 2, "l": 2}),
    "lstm": (real_models.lstm, {"b": 2, "s": 3, "v": 5, "d": 4, "l": 2}),
}


def record(family: str) -> dict[str, Any]:
    """The logits and the counts of a family at its size."""
    build, lengths = SIZES[family]
    inputs = inputs_of(family, lengths)
    model, given = build(lengths, inputs)
    tensors = [torch.tensor(value) for value in given]
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        found = model(*tensors)
    logits = getattr(found, "logits", found)
    inner = model.model if isinstance(model, real_models.Call) else model
    step = (
        6 * tensors[0].numel() * inner.num_parameters(exclude_embeddings=True)
        if isinstance(inner, transformers.PreTrainedModel)
        else None
    )
    return {
        "model": type(inner).__name__,
        "lengths": lengths,
        "flop_counter": counter.get_total_flops(),
        "trainer": step,
        "logits": [round(float(x), 12) for x in logits.flatten()],
    }


def main() -> None:
    torch.manual_seed(0)
    facts = {"torch": torch.__version__, "transformers": transformers.__version__}
    facts |= {"attention_on_cpu": fused()}
    families = {family: record(family) for family in SIZES}
    Path(sys.argv[1]).write_text(json.dumps(facts | {"families": families}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
