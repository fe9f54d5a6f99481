"""A number that is known, and of which nothing may be asked.

An operator that is lowered with one in place of an input comes to the same whatever that input is: a number
that decides anything has to be looked at, and looking raises ``Asked``.  So nodes that differ in such numbers
alone, as those that scale and shift do, share one scheme.  For integers that lengths may be computed from,
schemes have symbols.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import NoReturn

from tolcost.algebra import Poly
from tolcost.elaborate.values import Cast, Vec
from tolcost.models.facts import Known

INDICES = ("int64", "int32")
"""The spaces of integers that lengths may be computed from."""


class Asked(Exception):
    """A number decides something."""


class Unread(Fraction):
    """A real number that is itself, and nothing else is known of it.

    >>> Unread() == Unread()
    Traceback (most recent call last):
    tolcost.models.unread.Asked
    >>> Unread() < 0.5
    Traceback (most recent call last):
    tolcost.models.unread.Asked
    """

    __slots__ = ()

    def __new__(cls) -> Unread:
        """A number without a value."""
        return object.__new__(cls)

    @classmethod
    def from_float(cls, f: float) -> NoReturn:
        """A float that it is compared with: that asks, too."""
        raise Asked

    def _ask(self) -> NoReturn:
        raise Asked

    _numerator = _denominator = property(_ask)  # what all of a fraction's methods go by

    def __eq__(self, other: object) -> bool:
        """Whether two numbers are equal is a matter of what they are."""
        return self is other or self._ask()

    __hash__ = object.__hash__


class UnreadInteger(Poly):
    """A whole number that is itself, and nothing else is known of it.

    >>> UnreadInteger() + 1
    Traceback (most recent call last):
    tolcost.models.unread.Asked
    """

    __slots__ = ()

    def __init__(self) -> None:
        """A number without a value: what is the same for all numbers is known."""
        self._key, self._free, self._height = None, frozenset(), 0

    def _ask(self) -> NoReturn:
        raise Asked

    terms = den = constant = property(_ask)  # what all of a polynomial's methods go by

    def __eq__(self, other: object) -> bool:
        """Whether two numbers are equal is a matter of what they are."""
        return self is other or self._ask()

    __hash__ = object.__hash__


@cache
def unread(place: int, kind: type[Unread | UnreadInteger]) -> Unread | UnreadInteger:
    """The number at a place among the inputs of an operator."""
    return kind()


def without_number(known: Known | None, place: int) -> Cast | None:
    """A single number that is known, as one that may not be asked for; None for anything else."""
    if not isinstance(known, Cast):
        return None
    value = known.value
    single = value.items[0] if isinstance(value, Vec) and len(value.items) == 1 else value
    if isinstance(single, Fraction):
        number = unread(place, Unread)
    elif isinstance(single, Poly) and single.constant is not None and known.space not in INDICES:
        number = unread(place, UnreadInteger)
    else:
        return None
    return Cast(Vec(value.shape, (number,), value.loose) if isinstance(value, Vec) else number, known.space)
