"""``tolcost fmt`` on files."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tolcost.cli.fmt import Formatted, fmt, format_file

UGLY, PRETTY = "y:=map( x,exp )", "y := map(x, exp)\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def run(*paths: Path, check: bool = False) -> tuple[int, list[Formatted]]:
    told: list[Formatted] = []
    return fmt(paths, check, told.append), told


def test_formats_in_place(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tol", UGLY)
    file.chmod(0o640)
    assert run(file) == (0, [Formatted(file, changed=True)])
    assert file.read_text("utf-8") == PRETTY
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert run(file) == (0, [Formatted(file)])
    assert [p.name for p in tmp_path.iterdir()] == ["a.tol"]


def test_check_changes_nothing(tmp_path: Path) -> None:
    ugly, pretty = write(tmp_path / "a.tol", UGLY), write(tmp_path / "b.tol", PRETTY)
    assert run(ugly, pretty, check=True)[0] == 1
    assert ugly.read_text("utf-8") == UGLY
    assert run(pretty, check=True)[0] == 0


def test_broken_files_are_left_alone(tmp_path: Path) -> None:
    broken, ugly = write(tmp_path / "a.tol", "y = ("), write(tmp_path / "b.tol", UGLY)
    code, (first, second) = run(broken, ugly, tmp_path / "missing.tol")[0], run(broken, ugly)[1]
    assert code == 2
    assert [d.code for d in first.diagnostics] == ["T0102"]
    assert second.diagnostics == ()
    assert broken.read_text("utf-8") == "y = ("
    assert ugly.read_text("utf-8") == PRETTY


def test_links_are_followed(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tol", UGLY)
    link = tmp_path / "link.tol"
    link.symlink_to(file)
    assert format_file(link).changed
    assert link.is_symlink()
    assert file.read_text("utf-8") == PRETTY


def test_failure_while_writing_keeps_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    file = write(tmp_path / "a.tol", UGLY)
    monkeypatch.setattr("os.fsync", full)
    (diagnostic,) = format_file(file).diagnostics
    assert diagnostic.message == "cannot write the file: no space left on device"
    assert [(p.name, p.read_text("utf-8")) for p in tmp_path.iterdir()] == [("a.tol", UGLY)]
