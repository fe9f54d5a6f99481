"""A project in a git repository of its own, and what the command line says there."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from msgspec import Struct

from tolcost.cli import run


class Said(Struct, frozen=True):
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str


class Project(Struct, frozen=True):
    """A folder under version control; commands run in it."""

    root: Path
    capsys: pytest.CaptureFixture[str]

    def write(self, **files: str) -> None:
        """Write programs by name: ``sum="..."`` is ``sum.tol``."""
        for name, text in files.items():
            self.file(f"{name}.tol", text)

    def file(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def git(self, *arguments: str, code: int = 0) -> str:
        who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "init.defaultBranch=main"]
        nothing = str(self.root.parent / "no-settings")
        env = {**os.environ, "GIT_CONFIG_GLOBAL": nothing, "GIT_CONFIG_SYSTEM": nothing}
        done = subprocess.run(
            ["git", *who, *arguments], cwd=self.root, env=env, check=False, capture_output=True, text=True
        )
        assert done.returncode == code, (arguments, done)
        return done.stdout + done.stderr

    def commit(self, message: str = "change") -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)

    def run(self, *arguments: str) -> Said:
        """Run ``tolcost`` with these arguments."""
        code = run(arguments)
        out, err = self.capsys.readouterr()
        return Said(code, out, err)

    def check(self, line: str = "") -> Said:
        """Run ``tolcost check`` with what a shell would make of a line."""
        return self.run("check", *shlex.split(line))

    def locked(self, **files: str) -> None:
        """Programs that are locked and committed."""
        self.write(**files)
        assert self.check("--update").code == 0
        self.commit()

    @property
    def lock(self) -> str:
        return (self.root / "tolcost.lock").read_text(encoding="utf-8")


def lock_line(*items: object) -> str:
    """A line of a lock file."""
    return json.dumps(items)


def project_in(root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    """A new repository, and its folder the current one."""
    folder = root / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GIT_INDEX_FILE", raising=False)
    (root / "no-settings").touch()
    project = Project(folder, capsys)
    project.git("init", "--quiet")
    return project
