"""Random sums with floors, clips and guards, each against adding up one by one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algebra.support import brute_sum, build, trees
from tolcost.algebra import (
    Cond,
    Poly,
    Symbol,
    as_poly,
    coordinate,
    disj,
    eq,
    evaluate,
    ge,
    length,
    negate,
    the_symbol,
    total,
)

Ranges = list[tuple[Symbol, Poly | int, Poly | int]]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_sum_equals_adding_up(data: st.DataObject) -> None:
    low = data.draw(st.sampled_from([0, 1]))
    params = {letter: length(letter, low) for letter in "nmk"}
    names, over = dict(params), Ranges()
    for letter in "xyz"[: data.draw(st.integers(1, 3))]:
        simple = st.sampled_from(list(names.values()))
        lo = as_poly(1) if data.draw(st.booleans()) else _linear(data, names)
        hi = data.draw(simple) if data.draw(st.booleans()) else _linear(data, names)
        names[letter] = coordinate(letter, hi, lo)
        over.append((the_symbol(names[letter]), lo, hi))
    body = build(data.draw(trees(list(names), leaves=4)), names)
    guards = [_guard(data, names) for _ in range(data.draw(st.integers(0, 3)))]
    result = total(body, over, guards)
    numbers = st.tuples(*[st.integers(low, 6)] * 3)
    for row in data.draw(st.lists(numbers, min_size=8, max_size=8)):
        point = dict(zip(map(the_symbol, params.values()), row, strict=True))
        assert evaluate(result, point) == brute_sum(body, over, guards, point)


def _linear(data: st.DataObject, names: dict[str, Poly]) -> Poly:
    result = as_poly(data.draw(st.integers(-3, 4)))
    for name in data.draw(st.lists(st.sampled_from(list(names)), max_size=3, unique=True)):
        result = result + names[name] * data.draw(st.sampled_from([1, 1, -1, -1, 2, -2, 3]))
    return result


def _guard(data: st.DataObject, names: dict[str, Poly]) -> Cond:
    first, second = _linear(data, names), _linear(data, names)
    match data.draw(st.sampled_from(["ge", "ge", "ge", "eq", "ne", "or", "floor"])):
        case "ge":
            return ge(first)
        case "eq":
            return eq(first)
        case "ne":
            return negate(eq(first))
        case "or":
            return disj(ge(first), ge(second))
    return ge(first // 2 - second)


@pytest.mark.parametrize("seed", range(100))
def test_counting_points_under_several_affine_guards(seed: int) -> None:
    """Bounds on lengths and on other coordinates compete here for which is the tightest."""
    rng = random.Random(seed)
    n, m, k = length("n"), length("m"), length("k")
    end = rng.choice([n, m, n + 1])
    i = coordinate("i", end)
    last = rng.choice([n, m, k, n + 1, i, i + 1, (n + 1) // 2])
    j = coordinate("j", last)
    guards = []
    for _ in range(rng.randint(1, 4)):
        a, b = rng.sample([i, j, n, m, k], 2)
        guards.append(ge(a * rng.randint(1, 2) - b + rng.randint(-2, 2)))
    over: Ranges = [(the_symbol(i), 1, end), (the_symbol(j), 1, last)]
    result = total(1, over, guards)
    for _ in range(25):
        point = {the_symbol(p): rng.randint(1, 6) for p in (n, m, k)}
        assert evaluate(result, point) == brute_sum(1, over, guards, point)
