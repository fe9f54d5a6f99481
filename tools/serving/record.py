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
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSpeechSeq2Seq,
    T5ForConditionalGeneration,
)
from transformers.cache_utils import EncoderDecoderCache

SMALL = {
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 101,
    "max_position_embeddings": 64,
}
OTHER = SMALL | {
    "hidden_size": 96,
    "intermediate_size": 112,
    "num_hidden_layers": 5,
    "num_attention_heads": 6,
    "num_key_value_heads": 3,
    "vocab_size": 150,
}
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
    *without(OWN_NETWORK, both("falcon", {"new_decoder_architecture": True, "num_kv_heads": 2})),
    *without(
        OWN_NETWORK,
        both("falcon", {"parallel_attn": False, "bias": True, "alibi": True, "multi_query": False}),
    ),
    *both("mixtral", EXPERTS),
    *both("qwen2_moe", QWEN_EXPERTS, {"shared_expert_intermediate_size": 40}),
    *both("qwen3_moe", QWEN_EXPERTS, {"head_dim": 16}),
    *both("qwen3_moe", QWEN_EXPERTS, {"head_dim": 16, "decoder_sparse_step": 2}),
    *both("gpt_oss", EXPERTS, WINDOW, {"head_dim": 16}),
]
LATENT = {
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 101,
    "max_position_embeddings": 64,
    "q_lora_rank": 20,
    "kv_lora_rank": 24,
    "qk_nope_head_dim": 12,
    "qk_rope_head_dim": 8,
    "v_head_dim": 10,
    "n_routed_experts": 6,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 28,
    "n_shared_experts": 2,
    "first_k_dense_replace": 1,
    "n_group": 2,
    "topk_group": 1,
}
WIDER = LATENT | {
    "hidden_size": 96,
    "num_hidden_layers": 5,
    "num_attention_heads": 6,
    "kv_lora_rank": 40,
    "num_key_value_heads": 6,
    "vocab_size": 150,
    "first_k_dense_replace": 2,
}
CASES += [(kind, size) for kind in ("deepseek_v2", "deepseek_v3") for size in (LATENT, WIDER)]
CASES += [("deepseek_v2", LATENT | {"q_lora_rank": None})]
CASES += both(
    "llama4_text",
    {
        "num_local_experts": 4,
        "intermediate_size_mlp": 64,
        "interleave_moe_layer_step": 2,
        "attention_chunk_size": 32,
        "num_experts_per_tok": 1,
        "head_dim": 16,
    },
)
MAMBA = {"hidden_size": 48, "state_size": 7, "num_hidden_layers": 3, "vocab_size": 101, "time_step_rank": 5}
JAMBA = SMALL | {
    "attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 0,
    "num_experts": 4, "num_experts_per_tok": 2, "mamba_d_state": 7, "mamba_dt_rank": 5,
}  # fmt: skip
LINEAR = {"layer_types": ["linear_attention", "linear_attention", "full_attention"]}
MORE_LINEAR = {"layer_types": ["full_attention", "linear_attention"] * 2 + ["full_attention"]}
NEXT = {
    **QWEN_EXPERTS, "shared_expert_intermediate_size": 40, "head_dim": 16, "linear_num_key_heads": 2,
    "linear_num_value_heads": 4, "linear_key_head_dim": 6, "linear_value_head_dim": 5,
}  # fmt: skip
MAMBA2 = {
    "hidden_size": 48,
    "state_size": 10,
    "num_hidden_layers": 3,
    "vocab_size": 101,
    "num_heads": 8,
    "head_dim": 12,
    "n_groups": 2,
}
H1 = SMALL | {
    "mamba_d_ssm": 72,
    "mamba_n_heads": 6,
    "mamba_d_head": 12,
    "mamba_n_groups": 2,
    "mamba_d_state": 10,
}
CASES += [
    ("mamba", MAMBA),
    ("mamba", MAMBA | {"hidden_size": 64, "conv_kernel": 3, "use_bias": True}),
    ("jamba", JAMBA),
    (
        "jamba",
        OTHER | {**JAMBA, "hidden_size": 96, "num_hidden_layers": 5, "num_experts": 3, "mamba_d_conv": 3},
    ),
    ("qwen3_next", SMALL | NEXT | LINEAR),
    ("qwen3_next", OTHER | NEXT | MORE_LINEAR | {"linear_value_head_dim": 7, "linear_conv_kernel_dim": 3}),
    ("minimax", SMALL | EXPERTS | LINEAR),
    ("minimax", OTHER | EXPERTS | MORE_LINEAR | {"head_dim": 12}),
    ("mamba2", MAMBA2),
    ("mamba2", MAMBA2 | {"num_hidden_layers": 5, "conv_kernel": 3, "state_size": 6}),
    ("falcon_h1", H1),
    ("falcon_h1", OTHER | {**H1, "num_hidden_layers": 5, "hidden_size": 96}),
]
BERT = {k: v for k, v in SMALL.items() if k != "num_key_value_heads"}
CASES += [
    ("rwkv", {"hidden_size": 48, "num_hidden_layers": 3, "vocab_size": 101}),
    ("rwkv", {"hidden_size": 96, "num_hidden_layers": 5, "vocab_size": 150, "intermediate_size": 130}),
    ("bert", BERT),
    ("bert", {k: v for k, v in OTHER.items() if k != "num_key_value_heads"} | {"type_vocab_size": 3}),
]
WHISPER = {
    "vocab_size": 101, "d_model": 48, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 56, "decoder_ffn_dim": 72, "num_mel_bins": 10,
    "max_source_positions": 14, "max_target_positions": 30, "pad_token_id": 0,
}  # fmt: skip
T5 = {"vocab_size": 101, "d_model": 48, "d_kv": 12, "d_ff": 80, "num_layers": 3, "num_heads": 4}
CASES += [
    ("whisper", WHISPER),
    ("whisper", WHISPER | {"d_model": 96, "encoder_layers": 4, "decoder_layers": 2, "num_mel_bins": 12}),
    ("t5", T5),
    ("t5", T5 | {"d_model": 60, "num_decoder_layers": 2, "feed_forward_proj": "gated-gelu"}),
]
MORE_EXPERTS = {
    "n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 28, "n_shared_experts": 2,
    "first_k_dense_replace": 1, "n_group": 2, "topk_group": 1, "head_dim": 16,
}  # fmt: skip
CASES += [
    *both("granite", {"attention_bias": True}),
    *both("granitemoe", EXPERTS),
    *both("smollm3", {"pad_token_id": 0}),
    *both("seed_oss", {"head_dim": 16}),
    *both("ernie4_5", {"use_bias": True}),
    ("helium", SMALL | {"head_dim": 12}),
    ("helium", OTHER | {"head_dim": 16}),
    *both("hunyuan_v1_dense", {"head_dim": 16}),
    *both("stablelm", {"use_qkv_bias": True, "partial_rotary_factor": 0.5}),
    *both("olmo3", WINDOW),
    *both("olmoe", {"num_experts_per_tok": 2, "num_experts": 5}),
    *both("glm4", {"head_dim": 16, "pad_token_id": 0}),
    *both("glm4_moe", MORE_EXPERTS, {"use_qk_norm": True}),
    ("gpt_bigcode", GPT2),
    ("gpt_bigcode", GPT2_OTHER | {"multi_query": False}),
]
OF_TYPE = {
    "bert": AutoModelForMaskedLM,
    "whisper": AutoModelForSpeechSeq2Seq,
    "t5": T5ForConditionalGeneration,
}
BATCH, PROMPTS = 2, (5, 11, 19)


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
    if kind == "t5":
        model = T5ForConditionalGeneration(config).eval()
    else:
        of_type = OF_TYPE.get(kind, AutoModelForCausalLM)
        model = of_type.from_config(config, attn_implementation="eager").eval()
    row: dict[str, Any] = {"config": json.loads(json.dumps(config.to_dict(), default=str))}
    row["parameters"] = sum(tensor.numel() for tensor in model.parameters())
    take = {"bert": run_encoder, "whisper": run_pair, "t5": run_pair}.get(kind, run)
    row["runs"] = [found for prompt in PROMPTS for found in take(model, config, prompt)]
    return row


