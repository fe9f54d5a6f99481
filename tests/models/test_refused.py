"""Nodes that no runtime runs are not costed, and nothing but the model file is ever opened."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.models.test_hostile import FLOAT, INT, X, costed, model, refusal, studied
from tests.models.test_models import ints, value
from tolcost.algebra import length
from tolcost.catalogue.graph import MOST_NESTED_GRAPHS, MOST_RANK
from tolcost.catalogue.specs import open_library
from tolcost.cli import run
from tolcost.diagnostics import Rejected
from tolcost.models.walking import Session

N = length("n")
node = helper.make_node


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


def zeros(name: str, *shape: int) -> TensorProto:
    return numpy_helper.from_array(np.zeros(shape, np.float32), name)


IMAGE = value("x", FLOAT, [1, 3, 8, 8])
NUMBER = value("x", FLOAT, [])
BYTES = value("x", TensorProto.UINT8, [3, 4])
SQUARE = zeros("w", 3, 3, 3, 3)
KEPT = numpy_helper.from_array(np.array([True]), "k")
WRONG = {
    # axes that there are not
    "softmax": model([node("Softmax", ["x"], ["y"], axis=7)]),
    "reduce": model([node("ReduceSum", ["x", "a"], ["y"])], initial=[ints("a", 9)]),
    "squeeze": model([node("Squeeze", ["x", "a"], ["y"])], initial=[ints("a", -9)]),
    "slice": model(
        [node("Slice", ["x", "a", "b", "c"], ["y"])], initial=[ints("a", 0), ints("b", 2), ints("c", 7)]
    ),
    "layer": model([node("LayerNormalization", ["x", "w"], ["y"], axis=7)], initial=[zeros("w", 4)]),
    "flatten": model([node("Flatten", ["x"], ["y"], axis=7)]),
    # lengths that do not fit
    "gemm": model([node("Gemm", ["x", "b", "c"], ["y"])], initial=[zeros("b", 4, 3), zeros("c", 7)]),
    "prelu": model([node("PRelu", ["x", "w"], ["y"])], initial=[zeros("w", 7)]),
    "scale": model([node("LayerNormalization", ["x", "w"], ["y"])], initial=[zeros("w", 7)]),
    "conv": model(
        [node("Conv", ["x", "w"], ["y"], kernel_shape=[5, 5])], [IMAGE], initial=[zeros("w", 4, 3, 3, 3)]
    ),
    "transposed": model(
        [node("ConvTranspose", ["x", "w"], ["y"], kernel_shape=[5])],
        [IMAGE],
        initial=[zeros("w", 3, 4, 3, 3)],
    ),
    "lstm": model(
        [node("LSTM", ["x", "w", "r"], ["y"], hidden_size=5)],
        [value("x", FLOAT, [3, 1, 2])],
        initial=[zeros("w", 1, 8, 2), zeros("r", 1, 8, 2)],
    ),
    "reshape": model([node("Reshape", ["x", "s"], ["y"])], initial=[ints("s", -1, -2)]),
    # ranks that do not fit, and more or fewer numbers than there are dimensions
    "scalar": model(
        [node("Slice", ["x", "a", "b", "c"], ["y"])],
        [value("x", FLOAT, [])],
        initial=[ints("a", 0), ints("b", 2), ints("c", 0)],
    ),
    "order": model([node("Transpose", ["x"], ["y"], perm=[0])]),
    "long order": model([node("Transpose", ["x"], ["y"], perm=[0, 1, 1])]),
    "gathered": model([node("GatherElements", ["x", "i"], ["y"])], initial=[ints("i", 0)]),
    "scattered": model(
        [node("ScatterElements", ["x", "i", "u"], ["y"])], initial=[ints("i", 0), zeros("u", 1)]
    ),
    "matrices": model([node("Gemm", ["x", "b"], ["y"])], initial=[zeros("b", 4, 3, 3)]),
    "padding": model([node("Pad", ["x", "p"], ["y"])], initial=[ints("p", 0, 0, 0, 1, 1, 1)]),
    "sizes": model([node("Resize", ["x", "", "", "s"], ["y"])], initial=[ints("s", 2, 3, 4)]),
    # axes that are named twice
    "sliced twice": model(
        [node("Slice", ["x", "a", "b", "c"], ["y"])],
        initial=[ints("a", 0, 0), ints("b", 2, 2), ints("c", 1, -1)],
    ),
    "padded twice": model(
        [node("Pad", ["x", "p", "", "a"], ["y"])], opset=18, initial=[ints("p", 1, 1, 1, 1), ints("a", 1, 1)]
    ),
    "resized twice": model(
        [node("Resize", ["x", "", "", "s"], ["y"], axes=[1, 1])], opset=18, initial=[ints("s", 2, 3)]
    ),
    "cut twice": model(
        [node("CenterCropPad", ["x", "s"], ["y"], axes=[1, 1])], opset=18, initial=[ints("s", 2, 3)]
    ),
    "turned twice": model([node("Transpose", ["x"], ["y"], perm=[1, 1])]),
    "longer twice": model([node("Unsqueeze", ["x", "a"], ["y"])], initial=[ints("a", 0, 0)]),
    # windows that are empty, stand still or go backwards, and padding below 0
    "still": model(
        [node("Conv", ["x", "w"], ["y"], dilations=[0, 1])], [IMAGE], initial=[zeros("w", 4, 3, 3, 3)]
    ),
    "backwards": model([node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], dilations=[1, -1])], [IMAGE]),
    "empty": model([node("AveragePool", ["x"], ["y"], kernel_shape=[0, 3])], [IMAGE]),
    "norm": model([node("LpPool", ["x"], ["y"], kernel_shape=[3, 3], pads=[-1, 0, 0, 0])], [IMAGE]),
    "spread": model(
        [node("ConvTranspose", ["x", "w"], ["y"], output_padding=[-1, 0])],
        [IMAGE],
        initial=[zeros("w", 3, 4, 3, 3)],
    ),
    "blocks": model(
        [node("Col2Im", ["x", "s", "b"], ["y"])],
        [value("x", FLOAT, [1, 10, 4])],
        opset=18,
        initial=[ints("s", 3, 6), ints("b", 5, 1)],
    ),
    # numbers, which have no axes
    **{
        f"{op} {opset} of a number": model([node(op, ["x"], ["y"])], [NUMBER], opset=opset)
        for op in ("Softmax", "LogSoftmax", "Hardmax", "LpNormalization")
        for opset in (11, 13)
    },
    "compressed": model([node("Compress", ["x", "k"], ["y"])], [NUMBER], initial=[KEPT]),
    "hot": model([node("OneHot", ["x", "d", "v"], ["y"])], [NUMBER], initial=[ints("d", 3), zeros("v", 2)]),
    "alone": model([node("Concat", ["x"], ["y"], axis=2)]),
    # the axis of real and imaginary parts
    "parts of numbers": model([node("DFT", ["x"], ["y"], axis=2)], [value("x", FLOAT, [1, "n", 2])]),
    "parts counted back": model(
        [node("DFT", ["x", "", "a"], ["y"])],
        [value("x", FLOAT, [1, "n", 2])],
        opset=20,
        initial=[numpy_helper.from_array(np.array(-1), "a")],
    ),
    # scales that are not for the axis
    "few scales": model([node("DequantizeLinear", ["x", "s"], ["y"])], [BYTES], initial=[zeros("s", 3)]),
    "scales of a matrix": model(
        [node("DequantizeLinear", ["x", "s"], ["y"])], [BYTES], initial=[zeros("s", 1, 1)]
    ),
    "scales of no axis": model(
        [node("QuantizeLinear", ["x", "s"], ["y"])], [value("x", FLOAT, [4])], initial=[zeros("s", 4)]
    ),
    "blocks of scales": model(
        [node("DequantizeLinear", ["x", "s"], ["y"], block_size=2)],
        [BYTES],
        opset=21,
        initial=[zeros("s", 3, 3)],
    ),
    # inputs that are longer than the weights, caches of two shapes, more lengths than dimensions
    **{
        f"{op} of rows": model(
            [node(op, ["x", "w", "r"], ["y"], hidden_size=4)],
            [value("x", FLOAT, [3, 1, 2])],
            initial=[zeros("w", 1, 4 * gates, 1), zeros("r", 1, 4 * gates, 4)],
        )
        for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4))
    },
    "caches": model(
        [node("RotaryEmbedding", ["x", "c", "s"], ["y"])],
        [value("x", FLOAT, [2, 4, 3, 8])],
        opset=23,
        initial=[zeros("c", 2, 3, 4), zeros("s", 2, 4, 4)],
    ),
    "places of fewer": model(
        [node("MaxUnpool", ["x", "i"], ["y"], kernel_shape=[2])],
        [value("x", FLOAT, [1, 1, 2]), value("i", INT, [1, 1, 3])],
    ),
    "cut": model([node("CenterCropPad", ["x", "s"], ["y"])], opset=18, initial=[ints("s", 2, 3, 4)]),
    "order 3": model([node("LpNormalization", ["x"], ["y"], p=3)]),
    "zero points": model(
        [node("ConvInteger", ["x", "w", "", "z"], ["y"])],
        [value("x", TensorProto.UINT8, [1, 3, 8, 8])],
        initial=[
            numpy_helper.from_array(np.zeros((4, 3, 3, 3), np.uint8), "w"),
            numpy_helper.from_array(np.zeros(3, np.uint8), "z"),
        ],
    ),
    # truth values that are neither 0 nor 1
    "kept": model([node("ReduceSum", ["x", "a"], ["y"], keepdims=2)], initial=[ints("a", 1)]),
    "rounded up": model([node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], ceil_mode=-1)], [IMAGE]),
    # names that mean nothing
    **{
        f"{op} {names}": model(
            [node(op, ["x", "w"][:given], ["y"], **names)], [IMAGE], initial=[SQUARE], opset=20
        )
        for op, given, names in (
            ("Conv", 2, {"auto_pad": "SAME"}),
            ("ConvTranspose", 2, {"auto_pad": "SAME"}),
            ("MaxPool", 1, {"auto_pad": "SAME", "kernel_shape": [3, 3]}),
            ("Gelu", 1, {"approximate": "erf"}),
            ("SpaceToDepth", 1, {"blocksize": 2, "mode": "dcr"}),
            ("Einsum", 1, {"equation": "abcd->abcde"}),
            ("Einsum", 1, {"equation": "abcc->cc"}),
        )
    },
    "pad": model([node("Pad", ["x", "p"], ["y"], mode="mirror")], initial=[ints("p", 0, 0, 1, 1)]),
    "size": model([node("Resize", ["x", "", "", "s"], ["y"], mode="area")], initial=[ints("s", 2, 8)]),
    "corners": model(
        [node("Resize", ["x", "", "", "s"], ["y"], coordinate_transformation_mode="corners")],
        initial=[ints("s", 2, 8)],
    ),
    "direction": model(
        [node("RNN", ["x", "w", "r"], ["y"], hidden_size=4, direction="backward")],
        [value("x", FLOAT, [3, 1, 2])],
        initial=[zeros("w", 1, 4, 2), zeros("r", 1, 4, 4)],
    ),
    "activation": model(
        [node("RNN", ["x", "w", "r"], ["y"], hidden_size=4, activations=["Gelu"])],
        [value("x", FLOAT, [3, 1, 2])],
        initial=[zeros("w", 1, 4, 2), zeros("r", 1, 4, 4)],
    ),
    "reduction": model(
        [node("ScatterElements", ["x", "i", "u"], ["y"], reduction="mean")],
        [value("x", FLOAT, [4])],
        opset=18,
        initial=[ints("i", 0), zeros("u", 1)],
    ),
    # types that the operator does not take
    "strings": model([node("Exp", ["x"], ["y"])], [value("x", TensorProto.STRING, ["n"])]),
    "integers": model([node("Exp", ["x"], ["y"])], [value("x", INT, ["n"])]),
    "mixed": model([node("Add", ["x", "a"], ["y"])], [X, value("a", INT, ["n", 4])]),
    "joined": model([node("Concat", ["x", "a"], ["y"], axis=0)], [X, value("a", INT, ["n", 4])]),
    "condition": model([node("Where", ["x", "x", "x"], ["y"])]),
    "number": model([node("LeakyRelu", ["x"], ["y"], alpha="a")]),
    "fraction": model([node("Softmax", ["x"], ["y"], axis=1.5)]),
    # more or fewer parts than outputs
    "split": model([node("Split", ["x", "s"], ["a", "b"], axis=1)], initial=[ints("s", 4)]),
    "parts": model([node("Split", ["x", "s"], ["a", "b"], axis=1)], initial=[ints("s", 2, 10**9)]),
}


NOT_TAKEN = {
    *("matrices", "still", "backwards", "empty", "norm", "spread", "kept", "rounded up", "pad", "size"),
    *("corners", "direction", "activation", "reduction", "split"),
    *(name for name in WRONG if " {" in name),
}
"""Models with a value or a rank that the definition does not take, although another one might."""


@pytest.mark.parametrize("name", WRONG)
def test_a_node_that_nothing_can_run_is_not_costed(name: str, session: Session) -> None:
    study = studied(WRONG[name], session)
    assert study.total.status == ("lower bound" if name in NOT_TAKEN else "invalid")
    assert study.coverage.costed == 0


def test_an_invalid_model_is_an_error_with_its_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    nodes = [node("Relu", ["x"], ["h"]), node("MatMul", ["h", "w"], ["y"], name="product")]
    path.write_bytes(model(nodes, initial=[zeros("w", 7, 3)]).SerializeToString())
    assert run(["model", str(path), "--allow-uncosted"]) == 2
    out, err = capsys.readouterr()
    assert "1 of 2 nodes costed (50 %): THE MODEL IS INVALID" in out
    assert "status  invalid" in out
    assert "error[T0664]: the model is invalid: no lengths make its node `product` right: lengths" in err
    assert run(["model", str(path), "--format", "json"]) == 2
    assert json.loads(capsys.readouterr().out)["coverage"]["invalid"] == "product"


MAYBE = {
    # the two lengths need not agree where one of them is 1
    "broadcast": model(
        [
            node("Add", ["x", "z"], ["h"]),
            node("Concat", ["x", "x"], ["v"], axis=0),
            node("Add", ["v", "z"], ["y"]),
        ],
        [value("x", FLOAT, ["n"]), value("z", FLOAT, ["m"])],
    ),
    # one node broadcasts a length against 3 and 4: both are right where it is 1
    "both": model(
        [node("Add", ["x", "w"], ["y"])], [value("x", FLOAT, ["n", "n"])], initial=[zeros("w", 3, 4)]
    ),
    # a shape that is computed from a length may be right where that is 1
    "expanded": model(
        [
            node("Shape", ["z"], ["s"]),
            node("Concat", ["s", "s"], ["t"], axis=0),
            node("Expand", ["w", "t"], ["y"]),
        ],
        [value("z", FLOAT, ["n"])],
        initial=[zeros("w", 3, 4)],
    ),
    # data may always choose the branch that fits
    "branch": model(
        [
            node(
                "If",
                ["go"],
                ["y"],
                then_branch=helper.make_graph([node("MatMul", ["w", "w"], ["r"])], "a", [], [value("r")]),
                else_branch=helper.make_graph([node("Relu", ["x"], ["e"])], "b", [], [value("e")]),
            )
        ],
        [X, value("go", TensorProto.BOOL, [])],
        initial=[zeros("w", 3, 4)],
    ),
}


@pytest.mark.parametrize("name", MAYBE)
def test_a_model_that_may_run_is_not_called_invalid(name: str, session: Session) -> None:
    assert studied(MAYBE[name], session).total.status != "invalid"


def test_numbers_for_lengths_make_no_model_invalid(session: Session) -> None:
    proto = model([node("Add", ["x", "w"], ["y"])], [value("x", FLOAT, ["n"])], initial=[zeros("w", 3)])
    assert studied(proto, session).total.status == "exact"
    with pytest.raises(Rejected, match="makes `n` and `3` equal"):
        studied(proto, session, n=4)


BRAIN = TensorProto.BFLOAT16
HALVES = [
    node("SplitToSequence", ["x", "k"], ["q"], axis=1),
    node("ConcatFromSequence", ["q"], ["y"], axis=1),
]
HALVED = helper.make_graph(HALVES, "g", [], [value("y", BRAIN)])
HALVING = helper.make_function("my", "halve", ["x", "k"], ["y"], HALVES, [helper.make_opsetid("", 17)])
GIVEN = [value("x", BRAIN, ["n", 8])]
UNLISTED = {
    "graph": model(HALVES, GIVEN, initial=[ints("k", 4, 4)]),
    "fixed": model(HALVES, [value("x", BRAIN, [3, 8])], initial=[ints("k", 4, 4)]),
    "fixed again": model(HALVES, [value("x", BRAIN, [5, 8])], initial=[ints("k", 4, 4)]),
    "inside": model(
        [node("If", ["go"], ["y"], then_branch=HALVED, else_branch=HALVED)],
        [*GIVEN, value("go", TensorProto.BOOL, [])],
        initial=[ints("k", 4, 4)],
    ),
    "function": model(
        [node("halve", ["x", "k"], ["y"], domain="my")],
        GIVEN,
        initial=[ints("k", 4, 4)],
        functions=[HALVING],
        domains=["my"],
    ),
}


@pytest.mark.parametrize("name", UNLISTED)
def test_a_number_format_that_onnx_does_not_list_is_costed_with_a_note(name: str, session: Session) -> None:
    study = studied(UNLISTED[name], session)
    assert study.total.status == "exact"
    notes = [fact.value for fact in study.remarks() if fact.label == "type"]
    assert notes == ["SplitToSequence takes bfloat16 as its input `input`"]


def test_formats_that_onnx_lists_have_no_note(session: Session) -> None:
    study = studied(model([node("Relu", ["x"], ["y"])], GIVEN), session)
    assert [fact for fact in study.remarks() if fact.label == "type"] == []


PADDINGS = '"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"'
SAID = {
    "Conv {'auto_pad': 'SAME'}": f'"SAME" is given for `auto_pad`, and is none of {PADDINGS}',
    "reduction": '"mean" is given for `reduction`, and is none of "none", "add", "mul", "max", "min"',
    "order 3": "3 is none of 1, 2",
    "sliced twice": "1 stands twice in [1, 1]",
    "padded twice": "`axes` has 1 twice",
    "resized twice": "`axes` has 1 twice",
    "cut twice": "`axes` has 1 twice",
    "turned twice": "`perm` has 1 twice",
    "longer twice": "`axes` has 0 twice",
    "Einsum {'equation': 'abcd->abcde'}": '"e" is none of "a", "b", "c", "d"',
    "Einsum {'equation': 'abcc->cc'}": '"c" stands twice in ["c", "c"]',
}


@pytest.mark.parametrize("name", SAID)
def test_what_is_none_of_some_and_what_stands_twice_is_said(name: str, session: Session) -> None:
    assert [one.why for one in studied(WRONG[name], session).coverage.missing] == [SAID[name]]


def test_the_command_says_so_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "padded.onnx"
    path.write_bytes(WRONG["Conv {'auto_pad': 'SAME'}"].SerializeToString())
    assert run(["model", str(path)]) == 3
    assert SAID["Conv {'auto_pad': 'SAME'}"] in capsys.readouterr().out


@pytest.mark.parametrize("shape, axis", [([], 1), ([3, 4], 7)])
def test_one_scale_is_for_all_whatever_the_axis(shape: list[int], axis: int, session: Session) -> None:
    given = [value("x", TensorProto.UINT8, shape)]
    proto = model([node("DequantizeLinear", ["x", "s"], ["y"], axis=axis)], given, initial=[zeros("s", 1)])
    assert studied(proto, session).total.eops == math.prod(shape)


def test_rows_that_are_known_reach_into_data_with_slices_of_any_length(session: Session) -> None:
    given = [value("x", FLOAT, ["n", "m"]), value("u", FLOAT, [2, "m"])]
    rows = numpy_helper.from_array(np.array([[5], [-7]]), "i")
    proto = model([node("ScatterND", ["x", "i", "u"], ["y"])], given, initial=[rows])
    assert [one.text for one in costed(proto, session).where] == ["n >= 7"]


def test_types_are_checked_inside_of_graphs(session: Session) -> None:
    inner = helper.make_graph([node("Exp", ["i"], ["e"])], "g", [], [value("e")])
    given = [value("i", INT, ["n"]), value("go", TensorProto.BOOL, [])]
    study = studied(model([node("If", ["go"], ["y"], then_branch=inner, else_branch=inner)], given), session)
    assert "Exp" in study.coverage.missing[0].why


def test_a_function_takes_no_operators_place(session: Session) -> None:
    imports = [helper.make_opsetid("", 17)]
    identity = helper.make_function(
        "", "MatMul", ["a", "b"], ["c"], [node("Identity", ["a"], ["c"])], imports
    )
    product = node("MatMul", ["x", "w"], ["y"])
    proto = model([product], initial=[zeros("w", 4, 3)], functions=[identity])
    assert studied(proto, session).total.macs == 12 * N
    inner = helper.make_graph([node("MatMul", ["x", "w"], ["m"])], "g", [], [value("m")])
    gate = node("If", ["go"], ["y"], then_branch=inner, else_branch=inner)
    given = [X, value("go", TensorProto.BOOL, [])]
    proto = model([gate], given, initial=[zeros("w", 4, 3)], functions=[identity])
    assert studied(proto, session).total.macs == 12 * N


def test_a_function_may_have_a_name_that_only_later_versions_use(session: Session) -> None:
    imports = [helper.make_opsetid("", 17)]
    own = helper.make_function("", "Gelu", ["a"], ["b"], [node("Relu", ["a"], ["b"])], imports)
    assert studied(model([node("Gelu", ["x"], ["y"])], functions=[own]), session).total.eops == 4 * N


# ---- limits ------------------------------------------------------------------------------------


def test_ranks_have_a_limit(session: Session) -> None:
    def of_rank(rank: int) -> onnx.ModelProto:
        return model([node("Relu", ["x"], ["y"])], [value("x", FLOAT, [2] * rank)])

    assert studied(of_rank(MOST_RANK), session).total.eops == 2**MOST_RANK
    assert refusal(of_rank(MOST_RANK + 1), session) == "T0506"
    assert refusal(of_rank(100_000), session) == "T0506"
    weight = zeros("w", *[1] * 30)
    weight.dims.extend([1] * MOST_RANK)
    assert refusal(model([node("Relu", ["w"], ["y"])], initial=[weight]), session) == "T0506"


def branching(depth: int) -> onnx.ModelProto:
    inner = helper.make_graph([node("Relu", ["x"], ["r0"])], "g", [], [value("r0")])
    other = helper.make_graph([node("Identity", ["x"], ["e"])], "e", [], [value("e")])
    for n in range(1, depth):
        branch = node("If", ["go"], [f"r{n}"], then_branch=inner, else_branch=other)
        inner = helper.make_graph([branch], "g", [], [value(f"r{n}")])
    gate = node("If", ["go"], ["y"], then_branch=inner, else_branch=other)
    return model([gate], [X, value("go", TensorProto.BOOL, [])])


def test_graphs_inside_of_graphs_have_a_limit(session: Session) -> None:
    assert studied(branching(MOST_NESTED_GRAPHS), session).total.eops == 4 * N
    assert refusal(branching(MOST_NESTED_GRAPHS + 1), session) == "T0506"
    assert refusal(branching(15), session) == "T0506"


# ---- files -------------------------------------------------------------------------------------

LOCATIONS = ("secret.bin", "../secret.bin", "/etc/hostname", "/dev/zero", "not_there.bin", "a\0b")


def outside(location: str) -> TensorProto:
    tensor = TensorProto(name="t", data_type=INT, dims=[1], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value=location)
    return tensor


def opening(location: str) -> dict[str, onnx.ModelProto]:
    """Models that keep a tensor in another file, wherever a model can have one."""
    tensor = outside(location)
    sparse = onnx.SparseTensorProto(values=tensor, indices=tensor, dims=[1])
    inner = helper.make_graph([node("Constant", [], ["c"], value=tensor)], "g", [], [value("c")])
    held = helper.make_graph([], "g", [], [value("t")], [tensor])
    given = [X, value("go", TensorProto.BOOL, [])]
    function = helper.make_function(
        "my",
        "f",
        ["a"],
        ["b"],
        [node("ConstantOfShape", ["a"], ["b"], value=tensor)],
        [helper.make_opsetid("", 17)],
    )
    encoder = node("LabelEncoder", ["x"], ["y"], keys_tensor=tensor, domain="ai.onnx.ml")
    return {
        "value": model([node("ConstantOfShape", ["s"], ["y"], value=tensor)], initial=[ints("s", 2)]),
        "constant": model([node("Constant", [], ["c"], value=tensor), node("ConstantOfShape", ["c"], ["y"])]),
        "sparse": model([node("Constant", [], ["y"], sparse_value=sparse)]),
        "encoder": model([encoder], domains=["ai.onnx.ml"]),
        "unknown": model([node("Mystery", ["x"], ["y"], value=tensor, domain="my")], domains=["my"]),
        "inside": model([node("If", ["go"], ["y"], then_branch=inner, else_branch=inner)], given),
        "held": model([node("If", ["go"], ["y"], then_branch=held, else_branch=held)], given),
        "function": model([node("f", ["s"], ["y"], domain="my")], functions=[function], domains=["my"],
                          initial=[ints("s", 2)]),
        "shape": model([node("Reshape", ["x", "t"], ["y"])], initial=[tensor]),
    }  # fmt: skip


WATCH = """
import sys
folder, *files = sys.argv[1:]
import tolcost, onnx, numpy
from pathlib import Path
from tolcost.cli import run
from tolcost.diagnostics import Rejected
root = Path(tolcost.__file__).parent.parent  # the programs stand beside the package
OURS = (str(root), str(Path(onnx.__file__).parent.parent), sys.prefix, sys.base_prefix, "/proc/")
opened = []
def hook(event, args):
    if event == "open" and isinstance(args[0], str | bytes):
        opened.append(str(args[0]))
    if event.startswith(("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn")):
        opened.append(event)
