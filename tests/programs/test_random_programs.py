"""Random programs: closed forms, shapes, and both interpreters agree on every one of them.

A second reading, by the oracle, has the same values and shapes, and never counts less.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from tools.generate.loops import loop_program
from tools.generate.programs import Case, generate
from tools.programs import asked, otherwise, told_at_places
from tools.programs.lengths_apart import tried
from tools.programs.soak import KEPT, Soaked, batch
from tools.programs.verdict import ALIKE, NO_OPINION, Kind, judge

BATCH = 100
BATCHES = 4
"""A slice: `make soak` runs as many as it is asked for."""
MOST_REFUSED = 3
LOOPS = SPACES = 60
LEAST_COMPARED = {"asked": 25, "assumed": 90, "diff": 5}


@pytest.mark.parametrize("number", range(BATCHES))
def test_random_programs_keep_their_promises(number: int) -> None:
    twice = number < 3
    verdicts = batch(number * BATCH, BATCH, Soaked(twice))
    told = {kind: [(seed, v.what) for seed, v in verdicts if v.kind == kind] for kind in get_args(Kind)}
    assert told["differs"] == told["crashed"] == told["dearer"] == []
    assert len(told["refused"]) <= MOST_REFUSED, told["refused"]
    said = Counter(what for _, what in told["agrees"])
    read = len(told["agrees"]) - said[NO_OPINION]
    assert read >= 0.85 * BATCH
    assert said[ALIKE] >= 0.75 * read or not twice


def test_folds_inside_of_folds_count_as_they_are_read() -> None:
    verdicts = batch(0, LOOPS, Soaked(loops=True))
    assert [
        (seed, verdict.what) for seed, verdict in verdicts if verdict.kind not in ("agrees", "refused")
    ] == []


def test_folds_that_change_spaces_count_as_they_are_read() -> None:
    verdicts = batch(0, SPACES, Soaked(spaces=True))
    kinds = Counter(verdict.kind for _, verdict in verdicts)
    assert [(seed, v.what) for seed, v in verdicts if v.kind not in ("agrees", "refused")] == []
    assert kinds["agrees"] >= 0.9 * SPACES


@pytest.mark.parametrize("write", [generate, loop_program])
def test_where_the_conditions_hold_a_run_finds_nothing_wrong(write: Callable[[int], Case]) -> None:
    tally, broken = tried(write, range(40))
    assert broken == []
    assert tally["points"] > 130


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
    assert verdict.kind == "agrees" or not plain, verdict.detail


def test_a_cost_is_one_however_it_is_asked_for() -> None:
    before = Counter(asked.compared)
    assert asked.broken(range(30)) == []
    found = asked.compared - before
    assert [way for way, least in LEAST_COMPARED.items() if found[way] <= least] == []


def test_what_a_loop_tells_is_another_number_at_each_place() -> None:
    found = [told_at_places.judge(seed) for seed in range(40)]
    assert [said for said in found if said.startswith("wrong")] == []
    assert found.count("agree") > 25


def test_a_program_costs_the_same_however_it_is_written() -> None:
    before = Counter(otherwise.compared)
    assert otherwise.broken(range(24)) == []
    found = otherwise.compared - before
    assert found.total() > 250, found