def _tensors(values: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor) and value.dim() > 2:
            found.append(value)
        elif isinstance(value, dict):
            found += _tensors(value.values())
    return found


def counted(call: Any) -> tuple[Any, int]:
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        found = call()
    return found, counter.get_total_flops() // 2


def run_encoder(model: Any, config: Any, prompt: int) -> list[dict[str, Any]]:
    """Read a prompt, of which nothing is kept."""
    ids = torch.randint(0, config.vocab_size, (BATCH, prompt))
    _, macs = counted(lambda: model(ids))
    return [{"batch": BATCH, "new": prompt, "past": 0, "macs": macs, "kept": 0}]


def run_pair(model: Any, config: Any, prompt: int) -> list[dict[str, Any]]:
    """Read a prompt by an encoder, and make two tokens; Whisper's prompt is the decoder's, after a sound."""
    ids = torch.randint(0, config.vocab_size, (BATCH, prompt))
    hears = config.model_type == "whisper"
    if hears:
        given = {"input_features": torch.randn(BATCH, config.num_mel_bins, 2 * config.max_source_positions)}
        start = ids
    else:
        given, start = {"input_ids": ids}, torch.zeros((BATCH, 1), dtype=torch.long)
    first, macs = counted(lambda: model(**given, decoder_input_ids=start, use_cache=True))
    source = {} if hears else {"source": prompt}
    begun = prompt if hears else 1
    rows = [{"batch": BATCH, "new": begun, "past": 0, **source, "macs": macs, "kept": kept_in(first)}]
    states, cache = (first.encoder_last_hidden_state,), first.past_key_values
    for made in (0, 1):
        given = {"encoder_outputs": states, "decoder_input_ids": ids[:, :1], "past_key_values": cache}
        later, macs = counted(lambda given=given: model(**given, use_cache=True))
        cache, past = later.past_key_values, begun + made
        rows.append({"batch": BATCH, "past": past, **source, "macs": macs, "kept": kept_in(later)})
    return rows


