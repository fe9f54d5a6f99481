"""Loops that count: carried values known at every turn, the turns these allow, and first turns unlike others.

Every count is held to a run of the lowered program, and every value to ONNX's reference evaluator.
"""

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.models.test_hostile import FLOAT, INT, model, studied
from tests.models.test_models import value
from tolcost.algebra import (
    FALSE,
    TRUE,
    conj,
    const,
    data_symbol,
    eq,
    evaluate,
    ge,
    indicator,
    length,
    negate,
    the_symbol,
    to_text,
)
from tolcost.atoms.verify import verify
from tolcost.catalogue import subgraphs
from tolcost.catalogue.specs import open_library
from tolcost.elaborate import Tensor
from tolcost.elaborate.trip_count import NO_END, count_leading_turns
from tolcost.elaborate.values import Cast, Vec
from tolcost.execute import run_vectorised
from tolcost.models.lowered import Lowered
from tolcost.models.walking import Session
from tolcost.result.model import ModelStudy

N = length("n")
X = value("x", FLOAT, ["n"])
BOOL = TensorProto.BOOL
node = helper.make_node
Nodes = Sequence[onnx.NodeProto]
Held = dict[str, object]

COUNT = [node("Add", ["i", "one"], ["i1"])]
BY_FLOATS = [
    node("Cast", ["i"], ["f"], to=FLOAT),
    node("Add", ["f", "one_f"], ["f1"]),
    node("Cast", ["f1"], ["i1"], to=INT),
]
SINE = [node("Sin", ["v"], ["v1"])]
BELOW = [node("Less", ["i1", "limit"], ["c1"])]
THROUGH_INTEGERS = [
    node("Less", ["i1", "limit"], ["c0"]),
    node("Cast", ["c0"], ["c_int"], to=INT),
    node("Add", ["c_int", "none"], ["c_sum"]),
    node("Cast", ["c_sum"], ["c1"], to=BOOL),
]
HELD: Held = {"one": 1, "one_f": np.float32(1), "none": 0, "yes": True}


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


def tensors(held: Held) -> list[TensorProto]:
    return [numpy_helper.from_array(np.asarray(array), name) for name, array in held.items()]


def looping(
    nodes: Nodes,
    carried: dict[str, tuple[str, str]],
    condition: str = "c1",
    most: int | None = None,
    go: str = "",
    before: Nodes = (),
    inputs: Sequence[onnx.ValueInfoProto] = (X,),
    stacked: Sequence[str] = (),
    **held: object,
) -> onnx.ModelProto:
    """A model that is a loop: carried values by name, each with what it starts as and what it becomes."""
    given = [value("turn", INT, []), value("c", BOOL, []), *(value(name) for name in carried)]
    outputs = [
        onnx.ValueInfoProto(name=name)
        for name in (condition, *(out for _, out in carried.values()), *stacked)
    ]
    body = helper.make_graph(list(nodes), "body", given, outputs, tensors(HELD))
    results = [f"last_{name}" for name in (*carried, *stacked)]
    starts = [start for start, _ in carried.values()]
    loop = node("Loop", ["" if most is None else "most", go, *starts], results, name="loop", body=body)
    initial = tensors(held | ({} if most is None else {"most": most}))
    return model([*before, loop], inputs, [onnx.ValueInfoProto(name=r) for r in results], initial)


def lowered_loop(study: ModelStudy) -> Lowered:
    (found,) = (part for applied in study.cost.nodes for part, _ in applied.parts if part.op == "Loop")
    return found


def array_of(known: Cast, n: int) -> np.ndarray:
    inner = known.value
    items = inner.items if isinstance(inner, Vec) else (inner,)
    found = [evaluate(item, dict.fromkeys(item.free, n)) for item in items]
    return np.array(found).reshape(inner.shape if isinstance(inner, Vec) else ())


def by_reference(proto: onnx.ModelProto, feeds: dict[str, object]) -> list[np.ndarray]:
    """What the reference evaluator gives; it wants to be told a limit, and that a loop starts."""
    copy = onnx.ModelProto.FromString(proto.SerializeToString())
    loop = next(made for made in copy.graph.node if made.op_type == "Loop")
    copy.graph.initializer.extend(tensors({"far": 2**62, "starts": True}))
    loop.input[0], loop.input[1] = loop.input[0] or "far", loop.input[1] or "starts"
    return ReferenceEvaluator(copy).run(None, {given.name: feeds[given.name] for given in copy.graph.input})


