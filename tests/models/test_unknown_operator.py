"""An operator without a definition: what is shown to begin one, what waits for it, and going on by shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tolcost.algebra import to_text
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Rejected
from tolcost.models.walking import Session
from tolcost.result.model import ModelStudy, Wanted, file_cost, of_model


@pytest.fixture(name="path")
def _path(tmp_path: Path) -> Path:
    """Two products around an operator that nobody knows."""
    weights = {"w": (16, 8), "v": (8, 4)}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Frob", ["a", "v"], ["b", "c"], "f", domain="my.ops", alpha=0.5, axes=[1, 2]),
        helper.make_node("MatMul", ["b", "v"], ["d"]),
        helper.make_node("Relu", ["d"], ["e"]),
        helper.make_node("Add", ["e", "c"], ["y"]),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 16])
    held = [numpy_helper.from_array(np.ones(shape, np.float32), name) for name, shape in weights.items()]
    graph = helper.make_graph(nodes, "g", [given], [helper.make_empty_tensor_value_info("y")], held)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my.ops", 1)]
    path = tmp_path / "unknown.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets), path)
    return path


def study(path: Path, shapes: dict[str, list[int | str]], specs: Path | None = None) -> ModelStudy:
    session = Session(open_library([specs] if specs else []))
    return of_model(file_cost(path, session, Wanted(shapes=shapes)))


def test_the_node_says_how_many_wait_for_it_and_what_a_definition_begins_with(path: Path) -> None:
    missing = study(path, {}).coverage.missing
    assert [(m.op, m.behind) for m in missing] == [("my.ops.Frob", 3), ("MatMul", 0), ("Relu", 0), ("Add", 0)]
    assert missing[0].start.splitlines() == [
        "operator Frob",
        "tol x1: R [x1_1, x1_2]",
        "tol x2: R [x2_1, x2_2]",
        "attr alpha: R",
        "attr axes: Z [k]",
        "y1 := ...",
        "y2 := ...",
    ]


def test_what_is_shown_can_be_completed(path: Path, tmp_path: Path) -> None:
    start = study(path, {}).coverage.missing[0].start
    whole = start.replace("y1 := ...", "y1 := x1").replace("y2 := ...", "y2 := map(tol[x1_1, x2_2], 0)")
    folder = tmp_path / "specs" / "my.ops"
    folder.mkdir(parents=True)
    (folder / "Frob.tol").write_text(whole + "\n")
    found = study(path, {}, tmp_path / "specs")
    assert found.coverage.missing == ()
    assert to_text(found.total.macs) == "160*batch"


def test_shapes_of_what_it_gives_let_the_walk_go_on(path: Path) -> None:
    found = study(path, {"b": ["batch", 8], "c": ["batch", 4]})
    assert [(m.op, m.behind) for m in found.coverage.missing] == [("my.ops.Frob", 0)]
    assert to_text(found.total.macs) == "160*batch"
    assert found.total.status == "lower bound"


def test_a_shape_of_something_else_is_refused(path: Path) -> None:
    with pytest.raises(Rejected, match="no input or value `nope`"):
        study(path, {"nope": [1]})


def test_an_operator_that_is_outside_shows_no_beginning(path: Path) -> None:
    model = onnx.load(path)
    model.graph.node[1].op_type, model.graph.node[1].domain = "BeamSearch", "com.microsoft"
    del model.graph.node[1].attribute[:]
    onnx.save(model, path)
    first = study(path, {}).coverage.missing[0]
    assert (first.behind, first.start) == (3, "")
