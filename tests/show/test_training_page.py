"""The page of a step of training in a real browser: its parts, and the peak of its memory at any length."""

from pathlib import Path

import onnx

import tolcost
from tests.audit.browser import Browser
from tests.show.test_model_page import FIGURES, SET
from tests.training.test_choice import layered_model
from tolcost.cli import run

PEAK = "return document.getElementById('peak').dataset.value"
SCOPES = "return [...document.querySelectorAll('#icicle .part[data-path]')].map(p => p.dataset.path)"


def test_the_page_of_a_step(browser: Browser, tmp_path: Path) -> None:
    """Figures, those of parts, and the most that the chart of memory shows are those of the command."""
    asked: dict[str, str | int] = {"recompute": "layers.*", "accumulate": 3, "precision": "bf16-mixed"}
    file, page = tmp_path / "net.onnx", tmp_path / "net.html"
    onnx.save(layered_model([16, 24]), file)
    options = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
    html = ["--format", "html", "--output", str(page)]
    assert run(["model", str(file), "--dim", "n=100", "--train", "adamw", *options, *html]) == 0
    browser.open(page.as_uri())
    step = tolcost.load_model(file).training("adamw", **asked)
    for n in (100, 7):
        browser.run(SET, "number", "n", str(n))
        figures, there = browser.run(FIGURES), step(n=n)
        assert int(figures["train_peak"]) == there.train_peak == int(browser.run(PEAK))
        assert int(figures["kept"]) == there.kept
        parts = [value for key, value in figures.items() if key.endswith(":eops")]
        assert len(parts) == 4
        assert sum(map(int, parts)) == int(figures["eops"]) == there.eops
    assert {path.split("/")[0] for path in browser.run(SCOPES) if path} >= {"forward", "backward", "adamw"}
