"""Static expressions, most of them nonsense: each has a value or a diagnostic, whatever is put together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generate.static_expressions import HEADER, broken, static_program

FOUND = Path(__file__).parents[1] / "cases" / "static_expressions.txt"
BATCH = 250
BATCHES = 4


@pytest.mark.parametrize("number", range(BATCHES))
def test_random_expressions_are_answered(number: int) -> None:
    texts = map(static_program, range(number * BATCH, (number + 1) * BATCH))
    assert [found for text in texts if (found := broken(text)) is not None] == []


@pytest.mark.parametrize("expression", FOUND.read_text("utf-8").splitlines())
def test_what_once_broke_is_answered(expression: str) -> None:
    assert broken(f"{HEADER}y := {expression}\n") is None
