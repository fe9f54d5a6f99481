"""Compulsory traffic: the bytes that must be read and written, however well a machine caches.

The parts of the inputs that a program reads are read once, and every output is written once.  Intermediate
values are not counted: they may stay near the functions that use them.  A tensor whose elements are narrower
than a byte is packed and padded to a whole byte.

A traversal from the outputs backwards finds the elements that are read; elements that no output needs are
not.  Where coordinates and lengths determine the elements, distinct ones are counted.  Where data determines
the elements that are read or replaced, they are assumed to be distinct.  Where overlapping reads cannot be
separated, the whole input counts, as an upper bound.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from itertools import combinations, product
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    AlgebraBudget,
    Cond,
    Eq,
    Floor,
    Ge,
    Poly,
    Sum,
    Symbol,
    atom,
    conj,
    coordinate,
    direction,
    disj,
    either,
    eq,
    fewer_clips,
    ge,
    generators_in,
    is_nonnegative,
    minimum,
    negate,
    product_of,
    prove,
    relu,
    step_of,
    substitute,
    substitute_cond,
    symbols_of_cond,
    the_symbol,
    total,
    total_of,
)
from tolcost.algebra.conditions import asks_coordinates, conjuncts
from tolcost.algebra.poly import affine_parts
from tolcost.atoms import nodes as ir
from tolcost.atoms.kit import (
    LEAVES,
    Bindings,
    blocks,
    children,
    defined_length,
    index_nodes,
    inner_nodes,
    is_ref,
    roots,
    static_condition,
    with_operands,
)
from tolcost.atoms.nodes import Block, Input, Node, Program, Var
from tolcost.atoms.totals import in_totals, totals
from tolcost.cost.count import Change, map_values
from tolcost.cost.element_sets import (
    ElementSet,
    count_union,
    cut_box,
    drop_inner,
    merge_boxes,
)
from tolcost.cost.indices import (
    FEW_TERMS,
    IndexValues,
    Ranges,
    ReadAnalysis,
    at_least_none,
    bound_of,
    index_values,
    slope_of,
)
from tolcost.diagnostics import InternalError
from tolcost.records import Record
from tolcost.spaces import SPACES

# === Reads: which elements of one input they take, by the coordinates and conditions around them.
#
# A read is simplified until it is a set of elements whose size is known (``element_sets``): coordinates that
# no index mentions are eliminated from its conditions, reads that another read covers are dropped, and the
# indices are separated into one set of values for each dimension, or shown to take distinct elements at
# distinct coordinates.

_FEW_READS = 64
"""Reads of one input that are merged pair by pair; the comparison is quadratic."""


class ReadPlace(Struct, frozen=True, cache_hash=True):
    """The place of an evaluation: the coordinates around it, and the conditions under which it happens."""

    ranges: Ranges = ()
    guards: tuple[Cond, ...] = ()
    known: frozenset[Cond] = frozenset()
    """The guards as a set, for fast lookup."""

    def under(self, guard: Cond) -> ReadPlace:
        """Return this place with a further condition."""
        more = tuple(part for part in conjuncts((guard,)) if part not in self.known)
        return ReadPlace(self.ranges, (*self.guards, *more), self.known | {*more}) if more else self

    @property
    def over_lengths(self) -> tuple[Cond, ...]:
        """The guards that mention no coordinate."""
        return tuple(guard for guard in self.guards if not asks_coordinates(guard))

    def inside(self, node: ir.Build | ir.Fold) -> ReadPlace:
        """Return this place inside the coordinates of a node."""
        return replace(self, ranges=(*self.ranges, *zip(node.coords, node.extents, strict=True)))


class Read(Record, frozen=True):
    """A read of members of an input, under this shape; all members if ``at`` is None."""

    ignored: ClassVar = frozenset({"taken"})

    shape: tuple[Poly, ...]
    at: tuple[Poly | Node, ...] | None = None
    place: ReadPlace = ReadPlace()
    replaced: Read | None = None
    """Members that are replaced before anyone reads them: all other members are read."""
    by_lengths: bool = False
    """Whether an index has no formula but does not depend on data; its members are then unknown."""
    taken: tuple[Poly, ...] = ()
    """Where none of these is negative, the surrounding ranges have an element, as is assumed."""


def different_elements(volume: Poly, reads: list[Read], analysis: ReadAnalysis) -> Poly:
    """Return how many distinct elements the reads of one input take."""
    if any(read == Read(read.shape) for read in reads):
        return volume
    try:
        return _at_its_most(_count_distinct(volume, reads, analysis), analysis)
    except AlgebraBudget:
        analysis.mark_inexact(True)
        return volume


def _at_its_most(elements: Poly, analysis: ReadAnalysis) -> Poly:
    """Replace lengths that differ from step to step by their largest, or by 0 for a lower bound."""
    varying = {symbol for symbol in elements.free if symbol in analysis.totals}
    if not varying:
        return elements
    analysis.mark_inexact(True)
    return substitute(
        elements,
        {s: ZERO if analysis.least else atom(analysis.totals[s].most) for s in varying},
    )


def _count_distinct(volume: Poly, reads: list[Read], analysis: ReadAnalysis) -> Poly:
    if analysis.least and any(read.at is not None and index_nodes(read.at) for read in reads):
        return _lower_bound(reads, analysis)
    found = _Gathered()
    first_whole = sorted(_drop_covered(reads, analysis), key=lambda read: read.at is not None)
    if any(found.takes_all(volume, read, analysis) for read in first_whole):
        return volume
    analysis.full |= found.taken
    known = list(found.known)
    by_coordinates = count_union(known)
    if by_coordinates is None:
        facts = (*analysis.granted, *map(ge, analysis.full))
        by_coordinates = count_union(merge_boxes(drop_inner(known, facts), facts))
    if by_coordinates is None:
        analysis.mark_inexact(True)
        return volume
    every = total_of((by_coordinates, *found.by_data))
    if found.by_data and len(every.terms) <= FEW_TERMS:
        every = minimum(volume, every)
    elif found.by_data and not analysis.proved(volume - every):
        return volume
    if found.anyway != FALSE:
        every = either(found.anyway, volume, every)
        if len(every.terms) > FEW_TERMS:
            analysis.mark_inexact(True)
            return volume
    elif len(known) == 1 and not found.by_data:
        return every
    # distinct elements cannot exceed the volume; if they provably reach it, the volume is clearer
    return volume if is_nonnegative(every - volume, analysis.granted) else every


class _Gathered(Struct):
    """The reads of one input so far: elements known by coordinates, those that data chooses, all of them."""

    known: dict[ElementSet, None] = field(default_factory=dict)
    by_data: list[Poly] = field(default_factory=list)
    anyway: Cond = FALSE
    """The condition under which all elements are read."""
    taken: dict[Poly, None] = field(default_factory=dict)

    def takes_all(self, volume: Poly, read: Read, analysis: ReadAnalysis) -> bool:
        """Record a read; the result is whether all elements count because of it."""
        if read.replaced is not None:
            gone = _count_replaced(read.replaced, analysis)
            here = conj(*read.place.guards)
            self.by_data.append(ZERO if gone is None else either(here, relu(volume - gone), ZERO))
            return gone is None
        if read.at is not None and index_nodes(read.at):
            analysis.chosen = True
            analysis.mark_inexact(read.by_lengths)
            visits = _count_points(read.place.ranges, read.place.guards, analysis)
            self.by_data.append(volume if visits is None else visits)
            return False
        if self.anyway != FALSE and prove(self.anyway, (*read.place.over_lengths, *map(ge, read.taken))):
            return False
        elements = _elements_taken(read, analysis)
        if elements is None and analysis.inexact:
            return True
        read = _eliminate_coordinates(replace(read, at=None), analysis) if elements is None else read
        here = conj(*read.place.over_lengths) if elements is None else FALSE
        if here == TRUE or (elements is not None and elements.count == volume):
            analysis.full |= dict.fromkeys(read.taken)
            return True
        self.anyway = disj(self.anyway, here)
        self.known |= {} if elements is None else {elements: None}
        self.taken |= dict.fromkeys(read.taken)
        return self.anyway == TRUE


def _count_replaced(puts: Read, analysis: ReadAnalysis) -> Poly | None:
    """Return how many distinct members are replaced (every visit counts if data decides); None if unknown."""
    assert puts.at is not None
    rows = product_of(puts.shape[len(puts.at) :])
    if index_nodes(puts.at):
        return rows * product_of(extent for _, extent in puts.place.ranges)
    elements = _elements_taken(_eliminate_coordinates(puts, replace(analysis, least=True)), analysis)
    return None if elements is None else rows * elements.count


def _lower_bound(reads: list[Read], analysis: ReadAnalysis) -> Poly:
    """Return a lower bound on the elements read, where data chooses some: those of one read that is known.

    Where one index is data, the others still count: a gathered row has every column read once.
    """
    sets = (_elements_taken(read, analysis) for read in _drop_covered(reads, analysis) if read.at is not None)
    return next((elements.count for elements in sets if elements is not None), ZERO)


def _drop_covered(reads: list[Read], analysis: ReadAnalysis) -> list[Read]:
    """Simplify the places of reads, and drop reads that another read covers under fewer conditions."""
    kept: list[Read] = []
    alike: dict[object, list[ReadPlace]] = {}
    reached = [_eliminate_coordinates(read, analysis) for read in _merge_opposites(dict.fromkeys(reads))]
    for read in sorted(reached, key=lambda read: (len(read.place.guards), len(read.taken))):
        places = alike.setdefault((read.shape, read.at, read.replaced, _used_coordinates(read)), [])
        if FALSE not in read.place.known and not any(_covers(place, read.place) for place in places):
            places.append(read.place)
            kept.append(read)
    return _merge_opposites(kept)


def _merge_opposites(reads: Iterable[Read]) -> list[Read]:
    """Merge reads that happen both where a condition holds and where it does not."""
    alike: dict[object, list[Read]] = {}
    for read in reads:
        alike.setdefault(
            (read.shape, read.at, read.replaced, read.taken, _used_coordinates(read)), []
        ).append(read)
    return [read for several in alike.values() for read in _merge_pairs(several)]


def _merge_pairs(reads: list[Read]) -> list[Read]:
    """Merge pairs of reads that differ only in one condition and its negation."""
    for one, other in combinations(reads, 2) if len(reads) <= _FEW_READS else ():
        mine, others = one.place.known - other.place.known, other.place.known - one.place.known
        if len(mine) == len(others) == 1 and negate(*mine) in others:
            guards = tuple(guard for guard in one.place.guards if guard not in mine)
            both = replace(one, place=ReadPlace(one.place.ranges, guards, frozenset(guards)))
            return _merge_pairs([both, *(read for read in reads if read not in (one, other))])
    return reads


def _covers(one: ReadPlace, other: ReadPlace) -> bool:
    """Whether one place is reached wherever the other is."""
    return all(guard in other.known or prove(guard, other.over_lengths) for guard in one.guards)


def _eliminate_coordinates(read: Read, analysis: ReadAnalysis) -> Read:
    """Eliminate from the conditions of a read the coordinates that its indices do not mention.

    A read happens if any value of such a coordinate reaches it.  Where the extent of another range, or a
    guard, is monotonic in the coordinate, the best end of its range is substituted; where guards bound it
    from both sides, some value must lie between them.  The coordinate's range is assumed to have an element,
    unless a lower bound is computed.
    """
    if read.at is not None and index_nodes(read.at) and not analysis.least:
        return read  # every visit counts
    read = _count_multiples(read)
    used = {symbol for symbol, _ in _used_coordinates(read)}
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
        elif (
            not inner and own.isdisjoint(asking) and (between := _between(symbol, extent, asking)) is not None
        ):
            guards = [*(guard for guard in guards if guard not in asking), *between]
        elif any(guard in own for guard in asking):
            analysis.mark_inexact(True)
            guards = [guard for guard in guards if guard not in own or guard not in asking]
        if not is_nonnegative(extent - 1, analysis.granted):
            guards.append(ge(extent - 1))
            own.add(guards[-1])
    taken = dict.fromkeys(read.taken)
    if not analysis.least:
        noted = [guard for guard in guards if guard in own and not asks_coordinates(guard)]
        taken |= {guard.p: None for guard in noted if isinstance(guard, Ge)}
        guards = [guard for guard in guards if guard not in noted]
    asked = tuple(dict.fromkeys(guard for guard in guards if prove(guard, analysis.granted) is not True))
    return replace(read, place=ReadPlace(tuple(ranges), asked, frozenset(asked)), taken=tuple(taken))


def _count_multiples(read: Read) -> Read:
    """Replace a guard that requires multiples of a number by a coordinate that counts the multiples."""
    for guard, (symbol, extent) in product(read.place.guards, read.place.ranges):
        floor = _required_quotient(guard)
        found = None if floor is None else bound_of(Ge(floor.p), symbol)
        most = None if floor is None else _largest(floor.p, read.place.ranges)
        if floor is None or found is None or found[0] != 1 or most is None or not is_nonnegative(floor.p - 1):
            continue
        new = _new_coordinate(symbol, most // floor.q)
        value = floor.q * new + found[1]
        counted = _with_coordinate(read, guard, symbol, new, value)
        within = (g for g in (ge(value - 1), ge(extent - value)) if not prove(g, counted.place.guards))
        return _count_multiples(replace(counted, place=counted.place.under(conj(*within))))
    return read


def _required_quotient(guard: Cond) -> Floor | None:
    """Return the quotient whose remainder a guard requires to be 0, if the divisor is a number."""
    floors = [g for g in generators_in(guard.p) if isinstance(g, Floor)] if isinstance(guard, Eq) else []
    for floor in floors:
        if floor.q.constant is not None and guard == eq(floor.p - floor.q * atom(floor)):
            return floor
    return None


def _largest(p: Poly, ranges: Ranges) -> Poly | None:
    """Return the value of a form at the far ends of all ranges, if no coordinate decreases it."""
    for symbol, extent in reversed(ranges):
        if direction(p, symbol) != 1:
            return None
        p = substitute(p, {symbol: extent})
    return p


def _between(symbol: Symbol, extent: Poly, guards: list[Cond]) -> list[Cond] | None:
    """Return the conditions for a coordinate to have a value that guards admit.

    The result is None if a guard does more than bound the coordinate.
    """
    low, high = [ONE], [extent]
    for guard in guards:
        found = bound_of(guard, symbol)
        if found is None:
            return None
        way, bound = found
        low += [bound] if way == 1 or isinstance(guard, Eq) else []
        high += [bound] if way == -1 or isinstance(guard, Eq) else []
    pairs = product(high, low)
    next(pairs)  # skip the pair for which the range itself has an element: the caller requires that anyway
    return [ge(last - first) for last, first in pairs]


def _used_coordinates(read: Read) -> Ranges:
    """Return the coordinates that indices mention, with their ranges."""
    mentioned = {s for index in read.at or () if isinstance(index, Poly) for s in index.free}
    return tuple((symbol, extent) for symbol, extent in read.place.ranges if symbol in mentioned)


def _count_points(ranges: Ranges, guards: tuple[Cond, ...], analysis: ReadAnalysis) -> Poly | None:
    """Return at how many points of ranges conditions hold; None where that is too complex."""
    names = {symbol for symbol, _ in ranges}
    mentioned = {s for guard in guards for s in symbols_of_cond(guard)} | {
        s for _, e in ranges for s in e.free
    }
    if any(symbol.kind == "coord" and symbol not in names for symbol in mentioned):
        return None
    found = _count_in_totals(ranges, guards, analysis)
    if found is None:
        found = total(ONE, [(symbol, ONE, extent) for symbol, extent in ranges], guards)
    involved = found.height > 1 or any(isinstance(generator, Sum) for generator in generators_in(found))
    analysis.mark_inexact(involved)
    return None if involved else found


def _count_in_totals(ranges: Ranges, guards: tuple[Cond, ...], analysis: ReadAnalysis) -> Poly | None:
    """Return at how many points of ranges conditions hold by the total of a length that data decides.

    None if there is no such length, or more than one.
    """
    varying = {symbol for _, extent in ranges for symbol in extent.free if symbol in analysis.totals}
    if len(varying) != 1 or guards:
        return None
    (symbol,) = varying
    sums = analysis.totals[symbol]
    inner = [(coordinate, ONE, extent) for coordinate, extent in ranges if coordinate not in sums.around]
    parts = in_totals(total(ONE, inner), symbol, sums, varying)
    return parts[0] if parts is not None and parts[1] == ZERO else None


def _elements_taken(read: Read, analysis: ReadAnalysis) -> ElementSet | None:
    """Return the elements that a read takes by coordinates alone; None where they cannot be separated."""
    if read.at is None:
        return None
    before = len(analysis.undecided)
    found = _separate_elements(read, read.at, analysis)
    if found is None or not _is_defined(found.count, analysis):
        analysis.mark_inexact(len(analysis.undecided) == before)
        return None
    return found


def _is_defined(count: Poly, analysis: ReadAnalysis) -> bool:
    """Whether a form has a value even where nothing is read."""
    divisors = [g.q for g in generators_in(count) if isinstance(g, Floor)]
    return all(is_nonnegative(divisor - 1, analysis.granted) for divisor in divisors)


def _separate_elements(
    read: Read, indices: tuple[Poly | Node, ...], analysis: ReadAnalysis
) -> ElementSet | None:
    at = tuple(index for index in indices if isinstance(index, Poly))
    lengths = tuple(
        length for index, length in zip(indices, read.shape, strict=False) if isinstance(index, Poly)
    )
    ranges = _used_coordinates(read)
    axes = [tuple((s, e) for s, e in ranges if s in index.free) for index in at]
    asked = [guard for guard in read.place.guards if asks_coordinates(guard)]
    tried = analysis if not asked else replace(analysis, inexact=False, undecided={}, vague=False, full={})
    sides = _sides(at, axes, ranges, lengths, tried)
    told = tuple(side for side in sides if side is not None)
    box = told if len(told) == len(at) else None
    if box is not None and not asked:
        return _whole_box(box, at, read, analysis)
    spread = [k for k, side in enumerate(sides) if side is None]
    if sides and not asked and all(_is_spread(at[k], list(axes[k]), analysis) for k in spread):
        each = (at_least_none(extent, analysis) for k in spread for _, extent in axes[k])
        count = product_of((*(side.count for side in told), *each))
        there = total(count, (), read.place.over_lengths, analysis.granted)
        return ElementSet(there, read.shape, None, at, read.place.known, ranges)
    if _is_one_to_one(at, axes, analysis):
        visits = _count_points(ranges, read.place.guards, analysis)
        if visits is not None:
            return ElementSet(visits, read.shape, box, at, read.place.known, ranges)
    narrow = _restrict_range(read, analysis)
    if narrow is not read and narrow.at is not None:
        found = _separate_elements(narrow, narrow.at, analysis)
        return None if found is None or any(side.is_involved for side in found.box or ()) else found
    cut = None if box is None else cut_box(box, at, asked, analysis)
    analysis.join(tried)
    if cut is None or any(side.is_involved for side in cut):
        return None
    return _whole_box(cut, at, read, analysis)


def _restrict_range(read: Read, analysis: ReadAnalysis) -> Read:
    """Restrict the range of a coordinate to the values that one guard admits, if there is such a guard."""
    for guard in read.place.guards:
        for symbol, extent in _used_coordinates(read) if isinstance(guard, Ge) else ():
            found = bound_of(guard, symbol)
            if found is None or any(other.kind == "coord" for other in found[1].free):
                continue
            way, bound = found
            gone = at_least_none(bound - 1 if way == 1 else extent - bound, analysis)
            left = _new_coordinate(symbol, extent - gone)
            return _with_coordinate(read, guard, symbol, left, left + gone if way == 1 else left)
    return read


@lru_cache(maxsize=1 << 10)  # so that equal reads stay equal
def _new_coordinate(symbol: Symbol, extent: Poly) -> Poly:
    """Return a new coordinate with another extent, in place of a given one."""
    return coordinate(symbol.name, extent)


def _with_coordinate(read: Read, without: Cond, symbol: Symbol, left: Poly, value: Poly) -> Read:
    """Remove a guard from a read, and substitute a form in a new coordinate for an old coordinate."""
    by, new = {symbol: value}, the_symbol(left)
    assert new.hi is not None
    ranges = tuple(
        (new, new.hi) if other == symbol else (other, substitute(extent, by))
        for other, extent in read.place.ranges
    )
    guards = tuple(substitute_cond(guard, by) for guard in read.place.guards if guard != without)
    at = read.at and tuple(substitute(p, by) if isinstance(p, Poly) else p for p in read.at)
    return replace(read, at=at, place=ReadPlace(ranges, guards, frozenset(guards)))


def _sides(
    at: tuple[Poly, ...],
    axes: list[Ranges],
    ranges: Ranges,
    lengths: tuple[Poly, ...],
    analysis: ReadAnalysis,
) -> list[IndexValues | None]:
    """Return the values of every index, None where unknown; nothing if the indices share coordinates."""
    apart = sum(map(len, axes)) == len(ranges)
    if not apart or any(symbol.kind == "coord" for _, extent in ranges for symbol in extent.free):
        return []
    return [_plain(*one[:2]) or index_values(*one, analysis) for one in zip(at, axes, lengths, strict=True)]


def _plain(index: Poly, own: Ranges) -> IndexValues | None:
    """Return the values of an index that is constant, or linear in one coordinate with a constant slope."""
    if not own:
        return IndexValues(index, 1, ONE)
    symbol, extent = own[0]
    parts = affine_parts(index, symbol) if len(own) == 1 and is_nonnegative(extent) else None
    step = None if parts is None else parts[0].constant
    first = substitute(index, {symbol: ONE if step and step > 0 else extent}) if step else index
    return IndexValues(first, abs(step), extent) if step else None


def _whole_box(
    box: tuple[IndexValues, ...], at: tuple[Poly, ...], read: Read, analysis: ReadAnalysis
) -> ElementSet:
    """Return all elements of a box, under the conditions on lengths of a read."""
    count, over_lengths = product_of(side.count for side in box), read.place.over_lengths
    if not over_lengths:
        return ElementSet(count, read.shape, box)
    there = total(count, (), over_lengths, analysis.granted)
    return ElementSet(there, read.shape, box, at, frozenset(over_lengths))


def _is_one_to_one(at: tuple[Poly, ...], axes: list[Ranges], analysis: ReadAnalysis) -> bool:
    """Whether distinct coordinates take distinct elements: each index determines some of them in turn."""
    told, left = set[Symbol](), {symbol for own in axes for symbol, _ in own}
    while left:
        found = set[Symbol]()
        for index, own in zip(at, axes, strict=True):
            more = [one for one in own if one[0] not in told]
            if _is_spread(index, more, analysis) or _is_in_rows(index, more, analysis):
                found |= {symbol for symbol, _ in more}
        if not found:
            return False
        told |= found
        left -= found
    return True


def _is_spread(index: Poly, own: list[tuple[Symbol, Poly]], analysis: ReadAnalysis) -> bool:
    """Whether an index determines several coordinates: each step exceeds everything that smaller ones add."""
    slopes = [slope_of(index, symbol, analysis) for symbol, _ in own]
    told = [slope for slope in slopes if slope is not None]
    steps = [slope if is_nonnegative(slope, analysis.granted) else -slope for slope in told]
    if len(steps) < len(own):
        return False
    reach = ONE
    order = sorted(range(len(own)), key=lambda k: (steps[k].constant is None, steps[k].constant or 0))
    for k in order:
        if k != order[0] and not is_nonnegative(steps[k] - reach, analysis.granted):
            return False
        reach = reach + steps[k] * (own[k][1] - 1)
    return True


def _is_in_rows(index: Poly, own: list[tuple[Symbol, Poly]], analysis: ReadAnalysis) -> bool:
    """Whether an index goes through rows in order, each of which begins after the previous one ends.

    Rows may differ in length, as those of a packed triangle do: ``i*(i - 1)/2 + j`` where j goes to i.
    """
    if len(own) != 2:
        return False
    (outer, _), (inner, extent) = own
    parts = affine_parts(index, inner)
    if parts is None or parts[0] != ONE:
        return False
    begins = parts[1]
    gap = step_of(begins, outer) - extent
    return is_nonnegative(extent, analysis.granted) and is_nonnegative(gap, analysis.granted)


# === Traffic.

_MOST_VISITS = 20_000
"""Nodes, by place, that a traversal visits; with more, every input that is used counts as a whole."""
_NONE: Mapping[str, str] = MappingProxyType({})


class Traffic(Struct, frozen=True, eq=False):
    """Bytes read and written, by space.  Texts have no size: ``unsized`` names the spaces left out."""

    read: Mapping[str, Poly]
    written: Mapping[str, Poly]
    unsized: tuple[str, ...] = ()
    open: bool = False
    """Whether fewer bytes may be read: elements were not separated, but numbers for lengths might help."""
    least: Mapping[str, Poly] | None = None
    """The bytes read whatever the indices are, where data decides the elements; None where it does not."""
    full: tuple[Poly, ...] = ()
    """Where none of these is negative, all ranges have an element; elsewhere fewer bytes may be read."""

    def map_forms(self, change: Change) -> Traffic:
        """Return this traffic with every form changed."""
        least = None if self.least is None else map_values(self.least, change)
        read, written = map_values(self.read, change), map_values(self.written, change)
        return Traffic(read, written, self.unsized, self.open, least, tuple(map(change, self.full)))

    def is_bound(self, facts: tuple[Cond, ...] = ()) -> bool:
        """Whether the closed form may exceed the bytes moved at some lengths that satisfy the facts."""
        return self.open or not all(is_nonnegative(p, facts) for p in self.full)

    @property
    def certain(self) -> Mapping[str, Poly]:
        """Bytes that are read whatever the data: indices may all name the same element."""
        return self.read if self.least is None else self.least

    @property
    def total(self) -> Poly | None:
        """All bytes, read and written; None where a value that moves has no size."""
        return None if self.unsized else total_of((*self.read.values(), *self.written.values()))


def traffic(program: Program, facts: tuple[Cond, ...] = (), same: Mapping[str, str] = _NONE) -> Traffic:
    """Count the bytes that a program reads of its inputs and writes to its outputs, where facts hold.

    ``same`` maps an input to another that gets the same value: what both read counts once.
    """
    analysis = ReadAnalysis(facts)
    read = _read(program, analysis, same)
    least = _by_space(_read(program, ReadAnalysis(facts, least=True), same)) if analysis.chosen else None
    parts = [part for out in program.outputs for part in out.node.type]
    written = [(part.space, fewer_clips(product_of(part.shape))) for part in parts]
    unsized = sorted({space for space, _ in (*read, *written) if bits_of(space) is None})
    return Traffic(
        _by_space(read), _by_space(written), tuple(unsized), analysis.inexact, least, tuple(analysis.full)
    )


def undecided(program: Program) -> tuple[Cond, ...] | None:
    """Return the conditions that would each make the elements read more exact; None if others might."""
    analysis = ReadAnalysis()
    _read(program, analysis)
    return None if analysis.vague or analysis.chosen else tuple(map(ge, analysis.undecided))


def _read(
    program: Program, analysis: ReadAnalysis, same: Mapping[str, str] = _NONE
) -> list[tuple[str, Poly]]:
    elements = elements_read(program, analysis, same)
    return [moved for given in program.inputs for moved in elements.get(given.name, ())]


def _by_space(moved: Iterable[tuple[str, Poly]]) -> Mapping[str, Poly]:
    result: dict[str, Poly] = {}
    for space, elements in moved:
        bits = bits_of(space)
        if bits is not None:
            result[space] = result.get(space, ZERO) + packed(elements, bits)
    return MappingProxyType({space: result[space] for space in sorted(result)})


def bytes_of(shape: tuple[Poly, ...], space: str) -> Poly | None:
    """Return the bytes of one tensor; None for texts, which have no size.

    >>> from tolcost.algebra import const, length
    >>> bytes_of((length("n"),), "float16"), bytes_of((const(3),), "int4"), bytes_of((), "S")
    (2*n, 2, None)
    """
    bits = bits_of(space)
    return None if bits is None else packed(product_of(shape), bits)


def packed(elements: Poly, bits: int) -> Poly:
    """Return the bytes of a number of packed elements of a given width."""
    return elements * (bits // 8) if bits % 8 == 0 else (elements * bits + 7) // 8


def bits_of(space: str) -> int | None:
    """Return the bits of one element: its own width where finite, else the table's; None for texts."""
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


