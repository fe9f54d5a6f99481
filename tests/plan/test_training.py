"""Steps of training of planned models, held to what an H200 measured, and to what is known of them."""

from fractions import Fraction

import pytest

import tolcost
from tests.plan.test_families import RECORDED
from tolcost.apps.plan.door import model_in
from tolcost.apps.plan.figures import served
from tolcost.apps.plan.questions import step_fit, step_used
from tolcost.apps.plan.training import AGAIN, BACKWARD, FORWARD, PlannedStep, StepAsked, step_of
from tolcost.cli import run
from tolcost.cost.device import load_device
from tolcost.diagnostics import Rejected
from tools.serving.steps import measured_over_planned, rows, times_over_bounds


@pytest.mark.parametrize("name", ["opt-125m", "qwen3-300m"])
def test_peaks_of_an_h200(name: str) -> None:
    """No step needs more than was measured; where kernels are whole, what is kept is the same to 0.4 %.

    transformers computes norms in several kernels; ``tools/serving/steps.py`` has all models.
    """
    measured = list(rows(name))
    assert len(measured) == 4
    for row, found in measured:
        assert found.step.trained == row["parameters"]
        peak, kept = measured_over_planned(row, found)
        assert 1 <= peak < (1.2 if name == "opt-125m" or row["recompute"] else 1.5)
        assert kept is None or 1 <= kept < (1.004 if name == "opt-125m" else 1.6)


def test_no_step_of_an_h200_is_faster_than_its_bound() -> None:
    """With many tokens it is of use: at 32 texts of 1,024 tokens a step takes at most six times as long."""
    found = list(times_over_bounds())
    assert len(found) == 42
    for row, share in found:
        assert 1 < share < (6 if row["batch"] == 32 else 70), row


@pytest.mark.parametrize("kind", ["gpt_oss", "deepseek_v3", "mamba", "rwkv", "bert"])
def test_every_parameter_has_a_gradient(kind: str) -> None:
    """Products are those of forward and twice as many; experts compute what is inside of them again."""
    config = next(row["config"] for row in RECORDED["rows"] if row["config"]["model_type"] == kind)
    found = PlannedStep(step_of(served(model_in(config, kind)), StepAsked("adamw")), 2, 24)
    assert found.step.trained == found.step.served.parameter_count
    assert 3 * found.macs[FORWARD] <= found.model_macs <= found.macs[FORWARD] + found.macs[BACKWARD]
    held = found.step.held
    assert sum(held.values()) == 16 * found.step.trained


IN_PAIRS = [
    ("t5", 0, 4_847_904, 14_543_712),
    ("t5", 1, 5_980_824, 17_942_472),
    ("whisper", 0, 5_297_664, 15_812_352),
    ("whisper", 1, 15_435_264, 46_112_256),
]
"""Products that FlopCounterMode of torch 2.13 counts for transformers' modules: forward, and with backward.

Two texts, 24 tokens each; T5 makes 9.
"""


