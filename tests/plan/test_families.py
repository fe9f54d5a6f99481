"""Families of ``tolcost plan``, held to transformers' own modules with random weights."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tolcost.algebra import evaluate
from tolcost.apps.plan.calls import CalledProgram
from tolcost.apps.plan.door import PlannedModel, model_in, shipped_model
from tolcost.apps.plan.figures import NEAR, CallAt, ModelRun, ServedModel, called_of
from tolcost.apps.plan.precision import precision_of

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "recorded.json").read_text("utf-8"))
CASES = [pytest.param(row, id=f"{row['config']['model_type']}-{n}") for n, row in enumerate(RECORDED["rows"])]
KNOWN: dict[tuple[str, tuple[tuple[str, object], ...]], CalledProgram] = {}


PUBLISHED = {
    "llama3-70b": 70_553_706_496,
    "mixtral-8x7b": 46_702_792_704,
    "gpt-oss-20b": 20_914_757_184,
    "gpt-oss-120b": 116_829_156_672,
    "deepseek-v3": 671_026_419_200 - 58 * 256,  # its routers' corrections are no parameters in transformers
    "gemma2-9b": 9_241_705_984,
    "qwen3-30b-a3b": 30_532_122_624,
    "mamba-2.8b": 2_768_345_600,
    "bert-base": 109_514_298,
    "t5-base": 222_903_552,
    "whisper-large-v3": 1_543_490_560,
    "rwkv-169m": 169_342_464,
}
"""Parameters of models as their repositories state them; DeepSeek's without the layer for a second token."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_parameters(name: str) -> None:
    assert model_of_type(shipped_model(name)).parameter_count == PUBLISHED[name]


def test_deepseek_keeps_narrow_vectors() -> None:
    """512 and 64 numbers of 61 layers, in two bytes each."""
    found = model_of_type(shipped_model("deepseek-v3"))
    assert found.cache_bytes(1, 1000, precision_of()) == 1000 * 61 * (512 + 64) * 2


def model_of(config: dict[str, Any]) -> ServedModel:
    """Programs are read once for each choice of attributes; only the numbers differ.

    They are taken as they read a prompt, which is how transformers makes a token, too.
    """
    return model_of_type(model_in(config, "small"))


def model_of_type(model: PlannedModel) -> ServedModel:
    own = model.family.reading
    attrs = {
        **model.attrs,
        **({} if "encoding" in own else own),
    }  # to encode is done once, and not for a token
    zeros = tuple(sorted((name, n == 0) for name, n in model.lengths.items() if name in ("m", "a")))
    key = (model.family.program, (*sorted(attrs.items()), *zeros))
    if key not in KNOWN:
        KNOWN[key] = called_of(model, attrs)
    return ServedModel(model, KNOWN[key])


@pytest.mark.parametrize("row", CASES)
def test_a_type(row: dict[str, Any]) -> None:
    """Parameters to the last one, the products of a token, and what is kept after it."""
    found, config = model_of(row["config"]), row["config"]
    assert found.parameter_count == row["parameters"]
    for run in row["runs"]:
        step = ModelRun(run["batch"], run.get("new", 1), run["past"], run.get("source", 0))
        work = found.work(step, precision_of())
        macs = sum(call.times * call.macs for call in work)
        twice = sum(call.times * call.macs for call in work if call.name == "Conv" and step.past)
        more = unused(found, run["batch"]) + unseen(found, step) + twice
        less = shares(found, run["batch"]) + updates(work, found.model.attrs.get("rule"))
        assert macs - less + more == run["macs"]
        own = kept(found, run["batch"], run["past"] + step.new, step.source)
        assert own * repeated(config) + last_entries(found, run["batch"]) == run["kept"]


def last_entries(found: ServedModel, batch: int) -> int:
    """What transformers keeps of a convolution besides: as many entries as it has taps, of which one leaves.

    It also computes two results of each convolution, of which it takes one.
    """
    lengths = found.model.lengths
    if found.model.family.program == "mamba":
        return batch * (lengths["l"] - lengths.get("m", 0)) * lengths["w"]
    if found.model.attrs.get("rule") == "delta":
        lanes = 2 * lengths["w"] * lengths["p"] + lengths["w"] * lengths["n"] * lengths["q"]
        return batch * (lengths["l"] - lengths["m"]) * lanes
    if found.model.family.program == "mamba2":
        inner = lengths["r"] * lengths["p"] + 2 * lengths["n"]
        return batch * lengths["l"] * lengths["g"] * inner
    return 0


def shares(found: ServedModel, batch: int) -> int:
    """What adds up the results of experts by their shares: products here, and none of matrices in torch."""
    lengths = found.model.lengths
    if "y" not in lengths or found.model.attrs.get("weighed"):
        return 0
    return batch * lengths["d"] * lengths["taken"] * (lengths["l"] - lengths["a"])


def updates(work: Sequence[CallAt], rule: object) -> int:
    """What is added to states that decay: products here, and none of matrices in torch.

    Half of the products of a scan are these; the others read the state.  Where what a state tells is
    corrected, transformers has no product of matrices at all.
    """
    own = ("remembered", "recalled") if rule == "delta" else ("remembered",)
    scans = sum(call.times * call.macs for call in work if call.name == "scanned_heads")
    return scans // 2 + sum(call.times * call.macs for call in work if call.name in own)


def unused(found: ServedModel, batch: int) -> int:
    """What transformers' Llama 4 multiplies besides: all tokens by all experts."""
    lengths = found.model.lengths
    if found.model.family.name != "llama4_text":
        return 0
    each = 3 * lengths["d"] * lengths["z"]
    return batch * each * (lengths["y"] - lengths["taken"]) * (lengths["l"] - lengths["a"])


def unseen(found: ServedModel, step: ModelRun) -> int:
    """What transformers' Whisper multiplies besides as it reads: places by later ones, and all logits."""
    lengths, later = found.model.lengths, step.new - 1
    if found.model.family.name != "whisper":
        return 0
    d = lengths["h"] * lengths["e"]
    attention = lengths["l"] * d * step.new * later
    return step.batch * (attention + d * lengths["v"] * later)


def repeated(config: dict[str, Any]) -> int:
    """How often transformers keeps a head: its newer Falcon repeats them first, as engines do not."""
    new = config.get("new_decoder_architecture")
    return int(config["num_attention_heads"] // config["num_kv_heads"]) if new else 1


def kept(found: ServedModel, batch: int, context: int, source: int) -> int:
    """The numbers that transformers keeps: of a window, all but the place of the next token."""
    window = found.model.lengths.get("window", 1)
    point = found.point(ModelRun(batch, 1, context, source))
    point |= {symbol: min(context, window - 1) for symbol in point if symbol.name == NEAR}
    total = 0
    for given in found.state:
        size = 1
        for d in given.type[0].shape:
            size *= evaluate(d, point)
        total += size
    return total
