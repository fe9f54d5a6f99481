"""Verdicts and regions, held against trying every shape."""

from __future__ import annotations

import random
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.check import notation
from tolcost.algebra import Witness, evaluate, length, the_symbol
from tolcost.algebra.parse import parse_text
from tolcost.check.records import CostChange, CostlierRegion, Example, FigureStatus, LockedFigure, LockEntry
from tolcost.check.verdicts import Compared, concluded, judge, outcome_of
from tolcost.result.claims import Claim
from tolcost.result.judgement import FormJudgement
from tolcost.result.regions import positive_ranges, region

coefficients = st.lists(st.integers(-50, 50), min_size=1, max_size=6)


@given(coefficients, st.integers(-20, 5), st.integers(0, 60))
def test_ranges_are_exactly_where_a_polynomial_is_positive(given_: list[int], low: int, more: int) -> None:
    found = positive_ranges(given_, low, low + more)
    inside = {n for first, last in found for n in range(first, last + 1)}
    assert inside == {
        n for n in range(low, low + more + 1) if sum(c * n**k for k, c in enumerate(given_)) > 0
    }
    assert all(after[0] > before[1] + 1 for before, after in pairwise(found))


@pytest.mark.parametrize("roots", [(1,), (3, 7), (2, 2), (5, 6), (4, 4, 4), (1, 10**9), (10**8, 10**8 + 1)])
def test_ranges_between_known_roots(roots: tuple[int, ...]) -> None:
    poly = [1]
    for root in roots:
        poly = [a - root * b for a, b in zip([0, *poly], [*poly, 0], strict=True)]
    found = positive_ranges(poly, 1, 2 * 10**9)
    for n in {1, 2 * 10**9, *(r + d for r in roots for d in (-1, 0, 1) if r + d >= 1)}:
        value = sum(c * n**k for k, c in enumerate(poly))
        assert any(first <= n <= last for first, last in found) == (value > 0)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("s*(s - 64)", "s > 64"),
        ("d*s*(64 - s)", "s < 64"),
        ("(s - 3)*(s - 9)", "s < 3 or s > 9"),
        ("(s - 3)*(9 - s)", "4 <= s <= 8"),
        ("-(s - 5)**2 + 1", "s = 5"),
        ("floor(s/2) - 10", "s > 21"),
        ("s - 2*d", "s >= 2*d + 1"),
        ("d*t*(s - t)", "s >= t + 1"),
        ("n*(m - floor(k/2))", "2*m >= k + 1"),
    ],
)
def test_regions_as_text(text: str, expected: str) -> None:
    assert region(parse_text(text)) == expected


def test_a_region_that_takes_too_many_words() -> None:
    old = parse_text(" + ".join(f"a{n}*b{n}**2" for n in range(10)))
    new = parse_text(" + ".join(f"c{n}*d{n}**2" for n in range(10)))
    assert region(new - old) is None
    found = outcome_of(old, new)
    assert found.kind == "crosses"
    assert found.region is not None
    assert (found.region.exact, found.region.text) == (False, f"at 388 of {found.tried} shapes tried")


def random_form(draw: random.Random) -> str:
    terms = []
    for _ in range(draw.randint(1, 4)):
        factors = [
            str(draw.randint(1, 9)),
            *draw.choices(["n", "m", "floor(n/2)", "Max(n - m, 0)", "1"], k=2),
        ]
        terms.append("*".join(factors))
    return draw.choice([" + ", " - "]).join(terms)


@pytest.mark.parametrize("seed", range(120))
def test_no_verdict_is_wrong_at_any_small_shape(seed: int) -> None:
    draw = random.Random(seed)
    old, new = parse_text(random_form(draw)), parse_text(random_form(draw))
    found = outcome_of(old, new)
    n, m = the_symbol(length("n")), the_symbol(length("m"))
    points = [{n: a, m: b} for a in range(1, 15) for b in range(1, 15)]
    gaps = [evaluate(new, point) - evaluate(old, point) for point in points]
    match found.kind:
        case "same":
            assert not any(gaps)
        case "cheaper" | "not costlier":
            assert max(gaps) <= 0
        case "costlier" if not found.notes:
            assert min(gaps) >= 0
        case "undecided":
            assert max(gaps) <= 0  # a costlier shape this small would have been found
        case _:
            assert found.example is not None
            assert found.example.new > found.example.old
    for example in (found.example, found.other):
        if example is not None:
            point = {n: dict(example.dims).get("n", 1), m: dict(example.dims).get("m", 1)}
            assert (evaluate(old, point), evaluate(new, point)) == (example.old, example.new)


