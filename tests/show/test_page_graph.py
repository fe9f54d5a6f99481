"""The graph on the page of a model, in a real browser: its boxes, arrows, shares, and how one moves in it."""

import json
import re
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from tests.audit.browser import Browser
from tests.show.test_model_page import BERT, CLICK, PRESS, SET, at
from tests.show.test_page_views import ATTENTION, BACKSPACE, BY, LOADED, PARTS, POINT
from tolcost.cli import run

BOXES = """return Object.fromEntries([...document.querySelectorAll('#graph .box')]
  .map(b => [b.dataset.box, b.dataset.value ?? null]))"""
ARROWS = """return [...document.querySelectorAll('#graph path[data-from]')]
  .map(a => [a.dataset.from, a.dataset.to])"""
SEEN = "return document.querySelector('#graph svg').getAttribute('viewBox').split(' ').map(Number)"
GO = "document.querySelector(`#graph [data-box='${arguments[0]}']`).dispatchEvent(new Event('click'))"
PATH = "return document.getElementById('graph-path').textContent"
SELF = "model/encoder/layer.*/attention/self"
LAYER = "model/encoder/layer.*"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a model, of one with many nodes and no scopes, of one node, and of a program."""
    found = tmp_path_factory.mktemp("graphs")
    html = ["--format", "html", "--output"]
    assert run(["model", str(BERT), "--device", "h200", *html, f"{found}/bert.html"]) == 0
    for name, length in (("many", 250), ("one", 1)):
        onnx.save(_chain(length), found / f"{name}.onnx")
        assert run(["model", f"{found}/{name}.onnx", *html, f"{found}/{name}.html"]) == 0
    own = helper.make_node("Own", ["x0"], ["own"], domain="my")
    partly = _chain(1)
    partly.graph.node[0].input[0] = "own"
    partly.graph.node.insert(0, own)
    partly.graph.value_info.append(helper.make_tensor_value_info("own", TensorProto.FLOAT, ["n"]))
    partly.opset_import.append(helper.make_opsetid("my", 1))
    onnx.save(partly, found / "partly.onnx")
    run(["model", f"{found}/partly.onnx", *html, f"{found}/partly.html"])
    onnx.save(_steps(), found / "steps.onnx")
    run(["model", f"{found}/steps.onnx", *html, f"{found}/steps.html"])
    onnx.save(_branch(), found / "branch.onnx")
    run(["model", f"{found}/branch.onnx", *html, f"{found}/branch.html"])
    assert run(["analyze", str(ATTENTION), *html, f"{found}/program.html"]) == 0
    return found


def _chain(length: int) -> onnx.ModelProto:
    nodes = [helper.make_node("Exp", [f"x{n}"], [f"x{n + 1}"], name=f"exp_{n}") for n in range(length)]
    ends = [helper.make_tensor_value_info(f"x{n}", TensorProto.FLOAT, ["n"]) for n in (0, length)]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def _steps() -> onnx.ModelProto:
    """One scope around another, and in that two that are alike and a node."""
    ops = (
        ("step.0/Exp", "Exp"),
        ("step.0/Log", "Log"),
        ("step.1/Exp", "Exp"),
        ("step.1/Log", "Log"),
        ("Neg", "Neg"),
    )
    nodes = [
        helper.make_node(op, [f"x{n}"], [f"x{n + 1}"], name=f"/net/body/{name}")
        for n, (name, op) in enumerate(ops)
    ]
    ends = [helper.make_tensor_value_info(f"x{n}", TensorProto.FLOAT, ["n"]) for n in (0, len(ops))]
    graph = helper.make_graph(nodes, "steps", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def _branch() -> onnx.ModelProto:
    """Branches that read a value of the graph around them, which no input of their node names."""
    x, z, no = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", "z", "no"))
    which = helper.make_tensor_value_info("which", TensorProto.BOOL, [])
    branches = [
        helper.make_graph([helper.make_node(op, ["y"], [end.name])], end.name, [], [end])
        for op, end in (("Exp", z), ("Log", no))
    ]
    choice = helper.make_node("If", ["which"], ["w"], then_branch=branches[0], else_branch=branches[1])
    w = helper.make_tensor_value_info("w", TensorProto.FLOAT, [4])
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"]), choice], "branch", [x, which], [w])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def data_of(page: Path) -> Any:
    found = re.search(r'id="data">(.*?)</script>', page.read_text("utf-8"))
    assert found is not None
    return json.loads(found[1])


@pytest.fixture
def page(browser: Browser, folder: Path) -> Browser:
    browser.open("about:blank")
    browser.open((folder / "bert.html").as_uri())
    return browser


def shown(page: Browser, folder: Path, scope: str) -> None:
    page.open("about:blank")
    page.open(f"{(folder / 'bert.html').as_uri()}#@scope={scope}")


def test_what_reads_what_is_that_of_the_file(folder: Path) -> None:
    """Whatever is an arrow: an independent reading of the file gives the same."""
    graph = onnx.load(BERT, load_external_data=False).graph
    makers = {name: n for n, node in enumerate(graph.node) for name in node.output}
    inputs = [one.name for one in graph.input]
    found = data_of(folder / "bert.html")
    assert found["graph"]["inputs"] == inputs
    for n, (node, reads) in enumerate(zip(graph.node, found["graph"]["reads"], strict=True)):
        made = {makers[name] for name in node.input if name in makers}
        given = {inputs.index(name) for name in node.input if name in inputs}
        assert {n - back for back in reads if back > 0} == made
        assert {-back for back in reads if back <= 0} == given
    assert found["graph"]["outputs"] == [[one.name, makers[one.name]] for one in graph.output]


def test_branches_read_what_is_around_them(folder: Path) -> None:
    assert data_of(folder / "branch.html")["graph"]["reads"] == [[0], [-1, 1]]


def test_scopes_are_boxes_with_arrows_between_them(page: Browser, folder: Path) -> None:
    shown(page, folder, LAYER)
    parts = [f"{LAYER}/{name}" for name in ("attention", "intermediate", "output")]
    assert list(page.run(BOXES)) == parts
    inside = {(a, b) for a, b in page.run(ARROWS) if a in parts and b in parts}
    attention, intermediate, output = parts
    assert inside == {(attention, intermediate), (attention, output), (intermediate, output)}
    outside = {(a, b) for a, b in page.run(ARROWS)} - inside
    assert ("in embeddings", attention) in outside
    assert (output, "out another layer.*") in outside


def test_nodes_are_boxes_with_the_arrows_of_the_file(page: Browser, folder: Path) -> None:
    shown(page, folder, SELF)
    found = data_of(folder / "bert.html")
    nodes = {int(name[1:]) for name in page.run(BOXES) if name.startswith("#")}
    assert {found["nodes"][n][2][-3] for n in nodes} == {"layer.0"}
    wanted = {
        (n - back, n) for n in nodes for back in found["graph"]["reads"][n] if n - back in nodes and back > 0
    }
    arrows = {(a, b) for a, b in page.run(ARROWS) if a.startswith("#") and b.startswith("#")}
    assert arrows == {(f"#{a}", f"#{b}") for a, b in wanted}
    assert len(arrows) > 5


def test_it_opens_where_nearly_all_nodes_are(page: Browser) -> None:
    assert page.run(PATH) == "bert / model / encoder / layer.* ×12"
    assert len(page.run(BOXES)) == 3
    page.run(CLICK, "#graph-path button", "bert")
    assert page.run(PATH) == "bert"
    assert "model" in page.run(BOXES)
    assert page.run(LOADED) == ""


def test_boxes_have_the_amounts_of_the_icicle(page: Browser, folder: Path) -> None:
    """Of scopes that are alike one is drawn: all of them have as much together as the icicle says."""
    page.run(CLICK, "#graph-path button", "bert")
    at(page, POINT)
    for key in ("eops", "bytes", "parameters", "memory"):
        page.run(BY, key)
        boxes, parts = page.run(BOXES), page.run(PARTS)
        assert boxes["model"] == parts.get("model", "0")
    shown(page, folder, LAYER)
    assert {name: str(12 * int(value)) for name, value in page.run(BOXES).items()}.items() <= page.run(
        PARTS
    ).items()
    page.run(SET, "number", "seq", "513")
    assert set(page.run(BOXES).values()) == {None}


def test_a_click_goes_in_and_the_path_leads_out(page: Browser) -> None:
    page.run(CLICK, "#graph-path button", "bert")
    page.run(GO, "model")
    page.run(GO, "model/encoder")
    assert page.run(LOADED) == "#@scope=model/encoder"
    assert page.run("return document.querySelector('#icicle .here').dataset.path") == "model/encoder"
    page.run(CLICK, "#graph-path button", "model")
    assert page.run(LOADED) == "#@scope=model"
    page.keys("#graph", BACKSPACE)
    assert page.run(PATH) == "bert"
    page.run(PRESS, "#icicle [data-path='model/encoder']")
    within = "bert / model / encoder / layer.* ×12"  # there is nothing else
    assert page.run(PATH) == within


def test_a_click_on_a_node_opens_its_row(page: Browser, folder: Path) -> None:
    shown(page, folder, SELF)
    node = next(name for name in page.run(BOXES) if name.startswith("#"))
    page.run(GO, node)
    assert page.run("return document.activeElement.id") == "rows"
    assert page.run(LOADED).endswith(f"@node={node[1:]}")
    assert page.run("return document.querySelector('#graph .chosen').dataset.box") == node
    name = data_of(folder / "bert.html")["nodes"][int(node[1:])][0]
    assert page.run("return document.querySelector('.row.chosen .title span').textContent") == name


def test_it_moves_and_zooms(page: Browser, folder: Path) -> None:
    """By keys, buttons, the wheel and dragging; a picture that is dragged over a box does not enter it."""
    shown(page, folder, LAYER)
    first = page.run(SEEN)
    page.keys("#graph", "+")
    assert page.run(SEEN)[2] == pytest.approx(first[2] / 1.4)
    page.keys("#graph", "0")
    assert page.run(SEEN) == pytest.approx(first)
    page.run(PRESS, "#graph-tools [title=larger]")
    larger = page.run(SEEN)
    assert larger[2] < first[2]
    box = """document.getElementById('graph').scrollIntoView();
      const r = document.querySelector('#graph .box').getBoundingClientRect();
      return [r.x + r.width / 2, r.y + r.height / 2]"""
    x, y = page.run(box)
    mouse = {"button": "left", "buttons": 1, "clickCount": 1}
    page.devtools("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **mouse)
    for step in (5, 20, 40):
        page.devtools("Input.dispatchMouseEvent", type="mouseMoved", x=x + step, y=y, **mouse)
    page.devtools("Input.dispatchMouseEvent", type="mouseReleased", x=x + 40, y=y, **mouse)
    moved = page.run(SEEN)
    assert moved[0] == pytest.approx(
        larger[0] - 40 * larger[2] / page.run("return document.getElementById('graph').clientWidth"), abs=0.5
    )
    assert page.run("return document.querySelector('#graph-path b').textContent") == "layer.* ×12"
    page.devtools("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=-150)
    page.run(LOADED)
    assert page.run(SEEN)[2] == pytest.approx(moved[2] / 2**0.5, rel=0.01)
    page.devtools("Input.dispatchMouseEvent", type="mousePressed", x=x + 40, y=y, **mouse)
    page.devtools("Input.dispatchMouseEvent", type="mouseReleased", x=x + 40, y=y, **mouse)
    assert page.run("return document.querySelector('#graph-path b').textContent") == "attention ×12"


def test_a_list_says_the_same(page: Browser, folder: Path) -> None:
    shown(page, folder, LAYER)
    said = page.run("return [...document.querySelectorAll('#graph-list li')].map(l => l.textContent)")
    assert [re.sub(r"[\d.]+ %", "…", text) for text in said] == [
        "attention 21 nodes, … → intermediate, output, another layer.*",
        "intermediate 3 nodes, … → output",
        "output 4 nodes, … → another layer.*",
    ]


def test_it_opens_where_there_are_several_parts(browser: Browser, folder: Path) -> None:
    """And what is around them, with the same picture, is skipped on the way out as well."""
    browser.open("about:blank")
    browser.open((folder / "steps.html").as_uri())
    assert browser.run(PATH) == "steps / net/body"
    steps, last = browser.run(
        "return [...document.querySelectorAll('#graph-list li')].map(l => l.textContent)"
    )
    assert steps.endswith("→ the next of them, Neg")
    assert last.startswith("Neg")
    assert not browser.run(
        "return [...document.querySelectorAll('#graph-tools button')].some(b => b.title === '↑ out')"
    )
    browser.run(GO, "net/body/step.*")
    browser.run(CLICK, "#graph-tools button", "↑ out")
    assert browser.run(PATH) == "steps / net/body"


def test_what_is_not_costed_is_not_nothing(browser: Browser, folder: Path) -> None:
    browser.open("about:blank")
    browser.open((folder / "partly.html").as_uri())
    texts = """return [...document.querySelectorAll('#graph .box')].map(b =>
      [...b.children].map(t => t.textContent))"""
    own, exp = (" ".join(one) for one in browser.run(texts))
    assert " ? " in own
    assert "not known" in own
    assert "100.0 %" in exp


def test_a_hundred_boxes_are_laid_out_at_a_time(browser: Browser, folder: Path) -> None:
    browser.open("about:blank")
    browser.open((folder / "many.html").as_uri())
    assert set(browser.run(BOXES)) == {f"#{n}" for n in range(100)}
    browser.run(PRESS, "#graph-tools [title='parts after']")
    assert set(browser.run(BOXES)) == {f"#{n}" for n in range(100, 200)}
    assert {("in 100 before", "#100"), ("#199", "out 50 after")} <= {(a, b) for a, b in browser.run(ARROWS)}
    browser.open("about:blank")
    browser.open((folder / "many.html").as_uri() + "#@node=230")
    assert set(browser.run(BOXES)) == {f"#{n}" for n in range(200, 250)}
    assert browser.run("return document.querySelector('#graph .chosen').dataset.box") == "#230"


@pytest.mark.parametrize("name", ["program", "one"])
def test_a_page_without_arrows_has_no_graph(browser: Browser, folder: Path, name: str) -> None:
    """And no script to lay one out."""
    browser.open((folder / f"{name}.html").as_uri())
    assert browser.run("return document.getElementById('graph-card').hidden")
    assert "Chris Pettitt" not in (folder / f"{name}.html").read_text("utf-8")
    assert "Chris Pettitt" in (folder / "bert.html").read_text("utf-8")


def test_paper_shows_all_of_it(page: Browser, folder: Path) -> None:
    shown(page, folder, "model")
    page.keys("#graph", "+++")
    page.run("dispatchEvent(new Event('beforeprint'))")
    page.devtools("Emulation.setEmulatedMedia", media="print")
    inside = """const all = document.getElementById('graph').getBoundingClientRect();
      return [...document.querySelectorAll('#graph .box')].map(b => b.getBoundingClientRect()).every(b =>
        b.left >= all.left && b.right <= all.right && b.top >= all.top && b.bottom <= all.bottom)"""
    assert page.run(inside)
    page.devtools("Emulation.setEmulatedMedia", media="")
    assert page.run("dispatchEvent(new Event('afterprint')); " + inside) is False


def test_it_fits_a_phone(page: Browser, folder: Path) -> None:
    wide = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    page.devtools("Emulation.setDeviceMetricsOverride", **wide)
    for scope in ("", SELF, "model"):
        shown(page, folder, scope)
        assert page.run("return document.documentElement.scrollWidth") <= 390
        scale = "return document.getElementById('graph').clientWidth / arguments[0]"
        assert page.run(scale, page.run(SEEN)[2]) >= 0.6  # letters can be read
    page.devtools("Emulation.setDeviceMetricsOverride", **{**wide, "width": 1400, "height": 900})
