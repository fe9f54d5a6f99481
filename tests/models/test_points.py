"""One point, one number: however a length is told, a model costs the same there."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.models.test_models import FLOAT, value
from tolcost.catalogue.reading import model_of
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Rejected
from tolcost.models.walking import Session
from tolcost.result.cost import Cost
from tolcost.result.model import Wanted, file_cost, model_cost
from tools.models import graphs

INT = TensorProto.INT64


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


def cost(proto: onnx.ModelProto, session: Session, wanted: Wanted) -> Cost:
    return model_cost(model_of(proto, "m"), "m.onnx", session, wanted)


def figures(found: Cost) -> dict[str, object]:
    numbers = {measure.key: found.value(measure.form) for measure in found.measures}
    return {"status": found.status, "missing": len(found.coverage.missing), **numbers}


def ranged() -> onnx.ModelProto:
    """Positions, as masks are made of them: a vector as long as a sequence, computed from its length."""
    b = graphs.Builder(17)
    x = b.input("x", FLOAT, ["batch", "seq"])
    places = b("Range", b.constant(0), b("Squeeze", b.length(x, 1), b.constant([0])), b.constant(1))
    late = b("Add", places, b.constant(1))
    y = b("Mul", x, b("Cast", late, to=FLOAT))
    return b.model([(y, FLOAT, ["batch", "seq"])])


def spread() -> onnx.ModelProto:
    """Two lengths that are one, unless one of them is 1; and positions."""
    b = graphs.Builder(17)
    x, z = b.input("x", FLOAT, ["n", "seq"]), b.input("z", FLOAT, ["m", "seq"])
    places = b("Range", b.constant(0), b("Squeeze", b.length(x, 1), b.constant([0])), b.constant(1))
    late = b("Cast", b("Mul", places, places), to=FLOAT)
    return b.model([(b("Mul", b("Add", x, z), late), FLOAT, ["n", "seq"])])


def emptied() -> onnx.ModelProto:
    """A mean over what is left after striding, which may be nothing."""
    nodes = [
        helper.make_node("MaxPool", ["x"], ["p"], kernel_shape=[4], strides=[4]),
        helper.make_node("GlobalAveragePool", ["p"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", [value("x", FLOAT, ["n", 3, "w"])], [value("y", FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


MODELS = {
    "bert": (graphs.bert(17, graphs.SMALL), {"input_ids": (2, 3), "attention_mask": (2, 3)}),
    "gpt2": (graphs.gpt2(18, graphs.SMALL, dynamo=True), {"input_ids": (2, 3)}),
    "llama": (graphs.llama(17, graphs.SMALL), {"input_ids": (2, 5)}),
    "positions": (ranged(), {"x": (2, 3)}),
    "one of them 1": (spread(), {"x": (1, 4), "z": (5, 4)}),
    "nothing left": (emptied(), {"x": (2, 3, 2)}),
    "something left": (emptied(), {"x": (2, 3, 9)}),
}


def by_name(proto: onnx.ModelProto, shapes: dict[str, tuple[int, ...]]) -> dict[str, int]:
    declared = {given.name: given.shape for given in model_of(proto, "m").graph.inputs}
    return {
        name: number
        for title, shape in shapes.items()
        for name, number in zip(declared[title] or (), shape, strict=True)
        if isinstance(name, str)
    }


def test_a_length_is_not_made_0_to_fulfil_a_condition(session: Session) -> None:
    """Rows of k elements that are to be rows of 2: 3*n == 2*n where n is 0, of which nobody spoke."""
    b = graphs.Builder(17)
    x = b.input("x", FLOAT, ["n", "k"])
    y = b("Reshape", x, b("Concat", b.length(x, 0), b.constant([2]), axis=0))
    proto = b.model([(y, FLOAT, ["n", 2])])
    assert figures(cost(proto, session, Wanted({"k": 2})))["status"] == "exact"
    with pytest.raises(Rejected):
        cost(proto, session, Wanted({"k": 3}))


@pytest.mark.parametrize("title", MODELS)
def test_a_length_by_name_and_by_shape(title: str, session: Session) -> None:
    proto, shapes = MODELS[title]
    dims = by_name(proto, shapes)
    told = cost(proto, session, Wanted({}, shapes))
    assert figures(cost(proto, session, Wanted(dims))) == figures(told)
    assert not told.study.symbols


@pytest.mark.parametrize("title", ["bert", "positions"])
def test_one_by_name_and_the_others_by_shape(title: str, session: Session) -> None:
    proto, shapes = MODELS[title]
    dims = by_name(proto, shapes)
    mixed = {name: ("batch", *shape[1:]) for name, shape in shapes.items()}
    expected = figures(cost(proto, session, Wanted(dims)))
    assert figures(cost(proto, session, Wanted({"batch": dims["batch"]}, mixed))) == expected
    assert figures(cost(proto, session, Wanted({}, mixed)).subs(batch=dims["batch"])) == expected


def test_a_shape_is_a_point_to_move_from(session: Session) -> None:
    proto, shapes = MODELS["positions"]
    moved = cost(proto, session, Wanted({}, shapes)).subs(seq=7)
    assert figures(moved) == figures(cost(proto, session, Wanted({"batch": 2, "seq": 7})))


def test_a_value_costs_the_same_however_short(session: Session) -> None:
    """What is computed from a length is not free where the length is small and told by a shape."""
    for n in (1, 2, 3, 64, 65, 1100):
        found = cost(ranged(), session, Wanted({}, {"x": (1, n)}))
        assert found.number(found.total.eops) == 2 * n


def test_one_name_with_two_numbers_is_two_lengths(session: Session) -> None:
    nodes = [helper.make_node("Concat", ["x", "z"], ["c"], axis=0), helper.make_node("Relu", ["c"], ["y"])]
    inputs = [value("x", FLOAT, ["n", 4]), value("z", FLOAT, ["n", 4])]
    graph = helper.make_graph(nodes, "g", inputs, [value("y", FLOAT, None)])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    found = cost(proto, session, Wanted({}, {"x": (2, 4), "z": (3, 4)}))
    assert found.number(found.total.eops) == 20


def test_a_length_told_twice_must_be_one(session: Session) -> None:
    with pytest.raises(Rejected):
        cost(ranged(), session, Wanted({"seq": 4}, {"x": (2, 3)}))


def test_a_llama_as_torch_exports_it_runs_at_one_sequence_only(session: Session) -> None:
    """onnxruntime refuses the same node at a batch of 2: its angles are those of one sequence."""
    path = Path(__file__).parents[2] / "examples" / "llama.onnx"
    assert file_cost(path, session, Wanted({"batch": 1, "seq": 8})).eops == 51048480
    with pytest.raises(Rejected) as refused:
        file_cost(path, session, Wanted({"batch": 2, "seq": 8}))
    assert refused.value.diagnostics[0].hint == "it needs batch <= 1"


def test_what_is_left_to_the_run_is_told(session: Session) -> None:
    """The same with a batch of 2 for good: an index outside of its dimension, in a value that has a name."""
    node = helper.make_node("RotaryEmbedding", ["x", "c", "s"], ["y"], name="turned")
    inputs = [value("x", FLOAT, [2, 4, 8, 16]), value("c", FLOAT, [1, 8, 8]), value("s", FLOAT, [1, 8, 8])]
    graph = helper.make_graph([node], "g", inputs, [value("y", FLOAT, None)])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    found = cost(proto, session, Wanted())
    told = [{"condition": "b <= 1", "reason": "an index stays inside its dimension", "node": "turned"}]
    record = json.loads(found.to_json())
    assert (record["conditions"], record["unproved"]) == ([], told)
    assert "checked when run\n    b <= 1" in found.to_text()


def concatenated() -> onnx.ModelProto:
    entries = helper.make_tensor_sequence_value_info("s", FLOAT, ["n", 2])
    node = helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)
    graph = helper.make_graph([node], "g", [entries], [value("y", FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


@pytest.mark.parametrize("entries", [1, 2, 5])
def test_how_many_entries_a_sequence_has_is_said(entries: int, session: Session) -> None:
    """No file tells: one is taken, which the report says, unless there are others."""
    dims = {"n": 3, **({"|s|": entries} if entries > 1 else {})}
    found = cost(concatenated(), session, Wanted(dims))
    (given,) = ReferenceEvaluator(concatenated()).run(None, {"s": [np.zeros((3, 2), np.float32)] * entries})
    assert found.number(found.total.bytes) == 2 * given.nbytes
    assert f"s is taken to have {entries} entr" in found.to_text()


def test_an_optional_input_is_said_to_be_given(session: Session) -> None:
    kind = helper.make_optional_type_proto(helper.make_tensor_type_proto(FLOAT, ["n"]))
    nodes = [helper.make_node("OptionalGetElement", ["o"], ["x"]), helper.make_node("Exp", ["x"], ["y"])]
    graph = helper.make_graph(nodes, "g", [helper.make_value_info("o", kind)], [value("y", FLOAT, None)])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    assert "o is taken to be given" in cost(proto, session, Wanted()).to_text()


def test_the_largest_of_many_forms_is_one_however_a_length_is_told(session: Session) -> None:
    """Of the forms that no other one covers twelve are kept: with numbers put in before, these were others.

    A vision model peaked at 606,832 bytes by ``--dim``, and at 434,768 by ``--shape``.
    """
    path = Path(__file__).parent / "exported" / "experts.onnx"
    ways = (Wanted({"tokens": 4}), Wanted({}, {"x": (4, 16)}), Wanted({"tokens": 4}, {"x": (4, 16)}))
    told = [file_cost(path, session, wanted) for wanted in ways]
    told.append(file_cost(path, session, Wanted()).subs(tokens=4))
    seen = [{m.key: str(one.value(m.form)) for m in one.measures} for one in told]
    assert seen[1:] == seen[:1] * 3


def strided() -> onnx.ModelProto:
    """An image whose sides 32 divides, as torch names them."""
    nodes = [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[32, 32], strides=[32, 32])]
    inputs = [value("x", FLOAT, ["n", 3, "32*h", "32*w"]), value("z", FLOAT, ["h + w"])]
    outputs = [value("y", FLOAT, None), value("z", FLOAT, ["h + w"])]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted({}, {"x": (2, 3, 64, 96)}),
        Wanted({"n": 2, "x[2]": 64, "32*w": 96}),
        Wanted({"w": 3}, {"x": (2, 3, 64, "32*w")}),
        Wanted({"n": 2, "x[3]": 96}, {"z": (5,)}),
    ],
)
def test_a_length_that_is_a_form_is_told_by_its_number(wanted: Wanted, session: Session) -> None:
    """It was refused, as no length has that name."""
    expected = figures(cost(strided(), session, Wanted({"n": 2, "h": 2, "w": 3})))
    assert figures(cost(strided(), session, wanted)) == expected
    assert figures(cost(strided(), session, Wanted()).subs(n=2, w=3).subs({"x[2]": 64})) == expected


@pytest.mark.parametrize(
    "wanted, said",
    [
        (Wanted({"x[2]": 65}), "`32*h` is not 65 for any `h`"),
        (Wanted({}, {"x": (2, 3, 65, 96)}), "`32*h` is not 65 for any `h`"),
        (Wanted({"h": 3}, {"x": (2, 3, 64, 96)}), "`32*h` is not 64 where h = 3"),
        (Wanted({"z[0]": 5}), "`h + w` = 5 does not tell `h` and `w`"),
        (Wanted({"z[0]": 5, "h": 7}), "`w` = -2 is outside its range 1..2,147,483,646"),
    ],
)
def test_a_number_that_no_lengths_give_is_refused(wanted: Wanted, said: str, session: Session) -> None:
    with pytest.raises(Rejected) as refused:
        cost(strided(), session, wanted)
    assert refused.value.diagnostics[0].message == said
