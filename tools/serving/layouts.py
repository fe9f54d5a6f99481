"""Where the parameters of transformers' modules stand in the serving programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tolcost.apps.plan.door import PlannedModel

from . import beside, linear
from .further import FURTHER, Array, State

WINDOW = {"sliding_window": 4}
LOCAL_FIRST = {"layer_types": ["sliding_attention", "sliding_attention", "full_attention"]}
NO_HEADS = {"num_key_value_heads": None}
OWN = {"num_key_value_heads": None, "intermediate_size": None}
GPT2 = {**OWN, "n_embd": 24, "n_layer": 3, "n_head": 4, "n_positions": 40}
GEMMA = {"head_dim": 8, "query_pre_attn_scalar": 8, **WINDOW, **LOCAL_FIRST}
BIASED = {"attention_bias": True, "mlp_bias": True}
SMALL_EXPERTS = {"num_experts_per_tok": 2, "num_experts": 5, "moe_intermediate_size": 12}
EXPERTS = {"num_experts_per_tok": 2, "num_local_experts": 5}
LLAMA4 = {
    "num_local_experts": 4, "num_experts_per_tok": 1, "intermediate_size_mlp": 16, "head_dim": 8,
    "attention_chunk_size": 32, "no_rope_layers": [1, 1, 0], "moe_layers": [1, 2],
    "layer_types": ["chunked_attention", "chunked_attention", "full_attention"],
    "attn_temperature_tuning": False,
}  # fmt: skip
GLM_EXPERTS = {
    "n_routed_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 14, "n_shared_experts": 2,
    "first_k_dense_replace": 1, "n_group": 1, "topk_group": 1, "routed_scaling_factor": 1.0,
}  # fmt: skip

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
    "granitemoe": ("granitemoe", {**EXPERTS, "attention_multiplier": 6**-0.5}),
    "smollm3": ("smollm3", {"no_rope_layers": [1, 1, 1]}),
    "ernie4_5": ("ernie4_5", {"use_bias": True, "head_dim": 6}),
    "helium": ("helium", {"head_dim": 6}),
    "hunyuan_v1_dense": ("hunyuan_v1_dense", {"head_dim": 8}),
    "glm4": ("glm4", {"head_dim": 8}),
    "glm4_moe": ("glm4_moe", {**GLM_EXPERTS, "use_qk_norm": True, "head_dim": 8}),
    "gpt_bigcode": ("gpt_bigcode", GPT2),
    "gpt_bigcode heads": ("gpt_bigcode", {**GPT2, "multi_query": False}),
    "llama4_text": ("llama4_text", LLAMA4),
}
"""Types with their configurations; layers with a window come first, as in the programs."""
LARGER: Mapping[str, int] = {
    "hidden_size": 36, "n_embd": 36, "d_model": 36, "word_embed_proj_dim": 36, "intermediate_size": 28,
    "ffn_dim": 28, "num_hidden_layers": 4, "n_layer": 4, "n_layers": 4, "num_attention_heads": 6, "n_head": 6,
    "n_heads": 6, "num_key_value_heads": 3, "vocab_size": 37,
}  # fmt: skip
"""Another size of everything; six heads are no power of two, which biases by place depend on."""


def larger(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration at the other size, with one more layer of its first kind."""
    found = {key: LARGER.get(key, value) if value is not None else None for key, value in said.items()}
    if "layer_types" in found:
        found["layer_types"] = [*found["layer_types"][:1], *found["layer_types"]]
    if "no_rope_layers" in found:
        found["no_rope_layers"] = [1, *found["no_rope_layers"]]
    if "moe_layers" in found:  # of Llama 4: other layers have experts, and heads are left as they are
        found |= {"moe_layers": [3], "no_rope_layers": [1, 1, 1, 0], "use_qk_norm": False}
        found["num_experts_per_tok"] = 2
    return found


