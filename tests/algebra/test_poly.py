"""Polynomials: arithmetic, identity, and limits."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from itertools import product

import pytest
from hypothesis import given

from tests.algebra.support import at, build, lengths, trees, value
from tolcost.algebra import (
    AlgebraBudget,
    NotInteger,
    Poly,
    Relu,
    Sum,
    Symbol,
    UnboundSymbol,
    ceil_log2,
    const,
    coordinate,
    evaluate,
    length,
    powers,
    relu,
    replace,
    substitute,
    the_symbol,
    total,
)

n, m, k = length("n"), length("m"), length("k")
N, M = the_symbol(n), the_symbol(m)


@given(trees("nm", positive="n"))
def test_operations_mean_what_they_say(tree: object) -> None:
    names = lengths("nm")
    built = build(tree, names)
    for point in ({"n": 1, "m": 1}, {"n": 2, "m": 7}, {"n": 5, "m": 3}, {"n": 12, "m": 11}):
        assert evaluate(built, at(names, point)) == value(tree, point)


def test_ring_identities() -> None:
    assert (n + m) ** 3 == n**3 + 3 * n**2 * m + 3 * n * m**2 + m**3
    assert (n + 1) * (n - 1) - n * n == -1
    assert n - n == 0
    assert 2 * n + 3 == 3 + n * 2
    assert hash(n + 0) == hash(n)
    assert hash((n - n) + 5) == hash(5)


def test_integers_mix_in_from_both_sides() -> None:
    assert 7 - n == -(n - 7)
    assert (7 // n).free == {N}
    assert evaluate(7 % n, {N: 4}) == 3


def test_one_symbol_per_name_and_bounds() -> None:
    assert the_symbol(length("n")) is N
    assert the_symbol(length("n", 0)) is not N
    assert the_symbol(coordinate("i", n)) is not the_symbol(coordinate("i", n))


def test_generators_are_shared_and_immutable() -> None:
    (mono,) = (n // 3).terms
    (again,) = (length("n") // 3).terms
    assert mono[0] is again[0]
    with pytest.raises(AttributeError):
        N.name = "x"  # type: ignore[misc]


def test_copies_and_pickles_are_the_same_object() -> None:
    i = coordinate("i", n)
    p = (i * i + n // 3) // 2 + relu(n - m - 4) + total((i * m) // (n + m), [(the_symbol(i), 1, n)])
    assert pickle.loads(pickle.dumps(p)) == p  # noqa: S301  # our own bytes
    assert copy.deepcopy(p) == p
    assert copy.copy(N) is N


def test_a_polynomial_has_no_truth_value() -> None:
    with pytest.raises(TypeError):
        bool(n)


def test_substitution_is_simultaneous() -> None:
    assert substitute(m + 2 * n, {M: n, N: m}) == n + 2 * m


def test_substitution_does_not_capture() -> None:
    i = coordinate("i", n)
    left = total((i * m) // n, [(the_symbol(i), 1, n)])
    assert any(isinstance(g, Sum) for mono in left.terms for g in mono)
    free = coordinate("i", 9)
    put = substitute(left, {M: free})
    for number in range(1, 5):
        assert evaluate(put, {N: 5, the_symbol(free): number}) == sum((j * number) // 5 for j in range(1, 6))


def test_substitution_simplifies_again() -> None:
    assert substitute((n + m) // 3, {M: 2 * n}) == n
    assert substitute(relu(n - m), {M: n + 4}) == 0
    assert substitute(relu(n - m), {M: n - 4}) == 4


def test_a_generator_is_replaced_wherever_it_stands() -> None:
    half = n // 2
    ((old,),) = half.terms
    around: list[Callable[[Poly], Poly]] = [
        lambda f: f * f * m,
        lambda f: (f * m + 1) // 3,
        lambda f: m // (f + 1),
        lambda f: relu(f * m - 7),
        lambda f: ceil_log2(f + m),
        lambda f: powers(2, f),
        lambda f: relu(ceil_log2(f * m + 2) * f - powers(3, f)),
    ]
    other = ceil_log2(m) + relu(m - 4) + powers(2, m) + m * m // 3
    for new, make in product((m, k + 3, const(5)), around):
        assert replace(make(half), old, new) == make(new)
        assert replace(make(half) * other, old, new) == make(new) * other
        assert replace(other, old, new) == other


@given(trees("nm", positive="n"))
def test_substitution_agrees_with_evaluation(tree: object) -> None:
    names = lengths("nm")
    built = build(tree, names)
    put = substitute(built, {N: k + 1, M: k * k})
    for number in (1, 2, 3, 6):
        there = value(tree, {"n": number + 1, "m": number * number})
        assert evaluate(put, {the_symbol(k): number}) == there


def test_a_clip_that_is_always_open_depends_on_the_bound() -> None:
    zero = length("z", 0)
    assert relu(n - 1) == n - 1
    assert any(isinstance(g, Relu) for mono in relu(zero - 1).terms for g in mono)


def test_free_symbols() -> None:
    i = coordinate("i", n)
    left = total((i * m) // n, [(the_symbol(i), 1, n)])
    assert left.free == {N, M}


def test_errors_are_our_own() -> None:
    with pytest.raises(UnboundSymbol, match="no value for m"):
        evaluate(n + m, {N: 1})
    with pytest.raises(NotInteger):
        evaluate(Poly({(N,): 1}, 2), {N: 1})
    with pytest.raises(NotInteger):
        evaluate(n // m, {N: 1, M: 0})
    with pytest.raises(ValueError, match="negative exponent"):
        n ** (-1)
    with pytest.raises(ZeroDivisionError):
        n // 0


def test_sizes_are_limited() -> None:
    many = sum((length(f"x{j}") for j in range(300)), start=n)
    with pytest.raises(AlgebraBudget):
        _ = many * many * many
    with pytest.raises(AlgebraBudget):
        n**100_000
    with pytest.raises(AlgebraBudget):
        (n - n + 9) ** (9**9)
    with pytest.raises(AlgebraBudget):
        nested(100)


def nested(levels: int) -> Poly:
    deep = n
    for level in range(levels):
        deep = relu(deep * length(f"y{level}") - 5) * m - k
    return deep


def test_symbols_carry_what_they_were_made_with() -> None:
    i = the_symbol(coordinate("i", n, 3))
    assert isinstance(i, Symbol)
    assert (i.name, i.kind) == ("i", "coord")
    assert i.lo == 3
    assert i.hi == n