class _Walk(Struct):
    """One traversal of a program, from its outputs to the values they need."""

    found: dict[str, list[Read]] = field(default_factory=dict)
    bound: dict[Var, tuple[Node, ReadPlace]] = field(default_factory=dict)
    named: dict[Var, Node] = field(default_factory=dict)
    """The nodes of ``bound``, without their places."""
    computed: dict[Var, bool] = field(default_factory=dict)
    seen: set[tuple[Node, ReadPlace]] = field(default_factory=set)
    pending: list[tuple[Node, ReadPlace]] = field(default_factory=list)
    measures: bool = False
    """Whether data decides a length."""

    def run(self, program: Program) -> bool:
        """Find all reads; False if the traversal exceeds its limit."""
        self._bind(program.bindings, ReadPlace())
        self.pending.extend((out.node, ReadPlace()) for out in program.outputs)
        while self.pending:
            step = self.pending.pop()
            if step not in self.seen:
                self.seen.add(step)
                self._visit(*step)
            if len(self.seen) > _MOST_VISITS:
                return False
        return True

    def _visit(self, node: Node, place: ReadPlace) -> None:
        rule = _RULES.get(type(node))
        if rule is None or not rule(self, node, place):
            self._plain(node, place)

    def _visit_input(self, node: Input, place: ReadPlace) -> bool:
        if not _is_never(place):
            self._note(node.name, Read(node.type[0].shape, place=place))
        return True

    def _visit_name(self, node: ir.Ref, place: ReadPlace) -> bool:
        if node.var not in self.bound:
            return False
        value, there = self.bound[node.var]
        self.pending.append((value, place if place.ranges == there.ranges else there))
        if self._computes(node.var):  # whether or not a place that uses it is reached
            self._begin(value, there)
        return True

    def _visit_member(self, node: ir.Member, place: ReadPlace) -> bool:
        given = self._input(node.tol)
        if given is None:
            return self._visit_part(node, place)
        indices = index_nodes(node.at)
        if not _is_never(place):
            computed = bool(indices) and not self._is_chosen(indices)
            self._note(given.name, Read(node.tol.type[0].shape, node.at, place, by_lengths=computed))
        self.pending.extend((index, place) for index in indices)
        return True

    def _visit_part(self, node: ir.Member | ir.Component, place: ReadPlace) -> bool:
        """Visit a part of a fold, and, where the fold takes no turn, the same part of its start."""
        begun = self._find_fold(node, place)
        if begun is None:
            return False
        fold, there, of_start = begun
        turns = conj(*(ge(extent - 1) for extent in fold.extents))
        self.pending.append((fold, there.under(turns)))
        self._begin(fold, there)
        # a turn reads the whole start, which includes the part, unless it changes its type or only replaces
        # members
        is_part = fold.type == fold.start.type and not _only_puts(fold)
        self.pending.append((of_start, place if is_part else place.under(negate(turns))))
        self.pending.extend((index, place) for index in children(node)[1:])
        return True

    def _visit_choice(self, node: ir.Select, place: ReadPlace) -> bool:
        condition = static_condition(node)
        if condition is None:
            return False
        self._enter(node.then, place.under(condition))
        self._enter(node.other, place.under(negate(condition)))
        return True

    def _find_fold(self, node: Node, place: ReadPlace) -> tuple[ir.Fold, ReadPlace, Node] | None:
        """Find the fold that a node takes a part of, the fold's place, and the same part of the fold's start.

        If the fold takes no turn, that part is the value.  The result is None if no item of the start is
        given, as by an input: a computed start is computed as a whole.
        """
        around: list[Node] = []
        while not isinstance(node, ir.Fold):
            if isinstance(node, ir.Ref) and node.var in self.bound:
                node, there = self.bound[node.var]
                place = place if place.ranges == there.ranges else there
            elif isinstance(node, ir.Member | ir.Component | ir.Reshape | ir.Convert):
                around.append(node)
                node = children(node)[0]
            else:
                return None
        found = node.start
        if not any(map(self._is_given, _items(found))):
            return None
        for outer in reversed(around):
            if isinstance(outer, ir.Component) and isinstance(found, ir.Pack):
                found = _component(found, outer.j)
            else:
                found = with_operands(outer, (found, *children(outer)[1:]))
        return node, place, found

    def _is_given(self, node: Node) -> bool:
        """Whether a value is an input, or the result of a fold over one that may take no turn."""
        while not isinstance(node, Input):
            if isinstance(node, ir.Reshape | ir.Convert):
                node = node.value
            elif isinstance(node, ir.Ref) and node.var in self.bound:
                node = self.bound[node.var][0]
            elif isinstance(node, ir.Fold):
                node = node.start
            else:
                return False
        return True

    def _begin(self, node: Node, place: ReadPlace) -> None:
        """Visit computed values, whoever uses them; given items of a fold's start count only when used."""
        if not isinstance(node, ir.Fold):
            self.pending.append((node, place))
            return
        self.pending.extend((item, place) for item in _items(node.start) if not self._is_given(item))
        self._enter(node.body, place.inside(node))

    def _computes(self, var: Var) -> bool:
        """Whether the value of a name is computed or laid out, rather than only taken from another value."""
        if var not in self.computed:
            inside = inner_nodes((self.named[var],))
            self.computed[var] = any(type(node) not in _TAKEN for node in inside)
        return self.computed[var]

    def _is_chosen(self, indices: tuple[Node, ...]) -> bool:
        """Whether indices may depend on data: on an input, or on a loop-carried value."""
        return any(
            isinstance(node, Input) or (isinstance(node, ir.Ref) and node.var not in self.named)
            for node in inner_nodes(indices, self.named)
        )

    def _plain(self, node: Node, place: ReadPlace) -> None:
        start = self._input(node.start) if isinstance(node, ir.Fold) else None
        if isinstance(node, ir.Fold) and start is not None and _only_puts(node) and not place.ranges:
            shape = start.type[0].shape
            replaced = Read(shape, _put(node).at, place.inside(node))
            self._note(start.name, Read(shape, place=place, replaced=replaced))
        else:
            self.pending.extend((child, place) for child in children(node))
        inner = place.inside(node) if isinstance(node, ir.Build | ir.Fold) else place
        for block in blocks(node):
            self._enter(block, inner)

    def _enter(self, block: Block, place: ReadPlace) -> None:
        self._bind(block.bindings, place)
        self.pending.append((block.result, place))

    def _bind(self, bindings: Bindings, place: ReadPlace) -> None:
        """Bind values to their names; all parts of a joint work are computed, whichever are used."""
        self.bound.update({var: (node, place) for var, node in bindings})
        self.named.update(bindings)
        self.pending.extend((node, place) for var, node in bindings if var.work is not None)
        # a length that data decides is found even if nothing else of its node is used
        measuring = [node for _, node in bindings if defined_length(node)]
        self.pending.extend((_measured(node), place) for node in measuring)
        self.measures |= bool(measuring)

    def _input(self, node: Node) -> Input | None:
        """Return the input whose elements a value has, perhaps converted or under another shape."""
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


