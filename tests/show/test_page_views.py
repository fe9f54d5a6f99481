"""Views of the page of a model in a real browser: the icicle, links, times, comparisons, paper and access."""

import csv
import json
import re
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import tolcost
from tests.audit.browser import Browser
from tests.show.test_model_page import BERT, CLICK, FIGURES, LLAMA, PRESS, SET, at
from tolcost.cli import run
from tolcost.result.study import Located, locate_study

MISTAKES = Path(__file__).with_name("access.js").read_text(encoding="utf-8")
ATTENTION = BERT.parents[1] / "specs" / "examples" / "attention.tol"
DIVIDING = Path(__file__).parents[1] / "cli" / "programs" / "dividing_attention.tol"
POINT = {"batch": 3, "seq": 128}
PARTS = """return Object.fromEntries([...document.querySelectorAll('#icicle .part[data-path]')]
  .map(p => [p.dataset.path, p.dataset.value]))"""
BY = "document.querySelector(`[data-by=${arguments[0]}]`).click()"
LATER = """return new Promise((done) => setTimeout(() => done(location.hash), 450))"""
LOADED = "return new Promise((done) => setTimeout(() => done(location.hash), 60))"
NUMBERS = "return [...document.querySelectorAll('#lengths input[type=number]')].map(i => i.value)"
PRESSED = "return document.querySelector(`${arguments[0]} [aria-pressed=true]`).textContent"
UP, DOWN, LEFT, RIGHT, ENTER, BACKSPACE = "\ue013", "\ue015", "\ue012", "\ue014", "\ue007", "\ue003"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("views")
    html = ["--format", "html", "--output"]
    assert run(["model", str(BERT), "--device", "h200", *html, f"{found}/bert.html"]) == 0
    given = [option for name, value in POINT.items() for option in ("--dim", f"{name}={value}")]
    there = ["model", str(BERT), "--device", "h200", *given, "--output"]
    run([*there, f"{found}/node.csv", "--by", "node", "--format", "csv"])
    run([*there, f"{found}/bert.json", "--format", "json"])
    run(["diff", str(BERT), str(LLAMA), "--device", "h200", *html, f"{found}/diff.html"])
    assert run(["analyze", str(ATTENTION), "--device", "h200", *html, f"{found}/program.html"]) == 0
    run(["diff", str(ATTENTION), str(DIVIDING), *html, f"{found}/programs.html"])
    return found


@pytest.fixture
def page(browser: Browser, folder: Path) -> Browser:
    browser.open("about:blank")
    browser.open((folder / "bert.html").as_uri())
    return browser


@pytest.fixture(scope="module")
def record(folder: Path) -> Any:
    return json.loads((folder / "bert.json").read_text("utf-8"))


def test_the_icicle_has_the_figures_of_scopes(page: Browser, record: Any) -> None:
    """What is alike is one part: twelve layers are as wide as all of them."""
    at(page, POINT)
    for key in ("eops", "macs", "bytes"):
        page.run(BY, key)
        nodes = record["nodes"]
        parts = page.run(PARTS)
        assert parts[""] == str(sum(int(one["at"][key]) for one in nodes))
        layers = [one for one in nodes if re.match(r"model/encoder/layer\.\d+/attention/self", one["scope"])]
        assert parts["model/encoder/layer.*/attention/self"] == str(
            sum(int(one["at"][key]) for one in layers)
        )
    page.run(BY, "parameters")
    assert page.run(PARTS)[""] == str(record["at"]["params"])
    page.run(BY, "memory")
    parts = page.run(PARTS)
    assert parts[""] == str(record["at"]["peak_bytes"])
    tensors = page.run("return [...document.querySelectorAll('#peak-of li')].map(l => l.dataset.value)")
    assert int(parts[""]) == sum(map(int, tensors))
    page.run(SET, "number", "seq", "513")
    assert page.run(PARTS) == {}


