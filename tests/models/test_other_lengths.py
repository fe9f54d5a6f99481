"""What random models at other lengths found, and a slice of that campaign where onnxruntime is there."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import onnx
import pytest
from onnx import NodeProto, helper, numpy_helper

from tests.models.test_hostile import FLOAT, costed, model, studied
from tests.models.test_models import ints, value
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Rejected
from tolcost.models.facts import shape_of
from tolcost.models.walking import Session
from tools.generate.measured_nodes import EVERY
from tools.generate.valid_models import valid_model
from tools.models.other_lengths import judged

node = helper.make_node


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


@pytest.mark.skipif(find_spec("onnxruntime") is None, reason="onnxruntime is not installed")
def test_models_at_other_lengths_are_what_onnxruntime_says(session: Session) -> None:
    found = [answer for seed in range(100) for answer in judged(valid_model(seed, EVERY), seed, session)]
    assert sum(answer.startswith("the same") for answer in found) > 0.7 * len(found)


def taken(proto: onnx.ModelProto, session: Session, **dims: int) -> bool:
    """Whether a model is costed in full at some lengths, or refused there."""
    try:
        return not costed(proto, session, **dims).coverage.missing
    except Rejected:
        return False


def on_x(*nodes: NodeProto, shape: list[int | str], initial: list[onnx.TensorProto]) -> onnx.ModelProto:
    return model(nodes, [value("x", FLOAT, shape)], initial=initial, opset=18)


def test_what_is_squeezed_has_length_1_even_where_there_is_nothing(session: Session) -> None:
    """As many elements as before, none, say nothing of a length."""
    none = numpy_helper.from_array(np.zeros(1, bool), "none")
    proto = on_x(
        node("Compress", ["x", "none"], ["e"], axis=0),
        node("Squeeze", ["e", "a"], ["y"]),
        shape=["n", "k"],
        initial=[none, ints("a", 1)],
    )
    assert taken(proto, session, n=3, k=1)
    assert not taken(proto, session, n=3, k=2)


def test_a_length_that_is_squeezed_is_1_in_all_forms(session: Session) -> None:
    proto = on_x(node("Squeeze", ["x", "a"], ["y"]), shape=["n", "k"], initial=[ints("a", 1)])
    assert studied(proto, session).merged == (("k", "1"),)


def test_lengths_of_a_shape_are_not_negative(session: Session) -> None:
    """Two elements in rows of n - 4, of which there are as many as are left, are -1 rows of -2."""
    proto = on_x(
        node("Shape", ["x"], ["s"]),
        node("Sub", ["s", "four"], ["d"]),
        node("Concat", ["rest", "d"], ["t"], axis=0),
        node("Reshape", ["x", "t"], ["y"]),
        shape=["n"],
        initial=[ints("four", 4), ints("rest", -1)],
    )
    assert taken(proto, session, n=8)
    assert not taken(proto, session, n=2)


def test_a_length_that_data_decides_is_not_0_beside_what_is_left(session: Session) -> None:
    proto = on_x(
        node("NonZero", ["x"], ["z"]),
        node("Transpose", ["z"], ["t"]),
        node("Reshape", ["t", "s"], ["y"]),
        shape=["n"],
        initial=[ints("s", 0, -1)],
    )
    assert [one.text for one in costed(proto, session).where] == ["z_z1 >= 1"]


@pytest.mark.parametrize("op", ["Hardmax", "Softmax", "LogSoftmax", "Flatten"])
def test_rows_of_no_elements_are_rows(op: str, session: Session) -> None:
    """How long they are is known without dividing by how many there are."""
    proto = model([node(op, ["x"], ["y"])], [value("x", FLOAT, [0, 7, 5])], opset=12)
    assert taken(proto, session)


@pytest.mark.parametrize("padding", [{"auto_pad": "SAME_UPPER"}, {"pads": [1, 1]}])
def test_what_is_outside_of_an_image_is_not_read_for_its_place(padding: dict, session: Session) -> None:
    """Of the largest elements and their places: odd lengths were refused, as an index may leave the image."""
    pool = node("MaxPool", ["x"], ["y", "i"], kernel_shape=[2], strides=[2], **padding)
    proto = model([pool], [value("x", FLOAT, ["n", "c", "w"])], opset=18)
    assert costed(proto, session).where == ()
    assert all(taken(proto, session, n=2, c=3, w=w) for w in (1, 2, 5, 6))


def test_places_of_no_batch_are_channels(session: Session) -> None:
    names = ["x", "s", "b", "m", "v"]
    inputs = [value(name, FLOAT, [0, 3, 2] if name == "x" else [3, 2]) for name in names]
    assert taken(model([node("BatchNormalization", names, ["y"], spatial=0)], inputs, opset=8), session)


def test_nothing_is_repeated_as_often_as_is_said(session: Session) -> None:
    for often, fits in ((2, True), (-1, False)):
        proto = on_x(node("Tile", ["x", "r"], ["y"]), shape=["n", 0], initial=[ints("r", 1, often)])
        assert taken(proto, session, n=3) == fits


@pytest.mark.parametrize("batch, heads, fits", [(2, 4, True), (3, 4, False), (2, 2, False)])
def test_keys_have_as_many_values(batch: int, heads: int, fits: bool, session: Session) -> None:
    given = [
        value("q", FLOAT, ["n", 8, "s", 16]),
        value("k", FLOAT, ["n", 4, "t", 16]),
        value("v", FLOAT, ["m", "h", "t", 16]),
    ]
    proto = model([node("Attention", ["q", "k", "v"], ["y"])], given, opset=23)
    assert taken(proto, session, n=2, s=5, t=7, m=batch, h=heads) == fits


def test_bits_that_are_known_are_flipped(session: Session) -> None:
    proto = on_x(
        node("BitwiseNot", ["c"], ["d"]),
        node("Neg", ["d"], ["s"]),
        node("ConstantOfShape", ["s"], ["y"]),
        shape=["n"],
        initial=[ints("c", 0, 4)],
    )
    known = studied(proto, session).cost.known("y")
    assert known is not None
    assert shape_of(known) == (1, 5)


@pytest.mark.parametrize("pads, stride", [(0, 16), (0, 1), (2, 3)])
def test_a_convolution_wants_an_image_of_one_window(pads: int, stride: int, session: Session) -> None:
    """onnxruntime refuses a smaller one, padded as it is: that no window is left was taken to be right."""
    sides = {"kernel_shape": [16, 16], "pads": [pads] * 4, "strides": [stride] * 2}
    node = helper.make_node("Conv", ["x", "w"], ["y"], **sides)
    kernel = numpy_helper.from_array(np.ones((2, 3, 16, 16), np.float32), "w")
    proto = on_x(node, shape=["n", 3, "h", "v"], initial=[kernel])
    least = 16 - 2 * pads
    assert taken(proto, session, n=1, h=least, v=least)
    assert not taken(proto, session, n=1, h=least - 1, v=64)
    assert not taken(proto, session, n=1, h=64, v=least - 1)
