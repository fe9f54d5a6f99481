"""A new generator is one class and one row per table: this adds a square root, and every pass knows it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from math import isqrt
from typing import Any

import pytest
import sympy

from tolcost.algebra import (
    Poly,
    ceil_log2,
    const,
    coordinate,
    evaluate,
    evaluate_many,
    floordiv,
    ge,
    length,
    powers,
    prepared,
    prove,
    relu,
    the_symbol,
    to_browser,
    to_latex,
    to_mathml,
    to_text,
    total,
)
from tolcost.algebra.compare import degree
from tolcost.algebra.evaluate import prepared_all
from tolcost.algebra.floors import range_of
from tolcost.algebra.poly import Composite, Exponential, Floor, Log2, Relu, Sum, Symbol, atom
from tolcost.algebra.printers import Max, Min
from tolcost.algebra.quick_checks import direction, is_refuted
from tolcost.algebra.substitute import substitute
from tolcost.algebra.sympy_form import to_sympy
from tolcost.algebra.sympy_sums import SympySums
from tolcost.algebra.walk import TABLES
from tolcost.execute.grid import GridAxis, make_grid, poly_on_grid

n, m = length("n"), length("m")
N, M = the_symbol(n), the_symbol(m)


class Root(Composite, frozen=True):
    """The square root rounded down; 0 of what is negative."""

    p: Poly


def value(p: int) -> int:
    return isqrt(max(p, 0))


def root(p: Poly) -> Poly:
    return atom(Root.make(p)) if p.constant is None else const(value(p.constant))


def ends(generator: Root) -> tuple[int | None, int | None]:
    low, high = range_of(generator.p)
    return value(low or 0), None if high is None else value(high)


def in_sympy(walk: Any, generator: Root) -> sympy.Expr:
    return sympy.floor(sympy.sqrt(sympy.Max(walk.form(generator.p), 0)))


ROWS: dict[str, Any] = {
    "meaning": lambda _, p: value(p),
    "range": ends,
    "direction": (True,),
    "degree": lambda generator: (degree(generator.p) + 1) // 2,
    "rebuilding": lambda rules, _, p: root(p),
    "sympy": in_sympy,
    "sympy's own functions": in_sympy,
    "text": "floor(sqrt({0}))",
    "LaTeX": r"\left\lfloor\sqrt{{{0}}}\right\rfloor",
    "MathML": "<mrow><mo>&#x230A;</mo><msqrt>{0}</msqrt><mo>&#x230B;</mo></mrow>",
    "browser": "r",
}


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in TABLES:
        if table.name in ROWS:
            monkeypatch.setitem(table, Root, ROWS[table.name])


def test_the_tables_that_need_a_row() -> None:
    """All others say what they do with any kind that has a meaning."""
    assert {table.name for table in TABLES if table.otherwise is None} == ROWS.keys()
    for table in TABLES:
        assert all(table[kind] for kind in (Floor, Relu, Log2, Exponential)), table.name
        assert not table.keys() - {Symbol, Floor, Relu, Log2, Exponential, Sum, Min, Max}, table.name


def by_sympy(p: Poly, at: int) -> int:
    return int(to_sympy(p, {N: sympy.Integer(at)}).doit())


def by_sympys_own_functions(p: Poly, at: int) -> int:
    found = SympySums.over([N])
    result = found.at(found.poly(p), {N: at})
    assert isinstance(result, int)
    return result


WAYS: dict[str, Callable[[Poly, int], int]] = {
    "point": lambda p, at: evaluate(p, {N: at}),
    "columns": lambda p, at: evaluate_many(p, {N: [at, at + 1]}).tolist()[0],
    "prepared": lambda p, at: prepared(p)({N: at}),
    "prepared together": lambda p, at: prepared_all([p])({N: at})[0],
    "substituted": lambda p, at: evaluate(substitute(p, {N: m - 3}), {M: at + 3}),
    "number": lambda p, at: substitute(p, {N: at}).constant or 0,
    "sympy": by_sympy,
    "sympy's own functions": by_sympys_own_functions,
}


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_evaluate_agrees(way: str) -> None:
    form = root(n * 3 + 1) * n + floordiv(root(n), 2) + relu(root(n) - 4) + ceil_log2(root(n) + 1)
    for at in (1, 2, 5, 16, 47, 1000):
        expected = value(3 * at + 1) * at + value(at) // 2 + max(value(at) - 4, 0) + value(at).bit_length()
        assert WAYS[way](form, at) == expected


@pytest.mark.usefixtures("rows")
def test_a_sum_and_a_grid() -> None:
    i = coordinate("i", n)
    summed = total(root(i), [(the_symbol(i), const(1), n)])
    assert [evaluate(summed, {N: at}) for at in (1, 4, 30)] == [
        sum(value(k) for k in range(1, at + 1)) for at in (1, 4, 30)
    ]
    grid = make_grid((GridAxis(N, 3, 4),), None)
    found = poly_on_grid(root(n) + 1, grid, {})
    assert not isinstance(found, int)
    assert found.tolist() == [value(k) + 1 for k in (3, 4, 5, 6)]


@pytest.mark.usefixtures("rows")
def test_proofs() -> None:
    assert range_of(root(n * 4 + 5))[0] == 3
    assert prove(ge(root(n) - 1)) is True
    assert prove(ge(root(n + 8) - 4)) is not True
    assert is_refuted(root(n) - 2, ())
    assert direction(root(n) * 2, N) == 1
    assert direction(-root(n), N) == -1
    assert direction(root(n) - n, N) is None
    assert degree(root(n * n * n) * n) == 3


@pytest.mark.usefixtures("rows")
def test_it_is_written_and_copied() -> None:
    form = root(n + 1) * 2 - powers(2, root(m))
    assert to_text(form) == "2*floor(sqrt(n + 1)) - 2**(floor(sqrt(m)))"
    assert to_latex(root(n) ** 2) == r"\left\lfloor\sqrt{n}\right\rfloor^{2}"
    assert "<msqrt><mi>n</mi></msqrt>" in to_mathml(root(n))
    assert to_browser(root(n + 1)) == ["r", ["+", {"v": "n"}, 1]]
    assert pickle.loads(pickle.dumps(form)) == copy.deepcopy(form) == form  # noqa: S301  # written here
