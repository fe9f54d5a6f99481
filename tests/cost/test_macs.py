"""Multiply–accumulates: closed forms beside products that are followed through a run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cost.brute_macs import hold_macs
from tolcost.cost import count
from tolcost.diagnostics import Rejected
from tools.generate.loops import loop_program
from tools.generate.programs import Case, generate
from tools.programs.road import lengths_of, lowered

PROGRAMS = 120
"""A slice; those of ``specs/`` are held in ``test_second_opinion.py``."""


@pytest.mark.parametrize("make", [generate, loop_program])
def test_random_programs(make: Callable[[int], Case]) -> None:
    found = []
    for seed in range(PROGRAMS):
        case = make(seed)
        try:
            program = lowered(case.text).program
        except Rejected:
            continue
        point = case.points[-1]
        found.append(hold_macs(program, {symbol: point[symbol.name] for symbol in lengths_of(program)}))
    assert found.count(True) >= 5
    assert len(found) - found.count(None) > 0.7 * PROGRAMS


ONLINE = """
tol q: R [e]
tol k: R [t, e]
tol v: R [t, w]
score(j) = reduce(tol[e], (s, z) => s + q[l] * k[j, l], 0, [l])
step(s, j) = {
  (top, sum, values) = s
  x = score(j)
  m = max(top, x)
  c = exp(top - m)
  u = exp(x - m)
  (m, sum * c + u, map(values, * * c + u * v[j, l], [l]))
}
s = reduce(tol[t], (s, z) => step(s, j), (-Inf, 0, convert(tol[w], R)), [j])
y := map(s[3]', * / s[2]')
"""


@pytest.mark.parametrize(
    "text, macs",
    [
        (ONLINE, "e*t + t*w"),
        ("tol x: R [n]\ntol a: R\ntol b: R\ny := reduce(x, (s, e) => a * s + b * e, 0)\n", "n"),
        ("tol x: R [n]\ntol a: R\ny := reduce(x, (s, e) => a * s + e, 0)\n", "0"),
        ("tol x: R [n]\ntol a: R\ny := reduce(x, (s, e) => (a * s + 2.5 * e) * a, 0)\n", "0"),
        # a gate is another number for each member
        (
            "tol g: R [n, m]\ntol x: R [n, m]\n"
            "y := reduce(tol[n], (s, z) => map(s, * * g[i, j] + x[i, j] * x[1, j], [j]), tol[m], [i])\n",
            "0",
        ),
        (
            "tol g: R [n]\ntol x: R [n, m]\n"
            "y := reduce(tol[n], (s, z) => map(s, * * g[i] + x[i, j] * x[1, j], [j]), tol[m], [i])\n",
            "m*n",
        ),
        # both terms are the accumulator's own
        (
            "tol c: R [n]\ntol x: R [2]\ny := reduce(c, (s, e) => map(s, * * e + s[3 - i] * c[1], [i]), x)\n",
            "0",
        ),
        # what is added to the accumulator itself counts, whatever its factors are
        ("tol c: R [n]\ntol x: R [2]\ny := reduce(c, (s, e) => map(s, * + s[1] * e, [i]), x)\n", "2*n"),
    ],
)
def test_products_that_are_added_to_an_accumulator_times_one_number(text: str, macs: str) -> None:
    program = lowered(text).program
    assert str(count(program).macs) == macs
    assert hold_macs(program, dict.fromkeys(lengths_of(program), 3)) == (macs != "0")
