"""Sums: closed forms known from paper and practice, each against adding up one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from tests.algebra.support import Over, brute_sum
from tolcost.algebra import (
    AlgebraBudget,
    Cond,
    Poly,
    Sum,
    Symbol,
    conj,
    const,
    coordinate,
    disj,
    eq,
    evaluate,
    evaluate_cond,
    ge,
    length,
    maximum,
    minimum,
    mod,
    negate,
    relu,
    substitute,
    sums,
    the_symbol,
    to_text,
    total,
)

n, m, k, h, w, s, p = (length(name) for name in ("n", "m", "k", "H", "W", "s", "p"))
z = length("z", 0)


def over(*coordinates: Poly) -> list[tuple[Symbol, Poly, Poly]]:
    """Give the ranges of coordinates by their own bounds."""
    symbols = [the_symbol(c) for c in coordinates]
    return [(c, c.lo, c.hi) for c in symbols if c.lo is not None and c.hi is not None]


def check(
    body: Poly | int,
    ranges: Over,
    guards: Sequence[Cond],
    params: Sequence[Poly],
    values: range = range(1, 7),
    facts: tuple[Cond, ...] = (),
    closed: bool = True,
) -> Poly:
    """Sum, compare with brute force on a grid, and give the closed form."""
    result = total(body, ranges, guards, facts)
    assert closed is not any(isinstance(g, Sum) for mono in result.terms for g in mono), result
    symbols = [the_symbol(param) for param in params]
    for numbers in product(values, repeat=len(symbols)):
        point = dict(zip(symbols, numbers, strict=True))
        if all(evaluate_cond(fact, point) for fact in facts):
            assert evaluate(result, point) == brute_sum(body, ranges, guards, point), point
    return result


def test_powers_to_the_twentieth() -> None:
    i = coordinate("i", n)
    for exponent in range(21):
        check(i**exponent, over(i), [], [n], range(1, 24))


def test_an_empty_range_is_zero() -> None:
    c = coordinate("c", z)
    assert total(1, over(c)) == z
    backwards = coordinate("b", -3)
    assert total(1, [(the_symbol(backwards), 1, -3)]) == 0
    d = coordinate("d", n - 4)
    assert to_text(check(1, over(d), [], [n])) == "Max(n - 4, 0)"
    check(d, over(d), [], [n])
    e = coordinate("e", m, n)
    check(e * e, over(e), [], [n, m])


def test_triangles() -> None:
    i = coordinate("i", n)
    j = coordinate("j", i)
    c = coordinate("c", j)
    d = coordinate("d", c)
    assert to_text(check(i * j, over(i, j), [], [n])) == "n*(n + 1)*(n + 2)*(3*n + 1)/24"
    deep = check(i * j, over(i, j, c, d), [], [n])
    assert to_text(deep) == "n**2*(n + 1)**2*(n + 2)*(n + 3)/48"
    strict = coordinate("j", n, i + 1)
    assert to_text(check(1, over(i, strict), [], [n])) == "n*(n - 1)/2"
    skew = coordinate("j", i + m, i - 2)
    check(i * skew, over(i, skew), [], [n, m])


@pytest.mark.parametrize("step", [2, 3, 4, 7])
@pytest.mark.parametrize("slope", [1, 2, 3, -1])
def test_floors_with_constant_step(step: int, slope: int) -> None:
    i = coordinate("i", n)
    check((slope * i + 1) // step, over(i), [], [n], range(1, 16))
    check((slope * i + k) // step * i, over(i), [], [n, k], range(1, 8))


def test_more_floors() -> None:
    i, j = coordinate("i", n), coordinate("j", m)
    check((i + 1) // 2 * (i // 3), over(i), [], [n], range(1, 14))
    check(((i + 1) // 2 + i) // 3, over(i), [], [n], range(1, 14))
    check((i * i) // 3, over(i), [], [n], range(1, 14))
    check((i + j) // 2, over(i, j), [], [n, m])
    check((i * j) // 2, over(i, j), [], [n, m])
    check(mod(i, 3) ** 2, over(i), [], [n], range(1, 14))
    check(i // k, over(i), [], [n, k], range(1, 9))
    check((i + m) // k * i, over(i), [], [n, m, k], range(1, 6))
    inner = coordinate("j", (i + 1) // 2)
    check(i + inner, over(i, inner), [], [n], range(1, 12))


def test_clips_split_at_their_breakpoint() -> None:
    i, j = coordinate("i", n), coordinate("j", m)
    check(minimum(i, k), over(i), [], [n, k])
    check(maximum(i, k) * i, over(i), [], [n, k])
    check(maximum(i, j), over(i, j), [], [n, m])
    check(relu(2 * i - k), over(i), [], [n, k])
    check(relu(k - 3 * i), over(i), [], [n, k], range(1, 12))
    check(relu(minimum(i, k) - 3), over(i), [], [n, k], range(1, 9))
    check(relu(relu(i - 2) - m) // 2, over(i), [], [n, m], range(1, 9))
    check(minimum(i, m) * maximum(i, k), over(i), [], [n, m, k], range(1, 6))


def test_guards() -> None:
    i, j = coordinate("i", n), coordinate("j", m)
    assert to_text(check(1, over(i, j), [eq(i - j)], [n, m])) == "Min(m, n)"
    check(1, over(i, j), [negate(eq(i - j))], [n, m])
    check(i, over(i, j), [disj(ge(i - 3), ge(j - 4))], [n, m])
    check(1, over(i, j), [ge(k - i - j)], [n, m, k], range(1, 6))
    check(1, over(i, j), [eq(i + 2 * j - k)], [n, m, k], range(1, 6))
    check(1, over(i, j), [eq(2 * i - 3 * j)], [n, m], range(1, 10))
    check(j, over(i, j), [ge(i - j + 1), ge(j - i + 1)], [n, m])
    assert to_text(check(1, over(i), [eq(mod(i, 3))], [n], range(1, 14))) == "floor(n/3)"
    check(i, over(i), [eq(mod(i, 2)), ge(i - k)], [n, k])
    check(1, over(i, j), [eq(mod(i + j, 2))], [n, m])
    check(1, over(i), [ge(m - 3)], [n, m])
    check(1, over(i), [ge(i // 2 - k)], [n, k], range(1, 9))
    assert total(1, over(i), [ge(i - n - 1)]) == 0
    assert total(1, over(i), [ge(n - i)]) == n


def test_several_fixed_bounds_against_a_moving_one() -> None:
    i, j = coordinate("i", n), coordinate("j", n)
    check(1, over(i, j), [ge(m - j - 2), ge(i - j + 1)], [n, m])
    check(j, over(i, j), [ge(m - j), ge(k - j), ge(i - j + 1)], [n, m, k], range(1, 5))


def axis(size: Poly, kernel: Poly | int, stride: Poly | int, pad: Poly | int) -> tuple[Over, list[Cond]]:
    """Give the taps of one spatial axis, and the condition that a tap is inside the image."""
    outputs = (size + 2 * pad - kernel) // stride + 1
    out, tap = coordinate("o", outputs), coordinate("t", kernel)
    position = (out - 1) * stride + tap - pad
    return over(out, tap), [ge(position - 1), ge(size - position)]


def test_max_pool_is_a_product_over_its_axes() -> None:
    rows, inside_rows = axis(h, 3, 2, 1)
    columns, inside_columns = axis(w, 3, 2, 1)
    one = check(1, rows, inside_rows, [h], range(1, 20))
    assert to_text(one) == "2*floor((H + 1)/2) + floor(H/2) - 1"
    both = total(1, [*rows, *columns], [*inside_rows, *inside_columns])
    other = substitute(one, {the_symbol(h): w})
    assert both == one * other


@pytest.mark.parametrize(
    "kernel, stride, pad", [(3, 1, 1), (3, 2, 1), (5, 2, 2), (7, 2, 3), (11, 4, 2), (1, 2, 0), (2, 3, 1)]
)
def test_padding_exact_taps(kernel: int, stride: int, pad: int) -> None:
    ranges, inside = axis(h, kernel, stride, pad)
    least = max(1, kernel - 2 * pad)
    check(1, ranges, inside, [h], range(least, least + 24), facts=(ge(h - least),))


def test_padding_exact_taps_with_symbolic_kernel() -> None:
    ranges, inside = axis(h, k, 1, p)
    fits = (ge(h + 2 * p - k), ge(k - p - 1))
    check(1, ranges, inside, [h, k, p], range(1, 6), facts=fits)
    ranges, inside = axis(h, 5, s, 2)
    check(1, ranges, inside, [h, s], range(1, 12))


def test_convolution_of_the_issue() -> None:
    """H=9, W=11, 2 to 4 channels, 3x3, stride 2, padding 1: a multiplication and an addition per tap."""
    rows, inside_rows = axis(h, 3, 2, 1)
    columns, inside_columns = axis(w, 3, 2, 1)
    channels = over(coordinate("c", 2), coordinate("f", 4))
    ranges = [*rows, *columns, *channels]
    point = {the_symbol(h): 9, the_symbol(w): 11}
    assert evaluate(total(2, ranges), point) == 4320
    assert evaluate(total(2, ranges, [*inside_rows, *inside_columns]), point) == 3328


def test_transposed_convolution() -> None:
    out, tap = coordinate("o", 2 * h - 1), coordinate("t", 3)
    from_ = out + 1 - tap
    guards = [eq(mod(from_, 2)), ge(from_ // 2), ge(h - 1 - from_ // 2)]
    assert to_text(check(1, over(out, tap), guards, [h])) == "3*H - 2"


def test_causal_attention_and_bands() -> None:
    i, j = coordinate("i", n), coordinate("j", m)
    check(1, over(i, j), [ge(i + m - n - j)], [n, m])
    c = coordinate("j", n)
    check(1, over(i, c), [ge(c - i + w), ge(i - c + w)], [n, w])


def test_what_has_no_closed_form_stays_and_evaluates() -> None:
    i, j = coordinate("i", n), coordinate("j", n)
    left = check((i * m) // n, over(i), [], [n, m], closed=False)
    assert "Sum(" in to_text(left)
    check((i * j) // m, over(i, j), [], [n, m], range(1, 5), closed=False)
    check(1, over(i, j), [ge(i * i + j * j - m * n)], [n, m], range(1, 5), closed=False)
    huge = {the_symbol(n): 10**12 + 1, the_symbol(m): 10**9 + 7}
    assert evaluate(left, huge) == sum_of_floors(10**12 + 1, 10**9 + 7)


def sum_of_floors(a: int, b: int) -> int:
    """Sum of floor(i*b/a) for i from 1 to a, for a and b without a common divisor."""
    return (a - 1) * (b - 1) // 2 + b


def test_closed_part_is_closed_even_beside_an_open_one() -> None:
    i, j = coordinate("i", n), coordinate("j", m)
    both = total(i * j + (i * j) // (n + m), over(i, j))
    opened = total((i * j) // (n + m), over(i, j))
    assert both - opened == total(i * j, over(i, j))


def test_a_loop_that_is_too_long_is_refused() -> None:
    i = coordinate("i", n)
    left = total((i * i * m) // n, over(i))
    with pytest.raises(AlgebraBudget):
        evaluate(left, {the_symbol(n): 10**9 + 7, the_symbol(m): 3})


def test_constant_ranges() -> None:
    i, j = coordinate("i", 5), coordinate("j", 7)
    assert total(i * j, over(i, j)) == 15 * 28
    assert total((i * j) // 4, over(i, j)) == sum(a * b // 4 for a in range(1, 6) for b in range(1, 8))
    big = coordinate("b", 10**6)
    assert total(big // 7, over(big)) == sum(b // 7 for b in range(1, 10**6 + 1))
    assert total(1, over(big, j), [ge(big - 3 * j)]) == sum(10**6 - 3 * b + 1 for b in range(1, 8))


def test_bounds_wider_than_the_symbol_are_honoured() -> None:
    i = coordinate("i", 3)
    assert total(i, [(the_symbol(i), 0, n)]) == (n * n + n) // 2


def test_facts_about_summed_coordinates_are_not_used() -> None:
    i = coordinate("i", n)
    assert total(1, over(i), [], [ge(i - 3)]) == n
    assert total(const(1), over(i), [ge(i - 3)]) != n


_I, _J = coordinate("i", n), coordinate("j", n)
_K = coordinate("k", _I - 1)
AT_ONCE: list[tuple[Poly | int, tuple[Poly, ...], list[Cond]]] = [
    (1, (_I, _J), [ge(_J - _I)]),
    (_I - 1, (_I, _J), [ge(_I - _J)]),
    (_I * _K, (_I, _K), [ge(n - _K - 1)]),
    (1, (_I,), [ge(_I - 2), ge(n - 1 - _I)]),
    (1, (_I, _J), [conj(ge(_I - 2), ge(n - 1 - _I), ge(_J - 2), ge(n - 1 - _J))]),
    (m * _I, (_I,), [ge(1 - _I)]),
]


@pytest.mark.parametrize("body, coordinates, guards", AT_ONCE)
def test_guards_that_are_ends_of_ranges_need_no_cases(
    body: Poly | int, coordinates: tuple[Poly, ...], guards: list[Cond], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The closed form is the one that telling cases apart leads to."""
    with monkeypatch.context() as patched:
        patched.setattr(sums, "_sum_without_cases", lambda *_: None)
        slowly = check(body, over(*coordinates), guards, [n, m])
    monkeypatch.delattr(sums, "_sum_renamed")
    assert total(body, over(*coordinates), guards) == slowly
