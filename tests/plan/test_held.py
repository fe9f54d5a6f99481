"""Figures that others published, each by its own convention, from the programs here."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tolcost
from tests.plan.test_families import model_of, model_of_type
from tolcost.apps.plan.door import PlannedModel, shipped_model
from tolcost.apps.plan.figures import ModelRun, ServedModel, called_of
from tolcost.apps.plan.lines import line_of
from tolcost.apps.plan.precision import precision_of
from tolcost.cli import run
from tolcost.diagnostics import Rejected
from tolcost.platform import read_spec

GIB = 1 << 30
HELD: dict[str, Any] = json.loads((Path(__file__).parent / "activations.json").read_text("utf-8"))
GEMMA = {
    "model_type": "gemma3_text", "hidden_size": 5376, "num_hidden_layers": 62, "num_attention_heads": 32,
    "num_key_value_heads": 16, "head_dim": 128, "intermediate_size": 21504, "vocab_size": 262208,
    "sliding_window": 1024, "sliding_window_pattern": 6, "hidden_activation": "gelu_pytorch_tanh",
}  # fmt: skip
QWEN = {
    "model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 151936,
    "hidden_act": "silu",
}  # fmt: skip
LATENT = {
    "model_type": "kimi_k2", "hidden_size": 7168, "num_hidden_layers": 61, "num_attention_heads": 64,
    "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
    "v_head_dim": 128, "intermediate_size": 18432, "first_k_dense_replace": 1, "n_routed_experts": 384,
    "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "n_shared_experts": 1, "vocab_size": 163840,
    "hidden_act": "silu",
}  # fmt: skip
CACHES = {
    "Gemma-3 27B": (GEMMA, 131072, "10.41"),
    # of its 64 layers, those with attention have a cache that grows, and they alone are counted
    "Qwen3.5 27B": (
        QWEN | {"num_hidden_layers": 16, "num_key_value_heads": 4, "head_dim": 256},
        262144,
        "16.00",
    ),
    "DeepSeek-V3.1": ({**LATENT, "model_type": "deepseek_v3"}, 163840, "10.72"),
    # with the layer for a second token, and without the keys that choose what is looked at
    "GLM-5": ({**LATENT, "num_hidden_layers": 79}, 202752, "17.18"),
    "Kimi-K2.5": (LATENT, 262144, "17.16"),
    "Qwen3-0.6B": (QWEN, 40960, "4.38"),
}
"""The six caches of unslothai/unsloth pull request 4757, at the longest context, in GiB."""


@pytest.mark.parametrize("name", CACHES)
def test_caches_of_unsloth(name: str) -> None:
    config, context, told = CACHES[name]
    found = model_of(config).cache_bytes(1, context, precision_of())
    assert f"{float(found / GIB):.2f}" == told


def test_a_token_of_hf_mem() -> None:
    """73,728 bytes for a token, as alvarobartt/hf-mem issue 60 has them: all 36 layers of gpt-oss-120b."""
    model = model_of_type(shipped_model("gpt-oss-120b"))
    assert model.cache_bytes(1, 1, precision_of()) == 73_728
    assert model.cache_bytes(1, 8192, precision_of()) == 36_864 * (8192 + 128)


def test_weights_of_hf_mem() -> None:
    """65,248,815,744 bytes of gpt-oss-120b as published, in the same issue: experts are in mxfp4."""
    model = model_of_type(shipped_model("gpt-oss-120b"))
    assert model.weight_bytes(precision_of("mxfp4")) == 65_248_815_744


def test_states_of_megatron_bridge() -> None:
    """The first case of NVIDIA's test_theoretical_memory_utils.py: 13088, 3400 and 30600.

    Two stages share the layers and the last norm, and two ranks of each stage all matrices and vectors; the
    first stage has the embedding besides. Nine bytes are those of a parameter in 16 bits and its gradient in
    32, and of 12 bytes of the optimizer a fourth, as it is spread over four ranks.
    """
    config = {
        "model_type": "starcoder2", "hidden_size": 16, "num_hidden_layers": 4, "num_attention_heads": 4,
        "num_key_value_heads": 4, "intermediate_size": 64, "vocab_size": 32, "use_bias": False,
        "hidden_act": "gelu_pytorch_tanh",
    }  # fmt: skip
    model = model_of(config)
    counts = model.elements(model.parameters, ModelRun(1, 1))
    assert model.parameter_count == 13_088
    layers = model.parameter_count - counts["tokens"]
    rank = (layers // 2 + counts["tokens"]) // 2
    assert rank == 3_400
    assert rank * (2 + 4 + Fraction(12, 4)) == 30_600


def of_all_places(model: PlannedModel) -> ServedModel:
    return ServedModel(model, called_of(model, {**model.attrs, "all_logits": True}))


def test_operations_of_torchtitan() -> None:
    """34,534,221,696 for a token in training, as pytorch/torchtitan pull request 4300 has them, and ours.

    Six for each parameter that a token uses, but the embedding's, and of attention what a full window or text
    of 4,096 takes. Here vectors multiply nothing, and a place sees those before it.
    """
    model, length = of_all_places(shipped_model("gpt-oss-120b")), 4096
    counts, n = model.elements(model.parameters, ModelRun(1, 1)), model.model.lengths
    experts = ("gates", "ups", "downs", "gate_biases", "up_biases", "down_biases")
    routed = sum(counts[name] for name in experts)
    active = model.parameter_count - counts["tokens"] - routed + routed * n["taken"] // n["y"]
    one = 2 * n["g"] * n["r"] * n["e"]  # a place, by another one
    half = n["l"] // 2
    theirs = 6 * (active + half * one * (length + n["window"]))
    assert theirs == 34_534_221_696

    ours = 6 * sum(call.times * call.macs for call in model.work(ModelRun(1, length), precision_of()))
    vectors = sum(
        counts[name]
        for name in counts
        if name.endswith(("norm", "norms", "_bias", "sinks")) or name == "last"
    )
    vectors += sum(counts[name] for name in experts[3:]) * n["taken"] // n["y"]
    seen = length * (length + 1) // 2
    near = seen - (length - n["window"]) * (length - n["window"] + 1) // 2
    unseen = half * one * (length * (length + n["window"]) - seen - near)
    shares = n["l"] * n["d"] * n["taken"]  # by which the results of experts are multiplied
    assert theirs * length - ours == 6 * (length * (vectors - shares) + unseen)


@pytest.mark.parametrize("row", HELD["rows"], ids=lambda row: row["config"]["model_type"])
def test_activations(row: dict[str, Any]) -> None:
    """What transformers holds at once is no less, and at most 1.7 times as much."""
    found, _ = model_of(row["config"]).fullest(ModelRun(row["batch"], row["prompt"]))
    assert found <= row["held"] <= Fraction(17, 10) * found


@pytest.mark.parametrize("name", ["llama3-8b", "deepseek-v3", "mamba-2.8b", "rwkv-169m", "bert-base"])
def test_schemes_leave_what_is_no_matrix(name: str) -> None:
    """Only matrices are made narrower, and of what is kept, only keys and values."""
    narrow, model = precision_of("int4", "fp8"), model_of_type(shipped_model(name))
    for one in model.parameters:
        if len(one.type[0].shape) < 3 or one.name.endswith(("norm", "norms", "bias", "biases")):
            assert narrow.width(one.name) == 2, one.name
    wide = {narrow.width(one.name) for one in model.state}
    assert wide <= ({2} if model.model.family.name in ("mamba", "rwkv") else {1})


def test_every_figure_has_its_line() -> None:
    """What is in memory adds up to the parameters and the cache, and each line declares it."""
    found = tolcost.plan("gemma3-1b", batch=3, weights="int4", cache="fp8", block=16)
    held = list(found.holdings())
    assert sum(one.bytes for one in held if one.parameter) == found.weights
    assert sum(one.bytes for one in held if not one.parameter) == found.cache
    text = read_spec("serving", "decoder").text.splitlines()
    for one in held:
        assert text[line_of(found, one.given.name) - 1].startswith(f"tol {one.given.name}: R [")


@pytest.mark.parametrize(
    "name, program, made",
    [
        ("gemma3-1b", "decoder", "onto_rows(finished, tokens)"),
        ("llama3-8b", "decoder", "MatMul(finished, head)"),
        ("t5-base", "translator", "onto_rows(Mul(states, rsqrt(d)), tokens)"),
    ],
)
def test_lines_of_logits_in_a_document(
    name: str, program: str, made: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", name, "--format", "json"]) == 0
    memory = json.loads(capsys.readouterr().out)["memory"]
    text = read_spec("serving", program).text.splitlines()
    assert made in text[memory["logits_line"] - 1]
    assert memory["line"] != memory["logits_line"]


def test_frames() -> None:
    """Frames have the figures of the plan; what is in memory, and what runs, add up to them."""
    found = tolcost.plan("gemma3-1b", batch=3, device="h200")
    rows = found.to_frame().set_index(["figure", "unit"])
    inputs, calls = found.by("input"), found.by("call")
    assert inputs.groupby("kind")["bytes"].sum().to_dict() == {
        "cache": rows.loc[("cache", "bytes"), "value"],
        "parameter": rows.loc[("parameters", "bytes"), "value"],
    }  # fmt: skip
    made = calls[calls["phase"] == "decode"]
    assert made["macs"].sum() == rows.loc[("decode", "MACs"), "value"]
    assert made["time"].sum() <= rows.loc[("decode, one graph", "µs"), "value"] <= made["time"].sum() + 10
    text = read_spec("serving", "decoder").text.splitlines()
    for call, lines in zip(calls["call"], calls["lines"], strict=True):
        assert all(call in text[int(line) - 1] for line in lines.split(", ")), call
    with pytest.raises(Rejected, match="has no frame by `layer`"):
        found.by("layer")
    with pytest.raises(Rejected, match="need a device"):
        tolcost.plan("gemma3-1b").by("call")


def test_a_model_is_found_by_its_name_unless_a_file_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", "gemma3-1b", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == "gemma3-1b"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gemma3-1b").write_text("{}", "utf-8")
    assert run(["plan", "gemma3-1b"]) == 2
    assert "no `model_type`" in capsys.readouterr().err


def test_devices_that_it_fits_are_told_where_none_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with the largest batch that fits it, which one more does not."""
    assert run(["plan", "qwen2.5-3b", "--batch", "40"]) == 0
    said = capsys.readouterr().out
    rows = {line.split()[0]: line.split() for line in said.splitlines() if " yes " in line}
    assert "h200" in rows
    for name, row in rows.items():
        most = int(row[4].replace(",", ""))
        assert tolcost.plan("qwen2.5-3b", batch=most, device=name).fits
        assert not tolcost.plan("qwen2.5-3b", batch=most + 1, device=name).fits
    (small,) = (line for line in said.splitlines() if line.startswith("more than fits"))
    for name in small.removeprefix("more than fits ").split(", "):
        assert tolcost.plan("qwen2.5-3b", batch=40, device=name).fits is False


