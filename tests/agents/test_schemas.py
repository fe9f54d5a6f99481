"""Everything that is written for machines keeps to its schema under docs/schemas."""

import json
import os
from pathlib import Path

import jsonschema
import pytest
from onnx import TensorProto, helper, save

from tests.agents.metric_schemas import with_metrics
from tolcost.cli import run

ROOT = Path(__file__).parents[2]
STORED = {path.stem: json.loads(path.read_text("utf-8")) for path in (ROOT / "docs/schemas").glob("*.json")}
ACCEPT = "TOLCOST_ACCEPT" in os.environ
SCHEMAS = {kind: with_metrics(kind, stored) if ACCEPT else stored for kind, stored in STORED.items()}
"""The schemas that documents keep to: with metrics that are new in the table where these are being added."""
MATMUL, SOFTMAX = (str(ROOT / "specs" / "examples" / f"{name}.tol") for name in ("matmul", "softmax"))
ROWS = ("fleet",)
"""Schemas of a row of a table, which is no document."""
COMMANDS = [
    ("analysis", ["analyze", MATMUL, SOFTMAX]),
    (
        "analysis",
        ["analyze", MATMUL, "--dim", "n=4", "--dim", "k=2", "--dim", "m=3", "--weights", "energy-45nm"],
    ),
    ("analysis", ["analyze", MATMUL, "--dim", "n=99999999", "--metric", "eops"]),
    ("analysis", ["analyze", str(ROOT / "specs" / "examples" / "positive.tol")]),
    ("analysis", ["analyze", MATMUL, "--dim", "n=4", "--dim", "k=2", "--device", "h200"]),
    ("analysis", ["analyze", MATMUL, SOFTMAX, "--dim", "n=4", "--device", "h200"]),
    ("diff", ["diff", MATMUL, SOFTMAX, "--device", "h200"]),
    ("model", ["model", "small.onnx", "--device", "h200"]),
    ("model", ["model", "small.onnx", "--dim", "batch=8", "--device", "h200"]),
    ("diff", ["diff", MATMUL, SOFTMAX]),
    ("diff", ["diff", MATMUL, MATMUL]),
    ("model", ["model", "small.onnx"]),
    ("model", ["model", "small.onnx", "--dim", "batch=8", "--sweep", "batch=1..8"]),
    ("model", ["model", "small.onnx", "--dim", "batch=8", "--metric", "macs"]),
    ("analysis", ["analyze", MATMUL, "--dim", "n=4", "--sweep", "k=1..2", "--sweep", "m=1..4"]),
    ("models", ["fleet", ".", "--jobs", "1"]),
    ("ops", ["ops", "Softmax", "If", "StringConcat"]),
    ("circuit", ["circuit", MATMUL, "--dim", "n=2", "--dim", "k=2", "--dim", "m=2"]),
    ("library", ["ops", "--library", "matlang"]),
    ("referee", ["referee", "torch/mm", "chinchilla", "fvcore/bmm"]),
    ("derivation", ["explain", str(ROOT / "specs" / "examples" / "conv2d_exact.tol")]),
    ("libraries", ["ops", "--library", "all"]),
    ("alternatives", ["alternatives", "Sigmoid", "Gelu"]),
    ("plan", ["plan", "--model", "llama3.2-1b", "--fit", "24GB"]),
    (
        "plan",
        [
            "plan",
            "--model",
            "mamba-2.8b",
            "--train",
            "adamw",
            "--device",
            "h200",
            "--fit",
            "80GB",
            "--measured",
            "1 s per step",
        ],
    ),
    (
        "plan",
        [
            "plan",
            "--model",
            "llama3.2-1b",
            "--device",
            "h200",
            "--target",
            "90 tokens/s",
            "--devices",
            "h200,l4",
            "--measured",
            "2 ms per token",
        ],
    ),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a model, one of whose operators nobody knows, and a file that is none."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", 4]) for name in "xy")
    nodes = [helper.make_node("Exp", ["x"], ["e"], name="a/exp"), helper.make_node("Relu", ["e"], ["y"])]
    nodes.append(helper.make_node("Foo", ["e"], ["f"], domain="my"))
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("my", 1)]
    save(
        helper.make_model(helper.make_graph(nodes, "small", [x], [y]), opset_imports=opsets),
        tmp_path / "small.onnx",
    )
    (tmp_path / "broken.onnx").write_bytes(b"nothing")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "kind, command",
    COMMANDS,
    ids=str,
)
def test_documents_keep_to_their_schemas(
    kind: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    run(command if "json" in command else [*command, "--format", "json"])
    written = json.loads(capsys.readouterr().out)
    assert written["kind"] == kind
    jsonschema.Draft202012Validator(SCHEMAS[kind]).validate(written)


def test_the_gate_keeps_to_its_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "p.tol"
    (tmp_path / "tolcost.toml").write_text('paths = ["p.tol"]\n', "utf-8")
    program.write_text("tol x: R [n]\ny := map(x, exp(*))\n", "utf-8")
    run(["check", "--update"])
    program.write_text("tol x: R [n]\ny := map(x, exp(*) + 1)\n", "utf-8")
    capsys.readouterr()
    run(["check", "--format", "json"])
    written = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(SCHEMAS["check"]).validate(written)
    assert written["exit"] == 1


def test_stored_documents_keep_to_their_schemas() -> None:
    stored = json.loads((ROOT / "reports" / "data" / "conformance.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(SCHEMAS["verify"]).validate(stored)


@pytest.mark.parametrize("kind", sorted(SCHEMAS))
def test_a_schema_is_one_and_refuses_what_is_not_in_it(kind: str) -> None:
    schema = SCHEMAS[kind]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert kind in ROWS or schema["properties"]["kind"] == {"const": kind}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"tolcost": 1, "kind": kind, "surprise": 1}, schema)


@pytest.mark.parametrize("kind", ["analysis", "model", "models", "fleet"])
def test_schemas_have_every_metric_of_the_table(kind: str) -> None:
    """TOLCOST_ACCEPT=1 writes those that are missing."""
    wanted = with_metrics(kind, STORED[kind])
    if ACCEPT:
        path = ROOT / "docs" / "schemas" / f"{kind}.json"
        path.write_text(json.dumps(wanted, indent=2) + "\n", "utf-8")
    else:
        assert wanted == STORED[kind]
