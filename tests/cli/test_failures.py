"""Every way to fail has its exit code and its words, and none of them is a traceback."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

import tolcost.cli.analyze
from tolcost.algebra import AlgebraBudget
from tolcost.cli import run
from tolcost.cli.output import exit_code
from tolcost.diagnostics import Diagnostic, InternalError, Rejected

PROGRAMS = Path(__file__).parent / "programs"
MATMUL = str(PROGRAMS / "matmul.tol")


@pytest.mark.parametrize(
    "error, code, words",
    [
        (Rejected(Diagnostic("T0301", "no")), 2, "error[T0301]: no"),
        (AlgebraBudget("a sum has too many terms"), 2, "error[T0504]"),
        (RecursionError(), 2, "error[T0505]"),
        (MemoryError(), 2, "error[T0505]"),
        (OSError(28, "No space left on device", "out.txt"), 2, "error: out.txt: no space left on device"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (click.Abort(), 130, "interrupted"),
        (click.ClickException("odd"), 2, "odd"),
        (InternalError("a rule is broken"), 70, "internal error: InternalError: a rule is broken"),
        (KeyError("x"), 70, "report"),
    ],
)
def test_failures(error: BaseException, code: int, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(error) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert "Traceback" not in err


def test_a_traceback_is_there_for_the_asking(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("deep inside")

    monkeypatch.setattr(tolcost.cli.analyze, "analyze_parsed", broken)
    assert run(["analyze", MATMUL]) == 70
    assert "Traceback" not in capsys.readouterr().err
    monkeypatch.setenv("TOLCOST_TRACEBACK", "1")
    assert run(["analyze", MATMUL]) == 70
    assert "Traceback" in capsys.readouterr().err


def test_a_program_that_is_too_large_does_not_stop_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    genuine = tolcost.cli.analyze.analyze_parsed

    def fussy(parsed: object, given: object, file: str) -> object:
        if file == MATMUL:
            raise AlgebraBudget("too large")
        return genuine(parsed, given, file)  # type: ignore[arg-type]

    monkeypatch.setattr(tolcost.cli.analyze, "analyze_parsed", fussy)
    assert run(["analyze", MATMUL, str(PROGRAMS / "triangle.tol"), "--metric", "eops"]) == 2
    out, err = capsys.readouterr()
    assert "n*(n + 1)/2" in out
    assert "T0504" in err


def test_a_reader_that_stops_reading_is_no_error() -> None:
    command = f"{sys.executable} -m tolcost analyze {' '.join([MATMUL] * 200)} | head -n 1"
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        cwd=root,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert done.stdout.startswith("matmul  ")
    assert done.stderr == ""


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize("file, code", [(MATMUL, 0), ("none.tol", 2)])
def test_an_output_that_is_closed_is_no_error(closed: str, file: str, code: int) -> None:
    tool = f"{shlex.quote(sys.executable)} -m tolcost analyze {shlex.quote(file)} {closed}"
    assert subprocess.run(["sh", "-c", tool], check=False, capture_output=True).returncode == code


def test_standard_input_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        [sys.executable, "-m", "tolcost", "analyze", "-", "--metric", "eops"],
        input="tol x: R [n]\ny := map(x, exp)\n", capture_output=True, text=True, cwd=root, check=True,
    )  # fmt: skip
    assert "stdin" in done.stdout
    assert "EOPs     n" in done.stdout


def test_colours_only_where_they_show(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    run(["analyze", MATMUL])
    assert "\x1b[1m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    run(["analyze", MATMUL])
    assert "\x1b" not in capsys.readouterr().out
