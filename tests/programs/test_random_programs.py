"""Random programs: closed forms, shapes, and both interpreters agree on every one of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.generate.loops import loop_program
from tests.generate.programs import Case, generate
from tests.programs.lengths_apart import tried
from tests.programs.soak import KEPT, Soaked, batch
from tests.programs.verdict import judge

BATCH = 250
BATCHES = 3
"""A slice: `make soak` runs as many as it is asked for."""
MOST_REFUSED = BATCH // 50
LOOPS = 100


@pytest.mark.parametrize("number", range(BATCHES))
def test_random_programs_keep_their_promises(number: int) -> None:
    verdicts = batch(number * BATCH, BATCH)
    assert [(seed, verdict.what) for seed, verdict in verdicts if verdict.bad] == []
    refused = [(seed, verdict.what) for seed, verdict in verdicts if verdict.kind == "refused"]
    assert len(refused) <= MOST_REFUSED, refused


def test_folds_inside_of_folds_count_as_they_are_read() -> None:
    verdicts = batch(0, LOOPS, Soaked(loops=True))
    assert [(seed, verdict.what) for seed, verdict in verdicts if verdict.kind != "agrees"] == []


@pytest.mark.parametrize("write", [generate, loop_program])
def test_where_the_conditions_hold_a_run_finds_nothing_wrong(write: Callable[[int], Case]) -> None:
    tally, broken = tried(write, range(60))
    assert broken == []
    assert tally["points"] > 200


def test_a_seed_is_a_program() -> None:
    assert generate(7) == generate(7)
    assert len({generate(seed).text for seed in range(200)}) > 190


def points_of(text: str) -> list[dict[str, int]]:
    rows = re.findall(r"^# at (.*)$", text, re.M)
    return [{name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", row)} for row in rows]


@pytest.mark.parametrize("path", sorted(KEPT.glob("*.tol")), ids=lambda path: path.stem)
def test_what_once_broke_still_holds(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    plain = path.stem.startswith("loop")
    verdict = judge(text, points_of(text) or [{}], twice=True, plain=plain)
    assert not verdict.bad, verdict.detail
