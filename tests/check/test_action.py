"""The GitHub action and the pre-commit hooks: their steps are run here as what they are, shell scripts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.check.support import Project
from tests.check.texts import SQUARE, SUM, SUM_OF_EXP

ROOT = Path(__file__).parents[2]
ACTION = (ROOT / "action.yml").read_text("utf-8")
HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")


def steps() -> list[str]:
    """The scripts of the action, in order."""
    found = re.findall(r"^      run: \|\n((?:        .*\n|\n)+)", ACTION, re.MULTILINE)
    return [dedent(script) for script in found]


@pytest.fixture(name="runner")
def _runner(project: Project) -> Path:
    """What a runner has after the first step, with this tolcost instead of an installed one."""
    temp = project.root.parent / "runner"
    program = temp / "tolcost" / "bin" / "tolcost"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m tolcost "$@"\n')
    program.chmod(0o755)
    return temp


def step(project: Project, runner: Path, folder: Path | None = None, **inputs: str) -> tuple[int, str]:
    """Run the checking step; gives the exit code and what it wrote."""
    environment = {
        **os.environ,
        "RUNNER_TEMP": inputs.get("temp", str(runner)),
        "GITHUB_STEP_SUMMARY": str(runner / "summary.md"),
        "GITHUB_OUTPUT": str(runner / "output"),
        **{f"TOLCOST_{name}": inputs.get(name, "") for name in ("BASE", "PATHS", "SARIF", "JUNIT")},
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", steps()[1]],
        cwd=folder or project.root,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_action_has_two_scripts_and_no_token() -> None:
    assert len(steps()) == 2
    assert "token" not in ACTION.replace("Needs no token", "")
    for script in steps():
        assert "${{" not in script  # inputs come through the environment, where they are only text
        subprocess.run(["bash", "-n", "-c", script], check=True)
        assert "Scripts" in script  # where Windows has programs


def test_every_input_is_handed_over() -> None:
    inputs = re.findall(r"^  ([a-z-]+):\n    description", ACTION.partition("outputs:")[0], re.MULTILINE)
    assert inputs
    for name in inputs:
        assert f"${{{{ inputs.{name} }}}}" in ACTION


def test_a_costlier_program_fails_the_step(project: Project, runner: Path) -> None:
    project.locked(sum=SUM, loop=SQUARE)
    project.write(sum=SUM_OF_EXP)
    code, said = step(project, runner, SARIF="out.sarif", JUNIT="out.xml")
    assert code == 1
    assert said.startswith(
        "::error file=sum.tol,line=2,title=sum.tol eops::costlier (never cheaper); was n, is 2*n;"
    )
    assert (runner / "output").read_text() == "exit-code=1\n"
    assert (runner / "summary.md").read_text().startswith("## tolcost: costlier: 1 costlier, 1 unchanged")
    assert (project.root / "out.sarif").exists()
    assert (project.root / "out.xml").exists()


def test_nothing_changed(project: Project, runner: Path) -> None:
    project.locked(sum=SUM)
    assert step(project, runner) == (0, "ok: 1 unchanged (1 program against tolcost.lock)\n")
    assert (runner / "output").read_text() == "exit-code=0\n"


def test_it_runs_where_paths_and_lines_are_those_of_windows(project: Project, runner: Path) -> None:
    """Backslashes in the runner's folder, programs in Scripts, and lines that end in two characters."""
    (runner / "tolcost" / "bin").rename(runner / "tolcost" / "Scripts")
    project.locked(sum=SUM, loop=SQUARE)
    windows = str(runner).replace("/", "\\")
    assert step(project, runner, PATHS="sum.tol\r\nloop.tol\r\n", temp=windows)[0] == 0
    project.write(sum=SUM_OF_EXP)
    assert step(project, runner, PATHS="sum.tol\r\n", temp=windows)[0] == 1
    assert (runner / "output").read_text() == "exit-code=0\nexit-code=1\n"


def test_paths_are_lines_and_nothing_else(project: Project, runner: Path) -> None:
    project.locked(**{"a b": SUM, "c": SUM})
    project.write(**{"a b": SUM_OF_EXP})
    assert step(project, runner, PATHS="c.tol\n")[0] == 0
    assert step(project, runner, PATHS="c.tol\na b.tol\n")[0] == 1
    assert step(project, runner, PATHS="--update\n")[0] == 2
    assert step(project, runner, PATHS="$(touch owned)\n`touch owned`")[0] == 2
    assert not (project.root / "owned").exists()


def test_a_shallow_clone_fetches_the_base(project: Project, runner: Path) -> None:
    project.locked(sum=SUM)
    project.git("checkout", "-q", "-b", "change")
    project.locked(sum=SUM_OF_EXP)
    clone = project.root.parent / "clone"
    project.git("clone", "-q", "--depth=1", "--branch=change", f"file://{project.root}", str(clone))
    code, said = step(project, runner, clone, BASE="origin/main")
    assert code == 1
    assert "::error file=sum.tol,line=2" in said
    assert "against git FETCH_HEAD" in said
    assert step(project, runner, clone, BASE="origin/nothing")[0] == 2


def test_hooks_run_commands_that_exist() -> None:
    from tolcost.cli import COMMANDS

    entries = re.findall(r"^  entry: tolcost (\w+)$", HOOKS, re.MULTILINE)
    assert entries == ["check", "fmt"]
    assert set(entries) <= set(COMMANDS)
    checks, formats = HOOKS.split("- id: ")[1:]
    assert "  always_run: true" in checks  # a submodule, or what a link leads to, may have any name
    assert "  files:" not in checks
    (pattern,) = re.findall(r"^  files: (.*)$", formats, re.MULTILINE)
    found = [bool(re.search(pattern, name)) for name in ("a/b.tol", "a.TOL", "a.py", "total")]
    assert found == [True, True, False, False]
