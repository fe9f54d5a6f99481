"""The text form of programs."""

from __future__ import annotations

from random import Random

from tests.execute import programs as p
from tests.execute.random_ir import Gen
from tolcost.atoms.text import program_text
from tools.execute.builders import build, coords, lam, mem, n, program, tol


def test_matmul():
    assert program_text(p.matmul()) == (
        "program test\n"
        "  a: R [n, k]\n"
        "  b: R [k, m]\n"
        "  y := Ξ⋈ [i ≤ n, j ≤ m]  : R [n, m]\n"
        "    v = Ξ⋈ [p ≤ k]\n"
        "      Λ(mul.R; Π(a; i, p), Π(b; p, j))\n"
        "    fold [q ≤ k] acc from 0\n"
        "      Λ(add.R; acc, Π(v; q))\n"
    )


def test_choice():
    assert program_text(p.conv(2, 1)).splitlines()[3:] == [
        "  y := Ξ⋈ [f ≤ k, o ≤ floor((n + 1)/2)]  : R [k, floor((n + 1)/2)]",
        "    fold [c ≤ m, q ≤ 3] acc from 0",
        "      %1 = select 2*o + q >= 4 and n >= 2*o + q - 3",
        "        Π(x; c, 2*o + q - 3)",
        "      else",
        "        0",
        "      Λ(add.R; acc, Λ(mul.R; Π(w; f, c, q), %1))",
    ]


def test_shared_nodes_are_written_once():
    text = program_text(p.shared())
    assert len(text.splitlines()) == 24
    assert "%2 = Λ(add.R; %1, %1)" in text


def test_deep_expressions_are_broken_into_lines():
    assert max(map(len, program_text(p.deep()).splitlines())) < 150


def test_equal_names_are_told_apart():
    x = tol("x", "R", n)
    (i,), (j,) = coords(("i", n)), coords(("i", n))
    both = program(build([i, j], [n, n], lam("add", mem(x, i), mem(x, j))), inputs=[x])
    assert "i ≤ n, i_2 ≤ n" in program_text(both)


def test_hostile_names_stay_on_their_line():
    x = tol("x\n\x1b[31m", "R", n)
    assert len(program_text(program(x, inputs=[x])).splitlines()) == 3


def test_random_programs_have_a_text():
    for seed in range(50):
        assert program_text(Gen(Random(seed), faults=True).program()).startswith("program test\n")
