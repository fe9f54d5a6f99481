"""Holds what the serving programs compute to transformers' modules with random weights, number by number.

    python -m tools.serving.values reports/data/serving_values.json tests/plan/values.json [NAME...]

It needs torch and transformers.  Each module reads a prompt, and then one more token with its cache; the
program does the same with the same parameters and, for the token, with the cache of the module.  The first
file has the largest difference of the logits of each type, over the largest logit; the second has a few
prompts for the tests, which need neither.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSpeechSeq2Seq,
)
from transformers.models.t5.modeling_t5 import T5Attention

from tolcost.apps.plan.door import PlannedModel, model_in
from tolcost.platform import with_deep_stack

from .further import State
from .kept import kept_key, kept_of
from .layouts import PAIRED, PAIRS, PROMPTS, WEIGHTS, Array, drawn, halves, larger, parameters
from .run import run_program

SIZE = {
    "hidden_size": 24,
    "intermediate_size": 20,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 31,
    "max_position_embeddings": 40,
    "pad_token_id": 0,
    "rms_norm_eps": 1e-5,
    "layer_norm_eps": 1e-5,
    "layer_norm_epsilon": 1e-5,
}
BATCH, PROMPT = 2, 6
CASES = (
    "gemma2", "gpt_oss", "cohere2", "bloom wider", "deepseek_v3 wider", "mamba", "mamba2 wider", "jamba",
    "qwen3_next", "minimax", "rwkv", "bert", "t5 gated", "whisper",
)  # fmt: skip
"""What the tests run again: all programs, for a prompt and for the next token."""


def cache_of(model: PlannedModel, cache: Any, past: int) -> dict[str, Array]:
    """Return the keys and values that a module keeps, as the program takes them: first those of windows."""
    m, window = model.lengths.get("m", 0), model.lengths.get("window", 1)
    near = min(past, max(window - 1, 0))
    layers = [(one.keys.double().numpy(), one.values.double().numpy()) for one in cache.layers]
    if model.family.name in PAIRED:  # halves of a head, where the module has pairs
        layers = [(halves(k, model.lengths["c"]), v) for k, v in layers]
    heads = model.lengths["g"]

    def some(which: slice, place: int, keep: int) -> Array:
        chosen = [
            one[place][:, :: one[place].shape[1] // heads, -keep:] if keep else one[place][:, :, :0]
            for one in layers[which]
        ]
        return np.stack(chosen) if chosen else np.zeros((0, BATCH, heads, keep, model.lengths["e"]))

    return {
        "keys": some(slice(m, None), 0, past),
        "values": some(slice(m, None), 1, past),
        "near_keys": some(slice(0, m), 0, near),
        "near_values": some(slice(0, m), 1, near),
    }


def angles(module: Any, model: PlannedModel, past: int, new: int) -> dict[str, Array]:
    """Return the cosines and sines by which a module turns heads at some places."""
    rotary = next((one for name, one in module.named_modules() if name.endswith("rotary_emb")), None)
    if rotary is None or "c" not in model.lengths:
        return {}
    x, places = torch.zeros(1, new, 8, dtype=torch.float64), torch.arange(past, past + new)[None]
    types = getattr(rotary, "layer_types", None)
    both = rotary(x, places, sorted(types)[0]) if types else rotary(x, places)
    cos, sin = (both.real, both.imag) if isinstance(both, torch.Tensor) else both
    pairs = model.family.name.startswith("cohere")  # which has each angle twice, one beside the other
    step = slice(None, None, 2) if pairs else slice(None, model.lengths["c"])
    return {"cosines": cos[0].double().numpy()[:, step], "sines": sin[0].double().numpy()[:, step]}


def built(
    kind: str, more: Mapping[str, Any], sizes: Mapping[str, Any] = SIZE
) -> tuple[Any, dict[str, Array], dict[str, Any]]:
    """Return a module, its parameters, and its configuration."""
    said = {key: value for key, value in {**sizes, **more}.items() if value is not None or key not in sizes}
    config = AutoConfig.for_model(kind, **said)
    config._experts_implementation = "eager"  # grouped products take no doubles
    of_type = OF_TYPE.get(kind, AutoModelForCausalLM)
    # eager attention of Falcon adds its bias by place twice: to the scores, and in the mask
    attention = "sdpa" if more.get("alibi") else "eager"
    module = of_type.from_config(config, attn_implementation=attention).double().eval()
    state = drawn({name: tuple(tensor.shape) for name, tensor in module.named_parameters()})
    with torch.no_grad():
        for name, tensor in module.named_parameters():
            tensor.copy_(torch.from_numpy(state[name]))
    told = json.loads(json.dumps({k: v for k, v in config.to_dict().items() if v is not None}, default=str))
    if "tie_word_embeddings" in more:  # T5 always says that it has one matrix
        told["tie_word_embeddings"] = more["tie_word_embeddings"]
    return module, state, told


OF_TYPE = {
    "bert": AutoModelForMaskedLM, "t5": AutoModelForSeq2SeqLM, "whisper": AutoModelForSpeechSeq2Seq,
}  # fmt: skip


def off(ours: Array, theirs: Array) -> float:
    """Return the largest difference over the largest logit."""
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


def compared_kept(kind: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """Compare a prompt of one text, also where attention may be absorbed, and the next token."""
    module, state, told = built(kind, more)
    model = model_in(told, kind)
    torch.manual_seed(1)
    ids = torch.randint(1, told["vocab_size"], (1, PROMPT + 1))
    read, next_ids = ids[:, :PROMPT], ids[:, PROMPT:]
    weights = parameters(kind, state, model)
    given = {**weights, **angles(module, model, 0, PROMPT), "ids": read.numpy()}
    with torch.no_grad():
        first = module(read, use_cache=True) if model.family.answers else module(read)
        theirs = first.logits.numpy().copy()
    found: dict[str, Any] = {"prompt": off(run_program(model, given, 0), theirs)}
    found["case"] = case_of(told, state, [run_of(0, given, weights, theirs)])
    if model.family.program == "latent":
        found["absorbed"] = off(run_program(model, given, 0, absorbed=True), theirs)
    if not model.family.answers:
        return found
    key = kept_key(first)
    kept = kept_of(model, getattr(first, key))
    with torch.no_grad():
        theirs = module(next_ids, **{key: getattr(first, key)}, use_cache=True).logits.numpy()
    given = {**weights, **angles(module, model, PROMPT, 1), **kept, "ids": next_ids.numpy()}
    found["token"] = off(run_program(model, given, PROMPT), theirs)
    found["case"]["runs"].append(run_of(PROMPT, given, weights, theirs))
    return found


def compared(kind: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """Compare the program of a type with its module, for a prompt and for the next token."""
    module, state, told = built(kind, more)
    model = model_in(told, kind)
    torch.manual_seed(1)
    ids = torch.randint(1, told["vocab_size"], (BATCH, PROMPT + 1))
    with torch.no_grad():
        first = module(ids[:, :PROMPT], use_cache=True)
        kept = cache_of(model, first.past_key_values, PROMPT)
        second = module(ids[:, PROMPT:], past_key_values=first.past_key_values, use_cache=True)
    weights = parameters(kind, state, model)
    found: dict[str, Any] = {}
    runs: list[dict[str, Any]] = []
    for name, piece, past, theirs in (
        ("prompt", ids[:, :PROMPT], 0, first.logits.numpy()),
        ("token", ids[:, PROMPT:], PROMPT, second.logits.numpy()),
    ):
        tables = angles(module, model, past, piece.shape[1])
        given = {**weights, **tables, **(kept if past else {}), "ids": piece.numpy()}
        found[name] = off(run_program(model, given, past), theirs)
        runs.append(run_of(past, given, weights, theirs))
    return {**found, "case": case_of(told, state, runs)}


def run_of(
    past: int, given: Mapping[str, Array], weights: Mapping[str, Array], logits: Array
) -> dict[str, Any]:
    """Return a run for the tests: what it is given besides the parameters, and what the module says."""
    own = {name: array for name, array in given.items() if array.size and weights.get(name) is not array}
    arrays = {name: array.round(8).tolist() for name, array in own.items()}
    return {"past": past, "given": arrays, "logits": logits.round(8).tolist()}


def case_of(config: Any, state: State, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a case for the tests, which draw the parameters by their shapes again."""
    return {"config": config, "shapes": {key: list(one.shape) for key, one in state.items()}, "runs": runs}


