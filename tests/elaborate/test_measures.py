"""Measures that fall: no run takes more turns than they allow, and some run takes as many."""

import numpy as np
import pytest

from tolcost.algebra import Poly, evaluate
from tolcost.atoms.nodes import Program
from tolcost.cost import count
from tolcost.diagnostics import Source
from tolcost.execute import run_reference
from tolcost.pipeline import lower, read_program

BISECTION = """tol x: Z [n]
tol key: Z
y := while((s) => s[1]' {compared} s[2]', (s) => {{
  mid = convert(floor((s[1]' + s[2]') / 2), Z)
  below = x[mid] < key
  (where(below, mid + 1, s[1]'), where(below, s[2]', mid{less}))
}}, (1, n))[1]'
"""


def _bounded(text: str) -> tuple[Program, Poly]:
    program = lower(read_program(Source("case.tol", text))).program
    (turns,) = [symbol for symbol in count(program).eops.free if symbol.role == "turns"]
    assert turns.hi is not None
    return program, turns.hi


@pytest.mark.parametrize("compared, less", [("<", ""), ("<=", " - 1")])
def test_bisection_takes_no_more_turns_than_its_bound_and_sometimes_as_many(compared: str, less: str) -> None:
    program, most = _bounded(BISECTION.format(compared=compared, less=less))
    (n,) = most.free
    for size in range(1, 10):
        x = 2 * np.arange(size)
        found = [run_reference(program, {"x": x, "key": np.array(key)}, {}) for key in range(-1, 2 * size)]
        taken = [next(v for s, v in run.bindings.items() if s.role == "turns") for run in found]
        assert max(taken) == evaluate(most, {n: size})
        assert [int(run.outputs["y"]) for run in found] == [
            min(int(np.searchsorted(x, key)) + 1, size if compared == "<" else size + 1)
            for key in range(-1, 2 * size)
        ]


def test_euclid_takes_no_more_turns_than_twice_the_bits() -> None:
    text = "tol a: N\ntol b: uint8\ny := while((s) => s[2]' > 0, (s) => (s[2]', s[1]' % s[2]'), (a, b))[1]'\n"
    program, most = _bounded(text.replace("tol a: N", "tol a: uint8"))
    pairs = [(a, b) for a in (144, 233, 255, 89) for b in (1, 55, 89, 144, 254, 255)]
    for a, b in pairs:
        run = run_reference(program, {"a": np.array(a, np.uint8), "b": np.array(b, np.uint8)}, {})
        taken = next(v for s, v in run.bindings.items() if s.role == "turns")
        assert taken <= evaluate(most, {}) == 16
        assert run.outputs["y"] == np.gcd(a, b)


def test_a_remainder_in_the_condition_may_be_another_one_at_every_turn() -> None:
    text = (
        "tol a: N\ntol b: N\n"
        "y := while((s) => s[1]' + (s[2]' % 10) > 0, (s) => (s[1]' - 1, s[2]' + 3), (a % 5, b))[1]'\n"
    )
    program, most = _bounded(text)
    found = [
        run_reference(program, {"a": np.array(a), "b": np.array(b)}, {}).bindings
        for a in range(5)
        for b in range(10)
    ]
    taken = [next(v for s, v in run.items() if s.role == "turns") for run in found]
    assert max(taken) <= evaluate(most, {}) == 13
    assert len(set(taken)) > 5


def test_a_remainder_that_stays_bounds_turns_by_its_least_value() -> None:
    program, most = _bounded("tol a: N\ntol b: N\ny := while((z) => z > b % 3, (z) => z - 1, a % 5)\n")
    taken = [
        next(v for s, v in run.items() if s.role == "turns")
        for a in range(5)
        for b in range(3)
        for run in [run_reference(program, {"a": np.array(a), "b": np.array(b)}, {}).bindings]
    ]
    assert max(taken) == evaluate(most, {}) == 4
