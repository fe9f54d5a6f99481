"""A new metric is a new row of one table: it stands in reports, in the gate, in budgets and in fleets."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from onnx import TensorProto, helper, save

ROOT = Path(__file__).parents[2]
PROGRAM = "tol x: R [n]\ny := map(x, where(* > 1, *, 0))\n"
COSTLIER = "tol x: R [n]\ny := map(x, where(* > 1, where(* < 5, *, 0), 0))\n"
SETTINGS = """paths = ["p.tol", "m.onnx"]
metrics = ["specimen"]
[budgets]
"p.tol" = ["specimen <= n", "n=4: 4 specimens"]
"""
STEPS: list[tuple[str, str | list[str]]] = [
    ("text", ["analyze", "p.tol"]),
    ("numbers", ["analyze", "p.tol", "--dim", "n=7", "--metric", "specimen,eops"]),
    ("md", ["analyze", "p.tol", "--format", "md"]),
    ("csv", ["analyze", "p.tol", "--format", "csv"]),
    ("json", ["analyze", "p.tol", "--dim", "n=7", "--format", "json"]),
    ("sweep", ["analyze", "p.tol", "--sweep", "n=1..4"]),
    ("html", ["model", "m.onnx", "--format", "html"]),
    ("model", ["model", "m.onnx"]),
    ("model columns", ["model", "m.onnx", "--columns", "specimen", "--sort", "specimen"]),
    ("model json", ["model", "m.onnx", "--dim", "batch=2", "--format", "json"]),
    ("model csv", ["model", "m.onnx", "--dim", "batch=2", "--format", "csv"]),
    ("model sweep", ["model", "m.onnx", "--sweep", "batch=1..2", "--format", "json"]),
    ("diff", ["diff", "p.tol", "costlier.tol"]),
    ("fleet", ["fleet", "m.onnx", "--dim", "batch=2", "--jobs", "1"]),
    ("fleet csv", ["fleet", "m.onnx", "--dim", "batch=2", "--jobs", "1", "--format", "csv"]),
    ("fleet json", ["fleet", "m.onnx", "--dim", "batch=2", "--jobs", "1", "--format", "json"]),
    ("locked", ["check", "--update"]),
    ("same", ["check"]),
    ("p.tol", COSTLIER),
    ("noticed", ["check"]),
    ("p.tol", PROGRAM),
]


@pytest.fixture(name="said", scope="module")
def _said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a tolcost says whose table has a row for ``specimen``."""
    folder = tmp_path_factory.mktemp("metric")
    types = {"x": TensorProto.FLOAT, "y": TensorProto.BOOL}
    x, y = (helper.make_tensor_value_info(name, kind, ["batch", 4]) for name, kind in types.items())
    nodes = [helper.make_node("Exp", ["x"], ["e"]), helper.make_node("Greater", ["x", "e"], ["y"])]
    graph = helper.make_graph(nodes, "small", [x], [y])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), folder / "m.onnx")
    (folder / "tolcost.toml").write_text(SETTINGS, "utf-8")
    (folder / "p.tol").write_text(PROGRAM, "utf-8")
    (folder / "costlier.tol").write_text(COSTLIER, "utf-8")
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("metric_row.py"))],
        input=json.dumps({"steps": STEPS, "schemas": str(ROOT / "docs" / "schemas")}),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    found["lock"] = (folder / "tolcost.lock").read_text("utf-8")
    return found


def _rows(text: str) -> list[list[str]]:
    """The lines that begin with the metric, by words."""
    return [line.split() for line in text.splitlines() if line.split()[:1] == ["specimen"]]


def test_it_stands_in_text_and_markdown(said: dict[str, Any]) -> None:
    assert _rows(said["text"]["out"]) == [["specimen", "n"]]
    assert _rows(said["numbers"]["out"]) == [["specimen", "7"]]
    assert _rows(said["model"]["out"]) == [["specimen", "2.05", "k", "4*batch"]]
    assert "| specimen | `n` |" in said["md"]["out"]
    table = said["model columns"]["out"].partition("operator")[2].split()
    assert table[:4] == ["specimen", "Greater", "2.05", "k"]
    assert _rows(said["diff"]["out"])[0][:3] == ["specimen", "n", "2*n"]


