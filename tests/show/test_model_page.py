"""The page of a model in a real browser: every control, and figures that are the command's."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from tests.audit.browser import Browser, chromium
from tolcost.cli import run
from tolcost.result.cost import Cost
from tolcost.result.model import load_model
from tolcost.result.study import locate_study

BERT = Path(__file__).parents[2] / "examples" / "bert.onnx"
LLAMA = BERT.with_name("llama.onnx")
SIZES = ({"batch": 1, "seq": 16}, {"batch": 3, "seq": 128}, {"batch": 100_000, "seq": 512})
SET = """const i = document.querySelector(`#lengths input[type=${arguments[0]}][data-name=${arguments[1]}]`);
  i.value = arguments[2]; i.dispatchEvent(new Event('input'));
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"""
FIGURES = """return Object.fromEntries([...document.querySelectorAll('.figure')]
  .map(f => [f.dataset.key, f.dataset.value]))"""
SHARES = """return Object.fromEntries([...document.querySelectorAll('.share')]
  .map(s => [s.dataset.op, s.dataset.value]))"""
SHOWN = """return [...document.querySelectorAll('.figure .value, .share .number, #rows .eops')]
  .map(e => e.textContent)"""
BESIDE = """return [...document.querySelectorAll('#compared tbody tr')]
  .map(r => [r.dataset.op, r.cells[1].dataset.value, r.cells[2].dataset.value])"""
ROWS = """return [...document.querySelectorAll('#rows .row')].map(r =>
  [r.querySelector('.title span').textContent, r.querySelector('.eops span').dataset.value])"""
GROWN = """return [...document.querySelectorAll('#growth circle title')].map(t => t.textContent)
  .find(t => t.startsWith(arguments[0])).slice(arguments[0].length)"""
TITLES = "return [...document.querySelectorAll('#rows .row .title span')].map(s => s.textContent)"
CLICK = "[...document.querySelectorAll(arguments[0])].find(e => e.textContent.includes(arguments[1])).click()"
TYPE = (
    "const f = document.getElementById('filter'); f.value = arguments[0]; f.dispatchEvent(new Event('input'))"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages: of a model on a device, of one beside another, and of one with very many nodes."""
    found = tmp_path_factory.mktemp("pages")
    assert (
        run(["model", str(BERT), "--device", "h200", "--format", "html", "--output", f"{found}/bert.html"])
        == 0
    )
    run(["diff", str(LLAMA), str(BERT), "--format", "html", "--output", f"{found}/diff.html"])
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "fixed", [x], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), found / "fixed.onnx")
    assert run(["model", f"{found}/fixed.onnx", "--format", "html", "--output", f"{found}/fixed.html"]) == 0
    page = (found / "bert.html").read_text("utf-8")
    data = re.search(r'id="data">(.*?)</script>', page)
    assert data is not None
    large = json.loads(data[1])
    large["nodes"] = [[f"{name}.{n}", kind, path] for n in range(15) for name, kind, path in large["nodes"]]
    text = json.dumps(large).replace("<", "\\u003c")
    (found / "large.html").write_text(page.replace(data[1], text), "utf-8")
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        found.devtools(
            "Emulation.setDeviceMetricsOverride", width=1400, height=900, deviceScaleFactor=1, mobile=False
        )
        yield found
        assert found.complaints() == []


@pytest.fixture
def page(browser: Browser, folder: Path) -> Browser:
    browser.open((folder / "bert.html").as_uri())
    return browser


@pytest.fixture(scope="module")
def bert() -> Cost:
    return load_model(BERT)


def at(page: Browser, dims: dict[str, int]) -> None:
    for name, value in dims.items():
        page.run(SET, "number", name, str(value))


@pytest.mark.parametrize("dims", SIZES, ids=str)
def test_figures_shares_tree_and_memory_are_the_command_s(
    page: Browser, bert: Cost, dims: dict[str, int]
) -> None:
    at(page, dims)
    there = locate_study(Cost, bert.study, dims)
    figures, shares = page.run(FIGURES), page.run(SHARES)
    for measure in there.measures:
        number = there.number(measure.form)
        assert number is None or figures[measure.key] == str(number), measure.key
    operators = {group.title: there.number(group.figures.eops) for group in there.groups("op")}
    assert {op: int(value) for op, value in shares.items()} == {op: n for op, n in operators.items() if n}
    rows = dict(page.run(ROWS))
    assert int(rows["model"]) == there.number(there.total.eops)
    assert int(page.run("return document.getElementById('peak').dataset.value")) == int(figures["peak_bytes"])
    page.run(CLICK, "[data-view]", "by operator")
    assert {op: int(value) for op, value in page.run(ROWS)} == operators
    grown = page.run(GROWN, f"all at seq = {dims['seq']}: ")
    assert grown == page.run("return document.querySelector('[data-key=eops] .value').textContent")


