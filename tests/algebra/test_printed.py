"""Printed formulas: what is read, exactly; what has two readings or none is refused, with its place."""

import time
from fractions import Fraction

import pytest

from tolcost.algebra import evaluate, length, to_text
from tolcost.algebra.parse import FormQuotient, parse_text
from tolcost.algebra.poly import the_symbol
from tolcost.algebra.printed import MAX_LENGTH, PrintedFormula, parse_printed
from tolcost.diagnostics import Rejected

NAMES = ("n", "m", "k", "h", "s", "l", "B", "V", "d_model", "n_ctx", "α")
MEANINGS = {name: FormQuotient(length(name)) for name in NAMES}


def read(text: str) -> PrintedFormula:
    return parse_printed(text, MEANINGS)


def shown(found: PrintedFormula) -> str:
    top, bottom = to_text(found.value.top), to_text(found.value.bottom)
    return top if bottom == "1" else f"({top})/({bottom})"


@pytest.mark.parametrize(
    "text, form",
    [
        ("2n^3/3", "2*n**3/3"),
        ("2 n m k", "2*k*m*n"),
        ("2mnk", "2*k*m*n"),
        ("mn^2", "m*n**2"),
        ("n(n+1)(2n+1)/6", "n*(n + 1)*(2*n + 1)/6"),
        ("2/3 n^3", "2*n**3/3"),
        (r"\frac{2}{3} n^{3}", "2*n**3/3"),
        ("2·m × n ⋅ k", "2*k*m*n"),
        ("n² − m³", "n**2 - m**3"),
        ("½ n", "n/2"),
        ("0.5*k*n*(n + 1.)", "k*n*(n + 1)/2"),
        ("d_{model} n_ctx", "d_model*n_ctx"),
        ("αn", "n*`α`"),
        ("FLOPs = 2mn", "2*m*n"),
        ("C ≈ 2mn", "2*m*n"),
        ("s/(6*h)", "(s)/(6*h)"),
        ("n^-1", "(1)/(n)"),
        ("(m + n)^2/(m + n)", "m + n"),
        ("96Bslh^2(1 + s/(6h) + V/(16lh))", "2*B*h*s*(48*h*l + 8*l*s + 3*V)"),
        ("⌈n/2⌉ m", "m*floor((n + 1)/2)"),
        ("⌈log2 n⌉", "ceiling(log(n, 2))"),
        ("⌊log2(n)⌋", "ceiling(log(n + 1, 2)) - 1"),
        ("max(n, m) k", "k*Max(m, n)"),
        ("log2(8) n + sqrt(9)", "3*n + 3"),
        ("sqrt(n^2 m^4)", "m**2*n"),
        ("2^k n", "2**k*n"),
        ("n^2m", "m*n**2"),
        ("Sum(i*n, (i, 1, m))", "m*n*(m + 1)/2"),
    ],
)
def test_what_is_printed_is_read(text: str, form: str) -> None:
    found = read(text)
    assert shown(found) == form
    assert not found.whole_where


@pytest.mark.parametrize(
    "text, form, where",
    [
        ("5 n log2(n)", "5*2**log2_n*log2_n", "2**log2_n"),
        ("(n/2) log_2 n", "2**log2_n*log2_n/2", "2**log2_n"),
        ("n log n", "2**log2_n*log2_n", "2**log2_n"),
        ("n^1.5", "sqrt_n**3", "sqrt_n**2"),
        ("n^(3/2)", "sqrt_n**3", "sqrt_n**2"),
        ("√n", "sqrt_n", "sqrt_n**2"),
        ("log2(n^2)", "2*log2_n", "2**log2_n"),
    ],
)
def test_logarithms_and_roots_are_read_where_they_are_whole(text: str, form: str, where: str) -> None:
    found = read(text)
    assert shown(found) == form
    assert {s.name: to_text(p) for s, p in found.whole_where.items()} == {"n": where}
    assert any(remark.startswith("`n` is a") for remark in found.remarks)
    assert ("log is read as log2" in found.remarks) == ("log n" in text and "log_2" not in text)


