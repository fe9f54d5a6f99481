"""What settles a question at a glance: each against numbers, on small ranges."""

from __future__ import annotations

import sys
from itertools import count, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algebra.support import build, trees
from tolcost.algebra import (
    Poly,
    Symbol,
    atom,
    coordinate,
    data_symbol,
    evaluate,
    is_nonnegative,
    length,
    quick_checks,
    the_symbol,
)
from tolcost.algebra.conditions import And, Eq, Ge, Or
from tolcost.algebra.quick_checks import (
    MANY,
    _numerator,
    _shift_to_lower_bounds,
    decide_by_signs,
    direction,
    is_undecided,
    range_decides_nothing,
)

LOW = {"n": 1, "m": 0, "d": -2}
NAMES = {name: data_symbol(name, low) for name, low in LOW.items()}
SYMBOLS = {name: the_symbol(p) for name, p in NAMES.items()}
PLAIN = st.lists(
    st.tuples(st.integers(-5, 5).filter(bool), st.lists(st.sampled_from("nmd"), max_size=4)), min_size=2
)


def plain(terms: list[tuple[int, list[str]]]) -> Poly:
    """A sum of products of symbols."""
    result = NAMES["n"] * 0
    for coef, letters in terms:
        part = NAMES["n"] * 0 + coef
        for letter in letters:
            part = part * NAMES[letter]
        result = result + part
    return result


def near(name: str, reach: int = 4) -> range:
    return range(LOW[name], LOW[name] + reach)


def points() -> list[dict[Symbol, int]]:
    rows = product(*(near(name) for name in LOW))
    return [dict(zip(SYMBOLS.values(), row, strict=True)) for row in rows]


@settings(max_examples=100)
@given(PLAIN)
def test_counting_from_the_least_changes_no_value(terms: list[tuple[int, list[str]]]) -> None:
    goal = plain(terms)
    shifted = _shift_to_lower_bounds(goal)
    for point in points() if shifted is not None else ():
        less = {symbol: value - LOW[symbol.name] for symbol, value in point.items()}
        assert evaluate(goal, point) == evaluate(shifted, less)


@settings(max_examples=100)
@given(trees("nmd", leaves=5))
def test_what_is_obvious_is_so_everywhere_and_what_rises_never_falls(tree: object) -> None:
    goal = build(tree, NAMES)
    settled, ways = decide_by_signs(goal), {symbol: direction(goal, symbol) for symbol in SYMBOLS.values()}
    for point in points():
        here = evaluate(goal, point)
        assert settled is None or settled == (here > -1)
        for symbol, way in ways.items():
            step = evaluate(goal, {**point, symbol: point[symbol] + 1}) - here
            assert way is None or step * way >= 0


