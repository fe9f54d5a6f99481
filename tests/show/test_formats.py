"""A new format is a function and a row of the table of writers: commands offer it without more."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tolcost import cli
from tolcost.show.latex import latex_text

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
MATMUL, BLOCKS = "specs/examples/matmul.tol", "specs/examples/block_attention.tol"
BERT = "examples/bert.onnx"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", WITH_ANOTHER, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", [("analyze", MATMUL), ("model", "examples/bert.onnx", "--top", "3")])
def test_a_row_of_the_table_is_a_format(command: tuple[str, ...]) -> None:
    shown = run(*command, "--format", "shout").stdout
    assert "EOPS" in shown
    assert shown == shown.upper()
    assert "shout" in run(command[0], "--help").stdout


@pytest.mark.parametrize("command", [["analyze", MATMUL], ["analyze", BLOCKS], ["model", BERT, "--top", "3"]])
def test_latex_is_what_another_program_reads(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Every formula is read by matplotlib, and what a name says is text."""
    from matplotlib.mathtext import MathTextParser

    assert cli.run([*command, "--format", "latex"]) == 0
    said = capsys.readouterr().out
    formulas = re.findall(r"(?<!\\)(\$[^$]+\$)", said)
    assert len(formulas) > 9
    for formula in formulas:
        MathTextParser("agg").parse(formula)
    for table in re.findall(r"\\begin\{tabular\}\{(\w+)\}\n(.*?)\n\\end", said, re.DOTALL):
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in table[1].split("\n")} == {len(table[0])}


def test_names_do_nothing_in_latex() -> None:
    assert latex_text(r"\input{x} $y$ a_b % <= ~") == (
        r"\textbackslash{}input\{x\} \$y\$ a\_b \% $\leq$ \textasciitilde{}"
    )


def test_parts_of_other_formats_are_not_offered() -> None:
    done = run("analyze", MATMUL, "--format", "fragment")
    assert (done.returncode, "text, json, md, csv, latex, shout" in done.stderr.replace("'", "")) == (2, True)
