"""Every page at three widths: nothing is cut, sticks out, is too small, or lies on something else."""

from pathlib import Path

import pytest

from tests.audit.browser import Browser
from tests.show.test_model_page import BERT, LLAMA
from tests.show.test_page_views import ATTENTION, MISTAKES
from tolcost.cli import run

FAULTS = Path(__file__).with_name("faults.js").read_text(encoding="utf-8")
CAUSAL = ATTENTION.with_name("causal_attention.tol")
REPORT = Path(__file__).parents[2] / "reports" / "report.html"
COMMANDS = {
    "model": ["model", str(BERT), "--device", "h200"],
    "step": ["model", str(BERT), "--train", "adamw"],
    "program": ["analyze", str(ATTENTION)],
    "models": ["diff", str(LLAMA), str(BERT)],
    "programs": ["diff", str(ATTENTION), str(CAUSAL)],
    "plan": ["plan", "--model", "llama3-8b", "--devices", "h100,h200"],
}


def sized(page: Browser, width: int) -> None:
    page.devtools(
        "Emulation.setDeviceMetricsOverride",
        width=width,
        height=900,
        deviceScaleFactor=1,
        mobile=width < 500,
    )


@pytest.mark.parametrize("name", [*COMMANDS, "report"])
def test_nothing_is_cut_or_hidden(browser: Browser, tmp_path: Path, name: str) -> None:
    file = tmp_path / "page.html"
    if name == "report":
        file = REPORT
    else:
        run([*COMMANDS[name], "--format", "html", "--output", str(file)])
    for width in (1440, 900, 390):
        sized(browser, width)
        browser.open("about:blank")
        browser.open(file.as_uri())
        assert (width, browser.run(FAULTS)) == (width, [])
    for theme in ("light", "dark") if name in ("plan", "report") else ():  # others: test_page_views
        browser.run("document.documentElement.dataset.theme = arguments[0]", theme)
        assert (theme, browser.run(MISTAKES)) == (theme, [])
    sized(browser, 1400)


@pytest.mark.parametrize(
    "harm, told",
    [
        ("document.querySelector('.figure .value').style.letterSpacing = '60px'", "sticks out"),
        ("document.querySelector('.chart text').style.fontSize = '6px'", "letters of"),
        ("document.querySelector('.part small').parentElement.style.cssText = 'display:block;width:9px;"
         "overflow:hidden'", "is cut"),
        ("document.querySelectorAll('.chart .tick').forEach(t => { t.setAttribute('x', 9);"
         "t.setAttribute('y', 20) })", "one on the other"),
        ("document.querySelector('h2').textContent = 'the length `s`'", "raw: `s`"),
        ("document.body.style.width = '3000px'", "the page is"),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_found(browser: Browser, tmp_path: Path, harm: str, told: str) -> None:
    file = tmp_path / "page.html"
    run([*COMMANDS["program"], "--format", "html", "--output", str(file)])
    browser.open(file.as_uri())
    browser.run(harm)
    assert any(one.startswith(told) for one in browser.run(FAULTS)), browser.run(FAULTS)


def test_growth_begins_with_the_length_that_tells_most(browser: Browser, tmp_path: Path) -> None:
    """Two attentions differ by a factor that only s changes; EOPs of one grow fastest with s and t."""
    chosen = "return document.querySelector('#growth-with [aria-pressed=true]').textContent"
    for name, wanted in (("programs", "s"), ("program", "t"), ("model", "seq")):
        file = tmp_path / f"{name}.html"
        run([*COMMANDS[name], "--format", "html", "--output", str(file)])
        browser.open(file.as_uri())
        assert (name, browser.run(chosen)) == (name, wanted)
