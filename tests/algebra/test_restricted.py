"""Forms where conditions hold: the same at every point that fulfils them, and without what they settle."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from tolcost.algebra import (
    Cond,
    Poly,
    Symbol,
    as_poly,
    cond_text,
    eq,
    evaluate,
    evaluate_cond,
    ge,
    length,
    plain_bounds,
    relu,
    restricting,
    the_symbol,
    to_text,
)

N, M, Z = length("n"), length("m", 1, 9), length("z", 0)
SYMBOLS = tuple(the_symbol(p) for p in (N, M, Z))


def _form(random: Random, depth: int) -> Poly:
    if depth == 0:
        return random.choice((N, M, Z, as_poly(random.randint(-6, 6))))
    left, right = _form(random, depth - 1), _form(random, random.randrange(depth))
    match random.randrange(6):
        case 0:
            return left * right
        case 1 | 2:
            return relu(left - right)
        case 3:
            return left // random.randint(2, 5)
        case 4:
            return left // random.choice((N, M, N + M))
        case _:
            return left + random.choice((-3, -1, 1, 2)) * right


def _fact(random: Random) -> Cond:
    form = _form(random, random.choice((0, 1, 1, 2))) - random.randint(-3, 8)
    return random.choice((ge, ge, eq))(form)


def _points(facts: tuple[Cond, ...]) -> list[dict[Symbol, int]]:
    boxes = product(range(1, 13), range(1, 10), range(6))
    points = (dict(zip(SYMBOLS, values, strict=True)) for values in boxes)
    return [point for point in points if all(evaluate_cond(fact, point) for fact in facts)]


@pytest.mark.parametrize("seed", range(60))
def test_the_same_wherever_the_facts_hold(seed: int) -> None:
    random = Random(seed)
    facts = tuple(_fact(random) for _ in range(random.randint(1, 3)))
    there = _points(facts)
    for _ in range(4):
        form = _form(random, 3)
        found = restricting(facts)(form)
        for point in there:
            assert evaluate(found, point) == evaluate(form, point), (to_text(form), point)


@pytest.mark.parametrize("seed", range(150))
def test_parts_say_what_the_condition_says(seed: int) -> None:
    fact = _fact(Random(seed))
    parts = plain_bounds(fact)
    for point in _points(()):
        assert all(evaluate_cond(part, point) for part in parts) == evaluate_cond(fact, point), cond_text(
            fact
        )


X = length("x")
T = (X + 64) // 128
SHORTENED = (
    (relu(N - 3) + relu(5 - N), (ge(N - 5),), "n - 3"),
    ((N + 3) // 4, (ge(N - 5), ge(8 - N)), "2"),
    ((relu(T - 1) + 3) // 4 + relu(T - 1), (eq((relu(T - 1) + 3) // 4 - 1),), "floor((x + 64)/128)"),
    (relu(M * (N // 2 - (N + 1) // 4)), (ge(N - 2),), "m*floor(n/2) - m*floor((n + 1)/4)"),
    (relu(N - M) + N // (M + N), (ge(N - M),), "n - m"),
)


@pytest.mark.parametrize("form, facts, shown", SHORTENED, ids=[shown for *_, shown in SHORTENED])
def test_what_conditions_settle_is_gone(form: Poly, facts: tuple[Cond, ...], shown: str) -> None:
    assert to_text(restricting(facts)(form)) == shown


def test_a_bound_is_found_behind_clips_and_floors() -> None:
    steps = X // 64
    (found,) = plain_bounds(ge(X + 128 * relu(steps - 1) - 128 * relu(steps - 4) - 384))
    assert cond_text(found) == "x >= 192"


@pytest.mark.parametrize("apart", range(-3, 4))
@pytest.mark.parametrize("number", range(-4, 5))
def test_two_clips_of_the_same_are_as_far_apart_as_a_bound_says(apart: int, number: int) -> None:
    for up, down in ((N - M + apart, N - M), (N - M + apart, M - N), (M - N, M - N + apart)):
        fact = eq(relu(up) - relu(down) - number)
        parts = plain_bounds(fact)
        for point in _points(()):
            assert all(evaluate_cond(part, point) for part in parts) == evaluate_cond(fact, point)
    (found,) = plain_bounds(eq(relu(N - M + 2) - relu(N - M) - 2))
    assert cond_text(found) == "n >= m"


def test_a_condition_that_fails_again_further_on_stays() -> None:
    condition = ge((X // 7) * 7 - X + 3)
    assert plain_bounds(condition) == (condition,)
