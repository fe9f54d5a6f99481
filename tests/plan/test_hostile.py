"""Wrong and hostile configurations get a clear error, and nothing else."""

import json
import tomllib
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tolcost.apps.plan import door
from tolcost.apps.plan.door import family_of, model_at, model_in, shipped_model, shipped_models, type_names
from tolcost.apps.plan.figures import served
from tolcost.cli import run
from tolcost.diagnostics import Rejected

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "specs" / "serving" / "models"
LLAMA: dict[str, Any] = json.loads((MODELS / "llama3-8b.json").read_text("utf-8"))
OSS: dict[str, Any] = json.loads((MODELS / "gpt-oss-20b.json").read_text("utf-8"))

WRONG = {
    "no object": ([1, 2], "T0920"),
    "no type": ({}, "has no `model_type`"),
    "a type that nobody knows": ({"model_type": "lama"}, "the nearest is `llama`"),
    "a type of another kind": ({"model_type": 7}, "T0921"),
    "a missing key": ({**LLAMA, "hidden_size": None}, "the configuration lacks `hidden_size`"),
    "a negative length": ({**LLAMA, "hidden_size": -4096}, "T0923"),
    "no layers": ({**LLAMA, "num_hidden_layers": 0}, "is 0"),
    "too many layers": ({**LLAMA, "num_hidden_layers": 10**30}, "larger than any model has"),
    "too many tokens": ({**LLAMA, "vocab_size": 2**40}, "no length of a model"),
    "many layers": ({**LLAMA, "num_hidden_layers": 10**9}, "more than any model has"),
    "a text": ({**LLAMA, "hidden_size": "4096"}, "not a number"),
    "a list": ({**LLAMA, "vocab_size": [1]}, "not a number"),
    "a truth": ({**LLAMA, "vocab_size": True}, "not a number"),
    "heads that do not divide": ({**LLAMA, "num_key_value_heads": 7}, "T0923"),
    "heads that are none": ({**LLAMA, "num_key_value_heads": 0}, "T0923"),
    "a fraction": ({**LLAMA, "hidden_size": 4096.5}, "T0923"),
    "a new key": ({**LLAMA, "mixture_of_depths": 3}, "`mixture_of_depths` would change"),
    "another activation": ({**LLAMA, "hidden_act": "xielu"}, "known are silu"),
    "a choice that is none": ({**LLAMA, "tie_word_embeddings": "yes"}, "T0923"),
    "another value": ({**LLAMA, "model_type": "cohere", "use_qk_norm": True}, "T0922"),
    "another number": ({**LLAMA, "model_type": "cohere", "use_qk_norm": 10**30}, "larger than any model"),
    "not a number": ({**LLAMA, "hidden_size": float("nan")}, "is no number"),
    "no number of tokens": ({**LLAMA, "max_position_embeddings": -5}, "no number of tokens"),
    "more experts than there are": ({**OSS, "num_experts_per_tok": 33}, "33 experts are chosen of 32"),
    "a strange kind of layer": ({**OSS, "layer_types": ["windows"] * 24}, 'has `"windows"`'),
    "kinds of other layers": ({**OSS, "layer_types": ["full_attention"] * 3}, "3 kinds for 24 layers"),
    "a kind that is no list": ({**OSS, "layer_types": "full_attention"}, "T0923"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_configuration(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, told = WRONG[name]
    (tmp_path / "config.json").write_text(json.dumps(content), "utf-8")
    assert run(["plan", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert told in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    "text, told",
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("[" * 100_000, "too deep"),
        ('{"a": ' * 50_000 + "1" + "}" * 50_000, "too deep"),
        ('{"model_type": "llama", "hidden_size": ' + "9" * 900_000 + "}", "thousands of digits"),
        ('{"model_type": "llama", "hidden_size": 8, "hidden_size": 16}', "has `hidden_size` twice"),
        ('{"model_type": "llama", "rope_scaling": {"factor": 8, "factor": 16}}', "has `factor` twice"),
        (" " * 2_000_000, "at most 1,048,576 bytes"),
        ('{"model_type": "llama", "hidden_size": 1e999}', "T0923"),
        ('{"model_type": "llama", "hidden_size": NaN}', "T0923"),
    ],
)
def test_a_wrong_file(text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "config.json"
    file.write_text(text, "utf-8")
    assert run(["plan", str(file)]) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "more, told",
    [
        (["--weights", "int3"], "is no precision"),
        (["--fit", "much"], "is no amount of memory"),
        (["--device", "h200", "--target", "fast"], "is no speed"),
        (["--target", "50 tokens/s"], "a speed needs a device"),
        (["--device", "h200", "--measured", "0 s per token"], "is no time"),
        (["--device", "nowhere"], "known by name"),
    ],
)
def test_a_wrong_question(more: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--model", "llama3.2-1b", *more]) == 2
    assert told in capsys.readouterr().err


def test_a_key_that_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "note": 3}), "utf-8")
    assert run(["plan", str(tmp_path), "--ignore", "note"]) == 0


@pytest.mark.parametrize(
    "told, weights",
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4"),
        ({"quant_method": "gptq", "bits": 8, "group_size": 128}, "int8"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 32}, "int4-32"),
        (
            {
                "quant_method": "bitsandbytes",
                "load_in_4bit": True,
                "bnb_4bit_quant_type": "nf4",
                "bnb_4bit_use_double_quant": True,
            },
            "nf4",
        ),
        (
            {
                "quant_method": "bitsandbytes",
                "load_in_4bit": True,
                "bnb_4bit_quant_type": "nf4",
                "bnb_4bit_use_double_quant": False,
            },
            "nf4-plain",
        ),
        ({"quant_method": "compressed-tensors", "format": "float-quantized"}, "fp8"),
    ],
)
def test_a_configuration_says_how_parameters_are_kept(told: dict[str, Any], weights: str) -> None:
    assert model_in({**LLAMA, "quantization_config": told}, "small").weights == weights