def given_arrays(proto: onnx.ModelProto, loop: Lowered, x: np.ndarray) -> dict[str, np.ndarray]:
    """The arrays that a lowered loop is given, by the names of its program."""
    arrays = {"x": x} | {tensor.name: numpy_helper.to_array(tensor) for tensor in proto.graph.initializer}
    names = next(made for made in proto.graph.node if made.op_type == "Loop").input
    places = {f"v_initial.{n}": name for n, name in enumerate(names[2:], start=1)}
    needed = [given.name for given in loop.program.inputs]
    return {name: arrays[places.get(name, name.removeprefix("around "))] for name in needed}


def held_to_a_run(proto: onnx.ModelProto, session: Session, x: np.ndarray, n: int) -> int:
    """Run what was lowered: its count is the closed form there, its values are those of the reference."""
    study = studied(proto, session)
    assert study.coverage.missing == ()
    loop = lowered_loop(study)
    verify(loop.program)
    execution = run_vectorised(loop.program, given_arrays(proto, loop, x), {"n": n})
    assert evaluate(study.total.eops, dict.fromkeys(study.total.eops.free, n)) == execution.counts.eops
    expected = by_reference(proto, {"x": x})
    for wanted, known, title in zip(expected, loop.outputs, loop.titles, strict=True):
        found = array_of(known, n) if isinstance(known, Cast) else execution.outputs[title]
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    return execution.counts.eops


def numbers(n: int) -> np.ndarray:
    return np.linspace(0.1, 0.9, n, dtype=np.float32)


# ---- counters ----------------------------------------------------------------------------------

CARRIED = {"i": ("start", "i1"), "v": ("x", "v1"), "limit": ("end", "limit")}


@pytest.mark.parametrize("count", [COUNT, BY_FLOATS])
@pytest.mark.parametrize("condition", [BELOW, THROUGH_INTEGERS])
@pytest.mark.parametrize(
    "most, start, end, turns",
    [(10, 0, 4, 4), (3, 0, 4, 3), (None, 0, 4, 4), (2**62, 2, 7, 5), (1024, 0, 501, 501), (10, 5, 2, 1)],
)
def test_a_loop_that_counts_to_a_limit(
    count: Nodes, condition: Nodes, most: int | None, start: int, end: int, turns: int, session: Session
) -> None:
    nodes = [*SINE, *count, *condition]
    proto = looping(nodes, CARRIED, most=most, start=[start], end=[end])
    study = studied(proto, session)
    assert study.total.status == "exact"
    assert study.total.eops == turns * N
    assert held_to_a_run(proto, session, numbers(3), 3) == 3 * turns


def test_a_counter_may_be_a_scalar_go_down_and_by_more_than_one(session: Session) -> None:
    nodes = [*SINE, node("Sub", ["i", "three"], ["i1"]), node("Greater", ["i1", "limit"], ["c1"])]
    nodes.insert(0, node("Add", ["one", "two"], ["three"]))
    nodes.insert(0, node("Add", ["one", "one"], ["two"]))
    proto = looping(nodes, CARRIED, start=np.int64(20), end=np.int64(1))
    assert held_to_a_run(proto, session, numbers(2), 2) == 2 * 7  # 20, 17, 14, 11, 8, 5, 2


