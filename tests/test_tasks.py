"""The tasks of docs/tasks.md: every command is run, in order, and says what stands there.

A block of ``console`` is a transcript: ``$`` starts a command, ``!`` a line on standard error, ``?`` the exit
code where it is not 0; ``cp`` and ``printf`` edit files, ``action`` is the script of the GitHub action.  A
block of ``pycon`` is run as Python.  One that is marked ``torch`` is run where torch is (``make torch``).
After a change that is meant, TOLCOST_ACCEPT=1 writes the transcripts anew: read the difference before you
keep it.
"""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from tests.check.test_action import steps
from tests.cli.test_sessions import written
from tolcost.catalogue.specs import open_library
from tolcost.cli import run
from tolcost.models.walking import Session
from tools.models import graphs

ROOT = Path(__file__).parents[1]
TASKS = ROOT / "docs" / "tasks.md"
_BLOCK = re.compile(r"^```(console|pycon)( torch)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LOOP = "tol x: R [n]\nk = 2\ny := map(tol[k], reduce(x, add, 0), [i])\n"


def detector() -> onnx.ModelProto:
    """A small network that halves an image five times, and adds what it doubles again: sides must fit."""
    kinds = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    nodes, value, channels = [], "x", 3
    weights = []
    for n in range(5):
        weights.append(
            helper.make_tensor(f"w{n}", TensorProto.FLOAT, [8, channels, 3, 3], [0.0] * 72 * channels)
        )
        nodes.append(helper.make_node("Conv", [value, f"w{n}"], [f"c{n}"], f"/body/stage.{n}/Conv", **kinds))
        nodes.append(helper.make_node("Relu", [f"c{n}"], [f"r{n}"], f"/body/stage.{n}/Relu"))
        value, channels = f"r{n}", 8
    weights.append(helper.make_tensor("s", TensorProto.FLOAT, [4], [1.0, 1.0, 2.0, 2.0]))
    nodes.append(helper.make_node("Resize", ["r4", "", "s"], ["up"], "/neck/Resize", mode="nearest"))
    nodes.append(helper.make_node("Add", ["up", "r3"], ["y"], "/neck/Add"))
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, "h", "w"])]
    gives = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "detector", given, gives, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def files(folder: Path) -> None:
    shutil.copytree(ROOT / "tests/cli/programs", folder, dirs_exist_ok=True)
    onnx.save(graphs.bert(17, graphs.SMALL), folder / "bert.onnx")
    onnx.save(graphs.deeper_bert(), folder / "deeper.onnx")
    onnx.save(detector(), folder / "detector.onnx")
    (folder / "ops").mkdir()
    shutil.copy(folder / "fast.tol", folder / "ops" / "scale.tol")
    (folder / "team").mkdir()
    (folder / "team" / "loop.tol").write_text(_LOOP, "utf-8")
    known = ("-c", "user.name=someone", "-c", "user.email=someone@example.org")
    for command in (("init", "-q"), ("add", "team"), (*known, "commit", "-qm", "two turns")):
        subprocess.run(["git", *command], cwd=folder, check=True)


def elsewhere(command: str) -> tuple[int, str, str]:
    """What another process says: the action with its inputs, or a shell that asks what may follow."""
    folder = Path("runner")
    programs = folder / "tolcost" / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    own = programs / "tolcost"
    own.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m tolcost "$@"\n', "utf-8")
    own.chmod(0o755)
    inputs = dict.fromkeys(("TOLCOST_BASE", "TOLCOST_PATHS", "TOLCOST_SARIF", "TOLCOST_JUNIT"), "")
    files = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output"}
    given = {f"TOLCOST_{word.partition('=')[0]}": word.partition("=")[2] for word in shlex.split(command)[1:]}
    action = {"RUNNER_TEMP": str(folder), **{key: str(folder / name) for key, name in files.items()}}
    path = {"PATH": f"{programs.resolve()}{os.pathsep}{os.environ['PATH']}"}
    is_action = command.startswith("action")
    done = subprocess.run(
        ["bash", "-c", steps()[1] if is_action else command],
        env={**os.environ, **path, **(inputs | given | action if is_action else {})},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def transcript(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    program, *arguments = shlex.split(command)
    code, said = 0, ("", "")
    if program == "action" or "=" in program:
        code, *said = elsewhere(command)
    elif program == "cp":
        shutil.copy(*arguments)
    elif program == "printf":
        text, into, file = arguments
        assert into == ">"
        Path(file).write_text(text.replace("\\n", "\n"), encoding="utf-8")
    else:
        assert program == "tolcost"
        code = run(arguments)
    shown = capsys.readouterr()
    return written(command, code, said[0] + shown.out, said[1] + shown.err)


def test_there_are_ten_tasks_for_each_kind_of_user() -> None:
    outside = _BLOCK.sub("", TASKS.read_text("utf-8"))
    parts = re.split(r"^## ", outside, flags=re.MULTILINE)[1:]
    assert [len(re.findall(r"^### \d+\. ", part, re.MULTILINE)) for part in parts] == [10, 10, 10]
    for part in re.split(r"^### \d", TASKS.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        assert _BLOCK.search(part), part.splitlines()[0]


def test_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    files(tmp_path)
    monkeypatch.chdir(tmp_path)
    shared = Session(open_library())  # what was lowered for one command serves the next
    for part in ("cli.model", "api", "models.walking"):  # where it is from last: others are loaded by then
        monkeypatch.setattr(f"tolcost.{part}.Session", lambda _: shared)
    space: dict[str, object] = {}

    def done(block: re.Match[str]) -> str:
        if block[2] and find_spec("torch") is None:
            return block[0]
        if block[1] == "pycon":
            test = doctest.DocTestParser().get_doctest(block[3], space, "tasks", str(TASKS), 0)
            failed = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(
                test, clear_globs=False
            )
            assert not failed.failed, capsys.readouterr().out
            space.update(test.globs)
            return block[0]
        commands = re.findall(r"^\$ (.*)$", block[3], re.MULTILINE)
        said = "".join(transcript(command, capsys) for command in commands)
        if block[2]:  # torch warns, with the time of day
            said = re.sub(r"^! .*\n", "", said, flags=re.MULTILINE)
        return f"```console{block[2] or ''}\n{said}```"

    expected = TASKS.read_text(encoding="utf-8")
    actual = _BLOCK.sub(done, expected)
    if os.environ.get("TOLCOST_ACCEPT"):
        TASKS.write_text(actual, encoding="utf-8")
    else:
        assert actual == expected