def test_times_are_those_of_the_terminal(page: Browser, record: Any) -> None:
    """Of the whole, of every operator and of every node; to the picosecond."""
    at(page, POINT)
    page.run(BY, "time")
    told = """return [...document.querySelectorAll('.share')].map(s => [s.dataset.op, s.title])"""
    groups = {one["op"]: Fraction(str(one["at"]["predicted"])) for one in record["time"]["groups"]}
    assert len(groups) > 15
    shown = {
        op: Fraction(title.split(": ")[1].split(" ")[0].replace(",", "")) for op, title in page.run(told)
    }
    assert {op: time for op, time in shown.items() if "more" not in op}.items() <= groups.items()
    whole = page.run("return document.querySelector('#icicle .part').ariaLabel")
    assert Fraction(whole.split(" nodes: ")[1].split(" ")[0].replace(",", "")) == Fraction(
        str(record["time"]["at"]["predicted"])
    )


@pytest.mark.parametrize("batch", [1, 64, 100_000])
def test_cards_write_times_as_the_terminal(
    page: Browser, capsys: pytest.CaptureFixture[str], batch: int
) -> None:
    """Three digits, in the unit that suits them: from milliseconds to thousands of seconds."""
    dims = {"batch": batch, "seq": 512}
    at(page, dims)
    cards = page.run(
        """return Object.fromEntries([...document.querySelectorAll('.figure[data-key=time]')].map(f =>
      [f.querySelector('.label').textContent.split(' (')[0], f.querySelector('.value').textContent]))"""
    )
    given = [option for name, value in dims.items() for option in ("--dim", f"{name}={value}")]
    run(["model", str(BERT), "--device", "h200", *given])
    told = re.findall(r"^(h200 \S.*?)  +(\S+ \S?s)\b", capsys.readouterr().out, re.MULTILINE)
    assert cards == dict(told)
    assert len(cards) == 3


def test_every_node_has_the_time_of_the_csv(page: Browser, folder: Path) -> None:
    rows = list(csv.DictReader((folder / "node.csv").open(encoding="utf-8")))
    wanted = {row["node"]: Fraction(row["predicted_us"] or 0) for row in rows}
    at(page, POINT)
    page.run(CLICK, "[data-view]", "in order")
    page.run("dispatchEvent(new Event('beforeprint'))")
    found = page.run(
        """return [...document.querySelectorAll('#rows .row')].map(r =>
        [r.querySelector('.title span').textContent, r.querySelector('.cell.time span').title])"""
    )
    page.run("dispatchEvent(new Event('afterprint'))")
    assert {name: Fraction(title.removesuffix(" µs").replace(",", "")) for name, title in found} == wanted


def test_a_click_goes_into_a_scope_and_out_again(page: Browser) -> None:
    first = page.run(PARTS)
    page.run(PRESS, "#icicle [data-path='model/encoder/layer.*/attention']")
    assert page.run(LOADED) == "#@scope=model/encoder/layer.*/attention"
    here = page.run("return document.querySelector('#icicle .here').dataset.path")
    assert here == "model/encoder/layer.*/attention"
    assert len(page.run(PARTS)) != len(first)
    wide = "return document.querySelector('#icicle .here').style.width"
    assert page.run(wide) == "100%"
    page.click("#out")
    assert page.run("return document.querySelector('#icicle .here').dataset.path") == "model/encoder/layer.*"
    page.run(PRESS, "#icicle [data-path='']")
    assert page.run(PARTS) == first
    page.run(PRESS, "#icicle .node")
    assert page.run("return document.querySelectorAll('.row.chosen').length") == 1
    assert page.run("return document.activeElement.id") == "rows"


