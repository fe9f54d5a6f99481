"""Published calculators, held to figures that others took from them, and judged."""

import csv
import json
from pathlib import Path

import pytest

from tolcost.apps.plan.calculators import CalculatorJudgement, calculator_formulas, judge_calculators
from tolcost.apps.plan.calculators_view import calculators_table
from tolcost.apps.plan.door import model_in, shipped_model, shipped_models
from tolcost.apps.plan.figures import served
from tolcost.cli import run
from tolcost.show.tables import csv_text

REPORT = Path(__file__).parents[2] / "reports" / "calculators.csv"
KNOWN: dict[str, list[CalculatorJudgement]] = {}


def judged(name: str) -> dict[tuple[str, str], CalculatorJudgement]:
    if name not in KNOWN:
        KNOWN[name] = list(judge_calculators(served(shipped_model(name)), calculator_formulas()))
    return {(one.formula.calculator, one.formula.counts): one for one in KNOWN[name]}


def at(name: str, calculator: str, counts: str, tokens: int) -> int:
    """What a formula gives for a text of a length, which is all that its model's configuration allows."""
    config = {**shipped_model(name).config, "max_position_embeddings": tokens}
    formulas = [one for one in calculator_formulas() if (one.calculator, one.counts) == (calculator, counts)]
    (found,) = judge_calculators(served(model_in(config, name)), formulas)
    assert found.tokens == tokens
    return int(found.published)


def test_the_formulas_give_what_their_sources_print() -> None:
    """34,534,221,696 FLOPs a token by torchtitan (pull request 4300), 73,728 bytes by hf-mem (issue 60)."""
    assert at("gpt-oss-120b", "torchtitan", "flops", 4096) == 34_534_221_696 * 4096
    assert at("gpt-oss-120b", "hf-mem", "cache", 1) == 73_728


@pytest.mark.parametrize(
    "name, calculator, counts, verdict",
    [
        ("llama3-8b", "hf-mem", "cache", "equal"),
        ("llama3-8b", "Megatron-LM", "parameters", "equal"),
        ("llama3-8b", "Megatron-Bridge", "parameters", "too high"),  # a bias of each norm, which has none
        ("llama3-8b", "verl", "flops", "another convention"),  # the embedding counts as a product
        (
            "llama3-8b",
            "LLM-Viewer",
            "flops",
            "too low and too high",
        ),  # a product of the logits as one operation
        ("gemma3-1b", "hf-mem", "cache", "equal"),
        ("gemma3-1b", "llm-analysis", "cache", "too high"),  # neither the width of heads nor the window
        ("gemma3-1b", "verl", "flops", "too low"),  # half of what a window sees already
        ("gemma3-1b", "Megatron-Bridge", "flops", "too low and too high"),  # a window in every layer
        ("gemma3-1b", "aiconfigurator", "cache", "no answer"),
        ("gpt2-medium", "verl", "flops", "too low"),  # what it does not know is 0
        ("gpt2-medium", "vLLM", "flops", "too high"),  # networks have three matrices
        ("mamba-2.8b", "vLLM", "cache", "equal"),
    ],
)
def test_a_verdict(name: str, calculator: str, counts: str, verdict: str) -> None:
    assert judged(name)[calculator, counts].verdict == verdict


def test_what_a_convention_does() -> None:
    found = judged("llama3-8b")
    assert found["Megatron-LM", "flops"].changes == ("attention counts as half of a square",)
    assert found["vLLM", "cache"].changes == ("places are given out in blocks of 16 tokens",)
    assert found["verl", "flops"].published > found["verl", "flops"].own


def test_the_report_is_what_is_judged(capsys: pytest.CaptureFixture[str]) -> None:
    """Its rows for some models; `make referee` writes all."""
    rows = list(csv.DictReader(REPORT.read_text("utf-8").splitlines()))
    for name in ("llama3-8b", "gemma3-1b"):
        own = list(csv.DictReader(csv_text(calculators_table(list(judged(name).values()))).splitlines()))
        assert own == [row for row in rows if row["model"] == name]
    assert run(["plan", "--model", "mamba-2.8b", "--calculators"]) == 0
    assert "says 0" in capsys.readouterr().out
    assert run(["plan", "--model", "mamba-2.8b", "--calculators", "--format", "json"]) == 2
    assert run(["plan", "--model", "mamba-2.8b", "--format", "csv"]) == 2


def test_accelerate_as_it_estimates() -> None:
    """Its formula gives what it prints for each shipped model, in float32; ``tools/serving/estimates.py``."""
    recorded = json.loads((Path(__file__).parent / "accelerate.json").read_text("utf-8"))
    formulas = [one for one in calculator_formulas() if one.calculator == "accelerate"]
    assert set(recorded["bytes"]) == set(shipped_models())
    changes = {}
    for name, size in recorded["bytes"].items():
        model = shipped_model(name)
        if name in recorded["smaller"]:
            model = model_in({**model.config, **recorded["smaller"][name]}, name)
        (found,) = judge_calculators(served(model), formulas)
        assert found.published * 4 == size, name
        changes[name] = found.changes
    assert changes["llama3-8b"] == ("without the matrix of the logits", "tables of rotations count")
    assert changes["llama3.2-1b"] == ("tables of rotations count",)  # one matrix for both
