"""Neovim and Helix themselves, set up by README's own lines, wherever they are installed."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tools import readme

ROOT = readme.ROOT
MISTAKE = "tol a: R [n]\ny := map(a, exq(*))\n"
UNTIDY = "tol a:R[n]\ny:=map(a,exp(*))\n"
TIDY = "tol a: R [n]\ny := map(a, exp(*))\n"
SECONDS = 60

_NEOVIM = """
local said = vim.wait(SECONDS, function() return #vim.diagnostic.get(0) > 0 end, 50)
for _, one in ipairs(vim.diagnostic.get(0)) do print(one.lnum, one.message) end
vim.api.nvim_buf_set_lines(0, 1, 2, true, { "y := map(a, exp(*))" })
vim.wait(SECONDS, function() return #vim.diagnostic.get(0) == 0 end, 50)
local place = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = 1, character = 0 } }
for _, one in pairs(vim.lsp.buf_request_sync(0, "textDocument/hover", place, SECONDS) or {}) do
  print(one.result and one.result.contents.value)
end
vim.cmd("qall!")
""".replace("SECONDS", f"{SECONDS}000")


def _has_neovim() -> bool:
    if shutil.which("nvim") is None:
        return False
    asked = ["nvim", "--clean", "--headless", "+lua print(vim.lsp.enable ~= nil)", "+qall"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return "true" in done.stdout + done.stderr


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, in which every line of README about an editor's settings was run."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    for editor in ("nvim", "helix"):
        (tmp_path / ".config" / editor).mkdir(parents=True)
    for command in readme.run_by(readme.TEST):
        if "editors/" in command:
            subprocess.run(["bash", "-euc", command], cwd=ROOT, check=True)
    return tmp_path


@pytest.mark.skipif(not _has_neovim(), reason="needs Neovim 0.11 or newer")
def test_neovim_shows_mistakes_and_costs(home: Path) -> None:
    program, script = home / "p.tol", home / "asked.lua"
    program.write_text(MISTAKE, "utf-8")
    script.write_text(_NEOVIM, "utf-8")
    done = subprocess.run(
        ["nvim", "--headless", str(program), f"+luafile {script}"],
        capture_output=True, text=True, check=False, timeout=4 * SECONDS,
    )  # fmt: skip
    said = done.stdout + done.stderr
    assert "exq" in said, said
    assert "EOPs" in said, said


@pytest.mark.skipif(shutil.which("hx") is None, reason="needs Helix")
def test_helix_lays_out_what_is_saved(home: Path) -> None:
    """Helix has no way to be asked without a screen: it is typed to, and its server changes the file."""
    program = home / "p.tol"
    program.write_text(UNTIDY, "utf-8")
    child, screen = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm"
        os.execvp("hx", ["hx", str(program)])
    threading.Thread(target=_drained, args=(screen,), daemon=True).start()
    try:
        until = time.monotonic() + SECONDS
        while program.read_text("utf-8") != TIDY and time.monotonic() < until:
            time.sleep(1)
            _typed(screen, b":w\r")
        assert program.read_text("utf-8") == TIDY
    finally:
        _typed(screen, b":q!\r")
        time.sleep(0.5)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _typed(screen: int, command: bytes) -> None:
    """Escape on its own: with a key right behind it, it would be that key with Alt."""
    os.write(screen, b"\x1b")
    time.sleep(0.2)
    os.write(screen, command)


def _drained(screen: int) -> None:
    try:
        while os.read(screen, 65536):
            pass
    except OSError:  # it has ended
        return
