"""What transformers' modules keep between runs, as the serving programs take it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tolcost.apps.plan.door import PlannedModel

from .further import Array

KEYS = ("past_key_values", "cache_params", "state")


def kept_key(found: Any) -> str:
    """Return under which name the results of a module hold what it keeps."""
    return next(key for key in KEYS if getattr(found, key, None) is not None)


def kept_of(model: PlannedModel, cache: Any) -> dict[str, Array]:
    """Return what a module keeps that is no plain decoder; layers with attention come first."""
    if model.family.program == "rwkv":
        return _rwkv(cache)
    if model.family.program == "latent":
        return _latent(model, cache)
    m = 0 if model.family.name == "falcon_h1" else model.lengths.get("m", 0)
    layers = list(cache.layers)
    found = {"tail": [], "state": [], "keys": [], "values": []}
    for i, layer in enumerate(layers):
        if getattr(layer, "conv_states", None):
            found["tail"].append(layer.conv_states[0][..., 1:])
            found["state"].append(_turned(model, layer.recurrent_states[0]))
        if i < m or model.family.name == "falcon_h1":
            found["keys"].append(layer.keys)
            found["values"].append(layer.values)
    states = [one for one in getattr(cache, "linear_cache", ()) if len(one)]  # of MiniMax
    found["state"] += [_turned(model, one) for one in states]
    return {name: np.stack([one.double().numpy() for one in some]) for name, some in found.items() if some}


def _turned(model: PlannedModel, state: Any) -> Any:
    """Return a state with its two sides as the program has them: values by keys where it recalls."""
    return state.transpose(-1, -2) if model.family.program == "linear" else state


def _latent(model: PlannedModel, cache: Any) -> dict[str, Array]:
    """Return the narrow vectors of DeepSeek, and the keys that are turned: pairs, where V3 has halves."""
    count, c = model.lengths["l"], model.lengths["c"]
    narrow = np.stack([one.keys.double().numpy() for one in cache.layers])
    turned = np.stack([one.values.double().numpy() for one in cache.layers])
    texts, places = narrow.shape[1], narrow.shape[-2]
    if model.family.name != "deepseek_v2":
        turned = np.stack([turned[..., :c], turned[..., c:]], axis=-1)
    return {
        "latents": narrow.reshape(count, texts, places, -1),
        "turned_keys": turned.reshape(count, texts, places, 2 * c),
    }


def _rwkv(state: Any) -> dict[str, Array]:
    """Return the entries before, of attention and of the network, and the sums; layers stand last there."""
    network, attention, *sums = (np.moveaxis(one.double().numpy(), -1, 0) for one in state)
    return {"before": np.stack([attention, network], axis=2), "sums": np.stack(sums, axis=2)}
