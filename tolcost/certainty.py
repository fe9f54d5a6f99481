"""How sure a figure is: one scale for counts, bytes, depths and times, of nodes, programs and models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Certainty = Literal["exact", "upper bound", "lower bound", "no bound", "depends on data", "invalid"]
"""How a figure stands to what a run counts; one that depends on data is exact in what data decides.

Missing nodes make it a lower bound, branches that data decides an upper bound; both together give no bound.
No figure of an invalid model is a bound: it cannot run.
"""

INCOMPLETE: frozenset[Certainty] = frozenset(("lower bound", "no bound", "invalid"))
"""The form lacks something."""
FROM_ABOVE: frozenset[Certainty] = frozenset(("upper bound", "no bound", "invalid"))
"""Something in the form may be less."""


def certainty_of_sum(above: bool, lacking: bool) -> Certainty:
    """Return how sure a sum is of which some parts may be less, or some are lacking.

    >>> certainty_of_sum(above=True, lacking=True), certainty_of_sum(above=False, lacking=True)
    ('no bound', 'lower bound')
    """
    if lacking:
        return "no bound" if above else "lower bound"
    return "upper bound" if above else "exact"


def certainty_of_quotient(above: Certainty, below: Certainty) -> Certainty:
    """Return how sure a quotient is by how sure what stands above and below is: bounds below turn round.

    >>> certainty_of_quotient("exact", "upper bound"), certainty_of_quotient("upper bound", "upper bound")
    ('lower bound', 'no bound')
    """
    if below == "exact":
        return above
    sure = below == "upper bound" and above in ("exact", "depends on data")
    return "lower bound" if sure else "no bound"


def least_sure(parts: Iterable[Certainty], lacking: bool = False) -> Certainty:
    """Return how sure a sum is: the least sure of its parts, some of which may be lacking besides.

    >>> least_sure(["exact", "upper bound"], True), least_sure(["exact"], True)
    ('no bound', 'lower bound')
    """
    found = set(parts)
    whole = certainty_of_sum(not found.isdisjoint(FROM_ABOVE), lacking or not found.isdisjoint(INCOMPLETE))
    return "depends on data" if whole == "exact" and "depends on data" in found else whole
