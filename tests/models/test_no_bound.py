"""A figure that lacks a node, and has another one at its dearer side, bounds nothing."""

import json
from pathlib import Path

import onnx
import pytest
from onnx.parser import parse_model

import tolcost
from tolcost.cli import run

HEAD = '<ir_version: 8, opset_import: ["" : 18, "my.dom" : 1]> g '
CHOICE = """z = If(c) <then_branch = t () => (float[n] a) { a = Exp(x) },
    else_branch = e () => (float[n] b) { p = Add(x, x) w = Add(p, x) b = Mul(w, w) }>"""
LOOP = """d = Constant<value = bool {1}>()
    z = Loop(k, d, x) <body = l (int64 i, bool f, float[n] a) => (bool g, float[n] b) {
        g = Identity(f) b = Mul(a, y) }>"""
OLD = "(float[n] x, bool c) => (float[n] z, float[n] q) { w = Add(x, x) z = Exp(w) q = Identity(x) }"


def stored(file: Path, text: str) -> str:
    file.write_bytes(parse_model(HEAD + text).SerializeToString())
    return str(file)


@pytest.fixture(name="mixed")
def _mixed(tmp_path: Path) -> str:
    given = "(float[n] x, bool c) => (float[n] z, float[n] q)"
    return stored(tmp_path / "mixed.onnx", f"{given} {{ {CHOICE} q = my.dom.Foo(x) }}")


def test_a_choice_of_data_beside_what_is_not_costed(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It was called a lower bound, 4*n of functions that no run applies together."""
    cost = tolcost.load_model(mixed)
    assert (str(cost.eops), cost.status) == ("3*n", "no bound")
    assert run(["model", mixed]) == 3
    said = capsys.readouterr().out
    assert "THE TOTAL IS NO BOUND" in said
    lines = {line[:20].strip(): line for line in said.splitlines()}
    assert lines["EOPs"].endswith("no bound")
    assert lines["bytes, node by node"].endswith("at least")


def test_nothing_is_proved_of_it(mixed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where `c` is true and Foo costs nothing, it is cheaper than what it was said to cost more than."""
    old = stored(tmp_path / "old.onnx", OLD)
    assert run(["diff", old, mixed]) == 3
    said = capsys.readouterr().out
    assert "not decided" in said
    assert "my.dom.Foo  0    not costed  0 -> not costed          undecided" in said


def test_bytes_that_are_at_most_so_many_are_no_bound_where_a_node_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = "(float[n] x, float[n] y, int64 k) => (float[n] z, float[n] q)"
    file = stored(tmp_path / "loop.onnx", f"{given} {{ {LOOP} q = my.dom.Foo(x) }}")
    assert run(["model", file]) == 3
    lines = {line[:20].strip(): line for line in capsys.readouterr().out.splitlines()}
    assert lines["EOPs"].endswith("at least")
    assert lines["bytes, node by node"].endswith("no bound")


def test_the_gate_keeps_what_bounds_are(
    mixed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bytes of a loop that may take no turn were kept as if they were exact, in what data decides."""
    assert Path(mixed).parent == tmp_path
    stored(tmp_path / "loop.onnx", f"(float[n] x, float[n] y, int64 k) => (float[n] z) {{ {LOOP} }}")
    monkeypatch.chdir(tmp_path)
    run(["check", "--update"])
    capsys.readouterr()
    lock = (tmp_path / "tolcost.lock").read_text(encoding="utf-8")
    assert '["loop.onnx", "bytes", "at-most", "12*n"]\n' in lock
    assert '["loop.onnx", "eops", "data", "k*n"]\n' in lock
    assert '["mixed.onnx", "eops", "unknown", "?"]\n' in lock
    assert '["mixed.onnx", "bytes", "incomplete", "8*n + 1"]\n' in lock


def test_what_is_not_costed_is_null_and_no_0(mixed: str, tmp_path: Path) -> None:
    """In JSON, CSV, frames and notes in the model, as in text and on the page."""
    out = tmp_path / "found.json"
    noted = tmp_path / "noted.onnx"
    dims = ["--dim", "n=4", "--allow-uncosted", "--output", str(out)]
    assert run(["model", mixed, *dims, "--format", "json", "--annotate", str(noted)]) == 0
    found = json.loads(out.read_text(encoding="utf-8"))
    for rows in (found["by_op"], found["nodes"]):
        (own,) = (row for row in rows if row["op"] == "my.dom.Foo")
        assert {own[key] for key in ("eops", "flops", "macs", "index", "bytes")} == {None}
        assert set(own["at"].values()) == {None, False}
    notes = [entry.key for entry in onnx.load(noted).graph.node[1].metadata_props]
    assert notes == ["tolcost.status"]
    assert run(["model", mixed, *dims, "--format", "csv"]) == 0
    assert "mixed,my.dom.Foo,1,,,,,,,,,lower bound,lower bound\n" in out.read_text(encoding="utf-8")
    frame = tolcost.load_model(mixed).subs(n=4).by("op").set_index("op")
    assert frame.loc["my.dom.Foo", ["eops", "bytes", "share"]].isna().all()
