"""What each diagnostic code means, at length: the text behind ``tolcost explain CODE``.

The texts stand in ``codes.md``, one section for each code.  T00 reading, T01 syntax, T02 names, T03
shapes, T04 types, T05 limits, T06 cost models and ONNX, T07 the gate.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_SECTION = re.compile(r"^## (T\d{4}) ", re.MULTILINE)


def explanation(code: str) -> str | None:
    """The text for a code, with its title in the first line; None for a code that does not exist.

    >>> explanation("t0206").splitlines()[0]
    'T0206 `*` outside of any `map` or `reduce`'
    """
    return _sections().get(code.upper())


def codes() -> tuple[str, ...]:
    """All codes there are, sorted."""
    return tuple(sorted(_sections()))


@cache
def _sections() -> dict[str, str]:
    _, *parts = _SECTION.split(Path(__file__).with_name("codes.md").read_text("utf-8"))
    return {code: f"{code} {text.strip()}" for code, text in zip(parts[::2], parts[1::2], strict=True)}
