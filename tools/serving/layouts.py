"""Where the parameters of transformers' modules stand in the serving programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tolcost.apps.plan.door import PlannedModel

from .further import FURTHER, Array

WINDOW = {"sliding_window": 4}
LOCAL_FIRST = {"layer_types": ["sliding_attention", "sliding_attention", "full_attention"]}
NO_HEADS = {"num_key_value_heads": None}
OWN = {"num_key_value_heads": None, "intermediate_size": None}
GPT2 = {**OWN, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": 40}
GEMMA = {"head_dim": 8, "query_pre_attn_scalar": 8, **WINDOW, **LOCAL_FIRST}
BIASED = {"attention_bias": True, "mlp_bias": True}
SMALL_EXPERTS = {"num_experts_per_tok": 2, "num_experts": 5, "moe_intermediate_size": 12}
EXPERTS = {"num_experts_per_tok": 2, "num_local_experts": 5}

WEIGHTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "llama": ("llama", {}),
    "llama biased": (
        "llama",
        {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "head_dim": 8},
    ),
    "mistral": ("mistral", WINDOW),
    "qwen2": ("qwen2", {}),
    "qwen3": ("qwen3", {"head_dim": 8}),
    "phi3": ("phi3", {}),
    "olmo2": ("olmo2", {}),
    "starcoder2": ("starcoder2", {"norm_epsilon": 1e-5}),
    "gemma": ("gemma", {"head_dim": 8}),
    "gemma2": ("gemma2", GEMMA),
    "gemma3_text": ("gemma3_text", {**GEMMA, "rope_local_base_freq": 10000, "rope_theta": 10000}),
    "cohere": ("cohere", {}),
    "cohere2": ("cohere2", {**WINDOW, **LOCAL_FIRST}),
    "gpt2": ("gpt2", GPT2),
    "opt": ("opt", {**OWN, "ffn_dim": 20, "word_embed_proj_dim": 24}),
    "gpt_neox": ("gpt_neox", NO_HEADS),
    "bloom": ("bloom", {**OWN, "n_layer": 3, "n_head": 4}),
    "mpt": ("mpt", {**OWN, "d_model": 24, "n_layers": 3, "n_heads": 4, "max_seq_len": 40}),
    "falcon": ("falcon", OWN),
    "falcon new": ("falcon", {**OWN, "new_decoder_architecture": True, "num_kv_heads": 2}),
    "falcon alibi": (
        "falcon",
        {**OWN, "parallel_attn": False, "bias": True, "alibi": True, "multi_query": False},
    ),
    "granite": ("granite", {"attention_bias": True, "attention_multiplier": 6**-0.5}),
    "seed_oss": ("seed_oss", {"head_dim": 8}),
    "stablelm": ("stablelm", {"use_qkv_bias": True, "partial_rotary_factor": 0.67}),
    "olmo3": ("olmo3", {**WINDOW, **LOCAL_FIRST}),
    "olmoe": ("olmoe", {"num_experts_per_tok": 2, "num_experts": 5}),
    "mixtral": ("mixtral", EXPERTS),
    "qwen2_moe": ("qwen2_moe", {**SMALL_EXPERTS, "shared_expert_intermediate_size": 16}),
    "qwen3_moe": ("qwen3_moe", {**SMALL_EXPERTS, "head_dim": 8, "norm_topk_prob": True}),
    "gpt_oss": ("gpt_oss", {**EXPERTS, **WINDOW, **LOCAL_FIRST, "head_dim": 8}),
}
"""Types with their configurations; layers with a window come first, as in the programs."""
LATENT = {
    "num_key_value_heads": 4, "q_lora_rank": 10, "kv_lora_rank": 12, "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 4, "v_head_dim": 5, "n_routed_experts": 6, "num_experts_per_tok": 2,
    "moe_intermediate_size": 14, "n_shared_experts": 2, "first_k_dense_replace": 1, "n_group": 1,
    "topk_group": 1, "routed_scaling_factor": 1.0,
}  # fmt: skip
BARE = {"num_attention_heads": None, "num_key_value_heads": None, "intermediate_size": None}
PROMPTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "deepseek_v2": ("deepseek_v2", {**LATENT, "topk_method": "greedy"}),
    "deepseek_v3": ("deepseek_v3", LATENT),
    "mamba": ("mamba", {**BARE, "state_size": 5, "time_step_rank": 3}),
    "rwkv": ("rwkv", {**BARE, "rescale_every": 0}),
    "bert": ("bert", {"num_key_value_heads": None, "layer_norm_eps": 1e-5}),
}
"""Types of which a prompt alone is compared: what they keep is kept otherwise by transformers."""

LAYERS = (
    "model.layers", "transformer.h", "model.decoder.layers", "gpt_neox.layers", "transformer.blocks",
)  # fmt: skip
# names within a layer, in the order of the norms of the programs
FOUR = (
    "input_layernorm",
    "post_attention_layernorm",
    "pre_feedforward_layernorm",
    "post_feedforward_layernorm",
)
NORMS = {
    "gemma2": FOUR, "gemma3_text": FOUR,
    "olmo2": ("post_attention_layernorm", "post_feedforward_layernorm"),
    "olmo3": ("post_attention_layernorm", "post_feedforward_layernorm"),
    "cohere": ("input_layernorm",), "cohere2": ("input_layernorm",),
    "gpt2": ("ln_1", "ln_2"), "mpt": ("norm_1", "norm_2"),
    "opt": ("self_attn_layer_norm", "final_layer_norm"),
}  # fmt: skip
FALCON = {
    1: ("input_layernorm",),
    2: ("input_layernorm", "post_attention_layernorm"),
    3: ("ln_attn", "ln_mlp"),
}
MATRICES = {
    "q": ("self_attn.q_proj",), "k": ("self_attn.k_proj",), "w": ("self_attn.v_proj",),
    "out": ("self_attn.o_proj", "attn.c_proj", "self_attn.out_proj", "attention.dense",
            "self_attention.dense", "attn.out_proj"),
    "gate": ("mlp.gate_proj",), "gate_up": ("mlp.gate_up_proj",),
    "up": ("mlp.up_proj", "mlp.c_fc", "fc1", "mlp.dense_h_to_4h", "ffn.up_proj"),
    "down": ("mlp.down_proj", "mlp.c_proj", "fc2", "mlp.dense_4h_to_h", "ffn.down_proj"),
    "qkv": ("self_attn.qkv_proj", "attn.c_attn", "attention.query_key_value",
            "self_attention.query_key_value", "attn.Wqkv"),
    "router": ("mlp.gate", "block_sparse_moe.gate", "mlp.router"),
    "common_gate": ("mlp.shared_expert.gate_proj",), "common_up": ("mlp.shared_expert.up_proj",),
    "common_down": ("mlp.shared_expert.down_proj",), "common_share": ("mlp.shared_expert_gate",),
}  # fmt: skip
BIASES = {"q": "q_bias", "k": "k_bias", "w": "w_bias", "out": "out_bias", "gate": "gate_bias",
          "up": "up_bias", "down": "down_bias", "qkv": "qkv_bias", "router": "router_bias"}  # fmt: skip
VECTORS = {
    "q_norm": ("self_attn.q_norm",), "k_norm": ("self_attn.k_norm",), "sinks": ("self_attn.sinks",),
}  # fmt: skip
TOKENS = (
    "model.embed_tokens",
    "transformer.wte",
    "model.decoder.embed_tokens",
    "gpt_neox.embed_in",
    "transformer.word_embeddings",
)
PLACES = ("transformer.wpe", "model.decoder.embed_positions")
LAST = (
    "model.norm",
    "transformer.ln_f",
    "model.decoder.final_layer_norm",
    "gpt_neox.final_layer_norm",
    "transformer.norm_f",
)
HEAD = ("lm_head", "embed_out")


def drawn(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
    """Draw the parameters of a module: norms near 1, the others near 0."""
    found = {}
    for seed, (name, shape) in enumerate(sorted(shapes.items())):
        near = any(mark in name for mark in ("norm", "ln_", "layernorm")) and not name.endswith("bias")
        numbers = np.random.default_rng(seed).standard_normal(tuple(shape))
        found[name] = numbers * 0.1 + 1 if near else numbers * 0.3
    return found


def parameters(kind: str, state: Mapping[str, Array], model: PlannedModel) -> dict[str, Array]:
    """Return the parameters of the program from those of a module, by name."""
    if kind in FURTHER:
        return FURTHER[kind](state, model)
    prefix = next(one for one in LAYERS if any(name.startswith(f"{one}.0.") for name in state))
    found = _layers(kind, state, prefix, model)
    tokens = next(one for one in TOKENS if f"{one}.weight" in state)
    found["tokens"] = state[f"{tokens}.weight"]
    last = next(one for one in LAST if f"{one}.weight" in state)
    found["last"] = state[f"{last}.weight"] + (1 if kind.startswith("gemma") else 0)
    if f"{last}.bias" in state:
        found["last_bias"] = state[f"{last}.bias"]
    for one in HEAD:
        if f"{one}.weight" in state:
            found["head"] = state[f"{one}.weight"].T
    for one in PLACES:
        if f"{one}.weight" in state:
            moved = 2 if kind == "opt" else 0
            found["places"] = np.roll(state[f"{one}.weight"], -moved, axis=0)
    first = "transformer.word_embeddings_layernorm"
    if f"{first}.weight" in state:
        found["first_norm"] = np.stack([state[f"{first}.weight"], state[f"{first}.bias"]])
    return found


def _layers(kind: str, state: Mapping[str, Array], prefix: str, model: PlannedModel) -> dict[str, Array]:
    n, found = model.lengths, dict[str, list[Array]]()

    def put(name: str, value: Array) -> None:
        found.setdefault(name, []).append(value)

    for i in range(n["l"]):
        start = f"{prefix}.{i}."
        own = {name.removeprefix(start): value for name, value in state.items() if name.startswith(start)}
        _norms(kind, own, n, put)
        for name, places in MATRICES.items():
            place = next((one for one in places if f"{one}.weight" in own), None)
            if place is not None:
                _matrix(kind, name, own[f"{place}.weight"], own.get(f"{place}.bias"), model, put)
        for name, places in VECTORS.items():
            key = next((key for one in places for key in (f"{one}.weight", one) if key in own), None)
            if key is not None:
                long = "long_" if kind.startswith("olmo") and name != "sinks" else ""
                put(f"{long}{name}", own[key] + (1 if kind.startswith("gemma") else 0))
        _experts(own, put)
    return {name: np.stack(values) for name, values in found.items()}


def _matrix(
    kind: str,
    name: str,
    weight: Array,
    bias: Array | None,
    model: PlannedModel,
    put: Callable[[str, Array], None],
) -> None:
    if kind != "gpt2":  # whose modules have them the other way round
        weight = weight.T
    ordered = name in ("q", "k", "qkv")
    put(name, _ordered(kind, name, weight, model) if ordered else weight)
    if bias is not None:
        put(BIASES[name], _ordered(kind, name, bias, model) if ordered else bias)


def _norms(
    kind: str, own: Mapping[str, Array], n: Mapping[str, int], put: Callable[[str, Array], None]
) -> None:
    names = NORMS.get(kind, ("input_layernorm", "post_attention_layernorm"))
    if kind == "falcon":
        names = FALCON[3] if "ln_attn.weight" in own else FALCON[n["n"]]
    more = 1 if kind.startswith("gemma") else 0
    put("norms", np.stack([own[f"{one}.weight"] + more for one in names]))
    if f"{names[0]}.bias" in own:
        put("norm_biases", np.stack([own[f"{one}.bias"] for one in names]))


def _ordered(kind: str, name: str, value: Array, model: PlannedModel) -> Array:
    """Put the columns of queries and keys into the order of the programs."""
    n = model.lengths
    g, r, e = n["g"], n["r"], n["e"]
    lead = value.shape[:-1]
    if (name == "qkv" and kind in ("gpt_neox", "bloom")) or (kind == "falcon" and g == g * r and g > 1):
        return np.moveaxis(value.reshape(*lead, g, 3, e), -2, -3).reshape(*lead, -1)
    if name == "qkv" and kind == "falcon" and g > 1:
        apart = value.reshape(*lead, g, r + 2, e)
        parts = apart[..., :r, :], apart[..., r : r + 1, :], apart[..., r + 1 :, :]
        return np.concatenate([part.reshape(*lead, -1) for part in parts], axis=-1)
    if kind.startswith("cohere") and name != "qkv":
        heads = value.reshape(*lead, -1, e)
        return np.concatenate([heads[..., ::2], heads[..., 1::2]], axis=-1).reshape(*lead, -1)
    return value


def _experts(own: Mapping[str, Array], put: Callable[[str, Array], None]) -> None:
    both = next((own[one] for one in own if one.endswith("experts.gate_up_proj")), None)
    if both is None:
        return
    down = next(own[one] for one in own if one.endswith("experts.down_proj"))
    if "mlp.experts.gate_up_proj_bias" in own:  # gates and others take turns
        put("gates", both[..., ::2])
        put("ups", both[..., 1::2])
        put("gate_biases", own["mlp.experts.gate_up_proj_bias"][..., ::2])
        put("up_biases", own["mlp.experts.gate_up_proj_bias"][..., 1::2])
        put("downs", down)
        put("down_biases", own["mlp.experts.down_proj_bias"])
        return
    half = both.shape[1] // 2
    put("gates", both[:, :half].swapaxes(1, 2))
    put("ups", both[:, half:].swapaxes(1, 2))
    put("downs", down.swapaxes(1, 2))
