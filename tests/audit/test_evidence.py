"""What the reports read back: refused where it is missing or broken, and still what it says it is."""

import json
import shutil
from pathlib import Path

import pytest

from tolcost.apps.paper.peers import PEERS, REASONS, read_conformance, read_peers, read_reasons
from tolcost.cli import run
from tolcost.diagnostics import Rejected
from tolcost.result.conformance import CONFORMANCE

REPORTS = Path(__file__).parents[2] / "reports"
BROKEN = {
    "name": "test_x",
    "op": "X",
    "status": "crash",
    "cause": "internal error: NameError",
    "eops": None,
    "macs": None,
    "certainty": None,
    "concrete": [],
    "functions": [],
}


@pytest.mark.parametrize("reader", [read_conformance, read_peers, read_reasons])
def test_a_missing_file_is_told_with_the_command_that_makes_it(reader: object, tmp_path: Path) -> None:
    assert callable(reader)
    with pytest.raises(Rejected, match=r"no such file or directory\n.*--folder"):
        reader(tmp_path)
    (tmp_path / "data").mkdir()
    with pytest.raises(Rejected) as caught:
        reader(tmp_path)
    assert [d.code for d in caught.value.diagnostics] == ["T0681"]
    assert "make it with" in str(caught.value.diagnostics[0].hint)


@pytest.mark.parametrize(
    "name, text",
    [
        (CONFORMANCE, "{}"),
        (CONFORMANCE, '{"tolcost": 2, "kind": "verify", "onnx": "1", "cases": []}'),
        (CONFORMANCE, '{"tolcost": 1, "kind": "verify", "onnx": "1", "cases": [{}]}'),
        (CONFORMANCE, "no JSON"),
        (CONFORMANCE, json.dumps({"tolcost": 1, "kind": "verify", "onnx": "1", "cases": [BROKEN]})),
        (PEERS, "operator,class\nAdd,x\n"),
        (
            PEERS,
            "operator,class,shapes,attrs,tool,version,flops,transcendentals,macs,remark\na,b,c,d,e,f,x,,,\n",
        ),
        (REASONS, "kinds = 1"),
        (REASONS, "= broken"),
    ],
)
def test_a_broken_file_is_a_diagnostic_of_the_command(
    name: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(REPORTS / "data", tmp_path / "data")
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert run(["report", "--folder", str(tmp_path)]) == 2
    assert "T0681" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_versions_are_stored_with_the_counts() -> None:
    assert all(peer.version for peer in read_peers(REPORTS))
    assert json.loads((REPORTS / CONFORMANCE).read_text("utf-8"))["onnx"]
