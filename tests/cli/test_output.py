"""A file is there whole, or as it was before."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from tolcost.cli import run
from tolcost.cli.output import write_whole
from tolcost.models.walking import Session
from tools.models import graphs

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


# ---- never over what is read -------------------------------------------------------------------


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(Path(MATMUL).parent, tmp_path, dirs_exist_ok=True)
    onnx.save(graphs.bert(17, graphs.SMALL), tmp_path / "m.onnx")
    (tmp_path / "link.txt").symlink_to("matmul.tol")
    (tmp_path / "hard.txt").hardlink_to(tmp_path / "matmul.tol")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "analyze matmul.tol -o matmul.tol",
        "analyze matmul.tol -o sub/../matmul.tol",
        "analyze matmul.tol -o link.txt",
        "analyze matmul.tol -o hard.txt",
        "analyze link.txt -o matmul.tol",
        "analyze pairs.tol matmul.tol -o matmul.tol",
        "analyze matmul.tol --weights energy-45nm -o untidy.tol",
        "explain matmul.tol -o matmul.tol",
        "lower matmul.tol -o matmul.tol",
        "diff pairs.tol matmul.tol -o matmul.tol",
        "diff matmul.tol matmul.tol -o link.txt",
        "model m.onnx -o m.onnx",
        "model m.onnx --annotate m.onnx",
        "model m.onnx -o matmul.tol",
        "ops Relu -o matmul.tol",
    ],
)
def test_a_result_never_goes_over_an_input(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert run(command.split()) == 2
    assert "over" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_link_is_written_through(folder: Path) -> None:
    (folder / "real.csv").write_text("before", encoding="utf-8")
    (folder / "out.csv").symlink_to("real.csv")
    (folder / "new.csv").symlink_to("sub/later.csv")
    for name, real in (("out.csv", "real.csv"), ("new.csv", "sub/later.csv")):
        assert run(["analyze", "matmul.tol", "--format", "csv", "-o", name]) == 0
        assert (folder / name).is_symlink()
        assert (folder / real).read_text(encoding="utf-8").startswith("program,")


@pytest.mark.skipif(os.geteuid() == 0, reason="for root no folder is read-only")
def test_a_folder_that_is_read_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "sub").chmod(0o555)
    assert run(["analyze", "matmul.tol", "-o", "sub/out.txt"]) == 2
    assert "sub/out.txt: permission denied" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_disk_that_is_full(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tolcost", "analyze", "matmul.tol", "-o", "/dev/full"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (2, "error: /dev/full: no space left on device\n")
    with Path("/dev/full").open("w") as full:
        shown = subprocess.run(
            [sys.executable, "-m", "tolcost", "analyze", "matmul.tol"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (shown.returncode, shown.stderr) == (2, "error: no space left on device\n")


def test_a_model_that_takes_long_tells_how_far_it_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a pipe nothing is shown; on a terminal a line, which is gone at the end."""
    monkeypatch.setattr("tolcost.cli.output._PATIENCE", 0.0)
    assert run(["model", "m.onnx", "--dim", "batch=3"]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("tolcost.cli.model.Session", lambda library: Session(library, None))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run(["model", "m.onnx", "--dim", "batch=3"]) == 0
    told = capsys.readouterr().err
    assert re.search(r"\d+/\d+, about [\d.]+ (s|min|h) left: ", told)
    assert told.endswith("\r\x1b[K")


def test_a_terminal_that_lacks_a_character(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tolcost", "lower", "matmul.tol"],
        capture_output=True,
        encoding="ascii",
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert r"\u039e\u22c8 [i \u2264 n, " in done.stdout


def test_what_programs_read_is_in_utf_8_whatever_the_terminal_has(folder: Path) -> None:
    """A page said that it was in UTF-8, and stood in the encoding of the locale."""

    def shown(*arguments: str, given: bytes = b"") -> bytes:
        command = [sys.executable, "-m", "tolcost", *arguments]
        foreign = {**os.environ, "PYTHONIOENCODING": "latin-1"}
        return subprocess.run(command, input=given, capture_output=True, env=foreign, check=False).stdout

    greek = "tol x: R [n]  # \u03bb \u00b2\ny := map(x, exp)\n".encode()
    (folder / "greek.tol").write_bytes(greek)
    page = shown("diff", "matmul.tol", "greek.tol", "--format", "html")
    shown("diff", "matmul.tol", "greek.tol", "--format", "html", "--output", "page.html")
    assert not page.isascii()
    assert page == (folder / "page.html").read_bytes()
    assert shown("fmt", "-", given=greek) == greek


def test_standard_input_is_formatted_to_standard_output() -> None:
    """As editors and hooks do it: `-` was taken for a file of that name."""

    def formatted(text: str, *options: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "tolcost", "fmt", "-", *options]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    tidy = "tol x: R [n]\ny := map(x, exp(*))\n"
    untidy = tidy.replace(" :=", ":=")
    assert formatted(untidy) == formatted(tidy) == (0, tidy)
    assert formatted(untidy, "--check") == (1, "would change <stdin>\n")
    assert formatted("y := (") == (2, "")
