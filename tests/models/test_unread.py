"""Numbers that decide nothing are no part of a pattern, and those that decide something are."""

import math
import operator
import pickle
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from operator import attrgetter

import pytest
from onnx import ModelProto, TensorProto, helper

from tolcost.algebra import Poly, const, evaluate, ge, prove, range_of, to_text
from tolcost.catalogue.reading import model_of
from tolcost.catalogue.specs import open_library
from tolcost.models.analysis import GraphCost, analyze_graph
from tolcost.models.patterns import NumberInspected, UndecidedInteger, UndecidedNumber
from tolcost.models.schemes import Schemes
from tolcost.models.walking import Session

LOOKS: list[Callable[[UndecidedNumber], object]] = [
    float, int, bool, str, repr, abs, complex, round, math.floor, math.isfinite, operator.neg, operator.pos,
    lambda x: x == 0, lambda x: x == Fraction(1), lambda x: x != 1.5, lambda x: x == UndecidedNumber(),
    lambda x: x < 1, lambda x: x >= Fraction(1, 2), lambda x: x in (0, 1), lambda x: f"{x}",
    lambda x: x + 1, lambda x: 1 - x, lambda x: x * Fraction(2), lambda x: 2.0 / x, lambda x: x % 2,
    lambda x: x**2, lambda x: 2**x, lambda x: x // 2, lambda x: divmod(x, 2), lambda x: Fraction(x),
    lambda x: x.numerator, lambda x: x.denominator, lambda x: x.as_integer_ratio(), lambda x: x.real,
    lambda x: x.limit_denominator(5),
]  # fmt: skip


@pytest.mark.parametrize("look", LOOKS)
def test_whoever_looks_is_told(look: Callable[[UndecidedNumber], object]) -> None:
    with pytest.raises(NumberInspected):
        look(UndecidedNumber())


WHOLE_LOOKS: list[Callable[[UndecidedInteger], object]] = [
    str, repr, operator.neg, attrgetter("constant"), attrgetter("key"), attrgetter("terms"),
    lambda x: x == 0, lambda x: x == const(1), lambda x: x != 1, lambda x: x == UndecidedInteger(),
    lambda x: x in (0, 1), lambda x: x + 1, lambda x: 1 - x, lambda x: x * 2, lambda x: const(3) * x,
    lambda x: x // 2, lambda x: x % 2, lambda x: x**2, lambda x: prove(ge(x)), lambda x: range_of(x),
    lambda x: evaluate(x, {}), lambda x: to_text(x), pickle.dumps,
]  # fmt: skip


@pytest.mark.parametrize("look", WHOLE_LOOKS)
def test_whoever_looks_at_a_whole_number_is_told(look: Callable[[UndecidedInteger], object]) -> None:
    with pytest.raises(NumberInspected):
        look(UndecidedInteger())


@pytest.mark.parametrize("kind, like", [(UndecidedNumber, Fraction), (UndecidedInteger, Poly)])
def test_it_is_itself(kind: type[UndecidedNumber | UndecidedInteger], like: type) -> None:
    one = kind()
    assert isinstance(one, like)
    assert (one,) == (one,)
    assert {one: 1}[one] == 1


