"""Every code that can be told is explained, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

from tolcost.diagnostics import codes, explanation

PACKAGE = Path(__file__).parents[2] / "tolcost"


def used() -> set[str]:
    return {
        code for file in PACKAGE.rglob("*.py") for code in re.findall(r'"(T\d{4})"', file.read_text("utf-8"))
    }


def test_every_code_is_explained() -> None:
    assert used() - set(codes()) == set()


def test_every_explanation_has_its_code() -> None:
    assert set(codes()) - used() == set()


def test_explanations_by_code() -> None:
    text = explanation("T0102")
    assert text is not None
    assert text.startswith("T0102 A bracket is never closed\n")
    assert explanation("T9999") is None
    assert explanation("") is None
