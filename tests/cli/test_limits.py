"""Limits that every command keeps, and pointing from programs to models and back."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from tolcost.cli import COMMANDS, group, run
from tolcost.cli.options import LimitReached, Limits, held_to
from tolcost.platform import memory_used

MATMUL = str(Path(__file__).parent / "programs" / "matmul.tol")


def test_every_command_has_limits() -> None:
    for name in COMMANDS:
        command = group.get_command(click.Context(group, **group.context_settings), name)
        assert command is not None
        assert {"timeout", "max_memory"} <= {parameter.name for parameter in command.params}, name


def test_time_is_limited() -> None:
    start = time.monotonic()
    with pytest.raises(LimitReached, match="--timeout"), held_to(Limits(seconds=0.2)):
        time.sleep(30)
    assert time.monotonic() - start < 5


def hoard() -> None:
    held: list[bytes] = []
    while len(held) < 2_000:
        held.append(b"x" * (1 << 20))
        time.sleep(0.002)


def test_memory_is_limited() -> None:
    limits = Limits(memory=memory_used() + (32 << 20))
    with pytest.raises(LimitReached, match="--max-memory"), held_to(limits):
        hoard()


def test_what_no_memory_holds_is_refused_at_once() -> None:
    with pytest.raises(MemoryError), held_to(Limits(memory=memory_used() + (32 << 20))):
        bytes(64 << 30)
    assert len(bytes(2 << 20)) == 2 << 20


def test_the_command_ends_though_its_work_does_not() -> None:
    lengths = [text for name in "nkm" for text in ("--dim", f"{name}=500")]
    command = ["run", MATMUL, "--random", *lengths, "--engine", "reference", "--timeout", "1"]
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "tolcost", *command], capture_output=True, text=True, timeout=60
    )
    assert time.monotonic() - start < 20
    assert (done.returncode, done.stderr) == (2, "Error: stopped: it took longer than --timeout 1\n")


@pytest.mark.parametrize("size", ["", "x", "0", "-1", "5Q", "1e9"])
def test_sizes_that_are_none(size: str) -> None:
    assert run(["analyze", MATMUL, "--max-memory", size]) == 2


@pytest.mark.parametrize("size", ["2G", "2GiB", "2000m", "9999999999"])
def test_sizes(size: str) -> None:
    assert run(["analyze", MATMUL, "--max-memory", size, "--timeout", "60"]) == 0


def test_too_little_of_either(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["analyze", MATMUL, "--max-memory", "1M"]) == 2
    assert "--max-memory" in capsys.readouterr().err
    for _ in range(20):  # the time is over before the work, in it, or behind it
        assert run(["analyze", MATMUL, "--timeout", "0.000001"]) == 2
        assert "--timeout" in capsys.readouterr().err
        assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


@pytest.mark.parametrize("command", ["analyze", "explain", "lower", "run"])
def test_a_model_given_for_a_program(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, "x.onnx"]) == 2
    assert "`tolcost model x.onnx`" in capsys.readouterr().err


def test_a_program_given_for_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["model", MATMUL]) == 2
    assert f"`tolcost analyze {MATMUL}`" in capsys.readouterr().err
