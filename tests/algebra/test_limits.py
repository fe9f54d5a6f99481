"""Expressions that would blow up: an answer or ``AlgebraBudget``, in bounded time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.algebra.support import brute_sum
from tolcost.algebra import (
    AlgebraBudget,
    Cond,
    Poly,
    Sum,
    compare,
    conj,
    const,
    coordinate,
    data_symbol,
    disj,
    eq,
    evaluate,
    ge,
    generators_in,
    length,
    maximum,
    negate,
    powers,
    prove,
    relu,
    the_symbol,
    to_text,
    total,
    total_of,
)
from tolcost.algebra.conditions import signed_cases
from tolcost.algebra.evaluate import _Loops, _Point
from tolcost.algebra.parse import parse_text
from tolcost.algebra.poly import MAX_DEGREE
from tolcost.algebra.printers import factored, name_latex
from tolcost.algebra.rebuild import opaque_sum, size_of
from tolcost.algebra.sums import MOST_FACTORS
from tolcost.diagnostics import Rejected

n, m = length("n"), length("m")


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


def nested_clips(depth: int) -> Poly:
    result = n
    for k in range(depth):
        result = relu(length(f"b{k}") - result)
    return result


def unlike(k: int) -> Cond:
    return negate(eq(length(f"b{k}") - 3))


def in_parts(whole: Poly, parts: int) -> Poly:
    """What it is cut into so many parts, all but equal, and put together again."""
    return total_of((whole + k) // parts for k in range(parts))


def claims_in_turns(depth: int) -> Cond:
    """Conjunctions and disjunctions in turns; all follows from what each length is at least."""
    cond = ge(length("b0") - 2)
    for k in range(1, depth + 1):
        other = length(f"b{k}") - 2
        cond = disj(cond, ge(other - n * n)) if k % 2 else conj(cond, ge(other))
    return cond


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
        (lambda size: nested_clips(size), 30, "more than 30 deep"),
        (lambda size: powers(2, const(size)), 4096, "an exponent above 4096"),
        (lambda size: signed_cases(conj(*(unlike(k) for k in range(size)))), 9, "more than 512 cases"),
        (lambda size: _Loops(1_000).take(size), 1_000, "more than 10000000 terms"),
    ],
)
def test_what_is_made_up_to_a_limit_and_no_further(
    make: Callable[[int], object], size: int, refusal: str
) -> None:
    make(size)
    with pytest.raises(AlgebraBudget, match=refusal):
        make(size + 1)


@pytest.mark.parametrize("divisor", [63, 64, 65])
def test_floors_that_repeat_soon_have_a_closed_form(divisor: int) -> None:
    i = coordinate("i", n)
    result = total(i * i // divisor, [(the_symbol(i), 1, n)])
    assert any(isinstance(g, Sum) for g in generators_in(result)) is (divisor > 64)
    for size in (1, 7, 70, 130):
        assert evaluate(result, {the_symbol(n): size}) == sum(x * x // divisor for x in range(1, size + 1))


@pytest.mark.parametrize("span", [63, 64, 65])
def test_a_short_range_is_written_out(span: int) -> None:
    x, y = coordinate("x", span), coordinate("y", n)
    over = [(the_symbol(x), 1, span), (the_symbol(y), 1, n)]
    guards = [ge(y - x * x * m)]
    result = total(1, over, guards)
    assert any(isinstance(g, Sum) for g in generators_in(result)) is (span > 64)
    point = {the_symbol(n): 9, the_symbol(m): 2}
    assert evaluate(result, point) == brute_sum(1, over, guards, point)


def test_residues_are_looked_at_as_long_as_they_are_few() -> None:
    for first, second in ((5, 4), (20, 20), (20, 21)):
        found = compare(in_parts(n, first) + in_parts(m, second), n + m).verdict
        assert found == ("equal" if first * second <= 400 else "unknown")


def test_claims_that_nest_deep_are_left_open() -> None:
    facts = tuple(ge(length(f"b{k}") - 2) for k in range(9))
    verdicts = [prove(claims_in_turns(depth), facts) for depth in range(9)]
    assert verdicts == [True] * 7 + [None] * 2


def square(size: int) -> Poly:
    """A product of two sums of so many lengths."""
    together = total_of(length(f"b{k}") for k in range(size))
    return (together + 1) * (together + 2)


@pytest.mark.parametrize(
    "make, size",
    [
        (square, 4),
        (lambda size: (n + 1) * (n ** (size - 1) + 3), 8),
        (lambda size: (n + 1) * total_of((k + 1) * m**k for k in range(size)), 300),
    ],
)
def test_factors_are_looked_for_as_long_as_it_is_little_work(make: Callable[[int], Poly], size: int) -> None:
    assert [len(factored(make(size + more)).factors) for more in (0, 1)] == [2, 1]


def test_what_is_shown_of_a_name_has_an_end() -> None:
    assert name_latex("y" * 60) == rf"\mathrm{{{'y' * 60}}}"
    assert name_latex("y" * 61) == rf"\mathrm{{{'y' * 60}...b25c27d3}}"
    assert name_latex("y" * 61) != name_latex("y" * 62)


def test_an_exponent_is_counted_from_a_least_that_is_near() -> None:
    for fallen in (1, 63, 64, 65):
        assert powers(2, -data_symbol("x", 0, fallen)).den == (2**fallen if fallen <= 64 else 1)


@pytest.mark.parametrize("count", [1, 20, 256, 257, 2_000])
def test_a_loop_takes_as_much_as_it_has_terms(count: int) -> None:
    i = coordinate("i", n)
    stays = total(i * i * m // n, [(the_symbol(i), 1, n)])
    point, loops = {the_symbol(n): count, the_symbol(m): 7}, _Loops(count)
    assert _Point(point, loops).form(stays) == sum(x * x * 7 // count for x in range(1, count + 1))
    assert loops.left == 0
    with pytest.raises(AlgebraBudget):
        _Point(point, _Loops(count - 1)).form(stays)


def test_a_closed_form_that_nobody_can_read_stays_a_sum() -> None:
    """Remainders and quotients of two coordinates made forms of 100 kB."""
    i, j = coordinate("i", n), coordinate("j", m)
    over = [(the_symbol(i), const(1), n), (the_symbol(j), const(1), m)]
    guard = conj(ge(i // 7 - (2 * i + j) % 5), ge((2 * i + j) // 3 - i % 5 - 1))
    found = total(1, over, [guard])
    assert size_of(found) < MOST_FACTORS
    assert any(isinstance(g, Sum) for g in generators_in(found))
    for sizes in ((1, 1), (13, 4), (20, 33)):
        there = dict(zip(map(the_symbol, (n, m)), sizes, strict=True))
        assert evaluate(found, there) == brute_sum(const(1), over, [guard], there)


def test_a_sum_whose_binder_decides_a_clip_is_nothing() -> None:
    """The bounds of a coordinate are looser than the range that is summed over."""
    i = coordinate("i", 10 * n, 0)
    assert opaque_sum(relu(4 - i), the_symbol(i), const(4), n) == const(0)
