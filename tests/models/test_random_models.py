"""A slice of the campaign on random valid models, and what it found; ``make soak`` runs more."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.models.test_models import FLOAT, ints, value
from tolcost.catalogue.specs import open_library
from tolcost.models.walking import Session
from tools.generate.valid_graphs import run_node
from tools.generate.valid_models import Made
from tools.models.random_models import judge, judged

BATCH, BATCHES = 25, 4


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


@pytest.mark.parametrize("number", range(BATCHES))
def test_random_models_are_what_runs_say(number: int, session: Session) -> None:
    found = [
        answer for seed in range(number * BATCH, (number + 1) * BATCH) for answer in judged(seed, session)
    ]
    costed = sum(answer.startswith("costed") for answer in found)
    assert costed > 0.9 * len(found)


def made(*nodes: onnx.NodeProto, n: int = 5, **held: object) -> Made:
    """A model of some nodes on ``x`` and tensors that it holds, run one by one."""
    values: dict[str, object] = {"x": np.arange(2 * n, dtype=np.float32).reshape(n, 2)}
    values |= {name: np.asarray(array) for name, array in held.items()}
    initial = [numpy_helper.from_array(values[name], name) for name in held]
    for node in nodes:
        values.update(zip(node.output, run_node(node, values, 18), strict=True))
    outputs = [value(name, FLOAT, None) for name in nodes[-1].output]
    graph = helper.make_graph(list(nodes), "g", [value("x", FLOAT, ["n", 2])], outputs, initial)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return Made(proto, {"n": n}, values)


SHAPE = helper.make_node("Shape", ["x"], ["shape"])


def test_integers_that_are_known_are_divided_towards_zero(session: Session) -> None:
    divided = helper.make_node("Div", ["a", "b"], ["y"])
    assert judge(made(divided, a=[-7, 7, -7, 7], b=[2, -2, -2, 2]), session) == "costed, exact"
    negative = helper.make_node("Neg", ["shape"], ["a"])
    for n in (4, 5):
        assert judge(made(SHAPE, negative, divided, n=n, b=[2, 2]), session) == "costed, exact"


def test_a_mean_of_integers_that_are_known_is_cut_towards_zero(session: Session) -> None:
    """Of these the evaluator takes the floor; onnxruntime and the definition cut."""
    mean = helper.make_node("ReduceMean", ["a"], ["y"], keepdims=0)
    one = made(mean, a=[-3, -4])
    one.values["y"] = np.array(-3)
    assert judge(one, session) == "costed, exact"


def test_reals_that_are_known_and_whole_divide_truly(session: Session) -> None:
    """What rounding gives is a real still: 3.0 / 2.0 is no integer."""
    nodes = [
        SHAPE,
        helper.make_node("Cast", ["shape"], ["real"], to=FLOAT),
        helper.make_node("Floor", ["real"], ["whole"]),
        helper.make_node("Gather", ["whole", "zero"], ["a"]),
        helper.make_node("Gather", ["whole", "one"], ["b"]),
        helper.make_node("Div", ["a", "b"], ["y"]),
    ]
    for n in (4, 5):
        assert judge(made(*nodes, n=n, zero=0, one=1), session) == "costed, exact"


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32])
def test_what_is_known_keeps_its_element_type(kind: type, session: Session) -> None:
    c = np.array([3, 1, 2], kind)
    two, none = np.array([2]), np.array([9])
    for node in (
        helper.make_node("TopK", ["c", "two"], ["v", "i"]),
        helper.make_node("Slice", ["c", "none", "none"], ["y"]),
        helper.make_node("Less", ["c", "c"], ["y"]),
    ):
        assert judge(made(node, c=c, two=two, none=none), session) == "costed, exact"


def test_a_slope_that_cannot_be_spread_is_refused(session: Session) -> None:
    """What an operator says twice is a condition where a length is open: k == 3."""
    nodes = [helper.make_node("PRelu", ["x", "slope"], ["y"])]
    slope = numpy_helper.from_array(np.ones(3, np.float32), "slope")
    graph = helper.make_graph(nodes, "g", [value("x", FLOAT, ["n", "k"])], [value("y", FLOAT, None)], [slope])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    for k in (1, 2, 3):
        given = Made(
            proto, {"n": 2, "k": k}, {"x": np.ones((2, k), np.float32), "slope": np.ones(3, np.float32)}
        )
        found = judge(given, session)
        assert found == "costed, exact" if k == 3 else found.startswith("refused: T0344")


def test_a_vector_is_quantised_along_its_only_axis(session: Session) -> None:
    """The axis is 1 unless it is said, and a vector has none of that number."""
    flat = helper.make_node("Reshape", ["x", "shape"], ["v"])
    quantised = helper.make_node("QuantizeLinear", ["v", "scale"], ["q"])
    back = helper.make_node("DequantizeLinear", ["q", "scale"], ["y"])
    given = made(flat, shape=[-1])
    wanted = given.values["v"]
    graph = helper.make_graph(
        [flat, quantised, back],
        "g",
        [value("x", FLOAT, ["n", 2])],
        [value("y", FLOAT, None)],
        [ints("shape", -1), numpy_helper.from_array(np.full(1, 0.5, np.float32), "scale")],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    values = {
        **given.values,
        "scale": np.full(1, 0.5, np.float32),
        "q": (wanted * 2).astype(np.uint8),
        "y": wanted,
    }
    assert judge(Made(proto, {"n": 5}, values), session) == "costed, exact"
