"""Conclusions about two costs from their figures: one table, through which every verdict goes.

Closed forms are exact, or bounds from above or below.  If one form exceeds another, its cost is known to be
larger only where the form bounds its cost from below and the other form bounds its own from above.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from tolcost.algebra import Order
from tolcost.certainty import Certainty

Relation: TypeAlias = Literal["same", "cheaper", "not costlier", "costlier", "crosses", "undecided"]
"""``cheaper`` is strict: never costlier, and cheaper at a known point; ``not costlier`` includes equality."""


class Claim(Struct, frozen=True):
    """Whether the new figure is more than the old somewhere, and whether it is less; None if not known."""

    more: bool | None
    less: bool | None

    @property
    def relation(self) -> Relation:
        """The claim as a single word."""
        if self.more is False:
            return "same" if self.less is False else "cheaper" if self.less else "not costlier"
        if self.more is None or self.less is None:
            return "undecided"
        return "crosses" if self.less else "costlier"


SAME = Claim(more=False, less=False)
NOTHING = Claim(more=None, less=None)


def claim_of(order: Order) -> Claim:
    """Return the claim about a new form (left) and an old one (right); only a witness claims a difference.

    >>> from tolcost.algebra import compare, length
    >>> n = length("n")
    >>> claim_of(compare(n * n, n)), claim_of(Order(never_above=True))
    (Claim(more=True, less=False), Claim(more=False, less=None))
    """
    more = False if order.never_above else True if order.above else None
    less = False if order.never_below else True if order.below else None
    return Claim(more, less)


_AT_LEAST: frozenset[Certainty] = frozenset(("exact", "depends on data", "lower bound"))
"""The cost is at least the form."""
_AT_MOST: frozenset[Certainty] = frozenset(("exact", "depends on data", "upper bound"))
"""The cost is at most the form."""


def conclude(old: Certainty, new: Certainty, forms: Claim) -> Claim:
    """Return the claim about two costs that follows from a claim about their forms.

    The new cost exceeds the old one where a lower bound of the new exceeds an upper bound of the old.  It
    never does where an upper bound of the new never exceeds a lower bound of the old.

    >>> conclude("exact", "upper bound", Claim(more=True, less=False))
    Claim(more=None, less=None)
    >>> conclude("upper bound", "exact", Claim(more=True, less=False))
    Claim(more=True, less=False)
    """
    rises = new in _AT_LEAST and old in _AT_MOST
    falls = new in _AT_MOST and old in _AT_LEAST
    more = forms.more if (rises if forms.more else falls) else None
    less = forms.less if (falls if forms.less else rises) else None
    return Claim(more, less)
