"""A strict verdict has a witness: random pairs of forms, some equal in disguise, beside brute force."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from tolcost.algebra import (
    Cond,
    Order,
    Poly,
    Witness,
    ceil_log2,
    compare,
    evaluate,
    evaluate_cond,
    ge,
    length,
    maximum,
    minimum,
    powers,
    substitute,
    the_symbol,
)
from tolcost.check.verdicts import outcome_of
from tolcost.diagnostics import InternalError
from tolcost.result.claims import Claim, claim_of
from tolcost.result.compare import difference
from tolcost.result.judgement import FormJudgement, order_of

n, m, p = length("n"), length("m"), length("p", 0)
POINTS = [
    {the_symbol(n): a, the_symbol(m): b, the_symbol(p): c}
    for a in (1, 2, 3, 4, 7, 8, 9)
    for b in (1, 2, 3, 5, 8)
    for c in range(6)
]
FACTS: tuple[tuple[Cond, ...], ...] = ((), (ge(m - n),), (ge(p - 1),), (ge(n - 3),))


def random_form(rng: Random, depth: int = 3) -> Poly:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([n, m, p, powers(2, p), powers(2, p), n - n + rng.randint(1, 5)])
    left, right = random_form(rng, depth - 1), random_form(rng, depth - 1)
    grow: list[Callable[[], Poly]] = [
        lambda: left + right,
        lambda: left * rng.choice([n, m, p, powers(2, p)]),
        lambda: left * rng.randint(2, 4) + right,
        lambda: left // rng.choice([2, 3, 4]),
        lambda: maximum(left, right),
        lambda: minimum(left, right),
        lambda: ceil_log2(rng.choice([n, n + 1, powers(2, p)])) + right,
    ]
    return rng.choice(grow)()


def disguised(rng: Random, form: Poly) -> Poly:
    """A form with equal values that is written in another way."""
    other = random_form(rng, 1)
    ways: list[Callable[[], Poly]] = [
        lambda: form // 2 + (form + 1) // 2,
        lambda: form // 3 + (form + 1) // 3 + (form + 2) // 3,
        lambda: maximum(form, other) + minimum(form, other) - other,
        lambda: (form * 4 + 3) // 4,
        lambda: form + p * powers(2, p) - 2 * p * (powers(2, p) // 2),
        lambda: form + ceil_log2(powers(2, p)) - p,
        lambda: form + (2 * n * powers(2, p)) // 4 * 2 - n * powers(2, p) // 2 * 2,
    ]
    return rng.choice(ways)()


def check_order(found: Order, left: Poly, right: Poly, facts: tuple[Cond, ...]) -> None:
    """Check an order against its own witnesses and brute force."""
    for witness, sign in ((found.below, -1), (found.above, 1)):
        if witness is not None:
            point = dict(witness.point)
            values = evaluate(left, point), evaluate(right, point)
            assert values == (witness.left, witness.right)
            assert (values[0] > values[1]) - (values[0] < values[1]) == sign
            assert all(evaluate_cond(fact, point) for fact in facts)
    strict = found.verdict in ("less", "greater", "crosses")
    assert strict <= (found.below is not None or found.above is not None)
    for point in POINTS:
        if all(evaluate_cond(fact, point) for fact in facts):
            gap = evaluate(left, point) - evaluate(right, point)
            assert gap <= 0 or not found.never_above, (left, right, point)
            assert gap >= 0 or not found.never_below, (left, right, point)


@pytest.mark.parametrize("seed", range(40))
def test_no_verdict_is_stronger_than_its_witness(seed: int) -> None:
    rng = Random(seed)
    left = random_form(rng)
    right = disguised(rng, left) if seed % 2 else random_form(rng)
    facts = rng.choice(FACTS)
    for way in (compare, order_of):
        found = way(left, right, facts)
        check_order(found, left, right, facts)
        assert seed % 2 == 0 or found.verdict in ("equal", "unknown", "less_or_equal", "greater_or_equal")
    row = difference("eops", "", right, left, facts)
    assert row.claim == claim_of(order_of(left, right, facts))
    outcome = outcome_of(right, left, facts)
    assert seed % 2 == 0 or outcome.kind in ("same", "not costlier", "undecided"), (left, right)


def test_a_power_halved_is_equal_where_its_factor_vanishes() -> None:
    """n*p/2 where n = 2**p, beside a program that costs p*floor(2**p/2): at p = 0 both are 0."""
    published = substitute(n * p, {the_symbol(n): powers(2, p)})
    assert order_of(published, 2 * p * (powers(2, p) // 2)).verdict == "equal"
    assert order_of(published, 2 * p * (powers(2, p) // 2) + p).verdict == "less"
    assert compare(2 * (powers(2, p) // 2), powers(2, p)).verdict == "less"  # at p = 0
    assert compare(2 * (powers(2, p) // 2), powers(2, p), (ge(p - 1),)).verdict == "equal"
    assert compare(8 * (powers(2, p) // 8), powers(2, p), (ge(p - 3),)).verdict == "equal"


def test_a_strict_verdict_cannot_be_given_without_a_witness() -> None:
    assert Order(never_above=True).verdict == "less_or_equal"
    assert Order(never_below=True).verdict == "greater_or_equal"
    below, above = Witness((), 1, 2), Witness((), 2, 1)
    assert Order(never_above=True, below=below).verdict == "less"
    for wrong in ({"below": above}, {"above": below}, {"never_above": True, "above": above}):
        with pytest.raises(InternalError):
            Order(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InternalError):
        Witness((), 3, 3)
    claims = [Claim(more, less) for more in (True, False, None) for less in (True, False, None)]
    for claim in claims:
        FormJudgement(claim, above if claim.more else None, below if claim.less else None)
        for more, less in ((None, below), (above, None), (below, above)):
            if (claim.more and more is not above) or (claim.less and less is not below):
                with pytest.raises(InternalError):
                    FormJudgement(claim, more, less)