def test_it_stands_in_tables_for_machines(said: dict[str, Any]) -> None:
    (row,) = (row for row in csv.DictReader(StringIO(said["csv"]["out"])) if row["metric"] == "specimen")
    assert (row["form"], row["status"]) == ("n", "exact")
    groups = {row["op"]: row for row in csv.DictReader(StringIO(said["model csv"]["out"]))}
    assert groups["Greater"]["specimen"] == "4*batch"
    assert [groups[op]["specimen_at"] for op in ("Exp", "Greater")] == ["0", "8"]


def test_it_stands_in_documents_that_keep_to_schemas_with_it(said: dict[str, Any]) -> None:
    program, model, models = (json.loads(said[name]["out"]) for name in ("json", "model json", "fleet json"))
    (one,) = program["programs"]
    assert (one["specimen"], one["at"]["specimen"]) == ("n", 7)
    assert (model["totals"]["specimen"], model["at"]["specimen"]) == ("4*batch", 8)
    assert [node["at"]["specimen"] for node in model["nodes"]] == [0, 8]
    assert [group["specimen"] for group in model["by_op"]] == ["0", "4*batch"]
    for kind, document in (("analysis", program), ("model", model), ("models", models)):
        jsonschema.Draft202012Validator(said["schemas"][kind]).validate(document)


def test_it_stands_on_the_page(said: dict[str, Any]) -> None:
    assert said["html"]["code"] == 0
    data = json.loads(said["html"]["out"].partition('id="data">')[2].partition("</script>")[0])
    assert data["amounts"]["specimen"] == "specimen"
    assert "specimen" in [one["key"] for one in data["figures"]]
    by_title = {one["title"]: data["shown"][one["specimen"]] for one in data["operators"]}
    assert "batch" in by_title["Greater"]
    assert "batch" not in by_title["Exp"]


def test_python_has_it(said: dict[str, Any]) -> None:
    assert said["python"] == {
        "attribute": "n",
        "item": "n",
        "is listed": True,
        "number": 4,
        "frame": ["n"],
        "of a model": 8,
        "by operator": {"Exp": 0, "Greater": 8},
        "by line": ["n"],
        "sweep": [1, 2],
    }


def test_sweeps_have_it(said: dict[str, Any]) -> None:
    heading, *rows = (line.split() for line in said["sweep"]["out"].partition("\n\nn  ")[2].splitlines())
    column = heading.index("specimen") + 1  # rows begin with the length
    assert [row[column] for row in rows] == ["1", "2", "4"]
    swept = json.loads(said["model sweep"]["out"])["sweep"]["rows"]
    assert [row["specimen"] for row in swept] == [4, 8]


def test_the_gate_locks_it_and_notices_what_is_costlier(said: dict[str, Any]) -> None:
    assert (said["locked"]["code"], said["same"]["code"], said["noticed"]["code"]) == (0, 0, 1)
    assert "specimen" in said["lock"]
    assert _rows(said["noticed"]["out"])[0][:2] == ["specimen", "costlier"]
    assert "p.tol:2: lt:R is n" in said["noticed"]["out"]  # and which line it is


def test_a_budget_holds_it(said: dict[str, Any]) -> None:
    assert "2 budgets not kept" in said["noticed"]["out"]
    assert "budget specimen <= n: exceeded" in said["noticed"]["out"]
    assert "budget n=4: 4 specimens: exceeded" in said["noticed"]["out"]
    assert "not kept" not in said["same"]["out"]


def test_a_fleet_has_it(said: dict[str, Any]) -> None:
    (row,) = csv.DictReader(StringIO(said["fleet csv"]["out"]))
    assert (row["specimen"], row["specimen_at"]) == ("4*batch", "8")
    (model,) = json.loads(said["fleet json"]["out"])["models"]
    assert (model["totals"]["specimen"], model["at"]["specimen"]) == ("4*batch", 8)
    assert said["fleet"]["out"].splitlines()[0].split()[-2:] == ["specimen", "status"]
