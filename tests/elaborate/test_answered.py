"""Texts that are mostly nonsense: each is analysed or gets a diagnostic, whatever is put together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.generate.answered import WRITERS, answer
from tools.generate.static_expressions import HEADER

FOUND = Path(__file__).parents[1] / "cases" / "static_expressions.txt"
BATCH = 150
BATCHES = 2
"""A slice: `make soak` writes as many as it is asked for."""


@pytest.mark.parametrize("kind", sorted(WRITERS))
@pytest.mark.parametrize("number", range(BATCHES))
def test_random_texts_are_answered(kind: str, number: int) -> None:
    found = [answer(WRITERS[kind](seed)) for seed in range(number * BATCH, (number + 1) * BATCH)]
    assert [what for how, what in found if how == "broken"] == []
    assert {how for how, _ in found} == {"analysed", "refused"}


@pytest.mark.parametrize("expression", FOUND.read_text("utf-8").splitlines())
def test_what_once_broke_is_answered(expression: str) -> None:
    how, what = answer(f"{HEADER}y := {expression}\n")
    assert how != "broken", what
