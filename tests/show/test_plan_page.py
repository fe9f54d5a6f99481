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
from tolcost.platform import read_spec

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
    assert browser.run("return document.getElementById('verdict').textContent").startswith("It fits on h200")
    slow = dict(browser.run(MOVE, [["device", 1]]))
    assert slow["needed"] == found["needed"]
    assert slow["next token"] != found["next token"]
    narrow = dict(browser.run(MOVE, [["scheme", 2]]))
    assert narrow["parameters"] != found["parameters"]
    assert browser.run("return document.querySelectorAll('#memory path').length") > 4


def test_the_page_begins_at_what_is_asked(
    tmp_path: Path, browser: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    """It began at the nearest power of two, with other times than the terminal."""
    asked = ["plan", "--model", "gpt2-medium", "--device", "h200", "--batch", "3", "--prompt", "300"]
    run(asked)
    told = re.findall(r"^ *(\w[\w ]*?)  +(\S+ \S?[Bs])\b", capsys.readouterr().out, re.MULTILINE)
    run([*asked, "--format", "html", "-o", str(tmp_path / "plan.html")])
    browser.open((tmp_path / "plan.html").as_uri())
    facts = dict(browser.run(MOVE, []))
    for name, size in told:
        if name in ("cache", "activations", "logits", "needed"):
            assert facts.pop(name) == size, name
    times = [
        browser.run("return document.querySelectorAll('#facts td')[arguments[0]].textContent", n)
        for n in (16, 19)
    ]
    assert times == [facts["first token"], facts["next token"]]


def test_the_page_has_the_figures_of_the_command(page: Path) -> None:
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text("utf-8"))
    assert text is not None
    data = json.loads(text[1])
    plan = tolcost.plan("gpt2-medium", device="h200", weights="int4")
    row, column = 2, 4
    batch, context = BATCHES[column], contexts_of(plan)[row]
    at = replace(plan, question=replace(plan.question, batch=batch, prompt=context - 1, answer=1))
    scheme = next(one for one in data["schemes"] if one["name"] == "int4")
    sizes = scheme["weights"], scheme["cache"][row][column], data["activations"][row][column]
    assert sum(sizes) + data["logits"][row][column] == -(-at.needed // 1)
    assert at.decode is not None
    assert at.prefill is not None
    (bound, graph, parts), _ = scheme["made"][row][column][2]
    assert [data["calls"][kind][0] for kind, _ in parts] == [part.name for part in at.decode.parts[:4]]
    assert (bound, graph) == (float(at.decode.bound), float(at.decode.graph or 0))
    assert scheme["read"][row][column][2][0][0] == float(at.prefill.bound)


FOLLOWED = """const found = [];
for (const row of document.querySelectorAll('#facts tr, #parts tr'))
  for (const link of row.querySelectorAll('a')) {
    link.click();
    const line = document.querySelector(link.getAttribute('href'));
    const open = document.getElementById('program').open && line.getBoundingClientRect().height > 0;
    found.push([row.cells[0].textContent, open, Number(link.textContent), line.textContent]);
  }
return found"""


def test_every_number_leads_to_its_line(page: Path, browser: Browser) -> None:
    """Of what is in memory to where it is declared, and of times to what is called."""
    browser.open(page.as_uri())
    browser.run(MOVE, [["batch", 4], ["context", 2], ["scheme", 0], ["device", 0]])
    found = browser.run(FOLLOWED)
    text = read_spec("serving", "decoder").text.splitlines()
    assert all(opened and text[number - 1] == line for _, opened, number, line in found)
    lines: dict[str, list[str]] = {}
    for name, _, _, line in found:
        lines.setdefault(name, []).append(line)
    names = {line.split(":")[0] for line in lines["parameters"]}
    assert {"tol tokens", "tol qkv", "tol up"} <= names
    assert [line.split(":")[0] for line in lines["cache"]] == ["tol keys", "tol values"]
    assert {"activations", "logits"} <= set(lines)
    timed = {name: said for name, said in lines.items() if ": " in name}
    assert len(timed) == 8
    for name, said in timed.items():
        assert all(name.split(": ")[1] in line for line in said), name