def test_outside_of_the_conditions_there_is_no_number(page: Browser) -> None:
    at(page, {"seq": 513})
    assert "the model holds where seq <= 512" in page.run(
        "return document.getElementById('outside').textContent"
    )
    assert set(page.run(FIGURES).values()) == {""}
    assert not re.search(r"\d", "".join(page.run(SHOWN)))
    assert page.run("return document.querySelector('#conditions .fails code').textContent") == "seq <= 512"
    assert page.run("return document.getElementById('peak').dataset.value") == ""
    at(page, {"seq": 512})
    assert page.run(FIGURES)["eops"]


def test_a_slider_reaches_the_last_length_that_is_allowed(page: Browser) -> None:
    places = page.run("return document.querySelectorAll('.length')[1].places")
    page.run(SET, "range", "seq", str(places.index(512)))
    assert page.run("return document.querySelectorAll('#lengths input[type=number]')[1].value") == "512"
    assert not page.run("return document.body.classList.contains('outside')")
    page.run(SET, "range", "seq", str(places.index(513)))
    assert page.run("return document.body.classList.contains('outside')")


def test_growth_shows_where_one_part_overtakes_another(page: Browser, bert: Cost) -> None:
    told = page.run("return [...document.querySelectorAll('#crossings li')].map(l => l.textContent)")
    found = re.fullmatch(r"from seq = (\d+) on, Attention costs more than Gelu", told[-1])
    assert found is not None
    forms = {group.title: group.figures.eops for group in bert.groups("op")}

    def less(seq: int) -> bool:
        there = locate_study(Cost, bert.study, {"batch": 1, "seq": seq})
        gelu, attention = there.number(forms["Gelu"]), there.number(forms["Attention"])
        return gelu is not None and attention is not None and gelu < attention

    assert less(int(found[1]))
    assert not less(int(found[1]) - 1)
    page.run(CLICK, "#growth-with button", "batch")
    assert (
        page.run("return document.querySelector('#growth svg').getAttribute('aria-label')")
        == "EOPs with batch"
    )
    assert page.run("return document.querySelectorAll('#growth polyline').length") == 6
    assert page.run("return document.querySelectorAll('#roof circle').length") >= 3


def test_a_row_opens_down_to_the_line_of_a_definition(page: Browser) -> None:
    page.run(TYPE, "matmul")
    page.run("document.querySelector('#rows .row:not(.scope)').click()")
    assert "Why: MatMul" in page.run("return document.getElementById('detail').textContent")
    exact = page.run("return document.querySelector('#detail [data-key=eops]').dataset.value")
    assert exact == page.run("return document.querySelector('#rows .row.chosen .eops span').dataset.value")
    assert page.run("return document.querySelectorAll('#detail math').length") >= 3
    page.click("#detail .line")
    label, line = page.run(
        """const s = document.querySelector('.source');
        return [s.getAttribute('aria-label'), s.querySelector('.here').textContent]"""
    )
    assert line in (BERT.parents[1] / label).read_text("utf-8").splitlines()
    page.run("document.querySelector('#detail .close').click()")
    assert page.run("return document.getElementById('detail').hidden")
    page.run("document.querySelector('.figure[data-key=eops]').click()")
    assert page.run("return document.querySelector('.figure.wide').dataset.key") == "eops"


def test_rows_sort_filter_fold_and_open(page: Browser) -> None:
    assert "layer.*" in page.run(TITLES)
    page.click("#fold")
    unfolded = page.run(TITLES)
    assert "layer.*" not in unfolded
    assert {"layer.0", "layer.1", "layer.2"} <= set(unfolded)
    page.run(CLICK, "[data-view]", "in order")
    page.click("#titles [data-column=eops]")
    values = [int(value) for _, value in page.run(ROWS)]
    assert values == sorted(values, reverse=True)
    page.click("#titles [data-column=eops]")
    values = [int(value) for _, value in page.run(ROWS)]
    assert values == sorted(values)
    page.run(TYPE, "layer_norm_7")
    assert page.run(TITLES) == ["node_layer_norm_7"]
    page.run(TYPE, "")
    page.click("#exact")
    first = "return document.querySelector('#rows .bytes span')"
    assert page.run(f"{first}.textContent.replaceAll(',', '')") == page.run(f"{first}.dataset.value")
    page.run("document.querySelector('#columns input[data-column=flops]').click()")
    assert page.run("return !!document.querySelector('#rows .row .flops')")
    page.run(CLICK, "[data-view]", "by scope")
    page.click("#unfold")
    count = "return Number(document.getElementById('rows').getAttribute('aria-rowcount'))"
    assert page.run(count) > 347
    page.click("#unfold")
    assert page.run(count) < 10


