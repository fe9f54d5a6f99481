"""Sums that differ in names only: what is taken over from one to the other is what it would come to."""

from __future__ import annotations

from itertools import product

import pytest

from tolcost.algebra import Poly, coordinate, eq, evaluate, ge, length, relu, the_symbol, total

LENGTHS = {
    "alike": (length("h"), length("w")),
    "unlike in their least value": (length("h"), length("w", 0)),
    "one of them a number": (length("h"), Poly({(): 5})),
    "the same twice": (length("h"), length("h")),
}


def windows(size: Poly, kernel: int) -> tuple[list[tuple[object, Poly | int, Poly | int]], list[object]]:
    """Places of a window, its elements, and that an element lies inside."""
    place, inside = coordinate("i", size), coordinate("u", kernel)
    at = 2 * place + inside - 3
    return [(the_symbol(place), 1, size), (the_symbol(inside), 1, kernel)], [ge(at - 1), ge(size - at)]


def brute(size: int, kernel: int) -> int:
    places = product(range(1, size + 1), range(1, kernel + 1))
    return sum(1 <= 2 * place + inside - 3 <= size for place, inside in places)


@pytest.mark.parametrize("kernels", [(3, 3), (3, 4)], ids=str)
@pytest.mark.parametrize("name", LENGTHS)
def test_rows_and_columns(name: str, kernels: tuple[int, int]) -> None:
    sizes = LENGTHS[name]
    parts = [windows(size, kernel) for size, kernel in zip(sizes, kernels, strict=True)]
    found = total(1, [r for ranges, _ in parts for r in ranges], [g for _, guards in parts for g in guards])  # type: ignore[misc]
    for values in product(range(1, 9), repeat=2):
        point = {the_symbol(s): v for s, v in zip(sizes, values, strict=True) if s.constant is None}
        numbers = [evaluate(size, point) for size in sizes]
        assert evaluate(found, point) == brute(numbers[0], kernels[0]) * brute(numbers[1], kernels[1])


def test_what_is_known_of_one_is_not_taken_over() -> None:
    """The sum over rows is simpler because h is at least 6; w may be less."""
    h, w = length("h"), length("w")
    parts = [windows(size, 3) for size in (w, h)]
    found = total(
        1,
        [r for ranges, _ in parts for r in ranges],  # type: ignore[misc]
        [g for _, guards in parts for g in guards],  # type: ignore[misc]
        [ge(h - 6)],
    )
    for a, b in product(range(1, 6), range(6, 10)):
        point = {the_symbol(w): a, the_symbol(h): b}
        assert evaluate(found, point) == brute(a, 3) * brute(b, 3)


H, W, Z = length("h"), length("w"), length("z", 0)
SIZES = [H, W, Z, H // 2, W // 2, (W + 1) // 2, W // 3, relu(H - 2), Poly({(): 5})]


@pytest.mark.parametrize("first", SIZES, ids=str)
def test_halves_of_ranges_of_every_kind(first: Poly) -> None:
    """Two ranges have the same numbers in their forms; what these are of differs, and the guards may."""
    for second, same in product(SIZES, (True, False)):
        i, j = coordinate("i", first), coordinate("j", second)
        guards = [ge(2 * i - first), ge(2 * j - second) if same else eq(2 * j - second)]
        found = total(1, [(the_symbol(i), 1, first), (the_symbol(j), 1, second)], guards)
        for values in ((1, 2, 0), (4, 3, 1), (7, 8, 6)):
            point = {the_symbol(s): v for s, v in zip(SIZES[:3], values, strict=True)}
            a, b = evaluate(first, point), evaluate(second, point)
            rows = sum(2 * x >= a for x in range(1, a + 1))
            columns = sum(2 * x >= b if same else 2 * x == b for x in range(1, b + 1))
            assert evaluate(found, point) == rows * columns


@pytest.mark.parametrize("lengths", [*product((H, W), repeat=4)], ids=str)
def test_names_that_change_their_roles(lengths: tuple[Poly, ...]) -> None:
    """Two sums of the same numbers are alike only if the same lengths stand in the same places."""
    first, beyond, second, other = lengths
    i, j = coordinate("i", first), coordinate("j", second)
    ranges = [(the_symbol(i), 1, first), (the_symbol(j), 1, second)]
    found = total(1, ranges, [ge(2 * i - beyond), ge(2 * j - other)])
    for a, b in product(range(1, 7), repeat=2):
        size = {H: a, W: b}
        rows = sum(2 * x >= size[beyond] for x in range(1, size[first] + 1))
        columns = sum(2 * x >= size[other] for x in range(1, size[second] + 1))
        assert evaluate(found, {the_symbol(H): a, the_symbol(W): b}) == rows * columns
