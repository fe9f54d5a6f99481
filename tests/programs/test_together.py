"""Recursion, ragged ranges and loops until in one program: closed forms, runs and plain Python agree."""

import pytest

from tools.programs.drawn_together import draw
from tools.programs.together import judge


@pytest.mark.parametrize("seed", [0, 3, 4, 5, 9])
def test_random_programs(seed: int) -> None:
    """`python -m tools.programs.together` judges as many as one likes."""
    text = draw(seed).text
    assert all(construct in text for construct in ("f(v) =", "while(", ".."))
    assert judge(seed).startswith("agree")