@pytest.mark.parametrize("kind, nth, forward, whole", IN_PAIRS)
def test_an_encoder_and_a_decoder(kind: str, nth: int, forward: int, whole: int) -> None:
    """What is not seen counts for torch alone, what backward adds up in norms and softmaxes, here alone."""
    rows = [row["config"] for row in RECORDED["rows"] if row["config"]["model_type"] == kind]
    found = PlannedStep(step_of(served(model_in(rows[nth], kind)), StepAsked("adamw")), 2, 24, made=9)
    lengths = found.step.served.model.lengths
    heads, width, layers = (lengths[name] for name in "hel")
    unseen = 2 * layers * heads * 2 * width * (24 * 23 // 2) if kind == "whisper" else 0
    assert found.step.trained == found.step.served.parameter_count
    assert found.macs[FORWARD] == forward - unseen
    assert 0 < found.model_macs - (whole - 3 * unseen) < 0.003 * whole


def test_a_step_learns_what_is_made(capsys: pytest.CaptureFixture[str]) -> None:
    """T5 makes tokens of what is read; what nothing reads, such as scores of attention, needs no room."""
    plan = ["plan", "--model", "t5-base", "--train", "adamw", "--prompt", "512"]
    assert run([*plan, "--answer", "114", "--device", "h100"]) == 0
    assert "1 text of 512 tokens, 114 made" in capsys.readouterr().out
    assert run([*plan, "--answer", "0"]) == 2
    assert "--train needs an --answer" in capsys.readouterr().err
    asked = tolcost.plan("t5-base", prompt=512, answer=114).training("adamw")
    more = tolcost.plan("t5-base", prompt=512, answer=228).training("adamw")
    assert asked.kept < more.kept
    assert {len(one.call.kind.outputs) for one in asked.step.forward.calls} == {1}


def test_what_layers_begin_with() -> None:
    """A layer that is computed again keeps its input alone; outside of layers all is kept."""
    plan = tolcost.plan("llama3.2-1b", batch=2, prompt=5000, device="h200")
    again, lengths = plan.training("adamw", recompute=True), plan.served.model.lengths
    rows = 2 * 5000 * lengths["d"] * 2
    assert again.kept == rows * (lengths["l"] + 2)  # and the last norm's input and result
    first = plan.training("adamw")
    assert again.macs[AGAIN] < first.macs[FORWARD] == again.macs[FORWARD]
    assert first.peak.bytes > again.peak.bytes
    assert again.model_macs == first.model_macs
    times = [one.bound[0] for one in (first, again) if one.bound is not None]
    rate = load_device("h200").macs["bfloat16"]
    assert times == [first.model_macs / rate, (first.model_macs + again.macs[AGAIN]) / rate]


def test_optimisers_and_precisions() -> None:
    plan = tolcost.plan("qwen2.5-3b", prompt=64)
    count = plan.served.parameter_count

    def held(*asked: str) -> dict[str, int]:
        return plan.training(*asked).step.held

    assert held("adamw", "bf16") == {
        "parameters": 2 * count, "gradients": 2 * count, "copies": 0, "optimiser": 4 * count
    }  # fmt: skip
    assert held("sgd")["optimiser"] == 0
    assert held("momentum")["optimiser"] == 4 * count
    assert held("adafactor")["optimiser"] < count // 10


def test_questions() -> None:
    plan = tolcost.plan("llama3.2-1b", batch=2, prompt=512, device="h200")
    step = plan.training("adamw")
    assert step.fits
    assert step.bound is not None
    fits = step_fit(step, Fraction(step.peak.bytes))
    assert (fits.batch, fits.context, fits.proved) == (2, 512, True)
    use = step_used(step, "1 s per step")
    assert use.of_model == step.model_macs / (10**6 * load_device("h200").macs["bfloat16"])
    with pytest.raises(Rejected, match="time is one of a step"):
        step_used(step, "1 s per token")


@pytest.mark.parametrize(
    "more, told",
    [
        (["--train", "ada"], "no optimiser `ada`"),
        (["--train", "adamw", "--chunk", "4"], "--chunk is not about training"),
        (["--train", "adamw", "--precision", "fp4"], "`fp4` is no precision for training"),
        (["--train", "adamw", "--measured", "1 s per step"], "needs a device"),
        (["--train", "adamw", "--format", "html"], "--train is written as"),
        (["--precision", "bf16"], "are for --train"),
        (["--device", "h200", "--measured", "1 s per step"], "a step is one of training"),
    ],
)
def test_wrong_questions(more: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--model", "llama3.2-1b", *more]) == 2
    assert told in capsys.readouterr().err


def test_one_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--model", "llama3.2-1b", "--train", "adamw", "--device", "h200"]) == 0
    told = capsys.readouterr().out
    assert "adamw, bf16-mixed, 1 text of 2,000 tokens" in told
    assert "backward" in told
    assert len(told.splitlines()) < 24
