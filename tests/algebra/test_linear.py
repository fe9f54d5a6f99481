"""Elimination never shows what is wrong somewhere, held to all points of small boxes."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from tolcost.algebra import Poly, as_poly, coordinate, evaluate, floordiv, length, relu, the_symbol
from tolcost.algebra.floors import ceil_log2
from tolcost.algebra.linear import follows_linearly
from tolcost.algebra.powers import powers

MOST = 5


def _sum(rng: Random, names: list[Poly]) -> Poly:
    total = as_poly(rng.randint(-6, 6))
    for name in rng.sample(names, rng.randint(1, len(names))):
        total += name * rng.choice((-3, -2, -1, 1, 2))
    return total


def _unknowns(rng: Random, symbols: list[Poly]) -> list[Poly]:
    made = [
        relu(_sum(rng, symbols)) if rng.random() < 0.5 else floordiv(_sum(rng, symbols), rng.randint(2, 4))
        for _ in range(rng.randint(0, 2))
    ]
    return [*symbols, *made]


@pytest.mark.parametrize("batch", range(8))
def test_what_is_shown_holds_at_every_point(batch: int) -> None:
    shown = 0
    for seed in range(batch * 250, batch * 250 + 250):
        rng = Random(seed)
        symbols = [coordinate(name, MOST) for name in "ijk"[: rng.randint(1, 3)]]
        unknowns = _unknowns(rng, symbols)
        goal, *known = (_sum(rng, unknowns) for _ in range(rng.randint(1, 4)))
        if follows_linearly(goal, known) is True:
            shown += 1
            for values in product(range(1, MOST + 1), repeat=len(symbols)):
                at = {the_symbol(s): value for s, value in zip(symbols, values, strict=True)}
                if all(evaluate(fact, at) >= 0 for fact in known):
                    assert evaluate(goal, at) >= 0, (seed, goal, known, values)
    assert shown > 10


@pytest.mark.parametrize("batch", range(4))
def test_what_is_shown_of_powers_and_logarithms_holds_at_every_point(batch: int) -> None:
    shown = 0
    for seed in range(batch * 400, batch * 400 + 400):
        rng = Random(seed)
        least = rng.randint(0, 1)
        i, u = coordinate("i", MOST, least), coordinate("u", 2, -2)
        curves = [powers(base, i) for base in (2, 3, 5, 6)] + [ceil_log2(i + by) for by in (-1, 0, 1, 3)]
        goal = _sum(rng, [i, *(rng.choice(curves) * rng.choice((1, 1, i, u)) for _ in range(2))])
        if follows_linearly(goal, ()) is True:
            shown += 1
            for values in product(range(least, MOST + 1), range(-2, 3)):
                at = dict(zip(map(the_symbol, (i, u)), values, strict=True))
                assert evaluate(goal, at) >= 0, (seed, goal, values)
    assert shown > 10


def test_powers_of_one_exponent_are_as_far_apart_as_at_its_least() -> None:
    n = length("n")
    assert follows_linearly(powers(5, n) - powers(2, n) - 3, ()) is True
    assert follows_linearly(powers(5, n) - powers(2, n) - 4, ()) is not True
    assert follows_linearly(powers(2, n) - powers(5, n), ()) is not True


def test_linear_bounds_are_added_up_however_many_they_are() -> None:
    names = [length(f"n{k}") for k in range(12)]
    known = [name - k for k, name in enumerate(names)]
    least = sum(range(12))
    assert follows_linearly(sum(names, as_poly(-least)) - 1, known) is True  # n0 is at least 1
    assert follows_linearly(sum(names, as_poly(-least)) - 2, known) is False


def test_what_cannot_be_at_once_shows_everything() -> None:
    n, m = length("n"), length("m")
    assert follows_linearly(as_poly(-5), (n - m - 1, m - n)) is True


def test_factors_that_grow_leave_it_open() -> None:
    huge = 10**30
    names = [length(f"n{k}") for k in range(4)]
    known = [a * (huge + k) - b * (huge - 7 * k) for k, a in enumerate(names) for b in names if a is not b]
    assert follows_linearly(names[0] - 2, known) is None
