"""What a map or a reduce builds is one work: an entry of it costs what all of it does, whichever it is."""

import random
from collections.abc import Callable

import pytest

from tolcost.algebra import Poly
from tolcost.cost import count
from tolcost.diagnostics import Rejected
from tools.programs.road import lowered

INPUTS = "tol x: R [n]\ntol w: R [2]\n"
NUMBERS = ("x[1]", "x[2]", "w[1]", "3", "0.5", "n", "exp(n)", "x[1] * 2", "sin(w[2])", "exp(3)")
BODIES = (
    "exp(*)",
    "* + 1",
    "* * x[1]",
    "* * *",
    "sin(* + 2)",
    "2 * n",
    "where(* > 1, *, 2)",
    "map([*, n], exp(*))[2]",
)
STEPS = ("a[1] + e", "a[2] * 2", "e", "a[1]", "exp(a[1])", "a[1] + a[2]", "n", "max(a[1], e)")
WALKED = ("x", "w", "tol[2]", "1..3", "tol[n]", "map(w, exp(*))")


def bracket(draw: random.Random, items: tuple[str, ...], size: int) -> str:
    return f"[{', '.join(draw.choices(items, k=size))}]"


def a_map(draw: random.Random, size: int) -> str:
    built = f"map({bracket(draw, NUMBERS, size)}, {draw.choice(BODIES)})"
    return f"map({built}, {draw.choice(BODIES)})" if draw.random() < 0.4 else built


def a_reduce(draw: random.Random, size: int) -> str:
    over = draw.choice((*WALKED, bracket(draw, NUMBERS, 3)))
    step, start = bracket(draw, STEPS, size), bracket(draw, NUMBERS[:6], size)
    return f"reduce({over}, (a, e) => {step}, {start})"


def eops(expression: str) -> Poly:
    return count(lowered(f"{INPUTS}y := {expression}\n").program).eops


@pytest.mark.parametrize("make", [a_map, a_reduce])
def test_an_entry_costs_what_all_of_them_do(make: Callable[[random.Random, int], str]) -> None:
    told = 0
    for seed in range(150):
        draw = random.Random(seed)
        size = draw.randint(2, 3)
        built = make(draw, size)
        try:
            whole = eops(built)
        except Rejected:
            continue
        assert {eops(f"{built}[{k}]") for k in range(1, size + 1)} == {whole}, built
        told += 1
    assert told > 100