def scaled(op: str, values: list[float], shape: tuple[int, ...] = ()) -> ModelProto:
    """Nodes of one operator on tensors of different lengths and a number each."""
    nodes = [helper.make_node(op, [f"x{n}", f"c{n}"], [f"y{n}"]) for n in range(len(values))]
    inputs = [helper.make_tensor_value_info(f"x{n}", 1, [3 + n, 5]) for n in range(len(values))]
    outputs = [helper.make_tensor_value_info(f"y{n}", 1, None) for n in range(len(values))]
    held = [helper.make_tensor(f"c{n}", TensorProto.FLOAT, shape, [v]) for n, v in enumerate(values)]
    graph = helper.make_graph(nodes, "scaled", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def told(cost: GraphCost) -> list[tuple[object, ...]]:
    parts = [part for node in cost.nodes for part, _ in node.parts]
    return [(p.counts.histogram, p.counts.atoms, p.counts.macs, p.traffic.read, p.outputs[0]) for p in parts]


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("op", ["Add", "Mul", "Sub", "Div", "Pow", "Max", "Greater"])
def test_nodes_that_differ_in_a_number_share_a_scheme(
    op: str, shape: tuple[int, ...], calls: Counter[str]
) -> None:
    model = model_of(scaled(op, [0.0, 1.0, -1.0, 2.0, 0.5, 1e30], shape), "scaled")
    by_scheme = analyze_graph(model, Session(open_library(), schemes=Schemes(stored=False)))
    assert calls[op] == 2, "one by itself, and one with symbols"
    by_itself = analyze_graph(model, Session(open_library(), schemes=None))
    assert [repr(one) for one in told(by_scheme)] == [repr(one) for one in told(by_itself)]


def quantised(space: int, points: list[int], shape: tuple[int, ...] = ()) -> ModelProto:
    """Nodes that quantise tensors of different lengths by a scale and a zero point each, and back."""
    many = range(len(points))
    nodes = [
        helper.make_node(op, [f"{given}{n}", f"s{n}", f"z{n}"], [f"{gives}{n}"])
        for n in many
        for op, given, gives in (("QuantizeLinear", "x", "q"), ("DequantizeLinear", "q", "y"))
    ]
    inputs = [helper.make_tensor_value_info(f"x{n}", 1, [3 + n, 5]) for n in many]
    outputs = [helper.make_tensor_value_info(f"y{n}", 1, None) for n in many]
    held = [helper.make_tensor(f"z{n}", space, shape, [z]) for n, z in enumerate(points)]
    held += [helper.make_tensor(f"s{n}", 1, shape, [0.5 + n]) for n in many]
    graph = helper.make_graph(nodes, "quantised", inputs, outputs, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize(
    "space, points", [(TensorProto.UINT8, [0, 1, 128, 255]), (TensorProto.INT8, [0, -1, -128, 127])]
)
def test_nodes_that_differ_in_a_zero_point_share_a_scheme(
    space: int, points: list[int], shape: tuple[int, ...], calls: Counter[str]
) -> None:
    model = model_of(quantised(space, points, shape), "quantised")
    by_scheme = analyze_graph(model, Session(open_library(), schemes=Schemes(stored=False)))
    assert set(calls.values()) == {2}, "one by itself, and one with symbols"
    by_itself = analyze_graph(model, Session(open_library(), schemes=None))
    assert [repr(one) for one in told(by_scheme)] == [repr(one) for one in told(by_itself)]


def test_programs_have_their_own_numbers() -> None:
    model = model_of(scaled("Mul", [2.0, 3.0, 4.0]), "scaled")
    cost = analyze_graph(model, Session(open_library(), schemes=Schemes(stored=False)))
    texts = [repr(part.program) for node in cost.nodes for part, _ in node.parts]
    assert all(f"Fraction({n}, 1)" in text for n, text in enumerate(texts, start=2))


@pytest.mark.parametrize(
    "space, value, known", [(TensorProto.FLOAT, 2.5, "Fraction(5, 2)"), (TensorProto.UINT8, 5, "items=(5,)")]
)
def test_a_number_that_is_handed_on_stays_known(space: int, value: float, known: str) -> None:
    nodes = [
        helper.make_node("Identity", ["c"], ["d"]),
        helper.make_node("Unsqueeze", ["d", "axes"], ["e"]),
    ]
    held = [
        helper.make_tensor("c", space, (), [value]),
        helper.make_tensor("axes", TensorProto.INT64, (1,), [0]),
    ]
    outputs = [helper.make_tensor_value_info("e", space, None)]
    graph = helper.make_graph(nodes, "handed", [], outputs, held)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    for _ in range(2):
        cost = analyze_graph(model_of(proto, "handed"), Session(open_library()))
        assert known in repr(cost.known("e"))