@pytest.mark.parametrize(
    "text, place, words",
    [
        ("s/6h", 3, "two readings"),
        ("2/3n^3", 3, "two readings"),
        ("n/2 log2 n", 4, "two readings"),
        ("log 2 n", 6, "two readings"),
        ("k log n m", 8, "two readings"),
        ("nlogn", 0, "there is no length"),
        ("mq", 0, "there is no length"),
        ("n 2", 2, "left over"),
        ("n!", 1, "is not part of a formula"),
        ("O(n^2)", 0, "an order of growth"),
        ("ln n", 0, "no whole numbers"),
        ("log2(n + 1)", 10, "powers of 2"),
        ("sqrt(n + 1)", 10, "squares"),
        ("sqrt(8)", 6, "squares"),
        ("log2(n)*sqrt(n)", 14, "no length is known"),
        ("n^(1/3)", 2, "an exponent is a number"),
        ("n^m", 2, "an exponent is a number"),
        ("1/0", 3, "division by 0"),
        ("n/(m - m)", 9, "division by 0"),
        ("[n)", 2, "closes nothing"),
        ("(n", 0, "is not closed"),
        ("", 0, "expected a number"),
        ("2n*-1", 3, "expected a number"),
        (r"\foo n", 0, "is not known"),
        ("n\u202em", 1, "U+202E"),
        ("n\x00", 1, "U+0000"),
        ("Ⅷ n", 0, "is not part of a formula"),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_place(text: str, place: int, words: str) -> None:
    with pytest.raises(Rejected) as caught:
        read(text)
    (one,) = caught.value.diagnostics
    assert words in one.message
    assert one.span.start == place


@pytest.mark.parametrize(
    "text",
    [
        "n^" + "9" * 900,
        "9" * 2_000,
        "((n + 1)^64)^64",
        "(n + m + k + h + s + l)^64",
        "2^(2^60)",
        "(" * 5_000 + "n" + ")" * 5_000,
        "√" * 5_000 + "n",
        "log2 " * 3_000 + "n",
        "n^(" * 3_000 + "1" + ")" * 3_000,
        "n" * (MAX_LENGTH + 1),
        "nm" * 8 * 200,
        "*" * 10_000,
        "{" * 10_000,
        "\\" * 10_000,
    ],
    ids=lambda text: text[:12],
)
def test_hostile_text_is_refused_quickly(text: str) -> None:
    start = time.process_time()
    with pytest.raises(Rejected):
        read(text)
    assert time.process_time() - start < 2


def test_a_run_of_letters_with_two_readings_is_refused() -> None:
    names = {name: FormQuotient(length(name)) for name in ("a", "b", "ab", "c", "bc")}
    with pytest.raises(Rejected) as caught:
        parse_printed("abc", names)
    assert "several readings" in caught.value.diagnostics[0].message


def test_new_names_stand_in_exponents() -> None:
    """A power of a new name is a length: its exponent may be 0."""
    (symbol,) = parse_printed("2**p", {}, is_new=True).value.top.free
    assert symbol.lo == 0


@pytest.mark.parametrize(
    "text", ["n*(n + 1)/2", "floor(n/m)*k", "Max(n - 3, 0)", "ceiling(log(n, 2))", "2**k"]
)
def test_what_tolcost_writes_reads_the_same(text: str) -> None:
    assert read(text).value.top == parse_text(text)


def test_quotients_are_exact() -> None:
    found = read("(2mn + k)/(6h)").value
    point = {the_symbol(length(name)): value for name, value in zip("mnkh", (3, 5, 7, 11), strict=True)}
    assert Fraction(evaluate(found.top, point), evaluate(found.bottom, point)) == Fraction(37, 66)
