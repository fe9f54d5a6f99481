"""Sessions at the command line: what is typed, and everything that comes back, to the letter.

A file of ``sessions/`` is a transcript.  ``$`` starts a command, ``!`` a line on standard error,
``?`` the exit code where it is not 0; every other line is standard output.  After a change that is
meant, TOLCOST_ACCEPT=1 writes them anew: read the difference before you keep it.
"""

import os
import re
import shlex
import shutil
from pathlib import Path

import onnx
import pytest

from tolcost.catalogue.specs import open_library
from tolcost.cli import run
from tolcost.models.walking import Session
from tools.models import graphs

HERE = Path(__file__).parent
SESSIONS = sorted((HERE / "sessions").glob("*.txt"))


def transcript(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    program, *arguments = shlex.split(command)
    assert program == "tolcost"
    code = run(arguments)
    return written(command, code, *capsys.readouterr())


def written(command: str, code: int, out: str, err: str) -> str:
    """A command and what it said, as sessions have it."""
    told = "".join(f"! {line}".rstrip() + "\n" for line in err.splitlines())
    return f"$ {command}\n{out}{told}" + (f"? {code}\n" if code else "")


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_session(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(HERE / "programs", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    expected = path.read_text(encoding="utf-8")
    if "bert.onnx" in expected:  # one session for all commands: what was lowered for one serves the next
        onnx.save(graphs.bert(17, graphs.SMALL), tmp_path / "bert.onnx")
        shared = Session(open_library())
        for part in (
            "cli.model",
            "api",
            "models.walking",
        ):  # where it is from last: others are loaded by then
            monkeypatch.setattr(f"tolcost.{part}.Session", lambda _: shared)
    if "deeper.onnx" in expected:
        onnx.save(graphs.deeper_bert(), tmp_path / "deeper.onnx")
    commands = re.findall(r"^\$ (.*)$", expected, re.MULTILINE)
    actual = "".join(transcript(command, capsys) for command in commands)
    if os.environ.get("TOLCOST_ACCEPT"):
        path.write_text(actual, encoding="utf-8")
    else:
        assert actual == expected