def test_the_direction_of_what_moves_one_way_is_seen() -> None:
    n, m, d = NAMES.values()
    up = [n, n * m, n * n + m, (n + d) // 3, 2 * n - 7, n * ((n + m) // 2), m * m * n]
    for rising in up:
        assert direction(rising, SYMBOLS["n"]) == 1
        assert direction(-rising, SYMBOLS["n"]) == -1
    for mixed in (n * d, n - n * m, n * n - 3 * n, m // (n + 1), m * ((d - n) // 2)):
        assert direction(mixed, SYMBOLS["n"]) is None
    assert direction(m + 1, SYMBOLS["n"]) == 1


def test_what_ranges_leave_open_is_left_open() -> None:
    """Of sums of two integers that numbers bound: it holds somewhere and fails somewhere, and is seen to."""
    pairs = product([(-2, 1), (0, 3), (2, 2), (3, 1)], [(-1, 1), (0, 0), (1, 4)])
    for (first, second), a, b, c in product(pairs, (-2, -1, 1, 2), (-1, 1, 3), range(-3, 4)):
        form = a * data_symbol("d", *first) + b * data_symbol("e", *second) + c
        values = [
            a * x + b * y + c for x in range(first[0], first[1] + 1) for y in range(second[0], second[1] + 1)
        ]
        assert range_decides_nothing(Ge(form)) is (len({value >= 0 for value in values}) == 2)
        both = len({value == 0 for value in values}) == 2
        assert both or not range_decides_nothing(Eq(form))
        assert not both or abs(a) > 1 or abs(b) > 1 or range_decides_nothing(Eq(form))


ENDS = [(None, None), (None, 5), (None, -3), (0, None), (-3, None), (1, 1), (0, 3), (-4, 900), (1, 2**31 - 2)]


@pytest.mark.parametrize("low, high", ENDS)
def test_points_lie_between_the_ends(
    low: int | None, high: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Points go by the number of an integer, so that those before this test must not count."""
    monkeypatch.setattr("tolcost.algebra.poly._serials", count(1))
    seen = set[int]()
    for serial in range(30):
        d = the_symbol(data_symbol(f"d{serial}", low, high))
        for index in range(MANY):
            value = _numerator(atom(d), index)
            assert value is not None
            assert low is None or low <= value
            assert high is None or value <= high
            seen.add(value)
    usual = range(-4, 5) if low is None else range(low, low + 12)
    assert seen >= {value for value in usual if high is None or value <= high}
    assert high is None or high > 1000 or high in seen


def test_points_of_coordinates_lie_in_ranges_that_move() -> None:
    n = length("n")
    i = coordinate("i", n - 2)
    j = coordinate("j", n, i)
    for index in range(MANY):
        size, outer, inner = (_numerator(p, index) for p in (n, i, j))
        assert size is not None
        assert (outer is None) == (size < 3)
        assert outer is None or inner is None or 1 <= outer <= inner <= size


def test_points_tell_lengths_apart() -> None:
    """Two lengths are equal at some points, and either is the larger one at others."""
    for a, b in product((length("n"), length("m"), length("k", 0)), repeat=2):
        if a != b:
            signs = {((d := _numerator(a - b, index) or 0) > 0) - (d < 0) for index in range(MANY)}
            assert signs == {-1, 0, 1}


def test_of_two_coordinates_of_one_range_either_may_be_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """No point is looked for, unless the range may be too short."""
    n = length("n")
    i, j, k = coordinate("i", n), coordinate("j", n), coordinate("k", 3)
    far, short = coordinate("l", n + 1), coordinate("m", 3)
    monkeypatch.setattr(quick_checks, "_truths", lambda *_: iter(()))
    monkeypatch.setattr(sys.modules["tolcost.algebra.prove"], "is_refuted", None)
    for form in (i - j, j - i - 1, i - j + 5):
        assert not is_nonnegative(form)
        assert is_undecided(Ge(form), ())
        assert is_undecided(Eq(form), ())
    assert is_undecided(Ge(k - short + 1), ())
    for form in (i - k, i - far, k - short + 3, i - j - 2**40):
        assert not quick_checks.compares_alike(Ge(form))


def test_next_to_a_point_where_facts_hold_a_condition_may_be_another() -> None:
    """However few points they hold at, a coordinate goes to an end of its range, and they are asked again."""
    for number in range(40):
        n = length(f"n{number}")
        i, j, k = coordinate("i", n), coordinate("j", n - 1), coordinate("k", n)
        beyond = Ge(n - 2), Ge(i - j - 1)
        assert is_undecided(Eq(i - j - 1), beyond)
        between = Ge(i - 2), Ge(n - i - 1)
        assert is_undecided(Or((Ge(1 - k), Eq(k - n))), between)
        assert is_undecided(And((Ge(k - 2), Ge(n - k - 1))), between)


def test_what_follows_from_facts_is_not_left_open() -> None:
    """No coordinate goes where they do not hold, or takes with it what it bounds."""
    n = length("n")
    i = coordinate("i", n)
    j, k = coordinate("j", n - i + 1), coordinate("k", n // 3 + 1)
    forms = [i - j, i + j - 3, n - 2 * j + k, j * k - i, k - n // 2, i - 2, n - i - 1]
    for one, other in product(forms, repeat=2):
        facts = Ge(one), Ge(other)
        for cond in (Ge(one + other), Ge(one * 2 + 1), Or((Ge(one - 5), Ge(other))), And(facts)):
            assert not is_undecided(cond, facts)
