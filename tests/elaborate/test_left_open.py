"""What lowering asks of lengths and they leave open: the cases of a scheme are made of nothing else."""

from __future__ import annotations

import pytest

from tolcost.algebra import cond_text, to_text
from tolcost.diagnostics import Source
from tolcost.elaborate.shapes import leave_open, recording
from tolcost.pipeline import lower, read_program


def left_open(text: str) -> set[str]:
    """Conditions as text, and shapes in brackets."""
    found = lower(read_program(Source("asked.tol", f"attr n: N\nattr m: N\n{text}")))
    return {
        f"[{', '.join(map(to_text, one))}]" if isinstance(one, tuple) else cond_text(one)
        for one in found.open
    }


@pytest.mark.parametrize(
    "text, asked",
    [
        ("tol x: R [n]\ny := where(n >= 3, x, map(x, * + 1))", "n >= 3"),
        ("tol x: R [n]\ny := map(x, * + 1)", "[n]"),
        ("tol x: R [n, m]\ny := reshape(x, [m, n])", "m == n"),
    ],
)
def test_a_question_without_an_answer_is_recorded(text: str, asked: str) -> None:
    assert asked in left_open(text)


def test_a_question_with_an_answer_is_not() -> None:
    assert "n >= 0" not in left_open("tol x: R [n]\ny := where(n >= 0, x, map(x, * + 1))")
    assert left_open("tol x: R [4]\ny := reshape(x, [2, 2])") == set()


def test_recordings_inside_of_one_another_are_apart() -> None:
    with recording() as outer:
        leave_open(())
        with recording() as inner:
            pass
        assert not inner
    assert list(outer) == [()]
    leave_open(())
    assert list(outer) == [()]
