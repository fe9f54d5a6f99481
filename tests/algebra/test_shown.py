"""Expressions in writing, as pairs of text (``cases/shown``), in every way; and what is no expression.

What is written for a script is computed here, what is written as text is read back, and what sympy gets is
evaluated by sympy: all of it is the same number.  TOLCOST_ACCEPT=1 writes what comes out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import islice, product

import pytest

from tests.algebra.pairs import CASES, condition, inside, number, read_line, symbols
from tests.algebra.pairs import points as small
from tests.syntax import cases
from tolcost.algebra import (
    Poly,
    cond_text,
    evaluate,
    evaluate_cond,
    indicator,
    negate,
    the_symbol,
    to_browser,
    to_latex,
    to_mathml,
    to_text,
)
from tolcost.algebra.compare import degree, leading_terms
from tolcost.algebra.parse import parse_text
from tolcost.algebra.printers import BrowserTree
from tolcost.algebra.sympy_sums import SympySums
from tolcost.diagnostics import Rejected, render_all

SHOWN = cases.read(CASES / "shown")
CONDITIONS = [case for case in SHOWN if case.file.stem == "conditions"]
EXPRESSIONS = [case for case in SHOWN if case.file.stem == "expressions"]


def shown(text: str) -> str:
    p = parse_text(text.strip())
    found = {
        "text": to_text(p),
        "latex": to_latex(p),
        "mathml": to_mathml(p),
        "browser": json.dumps(to_browser(p)),
        "degree": f"{degree(p)}, {to_text(leading_terms(p))}",
    }
    return "\n".join(f"{name}: {value}" for name, value in found.items())


def shown_condition(text: str) -> str:
    line = read_line("condition", f"{text.strip()} -> ?")
    cond = condition(line.asked, symbols(line))
    return f"text: {cond_text(cond)}\nnot: {cond_text(negate(cond))}\ncount: {to_text(indicator(cond))}"


@pytest.mark.parametrize("case", SHOWN, ids=str)
def test_what_is_shown(case: cases.Case) -> None:
    try:
        said = shown_condition(case.program) if case in CONDITIONS else shown(case.program)
    except Rejected as rejected:
        said = render_all(rejected.diagnostics).rstrip("\n")
    cases.compare(case, said)


def points(p: Poly) -> list[dict[str, int]]:
    names = sorted(symbol.name for symbol in p.free)
    return [
        dict(zip(names, at, strict=True)) for at in islice(product((1, 2, 3, 5, 8), repeat=len(names)), 40)
    ]


@pytest.mark.parametrize("case", EXPRESSIONS, ids=str)
def test_every_way_of_writing_is_the_same_number(case: cases.Case) -> None:
    p = parse_text(case.program.strip())
    sums = SympySums.over(p.free)
    by_sympy = sums.poly(p)
    assert parse_text(to_text(p)) == p
    for point in points(p):
        values = {symbol: point[symbol.name] for symbol in p.free}
        expected = evaluate(p, values)
        assert computed(to_browser(p), point) == expected
        assert sums.at(by_sympy, values) == expected


def computed(tree: BrowserTree, names: Mapping[str, int]) -> int:
    """What a script makes of a tree."""
    match tree:
        case int() | str():
            return int(tree)
        case {"v": str(name)}:
            return names[name]
        case ["+", *parts]:
            return sum(computed(part, names) for part in parts)
        case ["*", *parts]:
            result = 1
            for part in parts:
                result *= computed(part, names)
            return result
        case ["/", top, bottom]:
            quotient, rest = divmod(computed(top, names), computed(bottom, names))
            assert rest == 0
            return quotient
        case ["f", top, bottom]:
            return computed(top, names) // computed(bottom, names)
        case ["m", inside]:
            return max(computed(inside, names), 0)
        case ["l", inside]:
            return (computed(inside, names) - 1).bit_length()
        case ["p", int(base), exponent]:
            return base ** computed(exponent, names)
        case ["s", body, str(binder), low, high]:
            ends = range(computed(low, names), computed(high, names) + 1)
            return sum(computed(body, {**names, binder: value}) for value in ends)
    raise AssertionError(tree)


@pytest.mark.parametrize("case", CONDITIONS, ids=str)
def test_conditions_and_their_counts_are_what_they_say(case: cases.Case) -> None:
    line = read_line("condition", f"{case.program.strip()} -> ?")
    names = symbols(line)
    cond = condition(line.asked, names)
    for at in islice((at for point in small(line) for at in inside(line, point)), 0, None, 3):
        values = {the_symbol(names[name]): value for name, value in at.items()}
        holds = bool(number(line.asked, at))
        assert evaluate_cond(cond, values) == holds
        assert evaluate_cond(negate(cond), values) != holds
        assert evaluate(indicator(cond), values) == holds