sys.addaudithook(hook)
for file in files:
    opened.clear()
    code = run(["model", file])
    strange = [p for p in opened if p != file and not p.startswith(OURS)]
    print("CODE", code, strange)
"""


def test_no_file_is_opened_but_the_model(tmp_path: Path) -> None:
    (tmp_path / "secret.bin").write_bytes((7).to_bytes(8, "little"))
    inner = tmp_path / "inner"
    inner.mkdir()
    files = []
    for n, location in enumerate(LOCATIONS):
        for name, proto in opening(location).items():
            files.append(inner / f"{name}{n}.onnx")
            files[-1].write_bytes(proto.SerializeToString())
    (inner / "secret.bin").write_bytes((7).to_bytes(8, "little"))
    names = [str(file) for file in files]
    ran = subprocess.run(
        [sys.executable, "-c", WATCH, str(inner), *names],
        cwd=inner,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [line for line in ran.stdout.splitlines() if line.startswith("CODE")]
    assert len(found) == len(files)
    for file, line in zip(files, found, strict=True):
        code = "3" if file.stem.startswith(("held", "shape")) else "2"
        assert line in (f"CODE {code} []", "CODE 0 []" if code == "3" else ""), f"{file.name}: {line}"


def test_a_branch_inside_may_lack_its_condition(session: Session) -> None:
    """It was an IndexError."""
    leaf = helper.make_graph([node("Relu", ["x"], ["e"])], "leaf", [], [value("e")])
    lacking = node("If", [], ["r"], then_branch=leaf, else_branch=leaf)
    inner = helper.make_graph([lacking], "inner", [], [value("r")])
    given = [X, value("go", TensorProto.BOOL, [])]
    study = studied(model([node("If", ["go"], ["y"], then_branch=inner, else_branch=leaf)], given), session)
    assert study.coverage.costed == 0
