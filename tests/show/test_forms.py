"""Forms at points and in lowest terms: the same value, always."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tolcost.algebra import (
    Poly,
    atom,
    const,
    data_symbol,
    evaluate,
    floordiv,
    length,
    maximum,
    the_symbol,
)
from tolcost.algebra.parse import parse_text
from tolcost.cost.record import FormRatio
from tolcost.show.document import form_at, lowest, text_of
from tolcost.show.shorten import subterms

N, M = length("n"), length("m")
SYMBOLS = {"n": N, "m": M}
small = st.integers(-4, 4)


@st.composite
def polys(draw: st.DrawFn) -> Poly:
    linear = [const(draw(small)) + draw(small) * N + draw(small) * M for _ in range(draw(st.integers(1, 3)))]
    result = const(draw(st.integers(1, 6)))
    for factor in linear:
        result = result * factor
    return result * N ** draw(st.integers(0, 2)) * M ** draw(st.integers(0, 2))


@given(polys(), polys(), st.integers(1, 50), st.integers(1, 50))
def test_lowest_terms_are_the_same_value(top: Poly, bottom: Poly, n: int, m: int) -> None:
    values = {the_symbol(N): n, the_symbol(M): m}
    ratio = FormRatio(top, bottom)
    if bottom == 0 or not evaluate(bottom, values):
        return
    over, under = lowest(ratio)
    assert isinstance(under, Poly)
    assert Fraction(evaluate(over, values), evaluate(under, values)) == ratio.at(values)


def test_a_length_that_may_be_0_is_cancelled_and_leaves_no_value_there() -> None:
    turns = length("t", 0)
    ratio = FormRatio(11 * N * turns, 5 * turns)
    assert text_of(ratio) == "11*n/5"
    assert ratio.at({the_symbol(N): 3, the_symbol(turns): 0}) is None


@given(polys(), st.integers(1, 50), st.integers(1, 50))
def test_a_form_put_in_place_step_by_step(form: Poly, n: int, m: int) -> None:
    partly = form_at(form, {the_symbol(N): n})
    assert partly is not None
    whole = form_at(partly, {the_symbol(M): m})
    assert whole == evaluate(form, {the_symbol(N): n, the_symbol(M): m})


@given(polys(), polys())
def test_the_text_of_a_ratio_is_its_two_sides(top: Poly, bottom: Poly) -> None:
    if bottom == 0:
        return
    over, under = lowest(FormRatio(top, bottom))
    text = text_of(FormRatio(top, bottom))
    if under == 1:
        assert parse_text(text, SYMBOLS) == over
        return
    left, _, right = text.rpartition("/")
    opened = right.count(")") - right.count("(")
    while opened:  # the stroke was inside of brackets
        left, _, more = left.rpartition("/")
        right = f"{more}/{right}"
        opened = right.count(")") - right.count("(")
    assert parse_text(left, SYMBOLS) == over
    assert parse_text(right, SYMBOLS) == under


@given(st.fractions())
def test_numbers_are_exact(value: Fraction) -> None:
    text = text_of(value)
    assert Fraction(text) == value
    assert text_of(value, grouped=True).replace(",", "") == text


def test_names_for_what_recurs_change_no_value() -> None:
    """Also where a clip turns round once what stands inside of it has a name, and gets none itself."""
    x, b = length("x"), length("b")
    t = floordiv(x + 64, 128)
    u = maximum(t - 1, 0)
    clip = maximum(b * (65 * floordiv(x + 32, 64) - 129 * u - 65), 0)
    forms = [clip * 5 + b * clip, u * b + u * b * b + t * 5 + t * b]
    found = subterms(forms)
    assert found.lets() == ("let t = floor((x + 64)/128)", "let u = Max(t - 1, 0)")
    for at in (1, 63, 64, 200, 1000):
        point = {the_symbol(x): at, the_symbol(b): 3}
        for generator, name in found.steps:
            point[the_symbol(name)] = evaluate(atom(generator), point)
        assert [evaluate(found.put(form), point) for form in forms] == [
            evaluate(form, point) for form in forms
        ]


def test_nothing_times_what_no_run_tells_is_a_number() -> None:
    """A loop that is never reached has no number of turns: 0 of 0 was said to differ."""
    k, turns = length("k", 0), data_symbol("turns", 0)
    assert form_at(k * turns, {the_symbol(k): 0}) == 0
    assert isinstance(form_at(k * turns, {the_symbol(k): 0}), int)
    assert form_at(k * turns, {the_symbol(k): 2}) == 2 * turns
