"""Expressions that would blow up: an answer or ``AlgebraBudget``, in bounded time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tolcost.algebra import (
    AlgebraBudget,
    Poly,
    Sum,
    conj,
    const,
    coordinate,
    disj,
    evaluate,
    ge,
    generators_in,
    length,
    maximum,
    relu,
    the_symbol,
    to_text,
    total,
    total_of,
)
from tolcost.algebra.parse import parse_text
from tolcost.algebra.poly import MAX_DEGREE
from tolcost.diagnostics import Rejected

n = length("n")


def triangle(depth: int) -> Poly:
    end, over = n, []
    for _ in range(depth):
        inner = coordinate("i", end)
        over.append((the_symbol(inner), 1, end))
        end = inner
    return total(1, over)


def box(depth: int) -> Poly:
    sides = [coordinate("i", length(f"n{k}")) for k in range(depth)]
    return total(1, [(the_symbol(i), 1, length(f"n{k}")) for k, i in enumerate(sides)])


def largest(count: int) -> Poly:
    result = const(0)
    for k in range(count):
        result = maximum(result, length(f"b{k}"))
    return result


def alternatives(count: int) -> Poly:
    i, j = coordinate("i", n), coordinate("j", n)
    guards = [disj(ge(i - k * j - 3), ge(j - k * i - 5)) for k in range(1, count)]
    return total(1, [(the_symbol(i), 1, n), (the_symbol(j), 1, n)], guards)


def clip_product(count: int) -> Poly:
    i = coordinate("i", n)
    body = const(1)
    for k in range(count):
        body = body * relu(i - length(f"b{k}"))
    return total(body, [(the_symbol(i), 1, n)])


def nested_floors(count: int) -> Poly:
    i = coordinate("i", n)
    body = i
    for k in range(2, count):
        body = (body * body + 1) // k
    return total(body, [(the_symbol(i), 1, n)])


@pytest.mark.parametrize(
    "make, refusal",
    [
        (lambda: triangle(200), "deep"),
        (lambda: box(500), "degree"),
        (lambda: largest(40), "deep"),
        (lambda: alternatives(12), "cases"),
    ],
)
def test_what_would_blow_up_is_refused(make: Callable[[], Poly], refusal: str) -> None:
    with pytest.raises(AlgebraBudget, match=refusal):
        make()


def test_the_largest_degree_is_allowed_and_no_larger_one() -> None:
    assert (n**MAX_DEGREE).terms
    with pytest.raises(AlgebraBudget, match="degree"):
        n ** (MAX_DEGREE + 1)


@pytest.mark.parametrize("make", [lambda: clip_product(5), lambda: nested_floors(14)])
def test_what_has_no_small_closed_form_stays_a_sum(make: Callable[[], Poly]) -> None:
    assert {type(g) for g in generators_in(make())} == {Sum}


def test_deep_triangles_have_a_closed_form() -> None:
    deep = triangle(60)
    assert evaluate(deep, {the_symbol(n): 1}) == 1
    assert evaluate(deep, {the_symbol(n): 2}) == 61


def test_long_ranges_cost_nothing() -> None:
    i = coordinate("i", 2**63)
    ranges = [(the_symbol(i), 1, 2**63)]
    assert total(i, ranges) == 2**63 * (2**63 + 1) // 2
    assert total(i // 2, ranges) == 2**62 * 2**62


@pytest.mark.parametrize(
    "text, size, refusal",
    [
        (lambda size: "(" * (size - 1) + "n" + ")" * (size - 1), 60, "nested more than 60 levels deep"),
        (lambda size: "9" * size, 1_000, "a number has more than 1000 digits"),
        (lambda size: f"n**{size}", 64, "an exponent is a number up to 64"),
        (lambda size: "n".ljust(size), 1_000_000, "an expression is longer than 1000000 characters"),
    ],
)
def test_what_is_read_up_to_a_limit_and_no_further(
    text: Callable[[int], str], size: int, refusal: str
) -> None:
    parse_text(text(size))
    with pytest.raises(Rejected, match=refusal):
        parse_text(text(size + 1))


@pytest.mark.parametrize(
    "make, size, refusal",
    [
        (lambda size: conj(*(ge(n - k) for k in range(2, size + 2))), 400, "more than 400 parts"),
        (lambda size: const(2) ** size, 100_000, "a power is too large"),
        (lambda size: total_of(length(f"n{k}") for k in range(size)), 20_000, "more than 20000 terms"),
        (lambda size: n**200 * n ** (size - 200), 400, "degree above 400"),
        (lambda size: to_text(const(2 ** (size - 1))), 12_000, "more than 4000 digits"),
    ],
)
def test_what_is_made_up_to_a_limit_and_no_further(
    make: Callable[[int], object], size: int, refusal: str
) -> None:
    make(size)
    with pytest.raises(AlgebraBudget, match=refusal):
        make(size + 1)