def test_the_icicle_is_walked_by_keys(page: Browser) -> None:
    label = """const box = document.getElementById('icicle');
      const part = document.getElementById(box.getAttribute('aria-activedescendant'));
      return [part.dataset.path, part.ariaSelected, part.ariaLevel, !document.getElementById('tip').hidden]"""
    for key, path in (
        (DOWN, "model"),
        (DOWN, "model/encoder"),
        (DOWN, "model/encoder/layer.*"),
        (DOWN, "model/encoder/layer.*/attention"),
        (RIGHT, "model/encoder/layer.*/intermediate"),
        (LEFT, "model/encoder/layer.*/attention"),
        (UP, "model/encoder/layer.*"),
    ):
        page.keys("#icicle", key)
        depth = path.count("/") + 2
        assert page.run(label) == [path, "true", str(depth), True]
    page.keys("#icicle", ENTER)
    assert page.run("return document.querySelector('#icicle .here').dataset.path") == "model/encoder/layer.*"
    page.keys("#icicle", BACKSPACE)
    assert page.run("return document.querySelector('#icicle .here').dataset.path") == "model/encoder"
    spoken = page.run("return document.querySelector(`#icicle [data-path='model/encoder']`).ariaLabel")
    assert re.fullmatch(r"encoder 97\.1 G, \d+ nodes: [\d,]+, 100\.0 % of all, 100\.0 % of model", spoken)


def test_a_link_shows_the_same(page: Browser, folder: Path) -> None:
    at(page, POINT)
    page.run(BY, "bytes")
    page.run(CLICK, "[data-view]", "in order")
    page.run(PRESS, "#titles [data-column=macs]")
    page.run(PRESS, "#rows .row")
    page.run(CLICK, "#growth-with button", "batch")
    page.run(PRESS, "#icicle [data-path='model/encoder']")
    link = page.run(LATER)
    said = "#batch=3&seq=128&@by=bytes&@view=node&@sort=macs-&@with=batch&@scope=model/encoder&@node="
    assert link.startswith(said)
    shown = """return ['figures', 'icicle', 'share', 'growth', 'rows', 'detail'].map(id =>
      document.getElementById(id).textContent)"""
    wanted = page.run(shown)
    page.open("about:blank")
    page.open((folder / "bert.html").as_uri() + link)
    assert page.run(shown) == wanted
    assert page.run(NUMBERS) == ["3", "128"]
    assert page.run(PRESSED, "#by") == "bytes"
    page.open("about:blank")
    page.open(
        (folder / "bert.html").as_uri() + "#seq=0&@by=toString&@view=x&@sort=y-&@node=-1&@scope=a/%zz&a=%"
    )
    assert page.run("return document.body.classList.contains('outside')")


def test_back_goes_one_step_back(page: Browser) -> None:
    page.run(BY, "bytes")
    page.run(BY, "memory")
    page.run(SET, "number", "seq", "64")
    assert page.run(LATER) == "#seq=64&@by=memory"
    page.run("history.back()")
    assert page.run(LOADED) == "#@by=memory"
    assert page.run(NUMBERS) == ["1", "512"]
    page.run("history.back()")
    page.run(LOADED)
    assert page.run(PRESSED, "#by") == "bytes"
    page.run("history.forward()")
    page.run(LOADED)
    assert page.run(PRESSED, "#by") == "memory"
    page.run("history.go(-2)")
    assert page.run(LOADED) == ""
    assert page.run(PRESSED, "#by") == "EOPs"


def test_exact_numbers_are_not_cut(page: Browser) -> None:
    at(page, {"batch": 1_000_000})
    page.click("#exact")
    cut = """return [...document.querySelectorAll('#rows .number, .figure .exactly, #detail .number')]
      .filter(e => e.parentElement.scrollWidth > e.parentElement.clientWidth + 1).map(e => e.textContent)"""
    assert page.run(cut) == []


def test_formulas_are_whole(page: Browser) -> None:
    over = """return [...document.querySelectorAll('.figure')].filter(f => f.scrollWidth > f.clientWidth + 1)
      .map(f => f.dataset.key)"""
    assert page.run(over) == []
    text = page.run("return document.querySelector('[data-key=eops] .form').textContent")
    assert re.sub(r"\W", "", text) == "seq37729batchseq170309765batch2"


