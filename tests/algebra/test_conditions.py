"""Conditions: what the constructors decide, negation, indicators."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.algebra.support import Tree, at, build, grid, lengths, trees, value
from tolcost.algebra import (
    FALSE,
    TRUE,
    And,
    Cond,
    Eq,
    Ge,
    Not,
    Or,
    Truth,
    cond_text,
    conj,
    coordinate,
    data_symbol,
    decide_many,
    disj,
    eq,
    evaluate,
    evaluate_cond,
    evaluate_each,
    ge,
    indicator,
    length,
    negate,
    prepared_cond,
    relu,
    substitute_cond,
    symbols_of_cond,
    the_symbol,
)

n, m = length("n"), length("m")
N, M = the_symbol(n), the_symbol(m)


def test_what_needs_no_proof_is_decided() -> None:
    assert ge(3) == TRUE
    assert ge(-1) == FALSE
    assert ge(n - 1) == TRUE
    assert ge(-n) == FALSE
    assert eq(n - n) == TRUE
    assert eq(2 * n - 3) == FALSE
    assert eq(n) == FALSE
    assert ge(2**31 - n) == TRUE


def test_conditions_are_tightened() -> None:
    assert ge(2 * n - 5) == ge(n - 3) == Ge(n - 3)
    assert eq(2 * n - 6) == Eq(n - 3)
    assert eq(3 - n) == eq(n - 3)
    assert ge(n // 3 - 2) == Ge(n - 6)
    assert ge(2 - n // 3) == Ge(8 - n)
    assert ge(relu(n - m) - 2) == Ge(n - m - 2)
    assert eq(relu(n - m)) == Ge(m - n)


@pytest.mark.parametrize("times", range(2, 7))
def test_a_condition_is_that_of_any_multiple(times: int) -> None:
    for p in (n - 3, n * (n + 1) // 2 - 3, n * (n + 1) * (n + 2) // 6 - m, n * (n - 1) // 2 - 5 * m):
        assert ge(p * times) == ge(p)
        assert eq(p * times) == eq(p * -times) == eq(p)
    for p, rest in product((n - 3, n * m - 2 * n, n - m, 5 - 2 * n), range(times)):
        assert ge(p * times + rest) == ge(p)


def test_a_length_in_every_term_is_left_out() -> None:
    z, c = length("z", 0), coordinate("c", n)
    assert eq(n * n * m - 3 * n) == eq(n * m - 3)
    assert eq(n * m - 2 * n) == eq(m - 2)
    assert ge(n * m - 2 * n) == ge(m - 2)
    assert eq(2 * n * m) is FALSE
    assert eq(z * m - 2 * z) != eq(m - 2)  # at z = 0 it holds whatever m is
    assert ge(c * m - 2 * c) != ge(m - 2)  # where there is no c it holds


def test_what_bounds_decide_is_decided_and_nothing_else() -> None:
    for low, high in ((0, 3), (-2, -1), (2, 2), (None, 2), (1, None)):
        d = data_symbol("d", low, high)
        sizes = range(-9 if low is None else low, (9 if high is None else high) + 1)
        for c, times in product(range(-4, 6), (-3, -1, 1, 2)):
            form = times * d - c
            for cond, holds in (
                (ge(form), int.__ge__),
                (eq(form), int.__eq__),
                (negate(eq(form)), int.__ne__),
            ):
                expected = [holds(times * x - c, 0) for x in sizes]
                assert [evaluate_cond(cond, {the_symbol(d): x}) for x in sizes] == expected
                assert isinstance(cond, Truth) is (len(set(expected)) == 1)


def test_conjunction_and_disjunction() -> None:
    a, b = ge(n - 3), ge(m - 3)
    assert conj() == TRUE
    assert disj() == FALSE
    assert conj(a, TRUE, a) == a
    assert conj(a, FALSE) == FALSE
    assert disj(a, TRUE) == TRUE
    assert conj(a, conj(b, a)) == And((a, b))
    assert disj(a, disj(b, a)) == Or((a, b))
    assert conj(a, negate(a)) == FALSE
    assert disj(a, negate(a)) == TRUE


def test_negation() -> None:
    assert negate(ge(n - 3)) == Ge(2 - n)
    assert negate(eq(n - 3)) == Not(Eq(n - 3))
    assert negate(negate(eq(n - 3))) == eq(n - 3)
    a, b = ge(n - 3), eq(m - 3)
    assert negate(conj(a, b)) == disj(negate(a), negate(b))
    assert negate(TRUE) == FALSE


def test_texts() -> None:
    i = coordinate("i", n)
    assert cond_text(ge(n - 5)) == "n >= 5"
    assert cond_text(ge(5 - n)) == "n <= 5"
    assert cond_text(ge(n - m - 2)) == "n >= m + 2"
    assert cond_text(negate(eq(n - m))) == "m != n"
    assert cond_text(conj(ge(n - 5), disj(eq(m - 2), ge(i - 3)))) == "n >= 5 and (m == 2 or i >= 3)"
    assert cond_text(TRUE) == "true"


def test_symbols_and_substitution() -> None:
    cond = conj(ge(n - 5), negate(eq(n - m)))
    assert symbols_of_cond(cond) == {N, M}
    assert substitute_cond(cond, {N: 7, M: 7}) == FALSE
    assert substitute_cond(cond, {N: m, M: n}) == conj(ge(m - 5), negate(eq(n - m)))


def test_below_and_not_above() -> None:
    sides = [n, m, 2 * n - 3, m // 2, relu(n - m), n * m - 4]
    for a, b in product(sides, repeat=2):
        for x, y in product(range(1, 6), repeat=2):
            there = {N: x, M: y}
            left, right = evaluate(a, there), evaluate(b, there)
            assert evaluate_cond(ge(b - a), there) is (left <= right)
            assert evaluate_cond(ge(b - a - 1), there) is (left < right)


Logic = tuple[str, object, object]


def logic(leaves: int = 4) -> st.SearchStrategy[object]:
    leaf = st.tuples(st.sampled_from(["ge", "eq"]), trees("nm", leaves=3), st.none())

    def grow(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
        return st.tuples(st.sampled_from(["and", "or", "not"]), inner, inner)

    return st.recursive(leaf, grow, max_leaves=leaves)


def build_cond(tree: object, names: dict[str, object]) -> Cond:
    kind, a, b = tree  # type: ignore[misc]
    match kind:
        case "ge":
            return ge(build(a, names))  # type: ignore[arg-type]
        case "eq":
            return eq(build(a, names))  # type: ignore[arg-type]
        case "not":
            return negate(build_cond(a, names))
        case "and":
            return conj(build_cond(a, names), build_cond(b, names))
    return disj(build_cond(a, names), build_cond(b, names))


def truth(tree: object, point: dict[str, int]) -> bool:
    kind, a, b = tree  # type: ignore[misc]
    match kind:
        case "ge":
            return value(a, point) >= 0
        case "eq":
            return value(a, point) == 0
        case "not":
            return not truth(a, point)
        case "and":
            return truth(a, point) and truth(b, point)
    return truth(a, point) or truth(b, point)


@given(logic())
def test_conditions_and_indicators_mean_what_they_say(tree: Tree) -> None:
    names = lengths("nm")
    cond = build_cond(tree, names)  # type: ignore[arg-type]
    one = indicator(cond)
    points = list(grid("nm", range(1, 6)))
    holds = prepared_cond(cond)
    for point in points:
        there = at(names, point)
        expected = truth(tree, point)
        assert evaluate_cond(cond, there) is expected
        assert evaluate_cond(negate(cond), there) is not expected
        assert evaluate(one, there) == int(expected)
        assert evaluate_each([one, cond], there) == [expected, expected]
        assert holds(there) is expected
    decided = decide_many(cond, {the_symbol(names[name]): [p[name] for p in points] for name in names})
    assert (decided == [truth(tree, point) for point in points]).all()
