"""Colours have a meaning, and a pipe gets none unless it asks for them."""

import shutil
import sys
from pathlib import Path

import pytest

from tolcost.cli import run

EXAMPLES = Path(__file__).parents[2] / "specs" / "examples"
RED, GREEN, YELLOW, BOLD, DIM = ("\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[2m")
CHEAPER = "tol x: R [n]\ny := map(x, exp(*))\n"
COSTLIER = "tol x: R [n]\ny := map(x, exp(* + 1))\n"


@pytest.fixture(autouse=True)
def _programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    (tmp_path / "less.tol").write_text(CHEAPER)
    (tmp_path / "more.tol").write_text(COSTLIER)
    shutil.copy(EXAMPLES / "positive.tol", tmp_path)
    monkeypatch.chdir(tmp_path)


def shown(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    run(command.split())
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "command", ["diff less.tol more.tol", "explain more.tol", "ops Exp", "analyze more.tol --symbolic"]
)
def test_a_pipe_has_colours_only_if_asked(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = shown(command, capsys)
    assert "\x1b" not in plain
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.setenv(name, "1")
        assert BOLD in shown(command, capsys)
        monkeypatch.setenv(name, "0")
        assert shown(command, capsys) == plain
        monkeypatch.delenv(name)
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert shown(command, capsys) == plain


def test_a_terminal_has_colours_unless_it_refuses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert BOLD in shown("explain more.tol", capsys)
    for name, value in (("NO_COLOR", "1"), ("CLICOLOR", "0"), ("TERM", "dumb")):
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            assert "\x1b" not in shown("explain more.tol", capsys)


def test_cheaper_is_green_costlier_red_and_what_is_not_exact_yellow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert f"{RED}costlier" in shown("diff less.tol more.tol", capsys)
    assert f"{GREEN}cheaper" in shown("diff more.tol less.tol", capsys)
    assert f"{YELLOW}depends on data" in shown("analyze positive.tol --symbolic", capsys)
    assert f"{DIM}line 2" in shown("explain more.tol", capsys)
