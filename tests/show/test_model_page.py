"""The page of a model in a real browser: every control, and figures that are the command's."""

import json
import os
import re
from hashlib import sha256
from operator import add
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from tests.audit.browser import Browser, note, noted
from tolcost.api import load_model
from tolcost.cli import run
from tolcost.result.cost import Cost
from tolcost.result.study import locate_study

BERT = Path(__file__).parents[2] / "examples" / "bert.onnx"
PICTURE = BERT.parents[1] / "docs" / "model-page.png"
LLAMA = BERT.with_name("llama.onnx")
SIZES = ({"batch": 1, "seq": 16}, {"batch": 3, "seq": 128}, {"batch": 100_000, "seq": 512})
SET = """const i = document.querySelector(`#lengths input[type=${arguments[0]}][data-name=${arguments[1]}]`);
  i.value = arguments[2]; i.dispatchEvent(new Event('input'));
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"""
FIGURES = """return Object.fromEntries([...document.querySelectorAll('.figure')]
  .map(f => [f.dataset.key, f.dataset.value]))"""
SHARES = """return Object.fromEntries([...document.querySelectorAll('.share')].map(s => [s.dataset.op,
  [s.dataset.value, s.querySelector('i').style.width, s.querySelector('.count').textContent]]))"""
SHOWN = """return [...document.querySelectorAll(`.figure .value, .figure .exactly, .share .number,
  #rows .number, #rows .share-of, #rows .intensity, #detail .number[data-value], #peak, #memory, #roof`)]
  .map(e => e.textContent)"""
LINES = "return [...document.querySelectorAll('#growth .label title')].map(t => t.textContent)"
AMOUNTS = ("eops", "macs", "bytes")
ALL_ROWS = """const box = document.getElementById('rows');
  box.style.minHeight = box.scrollHeight + 'px';
  box.dispatchEvent(new Event('scroll'));
  const read = () => [...document.querySelectorAll('#rows .row')].map(r => (box.style.minHeight = '') || [
    Number(r.ariaLevel) - 1, r.classList.contains('scope'), r.querySelector('.title span').textContent,
    ...['eops', 'macs', 'bytes'].map(k => r.querySelector(`.${k} span`).dataset.value)]);
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(read()))))"""
BESIDE = """return [...document.querySelectorAll('#compared tbody tr[data-op]')]
  .map(r => [r.dataset.op, r.cells[1].dataset.value, r.cells[2].dataset.value])"""
ROWS = """return [...document.querySelectorAll('#rows .row')].map(r =>
  [r.querySelector('.title span').textContent, r.querySelector('.eops span').dataset.value])"""
GROWN = """return [...document.querySelectorAll('#growth circle title')].map(t => t.textContent)
  .find(t => t.startsWith(arguments[0])).slice(arguments[0].length)"""
ESCAPE = "\ue00c"
CELLS = """const named = ['title', 'op', 'type'].includes(arguments[0]), by = arguments[0] === 'share-of';
  return [...document.querySelectorAll(`#rows .row .cell.${by ? 'eops' : arguments[0]}`)].map(c =>
    named ? c.textContent.replace('▸', '') : Number(c.querySelector('[data-value]').dataset.value))"""
TITLES = "return [...document.querySelectorAll('#rows .row .title span')].map(s => s.textContent)"
PRESS = "document.querySelector(arguments[0]).click()"
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
    y = helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, 3])
    own = helper.make_node("Own", ["c"], ["z"], domain="my")
    steps = [helper.make_node("Relu", ["x"], ["b"]), helper.make_node("Identity", ["b"], ["c"]), own]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    partly = helper.make_model(helper.make_graph(steps, "partly", [x], [y]), opset_imports=opsets)
    onnx.save(partly, found / "partly.onnx")
    run(["model", f"{found}/partly.onnx", "--format", "html", "--output", f"{found}/partly.html"])
    onnx.save(_windows(), found / "windows.onnx")
    given = [option for name in ("n", "h", "w") for option in ("--dim", f"{name}=9")]
    html = ["--format", "html", "--output"]
    assert run(["model", f"{found}/windows.onnx", *given, *html, f"{found}/windows.html"]) == 0
    onnx.save(_solved(), found / "solved.onnx")
    assert run(["model", f"{found}/solved.onnx", *html, f"{found}/solved.html"]) == 0
    onnx.save(_kept(), found / "kept.onnx")
    assert run(["model", f"{found}/kept.onnx", *html, f"{found}/kept.html"]) == 0
    onnx.save(_branches(), found / "many.onnx")
    assert run(["model", f"{found}/many.onnx", "--format", "html", "--output", f"{found}/many.html"]) == 0
    page = (found / "bert.html").read_text("utf-8")
    data = re.search(r'id="data">(.*?)</script>', page)
    assert data is not None
    large = json.loads(data[1])
    large["nodes"] = [[f"{name}.{n}", kind, path] for n in range(15) for name, kind, path in large["nodes"]]
    text = json.dumps(large).replace("<", "\\u003c")
    (found / "large.html").write_text(page.replace(data[1], text), "utf-8")
    return found