def test_keys_do_what_the_list_says(page: Browser) -> None:
    page.run("document.getElementById('rows').focus()")
    arrows = {"down": "\ue015", "right": "\ue014", "left": "\ue012"}
    page.keys("#rows", arrows["down"] * 2)
    second = page.run("return document.querySelector('.row.chosen .title span').textContent")
    assert second == page.run(TITLES)[1]
    before = len(page.run(TITLES))
    page.keys("#rows", arrows["left"])
    assert len(page.run(TITLES)) < before
    page.keys("#rows", arrows["right"])
    assert len(page.run(TITLES)) == before
    page.keys("#rows", "?")
    assert not page.run("return document.getElementById('keys').hidden")
    page.keys("#rows", "\ue00c")
    assert page.run("return document.getElementById('keys').hidden")
    assert page.run("return document.getElementById('detail').hidden")
    page.keys("#rows", "t")
    assert page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(19, 21, 24)"
    page.keys("#rows", "/")
    assert page.run("return document.activeElement.id") == "filter"


def test_memory_leads_to_a_node_and_operators_to_theirs(page: Browser) -> None:
    page.run("document.getElementById('memory').scrollIntoView()")
    page.run(
        """const s = document.querySelector('#memory svg'), b = s.getBoundingClientRect();
        s.dispatchEvent(new MouseEvent('click', {clientX: b.left + b.width / 2, clientY: b.top + 9}))"""
    )
    assert page.run("return document.querySelectorAll('.row.chosen').length") == 1
    page.run(CLICK, ".share", "Gelu")
    assert page.run(TITLES) == ["Gelu"]


def test_thousands_of_nodes_stay_fluid(browser: Browser, folder: Path) -> None:
    browser.open((folder / "large.html").as_uri())
    browser.run(CLICK, "[data-view]", "in order")
    assert (
        browser.run("return Number(document.getElementById('rows').getAttribute('aria-rowcount'))")
        == 15 * 347
    )
    assert browser.run("return document.querySelectorAll('#rows .row').length") < 80
    browser.run("document.getElementById('rows').scrollTop = 30 * 5000")
    shown = """return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(
      [...document.querySelectorAll('#rows .row')].map(r => Number(r.ariaRowIndex))))))"""
    places = browser.run(shown)
    assert 5001 in places
    assert len(places) < 80


def test_a_model_of_one_size_has_its_figures(browser: Browser, folder: Path) -> None:
    browser.open((folder / "fixed.html").as_uri())
    assert browser.run(FIGURES)["eops"] == "6"
    assert "No length is open" in browser.run("return document.getElementById('growth').textContent")


def test_two_models_are_shown_beside_each_other(browser: Browser, folder: Path) -> None:
    browser.open((folder / "diff.html").as_uri())
    assert "llama.onnx → bert: more EOPs for all lengths" in browser.run(
        "return document.querySelector('#compared h2').textContent"
    )
    rows = browser.run(BESIDE)
    assert {op: after for op, _, after in rows}["all"] == browser.run(FIGURES)["eops"]
    assert ["RotaryEmbedding", "0"] in [[op, after] for op, _, after in rows]
    at(browser, {"batch": 2})
    assert "batch <= 1" in browser.run("return document.getElementById('outside').textContent")


def test_it_is_one_file_and_fits_a_phone_and_paper(browser: Browser, folder: Path) -> None:
    browser.devtools(
        "Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True
    )
    browser.open((folder / "bert.html").as_uri())
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.run("return document.documentElement.scrollWidth") <= 390
    browser.run("dispatchEvent(new Event('beforeprint'))")
    drawn: Any = browser.run("return document.querySelectorAll('#rows .row').length")
    assert drawn == browser.run(
        "return Number(document.getElementById('rows').getAttribute('aria-rowcount'))"
    )
    browser.run("dispatchEvent(new Event('afterprint'))")
