"""Two derivations of one count, ours and sympy's, held to each other and to plain counting."""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cost.brute_macs import hold_macs
from tolcost.algebra import Symbol, coordinate, the_symbol
from tolcost.algebra.sympy_sums import SympySums, is_closed, same
from tolcost.atoms.nodes import Program
from tolcost.cli import run
from tolcost.cost.second_opinion import TooSlow, time_limit
from tolcost.cost.unsummed import Summand, TooManyCoordinates, walked
from tolcost.diagnostics import Rejected
from tolcost.pipeline import analyze_lowered
from tools.cost.opinions import batch, plain_programs, random_atoms, rows_of, traps, used_programs
from tools.cost.programs import SYMBOLS, n

N = SYMBOLS[0]
MATMUL = "specs/examples/matmul.tol"
REPORT = Path(__file__).parents[2] / "reports" / "sympy.md"
RECORDED = set(re.findall(r"^\| (specs/\S+) \| (\S+) \| ([^|]+) \|", REPORT.read_text("utf-8"), re.MULTILINE))
"""What sympy does not confirm for all lengths, as the report has it: program, function, verdict."""
LOCK = Path(__file__).parents[2] / "specs" / "tolcost.lock"
LOCKED = {f"specs/{name}" for name in re.findall(r"^(\S+\.tol) eops", LOCK.read_text("utf-8"), re.MULTILINE)}
"""Programs as they stand, which ``make gate`` analyses."""


def small(program: Program) -> dict[Symbol, int]:
    """A few for each length."""
    shapes = (d for given in program.inputs for part in given.type for d in part.shape)
    every = sorted({*program.symbols}.union(*(form.free for form in shapes)), key=lambda symbol: symbol.name)
    return {symbol: 2 + n % 2 for n, symbol in enumerate(every)}


EVERY = 1 if "TOLCOST_SOAK" in os.environ else 3


def test_programs_of_specs():
    """As it stands a program is a result or a diagnostic, never a failure of ours (the gate has most).

    The two agree for all lengths but where sympy is known to stop, and products that are followed through a
    run are added up as often as the closed form says.  Every third program is asked; ``make soak`` asks all.
    """
    chosen = (*plain_programs(EVERY), *used_programs(EVERY))
    for name, found in chosen:
        with suppress(Rejected):
            if name not in LOCKED:
                analyze_lowered(found, name)
    held = [hold_macs(found.program, small(found.program)) for _, found in chosen]
    assert held.count(True) > 30
    rows = [row for name, found in chosen for row in rows_of(name, found.program, seconds=60)]
    assert not [row for row in rows if "wrong" in row.verdict]
    left = {(row.program, row.function, row.verdict) for row in rows if row.verdict != "for all lengths"}
    assert left <= RECORDED, "run `make sympy`"
    assert len(rows) > 600


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_random_programs(start):
    """No count of a random program is found wrong."""
    _, rows = batch(range(start, start + 20))
    wrong = ("ours is wrong", "sympy is wrong", "sympy gives up")
    assert rows
    assert [row for row in rows if row.verdict in wrong] == []


def test_walking_stops():
    """A point with too many coordinates is refused, not visited for hours."""
    row = the_symbol(coordinate("i", n))
    with pytest.raises(TooManyCoordinates):
        walked((Summand(((row, n),), 1),), {N: 10**9}, most=100)


def test_a_triangle_is_summed_and_an_empty_range_is_0():
    """Sympy's sums are those meant."""
    sums = SympySums.over((N,))
    i = coordinate("i", n)
    row, column = the_symbol(i), the_symbol(coordinate("j", i))
    short = sums.total(((row, n), (column, i - 3)))
    assert [sums.at(short, {N: many}) for many in (2, 5)] == [0, 3]
    whole = sums.total(((row, n), (column, i)))
    assert is_closed(whole)
    assert same(2 * whole, sums.poly(n * (n + 1)))


def test_what_takes_too_long_is_stopped():
    """A derivation has so many seconds, and no more."""
    with pytest.raises(TooSlow), time_limit(0.05):
        time.sleep(5)


def test_the_traps_of_the_report_are_traps():
    """What the report says sympy answers wrongly, it does in the version at hand."""
    assert all(answer != right for _, answer, right in traps())


def test_the_command_shows_both(capsys):
    """``--engine sympy`` writes its form, ours, and how far they agree."""
    asked = ["analyze", MATMUL, "--symbolic", "--engine", "sympy"]
    assert run(asked) == 0
    shown = capsys.readouterr().out
    assert "for all lengths" in shown
    assert shown.count("k*m*n") == 4
    assert run([*asked, "--format", "json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["engine"] == "sympy"
    assert content["programs"][0]["functions"][0]["sympy"] == "k*m*n"


@pytest.mark.parametrize("form", ["md", "csv"])
def test_the_command_writes_every_format(form, capsys):
    """What is shown is a document like any other."""
    assert run(["analyze", MATMUL, "--symbolic", "--engine", "sympy", "--format", form]) == 0
    assert "for all lengths" in capsys.readouterr().out


@pytest.mark.parametrize(
    "options", [[], ["--symbolic", "--dim", "n=2"], ["--symbolic", "--weights", "flops"]]
)
def test_the_command_refuses_what_sympy_has_no_part_in(options):
    """Closed forms are all that sympy derives."""
    assert run(["analyze", MATMUL, "--engine", "sympy", *options]) == 2


def test_a_variable_that_leaves_its_sum_is_told():
    """Where sympy is wrong the reason is given, and ours is what counting gives."""
    (row,) = (row for row in rows_of(*random_atoms(6050)) if row.function == "add.R")
    assert row.verdict == "sympy is wrong"
    assert "a variable left its sum, where counting, as ours, gives 99" in row.reason
