"""Records what transformers' modules hold at once while they read a prompt: all storages but the parameters.

    python tools/serving/activations.py tests/plan/activations.json

It needs torch and transformers; a test reads the file, and needs neither. Runs are in bfloat16; they keep no
scores of attention, and no cache.
"""

from __future__ import annotations

import json
import sys
import weakref
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import AutoConfig, AutoModelForCausalLM

SMALL = {
    "hidden_size": 64,
    "intermediate_size": 160,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 101,
    "max_position_embeddings": 256,
}
WIDE = SMALL | {
    "hidden_size": 96,
    "intermediate_size": 480,
    "num_attention_heads": 6,
    "num_key_value_heads": 6,
}
OWN: dict[str, dict[str, Any]] = {
    "gemma": {"head_dim": 16},
    "phi3": {"pad_token_id": 0},
    "qwen3": {"head_dim": 16},
}
KINDS = ("llama", "mistral", "qwen2", "qwen3", "gemma", "phi3", "olmo2", "starcoder2", "gpt_neox", "cohere")
BATCH, PROMPT = 2, 96


class Held(TorchDispatchMode):
    """Adds up the bytes of storages that are alive, without those that were there before."""

    def __init__(self, known: set[int]) -> None:
        super().__init__()
        self.known, self.now, self.most = known, 0, 0
        self.alive: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(found):
            if isinstance(leaf, torch.Tensor):
                self.note(leaf.untyped_storage())
        return found

    def note(self, storage: torch.UntypedStorage) -> None:
        key, size = storage.data_ptr(), storage.nbytes()
        if key in self.known or key in self.alive or not size:
            return
        self.alive.add(key)
        self.now += size
        self.most = max(self.most, self.now)
        weakref.finalize(storage, self.gone, key, size)

    def gone(self, key: int, size: int) -> None:
        self.alive.discard(key)
        self.now -= size


def recorded(kind: str, size: dict[str, Any]) -> dict[str, Any]:
    said = size | OWN.get(kind, {})
    if kind == "gpt_neox":
        said = {k: v for k, v in said.items() if k != "num_key_value_heads"}
    config = AutoConfig.for_model(kind, **said)
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa", dtype=torch.bfloat16).eval()
    ids = torch.randint(0, config.vocab_size, (BATCH, PROMPT))
    tensors = [*model.parameters(), *model.buffers(), ids]
    held = Held({tensor.untyped_storage().data_ptr() for tensor in tensors})
    with torch.no_grad(), held:
        model(ids, use_cache=False, logits_to_keep=1)
    whole = {k: v for k, v in config.to_dict().items() if v is not None}
    row = {"config": json.loads(json.dumps(whole, default=str)), "batch": BATCH, "prompt": PROMPT}
    return row | {"held": held.most}


def main(file: str) -> None:
    rows = [recorded(kind, size) for kind in KINDS for size in (SMALL, WIDE)]
    head = {"torch": torch.__version__, "transformers": transformers.__version__}
    text = ",\n  ".join(json.dumps(row) for row in rows)
    Path(file).write_text(json.dumps(head)[:-1] + f', "rows": [\n  {text}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
