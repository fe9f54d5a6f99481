"""``tolcost fmt`` on folders: every program below them, and nothing else."""

from pathlib import Path

import pytest

from tolcost.cli import run

TIDY = "tol x: R [n]\ny := map(x, exp(*))\n"
FILES = ("a.tol", "deep/er/b.tol", "tidy.tol", ".hidden/c.tol", ".d.tol", "node_modules/e.tol", "f.txt")
UNTIDY = TIDY.replace(" :=", ":=")


@pytest.fixture(name="project")
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with programs to format, and a folder beside it that it must leave alone."""
    root = tmp_path / "project"
    for name in FILES:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(TIDY if name == "tidy.tol" else UNTIDY, encoding="utf-8")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "g.tol").write_text(UNTIDY, encoding="utf-8")
    (root / ".git").mkdir()
    (root / "out").symlink_to(elsewhere)
    (root / "g.tol").symlink_to(elsewhere / "g.tol")
    monkeypatch.chdir(root)
    return root


def changed(project: Path) -> list[str]:
    """The files that are no longer as they were written."""
    every = sorted(project.parent.rglob("*.t*"))
    return [str(file.relative_to(project.parent)) for file in every if file.read_text() == TIDY]


def test_a_folder_means_the_programs_below_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fmt", "."]) == 0
    assert capsys.readouterr().out == "changed a.tol\nchanged deep/er/b.tol\n"
    assert changed(project) == ["project/a.tol", "project/deep/er/b.tol", "project/tidy.tol"]


def test_check_lists_all_files(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fmt", "--check", "deep", "tidy.tol", "a.tol"]) == 1
    assert capsys.readouterr().out == "would change deep/er/b.tol\nwould change a.tol\n"
    assert changed(project) == ["project/tidy.tol"]


def test_a_hidden_folder_that_is_named_is_formatted(project: Path) -> None:
    assert run(["fmt", ".hidden"]) == 0
    assert (project / ".hidden/c.tol").read_text() == TIDY


def test_a_folder_without_programs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "empty").mkdir()
    assert run(["fmt", "empty"]) == 0
    assert capsys.readouterr().err == "warning: there is no .tol file below empty\n"