LATENT = {
    "num_key_value_heads": 4, "q_lora_rank": 10, "kv_lora_rank": 12, "qk_nope_head_dim": 6,
    "qk_rope_head_dim": 4, "v_head_dim": 5, "n_routed_experts": 6, "num_experts_per_tok": 2,
    "moe_intermediate_size": 14, "n_shared_experts": 2, "first_k_dense_replace": 1, "n_group": 1,
    "topk_group": 1, "routed_scaling_factor": 1.0,
}  # fmt: skip
LATER = {"hidden_size": 32, "num_hidden_layers": 4, "first_k_dense_replace": 2}
BARE = {"num_attention_heads": None, "num_key_value_heads": None, "intermediate_size": None}
MAMBA2 = {**BARE, "state_size": 5, "num_heads": 6, "head_dim": 8, "n_groups": 2, "chunk_size": 4}
H1 = {
    "mamba_d_ssm": 48, "mamba_n_heads": 6, "mamba_d_head": 8, "mamba_n_groups": 2, "mamba_d_state": 5,
    "mamba_chunk_size": 4, "head_dim": 6,
}  # fmt: skip
JAMBA = {
    "attn_layer_period": 8, "attn_layer_offset": 0, "expert_layer_period": 8, "expert_layer_offset": 2,
    "num_experts": 4, "num_experts_per_tok": 2, "mamba_d_state": 5, "mamba_dt_rank": 3,
}  # fmt: skip
FULL_FIRST = {"layer_types": ["full_attention", "linear_attention", "linear_attention"]}
QWEN3_NEXT = {
    **SMALL_EXPERTS, **FULL_FIRST, "shared_expert_intermediate_size": 16, "head_dim": 16,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 6,
    "linear_value_head_dim": 5,
}  # fmt: skip
PROMPTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "deepseek_v2": ("deepseek_v2", {**LATENT, "topk_method": "greedy"}),
    "deepseek_v3": ("deepseek_v3", LATENT),
    "deepseek_v2 wider": (
        "deepseek_v2",
        {**LATENT, **LATER, "q_lora_rank": None, "kv_lora_rank": 9, "topk_method": "greedy"},
    ),
    "deepseek_v3 wider": ("deepseek_v3", {**LATENT, **LATER, "q_lora_rank": 14, "v_head_dim": 7}),
    "mamba": ("mamba", {**BARE, "state_size": 5, "time_step_rank": 3}),
    "mamba wider": (
        "mamba",
        {**BARE, "hidden_size": 32, "state_size": 4, "time_step_rank": 2, "conv_kernel": 3},
    ),
    "mamba2": ("mamba2", MAMBA2),
    "mamba2 wider": (
        "mamba2",
        {**MAMBA2, "hidden_size": 32, "num_heads": 4, "head_dim": 16, "n_groups": 1, "use_bias": True},
    ),
    "falcon_h1": ("falcon_h1", {**H1, "mamba_rms_norm": True}),
    "falcon_h1 wider": ("falcon_h1", {**H1, "hidden_size": 32, "tie_word_embeddings": True}),
    "jamba": ("jamba", JAMBA),
    "jamba wider": (
        "jamba",
        {
            **JAMBA,
            "hidden_size": 32,
            "num_hidden_layers": 4,
            "expert_layer_offset": 3,
            "mamba_d_conv": 3,
            "mamba_proj_bias": True,
        },
    ),
    "qwen3_next": ("qwen3_next", QWEN3_NEXT),
    "qwen3_next wider": (
        "qwen3_next",
        {**QWEN3_NEXT, "hidden_size": 32, "linear_num_value_heads": 2, "linear_conv_kernel_dim": 3},
    ),
    "minimax": ("minimax", {**EXPERTS, **FULL_FIRST}),
    "minimax wider": (
        "minimax",
        {**EXPERTS, **FULL_FIRST, "hidden_size": 32, "head_dim": 6, "block_size": 4},
    ),
    "rwkv": ("rwkv", {**BARE, "rescale_every": 0}),
    "rwkv wider": (
        "rwkv",
        {**BARE, "rescale_every": 0, "hidden_size": 32, "num_hidden_layers": 4, "intermediate_size": 40},
    ),
    "bert": ("bert", {"num_key_value_heads": None, "layer_norm_eps": 1e-5}),
    "bert wider": (
        "bert",
        {"num_key_value_heads": None, "layer_norm_eps": 1e-5, "hidden_size": 32, "type_vocab_size": 3},
    ),
}
"""Types that keep something else than keys and values, or nothing: one text of each is compared."""
T5 = {
    "vocab_size": 31,
    "d_model": 24,
    "d_kv": 6,
    "d_ff": 20,
    "num_layers": 3,
    "num_heads": 4,
    "layer_norm_epsilon": 1e-5,
}
WHISPER = {
    "vocab_size": 31, "d_model": 24, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 20, "decoder_ffn_dim": 28, "num_mel_bins": 5,
    "max_source_positions": 7, "max_target_positions": 20, "pad_token_id": 0,
}  # fmt: skip
PAIRS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "t5": ("t5", T5),
    "t5 gated": (
        "t5",
        {
            **T5,
            "d_model": 32,
            "num_decoder_layers": 2,
            "feed_forward_proj": "gated-gelu",
            "tie_word_embeddings": False,
        },
    ),
    "whisper": ("whisper", WHISPER),
    "whisper wider": ("whisper", {**WHISPER, "d_model": 32, "encoder_layers": 3, "decoder_layers": 2}),
}
"""Types of two parts, of which the first reads something else than the second."""

