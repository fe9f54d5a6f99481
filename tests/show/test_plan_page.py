"""The page of a plan: its figures are those of the command, whatever its sliders say."""

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

import tolcost
from tests.audit.browser import Browser
from tolcost.apps.plan.page import BATCHES, contexts_of
from tolcost.cli import run

MOVE = """for (const [id, value] of arguments[0]) {
  const i = document.getElementById(id);
  i.value = value;
  i.dispatchEvent(new Event(i.tagName === 'SELECT' ? 'change' : 'input'));
}
return [...document.querySelectorAll('#facts tr')].map(r => [r.dataset.name, r.cells[1].textContent])"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("plan") / "plan.html"
    command = ["plan", "--model", "gpt2-medium", "--device", "h200", "--devices", "l4", "--format", "html"]
    assert run([*command, "-o", str(file)]) == 0
    return file


def test_a_reader_moves_batch_and_context(page: Path, browser: Browser) -> None:
    browser.open(page.as_uri())
    found = dict(browser.run(MOVE, [["batch", 4], ["context", 2], ["scheme", 0], ["device", 0]]))
    assert found["parameters"] == "710 MB"
    assert found["cache"] == "805 MB"  # 98,304 bytes for each of 512 tokens of 16 texts
    assert browser.run("return document.getElementById('verdict').textContent").startswith("It fits h200")
    slow = dict(browser.run(MOVE, [["device", 1]]))
    assert slow["needed"] == found["needed"]
    assert slow["next token"] != found["next token"]
    narrow = dict(browser.run(MOVE, [["scheme", 2]]))
    assert narrow["parameters"] != found["parameters"]
    assert browser.run("return document.querySelectorAll('#memory path').length") > 4


def test_the_page_has_the_figures_of_the_command(page: Path) -> None:
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text("utf-8"))
    assert text is not None
    data = json.loads(text[1])
    plan = tolcost.plan("gpt2-medium", device="h200", weights="int4")
    row, column = 2, 4
    batch, context = BATCHES[column], contexts_of(plan)[row]
    at = replace(plan, question=replace(plan.question, batch=batch, prompt=context - 1, answer=1))
    scheme = next(one for one in data["schemes"] if one["name"] == "int4")
    parts = scheme["weights"], scheme["cache"][row][column], data["activations"][row][column]
    assert sum(parts) + data["logits"][row][column] == -(-at.needed // 1)
    assert at.decode is not None
    assert at.prefill is not None
    (bound, graph), _ = scheme["made"][row][column][2]
    assert (bound, graph) == (float(at.decode.bound), float(at.decode.graph or 0))
    assert scheme["read"][row][column][2][0][0] == float(at.prefill.bound)
