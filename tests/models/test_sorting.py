"""Nodes in another order than they need are sorted; those that form a cycle are refused."""

import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.models.test_hostile import FLOAT, X, costed, model, refusal, studied
from tests.models.test_models import value
from tolcost.catalogue.reading import model_of
from tolcost.catalogue.specs import open_library
from tolcost.cli import run
from tolcost.models.walking import Session
from tools.models.graphs import bert

node = helper.make_node


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


def shuffled(proto: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    other = onnx.ModelProto.FromString(proto.SerializeToString())
    nodes = list(other.graph.node)
    random.Random(seed).shuffle(nodes)
    del other.graph.node[:]
    other.graph.node.extend(nodes)
    return other


def remarks(proto: onnx.ModelProto, session: Session) -> list[tuple[str, object]]:
    return [(fact.label, fact.value) for fact in studied(proto, session).remarks()]


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_file_changes_no_figure(seed: int, session: Session) -> None:
    proto = bert()
    told, other = studied(proto, session), studied(shuffled(proto, seed), session)
    assert (other.total.amounts, other.total.histogram) == (told.total.amounts, told.total.histogram)
    assert other.holdings.parameters == told.holdings.parameters
    assert ("sorted", proto.graph.name) in remarks(shuffled(proto, seed), session)


def test_casts_at_the_end_of_a_file_move_to_where_they_are_needed(session: Session) -> None:
    nodes = [
        node("Relu", ["h"], ["a"], name="first"),
        node("Exp", ["a"], ["b"], name="second"),
        node("Cast", ["b"], ["y"], to=FLOAT, name="last"),
        node("Cast", ["x"], ["h"], to=TensorProto.FLOAT16, name="cast"),
    ]
    read = model_of(model(nodes), "m").graph
    assert [one.name for one in read.nodes] == ["cast", "first", "second", "last"]
    assert read.order == (3, 0, 1, 2)
    assert studied(model(nodes), session).total.status == "exact"


def test_sorted_files_stay_as_they_are(session: Session) -> None:
    proto = bert()
    assert model_of(proto, "m").graph.order == ()
    assert "sorted" not in dict(remarks(proto, session))


def late(name: str) -> list[onnx.NodeProto]:
    """Two nodes on a value, of which the second comes first."""
    return [node("Exp", ["between"], [name]), node("Relu", ["x"], ["between"])]


def circle(name: str) -> list[onnx.NodeProto]:
    return [node("Add", ["x", "between"], [name]), node("Relu", [name], ["between"])]


def branching(nodes: list[onnx.NodeProto]) -> onnx.ModelProto:
    inner = helper.make_graph(nodes, "inner", [], [value("r")])
    gate = node("If", ["go"], ["y"], then_branch=inner, else_branch=inner)
    return model([gate], [X, value("go", TensorProto.BOOL, [])])


def calling(nodes: list[onnx.NodeProto]) -> onnx.ModelProto:
    imports = [helper.make_opsetid("", 17)]
    function = helper.make_function("my", "late", ["x"], ["r"], nodes, imports)
    return model([node("late", ["x"], ["y"], domain="my")], functions=[function], domains=["my"])


@pytest.mark.parametrize("wrapped, name", [(branching, "inner"), (calling, "late")])
def test_graphs_inside_of_nodes_and_functions_are_sorted(wrapped, name: str, session: Session) -> None:
    found = costed(wrapped(late("r")), session)
    assert found.total.eops == costed(wrapped(late("r")[::-1]), session).total.eops
    assert ("sorted", name) in [(fact.label, fact.value) for fact in found.study.remarks()][:1]


@pytest.mark.parametrize("wrapped", [model, branching, calling])
def test_nodes_in_a_circle_are_refused(wrapped, session: Session) -> None:
    name = "y" if wrapped is model else "r"
    assert refusal(wrapped(circle(name)), session) == "T0676"


def test_a_graph_inside_may_use_what_a_later_node_computes(session: Session) -> None:
    inner = helper.make_graph([node("Relu", ["late"], ["r"])], "inner", [], [value("r")])
    gate = node("If", ["go"], ["y"], then_branch=inner, else_branch=inner)
    nodes = [gate, node("Exp", ["x"], ["late"])]
    proto = model(nodes, [X, value("go", TensorProto.BOOL, [])])
    assert [one.op for one in model_of(proto, "m").graph.nodes] == ["Exp", "If"]
    assert studied(proto, session).coverage.costed == 2


def test_notes_in_the_file_stand_at_their_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ones = numpy_helper.from_array(np.ones((4, 5), np.float32), "w")
    nodes = [node("MatMul", ["h", "w"], ["y"]), node("Exp", ["x"], ["h"])]
    onnx.save(model(nodes, initial=[ones]), "m.onnx")
    assert run(["model", "m.onnx", "--annotate", "out.onnx"]) == 0
    noted = [{e.key: e.value for e in one.metadata_props} for one in onnx.load("out.onnx").graph.node]
    assert [one["tolcost.macs"] for one in noted] == ["20*n", "0"]


def test_a_graph_of_many_nodes_in_reverse_is_sorted() -> None:
    nodes = [node("Relu", [f"v{n}"], [f"v{n + 1}"]) for n in range(3000)]
    nodes.append(node("Relu", ["x"], ["v0"]))
    assert model_of(model(nodes, outputs=[value("v3000")]), "m").graph.order == (3000, *range(3000))
    assert model_of(model(nodes[::-1], outputs=[value("v3000")]), "m").graph.order == (0, *range(3000, 0, -1))
