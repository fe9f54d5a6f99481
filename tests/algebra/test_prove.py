"""Proofs: strong enough for what elaboration asks, and never wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algebra.support import admissible, build, trees
from tolcost.algebra import (
    Cond,
    Truth,
    bounds,
    conj,
    coordinate,
    data_symbol,
    disj,
    eq,
    evaluate_cond,
    ge,
    le,
    length,
    lt,
    maximum,
    minimum,
    negate,
    prove,
    relu,
    the_symbol,
)

n, m, k, h = length("n"), length("m"), length("k"), length("H")
z = length("z", 0)
i = coordinate("i", n)
j = coordinate("j", i)
o = coordinate("o", (h + 2 - 3) // 2 + 1)
t = coordinate("t", 3)
q = coordinate("q", n // k)

CASES: list[tuple[Cond, tuple[Cond, ...], bool | None]] = [
    (ge(n - 1), (), True),
    (ge(n - 2), (), None),
    (ge(z), (), True),
    (ge(z - 1), (), None),
    (le(j, n), (), True),
    (le(j, i), (), True),
    (lt(n, j), (), False),
    (ge(n * m - n), (), True),
    (ge(n * m - n - m + 1), (), True),
    (ge(n * n - i * i), (), True),
    (ge((n - i) * (m - 1)), (), True),
    (ge(n * k - i * k), (), True),
    (le(i * k, n * k), (), True),
    (le((o - 1) * 2 + 1, h + 1), (), True),
    (le((o - 1) * 2 + t - 1, h), (), None),
    (le((o - 1) * 2 + t, h + 2), (), True),
    (ge((o - 1) * 2 + t - 1), (), True),
    (le(q * k, n), (), True),
    (le((q - 1) * k + k, n), (), True),
    (le(n // 2, n), (), True),
    (le(n // 2 * 2, n), (), True),
    (lt(n, n // 2 * 2 + 2), (), True),
    (le(n // 3, (n + 1) // 3), (), True),
    (le((n + 3) // 3, n // 3), (), False),
    (le(minimum(n, m), n), (), True),
    (le(maximum(n, m), n + m), (), True),
    (lt(maximum(n, m), n), (), False),
    (ge(relu(n - m) - n + m), (), True),
    (ge(n - m), (ge(n - m - 2),), True),
    (ge(n - m), (ge(n - k), ge(k - m)), True),
    (ge(n * k - m * k), (ge(n - m),), True),
    (ge(2 * n - 2 * m + 3), (ge(n - m),), True),
    (eq(n - m), (eq(n - m),), True),
    (le(i, m), (eq(n - m),), True),
    (le(i, m), (eq(m - n),), True),
    (eq(n - 3), (ge(n - 3), ge(3 - n)), True),
    (eq(n - 3), (ge(n - 4),), False),
    (negate(eq(n - 3)), (ge(n - 4),), True),
    (le(n, 1), (ge(n - 2),), False),
    (ge(n - 5), (negate(ge(n - 5)),), False),
    (conj(ge(n - 1), le(i, n)), (), True),
    (disj(ge(n - m), ge(m - n)), (), True),
    (disj(ge(n - m - 1), ge(m - n)), (), True),
    (le(n, 2**31 - 2), (), True),
    (lt(n, 2**31 - 2), (), None),
    (le(n, 2**31 - 1), (), True),
    (ge(data_symbol("d", None, None)), (), None),
    (ge(data_symbol("d", 0, n)), (), True),
    (le(data_symbol("d", 0, n * m), n * m), (), True),
]


@pytest.mark.parametrize("index", range(len(CASES)))
def test_what_elaboration_asks(index: int) -> None:
    cond, facts, expected = CASES[index]
    assert prove(cond, facts) is expected


def test_a_coordinate_that_exists_makes_its_range_non_empty() -> None:
    c = coordinate("c", z)
    assert prove(ge(z - c)) is True
    assert prove(ge(z * c - c)) is True


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


@settings(max_examples=300)
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
