"""Where the parameters of Jamba, Qwen3 Next and MiniMax stand in the serving programs."""

from __future__ import annotations

import numpy as np

from tolcost.apps.plan.door import PlannedModel

from .further import Array, State, of_layers, same

OWN = "model.layers.{}."


def _experts(state: State, place: str, count: int) -> dict[str, Array]:
    both = of_layers(state, f"{OWN}{place}.gate_up_proj", count, same).swapaxes(2, 3)
    half = both.shape[-1] // 2
    downs = of_layers(state, f"{OWN}{place}.down_proj", count, same).swapaxes(2, 3)
    return {"gates": both[..., :half], "ups": both[..., half:], "downs": downs}


def _attention(state: State, count: int) -> dict[str, Array]:
    names = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "onto": "o_proj"}
    return {
        name: of_layers(state, f"{OWN}self_attn.{at}.weight", count)
        for name, at in names.items()
    }  # fmt: skip


def _ends(state: State, last: str, add: int = 0) -> dict[str, Array]:
    tokens, norm = state["model.embed_tokens.weight"], state[f"{last}.weight"] + add
    return {"tokens": tokens, "last": norm, "head": state["lm_head.weight"].T}


def jamba(state: State, model: PlannedModel) -> dict[str, Array]:
    """Return the parameters of Jamba."""
    count, network = model.lengths["l"], "feed_forward"
    matrices = {"wide": "in_proj", "choose": "x_proj", "grow": "dt_proj", "out": "out_proj"}
    vectors = {
        "taps": "conv1d.weight", "taps_bias": "conv1d.bias", "grow_bias": "dt_proj.bias", "rates": "A_log",
        "skip": "D", "step_norm": "dt_layernorm.weight", "in_norm": "b_layernorm.weight",
        "out_norm": "c_layernorm.weight", "wide_bias": "in_proj.bias", "out_bias": "out_proj.bias",
    }  # fmt: skip
    return {
        **{n: of_layers(state, f"{OWN}mamba.{at}.weight", count) for n, at in matrices.items()},
        **{n: of_layers(state, f"{OWN}mamba.{at}", count, same) for n, at in vectors.items()},
        **{n: of_layers(state, f"{OWN}{network}.{n}_proj.weight", count) for n in ("gate", "up", "down")},
        **_attention(state, count), **_ends(state, "model.final_layernorm"),
        **_experts(state, f"{network}.experts", count),
        "router": of_layers(state, f"{OWN}{network}.router.weight", count),
        "norms": of_layers(state, f"{OWN}input_layernorm.weight", count, same),
        "network_norms": of_layers(state, f"{OWN}pre_ff_layernorm.weight", count, same),
    }  # fmt: skip


def _norms(state: State, count: int, add: int = 0) -> Array:
    names = ("input_layernorm", "post_attention_layernorm")
    return np.stack([of_layers(state, f"{OWN}{n}.weight", count, same) + add for n in names], axis=1)


def qwen3_next(state: State, model: PlannedModel) -> dict[str, Array]:
    """Return the parameters of Qwen3 Next, whose norms add 1 to their weights, but for those of states."""
    n, own = model.lengths, f"{OWN}linear_attn."
    count, (w, r, p, q) = n["l"], (n["w"], n["n"], n["p"], n["q"])
    found = {
        **_attention(state, count), **_ends(state, "model.norm", 1), **_experts(state, "mlp.experts", count),
        "norms": _norms(state, count, 1),
        "query_norm": of_layers(state, f"{OWN}self_attn.q_norm.weight", count, same) + 1,
        "key_norm": of_layers(state, f"{OWN}self_attn.k_norm.weight", count, same) + 1,
        "router": of_layers(state, f"{OWN}mlp.gate.weight", count),
        "common_share": of_layers(state, f"{OWN}mlp.shared_expert_gate.weight", count),
        "taps": of_layers(state, f"{own}conv1d.weight", count, same),
        "grow_bias": of_layers(state, f"{own}dt_bias", count, same),
        "rates": of_layers(state, f"{own}A_log", count, same),
        "head_norm": of_layers(state, f"{own}norm.weight", count, same),
        "out": of_layers(state, f"{own}out_proj.weight", count),
    }  # fmt: skip
    for name in ("gate", "up", "down"):
        found[f"common_{name}"] = of_layers(state, f"{OWN}mlp.shared_expert.{name}_proj.weight", count)
    heads = found["query"].reshape(*found["query"].shape[:2], -1, 2, n["e"])
    found["query"], found["query_gate"] = (heads[..., j, :].reshape(*heads.shape[:2], -1) for j in (0, 1))
    wide = of_layers(state, f"{own}in_proj_qkvz.weight", count)
    groups = np.split(wide.reshape(*wide.shape[:2], w, -1), np.cumsum([p, p, r * q]), axis=-1)
    flat = [part.reshape(*wide.shape[:2], -1) for part in groups]
    found["wide"], found["opening"] = np.concatenate(flat[:3], axis=-1), flat[3]
    both = of_layers(state, f"{own}in_proj_ba.weight", count)
    pieces = np.split(both.reshape(*both.shape[:2], w, -1), [r], axis=-1)
    found["choose"] = np.concatenate([part.reshape(*both.shape[:2], -1) for part in pieces], axis=-1)
    return found


def minimax(state: State, model: PlannedModel) -> dict[str, Array]:
    """Return the parameters of MiniMax."""
    n, own = model.lengths, f"{OWN}self_attn."
    wide = of_layers(state, f"{own}qkv_proj.weight", n["l"])
    heads = wide.reshape(*wide.shape[:2], n["w"], 3, n["p"])
    return {
        **_attention(state, n["l"]), **_ends(state, "model.norm"), **_experts(state, "mlp.experts", n["l"]),
        "norms": _norms(state, n["l"]),
        "router": of_layers(state, f"{OWN}mlp.gate.weight", n["l"]),
        "wide": np.moveaxis(heads, -2, -3).reshape(wide.shape),
        "wide_norm": of_layers(state, f"{own}norm.weight", n["l"], same),
        "opening": of_layers(state, f"{own}output_gate.weight", n["l"]),
        "out": of_layers(state, f"{own}out_proj.weight", n["l"]),
    }  # fmt: skip
