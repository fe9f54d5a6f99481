"""The GitHub action and the pre-commit hooks: their steps are run here as what they are, shell scripts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from tests.check.support import Project
from tests.check.texts import SQUARE, SUM, SUM_OF_EXP

ROOT = Path(__file__).parents[2]
ACTION = (ROOT / "action.yml").read_text("utf-8")
HOOKS = (ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")


def steps() -> list[str]:
    """The scripts of the action, in order."""
    return [step["run"] for step in yaml.safe_load(ACTION)["runs"]["steps"]]


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
        **{
            f"TOLCOST_{name}": inputs.get(name, "") for name in ("BASE", "PATHS", "SARIF", "JUNIT", "COMMAND")
        },
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


def test_only_the_last_script_has_the_token() -> None:
    install, check, comment = yaml.safe_load(ACTION)["runs"]["steps"]
    assert "token" not in repr((install, check))
    assert comment["env"]["TOLCOST_TOKEN"] == "${{ inputs.token }}"
    for script in steps():
        assert "${{" not in script  # inputs come through the environment, where they are only text
        subprocess.run(["bash", "-n", "-c", script], check=True)
    for script in steps()[:2]:
        assert "Scripts" in script  # where Windows has programs


def test_every_input_is_handed_over() -> None:
    inputs = re.findall(r"^  ([a-z-]+):\n    description", ACTION.partition("outputs:")[0], re.MULTILINE)
    assert inputs
    for name in inputs:
        assert re.search(rf"\$\{{{{ [^}}]*inputs\.{name}\b", ACTION)


def test_a_costlier_program_fails_the_step(project: Project, runner: Path) -> None:
    project.locked(sum=SUM, loop=SQUARE)
    project.write(sum=SUM_OF_EXP)
    code, said = step(project, runner, SARIF="out.sarif", JUNIT="out.xml")
    assert code == 1
    assert said.startswith(
        "::error file=sum.tol,line=2,title=sum.tol eops::costlier (never cheaper); was n, is 2*n;"
    )
    assert (runner / "output").read_text() == "exit-code=1\n"
    report = (runner / "summary.md").read_text()
    assert report.startswith("<!-- tolcost check -->\n## tolcost: costlier\n\n1 costlier, 1 unchanged")
    assert (runner / "tolcost.md").read_text() == report
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


def test_a_tolcost_that_is_installed_is_used(project: Project, runner: Path) -> None:
    project.locked(sum=SUM)
    (runner / "tolcost" / "bin" / "tolcost").rename(runner / "own")
    assert step(project, runner, COMMAND=str(runner / "own"))[0] == 0


# ---- the comment ---------------------------------------------------------------------------------


class Forge(BaseHTTPRequestHandler):
    """What GitHub's API does with the comments of a pull request; state is kept by the server."""

    server: Any

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""

    def _answer(self, code: int, content: object) -> None:
        data = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _content(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return found

    def _may(self) -> bool:
        if self.headers["Authorization"] != "Bearer secret" or self.server.read_only:
            self._answer(403, {"message": "Resource not accessible by integration"})
            return False
        return True

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        if path == "/api/repos/ann/nets/issues/7/comments":
            asked = dict(pair.split("=") for pair in query.split("&"))
            size, page = int(asked["per_page"]), int(asked["page"])
            self._answer(200, self.server.comments[size * (page - 1) : size * page])
        else:  # a workflow may not ask who it is
            self._answer(403, {"message": "Resource not accessible by integration"})

    def do_POST(self) -> None:
        content = self._content()
        if self._may():
            assert self.path == "/api/repos/ann/nets/issues/7/comments"
            self.server.add("github-actions[bot]", content["body"])
            self._answer(201, self.server.comments[-1])

    def do_PATCH(self) -> None:
        content = self._content()
        if self._may():
            number = int(self.path.removeprefix("/api/repos/ann/nets/issues/comments/"))
            comment = next(one for one in self.server.comments if one["id"] == number)
            comment["body"] = content["body"]
            self._answer(200, comment)


class Server(ThreadingHTTPServer):
    """A forge with comments on one pull request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Forge)
        self.comments: list[dict[str, Any]] = []
        self.read_only = False

    def add(self, author: str, body: str) -> None:
        number = len(self.comments) + 1
        comment = {
            "id": number,
            "html_url": f"https://forge/{number}",
            "user": {"login": author},
            "body": body,
        }
        self.comments.append(comment)


@pytest.fixture(name="forge")
def _forge() -> Iterator[Server]:
    with Server() as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def comment(
    runner: Path, forge: Server, folder: str = ".", event: str = '{"pull_request": {"number": 7}}'
) -> str:
    """Run the step that writes the comment; gives what it says."""
    (runner / "event.json").write_text(event)
    environment = {
        **os.environ,
        "RUNNER_TEMP": str(runner),
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_API_URL": f"http://127.0.0.1:{forge.server_address[1]}/api",
        "GITHUB_REPOSITORY": "ann/nets",
        "GITHUB_EVENT_PATH": str(runner / "event.json"),
        "TOLCOST_PYTHON": sys.executable,
        "TOLCOST_TOKEN": "secret",
        "TOLCOST_FOLDER": folder,
        "no_proxy": "127.0.0.1",
    }
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", steps()[2]]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def test_a_comment_is_made_once_and_then_updated(project: Project, runner: Path, forge: Server) -> None:
    forge.add("mallory", "<!-- tolcost check -->\nnot yours")
    for n in range(120):
        forge.add("ann", f"remark {n}")
    project.locked(sum=SUM, loop=SQUARE)
    step(project, runner)
    assert comment(runner, forge) == "nothing changed, so there is no comment\n"
    project.write(sum=SUM_OF_EXP)
    step(project, runner)
    assert comment(runner, forge) == "made https://forge/122\n"
    first = forge.comments[-1]["body"]
    assert first == (runner / "tolcost.md").read_text()
    assert "| `sum.tol` | eops, flops | **costlier \\(never cheaper\\)** | n=1024 | 1,024 | 2,048 |" in first
    project.write(loop=SUM)
    step(project, runner)
    assert comment(runner, forge) == "updated https://forge/122\n"
    assert len(forge.comments) == 122
    assert forge.comments[-1]["body"] != first
    project.write(sum=SUM, loop=SQUARE)
    step(project, runner)
    assert comment(runner, forge) == "updated https://forge/122\n"
    assert "## tolcost: ok\n\n2 unchanged" in forge.comments[-1]["body"]
    assert forge.comments[0]["body"] == "<!-- tolcost check -->\nnot yours"


def test_each_project_of_a_repository_has_its_comment(project: Project, runner: Path, forge: Server) -> None:
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)
    step(project, runner)
    for folder in (".", "nets/a", "nets/b", "nets/a", "."):
        comment(runner, forge, folder)
    assert [one["body"].partition("\n")[0] for one in forge.comments] == [
        "<!-- tolcost check -->", "<!-- tolcost check nets/a -->", "<!-- tolcost check nets/b -->",
    ]  # fmt: skip


def test_a_token_that_may_not_write_is_no_failure(project: Project, runner: Path, forge: Server) -> None:
    forge.read_only = True
    project.locked(sum=SUM)
    project.write(sum=SUM_OF_EXP)
    step(project, runner)
    notice = (
        "::notice title=tolcost::no comment: the token may not write one; the job summary has the report\n"
    )
    assert comment(runner, forge) == notice
    assert comment(runner, forge, event="{}") == "this is no pull request, so there is no comment\n"


def test_a_check_without_a_report_is_told_in_the_comment(runner: Path, forge: Server) -> None:
    assert comment(runner, forge) == "made https://forge/1\n"
    assert "`tolcost check` ended before there was one" in forge.comments[0]["body"]


def test_the_marker_is_that_of_reports() -> None:
    from tolcost.check.text import MARKER, UNCHANGED
    from tools.check import post_comment

    assert (post_comment.MARKER, post_comment.UNCHANGED) == (MARKER, UNCHANGED)
    assert post_comment.marker_of("ops/--> x") == "<!-- tolcost check ops/_ x -->"


# ---- what the documentation shows ------------------------------------------------------------------


GATE = (ROOT / "docs" / "gate.md").read_text("utf-8")
BLOCKS = [
    yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", GATE, re.MULTILINE | re.DOTALL)
]


def found(value: object, key: str) -> Iterator[Any]:
    """Everything that stands under a key, however deep."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == key:
                yield inner
            yield from found(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from found(inner, key)


def test_the_workflow_of_the_documentation_fits_the_action() -> None:
    inputs = yaml.safe_load(ACTION)["inputs"]
    uses = [step for block in BLOCKS for step in found([block], "steps")] + BLOCKS
    asked = [one for group in uses if isinstance(group, list) for one in group if "uses" in one]
    own = [one for one in asked if one["uses"].startswith("OWNER/tolcost@")]
    assert [set(one["with"]) for one in own] == [{"base"}, {"command"}]
    assert all(set(one["with"]) <= set(inputs) for one in own)
    workflow = BLOCKS[0]
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert "pull_request" in workflow[True]  # YAML reads `on` as a truth value


def test_the_commands_of_the_documentation_are_commands() -> None:
    from tolcost.cli.check import command

    lines = [line for block in BLOCKS for line in found(block, "script")]
    commands = [line for group in lines for line in (group if isinstance(group, list) else [group])]
    assert commands
    for line in commands:
        tolcost, check, *arguments = line.split()
        assert (tolcost, check) == ("tolcost", "check")
        context = command.make_context("tolcost check", arguments)
        written = {file for _, file in context.params["also"]}
    (gitlab,) = found(BLOCKS, "artifacts")
    assert written == {*gitlab["paths"], *gitlab["reports"].values()}


def test_the_hooks_of_the_documentation_exist() -> None:
    (repos,) = found(BLOCKS, "repos")
    known = {hook["id"] for hook in yaml.safe_load(HOOKS)}
    assert {hook["id"] for hook in repos[0]["hooks"]} == known
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert version is not None
    assert repos[0]["rev"] == f"v{version[1]}"


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
