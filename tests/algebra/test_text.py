"""The text form: readable, stable, and read back as the same expression."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algebra.support import build, lengths, trees
from tolcost.algebra import (
    AlgebraBudget,
    Poly,
    ceil_log2,
    const,
    coordinate,
    evaluate,
    length,
    maximum,
    minimum,
    relu,
    the_symbol,
    to_latex,
    to_text,
    total,
)
from tolcost.algebra.parse import parse_text
from tolcost.algebra.poly import Floor, product_of
from tolcost.algebra.printers import factored
from tolcost.algebra.rebuild import generators_in
from tolcost.diagnostics import Rejected

n, m, k, h = length("n"), length("m"), length("k"), length("H")
i = coordinate("i", n)


@pytest.mark.parametrize(
    "built, text",
    [
        (const(0), "0"),
        (const(-7), "-7"),
        (n, "n"),
        (-n, "-n"),
        (3 - n, "3 - n"),
        (2 * n * m * k, "2*k*m*n"),
        (n * (n + 1) // 2, "n*(n + 1)/2"),
        (8 * n * m * k + 5 * n * m, "m*n*(8*k + 5)"),
        (2 * n + 4, "2*n + 4"),
        (n * n - m * m, "n**2 - m**2"),
        ((h + 15) // 32, "floor((H + 15)/32)"),
        (n // m, "floor(n/m)"),
        (relu(n - 3), "Max(n - 3, 0)"),
        (minimum(n, 3), "Min(n, 3)"),
        (n**3 + 3 * n**2 + 2 * n, "n*(n + 1)*(n + 2)"),
        ((n + m) ** 2 * (n - m + 1), "(n - m + 1)*(m + n)**2"),
        (n * n + n + 1, "n**2 + n + 1"),
        (n * n // 2 + n, "n + floor(n**2/2)"),
        (length("batch size") * 2, "2*`batch size`"),
        (length("Max"), "`Max`"),
        (length("a`b\\"), "`a\\`b\\\\`"),
        (length("x\ny"), "`x\\u{a}y`"),
        (total((i * m) // n, [(the_symbol(i), 1, n)]), "Sum(floor(i*m/n), (i, 1, n))"),
        (ceil_log2(n + 1) * 3 + m, "3*ceiling(log(n + 1, 2)) + m"),
        (ceil_log2(length("log")), "ceiling(log(log, 2))"),
    ],
)
def test_texts(built: Poly, text: str) -> None:
    assert to_text(built) == text
    assert parse_text(text) == built


def test_different_symbols_of_one_name_are_told_apart() -> None:
    a, b = coordinate("i", n), coordinate("i", m)
    assert to_text(a + 2 * b) == "i + 2*i_2"
    assert to_text(a + b * length("i_2")) == "i_3*i_2 + i"


@pytest.mark.parametrize("slope", [-2, -1, 1, 2])
def test_factors_of_two_lengths_are_found_where_their_numbers_are_small(slope: int) -> None:
    for first, second in combinations(range(-6, 7), 2):
        factors = {n + slope * m + first: 1, n + slope * m + second: 1}
        found = factored(product_of(factors)).factors
        assert {f if f in factors else -f: times for f, times in found} == factors


def read_back(p: Poly) -> None:
    """What is shown reads as what it is, or as its equal: floors may be shown by their mirrors."""
    read = parse_text(to_text(p))
    assert read == p or any(isinstance(g, Floor) for g in generators_in(p))
    for point in product(range(1, 7), repeat=2):
        values = dict(zip((the_symbol(n), the_symbol(m)), point, strict=True))
        assert evaluate(read, values) == evaluate(p, values), (to_text(p), point)


@settings(max_examples=100)
@given(trees("nm", positive="m", leaves=7))
def test_round_trip(tree: object) -> None:
    read_back(build(tree, lengths("nm")))


@settings(max_examples=60, deadline=None)
@given(trees("nmi", positive="nm", leaves=6))
def test_round_trip_of_sums(tree: object) -> None:
    names = {**lengths("nm"), "i": i}
    read_back(total(build(tree, names), [(the_symbol(i), 1, n)]))


@given(st.text(max_size=12))
def test_any_name_reads_back(name: str) -> None:
    p = length(name) * 2 + 1
    assert parse_text(to_text(p)) == p
    assert "\n" not in to_text(p)


def test_what_others_write_is_read() -> None:
    assert parse_text("ceiling(n/2)") == (n + 1) // 2
    assert parse_text("Min(n, m, 3)") == minimum(minimum(n, m), 3)
    assert parse_text("Max(n, m)") == maximum(n, m)
    assert parse_text(" ( n+1 ) * n / 2 ") == n * (n + 1) // 2
    assert parse_text("n**2/2 + n/2") == n * (n + 1) // 2
    assert parse_text("-n - 3") == -n - 3
    assert parse_text("Sum(i, (i, 1, n))") == n * (n + 1) // 2
    assert parse_text("Sum(Sum(1, (j, 1, i)), (i, 1, n))") == n * (n + 1) // 2
    assert parse_text("floor((n/2 + m/3)/2)") == (3 * n + 2 * m) // 12
    assert parse_text("x", {"x": n + 1}) == n + 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "n +",
        "n n",
        "(n",
        "n)",
        "2n",
        "n/m",
        "n/0",
        "floor(n/(m - m))",
        "n**m",
        "n**-1",
        "n**65",
        "n**9**9",
        "9" * 1001,
        "(" * 100 + "n" + ")" * 100,
        "__import__('os')",
        "n.real",
        "n[0]",
        "lambda: 0",
        "floor",
        "floor()",
        "floor(n, m)",
        "Piecewise(n, 1)",
        "Sum(i, i)",
        "Sum(i, (i, 1))",
        "Sum(i (i, 1, n))",
        "n" + " + n" * 400_000,
        "`n",
        "n = 1",
        "\x00",
    ],
)
def test_what_is_not_an_expression_is_rejected(text: str) -> None:
    with pytest.raises(Rejected) as caught:
        parse_text(text)
    assert caught.value.diagnostics[0].code == "T0141"


def test_reading_is_bounded() -> None:
    wide = " + ".join(f"x{j}" for j in range(2_000))
    assert len(parse_text(wide).terms) == 2_000
    with pytest.raises(AlgebraBudget):
        parse_text("(" + wide + ")**9")


def test_printing_a_huge_number_is_refused() -> None:
    with pytest.raises(AlgebraBudget):
        to_text(const(10) ** 5_000)


def test_names_are_lengths_unless_given() -> None:
    (symbol,) = parse_text("n").free
    assert symbol is the_symbol(n)


def test_latex() -> None:
    assert to_latex(n * (n + 1) // 2) == r"\frac{n \left(n + 1\right)}{2}"
    assert to_latex((h + 15) // 32) == r"\left\lfloor\frac{H + 15}{32}\right\rfloor"
    assert to_latex(relu(n - 3) * 2) == r"2 \max\left(n - 3, 0\right)"
    assert to_latex(length("batch_size") ** 2) == r"\mathrm{batch\_size}^{2}"
    assert to_latex(ceil_log2(n) ** 2) == r"\left\lceil\log_2\left(n\right)\right\rceil^{2}"
    assert to_latex(const(0)) == "0"
    assert to_latex(-n) == "-n"
    assert r"\sum_{i=1}^{n}" in to_latex(total((i * m) // n, [(the_symbol(i), 1, n)]))
    for name in ("}$\\write18{ls}", "a%b", "x^y~z", "a\x1b[0m\u202eb", "x" * 10**6):
        shown = to_latex(length(name))
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert len(shown) < 500


def test_escapes_of_no_character_are_read() -> None:
    for digits, character in (("61", "a"), ("10ffff", chr(0x10FFFF)), ("110000", chr(0x10FFFF))):
        assert the_symbol(parse_text(f"`x\\u{{{digits}}}`")).name == f"x{character}"
