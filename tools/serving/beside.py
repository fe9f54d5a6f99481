"""Where the parameters of T5, Whisper, Mamba 2 and Falcon H1 stand in the serving programs."""

from __future__ import annotations

import numpy as np

from tolcost.apps.plan.door import PlannedModel

from .further import Array, State, of_layers, same


def _sides(state: State, own: str, names: tuple[str, ...], count: int, part: str = "weight") -> Array:
    """Return matrices or vectors of each layer, one after another."""
    change = np.transpose if part == "weight" else same
    return np.stack([of_layers(state, f"{own}{name}.{part}", count, change) for name in names], axis=1)


def _norms(state: State, own: str, names: list[str], count: int) -> Array:
    return np.stack([of_layers(state, f"{own}{name}.weight", count, same) for name in names], axis=1)


def t5(state: State, model: PlannedModel) -> dict[str, Array]:
    """Return the parameters of T5."""
    found = {"tokens": state["shared.weight"]}
    for part, count, prefix in (("encoder", "n", "source_"), ("decoder", "l", "")):
        own, layers = f"{part}.block.{{}}.layer.", model.lengths[count]
        read, network = f"{own}0.SelfAttention.", f"{own}{1 if prefix else 2}."
        names = [f"{place}.layer_norm" for place in range(2 if prefix else 3)]
        found |= {
            f"{prefix}qkv": _sides(state, read, ("q", "k", "v"), layers),
            f"{prefix}out": of_layers(state, f"{read}o.weight", layers),
            f"{prefix}norms": _norms(state, own, names, layers),
            f"{prefix}biases": state[f"{read.format(0)}relative_attention_bias.weight"],
            f"{prefix}last": state[f"{part}.final_layer_norm.weight"],
            f"{prefix}down": of_layers(state, f"{network}DenseReluDense.wo.weight", layers),
        }
        gated = model.attrs["gated_network"]
        for name, place in (("gate", "wi_0"), ("up", "wi_1")) if gated else (("up", "wi"),):
            found[f"{prefix}{name}"] = of_layers(state, f"{network}DenseReluDense.{place}.weight", layers)
    across = "decoder.block.{}.layer.1.EncDecAttention."
    found["cross_qkv"] = _sides(state, across, ("q", "k", "v"), model.lengths["l"])
    found["cross_out"] = of_layers(state, f"{across}o.weight", model.lengths["l"])
    if not model.attrs["tied"]:  # transformers has the same numbers for both, whatever is said
        found["head"] = state["shared.weight"].T
    return found


def whisper(state: State, model: PlannedModel) -> dict[str, Array]:
    """Return the parameters of Whisper."""
    found = {
        "taps": state["model.encoder.conv1.weight"], "taps_bias": state["model.encoder.conv1.bias"],
        "more_taps": state["model.encoder.conv2.weight"], "more_taps_bias": state["model.encoder.conv2.bias"],
        "sound_places": state["model.encoder.embed_positions.weight"],
        "tokens": state["model.decoder.embed_tokens.weight"],
        "places": state["model.decoder.embed_positions.weight"],
    }  # fmt: skip
    matrices, biased = ("q_proj", "k_proj", "v_proj", "out_proj"), ("q_proj", "v_proj", "out_proj")
    for part, count, prefix in (("encoder", "n", "sound_"), ("decoder", "l", "")):
        own, layers = f"model.{part}.layers.{{}}.", model.lengths[count]
        across = () if prefix else ("encoder_attn_layer_norm",)
        norms = ("self_attn_layer_norm", *across, "final_layer_norm")
        each = [f"{own}{name}.{which}" for name in norms for which in ("weight", "bias")]
        found |= {
            f"{prefix}qkvo": _sides(state, f"{own}self_attn.", matrices, layers),
            f"{prefix}biases": _sides(state, f"{own}self_attn.", biased, layers, "bias"),
            f"{prefix}norms": np.stack([of_layers(state, name, layers, same) for name in each], axis=1),
            f"{prefix}last": np.stack([state[f"model.{part}.layer_norm.{w}"] for w in ("weight", "bias")]),
        }
        for name, place in (("up", "fc1"), ("down", "fc2")):
            found[f"{prefix}{name}"] = of_layers(state, f"{own}{place}.weight", layers)
            found[f"{prefix}{name}_bias"] = of_layers(state, f"{own}{place}.bias", layers, same)
    own = "model.decoder.layers.{}.encoder_attn."
    found["cross_qkvo"] = _sides(state, own, matrices, model.lengths["l"])
    found["cross_biases"] = _sides(state, own, biased, model.lengths["l"], "bias")
    return found


def mamba2(state: State, model: PlannedModel) -> dict[str, Array]:
    """Return the parameters of Mamba 2, or of Falcon H1, which has attention beside it."""
    first = "model" if model.family.name == "falcon_h1" else "backbone"
    inside = "mamba" if first == "model" else "mixer"
    own, count = f"{first}.layers.{{}}.", model.lengths["l"]
    vectors = {
        "wide_bias": "in_proj.bias", "taps": "conv1d.weight", "taps_bias": "conv1d.bias",
        "grow_bias": "dt_bias", "rates": "A_log", "skip": "D", "gate_norm": "norm.weight",
        "out_bias": "out_proj.bias",
    }  # fmt: skip
    there = {name: f"{own}{inside}.{place}" for name, place in vectors.items()}
    found = {
        "wide": of_layers(state, f"{own}{inside}.in_proj.weight", count),
        "out": of_layers(state, f"{own}{inside}.out_proj.weight", count),
        **{n: of_layers(state, place, count, same) for n, place in there.items() if place.format(0) in state},
    }
    if first == "backbone":
        found["norms"] = of_layers(state, f"{own}norm.weight", count, same)
        found["tokens"], found["last"] = state["backbone.embeddings.weight"], state["backbone.norm_f.weight"]
    else:
        matrices = {
            "q": "self_attn.q_proj", "key": "self_attn.k_proj", "value": "self_attn.v_proj",
            "onto": "self_attn.o_proj", "gate": "feed_forward.gate_proj", "up": "feed_forward.up_proj",
            "down": "feed_forward.down_proj",
        }  # fmt: skip
        found |= {name: of_layers(state, f"{own}{at}.weight", count) for name, at in matrices.items()}
        found["norms"] = of_layers(state, f"{own}input_layernorm.weight", count, same)
        found["network_norms"] = of_layers(state, f"{own}pre_ff_layernorm.weight", count, same)
        found["tokens"] = state["model.embed_tokens.weight"]
        found["last"] = state["model.final_layernorm.weight"]
    if "lm_head.weight" in state:
        found["head"] = state["lm_head.weight"].T
    return found
