"""Expressions handed to sympy keep their values, also after ordinary substitutions there."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice, product

import pytest
import sympy
from hypothesis import given, settings

from tests.algebra.pairs import Line, condition, inside, lines, number, points, poly, symbols
from tests.algebra.support import build, lengths, trees, value
from tolcost.algebra import coordinate, evaluate, ge, length, relu, the_symbol, to_sympy, total
from tolcost.algebra.sympy_form import FloorDiv, safe_name, sympy_symbols
from tolcost.algebra.sympy_sums import SympySums

n, m = length("n"), length("m")
N, M = the_symbol(n), the_symbol(m)


@settings(max_examples=150, deadline=None)
@given(trees("nm", positive="n", leaves=7))
def test_values_agree(tree: object) -> None:
    built = build(tree, lengths("nm"))
    names = sympy_symbols([N, M])
    expression = to_sympy(built, names)
    for a, b in ((1, 1), (2, 7), (9, 4)):
        there = expression.subs({names[N]: a, names[M]: b}, simultaneous=True)
        assert there == value(tree, {"n": a, "m": b})


@settings(max_examples=60, deadline=None)
@given(trees("nm", leaves=6))
def test_values_survive_substitution_and_simplification(tree: object) -> None:
    built = build(tree, lengths("nm"))
    names = sympy_symbols([N, M])
    x = sympy.Symbol("x", integer=True, positive=True)
    expression = sympy.expand(to_sympy(built, names).subs({names[N]: 2 * x, names[M]: x + 3}))
    for size in (1, 2, 5):
        assert expression.subs({x: size}) == value(tree, {"n": 2 * size, "m": size + 3})


def test_printing() -> None:
    assert str(to_sympy((n + 15) // 32)) == "floor((n + 15)/32)"
    assert str(to_sympy(relu(n - 3) * 2)) == "2*Max(n - 3, 0)"
    assert sympy.latex(to_sympy((n + 15) // 32)) == r"\left\lfloor\frac{n + 15}{32}\right\rfloor"
    assert sympy.latex(to_sympy(relu(n - 3) ** 2)) == r"\max\left(n - 3, 0\right)^{2}"


def test_text_of_nested_sums_reads_back() -> None:
    """All variables were printed as `_i`, so that the text of a nested sum was another number."""
    i, j = coordinate("i", n), coordinate("j", m)
    inner = total((i * j + m) // (i + j), [(the_symbol(j), 1, m)])
    nested = total(inner // (i + 2), [(the_symbol(i), 1, n)])
    names = sympy_symbols([N, M])
    text = str(to_sympy(nested, names))
    assert "_i" in text
    assert "_j" in text
    back = sympy.sympify(text, {"n": names[N], "m": names[M]})
    for a, b in ((1, 1), (3, 4), (5, 2)):
        assert back.subs({names[N]: a, names[M]: b}).doit() == evaluate(nested, {N: a, M: b})
    named = length("_i")
    mixed = total((named * i) // (i + m), [(the_symbol(i), 1, n)])
    assert "(_j, 1" in str(to_sympy(mixed))


def test_sums_are_zero_on_an_empty_range() -> None:
    i = coordinate("i", n - 4)
    left = total((i * m) // n, [(the_symbol(i), 1, n - 4)])
    names = sympy_symbols([N, M])
    expression = to_sympy(left, names)
    for a, b in ((1, 3), (2, 2), (7, 3), (9, 5)):
        there = expression.subs({names[N]: a, names[M]: b}).doit()
        assert there == evaluate(left, {N: a, M: b})


def test_what_is_summed_over_is_an_integer() -> None:
    i = coordinate("i", n)
    for body in (i * i * m // n, i * relu(i * i - m)):
        (found,) = to_sympy(total(body, [(the_symbol(i), 1, n)])).atoms(sympy.Sum)
        assert all(x.is_integer for x in found.variables)
        assert found.function.is_integer


def test_names_are_only_names() -> None:
    for name in ("N", "S", "E", "I", "Q", "O", "gamma", "lambda", "2*n", "a b", "__import__('os')", ""):
        symbol = length(name)
        shown = to_sympy(symbol)
        assert isinstance(shown, sympy.Symbol)
        assert shown.name == safe_name(name)
        assert shown.name.replace("_", "a").isalnum()
    assert to_sympy(length("a b") + length("a_u20_b")).free_symbols.__len__() == 2


def test_a_name_that_a_length_has_is_given_to_no_other() -> None:
    """Whoever puts a number in for it by name would get another sum."""
    others = [the_symbol(coordinate(name, n)) for name in ("i", "i", "i", "a b")]
    own = [the_symbol(length(name)) for name in ("i_3", "i_2", "a_u20_b")]
    names = sympy_symbols([*others, *own])
    assert [names[one].name for one in own] == ["i_3", "i_2", "a_u20_b"]
    assert [names[one].name for one in others] == ["i", "i_4", "i_5", "a_u20_b_2"]


def test_floor_is_not_dropped() -> None:
    names = sympy_symbols([N, M])
    expression = to_sympy((n * (2 * m + 2)) // 6, names)
    assert expression.has(FloorDiv)
    again = expression.subs({names[M]: names[M] + 1}).doit()
    assert again.subs({names[N]: 1, names[M]: 1}) == 1


def test_sympy_is_loaded_only_when_asked_for() -> None:
    use = "import sys, tolcost.algebra as a; n = a.length('n'); a.to_text(n*n//2)"
    code = f"{use}; print('sympy' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


FROM_ONE = [line for line in lines("sums") if line.ranges and all(lo == "1" for _, lo, _ in line.ranges)]


@pytest.mark.parametrize("line", FROM_ONE[::6], ids=lambda line: line.where)
def test_sums_by_sympy_alone_are_what_adding_up_gives(line: Line) -> None:
    names = symbols(line)
    sums = SympySums.over(the_symbol(names[name]) for name in line.lengths)
    over = [(the_symbol(names[name]), poly(hi, names)) for name, _, hi in line.ranges]
    found = sums.total([*over, condition(line.guard, names)], sums.poly(poly(line.asked, names)))
    for point in islice(points(line), 0, None, 7):
        added = sum(number(line.asked, at) for at in inside(line, point) if number(line.guard, at))
        assert sums.at(found, {the_symbol(names[name]): size for name, size in point.items()}) == added


@pytest.mark.parametrize("divisor", [2, 3])
def test_ranges_that_a_floor_ends_have_as_many_steps_by_sympy(divisor: int) -> None:
    """They are clipped where they may be shorter than empty, and nowhere else."""
    i = the_symbol(coordinate("i", n))
    for less, more, times in product(range(5), (-1, 0, 1), (1, 2)):
        sums = SympySums.over([N])
        found = sums.total([(i, times * ((n - less) // divisor) + more)])
        least = times * ((1 - less) // divisor) + more
        assert found.has(sympy.Max) or least >= 0
        assert not found.has(sympy.Max) or least < 0 or times > 1
        for size in range(1, 7):
            assert sums.at(found, {N: size}) == max(times * ((size - less) // divisor) + more, 0)


def test_what_a_program_relies_on_makes_divisors_positive_for_sympy() -> None:
    i, k = the_symbol(coordinate("i", n)), length("k")
    by = m - k
    for facts in ((ge(by - 1),), (ge(by - 3),), ()):
        sums = SympySums.over([N, M, the_symbol(k)], facts)
        assert sums.total([(i, n // by)]).has(sympy.Max) is not bool(facts)


def test_sums_of_other_weights_are_other_sums() -> None:
    i = coordinate("i", n)
    sums = SympySums.over([N])
    found = [sums.total([(the_symbol(i), n)], sums.poly(weight)) for weight in (i, n * 0 + 1, 2 * i, i)]
    assert [sums.at(each, {N: 4}) for each in found] == [10, 4, 20, 10]