@pytest.mark.parametrize("told", [{"quant_method": "awq", "bits": 3, "group_size": 128}, {"bits": 4}, 7, [1]])
def test_another_quantisation(told: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = {**LLAMA, "quantization_config": told}
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    assert run(["plan", str(tmp_path)]) == 2
    assert "what `quantization_config` would change" in capsys.readouterr().err
    assert run(["plan", str(tmp_path), "--ignore", "quantization_config", "--weights", "int8"]) == 0


def test_places_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--model", "gpt2-medium", "--prompt", "2000"]) == 2
    assert "has places for 1,024 tokens" in capsys.readouterr().err


def test_what_ships() -> None:
    assert all(shipped_model(name).lengths["l"] > 1 for name in shipped_models())
    assert all(family_of(name).keys for name in type_names())
    assert len(type_names()) >= 28


@pytest.mark.parametrize(
    "text, place",
    [
        (json.dumps(LLAMA | {"hidden_size": -1}, indent=1), '"hidden_size"'),
        ('{"model_type": "llama",\n hidden}', "h"),
        ('{"model_type": "llama"}', "{"),
    ],
)
def test_a_mistake_has_its_place(tmp_path: Path, text: str, place: str) -> None:
    """A missing key stands nowhere: the beginning of the file is shown."""
    file = tmp_path / "config.json"
    file.write_text(text, "utf-8")
    with pytest.raises(Rejected) as caught:
        model_at(file)
    (one,) = caught.value.diagnostics
    assert (one.span.source.name, one.span.text) == (str(file), place)


def test_what_has_no_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "/dev/zero"]) == 2
    assert "at most 1,048,576 bytes" in capsys.readouterr().err


