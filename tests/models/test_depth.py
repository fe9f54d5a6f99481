"""The depth of a model whose branches have many lengths: at most what is said, and said shortly."""

import random

import onnx
from onnx import helper
from onnx.parser import parse_model

import tolcost
from tests.models.test_hostile import studied
from tolcost.algebra import evaluate
from tolcost.catalogue.specs import open_library
from tolcost.models.walking import Session
from tolcost.show.document import text_of

LENGTHS = ("a", "b", "c", "d")
BRANCHES, LAYERS = 7, 3


def branches(lengths: dict[str, int | str]) -> onnx.ModelProto:
    """In every layer, what adds elements of vectors up in branches of different lengths, then joins them."""
    nodes, before = [], ""
    inputs = {
        f"x{layer}_{n}": [lengths[LENGTHS[n % 4]], lengths[LENGTHS[(n + layer) % 4]]]
        for layer in range(LAYERS)
        for n in range(BRANCHES)
    }
    for layer in range(LAYERS):
        ends = []
        for n in range(BRANCHES):
            name = f"{layer}_{n}"
            start = f"x{name}"
            if before:
                nodes.append(helper.make_node("Add", [start, before], [f"s{name}"]))
                start = f"s{name}"
            nodes.append(helper.make_node("CumSum", [start, "axis"], [f"c{name}"]))
            nodes.append(helper.make_node("ReduceMax", [f"c{name}"], [f"r{name}"], keepdims=0))
            ends.append(f"r{name}")
        before = f"joined{layer}"
        nodes.append(helper.make_node("Sum", ends, [before]))
    graph = helper.make_graph(
        nodes,
        "branches",
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, s) for name, s in inputs.items()],
        [helper.make_tensor_value_info(before, onnx.TensorProto.FLOAT, [])],
        [helper.make_tensor("axis", onnx.TensorProto.INT64, [], [0])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def test_a_depth_of_many_branches_is_short_and_never_too_small() -> None:
    session = Session(open_library())
    form = studied(branches({name: name for name in LENGTHS}), session).depth
    assert form is not None
    assert not form.exact
    assert len(text_of(form)) < 2_000
    symbols = {s.name: s for one in form.candidates for s in one.free}
    drawn = random.Random(5)
    for _ in range(8):
        sizes = {name: drawn.choice((1, 2, 3, 7, 40)) for name in LENGTHS}
        fixed = studied(branches({**sizes}), session).depth
        assert fixed is not None
        there = max(evaluate(one, {s: sizes[n] for n, s in symbols.items()}) for one in form.candidates)
        assert there >= fixed.at({})


def test_a_length_that_only_the_depth_has_is_at_its_largest() -> None:
    """All counts are those of the other side: the depth was a form in `z1`, which nothing tells."""
    head = '<ir_version: 10, opset_import: ["" : 18]> g (float[n] x, bool c) => (float y)'
    held = "<int64[1] axis = {0}, float zero = {0}, int64[1] many = {9}, int64 first = {0}>"
    then = "g = Greater(x, zero) k = Compress<axis = 0>(x, g) a = ReduceSum<keepdims = 0>(k, axis)"
    other = "t = Tile(x, many) s = Add(t, t) h = Greater(s, zero) f = Cast<to = 1>(h) u = Add(s, f) "
    other += "w = Add(u, t) b = Gather(w, first)"
    sides = f"then_branch = t () => (float a) {{ {then} }}, else_branch = e () => (float b) {{ {other} }}"
    cost = tolcost.from_onnx(parse_model(f"{head} {held} {{ y = If(c) <{sides}> }}"))
    assert cost.symbols == ("n",)
    assert [cost(n=n).depth for n in (1, 2, 9)] == [max(4, 1 + n) for n in (1, 2, 9)]
