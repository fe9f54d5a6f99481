"""``tolcost fmt`` on files."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tolcost.cli import run as tolcost
from tolcost.cli.fmt import format_file
from tolcost.diagnostics import Rejected

UGLY, PRETTY = "y:=map( x,exp )", "y := map(x, exp)\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def run(*paths: Path, check: bool = False) -> int:
    return tolcost(["fmt", *map(str, paths), *(["--check"] if check else [])])


def test_the_programs_that_come_along_are_formatted(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted((Path(__file__).parents[2] / "specs").rglob("*.tol"))
    assert len(files) > 500
    assert run(*files, check=True) == 0, capsys.readouterr().out


def test_formats_in_place(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tol", UGLY)
    file.chmod(0o640)
    assert run(file) == 0
    assert file.read_text("utf-8") == PRETTY
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert not format_file(file)
    assert [p.name for p in tmp_path.iterdir()] == ["a.tol"]


def test_check_changes_nothing(tmp_path: Path) -> None:
    ugly, pretty = write(tmp_path / "a.tol", UGLY), write(tmp_path / "b.tol", PRETTY)
    assert run(ugly, pretty, check=True) == 1
    assert ugly.read_text("utf-8") == UGLY
    assert run(pretty, check=True) == 0


def test_broken_files_are_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken, ugly = write(tmp_path / "a.tol", "y = ("), write(tmp_path / "b.tol", UGLY)
    assert run(broken, ugly, tmp_path / "missing.tol") == 2
    told = capsys.readouterr()
    assert "error[T0102]" in told.err
    assert told.out == f"changed {ugly}\n"
    assert broken.read_text("utf-8") == "y = ("
    assert ugly.read_text("utf-8") == PRETTY


def test_links_are_followed(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tol", UGLY)
    link = tmp_path / "link.tol"
    link.symlink_to(file)
    assert format_file(link)
    assert link.is_symlink()
    assert file.read_text("utf-8") == PRETTY


def test_failure_while_writing_keeps_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    file = write(tmp_path / "a.tol", UGLY)
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(Rejected, match="cannot write the file: no space left on device"):
        format_file(file)
    assert [(p.name, p.read_text("utf-8")) for p in tmp_path.iterdir()] == [("a.tol", UGLY)]
