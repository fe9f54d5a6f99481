"""The plain files under ``cases/``: sums and their closed forms, claims and what is known of them.

Every line is also held against Python's own numbers at small points, so that no wrong answer can be pinned.
"""

from __future__ import annotations

import ast

import pytest

from tests.algebra.pairs import (
    Line,
    condition,
    given_facts,
    inside,
    lines,
    number,
    points,
    poly,
    sides,
    symbols,
)
from tolcost.algebra import Poly, Sum, compare, eq, evaluate, generators_in, prove, the_symbol, to_text, total

SUMS, CLAIMS = lines("sums"), lines("claims")


@pytest.mark.parametrize("line", SUMS, ids=lambda line: line.where)
def test_sums(line: Line) -> None:
    names = symbols(line)
    over = [(the_symbol(names[name]), poly(lo, names), poly(hi, names)) for name, lo, hi in line.ranges]
    facts = given_facts(line, names)
    found = total(poly(line.asked, names), over, [condition(line.guard, names)], facts)
    is_open = any(isinstance(g, Sum) for g in generators_in(found))
    assert ("open" if is_open else to_text(found)) == line.answer
    for point in points(line):
        there = {the_symbol(names[name]): value for name, value in point.items()}
        added = sum(number(line.asked, at) for at in inside(line, point) if number(line.guard, at))
        assert evaluate(found, there) == added, point
        assert is_open or number(line.answer, point) == added, point


@pytest.mark.parametrize("line", CLAIMS, ids=lambda line: line.where)
def test_claims(line: Line) -> None:
    names = symbols(line)
    verdict = prove(condition(line.asked, names), given_facts(line, names))
    values = {bool(number(line.asked, at)) for point in points(line) for at in inside(line, point)}
    match line.answer.split(" at "):
        case ["proved"]:
            assert verdict is True
            assert values == {True}
        case ["open"]:
            assert verdict is None
            assert values == {True}
        case ["refuted everywhere"]:
            assert verdict is False
            assert values == {False}
        case ["refuted", witness]:
            assert verdict is None
            assert True in values
            _check_witness(line, witness)
        case _:
            raise AssertionError(f"{line.where}: {line.answer}")


def _check_witness(line: Line, witness: str) -> None:
    """The point that the file names must be one where the claim fails, and the algebra must find one too."""
    named = dict(part.split("=") for part in witness.replace(" ", "").split(","))
    lengths = {name: int(named[name]) for name in line.lengths}
    assert number(line.fact, lengths)
    whole = {name: int(value) for name, value in named.items()}
    assert whole in list(inside(line, lengths)), "not a point of the ranges"
    assert not number(line.asked, whole)
    found = sides(line.asked, symbols(line))
    if found is not None and line.fact == "True":
        assert _finds_witness(*found)


def _finds_witness(left: Poly, op: ast.cmpop, right: Poly) -> bool:
    match op:
        case ast.GtE():
            return compare(left, right).below is not None
        case ast.Gt():
            return compare(left, right + 1).below is not None
        case ast.LtE():
            return compare(left, right).above is not None
        case ast.Lt():
            return compare(left + 1, right).above is not None
        case ast.Eq():
            found = compare(left, right)
            return found.below is not None or found.above is not None
    return prove(eq(left - right)) is None
