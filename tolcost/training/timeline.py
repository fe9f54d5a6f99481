"""What memory holds during a step of training: buffers, and the moments that make and read them.

Moments are the nodes of forward in order, those of backward, and the optimiser.  A buffer is live from the
moment that makes it to the last that reads it.  What is a view of a tensor takes no memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm

from msgspec import Struct, field

from tolcost.algebra import ZERO, AlgebraBudget, Poly, is_nonnegative
from tolcost.algebra.poly import UNIT, Terms, poly
from tolcost.cost.span import Depth
from tolcost.models.memory import (
    Moments,
    Peak,
    change_live,
    dominating,
    note_moment,
    scaled_terms,
)

_MOST_SHAPES = 4_000
"""Distinct sums of live buffers that are compared; with more, the peak is not known."""


_MOST_ENDS = 12
"""Forms that are shown for a peak; if more are needed, it is marked as inexact."""


class Moment(Struct, frozen=True):
    """A moment: the buffers that it makes, those that it reads, and its title."""

    title: str
    makes: tuple[str, ...]
    reads: tuple[str, ...]


class Timeline(Struct):
    """Moments in order, and the sizes of buffers."""

    moments: list[Moment] = field(default_factory=list)
    sizes: dict[str, Poly] = field(default_factory=dict)
    unsized: bool = False

    def add(self, title: str, makes: Mapping[str, Poly | None], reads: Iterable[str]) -> None:
        """Add a moment; buffers that it makes have sizes, None if one is not known."""
        for name, size in makes.items():
            self.unsized |= size is None
            self.sizes[name] = ZERO if size is None else size
        self.moments.append(Moment(title, tuple(makes), tuple(reads)))

    def ends(self) -> dict[str, int]:
        """Return the last moment at which each buffer is read, or made."""
        last: dict[str, int] = {}
        for n, moment in enumerate(self.moments):
            last.update(dict.fromkeys((*moment.makes, *moment.reads), n))
        return last

    def live(self) -> list[frozenset[str]]:
        """Return the buffers that are live at each moment."""
        last, now, found = self.ends(), set[str](), []
        for n, moment in enumerate(self.moments):
            now.update(moment.makes)
            found.append(frozenset(now))
            now.difference_update([name for name in (*moment.makes, *moment.reads) if last[name] == n])
        return found

    def peak(self, besides: Poly) -> Peak | None:
        """Return the most memory that is live at a moment, with what is held throughout."""
        whole = lcm(besides.den, *(size.den for size in self.sizes.values()))
        sizes = {name: scaled_terms(size, whole) for name, size in self.sizes.items()}
        moments: Moments = {}
        live: Terms = dict(scaled_terms(besides, whole))
        last = self.ends()
        for n, moment in enumerate(self.moments):
            for name in moment.makes:
                change_live(live, sizes[name], 1)
            note_moment(moments, live, n)
            for name in dict.fromkeys((*moment.makes, *moment.reads)):
                if last[name] == n:
                    change_live(live, sizes.get(name), -1)
        if not moments or len(moments) > _MOST_SHAPES:
            return None
        forms = {poly({**dict(shape), UNIT: most}, whole): at for shape, (most, at) in moments.items()}
        kept, exact = largest_of(tuple(forms))
        return Peak(Depth(kept, exact), self.moments[forms[kept[0]]].title, exact and not self.unsized)


def largest_of(forms: tuple[Poly, ...]) -> tuple[tuple[Poly, ...], bool]:
    """Return forms whose maximum is that of all, and whether that is proved.

    From node to node of backward, activations go and gradients come.  What lies between two forms, layer by
    layer, is nowhere more than the larger of them, though it may be more than each.

    >>> from tolcost.algebra import length
    >>> n = length("n")
    >>> largest_of((4 * n, 3 * n + 9, 2 * n + 18, n + 27, 0 * n + 36))
    ((4*n, 36), True)
    """
    kept, exact = dominating(forms)
    if exact and len(kept) <= 2:
        return kept, exact
    ends = list(kept)
    for form in kept:
        others = [one for one in ends if one is not form]
        if len(ends) > 1 and _is_below(form, others):
            ends = others
    for form in forms:
        if form not in ends and not _is_below(form, ends):
            if len(ends) == _MOST_ENDS:
                return tuple(ends), False
            ends.append(form)
    return tuple(ends), True


def _is_below(form: Poly, others: Sequence[Poly]) -> bool:
    """Whether a form is nowhere more than the larger of two others, or than one."""
    pairs = ((one, other) for n, one in enumerate(others) for other in others[n:])
    return any(_is_between(form, *pair) for pair in pairs) or any(_is_above(one, form) for one in others)


def _is_above(one: Poly, other: Poly) -> bool:
    try:
        return is_nonnegative(one - other)
    except AlgebraBudget:
        return False


def _is_between(form: Poly, one: Poly, other: Poly) -> bool:
    """Whether a weighted mean of two forms has no smaller coefficient than a form."""
    low, high = Fraction(0), Fraction(1)
    for mono in {*form.terms, *one.terms, *other.terms}:
        own, first, second = (Fraction(p.terms.get(mono, 0), p.den) for p in (form, one, other))
        slope, needed = first - second, own - second
        if slope == 0 and needed <= 0:
            continue
        if slope == 0 or not is_nonnegative(poly({mono: 1})):
            return False
        low, high = (max(low, needed / slope), high) if slope > 0 else (low, min(high, needed / slope))
        if low > high:
            return False
    return True
