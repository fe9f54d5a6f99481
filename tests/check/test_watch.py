"""Checking again whenever something changes."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from tests.check.support import Project
from tests.check.texts import SUM, SUM_OF_EXP
from tolcost.cli.check import watch_project


def test_it_runs_again_after_a_change(project: Project) -> None:
    project.locked(sum=SUM)
    codes: list[int] = []

    def once() -> int:
        codes.append(project.run("check").code)
        if len(codes) == 1:
            project.write(sum=SUM_OF_EXP)  # an author at work
        elif len(codes) == 2:
            project.write(sum="half a pro(")
        return codes[-1]

    assert watch_project(once, project.root, pause=0.01, rounds=3) == 2
    assert codes == [0, 1, 2]


def test_it_waits_while_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "a.tol").write_text(SUM)
    runs: list[float] = []

    def once() -> int:
        runs.append(time.monotonic())
        return 0

    later = threading.Timer(0.3, lambda: (tmp_path / "a.tol").write_text(SUM_OF_EXP))
    later.start()
    watch_project(once, tmp_path, pause=0.02, rounds=2)
    assert runs[1] - runs[0] > 0.2


def test_a_failure_does_not_end_it(tmp_path: Path, project: Project) -> None:
    (tmp_path / "a.tol").write_text(SUM)
    runs: list[int] = []

    def once() -> int:
        runs.append(1)
        (tmp_path / "a.tol").write_text(SUM + "#" * len(runs))
        if len(runs) == 1:
            raise OSError(13, "permission denied", "a.tol")
        return 0

    assert watch_project(once, tmp_path, pause=0.01, rounds=2) == 0
    assert "a.tol: permission denied" in project.capsys.readouterr().err
