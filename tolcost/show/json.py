"""JSON, the contract with scripts: version 1.

Closed forms are text.  A number that a double cannot hold exactly is text too, and what is not
known is null: never 0, never NaN.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from tolcost.show.document import text_of

VERSION = 1
LARGEST_EXACT = 2**53

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"


def document(kind: str, content: Mapping[str, Json]) -> str:
    """Give a document of the contract: its version, its kind, its content."""
    return json.dumps({"tolcost": VERSION, "kind": kind, **content}, indent=2, allow_nan=False) + "\n"


def number(value: int | Fraction) -> Json:
    """Give an exact number: as a number where a double holds it, else as text.

    >>> number(2**53), number(2**53 + 1), number(Fraction(1, 4))
    (9007199254740992, '9007199254740993', '0.25')
    """
    if isinstance(value, Fraction):
        return number(value.numerator) if value.denominator == 1 else text_of(value)
    return value if abs(value) <= LARGEST_EXACT else text_of(value)