def test_letters_of_charts_have_one_size(page: Browser) -> None:
    size = """return [...new Set([...document.querySelectorAll('.chart')].map(svg =>
      (svg.getBoundingClientRect().width / svg.viewBox.baseVal.width).toFixed(2)))]"""
    for width in (1400, 900, 390):
        page.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        page.run(LOADED)
        assert page.run(size) == ["1.00"], width
        assert page.run("return document.documentElement.scrollWidth") <= width
    page.devtools(
        "Emulation.setDeviceMetricsOverride", width=1400, height=900, deviceScaleFactor=1, mobile=False
    )


def test_crossings_have_both_names(page: Browser) -> None:
    labels = page.run("return [...document.querySelectorAll('.crossing-label')].map(t => t.firstChild.data)")
    listed = page.run("return [...document.querySelectorAll('#crossings li')].map(t => t.textContent)")
    pairs = [re.sub(r"at seq = [\d,]+ (.*) overtakes (.*)", r"\1 > \2", text) for text in listed]
    assert labels
    assert set(labels) <= set(pairs)


def test_two_models_beside_each_other_have_every_figure(browser: Browser, folder: Path) -> None:
    browser.open("about:blank")
    browser.open((folder / "diff.html").as_uri())
    rows = """return [...document.querySelectorAll('#figures-beside tbody tr')].map(r =>
      [r.dataset.figure, ...[...r.cells].slice(1, 3).map(c => c.dataset.value)])"""
    found = browser.run(rows)
    keys = [key for key, _, _ in found]
    assert {"eops", "macs", "bytes", "peak_bytes", "params", "time"} <= set(keys)
    figures = browser.run(FIGURES)
    assert figures["eops"]  # the page begins where both hold: a BERT allows 512, and 1,024 is typical
    assert {key: new for key, _, new in found}.items() <= figures.items()
    lines = "return [...document.querySelectorAll('#growth .label title')].map(t => t.textContent)"
    for key in ("eops", "bytes", "time", "memory"):
        browser.run(BY, key)
        assert browser.run(lines) == ["bert.onnx", "llama.onnx"], key


LENGTHS = {"s": 40, "d": 64, "t": 50, "w": 32}


def test_a_program_has_the_same_page(browser: Browser, folder: Path) -> None:
    """With its functions for operators, and its lines for nodes."""
    browser.open("about:blank")
    browser.open((folder / "program.html").as_uri())
    at(browser, LENGTHS)
    there = locate_study(Located, tolcost.analyze(ATTENTION).study, LENGTHS)
    figures = browser.run(FIGURES)
    for key in ("eops", "flops", "macs", "bytes"):
        measure = next(one for one in there.measures if one.key == key)
        assert figures[key] == str(there.number(measure.form))
    counts = {f"{name} {space}": there.number(form) for (name, space), form in there.total.histogram.items()}
    shares = (
        "return [...document.querySelectorAll('.share')].map(s => [s.dataset.op, Number(s.dataset.value)])"
    )
    assert dict(browser.run(shares)) == counts
    lines = """return [...document.querySelectorAll('#rows .row')].map(r =>
      [r.querySelector('.title span').textContent, Number(r.querySelector('.eops span').dataset.value)])"""
    source = ATTENTION.read_text("utf-8").splitlines()
    wanted = {
        f"{line}: {source[line - 1]}": there.number(group.figures.eops)
        for group in there.groups("line")
        for line in [int(group.title.removeprefix("line "))]
    }
    assert dict(browser.run(lines)) == wanted
    browser.run(PRESS, "#rows .row")
    browser.click("#detail .line")
    assert browser.run("return document.querySelector('.source .here').textContent") in source
    assert browser.run("return document.getElementById('memory-card').hidden")


