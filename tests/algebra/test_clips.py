"""Maximum, minimum, clipping and signs."""

from __future__ import annotations

from hypothesis import given

from tests.algebra.support import at, build, grid, lengths, trees, value
from tolcost.algebra import (
    conj,
    const,
    coordinate,
    either,
    eq,
    evaluate,
    evaluate_cond,
    ge,
    length,
    maximum,
    minimum,
    negate,
    relu,
    sign,
    to_text,
)

n, m = length("n"), length("m")


def test_maximum_and_minimum_add_up() -> None:
    assert maximum(n, m) + minimum(n, m) == n + m
    assert maximum(n, m) == maximum(m, n)
    assert relu(n - m) - relu(m - n) == n - m


def test_order_is_proved_first() -> None:
    i = coordinate("i", n)
    assert maximum(i, n) == n
    assert minimum(n + m, n) == n
    assert relu(n - 1) == n - 1
    assert relu(i - n) == 0
    assert relu(n - m, (ge(n - m),)) == n - m
    assert maximum(n, 3, (ge(n - 5),)) == n


def test_clips_have_one_form() -> None:
    assert to_text(relu(2 * n - 6)) == "2*Max(n - 3, 0)"
    assert relu(6 - 2 * n) == 2 * relu(n - 3) - 2 * n + 6
    assert relu(relu(n - 3) - 4) == relu(n - 7)
    assert relu(relu(n - m) + 2) == relu(n - m) + 2
    assert relu(2 * relu(n - m) - n) == relu(n - 2 * m)


def test_sign() -> None:
    i = coordinate("i", n)
    assert sign(n) == 1
    assert sign(-n) == -1
    assert sign(n - n) == 0
    assert sign(i - n - 1) == -1
    assert sign(n - 2) is None
    assert sign(n - 2, (ge(n - 3),)) == 1


@given(trees("nm"), trees("nm"))
def test_against_python(a: object, b: object) -> None:
    names = lengths("nm", lo=0)
    p, q = build(a, names), build(b, names)
    for point in grid("nm", range(4)):
        there = at(names, point)
        assert evaluate(maximum(p, q), there) == max(value(a, point), value(b, point))
        assert evaluate(minimum(p, q), there) == min(value(a, point), value(b, point))
        assert evaluate(relu(p), there) == max(value(a, point), 0)


def test_the_smaller_and_the_larger_by_a_choice() -> None:
    """As exporters write them; a choice is no product of clips."""
    z = length("z", 0)
    smaller = either(ge(z - 3), const(2), z)  # 2 where 2 < z
    assert smaller == minimum(z, 2)
    assert either(ge(-smaller), const(1), smaller) == relu(z - 1) - relu(z - 2) + 1


@given(trees("nm"), trees("nm"), trees("nm"))
def test_a_choice_against_python(a: object, b: object, c: object) -> None:
    names = lengths("nm", lo=0)
    p, q, r = (build(tree, names) for tree in (a, b, c))
    for cond in (ge(r), eq(r), negate(eq(r)), conj(ge(r), ge(p - 1))):
        chosen = either(cond, p, q)
        for point in grid("nm", range(4)):
            there = at(names, point)
            expected = value(a, point) if evaluate_cond(cond, there) else value(b, point)
            assert evaluate(chosen, there) == expected
