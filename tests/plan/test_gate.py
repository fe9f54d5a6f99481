"""A ``config.json`` in the gate: closed forms that are the plan's figures, and budgets on them."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.plan.test_families import model_of_type
from tolcost.apps.plan.door import shipped_model
from tolcost.apps.plan.plan import Plan, Question
from tolcost.apps.plan.precision import precision_of
from tolcost.check.lockfile import load_lock
from tolcost.cli import run
from tolcost.cost.engine import engine_of
from tolcost.platform import specs_root

SETTINGS = """paths = ["config.json"]
metrics = ["params", "param_bytes", "peak_bytes", "macs"]
[budgets]
"config.json" = ["peak <= 80 GB at batch=8, context=32768"]
"""
NARROW = '[cases."config.json"]\nsmall.attrs = { weights = "int4", cache = "fp8" }\n'


def value(form: str, at: dict[str, object]) -> object:
    return eval(form, at)  # noqa: S307 - a form of the lock file that was just written


def settle(folder: Path, name: str, more: str = "") -> Path:
    text = specs_root().joinpath("serving", "models", f"{name}.json").read_text("utf-8")
    (folder / "config.json").write_text(text, "utf-8")
    budgets = SETTINGS.replace('"config.json" =', '"config.json#small" =') if more else SETTINGS
    (folder / "tolcost.toml").write_text(budgets + more, "utf-8")
    return folder


@pytest.mark.parametrize(
    "name, more",
    [("llama3-8b", NARROW), ("gemma3-1b", ""), ("mamba-2.8b", ""), ("bert-base", ""), ("t5-base", "")],
)
def test_forms_are_the_figures_of_the_plan(
    name: str, more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(settle(tmp_path, name, more))
    assert run(["check", "--update"]) in (0, 1)  # written, even where it is over budget
    lock = load_lock(tmp_path / "tolcost.lock")
    assert lock is not None
    entry = lock.entries["config.json#small" if more else "config.json"]
    forms = {metric: figure.form for metric, figure in entry.figures}
    model = model_of_type(shipped_model(name))
    precision = precision_of("int4", "fp8") if more else precision_of()
    for batch, context in ((1, 2), (3, 500)):
        at: dict[str, object] = {"batch": batch, "context": context, "Min": min, "Max": max}
        question = Question(batch, context, 1 if model.model.family.source else 0)
        plan = Plan(model, question, precision, engine_of("transformers"))
        assert value(forms["peak_bytes"], at) == -(-plan.needed // 1)
        assert value(forms["param_bytes"], at) == -(-plan.weights // 1)
        if model.model.family.answers and not model.model.family.source:
            made = model.step(batch, context - 1, 1)
            assert value(forms["macs"], at) == plan.macs(replace(made, past=context))


def test_a_budget_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(settle(tmp_path, "llama3-8b"))
    assert run(["check", "--update"]) == 0
    assert run(["check"]) == 0
    config = tmp_path / "config.json"
    config.write_text(
        config.read_text("utf-8").replace('_hidden_layers": 32', '_hidden_layers": 48'), "utf-8"
    )
    capsys.readouterr()
    assert run(["check"]) == 1
    assert "peak_bytes 99277828096, allowed 80000000000" in capsys.readouterr().out
    config.write_text("{}", "utf-8")
    assert run(["check"]) == 2
    assert "has no `model_type`" in capsys.readouterr().err


def test_what_fits_is_a_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(settle(tmp_path, "llama3-8b"))
    file = tmp_path / "tolcost.toml"
    for amount, code in (("80GB", 0), ("40 GB", 1), ("80 apples", 2)):
        budget = f"fits {amount} at batch=8, context=32768"
        file.write_text(SETTINGS.replace("peak <= 80 GB at batch=8, context=32768", budget), "utf-8")
        assert run(["check", "--update"]) in ((2,) if code == 2 else (0, 1))
        capsys.readouterr()
        assert run(["check"]) == code
    assert "`apples` is no unit of peak_bytes" in capsys.readouterr().err


def test_a_case_says_what_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(settle(tmp_path, "llama3-8b", NARROW.replace("int4", "int3")))
    assert run(["check", "--update"]) == 2