def _windows() -> onnx.ModelProto:
    """Where windows are none, fewer bytes move than the closed form says."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, "h", "w"])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    pool = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2])
    graph = helper.make_graph([pool], "windows", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def _solved() -> onnx.ModelProto:
    """A condition gives the only value of something that is no length of the page: a number of the shape."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 1])
    shape = helper.make_tensor_value_info("shape", TensorProto.INT64, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, "a"])
    graph = helper.make_graph([helper.make_node("Expand", ["x", "shape"], ["y"])], "solved", [x, shape], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def _kept() -> onnx.ModelProto:
    """As many of n entries are kept as an input says."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])
    k = helper.make_tensor_value_info("k", TensorProto.INT64, [1])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["m"])
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("TopK", ["e", "k"], ["y", "i"])]
    graph = helper.make_graph(nodes, "kept", [x, k], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 99)])


def _branches() -> onnx.ModelProto:
    """Many operators on two vectors: where most memory is used depends on which of them is longer."""
    ops = ("Exp", "Log", "Sqrt", "Abs", "Neg", "Sin", "Cos", "Tan", "Floor", "Ceil", "Erf", "Tanh", "Sign")
    nodes = [
        helper.make_node(op, [f"{name}{n or ''}"], [f"{name}{n + 1}"])
        for name in "xz"
        for n, op in enumerate(ops)
    ]
    inputs, outputs = (
        [
            helper.make_tensor_value_info(f"{name}{end}", TensorProto.FLOAT, [length])
            for name, length in ("xn", "zm")
        ]
        for end in ("", len(ops))
    )
    graph = helper.make_graph(nodes, "many", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


@pytest.fixture
def page(browser: Browser, folder: Path) -> Browser:
    browser.open((folder / "bert.html").as_uri())
    return browser


@pytest.fixture(scope="module")
def bert() -> Cost:
    return load_model(BERT)


def resized(page: Browser, height: int) -> None:
    page.devtools(
        "Emulation.setDeviceMetricsOverride", width=1400, height=height, deviceScaleFactor=1, mobile=False
    )
    page.run("return new Promise((done) => setTimeout(done, 300))")


def at(page: Browser, dims: dict[str, int]) -> None:
    for name, value in dims.items():
        page.run(SET, "number", name, str(value))


@pytest.mark.parametrize("dims", SIZES, ids=str)
def test_figures_shares_growth_and_memory_are_the_command_s(
    page: Browser, bert: Cost, dims: dict[str, int]
) -> None:
    at(page, dims)
    there = locate_study(Cost, bert.study, dims)
    figures, shares = page.run(FIGURES), page.run(SHARES)
    for measure in there.measures:
        number = there.number(measure.form)
        assert number is None or figures[measure.key] == str(number), measure.key
    operators = {group.title: group.figures for group in there.groups("op")}
    counts = {op: there.number(found.eops) for op, found in operators.items()}
    assert {op: int(value) for op, (value, _, _) in shares.items()} == {
        op: n for op, n in counts.items() if n
    }
    for op, (_, width, _) in shares.items():
        assert float(width.rstrip("%")) == pytest.approx(
            100 * float(there.share(operators[op]) or 0), abs=1e-3
        )
    grown = {name: page.run(GROWN, f"{name} at seq = {dims['seq']}: ") for name in page.run(LINES)}
    assert grown.pop("all") == page.run("return document.querySelector('[data-key=eops] .value').textContent")
    assert grown == {op: shares[op][2] for op in sorted(shares, key=lambda op: -int(shares[op][0]))[:5]}
    assert int(page.run("return document.getElementById('peak').dataset.value")) == int(figures["peak_bytes"])


@pytest.mark.parametrize("dims", SIZES, ids=str)
def test_every_row_of_every_view_is_the_command_s(page: Browser, bert: Cost, dims: dict[str, int]) -> None:
    at(page, dims)
    there = locate_study(Cost, bert.study, dims)
    record: Any = there.study.record(there, None)
    nodes = {one["name"]: [int(one["at"][key]) for key in AMOUNTS] for one in record["nodes"]}
    scopes: dict[str, list[int]] = {}
    for one in record["nodes"]:
        path = one["scope"].split("/")
        for deep in range(len(path)):
            sums = scopes.setdefault("/".join(path[: deep + 1]), [0, 0, 0])
            sums[:] = map(add, sums, nodes[one["name"]])
    page.click("#fold")
    page.click("#unfold")
    path, seen = [], {}
    for level, is_scope, title, *values in page.run(ALL_ROWS):
        path[level:] = [title]
        seen["/".join(path) if is_scope else title] = [int(value) for value in values]
    assert {title: seen[title] for title in nodes} == nodes
    assert {title: sums for title, sums in seen.items() if title not in nodes}.items() <= scopes.items()
    assert {"model", "model/embeddings", "model/encoder/layer.11/attention/self/query"} <= seen.keys()
    page.click("#fold")
    assert ["layer.*", str(scopes["model/encoder"][0])] in [row[:2] for row in page.run(ROWS)]
    page.run(CLICK, "[data-view]", "by operator")
    operators = {one["op"]: str(one["at"]["eops"]) for one in record["by_op"]}
    assert dict(page.run(ROWS)) == operators
    page.run(CLICK, "[data-view]", "in order")
    assert dict(page.run(ROWS)).items() <= {name: str(found[0]) for name, found in nodes.items()}.items()


OUTSIDE = (
    ("seq", "513", "seq <= 512"),
    ("seq", "", "seq is a whole number"),
    ("batch", "0", "batch >= 1"),
    ("batch", "1.5", "batch is a whole number"),
    ("batch", str(2**40), "batch <= 2,147,483,646"),
)


@pytest.mark.parametrize("name, value, said", OUTSIDE)
def test_outside_of_the_conditions_there_is_no_number(
    page: Browser, name: str, value: str, said: str
) -> None:
    page.run(PRESS, "#rows .row.scope")
    page.run(SET, "number", name, value)
    assert said in page.run("return document.getElementById('outside').textContent")
    assert set(
        page.run("return [...document.querySelectorAll('[data-value]')].map(e => e.dataset.value)")
    ) == {""}
    assert not re.search(r"\d", "".join(page.run(SHOWN)))
    fails = page.run(
        "return [...document.querySelectorAll('#conditions .fails code')].map(e => e.textContent)"
    )
    assert fails == (["seq <= 512"] if value == "513" else [])
    assert page.run("return document.querySelectorAll('#roof circle').length") == 0
    page.run(CLICK, "#growth-with button", "batch" if name == "seq" else "seq")
    assert (
        page.run("return document.getElementById('growth').textContent")
        == "At no such length do the conditions hold."
    )
    for view in ("by operator", "in order"):
        page.run(CLICK, "[data-view]", view)
        assert not re.search(r"\d", "".join(page.run(SHOWN)))
    at(page, {"batch": 1, "seq": 512})
    assert page.run(FIGURES)["eops"]


def test_a_slider_reaches_the_last_length_that_is_allowed(page: Browser) -> None:
    """A slider goes no further; what is typed may."""
    places = page.run("return document.querySelectorAll('.length')[1].places")
    assert (places[0], places[-1]) == (1, 512)
    last = page.run("return document.querySelectorAll('#lengths input[type=range]')[1].max")
    page.run(SET, "range", "seq", last)
    assert page.run("return document.querySelectorAll('#lengths input[type=number]')[1].value") == "512"
    assert not page.run("return document.body.classList.contains('outside')")
    page.run(SET, "number", "seq", "513")
    disabled = "return [...document.querySelectorAll('#lengths input[type=range]')].map(i => i.disabled)"
    assert page.run(disabled) == [True, False]


def test_growth_shows_where_one_part_overtakes_another(page: Browser, bert: Cost) -> None:
    told = page.run("return [...document.querySelectorAll('#crossings li')].map(l => l.textContent)")
    found = re.fullmatch(r"at seq = (\d+) Attention overtakes Gelu", told[-1])
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
    page.run(PRESS, "#rows .row:not(.scope)")
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
    page.run(PRESS, "#detail .close")
    assert page.run("return document.getElementById('detail').hidden")


def test_rows_sort_filter_fold_and_open(page: Browser, bert: Cost) -> None:
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
    page.click("#titles [data-column=eops]")
    assert page.run(TITLES)[0] == bert.groups("node")[0].title
    for column in ("title", "op", "type", "share-of", "time", "macs", "bytes"):
        page.run(PRESS, f"#titles [data-column={column}]")
        cells = page.run(CELLS, column)
        downwards = column not in ("title", "op", "type")
        assert cells == sorted(cells, key=lambda cell: -cell if downwards else cell), column
        page.run(PRESS, f"#titles [data-column={column}]")
        cells = page.run(CELLS, column)
        assert cells == sorted(
            cells, key=lambda cell: cell if downwards else [-ord(c) for c in cell] + [9]
        ), column
    page.run(TYPE, "layer_norm_7")
    assert page.run(TITLES) == ["node_layer_norm_7"]
    page.keys("#filter", ESCAPE)
    assert len(page.run(TITLES)) > 1
    page.click("#exact")
    first = "return document.querySelector('#rows .bytes span')"
    assert page.run(f"{first}.textContent.replaceAll(',', '')") == page.run(f"{first}.dataset.value")
    page.click("#columns summary")
    for column in page.run(
        "return [...document.querySelectorAll('#columns input')].map(i => i.dataset.column)"
    ):
        box = f"#columns input[data-column={column}]"
        shown = f"return !!document.querySelector('#rows .row .{column}')"
        before = page.run(f"return document.querySelector('{box}').checked")
        assert page.run(shown) == before
        page.run(PRESS, box)
        assert page.run(shown) != before
        if not before:  # those that are shown are sorted by above
            downwards, upwards = (_pressed(page, column) for _ in range(2))
            assert downwards != upwards, column
            assert _pressed(page, column)[0] == bert.groups("node")[0].title
        page.run(PRESS, box)
    page.keys("#rows", ESCAPE)
    assert not page.run("return document.getElementById('columns').open")
    page.run(CLICK, "[data-view]", "by scope")
    page.click("#unfold")
    count = "return Number(document.getElementById('rows').getAttribute('aria-rowcount'))"
    assert page.run(count) > 347
    page.click("#unfold")
    closed = page.run(count)
    assert closed < 10
    page.run(PRESS, "#rows .twig")
    assert page.run(count) > closed
    page.run(PRESS, "#rows .twig")
    assert page.run(count) == closed


def _pressed(page: Browser, column: str) -> list[str]:
    """The rows in their order after a click on the head of a column."""
    page.run(PRESS, f"#titles [data-column={column}]")
    return list(page.run(TITLES))


def test_keys_do_what_the_list_says(page: Browser) -> None:
    chosen = "return document.querySelector('.row.chosen .title span').textContent"
    page.run("document.getElementById('rows').focus()")
    titles = page.run(TITLES)
    for key, place in (
        ("\ue015\ue015", 1),
        ("\ue013", 0),
        ("\ue010", -1),
        ("\ue011", 0),
        ("\ue00f", -1),
        ("\ue00e\ue015", 1),
    ):
        page.keys("#rows", key)  # down twice, up, end, home, a page down, a page up and down
        assert page.run(chosen) == titles[place]
    for close, reopen in (("\ue012", "\ue014"), ("\ue006", " ")):  # left and right, return and space
        page.keys("#rows", close)
        assert len(page.run(TITLES)) < len(titles)
        page.keys("#rows", reopen)
        assert page.run(TITLES) == titles
    page.keys("#rows", "?")
    assert not page.run("return document.getElementById('keys').hidden")
    page.keys("#rows", ESCAPE)
    assert page.run("return document.getElementById('keys').hidden")
    assert page.run("return document.getElementById('detail').hidden")
    page.keys("#rows", "t")
    assert page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(19, 21, 24)"
    page.keys("#rows", "e")
    assert page.run("return document.getElementById('exact').checked")
    page.keys("#rows", "/")
    assert page.run("return document.activeElement.id") == "filter"
    for part in ("figures", "where", "charts", "nodes"):
        page.click(f".bar nav a[href='#{part}']")
        assert page.run("return document.activeElement.id") == part
    assert page.run("return location.hash") == "#@exact=1"


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


def test_a_bound_is_called_one_wherever_lengths_may_go(browser: Browser, folder: Path) -> None:
    """The page begins at lengths where the bytes are exact, and goes on to others."""
    browser.open((folder / "windows.html").as_uri())
    labels = "return [...document.querySelectorAll('.figure .label')].map(l => l.textContent)"
    assert "bytes, node by node (at most)" in browser.run(labels)
    assert "intensity (FLOPs per byte, at least)" in browser.run(labels)


def test_what_conditions_settle_is_no_reason_to_show_nothing(browser: Browser, folder: Path) -> None:
    browser.open((folder / "solved.html").as_uri())
    assert browser.run("return document.getElementById('outside').hidden")
    assert browser.run(FIGURES)["eops"] == "0"


def test_what_is_not_costed_is_not_said_to_cost_nothing(browser: Browser, folder: Path) -> None:
    browser.open((folder / "partly.html").as_uri())
    shown = """return [...document.querySelectorAll('#rows .row')].map(r =>
      ['title', 'eops', 'bytes'].map(k => r.querySelector(`.${k} span`).textContent).join(' '))"""
    for view in ("by operator", "in order"):
        browser.run(CLICK, "[data-view]", view)
        assert sorted(browser.run(shown)) == ["Identity 0 48 B", "Relu 6 48 B", "my.Own ? ?"]


def test_what_data_decides_can_be_said(browser: Browser, folder: Path) -> None:
    """Until then nothing that rests on it has a number, nor a share; no control set it."""
    browser.open((folder / "kept.html").as_uri())
    content = "return document.getElementById(arguments[0]).textContent"
    assert browser.run(FIGURES)["eops"] == ""
    assert {share for _, share, _ in browser.run(SHARES).values()} == {"0%"}
    assert "the definitions are those of" in browser.run("return document.body.textContent")
    say = """const i = document.querySelector('.by-data input');
      i.value = arguments[0]; i.dispatchEvent(new Event('input'));
      return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"""
    browser.run(SET, "number", "n", "100")
    browser.run(say, "7")
    assert browser.run(FIGURES)["eops"] == str(2 * 7 * 100 + 100)
    assert "The peak is" in browser.run(content, "peak")
    browser.run(say, "101")
    assert "k{0}" in browser.run(content, "outside")
    browser.run(say, "")
    assert browser.run(FIGURES)["eops"] == ""
    assert browser.run("return document.getElementById('outside').hidden")


def test_what_is_left_out_opens(browser: Browser, folder: Path) -> None:
    """Operators beyond those that are listed, and the forms of a figure that is the largest of several."""
    browser.open((folder / "many.html").as_uri())
    browser.run(CLICK, "[data-view]", "in order")
    rest = browser.run("return [...document.querySelectorAll('.share')].at(-1).textContent")
    assert " more" in rest
    browser.run("[...document.querySelectorAll('.share')].at(-1).click()")
    assert len(browser.run(TITLES)) == 13
    forms = "document.querySelector('.figure details')"
    assert browser.run(f"return {forms}.open") is False
    browser.run(f"{forms}.querySelector('summary').click()")
    assert browser.run(f"return {forms}.open && {forms}.querySelectorAll('math').length") > 1


def test_two_models_are_shown_beside_each_other(browser: Browser, folder: Path) -> None:
    browser.open((folder / "diff.html").as_uri())
    assert "llama.onnx → bert.onnx: more EOPs for all lengths" in browser.run(
        "return document.querySelector('#compared h2').textContent"
    )
    rows = browser.run(BESIDE)
    assert {op: after for op, _, after in rows}["all"] == browser.run(FIGURES)["eops"]
    assert ["RotaryEmbedding", "0"] in [[op, after] for op, _, after in rows]
    browser.run(PRESS, "#compared [data-part=layers] summary")
    assert (
        browser.run("return document.querySelectorAll('#compared [data-part=layers] tbody tr').length") == 11
    )
    wanted = browser.run("return [...document.querySelectorAll('#conditions code')].map(c => c.textContent)")
    assert wanted == ["seq <= 512", "batch <= 1"]
    at(browser, {"batch": 2})
    assert "batch <= 1" in browser.run("return document.getElementById('outside').textContent")


def test_the_picture_of_the_readme_shows_the_figures_of_today(page: Browser) -> None:
    """The picture says what it shows; after a change that is meant, TOLCOST_ACCEPT=1 takes it anew."""
    shown = "'.bar, aside, #figures, #where, #charts'"
    text = page.run(f"return [...document.querySelectorAll({shown})].map(e => e.textContent)")
    shows = sha256("\n".join(text).encode()).hexdigest()
    if os.environ.get("TOLCOST_ACCEPT"):
        page.devtools("Emulation.setScrollbarsHidden", hidden=True)
        resized(page, 1180)
        PICTURE.write_bytes(noted(page.screenshot(), "Comment", shows))
        resized(page, 900)
        page.devtools("Emulation.setScrollbarsHidden", hidden=False)
    assert note(PICTURE.read_bytes(), "Comment") == shows


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
