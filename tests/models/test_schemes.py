"""Schemes: what they give is what lowering every node by itself gives, to the last form."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import onnx
import pytest
from msgspec import field
from onnx import ModelProto, TensorProto, helper
from onnx.parser import parse_model

from tolcost.algebra import Poly, const, substitute
from tolcost.catalogue.graph import GraphNode
from tolcost.catalogue.reading import load_model, model_of
from tolcost.catalogue.specs import Library, Spec, open_library
from tolcost.cost import depths
from tolcost.cost.span import Depth, latest
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Tensor
from tolcost.models.analysis import analyze_graph, conditions_of
from tolcost.models.facts import LEAST, Known, Plain
from tolcost.models.lowered import Given, Lowered, Setting
from tolcost.models.lowering import lower
from tolcost.models.patterns import Pattern, patterns_of
from tolcost.models.scheme import same
from tolcost.models.schemes import Schemes
from tolcost.models.walking import Session
from tools.models import graphs

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


class Held(Schemes):
    """Schemes of which every instance is compared with the node lowered by itself."""

    instances: Counter[str] = field(default_factory=Counter)

    def lower(self, setting: Setting, node: GraphNode, spec: Spec, given: Given) -> Lowered | Rejected:
        found = super().lower(setting, node, spec, given)
        if isinstance(found, Lowered) and found.is_instance:
            self._compare(found, setting, node, spec, given)
        return found

    def instance(
        self, setting: Setting, node: GraphNode, spec: Spec, plain: Sequence[Plain | None]
    ) -> Lowered | None:
        found = super().instance(setting, node, spec, plain)
        if found is not None:
            self._compare(found, setting, node, spec, Given(tuple(map(tensor, plain)), node.inputs))
        return found

    def _compare(self, found: Lowered, setting: Setting, node: GraphNode, spec: Spec, given: Given) -> None:
        by_itself = lower(setting, node, spec, given)
        assert same(found, by_itself), node
        assert isinstance(by_itself, Lowered)
        assert depth(found) == depth(by_itself), node
        if found.level is not None:
            assert [found.level] == [form.constant for form in depth(by_itself)], node
        self.instances[node.op] += 1


def tensor(plain: Plain | None) -> Tensor | None:
    """The tensor that was divided into what is known of it and its lengths; None for one left out."""
    assert plain is not None
    space, *known = plain.kind or (None,)
    lengths = iter(plain.lengths)
    shape = tuple(const(next(lengths) if n == LEAST else n) for n in known if isinstance(n, int))
    return Tensor(shape, space) if isinstance(space, str) else None


def depth(lowered: Lowered) -> tuple[Poly, ...]:
    found = depths(lowered.program).chain.candidates
    return latest(*(Depth((substitute(c, {**lowered.lengths, **lowered.point}),)) for c in found)).candidates


@pytest.fixture(name="library", scope="module")
def _library() -> Library:
    return open_library()


def test_every_node_of_a_light_model(library: Library) -> None:
    held = Held()
    analyze_graph(load_model(LIGHT / "light_shufflenet.onnx"), Session(library, schemes=held))
    assert held.instances.total() > 20


def test_every_node_of_a_transformer(library: Library) -> None:
    held = Held()
    session = Session(library, schemes=held)
    for dims in ({}, {"batch": 2}, {"batch": 3, "seq": 5}):
        analyze_graph(model_of(graphs.llama(18, dynamo=True), "model"), session, dims)
    assert held.instances["MatMul"] > 2


def one(op: str, *shapes: tuple[int, ...], **attributes: object) -> ModelProto:
    inputs = [helper.make_tensor_value_info(f"x{n}", 1, shape) for n, shape in enumerate(shapes)]
    node = helper.make_node(op, [f"x{n}" for n in range(len(shapes))], ["y"], **attributes)
    graph = helper.make_graph([node], "one", inputs, [helper.make_tensor_value_info("y", 1, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def drawn(rng: random.Random) -> ModelProto:
    """A node of random lengths, some of them wrong."""
    n, c, h, w, k = (rng.choice([1, 2, 3, 5, 8, 30, 64, 65, 66]) for _ in range(5))
    image = (n, c, h + 2, w + 2)
    match rng.randrange(10):
        case 0:
            return one(
                "Conv", image, (k, c, 3, 3), pads=[1, 1, 1, 1], kernel_shape=[3, rng.choice([3, 3, 2])]
            )
        case 1:
            return one("Conv", image, (2 * k, c, 3, 2), strides=[2, 2], pads=[1, 0, 1, 2])
        case 2:
            return one("Conv", (n, 2 * c, h + 5, w), (2 * k, c, 3, 1), group=2, dilations=[2, 1])
        case 3:
            return one("MaxPool", image, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0], ceil_mode=1)
        case 4:
            return one("MatMul", (n, h, k), (rng.choice([k, k, c]), w))
        case 5:
            return one(rng.choice(["Add", "Mul", "Div"]), (n, c, h), (rng.choice([1, c, n]), h))
        case 6:
            return one(rng.choice(["Softmax", "LogSoftmax"]), (n, c, h), axis=rng.choice([1, -1]))
        case 7:
            return one("Gemm", (h, k), (w, k), (w,), transB=1)
        case 8:
            return one("Det", (n, *[rng.choice([2, 3, 4])] * 2))
        case _:
            return one("Concat", (n, c, h), (n, k, h), (n, w, h), axis=1)


def test_random_nodes(library: Library) -> None:
    held = Held()
    session = Session(library, schemes=held)
    rng = random.Random(21)
    for _ in range(150):
        analyze_graph(model_of(drawn(rng), "one"), session)
    assert len(held.instances) > 6


def by_indices(rng: random.Random) -> ModelProto:
    """A node of random lengths that takes indices from data."""
    a, b, c, d = (rng.choice([1, 2, 3, 5, 30, 64, 65, 66, "n", "m"]) for _ in range(4))
    axis = rng.choice([0, 1])
    shapes: list[tuple[int | str, ...]]
    op, shapes, attributes = rng.choice(
        [
            ("Gather", [(a, b), rng.choice([(), (c,), (c, d)])], {"axis": axis}),
            ("GatherElements", [(a, b), [(c, b), (a, c)][axis]], {"axis": axis}),
            ("GatherND", [(a, b), (c, d, rng.choice([1, 2]))], {}),
            ("ScatterElements", [(a, b), (a, c), (a, c)], {"axis": 1}),
            ("ScatterND", [(a, b), (c, 1), (c, b)], {}),
        ]
    )
    types = [TensorProto.FLOAT, TensorProto.INT64, TensorProto.FLOAT]
    inputs = [
        helper.make_tensor_value_info(f"x{n}", kind, shape)
        for n, (kind, shape) in enumerate(zip(types, shapes, strict=False))
    ]
    node = helper.make_node(op, [f"x{n}" for n in range(len(shapes))], ["y"], **attributes)
    graph = helper.make_graph([node], "one", inputs, [helper.make_tensor_value_info("y", 1, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_random_nodes_with_indices(library: Library) -> None:
    """Where two lengths are one, so may be what is computed of indices."""
    held = Held()
    held.stored = False
    session = Session(library, schemes=held)
    rng = random.Random(5)
    for _ in range(200):
        analyze_graph(model_of(by_indices(rng), "one"), session)
    assert min(held.instances[op] for op in ("Gather", "GatherElements", "ScatterElements", "ScatterND")) > 2


def split(n: int, sizes: Sequence[int]) -> ModelProto:
    parts = [f"y{k}" for k in range(len(sizes))]
    node = helper.make_node("Split", ["x", "sizes"], parts, axis=1)
    lengths = helper.make_tensor("sizes", TensorProto.INT64, [len(sizes)], sizes)
    given = [helper.make_tensor_value_info("x", 1, (n, sum(sizes), 40))]
    gives = [helper.make_tensor_value_info(name, 1, None) for name in parts]
    graph = helper.make_graph([node], "split", given, gives, [lengths])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_parts_that_fit_their_axis(library: Library) -> None:
    """What is read of it is told apart only where the condition on the parts is known to hold."""
    held = Held()
    held.stored = False
    session = Session(library, schemes=held)
    for n in range(4):
        analyze_graph(model_of(split(20 + n, [70 + n, 80 + n]), "split"), session)
    assert held.instances["Split"] >= 2


def test_lengths_that_are_equal_are_one(library: Library) -> None:
    """Heads that divide one another have no scheme; as many of each have."""
    held = Held()
    held.stored = False
    session = Session(library, schemes=held)
    for n in range(6):
        heads = (2, 12, 70 + n, 64)
        attention = one("Attention", *[heads] * 3)
        attention.opset_import[0].version = 23
        analyze_graph(model_of(attention, "attention"), session)
    assert held.instances["Attention"] >= 2


def heard(name: str, end: int) -> ModelProto:
    """A sound of any length: its start, its frames, and rows of a table by data."""
    made = {"starts": [0], "ends": [end], "axes": [1], "pads": [0, 256, 0, 256], "step": 160}
    held = [
        helper.make_tensor(
            n, TensorProto.INT64, [len(v)] if isinstance(v, list) else [], v if isinstance(v, list) else [v]
        )
        for n, v in made.items()
    ]
    nodes = [
        helper.make_node("Slice", ["x", "starts", "ends", "axes"], ["start"]),
        helper.make_node("Relu", ["start"], ["a"]),
        helper.make_node("Mul", ["a", "start"], ["b"]),
        helper.make_node("Pad", ["x", "pads"], ["padded"], mode="reflect"),
        helper.make_node("STFT", ["padded", "step", "window"], ["frames"]),
        helper.make_node("Gather", ["table", "rows"], ["c"]),
    ]
    given = [
        helper.make_tensor_value_info("x", 1, ("batch", name)),
        helper.make_tensor_value_info("window", 1, (512,)),
        helper.make_tensor_value_info("table", 1, (500 + end, 64)),
        helper.make_tensor_value_info("rows", TensorProto.INT64, ("batch", name)),
    ]
    gives = [helper.make_tensor_value_info(n, 1, None) for n in ("b", "frames", "c")]
    graph = helper.make_graph(nodes, "heard", given, gives, held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_lengths_that_are_formulas(library: Library) -> None:
    """One that may be cut, one that is longer than a frame for certain, and indices that data has."""
    held = Held()
    held.stored = False
    session = Session(library, schemes=held)
    for n in range(4):
        analyze_graph(model_of(heard(f"n{n}", 120 + n), "heard"), session)
    assert min(held.instances[op] for op in ("Relu", "Mul", "STFT", "Gather")) >= 1, held.instances


def test_a_node_is_elaborated_once_for_its_pattern(library: Library, calls: Counter[str]) -> None:
    """Work counted, not timed: many nodes of all different lengths take few elaborations."""
    session = Session(library, schemes=Schemes(stored=False))
    for n in range(100):
        image, weights = (1, 30 + n, 90, 90 + n), (50 + n, 30 + n, 3, 3)
        for padded in ({}, {"pads": [1, 1, 1, 1]}):
            analyze_graph(model_of(one("Conv", image, weights, **padded), "one"), session)
        analyze_graph(model_of(one("Add", (7, 70 + n), (70 + n,)), "one"), session)
    assert calls == {"Conv": 4, "Add": 2}


def test_a_pattern_is_made_for_the_first_nodes_of_tensors(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work counted, not timed: after the second node of a pattern, a node is a lookup and a substitution."""
    made: Counter[object] = Counter()

    def counted(given: Sequence[Known | None]) -> Iterator[Pattern]:
        for pattern in patterns_of(given):
            made[pattern.key] += 1
            yield pattern

    monkeypatch.setattr("tolcost.models.schemes.patterns_of", counted)
    session = Session(library, schemes=Schemes(stored=False))
    for n in range(100):
        analyze_graph(model_of(one("Relu", (7, 70 + n, 30)), "one"), session)
        analyze_graph(model_of(one("MatMul", (70 + n, 90), (90, 80 + n)), "one"), session)
    assert sorted(made.values()) == [2, 2]  # the second node makes the scheme


OPEN = {
    "a condition that stays open": "y = Conv <strides = [2]> (x, w)",
    "an integer that may be negative": "s = Shape <start = 2> (x) d = Sub(many, s) y = Mul(d, many)",
}


@pytest.mark.parametrize("text", OPEN.values(), ids=OPEN)
def test_what_stays_open_is_carried(text: str, library: Library) -> None:
    """Windows that may not fit, what is left of 480: after the first nodes of patterns there is a scheme."""
    held = Held()
    held.stored = False
    session = Session(library, schemes=held)
    many = "many = Constant <value = int64[1] {480}> ()"
    for n in range(6):
        head = f'<ir_version: 10, opset_import: ["" : 18]> g (float[b, 1, n{n}] x, float[6, 1, 5] w)'
        model = parse_model(f"{head} => (float[b, c, l] y) {{ {many} {text} }}")
        cost = analyze_graph(model_of(model, "one"), session)
        assert not any(applied.uncosted for applied in cost.nodes)
    assert held.instances["Conv" if "Conv" in text else "Mul"] >= 1, held.instances
    assert [str(one.condition) for one in conditions_of(cost)] == (["Ge(p=n5 - 5)"] if "Conv" in text else [])
