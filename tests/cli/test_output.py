"""A file is there whole, or as it was before."""

import os
from pathlib import Path

import pytest

from tolcost.cli import run
from tolcost.cli.output import write_whole

MATMUL = str(Path(__file__).parent / "programs" / "matmul.tol")


def test_output_goes_to_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", MATMUL, "--format", "csv"]) == 0
    shown = capsys.readouterr().out
    assert run(["analyze", MATMUL, "--format", "csv", "--output", str(tmp_path / "costs.csv")]) == 0
    assert capsys.readouterr().out == ""
    assert (tmp_path / "costs.csv").read_text(encoding="utf-8") == shown
    assert [path.name for path in tmp_path.iterdir()] == ["costs.csv"]


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
def test_a_failure_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    target = tmp_path / "result.txt"
    target.write_text("before", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_whole(target, b"after")
    assert caught.value.filename == str(target)
    assert target.read_text(encoding="utf-8") == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["result.txt"]


def test_permissions_stay(tmp_path: Path) -> None:
    target = tmp_path / "result.txt"
    target.write_text("before", encoding="utf-8")
    target.chmod(0o640)
    write_whole(target, b"after")
    assert target.read_bytes() == b"after"
    assert target.stat().st_mode & 0o777 == 0o640
