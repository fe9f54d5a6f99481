"""What two figures can tell of the costs they are figures of: one table, through which every verdict goes.

Closed forms are exact, or bounds from above or below.  That one form is more than another says
something of the costs only where the one bounds its cost from below, and the other from above.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from tolcost.algebra import Order
from tolcost.certainty import Certainty

Relation: TypeAlias = Literal["same", "cheaper", "not costlier", "costlier", "crosses", "undecided"]
"""``cheaper`` is strict: never costlier, and cheaper at a known point; ``not costlier`` may be the same."""


class Claim(Struct, frozen=True):
    """Whether the new figure is more than the old one somewhere, and whether it is less; None: not known."""

    more: bool | None
    less: bool | None

    @property
    def relation(self) -> Relation:
        """The claim in one word."""
        if self.more is False:
            return "same" if self.less is False else "cheaper" if self.less else "not costlier"
        if self.more is None or self.less is None:
            return "undecided"
        return "crosses" if self.less else "costlier"


SAME = Claim(more=False, less=False)
NOTHING = Claim(more=None, less=None)


def claim_of(order: Order) -> Claim:
    """Return the claim about a new form (left) and an old one (right): a difference is claimed by a witness.

    >>> from tolcost.algebra import compare, length
    >>> n = length("n")
    >>> claim_of(compare(n * n, n)), claim_of(Order(never_above=True))
    (Claim(more=True, less=False), Claim(more=False, less=None))
    """
    more = False if order.never_above else True if order.above else None
    less = False if order.never_below else True if order.below else None
    return Claim(more, less)


_AT_LEAST: frozenset[Certainty] = frozenset(("exact", "depends on data", "lower bound"))
"""The cost is at least what the form says."""
_AT_MOST: frozenset[Certainty] = frozenset(("exact", "depends on data", "upper bound"))
"""The cost is at most what the form says."""


def conclude(old: Certainty, new: Certainty, forms: Claim) -> Claim:
    """What a claim about two forms says about the costs themselves.

    The new cost is more than the old where its form, from below, exceeds the old form, from above; and
    nowhere more where its form, from above, never exceeds the old one, from below.

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
