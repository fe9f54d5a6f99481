"""What memory holds during a step of training: buffers, and the moments that make and read them.

Moments are the nodes of forward in order, those of backward, and the optimiser.  A buffer is live from the
moment that makes it to the last that reads it.  What is a view of a tensor takes no memory of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from math import lcm
from operator import ge as ge_

from msgspec import Struct, field

from tolcost.algebra import (
    ZERO,
    AlgebraBudget,
    Monomial,
    NotInteger,
    Poly,
    Symbol,
    atom,
    evaluate,
    is_nonnegative,
    substitute,
)
from tolcost.algebra.poly import UNIT, Terms, poly
from tolcost.cost.span import Depth
from tolcost.models.memory import (
    Moments,
    Peak,
    change_live,
    note_moment,
    scaled_terms,
)

_MOST_SHAPES = 4_000
"""Distinct sums of live buffers that are compared; with more, the peak is not known."""
_MOST_TITLES = 2
"""At most this many nodes are named at which the peak may be; lengths decide which of them it is."""
_MOST_ENDS = 12
"""Forms that are shown for a peak; if more are needed, it is marked as inexact."""


_SAMPLES = (1, 7, 1_000, 100_000)
"""Lengths from tiny to large, so that different forms are the largest."""
_MOST_TURNS = 40
"""Attempts to find the ends between which all forms lie."""


class Moment(Struct, frozen=True):
    """A moment: the buffers that it makes, those that it reads, and its title.

    ``part`` is the part of the step, and ``place`` that of the node of the model, if it belongs to one.
    """

    title: str
    makes: tuple[str, ...]
    reads: tuple[str, ...]
    part: str
    place: int | None


class Timeline(Struct):
    """Moments in order, and the sizes of buffers."""

    moments: list[Moment] = field(default_factory=list)
    sizes: dict[str, Poly] = field(default_factory=dict)
    unsized: bool = False

    def add(
        self,
        title: str,
        makes: Mapping[str, Poly | None],
        reads: Iterable[str],
        part: str,
        place: int | None = None,
    ) -> None:
        """Add a moment; buffers that it makes have sizes, None if one is not known."""
        for name, size in makes.items():
            self.unsized |= size is None
            self.sizes[name] = ZERO if size is None else size
        self.moments.append(Moment(title, tuple(makes), tuple(reads), part, place))

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
        titles = dict.fromkeys(self.moments[forms[form]].title for form in kept)
        where = (
            " or ".join(titles)
            if len(titles) <= _MOST_TITLES
            else f"one of {len(titles)} nodes, by the lengths"
        )
        return Peak(Depth(kept, exact), where, exact and not self.unsized)

    def peak_at(self, number: Callable[[Poly], int], besides: int) -> tuple[int, int]:
        """Return the most bytes that are live at a moment, and the first such moment, at given lengths."""
        found = self.live_at(number, besides)
        most = max(found, default=besides)
        return most, found.index(most) if found else 0

    def live_at(self, number: Callable[[Poly], int], besides: int) -> list[int]:
        """Return the bytes that are live at each moment, at given lengths."""
        sizes = {name: number(size) for name, size in self.sizes.items()}
        last, now, found = self.ends(), besides, []
        for n, moment in enumerate(self.moments):
            now += sum(sizes[name] for name in moment.makes)
            found.append(now)
            ended = dict.fromkeys((*moment.makes, *moment.reads))
            now -= sum(sizes.get(name, 0) for name in ended if last[name] == n)
        return found


def largest_of(forms: tuple[Poly, ...]) -> tuple[tuple[Poly, ...], bool]:
    """Return forms whose maximum is that of all, and whether that is proved.

    From node to node of backward, activations go and gradients come.  What lies between two forms, layer by
    layer, is nowhere more than the larger of them, though it may be more than each.

    >>> from tolcost.algebra import length
    >>> n = length("n")
    >>> largest_of((4 * n, 3 * n + 9, 2 * n + 18, n + 27, 0 * n + 36))
    ((4*n, 36), True)
    """
    at = _Sampled(forms)
    ends = at.without_between(at.largest())
    left = at.not_below(forms, ends)
    for turn in range(_MOST_TURNS if left else 0):
        ends = at.without_between([*ends, left[-(turn % 2)]])  # from both sides: others lie between
        left = at.not_below(left, ends)
        if not left or len(ends) > _MOST_ENDS:
            break
    return tuple(ends), not left


class _Sampled:
    """Forms with their values at points, which refute most of what is asked before any proof."""

    def __init__(self, forms: Sequence[Poly]) -> None:
        symbols = sorted(frozenset[Symbol]().union(*(form.free for form in forms)), key=lambda s: s.key)
        points = [dict.fromkeys(symbols, value) for value in (64, *_SAMPLES)]
        points += [{**dict.fromkeys(symbols, 1), symbol: 10_000} for symbol in symbols]
        self.values = {form: [_value(form, point) for point in points] for form in forms}
        self.signs: dict[Monomial, bool] = {}
        whole = lcm(*(form.den for form in forms))
        self.terms = {form: scaled_terms(form, whole) for form in forms}

    def largest(self) -> list[Poly]:
        """Return the largest form at each point."""
        found = dict.fromkeys(
            max(self.values, key=lambda form: row[n] if (row := self.values[form]) else 0)
            for n in range(len(next(iter(self.values.values()), ())))
        )
        return list(found) or list(self.values)[:1]

    def without_between(self, forms: Sequence[Poly]) -> list[Poly]:
        """Leave out forms that lie between others."""
        ends = list(dict.fromkeys(forms))
        for form in forms:
            others = [one for one in ends if one is not form]
            if others and self.is_below(form, others):
                ends = others
        return ends

    def not_below(self, forms: Iterable[Poly], ends: Sequence[Poly]) -> list[Poly]:
        """Return the forms of which it is not proved that none is more than the largest of others."""
        return [form for form in forms if form not in ends and not self.is_below(form, ends)]

    def is_below(self, form: Poly, others: Sequence[Poly]) -> bool:
        """Whether a form is nowhere more than one of others, or than the larger of two of them."""
        own, values = self.values[form], self.values
        above = [one for one in others if all(map(ge_, values[one], own))]
        if any(_is_above(one, form) for one in above):
            return True
        for n, one in enumerate(others):
            for other in others[n:]:
                if all(map(ge_, map(max, values[one], values[other]), own)) and self.is_between(
                    form, one, other
                ):
                    return True
        return False

    def is_between(self, form: Poly, one: Poly, other: Poly) -> bool:
        """Whether a weighted mean of two forms has no smaller coefficient than a form."""
        low, high = Fraction(0), Fraction(1)
        terms, firsts, seconds = self.terms[form], self.terms[one], self.terms[other]
        for mono in terms.keys() | firsts.keys() | seconds.keys():
            second = seconds.get(mono, 0)
            slope, needed = firsts.get(mono, 0) - second, terms.get(mono, 0) - second
            if slope == 0 == needed:
                continue
            if (slope == 0 and needed > 0) or not self.is_no_less(mono):
                return False
            if slope > 0:
                low = max(low, Fraction(needed, slope))
            elif slope < 0:
                high = min(high, Fraction(needed, slope))
            if low > high:
                return False
        return True

    def is_no_less(self, mono: Monomial) -> bool:
        """Whether a monomial is proved to be at least 0."""
        if mono not in self.signs:
            self.signs[mono] = is_nonnegative(poly({mono: 1}))
        return self.signs[mono]


def _value(form: Poly, point: Mapping[Symbol, int]) -> int:
    try:
        return evaluate(form, point)
    except (NotInteger, AlgebraBudget, KeyError):
        return 0


def _is_above(one: Poly, other: Poly) -> bool:
    """Whether the gap of two forms has no negative coefficient in how far lengths are above their least."""
    gap = one - other
    if gap.height or any(s.lo is None or s.lo.constant is None for s in gap.free):
        return False
    above = {s: atom(s) + s.lo for s in gap.free if s.lo is not None}
    return all(coef >= 0 for coef in substitute(gap, above).terms.values())