def test_a_multiple_of_a_count_is_decided() -> None:
    hard = "n*floor(m/k) - floor(m*n/k) + floor(m*n/k)*floor(n/k)"  # nothing here can tell its sign
    form = parse_text(hard)
    assert outcome_of(form, 2 * form).kind != "cheaper"
    assert outcome_of(2 * form, 3 * form, counts=(2 * form,)).kind in ("costlier", "crosses")
    product = parse_text("n*floor(m/k)")
    together = parse_text("floor(m*n/k)")
    assert outcome_of(together, product).kind == "undecided"
    assert outcome_of(together, product, counts=(together - product,)).kind == "cheaper"


def test_a_shape_outweighs_a_count_that_is_none() -> None:
    old, new = parse_text("floor(m*n/k) - n*floor(m/k)"), parse_text("n*floor(m/k) - floor(m*n/k)")
    found = outcome_of(new, old, counts=(new,))  # a lock file that speaks of negative costs
    assert found.kind in ("costlier", "crosses")


# ---- entries --------------------------------------------------------------------------------------


def entry(form: str, inputs: str = "x R[n, m]", where: str = "", status: str = "exact") -> LockEntry:
    return notation.entry("e", inputs, where, [("eops", LockedFigure(status, form))])  # type: ignore[arg-type]


def verdict(old: LockEntry, new: LockEntry) -> CostChange:
    return judge(old, new, "eops")


def test_lengths_that_swap_their_names() -> None:
    assert verdict(entry("n**2*m"), entry("m**2*n", "x R[m, n]")).kind == "same"
    assert verdict(entry("n**2*m"), entry("n**2*m", "x R[m, n]")).kind == "crosses"


def test_an_input_that_is_renamed() -> None:
    found = verdict(entry("2*n*m"), entry("2*a*b", "data R[a, b]"))
    assert found.kind == "same"
    assert found.notes == ("the length `n` is now `a`", "the length `m` is now `b`")


def test_a_length_that_became_a_number() -> None:
    assert verdict(entry("n*m"), entry("4*n", "x R[n, 4]")).kind == "same"
    assert verdict(entry("n*m"), entry("5*n", "x R[n, 4]")).kind == "costlier"


def test_a_number_that_became_a_length() -> None:
    found = verdict(entry("4*n", "x R[n, 4]"), entry("n*m"))
    assert found.kind == "same"  # wherever both can be used


def test_inputs_that_share_no_shape() -> None:
    found = verdict(entry("4*n", "x R[n, 4]"), entry("n", "x R[n, 5]"))
    (note,) = found.notes
    assert found.kind == "undecided"
    assert note.startswith("the input `x` was R[n, 4] and is R[n, 5]: each is costed with its own size")


def test_inputs_that_changed_their_rank() -> None:
    found = verdict(entry("n", "x R[n]"), entry("n*m"))
    assert found.kind == "crosses"  # the old n is the length of nothing that is there now
    assert found.notes == (
        "`n` of before stands nowhere now",
        "the inputs changed: x R[n] became x R[n, m]",
    )


def test_conditions_limit_what_is_compared() -> None:
    assert verdict(entry("n"), entry("m")).kind == "crosses"
    assert verdict(entry("n", where="n >= m"), entry("m", where="n >= m")).kind == "cheaper"
    assert verdict(entry("n", where="n >= m"), entry("m")).kind == "cheaper"
    assert verdict(entry("n"), entry("m", where="n == m")).kind == "same"


