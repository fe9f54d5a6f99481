"""Entries of a lock file: bounds in the order they are read in, figures not known, lines that moved."""

from __future__ import annotations

import pytest

import tolcost
from tests.check import notation
from tests.check.support import Project
from tolcost.algebra import conj, data_symbol, disj, eq, ge, length, the_symbol
from tolcost.check.entries import costed_program, entry_from
from tolcost.check.matching import alone, symbol_table
from tolcost.check.records import UNKNOWN, FigureStatus, LockedFigure
from tolcost.diagnostics import Source
from tolcost.pipeline import lower, read_program
from tolcost.testing import assert_cost


def test_a_bound_comes_after_what_it_mentions() -> None:
    n = length("n")
    z = data_symbol("z", 0, n)
    y = data_symbol("y", 0, z)
    x = data_symbol("x", y, z)
    entry = entry_from("e", (), (), {"eops": ("exact", x + y + z)})
    assert entry.domain == notation.domain("", "z from 0..n; y from 0..z; x from y..z")
    table = symbol_table(entry)
    assert the_symbol(table["x"]).hi == table["z"]


def test_a_figure_that_is_not_known_mentions_nothing() -> None:
    figures = (("eops", LockedFigure("unknown", UNKNOWN)), ("macs", LockedFigure("exact", "n*m")))
    read = alone(notation.entry("e", "x R[n]", figures=figures))
    assert sorted(read.new) == ["m", "n"]


def test_conditions_that_leave_a_choice_are_kept() -> None:
    n, m, k = length("n"), length("m"), length("k")
    both = conj(eq(n - m), eq(k - m))
    entry = entry_from("e", (), (disj(eq(n - k), ge(1 - k)), disj(both, ge(n - 9))), {"eops": ("exact", n)})
    assert entry.domain == notation.domain("", "k == m or n >= 9; k == n or k <= 1; m == n or n >= 9")
    assert set(alone(entry).facts) >= {disj(eq(n - k), ge(1 - k)), disj(eq(n - m), ge(n - 9))}


EMPTY_AT_ONE = "tol x: R [n]\ntol w: R [n]\ny := map(tol[n - 1], x[1] * w[i], [i])\n"


@pytest.mark.parametrize("assume, status", [((), "at-most"), (("n >= 2",), "exact")])
def test_what_a_range_without_elements_does_not_take_is_at_most(
    assume: tuple[str, ...], status: FigureStatus
) -> None:
    program = lower(read_program(Source("e.tol", EMPTY_AT_ONE))).program
    figures = dict(costed_program("e", program, ("eops", "bytes", "span"), assume).entry.figures)
    assert figures["eops"] == LockedFigure("exact", "n - 1")
    assert (figures["bytes"], figures["span"]) == (LockedFigure(status, "8*n - 4"), LockedFigure(status, "1"))


def test_nothing_is_concluded_from_two_bounds(project: Project) -> None:
    project.locked(empty=EMPTY_AT_ONE)
    project.write(empty=EMPTY_AT_ONE.replace("w[i],", "w[i + 0],").replace("x[1]", "x[1 + 0]"))
    assert "bytes   undecided" in project.check().out


def test_one_line_that_became_two(project: Project) -> None:
    project.locked(sum="tol x: R [n]\ny := map(x, exp(*))\n")
    project.write(sum="tol x: R [n]\nz := map(x, exp(*))\ny := map(z, ln(*))\n")
    for against in ("", "--base HEAD"):
        said = project.check(against)
        assert said.code == 1
        assert "sum.tol:3: ln:R was 0, is n" in said.out


def test_bytes_that_may_be_fewer_are_asserted_as_a_limit_only() -> None:
    with pytest.raises(AssertionError, match=r"bytes is at most 8\*n - 4, and 8\*n - 4 can be asserted"):
        assert_cost(EMPTY_AT_ONE, bytes="8*n - 4")
    assert_cost(EMPTY_AT_ONE, bytes="<= 8*n - 4")
    found = tolcost.analyze(EMPTY_AT_ONE)
    assert [found(n=n).bytes_exact for n in (1, 2)] == [False, True]
