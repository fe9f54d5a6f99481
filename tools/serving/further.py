"""Where the parameters of modules that are no plain decoders stand: latent attention, scans, an encoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tolcost.apps.plan.door import PlannedModel

Array = np.ndarray[Any, Any]
State = Mapping[str, Array]


def of_layers(state: State, names: str, count: int, change: Callable[[Array], Array] = np.transpose) -> Array:
    """Return a parameter of all layers; ``names`` has its place, with the number of the layer as {}."""
    there = [change(state[names.format(i)]) for i in range(count) if names.format(i) in state]
    return np.stack(there) if there else np.zeros(0)


def same(array: Array) -> Array:
    """Leave a vector as it is."""
    return array


def pairs(state: State, names: list[str], count: int) -> Array:
    """Return weights and biases of norms, one after another, for all layers."""
    each = [f"{name}.{part}" for name in names for part in ("weight", "bias")]
    return np.stack([of_layers(state, name, count, same) for name in each], axis=1)


def latent(state: State, model: PlannedModel) -> dict[str, Array]:
    """Return the parameters of DeepSeek's decoders."""
    n, own = model.lengths, "model.layers.{}."
    attention, count = f"{own}self_attn.", model.lengths["l"]
    found = {
        "tokens": state["model.embed_tokens.weight"],
        "norms": np.stack([
            of_layers(state, f"{own}{name}.weight", count, same)
            for name in ("input_layernorm", "post_attention_layernorm")
        ], axis=1),
        "q": of_layers(state, f"{attention}q_proj.weight", count),
        "q_narrow": of_layers(state, f"{attention}q_a_proj.weight", count),
        "q_narrow_norm": of_layers(state, f"{attention}q_a_layernorm.weight", count, same),
        "q_wide": of_layers(state, f"{attention}q_b_proj.weight", count),
        "kv_narrow": of_layers(state, f"{attention}kv_a_proj_with_mqa.weight", count),
        "kv_narrow_norm": of_layers(state, f"{attention}kv_a_layernorm.weight", count, same),
        "out": of_layers(state, f"{attention}o_proj.weight", count),
        "router": of_layers(state, f"{own}mlp.gate.weight", count),
        "last": state["model.norm.weight"],
        "head": state["lm_head.weight"].T,
    }  # fmt: skip
    wide = of_layers(state, f"{attention}kv_b_proj.weight", count)
    found["kv_wide"] = wide.reshape(count, n["k"], n["h"], n["e"] + n["o"])
    for name in ("gate", "up", "down"):
        found[name] = of_layers(state, f"{own}mlp.{name}_proj.weight", count)
        found[f"common_{name}"] = of_layers(state, f"{own}mlp.shared_experts.{name}_proj.weight", count)
    both = of_layers(state, f"{own}mlp.experts.gate_up_proj", count, same).swapaxes(2, 3)
    found["gates"], found["ups"] = both[..., : n["z"]], both[..., n["z"] :]
    found["downs"] = of_layers(state, f"{own}mlp.experts.down_proj", count, same).swapaxes(2, 3)
    return found  # what the module lacks is empty, and left out


def mamba(state: State, model: PlannedModel) -> dict[str, Array]:
    """Return the parameters of Mamba."""
    own, count = "backbone.layers.{}.mixer.", model.lengths["l"]
    matrices = {"wide": "in_proj", "choose": "x_proj", "grow": "dt_proj", "out": "out_proj"}
    vectors = {
        "taps": "conv1d.weight",
        "taps_bias": "conv1d.bias",
        "grow_bias": "dt_proj.bias",
        "rates": "A_log",
    }
    return {
        **{name: of_layers(state, f"{own}{place}.weight", count) for name, place in matrices.items()},
        **{name: of_layers(state, f"{own}{place}", count, same) for name, place in vectors.items()},
        "skip": of_layers(state, f"{own}D", count, same),
        "norms": of_layers(state, "backbone.layers.{}.norm.weight", count, same),
        "tokens": state["backbone.embeddings.weight"],
        "last": state["backbone.norm_f.weight"],
    }


def rwkv(state: State, model: PlannedModel) -> dict[str, Array]:
    """Return the parameters of RWKV, and the state that it starts with."""
    own, count = "rwkv.blocks.{}.", model.lengths["l"]
    matrices = {
        "key": "attention.key", "value": "attention.value", "open": "attention.receptance",
        "out": "attention.output", "up": "feed_forward.key", "network_open": "feed_forward.receptance",
        "down": "feed_forward.value",
    }  # fmt: skip

    def blends(place: str, names: tuple[str, ...]) -> Array:
        each = (of_layers(state, f"{own}{place}.time_mix_{name}", count, same) for name in names)
        return np.stack([one.reshape(count, -1) for one in each], axis=1)

    sums = np.zeros((count, 1, 3, model.lengths["w"]))
    sums[:, :, 2] = -1e30
    return {
        **{name: of_layers(state, f"{own}{place}.weight", count) for name, place in matrices.items()},
        "decay": of_layers(state, f"{own}attention.time_decay", count, same),
        "bonus": of_layers(state, f"{own}attention.time_first", count, same),
        "blends": blends("attention", ("key", "value", "receptance")),
        "network_blends": blends("feed_forward", ("key", "receptance")),
        "norms": pairs(state, [f"{own}ln1", f"{own}ln2"], count),
        "first_norm": np.stack([state[f"rwkv.blocks.0.pre_ln.{part}"] for part in ("weight", "bias")]),
        "last": np.stack([state[f"rwkv.ln_out.{part}"] for part in ("weight", "bias")]),
        "tokens": state["rwkv.embeddings.weight"],
        "head": state["head.weight"].T,
        "sums": sums,
    }


def bert(state: State, model: PlannedModel) -> dict[str, Array]:
    """Return the parameters of BERT with its head for masked words."""
    own, count, first = "bert.encoder.layer.{}.", model.lengths["l"], "bert.embeddings."
    change = "cls.predictions.transform."
    sides = [f"{own}attention.self.{name}" for name in ("query", "key", "value")]
    matrices = {"out": "attention.output.dense", "up": "intermediate.dense", "down": "output.dense"}
    return {
        "tokens": state[f"{first}word_embeddings.weight"],
        "places": state[f"{first}position_embeddings.weight"],
        "kinds": state[f"{first}token_type_embeddings.weight"],
        "first_norm": np.stack([state[f"{first}LayerNorm.{part}"] for part in ("weight", "bias")]),
        "norms": pairs(state, [f"{own}attention.output.LayerNorm", f"{own}output.LayerNorm"], count),
        "qkv": np.stack([of_layers(state, f"{side}.weight", count) for side in sides], axis=1),
        "qkv_bias": np.stack([of_layers(state, f"{side}.bias", count, same) for side in sides], axis=1),
        **{name: of_layers(state, f"{own}{place}.weight", count) for name, place in matrices.items()},
        **{
            f"{name}_bias": of_layers(state, f"{own}{place}.bias", count, same)
            for name, place in matrices.items()
        },
        "change": state[f"{change}dense.weight"].T,
        "change_bias": state[f"{change}dense.bias"],
        "last": np.stack([state[f"{change}LayerNorm.{part}"] for part in ("weight", "bias")]),
        "head_bias": state["cls.predictions.bias"],
    }


FURTHER: Mapping[str, Callable[[State, PlannedModel], dict[str, Array]]] = {
    "deepseek_v2": latent, "deepseek_v3": latent, "mamba": mamba, "rwkv": rwkv, "bert": bert,
}  # fmt: skip
