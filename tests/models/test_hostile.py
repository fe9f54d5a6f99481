"""Files that are no models, models that make no sense, and models made to break tools: a diagnostic each."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tolcost.algebra import length, to_text
from tolcost.catalogue.reading import model_of, parse_model
from tolcost.catalogue.specs import open_library
from tolcost.cli import run
from tolcost.diagnostics import Rejected
from tolcost.models.walking import Session
from tolcost.result.cost import Cost
from tolcost.result.model import ModelStudy, Wanted, model_cost, of_model

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
X = helper.make_tensor_value_info("x", FLOAT, ["n", 4])
Y = helper.make_tensor_value_info("y", FLOAT, None)


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


def model(nodes, inputs=(X,), outputs=None, initial=(), opset=17, functions=(), domains=()):
    """A model that gives `y` where a node does, unless it is said what."""
    if outputs is None:
        outputs = (Y,) if any("y" in node.output for node in nodes) else ()
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(initial))
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)


RELU = helper.make_node("Relu", ["x"], ["y"], name="relu")


def costed(proto: onnx.ModelProto, session: Session, **dims: int) -> Cost:
    return model_cost(model_of(proto, "m"), "m.onnx", session, Wanted(dims))


def studied(proto: onnx.ModelProto, session: Session, **dims: int) -> ModelStudy:
    return of_model(costed(proto, session, **dims))


def refusal(proto: onnx.ModelProto, session: Session, **dims: int) -> str:
    with pytest.raises(Rejected) as caught:
        studied(proto, session, **dims)
    return caught.value.diagnostics[0].code


# ---- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content, code, word",
    [
        (b"", "T0672", "empty"),
        (b"\x08\x0a\x12\x40pytorch", "T0673", "cut off or damaged"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "T0673", "git lfs pull"),
        (b"<!DOCTYPE html><html></html>", "T0673", "web page"),
        (b"PK\x03\x04 and more", "T0673", "zip"),
        (b"\xff\xff\xff\xff\xff\xff", "T0673", "not an ONNX model"),
        (onnx.ModelProto(ir_version=8).SerializeToString(), "T0672", "no graph"),
    ],
)
def test_files_that_are_no_models(
    content: bytes, code: str, word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(content)
    assert run(["model", str(path)]) == 2
    told = capsys.readouterr().err
    assert code in told
    assert word in told


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", str(tmp_path / "none.onnx")]) == 2
    assert "T0671" in capsys.readouterr().err
    assert run(["model", str(tmp_path / "*.onnx")]) == 2


# ---- graphs ------------------------------------------------------------------------------------


def test_negative_lengths_are_refused(session: Session) -> None:
    wrong = helper.make_tensor_value_info("x", FLOAT, [-7, 4])
    assert refusal(model([RELU], [wrong]), session) == "T0691"
    weight = TensorProto(name="w", data_type=FLOAT, dims=[-2])
    assert refusal(model([RELU], initial=[weight]), session) == "T0674"


def test_minus_one_is_an_open_length(session: Session) -> None:
    open_ = helper.make_tensor_value_info("x", FLOAT, [-1, 4])
    study = studied(model([RELU], [open_]), session)
    assert study.total.eops == 4 * length("x[0]")
    assert to_text(study.total.eops) == "4*`x[0]`"


def test_cycles_and_wrong_orders_are_refused(session: Session) -> None:
    first = helper.make_node("Add", ["x", "b"], ["a"])
    second = helper.make_node("Relu", ["a"], ["b"])
    assert refusal(model([first, second]), session) == "T0676"


def test_names_must_be_given_once_and_by_somebody(session: Session) -> None:
    assert refusal(model([RELU, RELU]), session) == "T0675"
    assert refusal(model([helper.make_node("Relu", ["x"], ["x"])]), session) == "T0675"
    weight = numpy_helper.from_array(np.ones(4, np.float32), "w")
    assert refusal(model([RELU], initial=[weight, weight]), session) == "T0675"
    assert refusal(model([RELU], inputs=[X, X]), session) == "T0675"
    assert refusal(model([helper.make_node("Relu", ["z"], ["y"])]), session) == "T0662"
    assert refusal(model([helper.make_node("Relu", ["x"], ["z"])], outputs=[Y]), session) == "T0662"


def test_a_constant_may_give_nothing(session: Session) -> None:
    """It was an IndexError, in the graph, in functions and in graphs inside of nodes."""
    held = numpy_helper.from_array(np.ones(3, np.float32))
    idle = [helper.make_node("Constant", [], outputs, value=held) for outputs in ([], [""])]
    nodes = [*idle, helper.make_node("Relu", ["x"], ["y"])]
    imports = [helper.make_opsetid("", 17)]
    function = helper.make_function("my", "f", ["x"], ["y"], nodes, imports)
    inner = helper.make_graph(nodes, "g", [], [Y])
    gate = helper.make_node("If", ["go"], ["y"], then_branch=inner, else_branch=inner)
    go = helper.make_tensor_value_info("go", TensorProto.BOOL, [])
    call = helper.make_node("f", ["x"], ["y"], domain="my")
    for proto in (
        model(nodes),
        model([gate], [X, go]),
        model([call], functions=[function], domains=["my"]),
    ):
        study = studied(proto, session)
        assert study.total.eops == 4 * length("n")
        assert study.holdings.parameters == 0


def test_versions_that_do_not_exist_are_refused(session: Session) -> None:
    assert refusal(model([RELU], opset=999), session) == "T0690"
    assert refusal(model([RELU], opset=0), session) == "T0690"


def test_weights_that_lie_are_refused(session: Session) -> None:
    add = helper.make_node("Add", ["x", "w"], ["y"])
    short = TensorProto(name="w", data_type=FLOAT, dims=[4, 1000], raw_data=b"\0" * 8)
    assert refusal(model([add], initial=[short]), session) == "T0674"
    unknown = TensorProto(name="w", data_type=77, dims=[4])
    assert refusal(model([add], initial=[unknown]), session) == "T0650"


def test_weights_beside_the_model_are_never_opened(session: Session) -> None:
    for location in ("not_there.bin", "../../etc/passwd", "/dev/zero", "a\0b"):
        weight = TensorProto(name="w", data_type=FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
        weight.external_data.add(key="location", value=location)
        study = studied(model([helper.make_node("Add", ["x", "w"], ["y"])], initial=[weight]), session)
        assert study.holdings.parameters == 4
        assert study.total.eops == 4 * length("n")


def test_lengths_are_exact_however_large(session: Session) -> None:
    largest = 2**63 - 1
    wide = helper.make_tensor_value_info("x", FLOAT, [largest, largest])
    assert studied(model([RELU], [wide]), session).total.eops == largest**2


def test_an_input_without_a_shape_needs_one(session: Session) -> None:
    bare = helper.make_tensor_value_info("x", FLOAT, None)
    proto = model([RELU], [bare])
    assert refusal(proto, session) == "T0677"
    study = of_model(model_cost(model_of(proto, "m"), "m", session, Wanted({}, {"x": ("rows", 3)})))
    assert study.total.eops == 3 * length("rows")


@pytest.mark.parametrize(
    "name", ["N", "lambda", "2-n", "batch size", "a\x1b[2J", "‮", "__import__('os')", "x" * 10_000]
)
def test_lengths_may_be_called_anything(name: str, session: Session, tmp_path: Path) -> None:
    named = helper.make_tensor_value_info("x", FLOAT, [name, 4])
    study = studied(model([RELU], [named]), session)
    assert study.total.eops == 4 * length(name)
    path = tmp_path / "m.onnx"
    onnx.save(model([RELU], [named]), path)
    for form in ("text", "json", "md", "csv", "html"):
        out = tmp_path / f"out.{form}"
        assert run(["model", str(path), "--format", form, "--output", str(out)]) == 0
        assert "\x1b" not in out.read_text(encoding="utf-8")


def test_names_are_text_in_every_format(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script>"
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name=evil),
        helper.make_node("Relu", ["a"], ["y"], name="=cmd()|x"),
    ]
    path = tmp_path / "m.onnx"
    onnx.save(model(nodes), path)
    page, table = tmp_path / "m.html", tmp_path / "m.csv"
    assert run(["model", str(path), "--format", "html", "--output", str(page)]) == 0
    assert "<script>alert" not in page.read_text()
    assert run(["model", str(path), "--by", "node", "--format", "csv", "--output", str(table)]) == 0
    assert ",'=cmd()" in table.read_text()


# ---- functions ----------------------------------------------------------------------------------


def function(name, nodes, inputs=("a",), outputs=("b",), attributes=()):
    return helper.make_function(
        "my", name, list(inputs), list(outputs), list(nodes),
        [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)], list(attributes),
    )  # fmt: skip


def test_functions_that_double_thirty_times_are_not_unfolded(session: Session) -> None:
    functions = [function("f0", [helper.make_node("Relu", ["a"], ["b"])])]
    for n in range(1, 31):
        inner = f"f{n - 1}"
        twice = [
            helper.make_node(inner, ["a"], ["c"], domain="my"),
            helper.make_node(inner, ["c"], ["b"], domain="my"),
        ]
        functions.append(function(f"f{n}", twice))
    proto = model([helper.make_node("f30", ["x"], ["y"], domain="my")], functions=functions, domains=["my"])
    assert studied(proto, session).total.eops == 2**30 * 4 * length("n")


def test_functions_that_call_themselves_are_told(session: Session) -> None:
    endless = function("f", [helper.make_node("f", ["a"], ["b"], domain="my")])
    proto = model([helper.make_node("f", ["x"], ["y"], domain="my")], functions=[endless], domains=["my"])
    study = studied(proto, session)
    assert study.coverage.costed == 0
    assert "calls itself" in study.coverage.missing[0].why


def test_functions_take_attributes(session: Session) -> None:
    reduced = helper.make_node("ReduceSum", ["a", "axes"], ["b"])
    reference = reduced.attribute.add(name="keepdims", ref_attr_name="keep", type=onnx.AttributeProto.INT)
    assert reference.ref_attr_name == "keep"
    axes = helper.make_node("Constant", [], ["axes"], value=numpy_helper.from_array(np.array([1])))
    total = function("total", [axes, reduced], attributes=["keep"])
    for keep, rank in ((0, 1), (1, 2)):
        call = helper.make_node("total", ["x"], ["y"], domain="my", keep=keep)
        study = studied(model([call], functions=[total], domains=["my"]), session)
        known = study.cost.known("y")
        assert known is not None
        assert len(known.shape) == rank
        assert study.total.eops == 4 * length("n")


# ---- what is not costed -----------------------------------------------------------------------


def test_unknown_operators_are_named_and_the_total_is_a_lower_bound(
    session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    custom = helper.make_node("Mystery", ["x"], ["a"], domain="my", name="who")
    after = helper.make_node("Relu", ["a"], ["y"], name="after")
    proto = model([custom, after, helper.make_node("Neg", ["x"], ["z"])], domains=["my"])
    study = studied(proto, session)
    assert study.total.status == "lower bound"
    assert study.total.eops == 4 * length("n")
    assert [item.name for item in study.coverage.missing] == ["who", "after"]
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    assert run(["model", str(path)]) == 3
    out, err = capsys.readouterr()
    assert "1 of 3 nodes costed" in out
    assert "LOWER BOUND" in out
    assert "my.Mystery" in err
    assert run(["model", str(path), "--allow-uncosted"]) == 0


def test_declared_shapes_help_where_a_node_is_not_costed(session: Session) -> None:
    custom = helper.make_node("Mystery", ["x"], ["a"], domain="my", name="who")
    proto = model([custom, helper.make_node("Relu", ["a"], ["y"])], domains=["my"])
    proto.graph.value_info.append(helper.make_tensor_value_info("a", FLOAT, ["n", 10]))
    study = studied(proto, session)
    assert study.coverage.costed == 1
    assert study.total.eops == 10 * length("n")
    assert study.cost.assumed == ("a",)


def test_definitions_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "my").mkdir()
    (tmp_path / "my" / "Mystery.tol").write_text(
        "operator Mystery\ntol x: R [...]\ny := map(x, exp(*) + 1)\n"
    )
    path = tmp_path / "m.onnx"
    onnx.save(model([helper.make_node("Mystery", ["x"], ["y"], domain="my")], domains=["my"]), path)
    assert run(["model", str(path), "--specs", str(tmp_path)]) == 0
    assert "8*n" in capsys.readouterr().out


# ---- names that are no text -----------------------------------------------------------------------


@pytest.mark.parametrize("word", ["x", "relu", "Relu", "deep", "branch_x", "then_branch", "strange"])
def test_names_that_are_not_text_are_refused(word: str, session: Session) -> None:
    """Protobuf hands them out as bytes."""
    branch = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["branch_x"], name="deep")],
        "branch",
        [],
        [helper.make_tensor_value_info("branch_x", FLOAT, None)],
    )
    gate = helper.make_node("If", ["go"], ["z"], then_branch=branch, else_branch=branch)
    given = [
        helper.make_tensor_value_info("x", FLOAT, ["strange"]),
        helper.make_tensor_value_info("go", TensorProto.BOOL, []),
    ]
    raw = model([RELU, gate], given).SerializeToString()
    damaged = raw.replace(word.encode(), b"\xff" * len(word))
    assert damaged != raw
    with pytest.raises(Rejected) as caught:
        of_model(model_cost(model_of(parse_model(damaged, "m"), "m"), "m.onnx", session, Wanted()))
    assert caught.value.diagnostics[0].code == "T0673"
