"""Records parameters, products and caches of transformers' modules with random weights, at small sizes.

    python tools/serving/record.py tests/plan/recorded.json

It needs torch and transformers; the tests read the file, and need neither.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoConfig, AutoModelForCausalLM

SMALL = {"hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 3, "num_attention_heads": 4,
         "num_key_value_heads": 2, "vocab_size": 101, "max_position_embeddings": 64}  # fmt: skip
OTHER = SMALL | {"hidden_size": 96, "intermediate_size": 112, "num_hidden_layers": 5,
                 "num_attention_heads": 6, "num_key_value_heads": 3, "vocab_size": 150}  # fmt: skip
GPT2 = {"n_embd": 48, "n_layer": 3, "n_head": 4, "vocab_size": 101, "n_positions": 64}
GPT2_OTHER = {"n_embd": 96, "n_layer": 5, "n_head": 6, "n_inner": 130, "vocab_size": 150, "n_positions": 70}
EXPERTS = {"num_experts_per_tok": 2, "num_local_experts": 5}
QWEN_EXPERTS = {"num_experts_per_tok": 2, "num_experts": 5, "moe_intermediate_size": 24}
ALL_HEADS = {"num_key_value_heads": 4}
OWN_NETWORK = ["intermediate_size", "num_key_value_heads"]
WINDOW = {"sliding_window": 8}


def both(kind: str, *more: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Two sizes of a type, with further keys."""
    added = {key: value for one in more for key, value in one.items()}
    return [(kind, SMALL | added), (kind, OTHER | added)]


def without(keys: list[str], rows: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, dict[str, Any]]]:
    return [(kind, {k: v for k, v in said.items() if k not in keys}) for kind, said in rows]


CASES = [
    *both("llama"),
    *both("llama", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "head_dim": 20}),
    *both("mistral", WINDOW),
    *both("mistral", {"sliding_window": None}),
    *both("qwen2"),
    *both("qwen2", WINDOW, {"use_sliding_window": True, "max_window_layers": 2}),
    *both("qwen3", {"head_dim": 16}),
    ("gpt2", GPT2),
    ("gpt2", GPT2_OTHER),
    *without(OWN_NETWORK, both("opt", {"ffn_dim": 72, "word_embed_proj_dim": 48})[:1]),
    *without(OWN_NETWORK, both("opt", {"ffn_dim": 72, "word_embed_proj_dim": 96})[1:]),
    *without(["num_key_value_heads"], both("gpt_neox")),
    *without(["num_key_value_heads"], both("gpt_neox", {"use_parallel_residual": False, "rotary_pct": 0.5})),
    *both("gemma", {"head_dim": 16}),
    *both("gemma2", {"head_dim": 16}, WINDOW),
    *both("gemma3_text", {"head_dim": 16}, WINDOW),
    *both("phi3", {"pad_token_id": 0}),
    *both("olmo2"),
    *both("starcoder2"),
    *both("cohere"),
    *both("cohere2", WINDOW),
    ("bloom", {"hidden_size": 48, "n_layer": 3, "n_head": 4, "vocab_size": 101}),
    ("bloom", {"hidden_size": 96, "n_layer": 5, "n_head": 6, "vocab_size": 150}),
    ("mpt", {"d_model": 48, "n_layers": 3, "n_heads": 4, "vocab_size": 101, "max_seq_len": 64}),
    ("mpt", {"d_model": 96, "n_layers": 5, "n_heads": 6, "vocab_size": 150, "max_seq_len": 64}),
    *without(OWN_NETWORK, both("falcon")),
    *without(OWN_NETWORK,
             both("falcon", {"new_decoder_architecture": True, "num_kv_heads": 2})),
    *without(OWN_NETWORK,
             both("falcon", {"parallel_attn": False, "bias": True, "alibi": True, "multi_query": False})),
    *both("mixtral", EXPERTS),
    *both("qwen2_moe", QWEN_EXPERTS, {"shared_expert_intermediate_size": 40}),
    *both("qwen3_moe", QWEN_EXPERTS, {"head_dim": 16}),
    *both("qwen3_moe", QWEN_EXPERTS, {"head_dim": 16, "decoder_sparse_step": 2}),
    *both("gpt_oss", EXPERTS, WINDOW, {"head_dim": 16}),
]  # fmt: skip
BATCH, PROMPTS = 2, (5, 11)


def main(file: str) -> None:
    rows = []
    for kind, said in CASES:
        row = recorded(kind, said)
        print(kind, {k: v for k, v in row.items() if k != "config"}, flush=True)
        rows.append(row)
    head = {"torch": torch.__version__, "transformers": transformers.__version__}
    text = ",\n  ".join(json.dumps(row) for row in rows)
    Path(file).write_text(json.dumps(head)[:-1] + f', "rows": [\n  {text}\n]}}\n', encoding="utf-8")


def recorded(kind: str, said: dict[str, Any]) -> dict[str, Any]:
    config = AutoConfig.for_model(kind, **said)
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"  # grouped products are not counted
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    whole = {k: v for k, v in config.to_dict().items() if v is not None}
    row: dict[str, Any] = {"config": json.loads(json.dumps(whole, default=str))}
    row["parameters"] = sum(tensor.numel() for tensor in model.parameters())
    row["runs"] = [run(model, config, prompt) for prompt in PROMPTS]
    return row


def run(model: Any, config: Any, prompt: int) -> dict[str, Any]:
    """Read a prompt, then count one more token: its products, and what is kept after it."""
    ids = torch.randint(0, config.vocab_size, (BATCH, prompt + 1))
    with torch.no_grad():
        first = model(ids[:, :prompt], use_cache=True)
        counter = FlopCounterMode(display=False)
        with counter:
            found = model(ids[:, prompt:], past_key_values=first.past_key_values, use_cache=True)
    counts = counter.get_flop_counts()
    places = [name for name in counts if name.rpartition(".")[2] in ("rotary_emb", "rotary_embedding")]
    angles = sum(sum(counts[name].values()) for name in places)
    held = 0
    for layer in found.past_key_values.layers:
        held += layer.keys.numel() + layer.values.numel()
    return {"batch": BATCH, "past": prompt, "macs": (counter.get_total_flops() - angles) // 2, "kept": held}


if __name__ == "__main__":
    main(sys.argv[1])