def buckets(model: PlannedModel, config: Any, past: int, source: int) -> dict[str, Array]:
    """Return the numbers of the biases by distance, of what is read and of what is made."""

    def told(queries: torch.Tensor, keys: torch.Tensor, ways: bool) -> Array:
        far = keys[None, :] - queries[:, None]
        most = config.relative_attention_max_distance
        return T5Attention._relative_position_bucket(far, ways, model.lengths["w"], most).numpy()

    read = torch.arange(source)
    made = torch.arange(past + 1)
    return {"source_distances": told(read, read, True), "distances": told(made[past:], made, False)}


def compared_pair(kind: str, more: Mapping[str, Any]) -> dict[str, Any]:
    """Compare a type of two parts: as the first reads, and for another token."""
    module, state, told = built(kind, more, {})
    model, config = model_in(told, kind), module.config
    torch.manual_seed(1)
    hears = kind == "whisper"
    read = torch.randint(1, told["vocab_size"], (BATCH, PROMPT))
    sound = torch.randn(BATCH, model.lengths.get("q", 1), 2 * model.lengths.get("x", 1), dtype=torch.float64)
    start = read if hears else torch.zeros((BATCH, 1), dtype=torch.long)
    given = {"input_features": sound} if hears else {"input_ids": read}
    ids = torch.randint(1, told["vocab_size"], (BATCH, 1))
    with torch.no_grad():
        first = module(**given, decoder_input_ids=start, use_cache=True)
        cache, states = first.past_key_values, (first.encoder_last_hidden_state,)
        other = "sound_" if hears else "source_"
        names = {"": cache.self_attention_cache, other: cache.cross_attention_cache}
        kept = {
            f"{name}{which}": np.stack([getattr(one, which).numpy().copy() for one in layers.layers])
            for name, layers in names.items() for which in ("keys", "values")
        }  # fmt: skip
        second = module(encoder_outputs=states, decoder_input_ids=ids, past_key_values=cache, use_cache=True)
    weights = parameters(kind, state, model)
    first_part = {"sound": sound.numpy()} if hears else {"source": read.numpy()}
    found: dict[str, Any] = {}
    runs: list[dict[str, Any]] = []
    for name, piece, past, theirs in (
        ("prompt", start, 0, first.logits), ("token", ids, start.shape[1], second.logits),
    ):  # fmt: skip
        far = {} if hears else buckets(model, config, past, PROMPT)
        own = {**weights, **first_part, **far, **(kept if past else {}), "ids": piece.numpy()}
        found[name] = off(run_program(model, own, past), theirs.numpy())
        runs.append(run_of(past, own, weights, theirs.numpy()))
    return {**found, "case": case_of(told, state, runs)}


