"""No costlier change gets past the gate: random projects and edits, judged by an oracle that runs both sides.

``make soak`` takes as many more as it is asked for; ``reports/soak.md`` has the figures.
"""

from __future__ import annotations

import pytest

import tolcost.check.gate
from tolcost.check.records import CostChange, LockEntry
from tolcost.check.verdicts import undecided
from tools.check.adversary.campaign import Answer, answers, answers_to, attacks
from tools.check.adversary.trees import (
    FOLDER_OUT,
    OTHER_CASE,
    OWN_DEFINITION,
    RESIZED,
    TAKEN_FOR_ANOTHER,
    Edit,
)

CASES, PARTS = 210, 3


@pytest.mark.parametrize("part", range(PARTS))
def test_no_costlier_change_passes(part: int) -> None:
    found = answers(part * CASES // PARTS, CASES // PARTS)
    assert [answer for answer in found if answer.problem] == []
    assert {answer.code for answer in found} == {0, 1, 2, 3}


def test_a_gate_that_sees_nothing_is_seen_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(old: LockEntry, new: LockEntry, metric: str, *_: object) -> CostChange:
        return CostChange(new.name, "same", metric)

    monkeypatch.setattr(tolcost.check.gate, "judge", blind)
    assert _wrong(answers(0, 60)) > 5


def test_a_gate_that_takes_all_for_settled_is_seen_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tolcost.check.lockfile.Origins, "source", lambda *_: "alike")
    assert _wrong(answers(0, 60)) > 5


WEAKER: dict[Edit, tuple[tuple[str, object], ...]] = {
    FOLDER_OUT: (
        ("tolcost.check.gate.astray", lambda *_: ""),
        ("tolcost.check.records.severity", lambda change, *_: int(change.kind == "costlier")),
    ),
    OTHER_CASE: (("tolcost.check.gate.changed_rules", lambda *_: ()),),
    OWN_DEFINITION: (("tolcost.check.gate.changed_rules", lambda *_: ()),),
    TAKEN_FOR_ANOTHER: (("tolcost.check.gate._doubted", lambda *_: None),),
    RESIZED: (("tolcost.check.verdicts._each_with_its_own", lambda _: undecided()),),
}
"""What went past the gate once, and the gate as it was."""


@pytest.mark.parametrize("edit", WEAKER)
def test_each_attack_is_known(edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = list(attacks(edit, 20))
    assert _wrong(answers_to(cases)) == 0
    for name, weaker in WEAKER[edit]:
        monkeypatch.setattr(name, weaker)
    assert _wrong(answers_to(cases)) > 0


def _wrong(found: list[Answer]) -> int:
    return sum(bool(answer.problem) for answer in found)
