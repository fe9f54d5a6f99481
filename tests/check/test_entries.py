"""Entries of a lock file: bounds in the order they are read in, figures not known, lines that moved."""

from __future__ import annotations

from tests.check.support import Project
from tolcost.algebra import data_symbol, length, the_symbol
from tolcost.check.entries import entry_from
from tolcost.check.matching import alone, symbol_table
from tolcost.check.records import UNKNOWN, LockedFigure, LockEntry


def test_a_bound_comes_after_what_it_mentions() -> None:
    n = length("n")
    z = data_symbol("z", 0, n)
    y = data_symbol("y", 0, z)
    x = data_symbol("x", y, z)
    entry = entry_from("e", (), (), {"eops": ("exact", x + y + z)})
    assert entry.where == "z from 0..n; y from 0..z; x from y..z"
    table = symbol_table(entry)
    assert the_symbol(table["x"]).hi == table["z"]


def test_a_figure_that_is_not_known_mentions_nothing() -> None:
    figures = (("eops", LockedFigure("unknown", UNKNOWN)), ("macs", LockedFigure("exact", "n*m")))
    read = alone(LockEntry("e", "x R[n]", figures=figures))
    assert sorted(read.new) == ["m", "n"]


def test_one_line_that_became_two(project: Project) -> None:
    project.locked(sum="tol x: R [n]\ny := map(x, exp(*))\n")
    project.write(sum="tol x: R [n]\nz := map(x, exp(*))\ny := map(z, ln(*))\n")
    for against in ("", "--base HEAD"):
        said = project.check(against)
        assert said.code == 1
        assert "sum.tol:3: ln:R was 0, is n" in said.out