BESIDE: Mapping[str, Callable[[State, PlannedModel], dict[str, Array]]] = {
    "t5": beside.t5, "whisper": beside.whisper, "mamba2": beside.mamba2, "falcon_h1": beside.mamba2,
    "jamba": linear.jamba, "qwen3_next": linear.qwen3_next, "minimax": linear.minimax,
}  # fmt: skip

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
    "glm4": ("input_layernorm", "post_self_attn_layernorm", "post_attention_layernorm", "post_mlp_layernorm"),
    "gpt_bigcode": ("ln_1", "ln_2"),
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
    "router": ("mlp.gate", "block_sparse_moe.gate", "mlp.router", "block_sparse_moe.router"),
    **{f"common_{name}": (f"mlp.shared_expert.{name}_proj", f"mlp.shared_experts.{name}_proj")
       for name in ("gate", "up", "down")},
    "common_share": ("mlp.shared_expert_gate",),
}  # fmt: skip
BIASES = {"q": "q_bias", "k": "k_bias", "w": "w_bias", "out": "out_bias", "gate": "gate_bias",
          "up": "up_bias", "down": "down_bias", "qkv": "qkv_bias", "router": "router_bias"}  # fmt: skip
VECTORS = {
    "q_norm": ("self_attn.q_norm", "self_attn.query_layernorm"),
    "k_norm": ("self_attn.k_norm", "self_attn.key_layernorm"), "sinks": ("self_attn.sinks",),
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
    of_kind = FURTHER.get(kind) or BESIDE.get(kind)
    if of_kind is not None:
        return {name: value for name, value in of_kind(state, model).items() if value.size}
    if kind == "llama4_text":
        state = {name.replace("feed_forward.", "mlp."): value for name, value in state.items()}
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
        _experts(kind, own, put)
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
    if name == "qkv" and kind == "gpt_bigcode" and r == 1:
        return np.moveaxis(value.reshape(*lead, g, 3, e), -2, -3).reshape(*lead, -1)
    if name == "qkv" and kind == "falcon" and g > 1:
        apart = value.reshape(*lead, g, r + 2, e)
        parts = apart[..., :r, :], apart[..., r : r + 1, :], apart[..., r + 1 :, :]
        return np.concatenate([part.reshape(*lead, -1) for part in parts], axis=-1)
    if kind in PAIRED and name != "qkv":
        return halves(value.reshape(*lead, -1, e), n["c"]).reshape(*lead, -1)
    return value


PAIRED = ("cohere", "cohere2", "llama4_text", "helium", "ernie4_5", "glm4")
"""Types that turn neighbours of a head, and not halves."""


def halves(heads: Array, c: int) -> Array:
    """Put neighbours that are turned into the first and the second half of what is turned."""
    return np.concatenate([heads[..., : 2 * c : 2], heads[..., 1 : 2 * c : 2], heads[..., 2 * c :]], axis=-1)


def _experts(kind: str, own: Mapping[str, Array], put: Callable[[str, Array], None]) -> None:
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
    if kind == "llama4_text":  # the other way round, too
        both, down = both.swapaxes(1, 2), down.swapaxes(1, 2)
    half = both.shape[1] // 2
    put("gates", both[:, :half].swapaxes(1, 2))
    put("ups", both[:, half:].swapaxes(1, 2))
    put("downs", down.swapaxes(1, 2))
