"""Floor division, remainder and exact division."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.algebra.support import at, build, grid, lengths, trees, value
from tolcost.algebra import (
    Floor,
    ceildiv,
    coordinate,
    evaluate,
    exact_div,
    floordiv,
    length,
    mod,
    to_text,
)
from tolcost.algebra.floors import quick_floordiv

n, m, k, h = length("n"), length("m"), length("k"), length("H")


def has_floor(p: object) -> bool:
    return any(isinstance(g, Floor) for mono in p.terms for g in mono)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "built, text",
    [
        ((2 * n) // 2, "n"),
        ((2 * n + 1) // 2, "n"),
        ((n * n + n) // 2, "n*(n + 1)/2"),
        ((n * n + n + 5) // 2, "(n**2 + n + 4)/2"),
        ((4 * n + 6) // 8, "floor((n + 1)/2)"),
        ((7 * n) // 3, "2*n + floor(n/3)"),
        ((-n) // 3, "-floor((n + 2)/3)"),
        ((n * m + 3 * m) // m, "n + 3"),
        ((n * m) // (m * k), "floor(n/k)"),
        ((2 * n + 1) // (2 * m), "floor(n/m)"),
        (((n // 2) // 3) // 5, "floor(n/30)"),
        ((n // m) // k, "floor(n/(k*m))"),
        (n * (n + 1) * (n + 2) // 6, "n*(n + 1)*(n + 2)/6"),
    ],
)
def test_normal_form(built: object, text: str) -> None:
    assert to_text(built) == text  # type: ignore[arg-type]


def test_a_chain_of_stride_two_layers_is_one_floor() -> None:
    size = h
    for _ in range(5):
        size = (size + 2 - 3) // 2 + 1
    assert to_text(size) == "floor((H + 31)/32)"
    size = h
    for _ in range(5):
        size = ceildiv(size, 2)
    assert to_text(size) == "floor((H + 31)/32)"
    half = h - h // 2
    assert to_text(half // 2) == "floor((H + 1)/4)"


def test_a_remainder_that_is_proved_small_has_no_floor() -> None:
    i = coordinate("i", n)
    assert floordiv(i - 1, n) == 0
    assert mod(i - 1, n) == i - 1
    assert floordiv((m - 1) * n + i - 1, n) == m - 1
    j = coordinate("j", 4)
    assert floordiv(j - 1, 4) == 0
    assert floordiv(j + 3, 4) == 1
    assert floordiv(-i, n) == -1


def test_exact_division() -> None:
    assert exact_div(6 * n, 3) == 2 * n
    assert exact_div(n * (n + 1), 2) == (n * n + n) // 2
    assert exact_div(n, 2) is None
    assert exact_div(n * m + m, m) == n + 1
    assert exact_div((n + m) ** 3, n + m) == (n + m) ** 2
    assert exact_div(n * m + 1, m) is None
    assert exact_div(n, 0) is None
    assert exact_div(n * (n + 1) * m, 2 * m) == (n * n + n) // 2


@pytest.mark.parametrize("divisor", [1, 2, 3, 4, 6])
def test_against_python(divisor: int) -> None:
    names = lengths("nm")
    trees_ = [
        ("+", ("*", 5, "n"), ("*", -3, "m")),
        ("*", "n", ("+", "m", ("*", -7, "n"))),
        ("-", ("//", "n", 2), "m"),
        ("-", "m", ("//", ("+", "n", 1), 3)),
        ("+", ("*", -2, ("//", "n", 4)), ("//", "m", 3)),
        ("-", ("*", "n", "n"), ("//", ("*", "n", "m"), 2)),
    ]
    for tree in trees_:
        built = build(("//", tree, divisor), names)
        rest = build(("mod", tree, divisor), names)
        up = build(("ceil", tree, divisor), names)
        for point in grid("nm", range(1, 9)):
            number, there = value(tree, point), at(names, point)  # type: ignore[arg-type]
            assert evaluate(built, there) == number // divisor
            assert evaluate(rest, there) == number % divisor
            assert evaluate(up, there) == -(-number // divisor)


@given(trees("nm"), st.sampled_from(["n", "m", ("+", "n", "m"), ("*", 2, "n"), ("*", "n", "m")]))
def test_symbolic_divisors(top: object, bottom: object) -> None:
    names = lengths("nm")
    built = build(("//", top, bottom), names)
    for point in grid("nm", range(1, 5)):
        assert evaluate(built, at(names, point)) == value(top, point) // value(bottom, point)


@given(trees("nm"), st.integers(1, 9))
def test_dividing_again_changes_nothing(top: object, divisor: int) -> None:
    """The normal form of a floor is its own normal form, and dividing what was multiplied undoes it."""
    names = lengths("nm")
    built = build(top, names)
    once = built // divisor
    for mono in once.terms:
        for g in mono:
            if isinstance(g, Floor):
                again = floordiv(g.p, g.q)
                assert list(again.terms) == [(g,)]
    assert (built * divisor) // divisor == built


@pytest.mark.parametrize("divisor", range(2, 6))
def test_a_floor_of_a_floor_is_one_floor(divisor: int) -> None:
    for inside in (n // m, n // (m + 2), (n * n) // (m * k), n // 3):
        floor = next(g for mono in inside.terms for g in mono)
        assert inside // divisor == floor.p // (floor.q * divisor)
        above = (inside + 1) // divisor
        for point in grid("nmk", range(1, 4)):
            there = at({"n": n, "m": m, "k": k}, point)
            assert evaluate(above, there) == (evaluate(inside, there) + 1) // divisor


def test_a_quotient_below_one_needs_no_proof() -> None:
    z = length("z", 0)
    for top, bottom in ((n - 1, n), (z, z + 5), (z, z + 1), (n, n + 1)):
        assert quick_floordiv(top, bottom) == 0
        assert quick_floordiv(-top - 1, bottom) == -1
    assert quick_floordiv(n, n + m - 1) != 0


def test_traps_of_other_systems() -> None:
    """Floors of products that are easily dropped by mistake."""
    built = (n * (2 * m + 2)) // 6
    assert has_floor(built)
    rest = mod(n * (2 * m + 2), 6)
    nested = mod(n * mod(m, 6), 3)
    for point in grid("nm", range(1, 13)):
        there = at({"n": n, "m": m}, point)
        a, b = point["n"], point["m"]
        assert evaluate(built, there) == a * (2 * b + 2) // 6
        assert evaluate(rest, there) == a * (2 * b + 2) % 6
        assert evaluate(nested, there) == a * (b % 6) % 3