_RULES: Mapping[type, Callable[[_Walk, Any, ReadPlace], bool]] = {
    Input: _Walk._visit_input,
    ir.Ref: _Walk._visit_name,
    ir.Member: _Walk._visit_member,
    ir.Component: _Walk._visit_part,
    ir.Select: _Walk._visit_choice,
}
"""What a node reads, where it is not all of its operands: False if it is, after all."""


def _is_never(place: ReadPlace) -> bool:
    """Whether nothing is evaluated at a place, because a range is empty; names from outside may be."""
    return any(extent == ZERO for _, extent in place.ranges)


_TAKEN = {*LEAVES, ir.Member, ir.Component, ir.Reshape, ir.Convert, ir.Pack, ir.Select}
"""Node kinds that compute nothing and lay nothing out."""


def _items(node: Node) -> tuple[Node, ...]:
    """Return the items of a list; any other value is its only item."""
    return node.items if isinstance(node, ir.Pack) else (node,)


def _component(pack: ir.Pack, j: int) -> Node:
    """Return a component of a packed list, from the item that contains it."""
    for item in pack.items:
        if j <= len(item.type):
            return item if len(item.type) == 1 else ir.Component(item, j, (item.type[j - 1],))
        j -= len(item.type)
    raise InternalError("a list has no such component")


