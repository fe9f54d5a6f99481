"""Ranges by numbers alone: as tight as they can be for one function of one integer, and for a product."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from tolcost.algebra import (
    Poly,
    Symbol,
    ceil_log2,
    const,
    coordinate,
    data_symbol,
    eq,
    evaluate,
    ge,
    length,
    powers,
    relu,
    the_symbol,
    total,
)
from tolcost.algebra.floors import quick_floordiv, quick_relu, range_of
from tolcost.algebra.poly import product_of
from tolcost.algebra.powers import least_value
from tolcost.algebra.rebuild import opaque_sum

LOWS: tuple[int | None, ...] = (None, -3, -1, 0, 1, 2)
HIGHS: tuple[int | None, ...] = (None, -1, 0, 1, 4)
ENDS = [(lo, hi) for lo, hi in product(LOWS, HIGHS) if lo is None or hi is None or lo <= hi]
End = tuple[int | None, int | None]

ONE: dict[str, Callable[[Poly], Poly]] = {
    "itself": lambda d: d,
    "linear": lambda d: 3 - 2 * d,
    "clipped": lambda d: relu(d - 1),
    "halved": lambda d: (d + 1) // 2,
    "logarithm": lambda d: ceil_log2(d + 1),
    "power": lambda d: powers(2, relu(d)),
    "square": lambda d: d * d,
}


def numbers(ends: End, reach: int) -> range:
    low, high = ends
    return range(-reach if low is None else low, (reach if high is None else high) + 1)


def extremes(values: Callable[[int], list[int]]) -> End:
    """The least and the largest value; none where they go on as one looks further."""
    near, far = values(30), values(60)
    return (min(near) if min(near) == min(far) else None), (max(near) if max(near) == max(far) else None)


@pytest.mark.parametrize("name", ONE)
def test_one_integer(name: str) -> None:
    for ends in ENDS:
        d = data_symbol("d", *ends)
        form = ONE[name](d)
        inside = {the_symbol(d)} if d.constant is None else set[Symbol]()

        def values(
            reach: int, form: Poly = form, ends: End = ends, inside: set[Symbol] = inside
        ) -> list[int]:
            return [evaluate(form, dict.fromkeys(inside, k)) for k in numbers(ends, reach)]

        assert range_of(form) == extremes(values), (ends, str(form))


def test_a_product() -> None:
    some = [ends for ends in ENDS if ends != (0, 0)]
    for first, second in product(some[::2], some[1::2]):
        d, e = data_symbol("d", *first), data_symbol("e", *second)

        def values(reach: int, first: End = first, second: End = second) -> list[int]:
            a, b = numbers(first, reach), numbers(second, reach)
            return [x * y for x in (a[0], a[len(a) // 2], a[-1]) for y in b]

        assert range_of(d * e) == extremes(values), (first, second)


def test_a_product_of_three() -> None:
    some = [(-2, 3), (-3, -1), (0, 2), (1, 4), (-1, 0)]
    for ends in product(some, repeat=3):
        form = product_of(data_symbol("d", *end) for end in ends)
        corners = [x * y * z for x, y, z in product(*ends)]
        assert range_of(form) == (min(corners), max(corners))


def test_a_quotient() -> None:
    """Divisors are at least 1, whatever their bounds say."""
    for ends, below in product(
        ENDS, ((1, None), (2, None), (1, 3), (2, 5), (None, 4), (-3, 2), (0, None), (0, 1))
    ):
        d, e = data_symbol("d", *ends), data_symbol("e", *below)

        def values(reach: int, ends: End = ends, below: End = below) -> list[int]:
            by = [q for q in numbers(below, reach) if q >= 1]
            return [p // q for p in numbers(ends, reach) for q in by]

        assert range_of(quick_floordiv(d, e)) == extremes(values), (ends, below)


def test_a_fraction_is_rounded_to_the_inside() -> None:
    d = data_symbol("d", 0, 3)
    assert range_of(d * (d - 1) // 2) == (-1, 4)
    assert range_of(d * (d + 1) // 2) == (0, 6)
    assert range_of((d * d * d - d) // 3) == (-1, 9)


def test_what_bounds_a_coordinate_bounds_its_range() -> None:
    low, high = data_symbol("a", -2, 3), data_symbol("b", 1, 4)
    assert range_of(coordinate("c", high, low)) == (-2, 4)
    assert range_of(coordinate("c", 2 * high + 1, 1 - low)) == (-2, 9)
    assert range_of(coordinate("c", data_symbol("u", None), data_symbol("v", 0) - 3)) == (-3, None)


def test_a_sum_of_unknown_length_keeps_its_sign() -> None:
    x, count = the_symbol(data_symbol("x")), data_symbol("c")
    for ends in ENDS:
        d = data_symbol("d", *ends)
        low, high = ends
        found = range_of(opaque_sum(d, x, const(1), count))
        assert found == (0 if low is not None and low >= 0 else None, 0 if high in (-1, 0) else None)


def test_clips_that_ranges_decide_are_not_made() -> None:
    n = length("n")
    assert quick_relu(n - 1) == n - 1
    assert quick_relu(1 - n) == 0
    assert str(quick_relu(n - 2)) == "Max(n - 2, 0)"


def test_the_least_of_a_sum_of_symbols() -> None:
    a, b = data_symbol("a", -2, 3), data_symbol("b", 1, 4)
    c = coordinate("c", b + 1, a)
    for x, y, z in product((-2, 0, 1), (-1, 0, 2), (-1, 0, 1)):
        form = x * a + y * b + z * c + 5
        there = [
            (i, j, k) for i in range(-2, 4) for j in range(1, 5) for k in (range(i, j + 2) if z else (0,))
        ]
        least, found = min(x * i + y * j + z * k + 5 for i, j, k in there), least_value(form)
        assert found is not None
        assert found == least if z == 0 or x == y == 0 else found <= least
    assert least_value(data_symbol("u", None, None) + a) is None
    assert least_value(a // 2) is None
    assert least_value(Poly({(the_symbol(a),): 1}, 2)) is None


@pytest.mark.parametrize(
    "low, divisor", [(4, "i - 3"), (2, "i*i - 3"), (1, "2*i - 1"), (3, "i - k + 1"), (1, "i*k - k + 1")]
)
def test_divisors_that_are_positive_inside_only(low: int, divisor: str) -> None:
    """A sum that stays one is evaluated where it is empty, too: then nothing is divided by what vanishes."""
    n, m, k = length("n"), length("m"), length("k")
    i = coordinate("i", n, low)
    made = eval(divisor, {"i": i, "k": k})  # noqa: S307 - the lines above
    found = total(m // made, [(the_symbol(i), low, n)], [ge(made - 1)])
    for x, y, z in product(range(1, 8), (1, 7), (1, 2, 5)):
        rows = [eval(divisor, {"i": j, "k": z}) for j in range(low, x + 1)]  # noqa: S307
        expected = sum(y // row for row in rows if row >= 1)
        assert evaluate(found, {the_symbol(n): x, the_symbol(m): y, the_symbol(k): z}) == expected


def test_a_divisor_at_the_one_place_that_counts() -> None:
    """Where the place lies outside of the range, the divisor there may vanish."""
    n, m, k = length("n"), length("m"), length("k")
    i = coordinate("i", n, 4)
    bodies: list[tuple[Poly, Callable[[int, int], int]]] = [
        (m // (i - 3), lambda y, z: y // (z - 3)),
        (m // (m // (i - 3) + 1), lambda y, z: y // (y // (z - 3) + 1)),
    ]
    for body, number in bodies:
        found = total(body, [(the_symbol(i), 4, n)], [eq(i - k)])
        for x, y, z in product((2, 5, 7), (1, 9), range(1, 9)):
            there = {the_symbol(n): x, the_symbol(m): y, the_symbol(k): z}
            assert evaluate(found, there) == (number(y, z) if 4 <= z <= x else 0)


@pytest.mark.parametrize("low, high", [(0, 3), (1, 3), (-2, -1), (-2, 3), (None, 2), (-1, None)])
def test_a_sum_that_stays_lies_between_so_many_times_its_ends(low: int | None, high: int | None) -> None:
    d, x = data_symbol("d", low, high), the_symbol(data_symbol("x"))
    for first, steps in product((-2, 0, 1, 3), range(17, 20)):  # over fewer numbers it is written out
        stays = opaque_sum(d, x, const(first), const(first + steps - 1))
        count = max(steps, 0)
        least = None if low is None else min(0, low * count)
        assert range_of(stays) == (least, None if high is None else max(0, high * count))
