"""What a check loads: nothing that reads programs, unless there is one to read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.check.support import Project
from tests.check.texts import SUM

ROOT = Path(__file__).parents[2]
SCRIPT = """
import sys
from tolcost.cli import run
assert run(["check"]) == 0
print(",".join(sorted(name for name in sys.modules if name in {heavy!r})))
"""
HEAVY = ("sympy", "onnx", "pandas", "numpy", "lark", "ml_dtypes", "jinja2", "tolcost.pipeline")


def test_known_programs_need_nothing_heavy(project: Project) -> None:
    project.locked(sum=SUM)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SCRIPT.format(heavy=HEAVY)]
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    assert done.stdout == "ok: 1 unchanged (1 program against tolcost.lock)\n\n"


def test_help(project: Project) -> None:
    for command in ("check", "accept"):
        said = project.run(command, "--help")
        assert said.code == 0
        assert f"Usage: tolcost {command} " in said.out
        assert "Examples:" in said.out


def test_usage(project: Project) -> None:
    project.locked(sum=SUM)
    for line in (
        "--prune",
        "--update --base HEAD",
        "--format yaml",
        "--also md",
        "--also yaml=x",
        "--jobs 0",
    ):
        said = project.check(line)
        assert (said.code, said.out) == (2, ""), line
    assert project.check("--also md=out.md --also json=out.json").code == 0
    assert "## tolcost: ok\n\n1 unchanged" in (project.root / "out.md").read_text()
