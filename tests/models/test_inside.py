"""Graphs inside of nodes: functions of the model that they call, loops that only data ends, branches that
only one length fits."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.models.test_hostile import FLOAT, INT, function, model, studied
from tests.models.test_models import graph, ints, value
from tolcost.algebra import const, evaluate, length, to_text
from tolcost.catalogue.specs import open_library
from tolcost.models.facts import shape_of
from tolcost.models.walking import Session
from tolcost.result.model import ModelStudy

N = length("n")
BOOL = TensorProto.BOOL
CALL = {"domain": "my"}
X = value("x", FLOAT, ["n"])


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


def held(name: str, number: object, kind: str) -> TensorProto:
    return numpy_helper.from_array(np.array(number, kind), name)


# ---- functions ---------------------------------------------------------------------------------


def gated(session: Session, then: onnx.GraphProto, other: onnx.GraphProto, functions: list) -> ModelStudy:
    """A model that is nothing but a branch on data."""
    node = helper.make_node("If", ["go"], ["y"], name="gate", then_branch=then, else_branch=other)
    given = [X, value("go", BOOL, [])]
    return studied(model([node], given, functions=functions, domains=["my"]), session)


def test_branches_call_functions(session: Session) -> None:
    twice = function("twice", [helper.make_node("Exp", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["b"])])
    then = graph([helper.make_node("twice", ["x"], ["t"], **CALL)], outputs=["t"])
    other = graph([helper.make_node("Identity", ["x"], ["e"])], outputs=["e"])
    study = gated(session, then, other, [twice])
    assert study.coverage.missing == ()
    assert study.total.eops == 2 * N


def test_functions_in_graphs_have_attributes_and_weights_and_call_others(session: Session) -> None:
    weight = numpy_helper.from_array(np.zeros((300,), np.float32))
    slope = helper.make_node("LeakyRelu", ["a"], ["s"])
    slope.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="alpha", type=1))
    inner = function("inner", [slope, helper.make_node("Neg", ["s"], ["b"])], attributes=["alpha"])
    outer = function(
        "outer",
        [
            helper.make_node("Constant", [], ["w"], value=weight),
            helper.make_node("inner", ["a"], ["i"], alpha=0.5, **CALL),
            helper.make_node("Add", ["i", "w"], ["b"]),
        ],
    )
    body = graph(
        [helper.make_node("outer", ["v"], ["v1"], **CALL), helper.make_node("Identity", ["c"], ["c1"])],
        [value("i", INT, []), value("c", BOOL, []), value("v", FLOAT, [300])],
        ["c1", "v1"],
    )
    loop = helper.make_node("Loop", ["turns", "", "x"], ["y"], body=body)
    given = [value("x", FLOAT, [300])]
    initial = [held("turns", 7, "int64")]
    study = studied(model([loop], given, initial=initial, functions=[inner, outer], domains=["my"]), session)
    assert study.coverage.missing == ()
    once = studied(
        model(
            [helper.make_node("outer", ["x"], ["y"], **CALL)], given, functions=[inner, outer], domains=["my"]
        ),
        session,
    )
    assert study.total.eops == 7 * once.total.eops
    assert once.total.eops == 5 * 300


def test_an_input_that_a_graph_leaves_out_is_left_out_in_the_function(session: Session) -> None:
    clip = function("cut", [helper.make_node("Clip", ["a", "low", "high"], ["b"])], ["a", "low", "high"])
    then = graph([helper.make_node("cut", ["x", "zero"], ["t"], **CALL)], outputs=["t"])
    then.initializer.append(held("zero", 0, "float32"))
    other = graph([helper.make_node("Identity", ["x"], ["e"])], outputs=["e"])
    study = gated(session, then, other, [clip])
    assert study.coverage.missing == ()
    assert study.total.eops == N


def test_a_function_in_a_graph_sees_nothing_of_the_graph(session: Session) -> None:
    leaky = function("leaky", [helper.make_node("Add", ["a", "secret"], ["b"])])
    then = graph(
        [helper.make_node("Exp", ["x"], ["secret"]), helper.make_node("leaky", ["x"], ["t"], **CALL)],
        outputs=["t"],
    )
    other = graph([helper.make_node("Relu", ["x"], ["e"])], outputs=["e"])
    study = gated(session, then, other, [leaky])
    (missing, *_) = study.coverage.missing
    assert "secret" in missing.why


def test_functions_in_graphs_that_call_themselves_or_double_are_told(session: Session) -> None:
    again = function("again", [helper.make_node("again", ["a"], ["b"], **CALL)])
    other = graph([helper.make_node("Relu", ["x"], ["e"])], outputs=["e"])
    then = graph([helper.make_node("again", ["x"], ["t"], **CALL)], outputs=["t"])
    (missing, *_) = gated(session, then, other, [again]).coverage.missing
    assert "calls itself" in missing.why
    doubling = [function("f0", [helper.make_node("Relu", ["a"], ["b"])])]
    for n in range(1, 30):
        calls = [
            helper.make_node(f"f{n - 1}", ["a"], ["m"], **CALL),
            helper.make_node(f"f{n - 1}", ["m"], ["b"], **CALL),
        ]
        doubling.append(function(f"f{n}", calls))
    then = graph([helper.make_node("f29", ["x"], ["t"], **CALL)], outputs=["t"])
    study = gated(session, then, other, doubling)
    assert study.coverage.missing


def test_overloads_are_different_functions(session: Session) -> None:
    one = function("f", [helper.make_node("Relu", ["a"], ["b"])])
    two = function("f", [helper.make_node("Relu", ["a"], ["m"]), helper.make_node("Neg", ["m"], ["b"])])
    two.overload = "more"
    nodes = [helper.make_node("f", ["x"], ["a"], **CALL), helper.make_node("f", ["x"], ["y"], **CALL)]
    nodes[1].overload = "more"
    study = studied(model(nodes, [X], functions=[one, two], domains=["my"]), session)
    assert study.total.eops == 3 * N


# ---- loops that only data ends -----------------------------------------------------------------


def looping(limit: str, ends: list[onnx.NodeProto], name: str = "decode/Loop") -> onnx.NodeProto:
    """A loop that doubles a vector and keeps each, while ``ends`` says so."""
    body = graph(
        [helper.make_node("Add", ["v", "v"], ["v1"]), helper.make_node("Identity", ["v1"], ["kept"]), *ends],
        [value("i", INT, []), value("c", BOOL, []), value("v", FLOAT, ["n"])],
        ["c1", "v1", "kept"],
        [held("most", 9, "float32"), held("few", 3, "int64")],
    )
    return helper.make_node("Loop", [limit, "", "x"], ["last", "all"], name=name, body=body)


BY_DATA = [
    helper.make_node("ReduceMax", ["v1"], ["m"], keepdims=0),
    helper.make_node("Less", ["m", "most"], ["c1"]),
]
NEVER = [helper.make_node("Identity", ["c"], ["c1"])]
BY_TURN = [helper.make_node("Less", ["i", "few"], ["c1"])]


def looped(session: Session, limit: int | str | None, ends: list[onnx.NodeProto]) -> ModelStudy:
    initial = [] if not isinstance(limit, int) else [held("limit", limit, "int64")]
    given = [X, value("limit", INT, [])] if limit == "data" else [X]
    nodes = [looping("" if limit is None else "limit", ends), helper.make_node("Relu", ["all"], ["y"])]
    return studied(model(nodes, given, initial=initial), session)


@pytest.mark.parametrize("limit", [None, 2**63 - 1, 2**31 - 1, "data"])
def test_a_loop_that_data_ends_costs_a_formula_in_its_turns(
    limit: int | str | None, session: Session
) -> None:
    study = looped(session, limit, BY_DATA)
    assert to_text(study.total.eops) == "decode_Loop_turns*(3*n + 1)"
    assert study.total.status == "depends on data"
    assert study.coverage.missing == ()
    assert [to_text(d) for d in shape_of(study.cost.known("all")) or ()] == ["decode_Loop_turns", "n"]


def test_a_loop_without_end_is_no_huge_number(session: Session) -> None:
    study = looped(session, None, NEVER)
    assert to_text(study.total.eops) == "2*decode_Loop_turns*n"
    assert study.total.status == "depends on data"


def test_a_loop_with_a_limit_has_it_as_a_bound(session: Session) -> None:
    study = looped(session, 5, BY_DATA)
    assert study.total.status == "upper bound"
    assert evaluate(study.operators[0].figures.eops, dict.fromkeys(study.symbols, 10)) == 5 * (2 * 10 + 2)


def test_a_loop_whose_condition_is_known_takes_as_many_turns(session: Session) -> None:
    study = looped(session, None, BY_TURN)
    assert study.total.status == "exact"
    assert study.total.eops == 2 * 4 * N


def test_two_loops_have_turns_of_their_own(session: Session) -> None:
    first, second = looping("", BY_DATA, "a/Loop"), looping("", BY_DATA, "b/Loop")
    second.input[2] = "last"
    del second.output[:]
    second.output.extend(["y", "more"])
    study = studied(model([first, second], [X]), session)
    assert {s.name for s in study.symbols} == {"n", "a_Loop_turns", "b_Loop_turns"}


def test_a_loop_in_a_loop_has_turns_too(session: Session) -> None:
    deep = looping("", BY_DATA, "deep")
    deep.input[2] = "v"
    del deep.output[:]
    deep.output.extend(["d", "unused"])
    ends = [deep, *NEVER]
    node = looping("limit", ends)
    node.attribute[0].g.node.remove(node.attribute[0].g.node[0])
    node.attribute[0].g.node.append(helper.make_node("Exp", ["d"], ["v1"]))
    inner = node.attribute[0].g.node
    inner.append(inner[0])  # what is kept comes after what it is made of
    del inner[0]
    nodes = [node, helper.make_node("Relu", ["last"], ["y"])]
    study = studied(model(nodes, [X], initial=[held("limit", 4, "int64")]), session)
    assert study.coverage.missing == ()
    assert to_text(study.total.eops) == "8*deep_turns*n + 4*deep_turns + 5*n"


# ---- branches that one length decides ------------------------------------------------------------


def squeezing(name: str, last: str, out: str) -> list[onnx.NodeProto]:
    """What TorchScript makes of ``squeeze(-1)``: the rank depends on a length."""
    then = graph([helper.make_node("Squeeze", [name, "axis"], ["t"])], outputs=["t"])
    other = graph([helper.make_node("Identity", [name], ["e"])], outputs=["e"])
    return [
        helper.make_node("Shape", [name], ["shape"]),
        helper.make_node("Gather", ["shape", "end"], ["long"]),
        helper.make_node("Equal", ["long", "one"], ["single"]),
        helper.make_node("If", ["single"], [out], name="squeeze", then_branch=then, else_branch=other),
    ]


SQUEEZE = [ints("axis", -1), held("end", -1, "int64"), held("one", 1, "int64")]


def test_a_branch_for_one_length_is_taken_where_the_general_one_does_not_fit(session: Session) -> None:
    nodes = [
        *squeezing("x", "m", "flat"),
        helper.make_node("Einsum", ["flat", "w"], ["y"], equation="ij,jk->ik"),
    ]
    weight = numpy_helper.from_array(np.zeros((300, 2), np.float32), "w")
    given = [value("x", FLOAT, ["n", 300, "m"])]
    study = studied(model(nodes, given, initial=[*SQUEEZE, weight]), session)
    assert study.coverage.missing == ()
    assert study.merged == (("m", "1"),)
    assert study.operators[-1].figures.macs == 600 * N


def test_the_general_branch_is_taken_where_it_fits(session: Session) -> None:
    nodes = [*squeezing("x", "m", "flat"), helper.make_node("Relu", ["flat"], ["y"])]
    study = studied(model(nodes, [value("x", FLOAT, ["n", "m"])], initial=SQUEEZE), session)
    assert study.coverage.missing == ()
    assert study.total.eops == N * length("m")


def test_a_branch_that_cannot_be_run_is_not_taken(session: Session) -> None:
    """Both branches of a condition on data are looked at; one of them fits no lengths."""
    then = graph([helper.make_node("Exp", ["x"], ["t"])], outputs=["t"])
    other = graph([helper.make_node("Add", ["x", "five"], ["e"])], outputs=["e"])
    other.initializer.append(numpy_helper.from_array(np.zeros(5, np.float32), "five"))
    node = helper.make_node("If", ["go"], ["y"], then_branch=then, else_branch=other)
    study = studied(model([node], [value("x", FLOAT, [3]), value("go", BOOL, [])]), session)
    assert study.coverage.missing == ()
    assert study.total.eops == 3


def test_a_branch_with_an_unknown_operator_is_not_costed(session: Session) -> None:
    then = graph([helper.make_node("Exp", ["x"], ["t"])], outputs=["t"])
    other = graph([helper.make_node("Strange", ["x"], ["e"], **CALL)], outputs=["e"])
    (missing, *_) = gated(session, then, other, []).coverage.missing
    assert "Strange" in missing.why


# ---- shapes of values inside -------------------------------------------------------------------


JOINED = graph([helper.make_node("Concat", ["x", "x"], ["joined"], axis=0)], outputs=["joined"])
JOINING = {"then_branch": JOINED, "else_branch": JOINED}  # both may call their values the same


def shapes_inside(study: ModelStudy) -> dict[tuple[str, ...], list[str]]:
    return {place: [to_text(d) for d in shape] for place, shape in study.cost.inside().items()}


def test_shapes_inside_of_branches_go_by_their_place(session: Session) -> None:
    deeper = helper.make_node("If", ["go"], ["t"], **JOINING)
    other = graph(
        [
            helper.make_node("Concat", ["x", "x", "x"], ["joined"], axis=0),
            helper.make_node("ReduceSum", ["joined"], ["e"], keepdims=1),
        ],
        outputs=["e"],
    )
    then = graph([deeper, helper.make_node("ReduceSum", ["t"], ["s"], keepdims=1)], outputs=["s"])
    found = shapes_inside(gated(session, then, other, []))
    assert found == {
        ("y", "then_branch", "t"): ["2*n"],
        ("y", "then_branch", "t", "then_branch", "joined"): ["2*n"],
        ("y", "then_branch", "t", "else_branch", "joined"): ["2*n"],
        ("y", "then_branch", "s"): ["1"],
        ("y", "else_branch", "joined"): ["3*n"],
        ("y", "else_branch", "e"): ["1"],
    }


def test_a_side_that_is_never_taken_has_no_shapes(session: Session) -> None:
    nodes = [helper.make_node("If", ["never"], [name], **JOINING) for name in ("one", "two")]
    study = studied(model(nodes, [X], initial=[held("never", False, "bool")]), session)
    assert shapes_inside(study) == {
        ("one", "else_branch", "joined"): ["2*n"],
        ("two", "else_branch", "joined"): ["2*n"],
    }


def test_lengths_that_data_decides_have_the_names_of_their_node(session: Session) -> None:
    picked = graph([helper.make_node("NonZero", ["x"], ["at"])], outputs=["at"])
    sides = {"then_branch": picked, "else_branch": picked}
    nodes = [helper.make_node("If", ["go"], [name], name=name, **sides) for name in ("one", "two")]
    study = studied(model(nodes, [X, value("go", BOOL, [])]), session)
    for name in ("one", "two"):
        rank, found = study.cost.inside()[name, "then_branch", "at"]
        assert rank == 1
        assert found.free
        assert all(symbol.name.startswith(name) for symbol in found.free)


def test_what_a_function_computes_is_not_told_as_part_of_the_graph(session: Session) -> None:
    twice = function("twice", [helper.make_node("Exp", ["a"], ["t"]), helper.make_node("Neg", ["t"], ["b"])])
    then = graph([helper.make_node("twice", ["x"], ["v"], **CALL)], outputs=["v"])
    other = graph([helper.make_node("Identity", ["x"], ["e"])], outputs=["e"])
    found = shapes_inside(gated(session, then, other, [twice]))
    assert found == {("y", "then_branch", "v"): ["n"], ("y", "else_branch", "e"): ["n"]}


def test_what_a_node_inside_gives_keeps_its_shape(session: Session) -> None:
    """The first part of a shape is a vector of one entry for the next node, too, not that entry."""
    parts = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Split", ["s", "sizes"], ["a", "b"], axis=0),
    ]
    then = graph(parts, [], ["a"], [held("sizes", [1, 1], "int64")])
    other = graph([helper.make_node("Shape", ["x"], ["c"])], [], ["c"])
    node = helper.make_node("If", ["go"], ["y"], then_branch=then, else_branch=other)
    study = studied(model([node], [value("x", FLOAT, [3, "k"])], initial=[held("go", True, "bool")]), session)
    known = study.cost.known("y")
    assert known is not None
    assert shape_of(known) == (const(1),)
