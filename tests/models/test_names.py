"""Names of a graph: lengths that become one, or larger, and what is shown of them in the end."""

from __future__ import annotations

from tolcost.algebra import Poly, data_symbol, ge, length, the_symbol
from tolcost.elaborate import Tensor
from tolcost.models.facts import FactTable, ValueTable, enlarged

n, m = length("n"), length("m")


def names_of(**shapes: Poly) -> ValueTable:
    """Vectors by name, with these lengths."""
    names = ValueTable(FactTable())
    for name, size in shapes.items():
        names.define(name, names.table.number(Tensor((size,), "float32")))
    return names


def size_of(names: ValueTable, name: str) -> Poly:
    known = names.known(name)
    assert isinstance(known, Tensor)
    return known.shape[0]


def test_a_length_is_as_large_as_conditions_need_it() -> None:
    names = names_of(x=n, y=m)
    for least in (3, 7, 5):
        names.adopt(enlarged([ge(size_of(names, "x") - least)]))
    assert size_of(names, "x") == length("n", 7)
    assert size_of(names, "y") == m
    shown = names.reopened()
    assert size_of(shown, "x") == n
    assert shown.equal == {the_symbol(length("n", least)): n for least in (3, 7)}
    assert names.newest() == {the_symbol(n): length("n", 7)}


def test_what_is_known_of_a_length_is_known_of_what_it_becomes() -> None:
    names = names_of(x=n, y=m)
    names.adopt(enlarged([ge(n - 10)]))
    names.adopt({the_symbol(length("n", 10)): 2 * m})
    assert size_of(names, "x") == 2 * length("m", 5)
    assert size_of(names.reopened(), "x") == 2 * m
    assert size_of(names.reopened(), "y") == m


def test_what_a_function_learned_is_known_outside() -> None:
    inner, outer = names_of(x=n, y=m), names_of(x=n, y=m)
    for least in (3, 7):
        inner.adopt(enlarged([ge(size_of(inner, "x") - least)]))
    inner.adopt({the_symbol(m): size_of(inner, "x")})
    outer.adopt(inner.learned())
    assert size_of(outer, "x") == size_of(outer, "y") == length("n", 7)


def test_what_data_decides_may_be_called_like_a_length() -> None:
    decided = data_symbol("n", 0, 9)
    names = names_of(x=n, y=decided)
    names.adopt(enlarged([ge(n - 10)]))
    names.adopt({the_symbol(decided): m})
    assert size_of(names, "x") == length("n", 10)
    assert size_of(names, "y") == m