def kept_in(found: Any) -> int:
    cache = found.past_key_values
    assert isinstance(cache, EncoderDecoderCache)
    layers = [*cache.self_attention_cache.layers, *cache.cross_attention_cache.layers]
    return sum(value.numel() for layer in layers for value in _tensors(vars(layer).values()))


def run(model: Any, config: Any, prompt: int) -> list[dict[str, Any]]:
    """Read a prompt, then count one more token: its products, and what is kept after it."""
    batch = 1 if config.model_type == "rwkv" else BATCH  # transformers' RWKV mixes the texts of a batch
    ids = torch.randint(0, config.vocab_size, (batch, prompt + 1))
    with torch.no_grad():
        first = model(ids[:, :prompt], use_cache=True)
        key = next(
            key
            for key in ("past_key_values", "cache_params", "state")
            if getattr(first, key, None) is not None
        )
        cache = getattr(first, key)
        counter = FlopCounterMode(display=False)
        with counter:
            found = model(ids[:, prompt:], **{key: cache}, use_cache=True)
    counts = counter.get_flop_counts()
    places = [name for name in counts if name.rpartition(".")[2] in ("rotary_emb", "rotary_embedding")]
    angles = sum(sum(counts[name].values()) for name in places)
    kept = getattr(found, key)
    layers = [{"all": one} for one in kept] if key == "state" else [vars(layer) for layer in kept.layers]
    layers += [{"states": one} for one in getattr(kept, "linear_cache", ())]  # of MiniMax
    held = sum(value.numel() for layer in layers for value in _tensors(layer.values()))
    macs = (counter.get_total_flops() - angles) // 2
    return [{"batch": batch, "past": prompt, "macs": macs, "kept": held}]


if __name__ == "__main__":
    main(sys.argv[1])
