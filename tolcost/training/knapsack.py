"""A knapsack over scopes inside of each other: which to take, so that enough is saved at least work."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import ceil

from msgspec import Struct

_MOST = 600
"""Choices that are kept while scopes are put together; with more, some are left out."""


class ScopeSaving(Struct, frozen=True):
    """Something that may be taken: what it saves, its work, and the items inside, of which it is no part.

    Who takes an item takes none of those inside.
    """

    key: int
    saved: int
    work: int
    inside: tuple[ScopeSaving, ...] = ()


class ScopeChoice(Struct, frozen=True):
    """A choice of items: what they save, their work, and their keys."""

    saved: int
    work: int
    keys: tuple[int, ...] = ()


class ChoiceFront(Struct, frozen=True):
    """Choices of which none saves more at no more work, by growing work.

    ``whole`` tells that these are all of them.
    """

    options: tuple[ScopeChoice, ...]
    whole: bool


_NOTHING = ChoiceFront((ScopeChoice(0, 0),), True)


def front_of(items: Sequence[ScopeSaving], most: int = _MOST) -> ChoiceFront:
    """Return the best choices of items; of equal ones, those that take the first items.

    >>> items = [ScopeSaving(0, 5, 3), ScopeSaving(1, 5, 3), ScopeSaving(2, 1, 4)]
    >>> [(one.saved, one.keys) for one in front_of(items).options]
    [(0, ()), (5, (0,)), (10, (0, 1)), (11, (0, 1, 2))]
    """
    found = _NOTHING
    for item in reversed(items):
        found = _together(_own(item, most), found, most)
    return found


def _own(item: ScopeSaving, most: int) -> ChoiceFront:
    """Return the best choices of an item, or of those inside of it."""
    inside = front_of(item.inside, most)
    taken = ScopeChoice(item.saved, item.work, (item.key,))
    return ChoiceFront(_best([taken, *reversed(inside.options)]), inside.whole)


def _together(one: ChoiceFront, other: ChoiceFront, most: int) -> ChoiceFront:
    pairs = [
        ScopeChoice(first.saved + second.saved, first.work + second.work, first.keys + second.keys)
        for first in reversed(one.options)
        for second in other.options
    ]
    best = _best(pairs)
    whole = one.whole and other.whole and len(best) <= most
    if len(best) > most:
        step = Fraction(len(best) - 1, most - 1)
        best = tuple([best[round(n * step)] for n in range(most)])
    return ChoiceFront(best, whole)


def _best(options: Iterable[ScopeChoice]) -> tuple[ScopeChoice, ...]:
    """Return options of which none is beaten by another, by growing work; of equal ones, the first."""
    found: list[ScopeChoice] = []
    for one in sorted(options, key=lambda option: (option.work, -option.saved)):
        if not found or one.saved > found[-1].saved:
            found.append(one)
    return tuple(found)


def least_work(items: Sequence[ScopeSaving], needed: int) -> int | None:
    """Return a bound: no choice that saves as much has less work.  None if no choice saves as much.

    Parts of items may be taken here, so that the best are taken first.

    >>> least_work([ScopeSaving(0, 6, 3), ScopeSaving(1, 6, 6)], 9), least_work([ScopeSaving(0, 6, 3)], 9)
    (6, None)
    """
    steps: list[tuple[int, int]] = []
    for item in items:
        corners = _hull(_own(item, _MOST).options)
        needed -= corners[0].saved
        steps += [(b.saved - a.saved, b.work - a.work) for a, b in pairwise(corners)]
    work = Fraction(0)
    for saved, more in sorted(steps, key=lambda step: Fraction(step[1], step[0])):
        if needed <= 0:
            break
        work += more * min(Fraction(1), Fraction(needed, saved))
        needed -= saved
    return None if needed > 0 else ceil(work)


def _hull(options: Sequence[ScopeChoice]) -> list[ScopeChoice]:
    """Return the options that lie on the lower side of the convex hull of all of them."""
    found: list[ScopeChoice] = []
    for one in options:
        while len(found) > 1 and _turns(found[-2], found[-1], one):
            found.pop()
        found.append(one)
    return found


def _turns(a: ScopeChoice, b: ScopeChoice, c: ScopeChoice) -> bool:
    return (b.work - a.work) * (c.saved - b.saved) >= (c.work - b.work) * (b.saved - a.saved)