def _only_puts(fold: ir.Fold) -> bool:
    """Whether a fold only replaces members of its accumulator."""
    result = fold.body.result
    if not isinstance(result, ir.Put) or not is_ref(result.tol, fold.accumulator):
        return False
    others = (*(node for _, node in fold.body.bindings), *children(result)[1:])
    return not any(is_ref(node, fold.accumulator) for node in inner_nodes(others))


def _put(fold: ir.Fold) -> ir.Put:
    put = fold.body.result
    assert isinstance(put, ir.Put)
    return put


def _measured(node: Node) -> Node:
    """Return the value that a node reads to find the length that it defines."""
    return node.mask if isinstance(node, ir.Filter) else node.value if isinstance(node, ir.Length) else node


def elements_read(
    program: Program, analysis: ReadAnalysis | None = None, same: Mapping[str, str] = _NONE
) -> dict[str, tuple[tuple[str, Poly], ...]]:
    """Return the elements read of each input, by name, with their spaces; unread inputs are missing.

    ``same`` maps an input to another that gets the same value; its reads count for that one.
    """
    analysis = analysis or ReadAnalysis()
    walk = _Walk()
    complete = walk.run(program)
    analysis.totals = totals(program) if walk.measures else {}
    analysis.granted = (*analysis.facts, *(noted.condition for noted in program.conditions))
    for name in walk.found.keys() & same.keys():
        walk.found.setdefault(same[name], []).extend(walk.found.pop(name))
    named = (node.name for node in inner_nodes(roots(program)) if isinstance(node, Input))
    used = {same.get(name, name) for name in named}
    found: dict[str, tuple[tuple[str, Poly], ...]] = {}
    for given in program.inputs:
        whole = tuple((part.space, product_of(part.shape)) for part in given.type)
        if complete and given.name in walk.found:
            reads = walk.found[given.name]
            found[given.name] = tuple((space, different_elements(v, reads, analysis)) for space, v in whole)
        elif not complete and given.name in used:
            found[given.name] = whole
    return found
