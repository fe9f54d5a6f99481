"""What memory holds during a step of training: buffers, and the moments that make and read them.

Moments are the nodes of forward in order, those of backward, and the optimiser.  A buffer is live from the
moment that makes it to the last that reads it.  What is a view of a tensor takes no memory of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import lcm

from msgspec import Struct, field

from tolcost.algebra import ZERO, Poly
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
        kept, exact = dominating(tuple(forms))
        return Peak(Depth(kept, exact), self.moments[forms[kept[0]]].title, exact and not self.unsized)


def total_at(names: Iterable[str], sizes: Mapping[str, Poly], kinds: Sequence[str]) -> dict[str, Poly]:
    """Return the sizes of buffers by the first letter of their names."""
    found = dict.fromkeys(kinds, ZERO)
    for name in names:
        found[name[0]] = found[name[0]] + sizes[name]
    return found