def test_counters_of_32_bits_in_a_vector(session: Session) -> None:
    nodes = [
        *SINE,
        node("Cast", ["one"], ["narrow"], to=TensorProto.INT32),
        node("Add", ["i", "narrow"], ["i1"]),
        node("Less", ["i1", "limit"], ["both"]),
        node("ReduceMin", ["both_int"], ["all"], keepdims=0),
        node("Cast", ["all"], ["c1"], to=BOOL),
    ]
    nodes.insert(4, node("Cast", ["both"], ["both_int"], to=INT))
    start, end = np.array([0, 5], np.int32), np.array([4, 20], np.int32)
    proto = looping(nodes, CARRIED, start=start, end=end)
    assert held_to_a_run(proto, session, numbers(2), 2) == 2 * 4


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("condition", [BELOW, THROUGH_INTEGERS])
def test_a_limit_that_is_a_length(n: int, condition: Nodes, session: Session) -> None:
    shape = [node("Shape", ["x"], ["end"])]
    proto = looping([*SINE, *BY_FLOATS, *condition], CARRIED, before=shape, start=[0])
    study = studied(proto, session)
    assert study.total.status == "exact"
    assert study.total.eops == N * N
    assert to_text(lowered_loop(study).outputs[0].value.items[0]) == "n"
    held_to_a_run(proto, session, numbers(n), n)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_a_loop_that_may_not_start(n: int, session: Session) -> None:
    before = [node("Size", ["x"], ["end"]), node("Less", ["few", "end"], ["go"])]
    carried = {"i": ("few", "i1"), "v": ("x", "v1"), "limit": ("end", "limit")}
    proto = looping([*SINE, *COUNT, *BELOW], carried, go="go", before=before, few=np.int64(3))
    total = studied(proto, session).total
    assert total.status == "exact"
    assert evaluate(total.eops, dict.fromkeys(total.eops.free, n)) == n * max(n - 3, 0)
    held_to_a_run(proto, session, numbers(n), n)


def test_lengths_that_a_counter_decides(session: Session) -> None:
    nodes = [
        *COUNT,
        node("Slice", ["v", "i", "i1"], ["piece"]),
        node("Exp", ["piece"], ["e"]),
        node("ScatterElements", ["v", "i", "e"], ["v1"]),
        *BELOW,
    ]
    proto = looping(nodes, CARRIED, most=100, start=[0], end=[4], inputs=[value("x", FLOAT, [6])])
    study = studied(proto, session)
    assert study.total.status == "exact"
    assert study.cost.inside()["last_i", "body", "piece"] == (const(1),)
    assert ("last_i", "body", "i") not in study.cost.inside()
    assert held_to_a_run(proto, session, numbers(6), 6) >= 4


def test_what_only_doubles_is_no_counter(session: Session) -> None:
    nodes = [*SINE, node("Add", ["i", "i"], ["i1"]), *BELOW]
    study = studied(looping(nodes, CARRIED, most=10, start=[1], end=[9]), session)
    assert study.total.status == "upper bound"
    assert evaluate(study.total.eops, dict.fromkeys(study.total.eops.free, 5)) >= 5 * 10


def test_a_condition_that_always_holds_leaves_the_limit(session: Session) -> None:
    proto = looping([*SINE, *COUNT], CARRIED, "yes", most=6, start=[0], end=[4])
    assert held_to_a_run(proto, session, numbers(2), 2) == 6 * 2
    endless = studied(looping([*SINE, *COUNT], CARRIED, "yes", start=[0], end=[4]), session)
    assert to_text(endless.total.eops) == "loop_turns*n"


def test_a_loop_that_only_counts(session: Session) -> None:
    carried = {"i": ("start", "i1"), "limit": ("end", "limit")}
    study = studied(looping([*COUNT, *BELOW], carried, start=[0], end=[4]), session)
    assert study.coverage.missing == ()
    assert study.total.status == "exact"


# ---- values that stay --------------------------------------------------------------------------


def test_weights_that_are_carried_through(session: Session) -> None:
    nodes = [node("MatMul", ["w", "v"], ["v1"]), *COUNT, *BELOW]
    carried = {"w": ("weight", "w"), "i": ("start", "i1"), "v": ("x", "v1"), "limit": ("end", "limit")}
    weight = np.linspace(-1, 1, 1600, dtype=np.float32).reshape(40, 40)
    given = [value("x", FLOAT, [40])]
    proto = looping(nodes, carried, start=[0], end=[3], weight=weight, inputs=given)
    study = studied(proto, session)
    assert study.total.macs == const(3 * 1600)
    loop = lowered_loop(study)
    assert loop.outputs[0] == Tensor((const(40), const(40)), "float32")
    assert loop.traffic.written["float32"] == loop.traffic.read["float32"] == const(4 * (1600 + 40))
    held_to_a_run(proto, session, numbers(40), 40)