def test_a_line_of_a_program_has_its_derivation_within_the_page(browser: Browser, folder: Path) -> None:
    """Typeset: each step an equality of a term of the program, in mathematics."""
    browser.open((folder / "program.html").as_uri())
    browser.click("#rows .row")
    steps = browser.run("return [...document.querySelectorAll('.steps .typeset')].map(s => s.textContent)")
    assert any(one.startswith("EOPs(") and " = " in one for one in steps)
    assert steps[-1].startswith("in all ")
    assert browser.run("return document.querySelectorAll('.steps .typeset math').length") > 0
    for width in (1440, 900, 390):
        browser.devtools(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        ends = "[...document.querySelectorAll('.steps *')].map(e => e.getBoundingClientRect().right)"
        assert browser.run(f"return Math.max(...{ends}) - innerWidth") <= 0
    browser.devtools(
        "Emulation.setDeviceMetricsOverride", width=1400, height=900, deviceScaleFactor=1, mobile=False
    )


def test_lengths_below_a_chart_are_powers_of_two(browser: Browser, folder: Path) -> None:
    browser.open((folder / "program.html").as_uri())
    ticks = "[...document.querySelectorAll('#growth svg .tick[text-anchor=middle]')]"
    found = browser.run(f"return {ticks}.map(t => t.textContent)")
    values = [int(one.replace(",", "")) for one in found]
    assert len(values) > 2
    assert all(value & (value - 1) == 0 for value in values)
    assert len({b / a for a, b in pairwise(values)}) == 1


def test_two_programs_have_figures_and_curves(browser: Browser, folder: Path) -> None:
    """At lengths that one chooses: the other one is dearer at s = 1, and cheaper further on."""
    browser.open("about:blank")
    browser.open((folder / "programs.html").as_uri())
    changes = """return [...document.querySelectorAll('#figures-beside tbody tr')]
      .find(r => r.dataset.figure === 'eops').cells[3].textContent"""
    at(browser, {"s": 1, "d": 64, "w": 64})
    assert browser.run(changes).startswith("+")
    at(browser, {"s": 64})
    assert browser.run(changes).startswith("-")
    assert browser.run(PRESSED, "#growth-with") == "s"
    listed = browser.run("return [...document.querySelectorAll('#crossings li')].map(t => t.textContent)")
    (told,) = (re.fullmatch(r"at s = (\d+) (\S+) overtakes (\S+)", text) for text in listed)
    assert told is not None
    assert told.groups()[1:] == ("attention.tol", DIVIDING.name)
    costs = [tolcost.analyze(one) for one in (ATTENTION, DIVIDING)]
    for s, dearer in ((int(told[1]), True), (int(told[1]) - 1, False)):
        old, new = (cost(**{n: {"s": s, "t": s}.get(n, 64) for n in cost.symbols}).eops for cost in costs)
        assert (old > new) == dearer


@pytest.mark.parametrize("name", ["bert", "diff", "program", "programs"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everybody_can_use_it(browser: Browser, folder: Path, name: str, theme: str) -> None:
    """Names of controls, contrast of letters, roles that belong together, and a focus that shows."""
    browser.open("about:blank")
    browser.open((folder / f"{name}.html").as_uri())
    browser.run("document.documentElement.dataset.theme = arguments[0]", theme)
    browser.run(PRESS, "#rows .row:not(.scope)")
    assert browser.run(MISTAKES) == []


def test_paper_has_every_row(page: Browser) -> None:
    page.run(CLICK, "[data-view]", "in order")
    page.run("dispatchEvent(new Event('beforeprint'))")
    page.devtools("Emulation.setEmulatedMedia", media="print")
    rows = """const rows = [...document.querySelectorAll('#rows .row')];
      const [last, box] = [rows.at(-1), document.getElementById('rows')].map(e => e.getBoundingClientRect());
      return [rows.length, last.bottom <= box.bottom + 1]"""
    assert page.run(rows) == [347, True]
    page.devtools("Emulation.setEmulatedMedia", media="")
    page.run("dispatchEvent(new Event('afterprint'))")
