"""Compulsory traffic: the bytes that must come in and go out, however well a machine caches.

What a program reads of its inputs is read once, and every output written once.  Nothing between is counted:
it may stay near the functions that use it.  A tensor of elements narrower than a byte is packed and padded to
a whole byte.

Which elements are read is found from the outputs backwards: what nobody asks for is not read.  Where
coordinates and lengths decide which elements are read, different ones are counted; where data decides, they
are taken to be different, and where data decides which elements are replaced, too.  An input counts as a
whole where the elements read are not told apart: a window over a padded image, say.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import combinations, product
from math import gcd
from operator import add
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from tolcost.algebra import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    AlgebraBudget,
    And,
    Cond,
    Floor,
    Ge,
    Poly,
    Sum,
    Symbol,
    conj,
    const,
    direction,
    disj,
    either,
    evaluate,
    ge,
    generators_in,
    is_nonnegative,
    minimum,
    negate,
    product_of,
    prove,
    relu,
    substitute,
    substitute_cond,
    symbols_of_cond,
    total,
    total_of,
)
from tolcost.algebra.poly import affine_parts, powers_of
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
    Bindings,
    blocks,
    children,
    index_nodes,
    inner_nodes,
    is_ref,
    roots,
    static_condition,
)
from tolcost.atoms.nodes import Block, Input, Node, Program, Var
from tolcost.dataclass import dataclass, field, replace
from tolcost.spaces import SPACES

# === How many different elements of an input some reads of it take, as some may be taken by several.


Ranges: TypeAlias = tuple[tuple[Symbol, Poly], ...]
_FEW_TERMS = 8
"""A longer form is no clearer than the whole."""
_FEW_IMAGES = 64
"""So many reads of one input are held against each other."""
_FEW_TOGETHER = 8
"""So many are held against each other for one that is inside of another."""
_FEW_ELEMENTS = 1 << 14
"""So many elements of a read are gone through one by one."""


@dataclass(frozen=True, slots=True)
class ReadPlace:
    """Where a node is evaluated: the coordinates around it, and the conditions under which it is."""

    ranges: Ranges = ()
    guards: tuple[Cond, ...] = field(default=(), hash=False)
    known: frozenset[Cond] = field(default=frozenset(), compare=False, hash=True)
    """The guards again: a set that has its hash, and is quickly asked."""

    def under(self, guard: Cond) -> ReadPlace:
        """The place where a condition holds, too."""
        if guard in self.known:
            return self
        return ReadPlace(self.ranges, (*self.guards, guard), self.known | {guard})

    @property
    def over_lengths(self) -> tuple[Cond, ...]:
        """The guards that mention no coordinate."""
        return tuple(guard for guard in self.guards if not _asks_coordinates(guard))

    def inside(self, node: ir.Build | ir.Fold) -> ReadPlace:
        """The place under the coordinates of a node."""
        return replace(self, ranges=(*self.ranges, *zip(node.coords, node.extents, strict=True)))


def _asks_coordinates(guard: Cond) -> bool:
    return any(symbol.kind == "coord" for symbol in symbols_of_cond(guard))


@dataclass(frozen=True, slots=True)
class Read:
    """Members of an input, which has this shape where they are taken; ``at`` may say nothing: all of them."""

    shape: tuple[Poly, ...]
    at: tuple[Poly | Node, ...] | None = None
    place: ReadPlace = ReadPlace()
    replaced: Read | None = None
    """Of all members, those that are replaced before anyone reads them."""
    taken: tuple[Poly, ...] = field(default=(), compare=False)
    """Where none of them is negative the ranges around it have an element, which is taken for granted."""


@dataclass(slots=True)
class Doubts:
    """What was met: a question about lengths that could not be decided, elements that data chooses."""

    facts: tuple[Cond, ...] = ()
    met: bool = False
    chosen: bool = False
    least: bool = False
    """Whether of chosen elements those count that are read whatever they are, instead of all of them."""
    asked: dict[Poly, None] = field(default_factory=dict)
    """What was not proved to be never negative."""
    vague: bool = False
    """Whether something else was met."""
    granted: tuple[Cond, ...] = ()
    """What the program holds under: a range that is never empty then is no question."""
    full: dict[Poly, None] = field(default_factory=dict)
    """What is not negative where ranges have an element, which was taken for granted."""

    def proved(self, p: Poly) -> bool:
        """Whether an expression is never negative, as far as can be told."""
        found = is_nonnegative(p, self.facts)
        if not found and p.constant is None:
            self.met = True
            self.asked[p] = None
        return found

    def filled(self, extent: Poly, among: int) -> bool:
        """Whether a range has an element, which is taken for granted of one among those that may have none.

        Where that one has none, the others reach as far as it takes for the form to be at least 0.
        """
        if self.least or among > 1 or is_nonnegative(extent - 1, self.facts):
            return self.proved(extent - 1)
        self.full[extent - 1] = None
        return True

    def more(self, met: bool) -> None:
        """Numbers might tell more, if something is met, in a way that no question says."""
        self.met |= met
        self.vague |= met


def different_elements(volume: Poly, reads: list[Read], doubts: Doubts) -> Poly:
    """How many different elements some reads of one input take."""
    if any(read == Read(read.shape) for read in reads):
        return volume
    try:
        return _different(volume, reads, doubts)
    except AlgebraBudget:
        doubts.more(True)
        return volume


def _different(volume: Poly, reads: list[Read], doubts: Doubts) -> Poly:
    if doubts.least and any(read.at is not None and index_nodes(read.at) for read in reads):
        return _surely(reads, doubts)
    found = _Gathered()
    if any(found.takes_all(volume, read, doubts) for read in _distinct(reads, doubts)):
        return volume
    doubts.full |= found.taken
    known = list(found.known)
    by_coordinates = _together(known)
    if by_coordinates is None:
        by_coordinates = _together(_outermost(known, (*doubts.granted, *map(ge, doubts.full))))
    if by_coordinates is None:
        doubts.more(any(not image.is_constant for image in known))
        return volume
    every = total_of((by_coordinates, *found.by_data))
    if found.by_data and len(every.terms) <= _FEW_TERMS:
        every = minimum(volume, every)
    elif found.by_data and not doubts.proved(volume - every):
        return volume
    if found.anyway != FALSE:
        every = either(found.anyway, volume, every)
        if len(every.terms) > _FEW_TERMS:
            doubts.more(True)
            return volume
    elif len(known) == 1 and not found.by_data:
        return every
    # they are different ones, so no more than there are: all of them, if that can be shown
    return volume if is_nonnegative(every - volume, doubts.granted) else every


@dataclass(slots=True)
class _Gathered:
    """What reads of one input take: elements that are told apart, those that data chooses, all of them."""

    known: dict[_Image, None] = field(default_factory=dict)
    by_data: list[Poly] = field(default_factory=list)
    anyway: Cond = FALSE
    """All elements are read there."""
    taken: dict[Poly, None] = field(default_factory=dict)

    def takes_all(self, volume: Poly, read: Read, doubts: Doubts) -> bool:
        """Whether all elements count because of a read; else it is kept."""
        if read.replaced is not None:
            gone = _replaced(read.replaced, doubts)
            self.by_data.append(ZERO if gone is None else relu(volume - gone))
            return gone is None
        if read.at is not None and index_nodes(read.at):
            doubts.chosen = True
            visits = _visits(read.place.ranges, read.place.guards, doubts)
            self.by_data.append(volume if visits is None else visits)
            return False
        image = _image(read, doubts)
        if image is None and doubts.met:
            return True
        read = _reached(replace(read, at=None), doubts) if image is None else read
        here = conj(*read.place.over_lengths) if image is None else FALSE
        if here == TRUE or (image is not None and image.count == volume):
            doubts.full |= dict.fromkeys(read.taken)
            return True
        self.anyway = disj(self.anyway, here)
        self.known |= {} if image is None else {image: None}
        self.taken |= dict.fromkeys(read.taken)
        return self.anyway == TRUE


def _replaced(puts: Read, doubts: Doubts) -> Poly | None:
    """How many different members are replaced, all if data decides which; None where that is not told."""
    assert puts.at is not None
    rows = product_of(puts.shape[len(puts.at) :])
    if index_nodes(puts.at):
        return rows * product_of(extent for _, extent in puts.place.ranges)
    image = _image(_reached(puts, replace(doubts, least=True)), doubts)
    return None if image is None else rows * image.count


def _surely(reads: list[Read], doubts: Doubts) -> Poly:
    """How many elements are read at least, where data chooses some: those of one read that tells them apart.

    Where an index is data, the others still do: of a gathered row every column is read once.
    """
    images = (_image(read, doubts) for read in _distinct(reads, doubts) if read.at is not None)
    return next((image.count for image in images if image is not None), ZERO)


def _distinct(reads: list[Read], doubts: Doubts) -> list[Read]:
    """Reads where they are reached, without those that another takes under fewer conditions."""
    kept: list[Read] = []
    alike: dict[object, list[ReadPlace]] = {}
    reached = [_reached(read, doubts) for read in dict.fromkeys(reads)]
    for read in sorted(reached, key=lambda read: (len(read.place.guards), len(read.taken))):
        places = alike.setdefault((read.shape, read.at, read.replaced, _used(read)), [])
        if FALSE not in read.place.known and not any(_covers(place, read.place) for place in places):
            places.append(read.place)
            kept.append(read)
    return kept


def _covers(one: ReadPlace, other: ReadPlace) -> bool:
    """Whether one place is reached wherever the other is."""
    return all(guard in other.known or prove(guard, other.over_lengths) for guard in one.guards)


def _reached(read: Read, doubts: Doubts) -> Read:
    """A read with conditions on what it mentions alone: some value of each other coordinate reaches it.

    What grows with such a coordinate, the end of another range or what a guard asks, is at its best at the
    end of the range.  That a range has an element at all is taken for granted, unless it is asked what is
    read at least.
    """
    if read.at is not None and index_nodes(read.at) and not doubts.least:
        return read  # every visit counts
    used = {symbol for symbol, _ in _used(read)}
    ranges, guards, own = list(read.place.ranges), list(read.place.guards), set[Cond]()
    for at in reversed(range(len(ranges))):
        symbol, extent = ranges[at]
        if symbol in used:
            continue
        inner = [e for s, e in ranges[at + 1 :] if s in used and symbol in e.free]
        asking = [guard for guard in guards if symbol in symbols_of_cond(guard)]
        ways = {direction(p, symbol) for p in inner}
        ways |= {direction(guard.p, symbol) if isinstance(guard, Ge) else None for guard in asking}
        if len(ways) == 1 and None not in ways:
            end = {symbol: extent if ways == {1} else ONE}
            ranges = [(s, substitute(e, end) if s in used else e) for s, e in ranges]
            best = {guard: substitute_cond(guard, end) for guard in asking}
            own |= {best[guard] for guard in asking if guard in own}
            guards = [best.get(guard, guard) for guard in guards]
        elif any(guard in own for guard in asking):
            doubts.more(True)
            guards = [guard for guard in guards if guard not in own or guard not in asking]
        if not is_nonnegative(extent - 1, doubts.granted):
            guards.append(ge(extent - 1))
            own.add(guards[-1])
    taken = dict.fromkeys(read.taken)
    if not doubts.least:
        noted = [guard for guard in guards if guard in own and not _asks_coordinates(guard)]
        taken |= {guard.p: None for guard in noted if isinstance(guard, Ge)}
        guards = [guard for guard in guards if guard not in noted]
    asked = tuple(dict.fromkeys(guard for guard in guards if prove(guard, doubts.granted) is not True))
    return replace(read, place=ReadPlace(tuple(ranges), asked, frozenset(asked)), taken=tuple(taken))


def _used(read: Read) -> Ranges:
    """The coordinates that indices mention, with their ranges."""
    mentioned = {s for index in read.at or () if isinstance(index, Poly) for s in index.free}
    return tuple((symbol, extent) for symbol, extent in read.place.ranges if symbol in mentioned)


def _visits(ranges: Ranges, guards: tuple[Cond, ...], doubts: Doubts) -> Poly | None:
    """How many points some coordinates run over where conditions hold; None where that is involved."""
    names = {symbol for symbol, _ in ranges}
    mentioned = {s for guard in guards for s in symbols_of_cond(guard)} | {
        s for _, e in ranges for s in e.free
    }
    if any(symbol.kind == "coord" and symbol not in names for symbol in mentioned):
        return None
    found = total(ONE, [(symbol, ONE, extent) for symbol, extent in ranges], guards)
    involved = found.height > 1 or any(isinstance(generator, Sum) for generator in generators_in(found))
    doubts.more(involved)
    return None if involved else found


@dataclass(frozen=True, slots=True)
class _Side:
    """The values of an index: the least of them, how far each is from the next, and how many there are."""

    first: Poly
    step: int
    count: Poly

    @property
    def last(self) -> Poly:
        return self.first + self.step * (self.count - 1)


@dataclass(frozen=True, slots=True)
class _Image:
    """Elements of an input under some shape: a box, or so many of it, or of what is no box.

    Those are where ``guards`` hold: ``at`` takes each of the coordinates that it mentions to one of its own.
    """

    count: Poly
    shape: tuple[Poly, ...]
    box: tuple[_Side, ...] | None
    at: tuple[Poly, ...] = ()
    guards: frozenset[Cond] = frozenset()

    @property
    def is_constant(self) -> bool:
        sides = self.box
        if any(symbol.kind != "coord" for guard in self.guards for symbol in symbols_of_cond(guard)):
            return False
        return sides is not None and all(not (side.first.free | side.count.free) for side in sides)

    def is_apart(self, other: _Image) -> bool:
        """Whether no element is in both, as far as can be told."""
        if self.shape != other.shape:
            return False
        if self.at == other.at and any(negate(guard) in other.guards for guard in self.guards):
            return True
        return self.box is not None and other.box is not None and any(map(_are_apart, self.box, other.box))

    def is_inside(self, other: _Image, facts: tuple[Cond, ...]) -> bool:
        """Whether all of its elements are in another, as far as can be told."""
        if self.shape != other.shape or self.box is None or other.box is None:
            return False
        known = (*facts, *(guard for guard in self.guards if not _asks_coordinates(guard)))
        # where coordinates are asked for, it has not all of its box
        needed = [guard for guard in other.guards if guard not in known]
        return not any(map(_asks_coordinates, needed)) and (
            all(prove(guard, known) for guard in needed)
            and all(_is_within(a, b, known) for a, b in zip(self.box, other.box, strict=True))
        )

    def elements(self) -> set[tuple[int, ...]] | None:
        """Every element, where they are few and known."""
        if self.at or self.box is None or not self.is_constant or (self.count.constant or 0) > _FEW_ELEMENTS:
            return None
        ranges = (range(0, evaluate(side.count, {}) * side.step, side.step) for side in self.box)
        firsts = [evaluate(side.first, {}) for side in self.box]
        return {tuple(map(add, firsts, at)) for at in product(*ranges)}


def _are_apart(a: _Side, b: _Side) -> bool:
    """Whether two indices have no value in common: one is beyond the other, or they never meet."""
    distance = (a.first - b.first).constant
    if distance is not None and distance % gcd(a.step, b.step):
        return True
    return is_nonnegative(a.first - b.last - 1) or is_nonnegative(b.first - a.last - 1)


def _is_within(a: _Side, b: _Side, facts: tuple[Cond, ...]) -> bool:
    """Whether all values of an index are among those of another."""
    known = (*facts, ge(a.count - 1))
    ends = is_nonnegative(a.first - b.first, known) and is_nonnegative(b.last - a.last, known)
    return a == b or (b.step == 1 and ends)


def _outermost(images: list[_Image], facts: tuple[Cond, ...]) -> list[_Image]:
    """Images without those that are inside of another."""
    kept: list[_Image] = []
    for image in images if len(images) <= _FEW_TOGETHER else ():
        if not any(image.is_inside(other, facts) for other in kept):
            kept = [*(other for other in kept if not other.is_inside(image, facts)), image]
    return kept or images


def _together(images: list[_Image]) -> Poly | None:
    """How many elements images have together; None where it cannot be told which they share."""
    if len(images) <= _FEW_IMAGES and all(a.is_apart(b) for a, b in combinations(images, 2)):
        return total_of(image.count for image in images)
    found = [image.elements() for image in images] if len({image.shape for image in images}) == 1 else [None]
    known = [elements for elements in found if elements is not None]
    return const(len(set().union(*known))) if len(known) == len(found) else None


def _image(read: Read, doubts: Doubts) -> _Image | None:
    """The elements that a read takes, by coordinates alone; None where they are not told apart."""
    if read.at is None:
        return None
    at = tuple(index for index in read.at if isinstance(index, Poly))
    ranges = _used(read)
    axes = [tuple((s, e) for s, e in ranges if s in index.free) for index in at]
    if sum(map(len, axes)) != len(ranges):
        doubts.more(_may_be_one(read.shape, ranges, doubts))
        return None  # a coordinate in two places: a diagonal, say
    sides: list[_Side | None] = [None] * len(at)
    over_lengths = read.place.over_lengths
    boxed = len(over_lengths) == len(read.place.guards)
    if not any(s.kind == "coord" for _, e in ranges for s in e.free):
        # where guards ask for coordinates, a box is a help and no more
        asked = doubts if boxed else Doubts()
        sides = [_axis(index, own, asked) for index, own in zip(at, axes, strict=True)]
    box = tuple(side for side in sides if side is not None)
    whole = box if len(box) == len(at) else None
    if whole is not None and boxed:
        count = product_of(side.count for side in whole)
        if not over_lengths:
            return _Image(count, read.shape, whole)
        there = total(count, (), over_lengths, doubts.granted)
        return _Image(there, read.shape, whole, at, read.place.known)
    if len(at) == len(read.at) and any(map(_bends, at, axes)):
        ways = {_way(*one, doubts) for one in zip(at, axes, read.shape, strict=False)}
        doubts.more("turns" not in ways and "some" in ways)
    # the others are counted by coordinates, if each place there has one of its own
    others = [n for n, side in enumerate(sides) if side is None or not boxed]
    if not all(_is_one_to_one(at[n], axes[n], doubts, boxed) for n in others):
        return None
    lengths = read.shape if len(at) == len(read.at) else ()
    counted = [(axes[n], lengths[n] if lengths else None) for n in others]
    visits = _visits_by_axes(counted, read.place, doubts)
    if visits is None:
        return None
    beside = product_of(side.count for side in box) if boxed else ONE
    return _Image(visits * beside, read.shape, whole, at, read.place.known)


def _visits_by_axes(axes: list[tuple[Ranges, Poly | None]], place: ReadPlace, doubts: Doubts) -> Poly | None:
    """How many points the coordinates of some axes run over, each of a length, where that is told.

    One axis after the other, unless something is asked of two together: one that is read as a whole has
    its length.
    """
    names = [{symbol for symbol, _ in own} for own, _ in axes]
    parts = (guard.parts if isinstance(guard, And) else (guard,) for guard in place.guards)
    guards = tuple(part for several in parts for part in several)
    asked = [tuple(g for g in guards if not own.isdisjoint(symbols_of_cond(g))) for own in names]
    over_lengths = tuple(guard for guard in guards if not _asks_coordinates(guard))
    together = sum(map(len, asked)) + len(over_lengths) != len(guards)
    if together or any(s.kind == "coord" for own, _ in axes for _, e in own for s in e.free):
        used = set[Symbol]().union(*names)
        return _visits(tuple(one for one in place.ranges if one[0] in used), place.guards, doubts)
    found = ONE
    for (own, length), here in zip(axes, asked, strict=True):
        visits = _visits(own, here, doubts)
        if visits is None:
            return None
        found = found * (length if length is not None and is_nonnegative(visits - length) else visits)
    return total(found, (), over_lengths) if over_lengths else found


def _is_one_to_one(index: Poly, given: Ranges, doubts: Doubts, boxed: bool) -> bool:
    """Whether other coordinates always give another value: each step leads beyond what smaller ones reach.

    Where they do not, one window alone is told apart, if it is ``boxed``.  Of windows that are cut off, those
    that touch are not told apart, be there one or more: the whole counts.
    """
    own = [(_step(index, s), extent) for s, extent in given if len(given) == 1 or not boxed or extent != ONE]
    steps = sorted(
        ((abs(step), extent) for step, extent in own if step is not None),
        key=lambda one: (one[0], one[1].constant is None),
    )
    if len(steps) < len(own):
        return False
    reach, between = ONE, 0
    for step, extent in steps:
        if not is_nonnegative(step - reach - between):
            doubts.more(
                boxed and reach.constant is not None and not is_nonnegative(extent - 2, doubts.granted)
            )
            return False
        reach, between = reach + step * (extent - 1), int(not boxed)
    return True


def _may_be_one(shape: tuple[Poly, ...], ranges: Ranges, doubts: Doubts) -> bool:
    """Whether all coordinates may have one value, where that is not all of an input."""
    ones = (*doubts.granted, *(ge(1 - extent) for _, extent in ranges))
    longer = any(is_nonnegative(extent - 2, doubts.granted) for _, extent in ranges)
    return not longer and not all(is_nonnegative(1 - length, ones) for length in shape)


_Way: TypeAlias = Literal["turns", "all", "some"]


def _way(index: Poly, own: Ranges, dimension: Poly, doubts: Doubts) -> _Way:
    """Whether an index that starts over (``%``) or stays (``/``) turns at all lengths.

    Its elements are not told apart then.  Where it is straight it takes all of a dimension, or some.
    """
    straight, held = index, doubts.granted
    for bend in _bends(index, own):
        facts = _one_value(bend, own)
        if facts is None:  # as far as can be told
            far = any(is_nonnegative(extent - dimension, doubts.granted) for _, extent in own)
            return "turns" if far else "some"
        if any(prove(fact, doubts.granted) is False for fact in facts):
            return "turns"
        straight, held = powers_of(straight, bend).get(0, ZERO), (*held, *facts)
    if any(affine_parts(straight, symbol) is None for symbol, _ in own):
        return "turns"
    return "all" if is_nonnegative(_taken(straight, own) - dimension, held) else "some"


def _bends(index: Poly, own: Ranges) -> list[Floor]:
    """What may keep an index from growing evenly with its coordinates."""
    names = {symbol for symbol, _ in own}
    found = [g for g in generators_in(index) if isinstance(g, Floor)]
    return [g for g in found if not names.isdisjoint(g.p.free | g.q.free)]


def _one_value(bend: Floor, own: Ranges) -> tuple[Cond, ...] | None:
    """What holds where a bend has one value in all of some ranges; None where that is not told."""
    names = {symbol for symbol, _ in own}
    parts = [affine_parts(bend.p, symbol) for symbol, _ in own]
    steps = [part[0].constant for part in parts if part is not None]
    if len(steps) < len(own) or None in steps or not names.isdisjoint(bend.q.free):
        return None
    ways = [(symbol, extent, (step or 0) > 0) for (symbol, extent), step in zip(own, steps, strict=True)]
    low = substitute(bend.p, {symbol: ONE if up else extent for symbol, extent, up in ways})
    high = substitute(bend.p, {symbol: extent if up else ONE for symbol, extent, up in ways})
    if not low.free | high.free | bend.q.free:
        return (FALSE,)  # else it would be gone
    return ge(bend.q - 1 - high + low), ge((low // bend.q + 1) * bend.q - 1 - high)


def _taken(index: Poly, own: Ranges) -> Poly:
    """How many values a straight index has, as far as that is told: one or more."""
    moving = [extent for symbol, extent in own if symbol in index.free]
    return moving[0] if len(moving) == 1 else ONE


def _step(index: Poly, symbol: Symbol) -> int | None:
    """By how much an index grows with a coordinate, where that is the same everywhere and not 0."""
    parts = affine_parts(index, symbol)
    return None if parts is None else parts[0].constant or None


def _axis(index: Poly, given: Ranges, doubts: Doubts) -> _Side | None:
    """The values that an index takes, where they are evenly spaced.

    Inside of a range without elements another one may have less than none.
    """
    own = tuple(
        (symbol, extent if is_nonnegative(extent, doubts.granted) else relu(extent))
        for symbol, extent in given
        if extent != ONE
    )
    steps = {symbol: step for symbol, _ in own if (step := _step(index, symbol)) is not None}
    if len(steps) < len(own):
        return None
    ends = {symbol: extent if steps.get(symbol, 1) < 0 else ONE for symbol, extent in given}
    first = substitute(index, ends)
    if len(own) <= 1:
        return _Side(first, abs(steps[own[0][0]]), own[0][1]) if own else _Side(first, 1, ONE)
    maybe_empty = {extent: not is_nonnegative(extent - 1, doubts.facts) for _, extent in own}
    sizes = sorted(
        ((abs(steps[symbol]), extent) for symbol, extent in own),
        key=lambda size: (size[0], maybe_empty[size[1]]),
    )
    reach, unit = ONE, sizes[0][0]
    for size, extent in sizes:
        gap, rest = divmod(size, unit)
        if rest or not doubts.proved(reach - gap):
            return None
        if reach != const(gap) and not doubts.filled(extent, sum(maybe_empty.values())):
            return None  # windows that touch are none of no extent
        reach = reach + gap * (extent - 1)
    return _Side(first, unit, reach)


# === Traffic.


_MOST_VISITS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """Bytes in and out, by space.  Texts have no size: ``unsized`` names the spaces left out."""

    read: Mapping[str, Poly]
    written: Mapping[str, Poly]
    unsized: tuple[str, ...] = ()
    open: bool = False
    """Whether more might be told of what is read if lengths were numbers."""
    least: Mapping[str, Poly] | None = None
    """What is read whatever indices say, where indices say what is read."""
    full: tuple[Poly, ...] = ()
    """Where none of them is negative ranges have an element; elsewhere less may be read."""

    def is_bound(self, facts: tuple[Cond, ...] = ()) -> bool:
        """Whether the closed form may be more than what is moved at some lengths where facts hold."""
        return self.open or not all(is_nonnegative(p, facts) for p in self.full)

    @property
    def certain(self) -> Mapping[str, Poly]:
        """Bytes that are read whatever data says: indices may all name the same element."""
        return self.read if self.least is None else self.least

    @property
    def total(self) -> Poly | None:
        """All bytes, in and out; None where something that moves has no size."""
        return None if self.unsized else total_of((*self.read.values(), *self.written.values()))


def traffic(program: Program, facts: tuple[Cond, ...] = ()) -> Traffic:
    """Count the bytes that a program reads of its inputs, and those of its outputs, where facts hold."""
    doubts = Doubts(facts)
    read = _read(program, doubts)
    least = _by_space(_read(program, Doubts(facts, least=True))) if doubts.chosen else None
    written = [(part.space, product_of(part.shape)) for out in program.outputs for part in out.node.type]
    unsized = sorted({space for space, _ in (*read, *written) if bits_of(space) is None})
    return Traffic(_by_space(read), _by_space(written), tuple(unsized), doubts.met, least, tuple(doubts.full))


def undecided(program: Program) -> tuple[Cond, ...] | None:
    """The conditions that would tell more of what is read if one of them held; None where others might."""
    doubts = Doubts()
    _read(program, doubts)
    return None if doubts.vague or doubts.chosen else tuple(map(ge, doubts.asked))


def _read(program: Program, doubts: Doubts) -> list[tuple[str, Poly]]:
    elements = elements_read(program, doubts)
    return [moved for given in program.inputs for moved in elements.get(given.name, ())]


def _by_space(moved: Iterable[tuple[str, Poly]]) -> Mapping[str, Poly]:
    result: dict[str, Poly] = {}
    for space, elements in moved:
        bits = bits_of(space)
        if bits is not None:
            result[space] = result.get(space, ZERO) + packed(elements, bits)
    return MappingProxyType({space: result[space] for space in sorted(result)})


def bytes_of(shape: tuple[Poly, ...], bits: int) -> Poly:
    """Give the bytes of one tensor of elements of some bits.

    >>> from tolcost.algebra import const, length
    >>> bytes_of((length("n"),), 16), bytes_of((const(3),), 4)
    (2*n, 2)
    """
    return packed(product_of(shape), bits)


def packed(elements: Poly, bits: int) -> Poly:
    """Give the bytes that so many elements of some bits take."""
    return elements * (bits // 8) if bits % 8 == 0 else (elements * bits + 7) // 8


def bits_of(space: str) -> int | None:
    """Give the bits of one element: its own where finite, else by the table of widths; None for texts."""
    known = SPACES[space]
    if known.bits is not None:
        return known.bits
    width = _widths().get(known.kind)
    return None if width is None else 8 * width


@cache
def _widths() -> Mapping[str, int]:
    text = Path(__file__).with_name("widths.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text)["bytes"])


# ---- which elements are read ------------------------------------------------------------------


@dataclass(slots=True)
class _Walk:
    """One walk over a program, from its outputs to what they need."""

    found: dict[str, list[Read]] = field(default_factory=dict)
    bound: dict[Var, tuple[Node, ReadPlace]] = field(default_factory=dict)
    seen: set[tuple[Node, ReadPlace]] = field(default_factory=set)
    pending: list[tuple[Node, ReadPlace]] = field(default_factory=list)

    def run(self, program: Program) -> bool:
        """Find all reads; False if that takes too long."""
        self._bind(program.bindings, ReadPlace())
        self.pending.extend((out.node, ReadPlace()) for out in program.outputs)
        # a length that only data decides is read of the mask, even where no entry is looked at
        self.pending.extend(
            (node.mask, ReadPlace()) for _, node in program.bindings if isinstance(node, ir.Filter)
        )
        while self.pending:
            step = self.pending.pop()
            if step not in self.seen:
                self.seen.add(step)
                self._visit(*step)
            if len(self.seen) > _MOST_VISITS:
                return False
        return True

    def _visit(self, node: Node, place: ReadPlace) -> None:
        match node:
            case Input(name=name, type=parts):
                if not _is_never(place):
                    self._note(name, Read(parts[0].shape, place=place))
            case ir.Ref(var=var) if var in self.bound:
                value, there = self.bound[var]
                self.pending.append((value, place if place.ranges == there.ranges else there))
            case ir.Member(tol=tol, at=at) if (given := self._input(tol)) is not None:
                if not _is_never(place):
                    self._note(given.name, Read(tol.type[0].shape, at, place))
                self.pending.extend((index, place) for index in index_nodes(at))
            case ir.Select(then=then, other=other) if (condition := static_condition(node)) is not None:
                self._enter(then, place.under(condition))
                self._enter(other, place.under(negate(condition)))
            case _:
                self._plain(node, place)

    def _plain(self, node: Node, place: ReadPlace) -> None:
        start = self._input(node.start) if isinstance(node, ir.Fold) else None
        if isinstance(node, ir.Fold) and start is not None and _only_puts(node) and not place.ranges:
            shape = start.type[0].shape
            self._note(start.name, Read(shape, replaced=Read(shape, _put(node).at, place.inside(node))))
        else:
            self.pending.extend((child, place) for child in children(node))
        inner = place.inside(node) if isinstance(node, ir.Build | ir.Fold) else place
        for block in blocks(node):
            self._enter(block, inner)

    def _enter(self, block: Block, place: ReadPlace) -> None:
        self._bind(block.bindings, place)
        self.pending.append((block.result, place))

    def _bind(self, bindings: Bindings, place: ReadPlace) -> None:
        """Values under their names; all parts of a joint work are computed, whoever asks for which."""
        self.bound.update({var: (node, place) for var, node in bindings})
        self.pending.extend((node, place) for var, node in bindings if var.work is not None)

    def _input(self, node: Node) -> Input | None:
        """The input that a value holds the elements of, perhaps converted or under another shape."""
        while not isinstance(node, Input):
            if isinstance(node, ir.Reshape) or (isinstance(node, ir.Convert) and not node.bits):
                node = node.value
            elif isinstance(node, ir.Ref) and node.var in self.bound:
                node = self.bound[node.var][0]
            else:
                return None
        return node if len(node.type) == 1 else None

    def _note(self, name: str, read: Read) -> None:
        self.found.setdefault(name, []).append(read)


def _is_never(place: ReadPlace) -> bool:
    """Whether nothing is evaluated at a place, and so nothing read; what is named outside of it may be."""
    return any(extent == ZERO for _, extent in place.ranges)


def _only_puts(fold: ir.Fold) -> bool:
    """Whether a fold does nothing with its accumulator but replace members of it."""
    result = fold.body.result
    if not isinstance(result, ir.Put) or not is_ref(result.tol, fold.accumulator):
        return False
    others = (*(node for _, node in fold.body.bindings), *children(result)[1:])
    return not any(is_ref(node, fold.accumulator) for node in inner_nodes(others))


def _put(fold: ir.Fold) -> ir.Put:
    put = fold.body.result
    assert isinstance(put, ir.Put)
    return put


def elements_read(program: Program, doubts: Doubts | None = None) -> dict[str, tuple[tuple[str, Poly], ...]]:
    """Elements read of each input, by name, with their spaces; an input that is not read is not there."""
    doubts = doubts or Doubts()
    walk = _Walk()
    complete = walk.run(program)
    doubts.granted = (*doubts.facts, *(noted.condition for noted in program.conditions))
    used = {node.name for node in inner_nodes(roots(program)) if isinstance(node, Input)}
    found: dict[str, tuple[tuple[str, Poly], ...]] = {}
    for given in program.inputs:
        whole = tuple((part.space, product_of(part.shape)) for part in given.type)
        if complete and given.name in walk.found:
            reads = walk.found[given.name]
            found[given.name] = tuple((space, different_elements(v, reads, doubts)) for space, v in whole)
        elif not complete and given.name in used:
            found[given.name] = whole
    return found