def test_experts_are_read_as_far_as_they_are_chosen() -> None:
    """A token reads two of eight in whatever precision, one of which is sure to be read by all tokens."""
    wide, narrow = (tolcost.plan("mixtral-8x7b", device="h200", weights=one) for one in ("bf16", "fp8"))
    one = 3 * 4096 * 14336  # numbers of an expert
    (wide_calls, narrow_calls) = (
        [call for call in plan.served.work(plan.made(1), plan.precision) if call.name == "chosen"]
        for plan in (wide, narrow)
    )
    for call, other in zip(wide_calls, narrow_calls, strict=True):
        assert call.reached == 2 * other.reached == 2 * 2 * one
        assert call.kept == 2 * other.kept == 2 * one
        assert call.read - other.read == 2 * one
    assert sum(call.times for call in wide_calls) == 32


def test_decode_with_experts_turns_late() -> None:
    """DeepSeek's, where 8 of 256 experts compute: 32 tokens may read all, and make few products."""
    found = tolcost.plan("deepseek-v3", device="h200")
    assert found.turns is not None
    at = [found.run(found.made(batch)) for batch in (found.turns - 1, found.turns)]
    assert [one.limit for one in at if one is not None] == ["bytes", "operations"]
    products, held = found.macs(found.made(found.turns)), found.weights + found.cache
    assert products / float(535265280) > 0.9 * float(held) / 4800000
