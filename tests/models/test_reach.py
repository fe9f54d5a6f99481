"""Indices that lengths decide stay inside of what they index: learned positions limit a sequence."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import tolcost


def positions(*between: onnx.NodeProto, last: str = "positions") -> onnx.ModelProto:
    """A model that adds 16 learned positions, at 0 to seq - 1 behind some nodes in between, to an input."""
    numbers = {"zero": 0, "one": 1, "two": 2, "five": [5], "none": [0], "many": [1000]}
    values = [numpy_helper.from_array(np.array(v, np.int64), name) for name, v in numbers.items()]
    table = numpy_helper.from_array(np.ones((16, 4), np.float32), "table")
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "zero"], ["seq"]),
        helper.make_node("Range", ["zero", "seq", "one"], ["positions"]),
        *between,
        helper.make_node("Gather", ["table", last], ["found"]),
        helper.make_node("ReduceSum", ["found"], ["sum"]),
        helper.make_node("Add", ["x", "sum"], ["y"]),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["seq", 4])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "positions", [given], [made], [*values, table])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def node(op: str, *inputs: str) -> onnx.NodeProto:
    return helper.make_node(op, inputs, ["moved"])


@pytest.mark.parametrize(
    "between, condition, most",
    [
        ((), "seq <= 16", 16),
        ((node("Unsqueeze", "positions", "none"),), "seq <= 16", 16),
        ((node("Add", "positions", "two"),), "seq <= 14", 14),
        ((node("Slice", "positions", "five", "many"),), "seq <= 16", 16),
    ],
    ids=["as they are", "with another axis", "behind a past", "without the first"],
)
def test_a_sequence_is_no_longer_than_its_learned_positions(
    between: tuple[onnx.NodeProto, ...], condition: str, most: int
) -> None:
    model = positions(*between, last="moved" if between else "positions")
    cost = tolcost.from_onnx(model.SerializeToString())
    assert condition in cost.conditions
    run = ReferenceEvaluator(model)
    for seq, fits in ((most, True), (most + 1, False)):
        x = np.zeros((seq, 4), np.float32)
        if fits:
            assert cost(seq=seq).eops > 0
            assert run.run(None, {"x": x})[0].shape[-2:] == x.shape
        else:
            with pytest.raises(tolcost.Rejected, match="indices go up to"):
                cost(seq=seq)
            with pytest.raises((IndexError, ValueError)):
                run.run(None, {"x": x})


def test_nothing_is_said_of_indices_that_data_decides() -> None:
    looked_up = node("Mul", "positions", "two")  # a product is not followed: nothing is claimed
    cost = tolcost.from_onnx(positions(looked_up, last="moved").SerializeToString())
    assert cost.conditions == ()
