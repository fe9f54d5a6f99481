"""Whole models: control flow, what data decides, equal lengths, bodies that ONNX defines, memory
and parameters."""

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.parser import parse_model

import tolcost
from tests.models.test_hostile import FLOAT, INT, X, costed, model, studied
from tolcost.algebra import evaluate, length, to_text
from tolcost.catalogue.specs import Library, open_library
from tolcost.diagnostics import Rejected
from tolcost.models.facts import shape_of
from tolcost.models.memory import parameters_by_node
from tolcost.models.walking import Session
from tolcost.platform import specs_root

N, M = length("n"), length("m")
BOOL = TensorProto.BOOL


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


def value(name: str, kind: int = FLOAT, shape: list[int | str] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def graph(nodes, inputs=(), outputs=(), initial=()):
    return helper.make_graph(list(nodes), "inner", list(inputs), [value(o) for o in outputs], list(initial))


def ints(name: str, *numbers: int) -> TensorProto:
    return numpy_helper.from_array(np.array(numbers, np.int64), name)


# ---- control flow ------------------------------------------------------------------------------


def test_if_takes_the_branch_that_is_known(session: Session) -> None:
    then = graph([helper.make_node("Exp", ["x"], ["t"])], outputs=["t"])
    other = graph(
        [helper.make_node("Relu", ["x"], ["e0"]), helper.make_node("Neg", ["e0"], ["e"])], outputs=["e"]
    )
    shape = helper.make_node("Size", ["x"], ["size"])
    large = helper.make_node("Greater", ["size", "limit"], ["go"])
    choice = helper.make_node("If", ["go"], ["y"], then_branch=then, else_branch=other)
    limit = numpy_helper.from_array(np.array(2, np.int64), "limit")
    study = studied(model([shape, large, choice], initial=[limit]), session)
    assert study.coverage.missing == ()
    assert study.total.eops == 4 * N  # 4*n elements are always more than 2: Exp


def test_if_on_data_costs_the_dearer_branch(session: Session) -> None:
    then = graph([helper.make_node("Exp", ["x"], ["t"])], outputs=["t"])
    other = graph(
        [helper.make_node("Relu", ["x"], ["e0"]), helper.make_node("Neg", ["e0"], ["e"])], outputs=["e"]
    )
    choice = helper.make_node("If", ["go"], ["y"], then_branch=then, else_branch=other)
    study = studied(model([choice], [X, value("go", BOOL, [])]), session)
    assert study.coverage.missing == ()
    assert study.total.status == "upper bound"
    assert study.total.eops.free == N.free


def loop_body() -> onnx.GraphProto:
    nodes = [
        helper.make_node("Identity", ["cond_in"], ["cond_out"]),
        helper.make_node("Add", ["state", "x"], ["state_out"]),
    ]
    given = [value("i", INT, []), value("cond_in", BOOL, []), value("state", FLOAT, ["n", 4])]
    return graph(nodes, given, ["cond_out", "state_out"])


def test_loop_with_a_known_number_of_turns(session: Session) -> None:
    loop = helper.make_node("Loop", ["turns", "", "x"], ["y"], body=loop_body())
    turns = numpy_helper.from_array(np.array(7, np.int64), "turns")
    study = studied(model([loop], initial=[turns]), session)
    assert study.coverage.missing == ()
    assert study.total.eops == 28 * N


def test_loop_with_turns_that_data_decides(session: Session) -> None:
    loop = helper.make_node("Loop", ["turns", "", "x"], ["y"], body=loop_body(), name="loop")
    study = studied(model([loop], [X, value("turns", INT, [])]), session)
    assert study.coverage.missing == ()
    assert [s.name for s in study.symbols if s.kind == "data"] == ["turns"]
    assert study.total.status == "depends on data"
    assert to_text(study.total.eops) == "4*n*turns"


def test_scan(session: Session) -> None:
    nodes = [helper.make_node("Add", ["s", "row"], ["s_out"]), helper.make_node("Exp", ["s_out"], ["out"])]
    body = graph(nodes, [value("s", FLOAT, [4]), value("row", FLOAT, [4])], ["s_out", "out"])
    scan = helper.make_node("Scan", ["start", "x"], ["last", "y"], body=body, num_scan_inputs=1)
    study = studied(model([scan], [X, value("start", FLOAT, [4])]), session)
    assert study.coverage.missing == ()
    assert study.total.eops == 8 * N


# ---- what data decides, equal lengths ------------------------------------------------------------


def test_what_data_decides_has_a_name_of_its_own_at_every_node(session: Session) -> None:
    nodes = [helper.make_node("NonZero", [x], [f"{x}_found"], name=f"find_{x}") for x in ("x", "z")]
    nodes += [helper.make_node("Cast", [f"{x}_found"], [f"{x}_real"], to=FLOAT) for x in ("x", "z")]
    nodes += [helper.make_node("Exp", [f"{x}_real"], [f"{x}_exp"]) for x in ("x", "z")]
    study = studied(model(nodes, [X, value("z", FLOAT, ["n", 4])], [value("x_exp")]), session)
    assert study.total.status == "depends on data"
    shapes = [shape_of(study.cost.known(f"{x}_exp")) for x in ("x", "z")]
    assert shapes[0] is not None
    assert shapes[0] != shapes[1]
    assert len([s for s in study.symbols if s.kind == "data"]) == 2


def test_lengths_that_must_be_equal_are_one_and_that_is_said(session: Session) -> None:
    nodes = [helper.make_node("MatMul", ["a", "b"], ["y"])]
    proto = model(nodes, [value("a", FLOAT, ["n", "k"]), value("b", FLOAT, ["l", "m"])])
    study = studied(proto, session)
    assert len(study.cost.equal) == 1
    assert len(study.symbols) == 3
    ((gone, stays),) = study.cost.equal.items()
    assert {gone.name, to_text(stays)} == {"k", "l"}
    assert costed(proto, session, n=2, k=3, m=4).number(study.total.macs) == 24
    assert costed(proto, session, n=2, l=3, m=4).number(study.total.macs) == 24
    with pytest.raises(Rejected):
        studied(proto, session, n=2, k=3, l=4, m=4)


def test_a_length_of_1_may_break_an_equation_and_still_be_right(session: Session) -> None:
    """Two named lengths that meet in an addition are one, unless one of them is 1."""
    proto = model(
        [helper.make_node("Add", ["a", "b"], ["y"])], [value("a", FLOAT, ["n"]), value("b", FLOAT, ["m"])]
    )
    general = studied(proto, session)
    assert len(general.symbols) == 1
    broadcast = costed(proto, session, n=1, m=5)
    assert broadcast.number(broadcast.total.eops) == 5


# ---- operators without a definition ---------------------------------------------------------------


@pytest.mark.parametrize("op, since", [("Celu", 12), ("Gelu", 20), ("HardSwish", 14)])
def test_bodies_that_onnx_defines_serve_where_there_is_no_definition(
    op: str, since: int, tmp_path: Path
) -> None:
    specs = tmp_path / "specs"
    shutil.copytree(Path(str(specs_root())), specs)
    for file in (specs / "onnx").glob(f"{op}*.tol"):
        file.unlink()
    proto = model([helper.make_node(op, ["x"], ["y"])], opset=max(since, 20))
    study = studied(proto, Session(Library((specs,))))
    assert study.coverage.missing == ()
    assert study.total.eops.free == N.free
    assert op not in {group.title for group in study.operators}
    assert shape_of(study.cost.known("y")) == (N, length("n") * 0 + 4)


# ---- memory, parameters, depth ----------------------------------------------------------------------


def test_peak_memory_follows_the_lifetimes(session: Session) -> None:
    nodes = [
        helper.make_node("Exp", ["x"], ["a"]),  # x, a live
        helper.make_node("Concat", ["a", "a"], ["b"], axis=0),  # a, b: 3 units; x is gone
        helper.make_node("ReduceSum", ["b"], ["y"]),
    ]
    study = studied(model(nodes, outputs=[value("y")]), session)
    assert study.peak is not None
    assert study.peak.exact
    assert study.peak.bytes.candidates == (48 * N,)


def test_parameters_however_they_are_stored(session: Session) -> None:
    dense = numpy_helper.from_array(np.ones((4, 3), np.float32), "dense")
    outside = TensorProto(name="outside", data_type=FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    held = numpy_helper.from_array(np.ones(3, np.float32))
    nodes = [
        helper.make_node("Constant", [], ["held"], value=held),
        helper.make_node(
            "ConstantOfShape", ["three"], ["made"], value=numpy_helper.from_array(np.ones(1, np.float32))
        ),
        helper.make_node("MatMul", ["x", "dense"], ["a"]),
        helper.make_node("Add", ["a", "outside"], ["b"]),
        helper.make_node("Mul", ["b", "held"], ["c"]),
        helper.make_node("Sub", ["c", "made"], ["d"]),
        helper.make_node("Reshape", ["d", "target"], ["y"]),
    ]
    study = studied(model(nodes, initial=[dense, outside, ints("three", 3), ints("target", -1, 3)]), session)
    assert study.coverage.missing == ()
    assert study.holdings.parameters == 12 + 3 + 3 + 3
    assert study.holdings.parameter_bytes == 4 * 21
    assert study.holdings.bytes == 4 * 21 + 16 * N + 12 * N


def test_sparse_parameters_count_what_is_stored(session: Session) -> None:
    values = numpy_helper.from_array(np.ones(2, np.float32), "w")
    places = numpy_helper.from_array(np.array([0, 5], np.int64))
    sparse = helper.make_sparse_tensor(values, places, [4, 3])
    proto = model([helper.make_node("MatMul", ["x", "w"], ["y"])])
    proto.graph.sparse_initializer.append(sparse)
    study = studied(proto, session)
    assert (study.holdings.parameters, study.holdings.parameter_bytes) == (2, 8)
    assert study.total.macs == 12 * N


HEAD = '<ir_version: 8, opset_import: ["": 18, "own": 1]> g (float[3] x, bool c) => (float[3] y)'
FUNCTION = '<domain: "own", opset_import: ["": 18]> Block (x) => (y)'
WEIGHT = "Constant <value = float[3] {1.0, 2.0, 3.0}> ()"
OTHER = "else_branch = e () => (float[3] b) { b = Neg(x) }"
INSIDE = {
    "a branch uses one from around it": f"""{HEAD} <float[3] w = {{1.0, 2.0, 3.0}}> {{
        y = If (c) <then_branch = t () => (float[3] a) {{ a = Mul(x, w) }}, {OTHER}> }}""",
    "a branch holds one": f"""{HEAD} {{
        y = If (c) <then_branch = t () => (float[3] a) {{ w = {WEIGHT} a = Mul(x, w) }}, {OTHER}> }}""",
    "a function holds one": f"{HEAD} {{ y = own.Block(x) }} {FUNCTION} {{ w = {WEIGHT} y = Mul(x, w) }}",
    "a function that is called twice": f"""{HEAD} {{ a = own.Block(x) y = own.Block(a) }}
        {FUNCTION} {{ w = {WEIGHT} y = Mul(x, w) }}""",
    "a function that is called with other attributes": f"""{HEAD} {{
        a = own.Leaky <alpha = 0.1> (x) y = own.Leaky <alpha = 0.2> (a) }}
        <domain: "own", opset_import: ["": 18]> Leaky <alpha> (x) => (y) {{
            w = {WEIGHT} e = LeakyRelu <alpha: float = @alpha> (x) y = Mul(e, w) }}""",
    "a function that a branch calls": f"""{HEAD} {{
        y = If (c) <then_branch = t () => (float[3] a) {{ a = own.Block(x) }}, {OTHER}> }}
        {FUNCTION} {{ w = {WEIGHT} y = Mul(x, w) }}""",
    "beside one that only decides a shape": f"""{HEAD} {{ y = own.Block(x) }} {FUNCTION} {{
        w = {WEIGHT} s = Constant <value = float[1] {{1.0}}> () t = Mul(s, s)
        e = Resize (x, , t) y = Mul(e, w) }}""",
}


@pytest.mark.parametrize("text", INSIDE.values(), ids=INSIDE)
def test_parameters_inside_of_nodes_are_counted_once(text: str, session: Session) -> None:
    study = studied(parse_model(text), session)
    assert study.coverage.missing == ()
    assert (study.holdings.parameters, study.holdings.parameter_bytes) == (3, 12)
    assert sum(map(int, map(str, parameters_by_node(study.cost, study.adder.held(study.cost))[0]))) == 3


def ones(size: int) -> str:
    """So many numbers, as a text has them."""
    return f"{{{', '.join(['1.0'] * size)}}}"


def zeros(*shape: int) -> str:
    """A node that makes a tensor of zeros, and one that holds its shape."""
    held = ", ".join(map(str, shape))
    return f"s = Constant <value = int64[{len(shape)}] {{{held}}}> () v = ConstantOfShape(s)"


ONCE = {
    "one that a node turns": (12, f"<float[4, 3] w = {ones(12)}> {{ t = Transpose(w) y = MatMul(x, t) }}"),
    "one that is made": (12, f"{{ {zeros(3, 4)} y = MatMul(x, v) }}"),
    "one that is made, and passed on": (300, f"{{ {zeros(3, 100)} w = Identity(v) y = MatMul(x, w) }}"),
    "a small one that is passed on": (100, f"{{ {zeros(100)} w = Identity(v) y = Mul(z, w) }}"),
    "two that are equal": (
        6,
        f"""{{ v = Constant <value = float[3] {ones(3)}> () w = Constant <value = float[3] {ones(3)}> ()
        t = Mul(x, v) y = Add(t, w) }}""",
    ),
    "one that nothing uses": (0, f"<float[3] w = {ones(3)}> {{ y = Relu(x) }}"),
    "a large one that nothing uses": (0, f"<float[2000] w = {ones(2000)}> {{ y = Relu(x) }}"),
    "one that the model gives": (3, f"<float[3] y = {ones(3)}> {{ w = Relu(x) }}"),
    "one that it gives after a node": (3, f"<float[3] w = {ones(3)}> {{ y = Identity(w) }}"),
}


@pytest.mark.parametrize("size, text", ONCE.values(), ids=ONCE)
def test_parameters_that_pass_through_nodes_are_counted_once(size: int, text: str, session: Session) -> None:
    head = '<ir_version: 10, opset_import: ["": 18]> g (float[n, 3] x, float[n, 100] z) => (float[a, b] y) '
    study = studied(parse_model(head + text), session)
    assert study.holdings.parameters == size
    for by in ("op", "node", "scope"):
        assert sum(int(str(row.amounts["parameters"])) for row in study.rows(by, 3)) == size


def test_a_signal_of_two_dimensions_is_a_real_one(session: Session) -> None:
    window = numpy_helper.from_array(np.ones(256, np.float32), "w")
    step = numpy_helper.from_array(np.array(64), "s")
    node = helper.make_node("STFT", ["x", "s", "w"], ["y"])
    for shape in (["b", 512], ["b", 512, 1]):
        study = studied(model([node], [value("x", FLOAT, shape)], initial=[step, window]), session)
        assert [to_text(d) for d in shape_of(study.cost.known("y")) or ()] == ["b", "5", "129", "2"]


def test_depth_is_a_chain_of_operators(session: Session) -> None:
    nodes = [helper.make_node("Exp", ["x"], ["a"]), helper.make_node("ReduceSum", ["a"], ["y"], keepdims=0)]
    study = studied(model(nodes), session)
    assert study.depth is not None
    assert evaluate(study.depth.candidates[0], dict.fromkeys(study.symbols, 5)) == 21


def test_fixed_lengths_can_be_changed_by_place(session: Session) -> None:
    proto = model([helper.make_node("Relu", ["x"], ["y"])], [value("x", FLOAT, [1, 3, "h"])])
    study = costed(proto, session, **{"x[0]": 8, "x[2]": 5})
    assert study.number(study.total.eops) == 120
    with pytest.raises(Rejected) as caught:
        studied(proto, session, width=5)
    assert caught.value.diagnostics[0].code == "T0412"


def test_weights_of_two_gigabytes_are_not_looked_at(session: Session) -> None:
    weight = TensorProto(name="w", data_type=FLOAT, dims=[2**20, 2**20], data_location=TensorProto.EXTERNAL)
    proto = model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", FLOAT, ["n", 2**20])], initial=[weight]
    )
    study = studied(proto, session)
    assert study.total.macs == 2**40 * N


@pytest.mark.parametrize("shape", ["n", "6"])
@pytest.mark.parametrize(
    "nodes, read, written",
    [
        ("y = Mul(x, x)", 1, 1),
        ("y = Sum(x, x, x)", 1, 1),
        ("y = Concat<axis = 0>(x, x)", 1, 2),
        ("z = Mul(x, x) y = Mul(z, z)", 2, 2),
        ("z = Neg(x) y = Mul(x, z)", 3, 2),
        ("y = Loop(three, , x) <body = b (int64 i, bool c, float[k] v) => (bool d, float[k] w)"
         " { d = Identity(c) w = Add(v, x) }>", 1, 1),
    ],
)  # fmt: skip
def test_a_tensor_at_several_places_is_read_once(nodes: str, read: int, written: int, shape: str) -> None:
    """A square was said to read its argument twice: more than any run must, in a bound from below, too."""
    head = f'<ir_version: 10, opset_import: ["" : 18]> g (float[{shape}] x) => (float[a] y)'
    text = f"{head} <int64 three = {{3}}> {{ {nodes} }}"
    cost = tolcost.from_onnx(parse_model(text))
    there = cost(n=6) if shape == "n" else cost
    assert there.bytes == 4 * 6 * (read + written)


def test_parameters_that_several_nodes_use_and_those_of_the_module_are_noted(session: Session) -> None:
    ones = numpy_helper.from_array(np.ones(4, np.float32), "w")
    nodes = [helper.make_node("Add", ["x", "w"], ["h"]), helper.make_node("Mul", ["h", "w"], ["y"])]
    proto = model(nodes, initial=[ones])
    assert [one.value for one in studied(proto, session).remarks()] == ["1 tensor of 4 parameters"]
    helper.set_model_props(proto, {"module_parameters": "1008", "module_buffers": "0"})
    (_, module) = studied(proto, session).remarks()
    assert (module.label, module.value) == ("module", "1,008 parameters of its own")
    assert module.remark.startswith("the file holds 4: ")
    for wrong in ("-1", "many", "9" * 40):
        helper.set_model_props(proto, {"module_parameters": wrong, "module_buffers": "0"})
        assert "module" not in [one.label for one in studied(proto, session).remarks()]
    once = model([helper.make_node("Add", ["x", "w"], ["y"])], initial=[ones])
    assert list(studied(once, session).remarks()) == []
