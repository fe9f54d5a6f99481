"""All runs together are the runs one by one: closed forms against sums by brute force."""

import json
from pathlib import Path

import jsonschema
import pytest

import tolcost
from tolcost import Cost
from tolcost.algebra import to_text
from tolcost.cli import run

EXPORTED = Path(__file__).parents[1] / "models" / "exported"
DECODER = EXPORTED / "decoder.onnx"
SCHEMAS = Path(__file__).parents[2] / "docs" / "schemas"
WEIGHTS = 58_628


@pytest.fixture(name="decoder", scope="module")
def _decoder() -> Cost:
    return tolcost.load_model(DECODER)


@pytest.mark.parametrize("first, end", [("0", "n"), ("3", "n + 3"), ("2*n", "3*n"), ("0", "5")])
def test_runs_add_up(decoder: Cost, first: str, end: str) -> None:
    whole = tolcost.generate(decoder.subs(batch=2, seq=1), f"past: {first}..{end}")
    for n in (1, 2, 6):
        low, high = (eval(text, {"n": n}) for text in (first, end))  # noqa: S307  # our own texts
        runs = [decoder(batch=2, seq=1, past=past) for past in range(low, high)]
        there = whole({"n": n} if "n" in whole.symbols else {})
        for key in ("eops", "flops", "macs", "bytes", "index"):
            assert there[key] == sum(one[key] for one in runs)  # type: ignore[misc]
        assert there["peak_bytes"] == max(one["peak_bytes"] for one in runs)  # type: ignore[type-var]
        assert there["params"] == runs[0]["params"]
        assert there["cache_bytes"] == 2 * 2 * 2 * 4 * high * 8 * 4
        assert there["memory_bytes"] == WEIGHTS + there["peak_bytes"]  # type: ignore[operator]
    by = whole.by("op").set_index("op").eops
    assert sum(by) == whole.eops


def test_a_prompt_comes_first(decoder: Cost) -> None:
    """In one graph, and as a pair of models."""
    one = decoder.subs(batch=1, seq=1)
    same = tolcost.generate(one, "past: p..p+n", prefill="seq=p")
    pair = tolcost.generate(one, "past: p..p+n", prefill="seq=p", other=decoder.subs(batch=1, past=0))
    alone = tolcost.generate(one, "past: p..p+n")
    for p, n in ((1, 1), (7, 3)):
        prompt = decoder(batch=1, seq=p, past=0)
        for key in ("eops", "macs", "bytes"):
            expected = prompt[key] + alone(p=p, n=n)[key]  # type: ignore[operator]
            assert same(p=p, n=n)[key] == pair(p=p, n=n)[key] == expected
        assert same(p=p, n=n)["peak_bytes"] == max(prompt["peak_bytes"], alone(p=p, n=n)["peak_bytes"])  # type: ignore[type-var]


def test_conditions_hold_in_every_run() -> None:
    """At most 64 positions: the last of n runs has n - 1."""
    whole = tolcost.generate(EXPORTED / "bounded.onnx", "seq: 1..n")
    assert whole(n=65).eops is not None
    with pytest.raises(tolcost.Rejected):
        whole(n=66)
    with pytest.raises(tolcost.Rejected):
        whole(n=1)  # no run at all
    with pytest.raises(tolcost.Rejected):
        tolcost.generate(EXPORTED / "bounded.onnx", "seq: 1..100")


@pytest.mark.parametrize(
    "runs, prefill, code",
    [
        ("past", None, "T0697"),
        ("nope: 0..n", None, "T0412"),
        ("past: 0..n", "seq", "T0697"),
        ("past: 0..", None, "T0697"),
        ("past: 5..5", None, "T0697"),
        ("past: 0..n", "past=p", "T0697"),  # the cache is empty then
    ],
)
def test_mistakes_are_told(decoder: Cost, runs: str, prefill: str | None, code: str) -> None:
    with pytest.raises(tolcost.Rejected) as caught:
        tolcost.generate(decoder, runs, prefill)
    assert caught.value.code == code


def test_the_command_says_the_same(decoder: Cost, capsys: pytest.CaptureFixture[str]) -> None:
    pair = ["--dim", "batch=1", "--dim", "seq=1", "--generate", "past: p..p+n", "--prefill", "seq=p"]
    asked = [*pair[:-1], f"{DECODER}: seq=p", "--dim", "n=9", "--dim", "p=4"]
    assert run(["model", str(DECODER), *asked, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    jsonschema.validate(found, json.loads((SCHEMAS / "model.json").read_text("utf-8")))
    other = decoder.subs(batch=1)
    expected = tolcost.generate(decoder.subs(batch=1, seq=1), "past: p..p+n", "seq=p", other)
    assert found["totals"]["macs"] == to_text(expected.study.total.macs)
    assert found["generate"] == {"length": "past", "first": "p", "end": "n + p"}
    for wrong in (["--sweep", "past=1..2"], ["--format", "html"]):
        assert run(["model", str(DECODER), *pair, *wrong]) == 2
    assert run(["model", str(DECODER), "--prefill", "seq=p"]) == 2


def test_times_of_all_runs_are_those_of_each(decoder: Cost, capsys: pytest.CaptureFixture[str]) -> None:
    """On a device that was measured, and on one that has bounds alone; lengths have to be numbers."""
    asked = ["--dim", "batch=2", "--dim", "seq=1", "--generate", "past: p..p+n", "--prefill", "seq=p"]
    numbers = ["--dim", "n=30", "--dim", "p=7"]
    for device in ("h200", "l4"):
        command = ["model", str(DECODER), *asked, *numbers, "--device", device]
        assert run([*command, "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
        jsonschema.validate(found, json.loads((SCHEMAS / "model.json").read_text("utf-8")))
        runs = [(7, 0), *((1, past) for past in range(7, 37))]
        each = [decoder.subs(batch=2, seq=seq, past=past).time(device) for seq, past in runs]
        told = found["generate"]["time"]
        assert float(told["bound"]) == pytest.approx(float(sum(one.arithmetic_bound for one in each)))
        if device == "l4":
            assert told["predicted"] is None
            assert float(told["prefill"]) == pytest.approx(float(each[0].arithmetic_bound))
        else:
            assert float(told["predicted"]) == pytest.approx(float(sum(one.predicted for one in each)))
            assert float(told["prefill"]) == pytest.approx(float(each[0].predicted))
        assert run(command) == 0
        assert f"time on {device}" in capsys.readouterr().out
    assert run(["model", str(DECODER), *asked, "--device", "h200"]) == 2
    assert "times need a number for each length" in capsys.readouterr().err
    assert run(["model", str(DECODER), *asked, "--dim", "n=99999", "--dim", "p=7", "--device", "h200"]) == 2
