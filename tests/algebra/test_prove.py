"""Proofs: strong enough for what elaboration asks, and never wrong."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algebra.support import admissible, build, trees
from tolcost.algebra import (
    AlgebraBudget,
    Truth,
    bounds,
    coordinate,
    data_symbol,
    disj,
    eq,
    evaluate,
    evaluate_cond,
    ge,
    is_nonnegative,
    length,
    negate,
    prove,
    relu,
    the_symbol,
)
from tolcost.algebra.poly import ZERO
from tolcost.algebra.prove import _EXCESS, without_ordered_clips

n, m, k, h = length("n"), length("m"), length("k"), length("H")
z = length("z", 0)
i = coordinate("i", n)
j = coordinate("j", i)
o = coordinate("o", (h + 2 - 3) // 2 + 1)
t = coordinate("t", 3)
q = coordinate("q", n // k)


def test_what_no_line_of_the_files_can_say() -> None:
    """Coordinates that divide, and integers that only data decides."""
    assert prove(ge(n - ((q - 1) * k + k))) is True
    assert prove(ge(h + 2 - ((o - 1) * 2 + t))) is True
    assert prove(ge(data_symbol("d", None, None))) is None
    assert prove(ge(data_symbol("d", 0, n))) is True
    assert prove(ge(n * m - data_symbol("d", 0, n * m))) is True


def test_a_coordinate_that_exists_makes_its_range_non_empty() -> None:
    c = coordinate("c", z)
    assert prove(ge(z - c)) is True
    assert prove(ge(z * c - c)) is True


def test_a_choice_that_is_told_twice_splits_once() -> None:
    """It went on for ever: of two equal facts, the second was still there in every case of the first."""
    either = disj(ge(n - m - 1), ge(m - k))
    assert not is_nonnegative(n - k, (either, either))
    assert is_nonnegative(n - m, (either, either, ge(k - m - 1)))


def test_bounds() -> None:
    assert bounds(n) == (1, 2**31 - 2)
    assert bounds(n - m) == (3 - 2**31, 2**31 - 3)
    assert bounds(t * t - t) == (-2, 8)
    assert bounds(n - m, (ge(n - m - 2),))[0] == 2
    assert bounds(relu(n - 5)) == (0, 2**31 - 7)
    assert bounds(n // 2) == (0, 2**30 - 1)
    assert bounds(data_symbol("d", None, None) * 0 + 7) == (7, 7)
    assert bounds(data_symbol("d", None, 5)) == (None, 5)


SPACES = [
    ([n, m], "nm"),
    ([z, length("m", 0)], "zm"),
    ([n, i], "ni"),
    ([n, i, j], "nij"),
    ([n, m, coordinate("c", n + m, 0)], "nmc"),
    ([n, t, coordinate("c", n // 2)], "ntc"),
]


@settings(max_examples=180)
@given(st.data())
def test_never_wrong(data: st.DataObject) -> None:
    symbols, letters = data.draw(st.sampled_from(SPACES))
    names = dict(zip(letters, symbols, strict=True))
    shape = trees(letters, leaves=5)
    goal = build(data.draw(shape), names)
    cond = data.draw(st.sampled_from([ge(goal), eq(goal), negate(eq(goal))]))
    drawn = [build(tree, names) for tree in data.draw(st.lists(trees(letters, leaves=3), max_size=2))]
    facts = tuple(fact for fact in map(ge, drawn) if not isinstance(fact, Truth))
    verdict = prove(cond, facts)
    if verdict is None:
        return
    for point in admissible([the_symbol(s) for s in symbols], 6):
        if all(evaluate_cond(fact, point) for fact in facts):
            assert evaluate_cond(cond, point) is verdict


def test_a_divisor_that_may_vanish_is_no_obstacle() -> None:
    assert prove(ge(z * z - z + n // z)) in (True, None)
    assert prove(ge(z * (n // z) - n - 1)) in (False, None)


@pytest.mark.parametrize("error", [AlgebraBudget, ZeroDivisionError, RecursionError])
def test_a_search_that_breaks_off_proves_nothing(error: type, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr("tolcost.algebra.quick_checks._numerator", broken)
    assert not is_nonnegative(data_symbol("d", None))


def test_clips_in_order_are_left_out_of_a_sum() -> None:
    """What is left is never more than the sum, and is enough for products of three lengths."""
    x, y, z = (length(name, 0) for name in "xyz")
    first, second = relu(z - 1), relu(z - 2)
    assert is_nonnegative(2 * x * z * (first - second) + 4 * x * z + 7 * x * (first - second) + y + 60)
    assert not is_nonnegative(2 * x * z * (second - first) + y)
    drawn = random.Random(11)
    clips = [relu(z - k) for k in range(1, 4)] + [relu(y - z), relu(y - z + 2)]
    shortened = 0
    for _ in range(200):
        goal = ZERO
        for _ in range(8):
            goal += drawn.randint(-4, 4) * drawn.choice((1, x, y, x * y)) * drawn.choice(clips)
        rest = without_ordered_clips(goal)
        shortened += rest != goal
        for _ in range(6):
            at = {s: drawn.randint(0, 6) for s in goal.free}
            assert evaluate(rest, at) <= evaluate(goal, at)
    assert shortened > 50


def test_a_length_of_any_name_is_not_what_proofs_put_in() -> None:
    """``m = 1 + excess`` would say something of a length that is called so, too."""
    assert _EXCESS not in (length("excess", 0), length("excess"))


def test_facts_take_no_proof_away() -> None:
    """A search among facts ran out of fuel before it came to what needs none of them."""
    a, b, c, d = (length(name, least) for name, least in zip("abcd", (0, 1, 1, 2), strict=True))
    goal = ((2 * a + b + 2 * c) // 3) * (d * d + b) - 1
    third = (b * c + b + n + 1) // 3
    facts = (ge(third * (2 * a * c + d * d + d - 3) - 2 * a * c - d * d - d + 3), ge(2 * a * a - c * n + 2))
    assert is_nonnegative(goal)
    assert is_nonnegative(goal, facts)