def main(file: str, cases: str, *types: str) -> None:
    rows: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    if types:  # the others stay as they are
        rows = json.loads(Path(file).read_text("utf-8"))["largest difference over the largest logit"]
        kept = json.loads(Path(cases).read_text("utf-8"))
    plain = {f"{name} wider": (kind, larger({**SIZE, **more})) for name, (kind, more) in WEIGHTS.items()}
    plain = {**plain, **WEIGHTS}
    for name in types or (*WEIGHTS, *(one for one in plain if one not in WEIGHTS), *PROMPTS, *PAIRS):
        kind, more = {**plain, **PROMPTS, **PAIRS}[name]
        compare = compared_pair if name in PAIRS else compared_kept if name in PROMPTS else compared
        row = with_deep_stack(lambda kind=kind, more=more, compare=compare: compare(kind, more))
        case = row.pop("case", None)
        if name in CASES:
            kept[name] = case
        rows[name] = row
        print(name, row, flush=True)
    head = {"torch": torch.__version__, "transformers": transformers.__version__}
    told = {**head, "sizes": SIZE, "largest difference over the largest logit": rows}
    Path(file).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    text = ",\n".join(f"{json.dumps(name)}: {json.dumps(kept[name])}" for name in CASES)
    Path(cases).write_text(f"{{{text}}}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
