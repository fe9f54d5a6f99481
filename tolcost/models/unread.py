"""A real number that is known, and of which nothing may be asked.

An operator that is lowered with one in place of an input comes to the same whatever that input is: a number
that decides anything has to be looked at, and looking raises ``Asked``.  So nodes that differ in such numbers
alone, as those that scale and shift do, share one scheme.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import NoReturn

from tolcost.elaborate.values import Cast, Vec
from tolcost.models.facts import Known


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


@cache
def unread(place: int) -> Unread:
    """The number at a place among the inputs of an operator."""
    return Unread()


def without_real(known: Known | None, place: int) -> Cast | None:
    """A single real number that is known, as one that may not be asked for; None for anything else."""
    match known:
        case Cast(value=Fraction(), space=space):
            return Cast(unread(place), space)
        case Cast(value=Vec(shape=shape, items=(Fraction(),), loose=loose), space=space):
            return Cast(Vec(shape, (unread(place),), loose), space)
        case _:
            return None
