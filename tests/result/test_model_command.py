"""``tolcost model`` and ``tolcost diff`` at the command line."""

import json
import re
from pathlib import Path

import onnx
import pytest
from onnx import helper

from tests.models.test_hostile import model
from tolcost.cli import run
from tools.models import graphs


def output(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(list(arguments)) == code
    return capsys.readouterr().out


def test_the_document_has_what_the_contract_says(bert: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "model", str(bert), "--dim", "batch=2", "--dim", "seq=5", "--format", "json")
    found = json.loads(text)
    assert found["tolcost"] == 1
    assert found["kind"] == "model"
    assert found["coverage"]["nodes"] == found["coverage"]["costed"] == len(found["nodes"])
    assert found["coverage"]["uncosted"] == []
    assert found["at"]["dims"] == {"batch": 2, "seq": 5}
    for metric in ("eops", "flops", "macs", "bytes", "params"):
        assert isinstance(found["totals"][metric], str)
        assert isinstance(found["at"][metric], int)
    assert sum(row["at"]["eops"] for row in found["by_op"]) == found["at"]["eops"]
    assert sum(row["at"]["eops"] for row in found["nodes"]) == found["at"]["eops"]
    assert sum(row["at"]["macs"] for row in found["by_scope"]) == found["at"]["macs"]
    assert sum(found["at"]["histogram"].values()) == found["at"]["eops"]
    assert {"add:float32", "mul:float32"} <= found["totals"]["histogram"].keys()
    assert found["conditions"][0]["condition"] == "seq <= 16"


def test_without_lengths_there_are_only_closed_forms(bert: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(output(capsys, "model", str(bert), "--format", "json"))
    assert "at" not in found
    assert "at" not in found["by_op"][0]
    partly = json.loads(output(capsys, "model", str(bert), "--dim", "batch=2", "--format", "json"))
    assert "at" not in partly
    assert partly["partly"]["dims"] == {"batch": 2}
    assert "batch" not in partly["partly"]["macs"]


@pytest.fixture(name="mixed", scope="module")
def _mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A function, a view, and three nodes that nothing defines."""
    own = [helper.make_node(op, [given], [given + op], domain="my") for op, given in ("Fb", "Fc", "Gc")]
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Transpose", ["a"], ["b"])]
    graph = helper.make_graph(
        [*nodes, helper.make_node("Flatten", ["b"], ["c"]), *own],
        "mixed",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", "m"])],
        [helper.make_tensor_value_info(one.output[0], onnx.TensorProto.FLOAT, ["p"]) for one in own],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("my", 1)]
    path = tmp_path_factory.mktemp("mixed") / "mixed.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets), path)
    return path


@pytest.mark.parametrize(
    "by, rows",
    [
        ("op", ["Relu 1 4 100.0 %", "2 operators not costed 3 0", "2 operators without cost 2 0 0.0 %"]),
        ("node", ["Relu Relu float32 [n, m] 4", "3 nodes not costed 0", "2 nodes without cost 0 0.0 %"]),
        ("scope", ["(no scope), in part 6 4 100.0 %"]),
    ],
)
def test_what_is_not_costed_is_no_row_that_costs_nothing(
    mixed: Path, by: str, rows: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    dims = ("--dim", "n=2", "--dim", "m=2", "--dim", "p=2")
    told = output(capsys, "model", str(mixed), "--by", by, *dims, code=3)
    table = [" ".join(line.split()) for line in told.partition("\n\n")[2].partition("\n\n")[2].splitlines()]
    assert [line[: len(row)] for row, line in zip(rows, table[1 : 1 + len(rows)], strict=True)] == rows


def test_what_bounds_of_lengths_settle_is_settled_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    """In shapes, depths, what a model holds, and conditions: a length is the least of another and 512."""
    file = Path(__file__).parents[2] / "examples" / "bert.onnx"
    told = output(capsys, "model", str(file), "--shape", "input_ids=a,b", "--symbolic")
    assert "input_ids: int64 [a, seq]" in told
    assert "b is seq" in told
    assert "Max(seq" not in told
    assert "depth                36*seq + 104183" in told
    assert told.rstrip().endswith("holds where\n    seq <= 512  broadcast lengths must agree (node_expand_1)")


def test_a_ratio_of_what_is_not_all_there_is_not_known(
    mixed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = json.loads(output(capsys, "model", str(mixed), "--format", "json", code=3))["totals"]
    assert (found["intensity"], found["bytes_exact"]) == (None, False)
    told = output(capsys, "model", str(mixed), "--device", "h200", code=3)
    assert re.search(r"µs +of the nodes that are costed", told)


def test_lengths_that_break_a_condition_are_refused(bert: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", str(bert), "--dim", "seq=17", "--dim", "batch=1"]) == 2
    told = capsys.readouterr().err
    assert "T0344" in told
    assert "seq <= 16" in told


@pytest.mark.parametrize("by", ["node", "op", "scope"])
@pytest.mark.parametrize("form", ["text", "md", "csv"])
def test_tables_by_node_operator_and_scope(
    form: str, by: str, bert: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = output(
        capsys, "model", str(bert), "--by", by, "--format", form, "--dim", "batch=1", "--dim", "seq=4"
    )
    assert "MatMul" in text or by == "scope"
    assert "layer.1" in text or by == "op"


def test_sweeps_and_crossings(bert: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("model", str(bert), "--dim", "batch=1", "--sweep", "seq=1..64")
    text = output(capsys, *arguments)
    assert "outside of seq <= 16" in text
    found = json.loads(output(capsys, *arguments, "--format", "json"))["sweep"]
    assert [row["seq"] for row in found["rows"]] == [1, 2, 4, 8, 16, 32, 64]
    crossing = next(c for c in found["crossings"] if c["overtakes"] == "encoder/layer.*/attention")
    at = crossing["at"]
    whole = [_scopes(bert, capsys, n) for n in (at - 1, at)]
    names = ("encoder/layer.*/attention", crossing["overtaken"])
    assert whole[0][names[0]] <= whole[0][names[1]]
    assert whole[1][names[0]] > whole[1][names[1]]
    assert run(["model", str(bert), "--sweep", "width=1..4"]) == 2
    assert run(["model", str(bert), "--sweep", "seq=9..4"]) == 2


def _scopes(path: Path, capsys: pytest.CaptureFixture[str], seq: int) -> dict[str, int]:
    text = output(capsys, "model", str(path), "--dim", "batch=1", "--dim", f"seq={seq}", "--format", "json")
    found: dict[str, int] = {}
    for node in json.loads(text)["nodes"]:
        parts = [part for part in node["name"].split("/") if part][:-1]
        title = "/".join("layer.*" if part.startswith("layer.") else part for part in parts)
        found[title] = found.get(title, 0) + node["at"]["eops"]
    return found


def test_annotated_models_carry_their_costs(
    bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "noted.onnx"
    output(capsys, "model", str(bert), "--dim", "batch=1", "--dim", "seq=4", "--annotate", str(out))
    noted = onnx.load(out, load_external_data=False)
    found = {
        p.key: p.value for node in noted.graph.node if node.op_type == "MatMul" for p in node.metadata_props
    }
    assert found["tolcost.status"] == "exact"
    assert int(found["tolcost.macs"]) > 0
    assert any(p.key == "tolcost.eops" for p in noted.metadata_props)
    assert (
        output(capsys, "model", str(out)).splitlines()[1:]
        == output(capsys, "model", str(bert)).splitlines()[1:]
    )


def test_a_folder_gives_one_table(bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(graphs.bert(18, graphs.SMALL), tmp_path / "a.onnx")
    onnx.save(
        model([helper.make_node("Mystery", ["x"], ["y"], domain="my")], domains=["my"]), tmp_path / "b.onnx"
    )
    text = output(capsys, "fleet", str(tmp_path), code=3)
    assert "a.onnx" in text
    assert "my.Mystery" in text
    (tmp_path / "c.onnx").write_bytes(b"")
    found = json.loads(output(capsys, "fleet", str(tmp_path / "*.onnx"), "--format", "json", code=2))
    assert [("problem" in row) for row in found["models"]] == [False, False, True]
    assert found["models"][0]["coverage"]["uncosted"] == []
    output(capsys, "fleet", str(tmp_path), "--format", "csv", code=2)
    output(capsys, "fleet", str(tmp_path), "--format", "md", code=2)


def test_lengths_are_for_the_models_that_have_them(
    bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save(graphs.bert(18, graphs.SMALL), tmp_path / "a.onnx")
    onnx.save(model([helper.make_node("Relu", ["x"], ["y"])]), tmp_path / "b.onnx")
    arguments = ["fleet", str(tmp_path), "--dim", "batch=2", "--dim", "seq=5", "--format", "json"]
    first, second = json.loads(output(capsys, *arguments))["models"]
    assert isinstance(first["at"]["eops"], int)
    assert second["totals"]["eops"] == "4*n"
    assert run(["fleet", str(tmp_path), "--dim", "nobody=2"]) == 2
    assert "none of the models has a length" in capsys.readouterr().err
    assert run(["fleet", str(tmp_path), "--assume", "seq <= 512"]) == 0
    for mistaken in (["--assume", "sqe <= 512"], ["--assume", "each(sqe*) = 512"], ["--dim", "seq=sqe"]):
        capsys.readouterr()
        assert run(["fleet", str(tmp_path), *mistaken]) == 2
        assert "none of the models has the lengths of" in capsys.readouterr().err


def test_a_length_that_only_the_file_declares_can_be_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [helper.make_node("Mystery", ["x"], ["m"], domain="my"), helper.make_node("Exp", ["m"], ["y"])]
    proto = model(nodes, domains=["my"])
    proto.graph.value_info.append(helper.make_tensor_value_info("m", onnx.TensorProto.FLOAT, [None, "inner"]))
    onnx.save(proto, tmp_path / "m.onnx")
    path = str(tmp_path / "m.onnx")
    found = json.loads(output(capsys, "model", path, "--format", "json", code=3))
    assert found["totals"]["eops"] == "inner*`m[0]`"
    dims = ["--dim", "n=1", "--dim", "m[0]=3", "--dim", "inner=5"]
    assert json.loads(output(capsys, "model", path, *dims, "--format", "json", code=3))["at"]["eops"] == 15


def test_long_forms_are_broken_and_cut_visibly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["a" * 30, "b" * 30, "c" * 30]
    given = [helper.make_tensor_value_info(f"x{n}", onnx.TensorProto.FLOAT, names[n:]) for n in range(3)]
    nodes = [helper.make_node("Exp", [f"x{n}"], [f"y{n}"]) for n in range(3)]
    onnx.save(model(nodes, given, [helper.make_tensor_value_info("y0", 1, None)]), tmp_path / "m.onnx")
    text = output(capsys, "model", str(tmp_path / "m.onnx"))
    assert "--format json" in text
    assert max(len(line) for line in text.splitlines()) < 180


# ---- diff --------------------------------------------------------------------------------------------


def test_programs_that_cross(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new = tmp_path / "old.tol", tmp_path / "new.tol"
    old.write_text("tol x: R [n]\ny := map(x, exp(exp(exp(exp(*)))))\n")
    new.write_text("tol x: R [n]\ny := map(tol[n, n], x[i] * x[j], [i, j])\n")
    found = json.loads(output(capsys, "diff", str(old), str(new), "--format", "json", code=1))
    assert found["verdict"] == "crosses"
    eops = found["changes"][0]
    assert eops["less_at"]["new"] < eops["less_at"]["old"]
    assert eops["more_at"]["new"] > eops["more_at"]["old"]
    assert "the same EOPs" in output(capsys, "diff", str(old), str(old))


def test_models_by_operator(bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deeper = tmp_path / "deeper.onnx"
    sizes = graphs.Sizes(3, 8, 2, 16, 20, 16, 1)
    onnx.save(graphs.bert(17, sizes), deeper)
    text = output(capsys, "diff", str(bert), str(deeper), code=1)
    assert "more EOPs for all lengths" in text
    assert "MatMul" in text
    assert "fewer EOPs for all lengths" in output(capsys, "diff", str(deeper), str(bert))
    found = json.loads(output(capsys, "diff", str(bert), str(bert), "--format", "json"))
    assert found["kind"] == "diff"
    assert found["verdict"] == "same"
    assert run(["diff", str(bert), "x.tol"]) == 2


@pytest.mark.parametrize("is_read", [False, True])
def test_a_scope_has_the_shape_of_what_it_gives(
    is_read: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two shapes, it has none."""
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 4])
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in ("y", "z")]
    nodes = [
        helper.make_node("Exp", ["x"], ["e"], name="/first/Exp"),
        helper.make_node("Transpose", ["e"], ["t"], name="/first/Transpose", perm=[1, 0]),
        helper.make_node("Neg", ["t"], ["y"], name="/last/Neg"),
        helper.make_node("Neg", ["e" if is_read else "y"], ["z"], name="/last/Neg_1"),
    ]
    graph = helper.make_graph(nodes, "scopes", [x], ends[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), tmp_path / "m.onnx")
    text = output(capsys, "model", str(tmp_path / "m.onnx"), "--by", "scope", "--columns", "shape,type,nodes")
    first, last = (line.split() for line in text.splitlines() if line.startswith(("first", "last")))
    assert first == ["first", *(() if is_read else ("[4,", "n]")), "float32", "2"]
    assert last == ["last", *(("[n,", "4]") if is_read else ("[4,", "n]")), "float32", "2"]
