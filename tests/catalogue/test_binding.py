"""A node meets its definition by position and by name."""

from pathlib import Path

import pytest
from onnx import helper

from tolcost.algebra import const
from tolcost.catalogue.binding import bind
from tolcost.catalogue.graph import GraphNode, met
from tolcost.catalogue.reading import node_of
from tolcost.catalogue.specs import Spec, open_library
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Seq, Tensor
from tolcost.elaborate.values import Missing

X = Tensor((const(2),), "float32")
TEXT = """operator Op
tol first: R [...]
tol second?: R [...]
static third?: Z
attr scale: R = 1.0
attr need: Z
Y := first
"""


@pytest.fixture(name="spec")
def _spec(tmp_path: Path) -> Spec:
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "Op.tol").write_text(TEXT)
    found = open_library([tmp_path]).find("", "Op")
    assert found is not None
    return found


def node(**attributes: object) -> GraphNode:
    return node_of(helper.make_node("Op", ["a"], ["y"], **attributes))


def test_inputs_by_position_and_attributes_by_name(spec: Spec) -> None:
    given = bind(node(need=4), spec, [X, None, const(1)])
    assert given == {"first": X, "second": Missing("second"), "third": const(1), "need": const(4)}


def codes(spec: Spec, a: GraphNode, inputs: list[Tensor | None]) -> list[str]:
    with pytest.raises(Rejected) as caught:
        bind(a, spec, inputs)
    return [d.code for d in caught.value.diagnostics]


def test_what_does_not_fit_is_told_at_once(spec: Spec) -> None:
    assert codes(spec, node(need=1, colour=2), [X]) == ["T0655"]
    assert codes(spec, node(), [X]) == ["T0656"]
    assert codes(spec, node(need=1), []) == ["T0657"]
    assert codes(spec, node(need=1), [X, X, None, X]) == ["T0658"]
    assert codes(spec, node(colour=1), []) == ["T0657", "T0655", "T0656"]


def test_a_variadic_input_takes_the_rest() -> None:
    spec = open_library().find("", "Concat")
    assert spec is not None
    concat = node_of(helper.make_node("Concat", ["a", "b"], ["y"], axis=0))
    assert bind(concat, spec, [X, X])["inputs"] == Seq((X, X))
    assert [s.name for s in met(spec.inputs, 3)] == ["inputs"] * 3


def test_outputs_without_a_name_at_the_end_are_not_asked_for() -> None:
    assert node_of(helper.make_node("Op", [], ["a", "", "c", ""])).asked == 3
    assert node_of(helper.make_node("Op", [], [""])).asked == 1