def test_conditions_that_contradict_each_other_prove_nothing() -> None:
    found = verdict(entry("n", where="n >= 9"), entry("5*n", where="n <= 4"))
    assert (found.kind, found.notes) == ("undecided", ("no shape was found that is right before and now",))


def test_bounds_limit_what_is_compared() -> None:
    assert verdict(entry("10*n"), entry("n**2", where="n in 1..10")).kind == "cheaper"
    assert verdict(entry("10*n", where="n in 1..10"), entry("n**2")).kind == "cheaper"


def test_shapes_that_equations_tie_together_are_found() -> None:
    where = "4*b == n"
    found = verdict(entry("n", where=where), entry("5*b", where=where))
    assert found.kind == "costlier"
    assert found.example is not None
    assert dict(found.example.dims)["n"] == 4 * dict(found.example.dims)["b"]


def test_what_data_decides_is_the_same_in_the_same_program_only() -> None:
    old = entry("n + z", where="z from 0..n", status="data")
    found = verdict(old, entry("2*n + z", where="z from 0..n", status="data"))
    assert found.kind == "costlier"
    assert found.notes == ("what data decides, `z`, need not be what it was",)
    assert verdict(old, old).kind == "undecided"  # costlier if z were more, which nobody has seen
    assert verdict(replace(old, source="a"), replace(old, source="b")).kind == "undecided"
    assert verdict(replace(old, source="a"), replace(old, source="a")).kind == "same"
    cheaper = entry("z", where="z from 0..n", status="data")
    assert verdict(replace(old, source="a"), replace(cheaper, source="a")).kind == "cheaper"


COSTS = {
    "exact": lambda c: [c], "data": lambda c: [c],
    "at-most": lambda c: range(c + 1), "incomplete": lambda c: range(c, 8),
}  # fmt: skip
"""What a cost may be where its form has some value, by status."""
OLD = (3, 3)
MORE, LESS = Example((("n", 1),), 3, 4), Example((("n", 2),), 3, 2)


def known_as(more: bool | None, less: bool | None) -> FormJudgement:
    shown = Witness((), 4, 3) if more else None, Witness((), 2, 3) if less else None
    return FormJudgement(Claim(more, less), *shown)


FORMS = {
    "same": ([(3, 3)], Compared(known_as(False, False), example=MORE)),
    "cheaper": ([(3, 2)], Compared(known_as(False, True), example=LESS)),
    "not costlier": ([(3, 3), (3, 2)], Compared(known_as(False, None), example=MORE)),
    "costlier": ([(4, 3)], Compared(known_as(True, False), example=MORE)),
    "costlier at a shape, unproved": (
        [(4, other) for other in range(8)],
        Compared(known_as(True, None), CostlierRegion("at 1 of 2 shapes tried", exact=False), MORE),
    ),
    "crosses": ([(4, 2)], Compared(known_as(True, True), CostlierRegion("n < 2"), MORE, LESS)),
    "undecided": ([(a, b) for a in range(8) for b in range(8)], Compared(known_as(None, None), example=MORE)),
}
"""What new forms may be at two shapes, the first of which is the example, where so much is known of them."""


@pytest.mark.parametrize("now", COSTS)
@pytest.mark.parametrize("was", COSTS)
@pytest.mark.parametrize("known", FORMS)
def test_bounds_tell_as_much_as_they_can_and_no_more(
    was: FigureStatus, now: FigureStatus, known: str
) -> None:
    """Whatever two figures may stand for, the verdict is true of it; and no stronger one is true of all."""
    news, compared = FORMS[known]
    found = concluded(was, now, compared)
    olds = list(product(*map(COSTS[was], OLD)))
    gaps = [(a - o, b - p) for new in news for a, b in product(*map(COSTS[now], new)) for o, p in olds]
    more, less = all(a > 0 for a, _ in gaps), all(b < 0 for _, b in gaps)
    never_more, never_less = max(map(max, gaps)) <= 0, min(map(min, gaps)) >= 0
    assert found.kind == (
        "same" if never_more and never_less
        else "cheaper" if never_more and less
        else "not costlier" if never_more
        else "costlier" if more and (never_less or not less)
        else "crosses" if more
        else "undecided"
    )  # fmt: skip
    assert found.example == compared.example
    if found.kind in ("same", "cheaper", "not costlier", "undecided") or (
        found.kind == "costlier" and never_less
    ):
        assert found.region is None
    elif found.kind == "costlier" and known == "crosses":
        assert found.region == CostlierRegion("at n=1", exact=False)
    else:
        assert found.region == compared.region
    found_equal = known == "same" and was == now == "at-most"
    assert found.equal_bounds == found_equal
    caveats = sum(status in ("at-most", "incomplete") for status in (was, now))
    assert len(found.notes) == (1 if found_equal else caveats)


