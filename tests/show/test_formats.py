"""A new format is a function and a row of the table of writers: commands offer it without more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WITH_ANOTHER = """
import sys, types
from tolcost.show import document, text
added = types.ModuleType("shouting")
added.shout = lambda shown: text.text(shown).upper()
sys.modules["shouting"] = added
document.WRITERS["shout"] = "shouting:shout"
from tolcost.cli import main
main()
"""
MATMUL = "specs/examples/matmul.tol"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITH_ANOTHER, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", [("analyze", MATMUL), ("model", "examples/bert.onnx", "--top", "3")])
def test_a_row_of_the_table_is_a_format(command: tuple[str, ...]) -> None:
    shown = run(*command, "--format", "shout").stdout
    assert "EOPS" in shown
    assert shown == shown.upper()
    assert "shout" in run(command[0], "--help").stdout


def test_parts_of_other_formats_are_not_offered() -> None:
    done = run("analyze", MATMUL, "--format", "fragment")
    assert (done.returncode, "text, json, md, csv, shout" in done.stderr.replace("'", "")) == (2, True)
