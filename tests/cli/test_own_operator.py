"""An operator in a folder of one's own works in every command; nothing but its one file is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec import Struct
from onnx import TensorProto, helper, save

from tolcost.apps.paper.general_table import catalogue_table
from tolcost.catalogue.conformance import Report
from tolcost.catalogue.general.record import GeneralForms
from tolcost.catalogue.listing import entries
from tolcost.catalogue.specs import open_library
from tolcost.cli import run
from tolcost.show.document import plain

DOMAIN = "com.example"
TIMES = "# Every element times a factor, and one more.\noperator Stretch\ntol X: R [...]\nattr by: R = 2\n"
DEFINITION = f"{TIMES}Y := map(X, * * by + 1)\n"
CALLING = "tol x: R [n]\ny := Stretch(map(x, exp), by: 3)\n"


class Shell(Struct, frozen=True):
    """Commands run in a folder, with the operator's folder given to each."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str, code: int = 0) -> str:
        found = run((*arguments, "--specs", "own"))
        out, err = self.capsys.readouterr()
        assert found == code, (arguments, out, err)
        return out + err


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    folder = tmp_path / "own" / DOMAIN
    folder.mkdir(parents=True)
    (folder / "Stretch.tol").write_text(DEFINITION)
    (tmp_path / "calling.tol").write_text(CALLING)
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


SPEC = f"own/{DOMAIN}/Stretch.tol"


def model(path: Path, nodes: int) -> str:
    """A model of so many nodes of the operator, one after another."""
    made = [
        helper.make_node("Stretch", [f"t{n}"], [f"t{n + 1}"], f"stretch{n}", domain=DOMAIN, by=3.0)
        for n in range(nodes)
    ]
    ends = [helper.make_tensor_value_info(f"t{n}", TensorProto.FLOAT, ["batch", 8]) for n in (0, nodes)]
    graph = helper.make_graph(made, "stretched", ends[:1], ends[1:])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    save(helper.make_model(graph, opset_imports=opsets), path)
    return path.name


def test_analyze(shell: Shell) -> None:
    assert "2*m*n" in shell("analyze", SPEC, "--symbolic", "--shape", "X=n,m", "--metric", "eops")
    assert "3*n" in shell("analyze", "calling.tol", "--symbolic", "--metric", "eops")


def test_explain(shell: Shell) -> None:
    assert "mul is one elementary function" in shell("explain", SPEC, "--shape", "X=n")
    assert SPEC in shell("explain", "calling.tol")


def test_lower(shell: Shell) -> None:
    assert "Λ(mul.R" in shell("lower", "calling.tol")
    assert "Λ(mul; %1, 2)" in shell("lower", SPEC, "--shape", "X=n", "--unroll", "--dim", "n=2")


def test_run(shell: Shell) -> None:
    assert "[4. 4.]" in shell("run", "calling.tol", "--input", "x=[0, 0]", "--count")
    assert "[3. 5.]" in shell("run", SPEC, "--input", "X=[1, 2]", "--engine", "reference")


def test_ops(shell: Shell) -> None:
    page = shell("ops", "Stretch")
    assert f"Stretch  {DOMAIN}, since version 1" in page
    assert "EOPs  2*X_1*X_2" in page
    assert DEFINITION.splitlines()[-1] in page
    record = json.loads(shell("ops", f"{DOMAIN}.Stretch", "--format", "json"))
    assert [form["eops"] for form in record["operators"][0]["forms"]] == [
        "2*X_1",
        "2*X_1*X_2",
        "2*X_1*X_2*X_3",
    ]


def test_model(shell: Shell) -> None:
    name = model(shell.root / "m.onnx", 2)
    record = json.loads(shell("model", name, "--format", "json"))
    assert record["coverage"]["uncosted"] == []
    assert record["totals"]["eops"] == "32*batch"


def test_a_model_without_the_folder_says_what_is_missing(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    name = model(shell.root / "m.onnx", 1)
    assert run(("model", name)) == 3
    assert "Stretch" in "".join(capsys.readouterr())


def test_diff(shell: Shell) -> None:
    one, two = model(shell.root / "one.onnx", 1), model(shell.root / "two.onnx", 2)
    assert "16*batch" in shell("diff", one, two, code=1)
    (shell.root / "plain.tol").write_text("tol x: R [n]\ny := map(x, exp)\n")
    assert "cheaper" in shell("diff", "calling.tol", "plain.tol")


def test_check(shell: Shell) -> None:
    model(shell.root / "m.onnx", 1)
    (shell.root / "tolcost.toml").write_text(
        f'paths = ["calling.tol", "m.onnx"]\n[cases."{SPEC}".typical]\nshapes = {{ X = ["n", "m"] }}\n'
    )
    shell("check", "--update")
    assert "com.example" in (shell.root / "tolcost.lock").read_text()
    shell("check")
    (shell.root / SPEC).write_text(DEFINITION.replace("* * by + 1", "* * by + 1 - by"))
    assert "costlier" in shell("check", code=1)


def test_verify(shell: Shell) -> None:
    assert "no test of Stretch" in shell("verify", "Stretch", code=3)


def test_a_definition_that_replaces_one_is_held_to_its_tests(shell: Shell) -> None:
    folder = shell.root / "own" / "onnx"
    folder.mkdir()
    (folder / "Relu.tol").write_text("operator Relu\ntol X: R [...]\nY := map(X, abs)\n")
    assert "0 of 1 node tests" in shell("verify", "Relu", code=1)
    assert "no test of ONNX" in shell("ops", "Relu")  # the stored figures are of another definition
    assert "failing: 0 of 1" in shell("ops", "Relu", "--verify")


def test_report(shell: Shell) -> None:
    library, nothing = open_library(["own"]), Report("1", ())
    table = catalogue_table(entries(library), GeneralForms("1", ()), nothing, nothing, (), library)
    (row,) = (row for row in table.rows if plain(row[0]) == "Stretch")
    assert DOMAIN in row
    assert "untested" in row


def test_format(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(("fmt", "--check", SPEC)) == 0
    capsys.readouterr()