def test_a_bound_is_no_proof_of_more() -> None:
    assert verdict(entry("n"), entry("2*n", status="at-most")).kind == "undecided"
    assert verdict(entry("2*n"), entry("n", status="at-most")).kind == "cheaper"
    assert verdict(entry("n", status="at-most"), entry("2*n")).kind == "costlier"
    both = verdict(entry("n", status="at-most"), entry("2*n", status="at-most"))
    assert both.kind == "undecided"
    assert both.notes == ("the old figure is only an upper bound", "the new figure is only an upper bound")


def test_an_old_bound_is_no_proof_of_less() -> None:
    """A program that may choose on data costs at most 9; one that costs 9 always is not "never costlier"."""
    found = verdict(entry("12*n", status="at-most"), entry("9*n"))
    assert (found.kind, found.notes) == ("undecided", ("the old figure is only an upper bound",))
    assert verdict(entry("9*n", status="at-most"), entry("9*n")).kind == "undecided"


def test_a_bound_in_other_words_is_the_same_where_the_program_is() -> None:
    once, again = entry("m + Max(n - m, 0)", status="at-most"), entry("Max(m, n)", status="at-most")
    assert verdict(once, again).kind == "undecided"
    assert verdict(replace(once, source="a"), replace(again, source="b")).kind == "undecided"
    assert verdict(replace(once, source="a"), replace(again, source="a")).kind == "same"
    narrower = replace(entry("Max(m, n)", where="m >= 2", status="at-most"), source="a")
    assert verdict(replace(once, source="a"), narrower).kind == "undecided"
    exact = replace(entry("Max(m, n)"), source="a")
    assert verdict(replace(once, source="a"), exact).kind == "undecided"


def test_what_is_not_known() -> None:
    unknown = entry("?", status="unknown")
    assert verdict(unknown, unknown).kind == "undecided"
    assert verdict(replace(unknown, source="a"), replace(unknown, source="a")).kind == "same"
    assert verdict(entry("n"), unknown).kind == "undecided"
    assert verdict(unknown, entry("n")).kind == "undecided"


def test_a_name_of_a_length_is_only_a_name() -> None:
    two = "a R[n]; b R[m]"
    assert verdict(entry("n", two), entry("n", "a R[m]; b R[n]")).kind == "crosses"
    assert verdict(entry("n", two), entry("m", "a R[m]; b R[n]")).kind == "same"
    assert verdict(entry("n", two), entry("k", "x R[k]; y R[l]")).kind == "same"
    assert verdict(entry("k", "a R[n]; b R[k]"), entry("k", "a R[k]")).kind == "crosses"


def test_inputs_that_change_places_are_not_guessed_at() -> None:
    two = "a R[n]; b R[m]"
    for form in ("n", "m"):  # by place the same and by name not, or the other way round
        found = verdict(entry("n", two), entry(form, "b R[n]; a R[m]"))
        assert found.kind == "crosses"
        assert found.notes[-1] == "inputs changed places: by place and by name they are not the same"
    assert verdict(entry("n*m", two), entry("n*m", "b R[n]; a R[m]")).kind == "same"


def test_an_incomplete_figure_is_never_cheaper() -> None:
    assert verdict(entry("2*n"), entry("n", status="incomplete")).kind == "undecided"
    assert verdict(entry("n"), entry("2*n", status="incomplete")).kind == "costlier"
    assert verdict(entry("n", status="incomplete"), entry("2*n")).kind == "undecided"