def test_a_body_is_looked_at_five_times(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice for the turns, once for what it stacks, and once at the first turn and at any."""
    looked: list[object] = []
    apply_all = subgraphs._apply_all
    monkeypatch.setattr(subgraphs, "_apply_all", lambda *given: (looked.append(given[1]), apply_all(*given)))
    nodes = [node("Mul", ["w", "v"], ["v1"]), *COUNT, *BELOW, node("Identity", ["v1"], ["stacked"])]
    carried = {"w": ("x", "w"), "i": ("start", "i1"), "v": ("x", "v1"), "limit": ("end", "limit")}
    proto = looping(nodes, carried, stacked=["stacked"], start=[0], end=[7])
    assert studied(proto, Session(session.library, None)).total.eops == 7 * N
    assert len(looked) == 5


# ---- data that may end a loop before -----------------------------------------------------------

BY_BOTH = [
    *SINE,
    *COUNT,
    node("Less", ["i1", "limit"], ["below"]),
    node("ReduceMax", ["v1"], ["top"], keepdims=0),
    node("Less", ["top", "high"], ["low"]),
    node("Not", ["low"], ["not_low"]),
    node("Not", ["not_low"], ["still_low"]),
    node("And", ["below", "still_low"], ["c1"]),
]


@pytest.mark.parametrize("high, turns", [(9.0, 7), (-9.0, 1)])
def test_a_counter_bounds_a_loop_that_data_may_end(high: float, turns: int, session: Session) -> None:
    held = {"start": np.int64(0), "end": np.int64(7), "high": np.float32(high)}
    proto = looping(BY_BOTH, CARRIED, most=100, **held)
    study = studied(proto, session)
    assert study.total.status == "upper bound"
    per_turn = evaluate(study.total.eops, dict.fromkeys(study.total.eops.free, 4)) / 7
    assert per_turn == int(per_turn)
    assert study.total.eops.free == N.free
    loop = lowered_loop(study)
    execution = run_vectorised(loop.program, given_arrays(proto, loop, numbers(4)), {"n": 4})
    assert execution.counts.eops <= per_turn * 7
    expected = by_reference(proto, {"x": numbers(4)})
    np.testing.assert_allclose(execution.outputs[loop.titles[1]], expected[1], rtol=1e-5)
    assert expected[0] == turns


@pytest.mark.parametrize("high, turns", [(9.0, 7), (-9.0, 1)])
def test_counters_of_a_loop_that_data_may_end_decide_lengths(
    high: float, turns: int, session: Session
) -> None:
    *before, _ = BY_BOTH
    nodes = [
        *before,
        node("And", ["below", "still_low"], ["c0"]),
        node("Cast", ["c0"], ["as_number"], to=7),
        node("Cast", ["as_number"], ["c1"], to=9),
        node("Constant", [], ["one"], value_int=1),
        node("Range", ["i", "i1", "one"], ["steps"]),
        node("Sub", ["i1", "i"], ["few"]),
    ]
    held = {"start": np.int64(0), "end": np.int64(7), "high": np.float32(high)}
    proto = looping(nodes, CARRIED, most=100, **held)
    study = studied(proto, session)
    assert study.total.status == "upper bound"
    assert study.total.eops.free == N.free
    loop = lowered_loop(study)
    execution = run_vectorised(loop.program, given_arrays(proto, loop, numbers(4)), {"n": 4})
    expected = by_reference(proto, {"x": numbers(4)})
    assert expected[0] == turns == execution.outputs[loop.titles[0]]
    np.testing.assert_allclose(execution.outputs[loop.titles[1]], expected[1], rtol=1e-5)


def test_a_number_that_data_decides_bounds_nothing(session: Session) -> None:
    nodes = [
        *SINE,
        *COUNT,
        node("ArgMax", ["v1"], ["top"], keepdims=0),
        node("Add", ["top", "i1"], ["sum"]),
        node("Less", ["sum", "limit"], ["c1"]),
    ]
    study = studied(looping(nodes, CARRIED, start=np.int64(0), end=np.int64(7)), session)
    assert study.total.status == "depends on data"
    assert {s.name for s in study.symbols} == {"n", "loop_turns"}


# ---- first turns that are not like the others --------------------------------------------------


@pytest.mark.parametrize("placeholder", [0.0, [0.0]])
def test_a_placeholder_of_another_rank(placeholder: object, session: Session) -> None:
    nodes = [*SINE, *COUNT, node("Mul", ["v1", "v1"], ["p1"]), *BELOW]
    nodes += [node("Unsqueeze", ["p1", "place"], ["p2"]), node("Constant", [], ["place"], value_ints=[0])][
        ::-1
    ]
    carried = {**CARRIED, "p": ("empty", "p2")}
    proto = looping(nodes, carried, start=[0], end=[5], empty=np.asarray(placeholder, np.float32))
    study = studied(proto, session)
    assert study.total.status == "exact"
    assert study.total.eops == 10 * N
    shapes = [known.shape for known in lowered_loop(study).outputs if isinstance(known, Tensor)]
    assert shapes == [(N,), (const(1), N)]
    assert study.cost.inside()["last_i", "body", "p2"] == (const(1), N)
    assert not any("turn" in place[-1] for place in study.cost.inside())
    assert held_to_a_run(proto, session, numbers(3), 3) == 30


@pytest.mark.parametrize("placeholder", [0.0, [0.0]])
@pytest.mark.parametrize("high, turns", [(9.0, 7), (0.1, 1)])
def test_a_placeholder_of_another_rank_in_a_loop_that_data_may_end(
    high: float, turns: int, placeholder: object, session: Session
) -> None:
    """A counter decides a length beside it; the first turn is taken, although data decide the others."""
    nodes = [
        *BY_BOTH,
        node("Constant", [], ["axis"], value_ints=[0]),
        node("Unsqueeze", ["v1", "axis"], ["row"]),
        node("Unsqueeze", ["i1", "axis"], ["many"]),
        node("ConstantOfShape", ["many"], ["zeros"]),
        node("ReduceSum", ["zeros"], ["sum"], keepdims=0),
        node("Add", ["row", "sum"], ["p1"]),
    ]
    carried = {**CARRIED, "p": ("empty", "p1")}
    held = {"start": np.int64(0), "end": np.int64(7), "high": np.float32(high)}
    proto = looping(nodes, carried, most=100, empty=np.asarray(placeholder, np.float32), **held)
    study = studied(proto, session)
    assert study.coverage.missing == ()
    assert study.total.status == "upper bound"
    assert study.total.eops.free == N.free
    loop = lowered_loop(study)
    verify(loop.program)
    execution = run_vectorised(loop.program, given_arrays(proto, loop, numbers(4)), {"n": 4})
    at_most = evaluate(study.total.eops, dict.fromkeys(study.total.eops.free, 4))
    assert (execution.counts.eops == at_most) == (turns == 7)
    expected = by_reference(proto, {"x": numbers(4)})
    for wanted, title in zip(expected, loop.titles, strict=True):
        np.testing.assert_allclose(execution.outputs[title], wanted, rtol=1e-5)
    assert expected[0] == turns


# ---- how long conditions hold ------------------------------------------------------------------


def test_how_long_a_condition_holds() -> None:
    k, n = data_symbol("k", 0, 1000), length("n")
    turn = the_symbol(k)
    assert count_leading_turns(ge(4 - k), turn) == const(5)
    assert count_leading_turns(ge(9 - 2 * k), turn) == const(5)
    assert count_leading_turns(conj(ge(n - k), ge(7 - k)), turn) == count_leading_turns(
        conj(ge(7 - k), ge(n - k)), turn
    )
    assert count_leading_turns(ge(k + n), turn) == NO_END
    assert count_leading_turns(ge(k - 3), turn) == const(0)
    assert count_leading_turns(negate(eq(k - 3)), turn) == const(3)
    assert count_leading_turns(negate(eq(indicator(ge(n - k)))), turn) == n + 1
    assert count_leading_turns(negate(eq(k - n)), turn) is None
    assert count_leading_turns(ge(n * k - 5), turn) is None
    assert count_leading_turns(TRUE, turn) == NO_END
    assert count_leading_turns(FALSE, turn) == const(0)


def test_a_branch_may_give_a_scalar_for_one_entry(session: Session) -> None:
    then = helper.make_graph([node("ReduceMax", ["x"], ["t"], keepdims=0)], "then", [], [value("t")])
    other = helper.make_graph([node("ReduceMax", ["x"], ["e"], keepdims=1)], "other", [], [value("e")])
    choice = node("If", ["go"], ["y"], then_branch=then, else_branch=other)
    study = studied(model([choice], [X, value("go", BOOL, [])]), session)
    assert study.coverage.missing == ()
    assert study.cost.known("y") == Tensor((const(1),), "float32")
