"""A choice by data computes its condition, also where its sides are alike: no simplification drops it."""

from __future__ import annotations

import pytest

from tolcost.algebra import const, length
from tolcost.diagnostics import Rejected, Source
from tolcost.pipeline import analyze_source

N = length("n")
PROGRAMS = {
    "y := map(x, where(* > 0, 2, 2))": 2 * N,
    "y := map(x, choose(* > 0, 2, 2))": N,
    "y := map(x, choose(* > 0, *, *))": N,
    "y := choose(x[1] > 0, x, x)": const(1),
    "y := map(x, (v) => { k = choose(v > 0, 1, 1); v + k })": 2 * N,
    "y := reduce(x, (a, e) => where(e > 0, a, a), 0)": 2 * N,
    "y := reduce(x, (a, e) => choose(a > 0, 1, 1) + e, 0)": 2 * N,
    "y := reduce(x, (s, e) => (s[2]', choose(s[1]' > 0, 1, 1) + e), (0, 0))": 2 * N,
}


@pytest.mark.parametrize("body", PROGRAMS)
def test_the_condition_counts(body: str) -> None:
    counted = analyze_source(Source("alike.tol", f"tol x: R [n]\n{body}\n")).counts.eops
    assert counted == PROGRAMS[body]


def test_what_data_chooses_is_no_length() -> None:
    program = (
        "tol x: R [n]\ny := map(x, (v) => { k = choose(v > 0, n, n); reduce(tol[k], (a, e) => a + v, 0) })"
    )
    with pytest.raises(Rejected, match="T0310"):
        analyze_source(Source("alike.tol", program))
