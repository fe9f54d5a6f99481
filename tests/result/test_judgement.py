"""Two forms are judged alike, whoever asks: ``diff``, the gate, the referee, and the reports on the paper."""

from __future__ import annotations

import pytest

from tolcost.algebra import compare
from tolcost.algebra.parse import parse_text
from tolcost.apps.paper.judge import hold
from tolcost.apps.referee.judge import _verdict
from tolcost.check.verdicts import outcome_of
from tolcost.result.claims import Claim, Relation
from tolcost.result.compare import difference
from tolcost.result.judgement import judge_forms

PAIRS: dict[tuple[str, str], tuple[Relation, str]] = {
    ("n + n", "2*n"): ("same", "equal"),
    ("n", "n**2"): ("costlier", "too low"),
    ("n**2", "n"): ("cheaper", "too high"),
    ("64*n", "n**2"): ("crosses", "too low and too high"),
    ("20001*n", "n**2 + 100010000"): ("costlier", "too low"),
    ("n**2 + 100010000", "20001*n"): ("cheaper", "too high"),
    ("0", "(n - 20)*(m - 30)"): ("crosses", "too low and too high"),
    ("floor(m*n/k)", "n*floor(m/k)"): ("undecided", "undecided"),
}
"""An old form and a new one, the relation of the costs, and what is said of the old one as a formula."""


@pytest.mark.parametrize("old, new", PAIRS)
def test_everybody_says_the_same(old: str, new: str) -> None:
    was, now = parse_text(old), parse_text(new)
    relation, verdict = PAIRS[old, new]
    judged = judge_forms(was, now)
    assert (
        judged.relation == difference("eops", "", was, now).verdict == outcome_of(was, now).kind == relation
    )
    assert _verdict(judged) == verdict
    assert hold(now, was).equal == (relation == "same")


def test_more_is_decided_than_by_a_proof_of_the_whole_difference() -> None:
    unknown = [
        (old, new) for old, new in PAIRS if compare(parse_text(new), parse_text(old)).verdict == "unknown"
    ]
    assert {PAIRS[pair][0] for pair in unknown} >= {"costlier", "cheaper", "undecided"}


def test_a_bound_says_as_much_as_the_table_lets_through() -> None:
    judged = judge_forms(parse_text("64*n"), parse_text("n**2"))
    assert judged.of_costs("exact", "exact") == judged
    above = judged.of_costs("exact", "upper bound")
    assert (above.claim, above.more) == (Claim(more=None, less=True), None)
    assert above.less == judged.less
    assert judged.of_costs("upper bound", "upper bound").claim == Claim(more=None, less=None)