def test_a_mark_of_the_order_of_bytes(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(f"\ufeff{json.dumps(LLAMA)}", "utf-8")
    assert model_at(tmp_path).lengths["d"] == 4096


def test_mutations() -> None:
    """Configurations with keys that are changed, taken away or added are read, or refused with a code."""
    random = Random(3)
    configs = [shipped_model(name).config for name in shipped_models()]
    odd = (
        None,
        0,
        -1,
        7,
        1.5,
        float("nan"),
        10**30,
        "",
        "9" * 5000,
        True,
        [],
        ["full_attention"] * 10_000,
        {},
    )
    codes: Counter[str] = Counter()
    for _ in range(800):
        config = dict(random.choice(configs))
        for key in random.sample(sorted(config), k=random.choice([1, 1, 2, 3])):
            config[random.choice([key, key, f"{key}s"])] = random.choice(odd)
            if random.random() < 0.2:
                config.pop(key, None)
        try:
            model_in(config, "mutated")
        except Rejected as rejected:
            codes[rejected.diagnostics[0].code] += 1
    assert set(codes) == {"T0921", "T0922", "T0923"}


def inside(**text: object) -> dict[str, Any]:
    return {"model_type": "of_pictures", "text_config": text, "vision_config": {"hidden_size": 3}}


def test_a_part_leaves_out_what_is_usual() -> None:
    """As repositories of Gemma 3 and LLaVA have it; the number of parameters is that of their text models."""
    gemma = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
             "num_hidden_layers": 34, "sliding_window": 1024}  # fmt: skip
    found = model_in(inside(**gemma), "gemma-3-4b")
    assert served(found).parameter_count == 3_880_263_168
    assert (found.lengths["e"], found.lengths["v"]) == (256, 262_208)
    assert any("head_dim 256" in note for note in found.notes)
    vicuna = model_in(inside(model_type="llama", vocab_size=32064), "llava")
    assert served(vicuna).parameter_count == 6_738_939_904
    with pytest.raises(Rejected, match="lacks `vocab_size`"):
        model_in(gemma, "not a part")


def test_what_is_usual_is_taken_for_an_option() -> None:
    """Heads of Qwen 3 have 128 numbers, whatever their number is; null is told, and no default."""
    config = {**LLAMA, "model_type": "qwen3", "num_attention_heads": 64}
    assert model_in(config, "short").lengths["e"] == 128
    assert model_in({**config, "head_dim": None}, "null").lengths["e"] == 64


def test_the_nearest_type() -> None:
    """By its keys, and then by its name."""
    with pytest.raises(Rejected) as caught:
        model_in({**shipped_model("gemma2-9b").config, "model_type": "mine", "tower": 3}, "new")
    (one,) = caught.value.diagnostics
    assert "the nearest is `gemma" in one.hint
    assert "which knows its keys, but for `tower`: --like gemma" in one.hint
    experts = {"num_experts": 8, "num_experts_per_tok": 2, "norm_topk_prob": False, "attention_bias": False}
    with pytest.raises(
        Rejected
    ) as caught:  # qwen3_moe has all of these keys, too, and others that are not there
        model_in({**LLAMA, **experts, "model_type": "new"}, "new")
    assert "the nearest is `olmoe`" in caught.value.diagnostics[0].hint
    with pytest.raises(Rejected, match="`tower`"):
        model_in({**LLAMA, "model_type": "llamalike", "tower": 3}, "new", like="llama")
    found = model_in({**LLAMA, "model_type": "llamalike"}, "new", like="llama")
    assert found.lengths["d"] == 4096
    assert "which may be another model" in found.notes[0]


def test_keys_are_named_as_they_are_ignored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, "note": 3, "more": 1}), "utf-8")
    assert run(["plan", str(tmp_path)]) == 2
    assert "--ignore note --ignore more" in capsys.readouterr().err


def test_what_only_python_can_give() -> None:
    """Values that no file has: what is in itself, and keys that are no text."""
    itself: dict[str, Any] = {}
    itself["itself"] = itself
    for wrong in (
        {**LLAMA, "hidden_size": itself},
        {**LLAMA, "quantization_config": itself},
        {**LLAMA, 5: 1},
        {"model_type": itself},
    ):
        with pytest.raises(Rejected):
            model_in(wrong, "mine")


def test_a_type_as_the_page_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """What docs/planning.md shows is a type: its lengths, its attributes, and a key that changes nothing."""
    text = (ROOT / "docs" / "planning.md").read_text("utf-8").partition("```toml\n[types.mine]")[2]
    shown = tomllib.loads("[types.mine]" + text.partition("```")[0])
    known = tomllib.loads((ROOT / "specs" / "serving" / "types.toml").read_text("utf-8"))
    monkeypatch.setattr(door, "_file", lambda: {**known, "types": {**known["types"], **shown["types"]}})
    config = {**LLAMA, "model_type": "mine", "kv_channels": 256, "add_qkv_bias": True, "rope_ratio": 500}
    found = model_in(config, "mine")
    assert (found.lengths["e"], found.attrs["qkv_biased"]) == (256, True)
