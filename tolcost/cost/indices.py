"""The values that an index takes while its coordinates run: where they begin, how far apart, how many.

Each step of a coordinate may take an index further by the same, or not at all (a quotient, a limit), or back
to where it began (a rest).  Where several coordinates add to it, none leaves a gap that others do not fill.
"""

from __future__ import annotations

from math import gcd
from typing import TypeAlias

from msgspec import Struct, field

from tolcost.algebra import (
    ONE,
    ZERO,
    Cond,
    Eq,
    Floor,
    Ge,
    Monomial,
    Poly,
    Relu,
    Symbol,
    atom,
    const,
    coordinate,
    eq,
    ge,
    generators_in,
    is_nonnegative,
    prove,
    relu,
    simplify,
    step_of,
    substitute,
    total_of,
)
from tolcost.algebra import replace as replace_generator
from tolcost.algebra.floors import divided
from tolcost.algebra.poly import affine_parts

Ranges: TypeAlias = tuple[tuple[Symbol, Poly], ...]
FEW_TERMS = 8
"""A longer form is no clearer than the whole."""


class Doubts(Struct):
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

    def join(self, other: Doubts) -> None:
        """Meet what others met."""
        self.more(other.vague)
        self.met |= other.met
        self.asked |= other.asked
        self.full |= other.full


class IndexValues(Struct, frozen=True):
    """The values of an index: the least of them, how far each is from the next, and how many there are."""

    first: Poly
    step: int
    count: Poly

    @property
    def last(self) -> Poly:
        """The largest of them."""
        return self.first + self.step * (self.count - 1)

    @property
    def is_involved(self) -> bool:
        """Whether the whole dimension says more to a reader than how many values there are."""
        return self.count.height > 1 or len(self.count.terms) > FEW_TERMS


class _Stride(Struct, frozen=True):
    """What one coordinate adds to an index: at least so much, and how far each value is from the next."""

    first: Poly
    step: Poly
    count: Poly

    @property
    def size(self) -> tuple[bool, int]:
        """What goes first where several are put together: numbers by their size."""
        return self.step.constant is None, self.step.constant or 0


def slope_of(index: Poly, symbol: Symbol, doubts: Doubts) -> Poly | None:
    """By how much an index grows with a coordinate, where that is the same everywhere, and its sign known."""
    parts = affine_parts(index, symbol)
    if parts is None or any(other.kind == "coord" for other in parts[0].free):
        return None
    told = (is_nonnegative(way * parts[0] - 1, doubts.granted) for way in (1, -1))
    return parts[0] if any(told) else None


def index_values(index: Poly, given: Ranges, dimension: Poly, doubts: Doubts) -> IndexValues | None:
    """The values that an index takes, where they are evenly spaced.

    Inside of a range without elements another one may have less than none.
    """
    index = substitute(index, {symbol: ONE for symbol, extent in given if extent == ONE})
    own = tuple((symbol, at_least_none(extent, doubts)) for symbol, extent in given if extent != ONE)
    parts = _parts(index, [symbol for symbol, _ in own])
    if parts is None or (len(own) == 1 and slope_of(index, own[0][0], doubts) is None):
        every = _wrapped(index, own, doubts) or _every_value(index, own, dimension, doubts)
        return every or (_straight(index, own[0], dimension, doubts) if len(own) == 1 else None)
    rest, *moving = parts
    found = [_stride(part, one, doubts) for part, one in zip(moving, own, strict=True)]
    strides = [stride for stride in found if stride is not None]
    if len(strides) < len(found):
        return _every_value(index, own, dimension, doubts)
    return _put_together(rest, strides, doubts)


def _parts(index: Poly, symbols: list[Symbol]) -> list[Poly] | None:
    """What of an index mentions no coordinate, and what each one; None where some term mentions two."""
    found = [dict[Monomial, int]() for _ in range(len(symbols) + 1)]
    for mono, coefficient in index.terms.items():
        mentioned = [k for k, s in enumerate(symbols, 1) if any(s in generator.free for generator in mono)]
        if len(mentioned) > 1:
            return None
        found[mentioned[0] if mentioned else 0][mono] = coefficient
    return [Poly(terms, index.den) for terms in found]


def _stride(part: Poly, own: tuple[Symbol, Poly], doubts: Doubts) -> _Stride | None:
    symbol, extent = own
    slope = slope_of(part, symbol, doubts)
    if slope is None:
        factor, rest = _without_factor(part, symbol)
        side = _wrapped(rest, (own,), doubts) or _every_value(rest, (own,), None, doubts)
        if side is None or not is_nonnegative(factor - 1, doubts.granted):
            return None
        return _Stride(factor * side.first, factor * side.step, side.count)
    up = is_nonnegative(slope - 1, doubts.granted)
    return _Stride(substitute(part, {symbol: ONE if up else extent}), slope if up else -slope, extent)


def _without_factor(part: Poly, symbol: Symbol) -> tuple[Poly, Poly]:
    """What all terms of a form have in common that does not change with a coordinate, and the rest."""
    number = gcd(*part.terms.values())
    factor, rest = const(number), Poly({m: value // number for m, value in part.terms.items()}, part.den)
    monos = rest.terms.keys()
    while shared := [g for g in next(iter(monos)) if symbol not in g.free and all(g in m for m in monos)]:
        factor, rest = factor * atom(shared[0]), divided(rest, shared[0])
        monos = rest.terms.keys()
    return factor, rest


def _put_together(rest: Poly, strides: list[_Stride], doubts: Doubts) -> IndexValues | None:
    """The values of an index to which several coordinates add: none leaves a gap that others do not fill."""
    first = total_of((rest, *(stride.first for stride in strides)))
    maybe_empty = [not is_nonnegative(stride.count - 1, doubts.facts) for stride in strides]
    order = sorted(range(len(strides)), key=lambda k: (*strides[k].size, maybe_empty[k]))
    unit = strides[order[0]].step.constant if order else 1
    if unit is None:
        return None
    reach = ONE
    for k in order:
        gap = _in_units(strides[k].step, unit)
        if gap is None or not doubts.proved(reach - gap):
            return None
        # windows that touch are none of no extent
        if reach != gap and not doubts.filled(strides[k].count, sum(maybe_empty)):
            return None
        reach = reach + gap * (strides[k].count - 1)
    return IndexValues(first, unit, reach)


def _in_units(step: Poly, unit: int) -> Poly | None:
    number = step.constant
    if number is None:
        return step if unit == 1 else None
    return const(number // unit) if number % unit == 0 else None


def _wrapped(index: Poly, own: Ranges, doubts: Doubts) -> IndexValues | None:
    """The values of an index that starts over and over, all of them: what is divided takes enough."""
    names = {symbol for symbol, _ in own}
    for floor in generators_in(index):
        if isinstance(floor, Floor) and names.isdisjoint(floor.q.free):
            first = index - (floor.p - floor.q * atom(floor))
            divided = index_values(floor.p, own, floor.q, doubts) if names.isdisjoint(first.free) else None
            if divided and divided.step == 1 and is_nonnegative(divided.count - floor.q, doubts.granted):
                return IndexValues(first, 1, floor.q)
    return None


def _every_value(index: Poly, own: Ranges, dimension: Poly | None, doubts: Doubts) -> IndexValues | None:
    """The values of an index that no step of a coordinate takes beyond the next one: all between its ends."""
    inside = (*doubts.granted, *(ge(p) for symbol, e in own for p in (atom(symbol) - 1, e - atom(symbol))))
    first, last, none_counts = dict[Symbol, Poly](), dict[Symbol, Poly](), len(own) == 1
    for symbol, extent in own:
        growth = step_of(index, symbol)
        steps = (*inside, ge(extent - 1 - atom(symbol)))
        way = next((way for way in (1, -1) if _is_small(way * growth, steps)), None)
        if way is None:
            return None
        first[symbol], last[symbol] = (ONE, extent)[::way]
        # a step before the first one makes the form 0 where there is none
        before = substitute(index, {symbol: ONE}) - substitute(index, {symbol: ZERO})
        none_counts = none_counts and prove(eq(before - way), doubts.granted) is True
    empty = [extent for _, extent in own if not is_nonnegative(extent - 1, doubts.facts)]
    if not none_counts and not all(doubts.filled(extent, len(empty)) for extent in empty):
        return None
    low = substitute(index, first)
    count = at_least_none(substitute(index, last) - low + 1, doubts)
    is_whole = dimension is not None and is_nonnegative(count - dimension, doubts.granted)
    return IndexValues(low, 1, dimension if dimension is not None and is_whole else count)


def _straight(index: Poly, own: tuple[Symbol, Poly], dimension: Poly, doubts: Doubts) -> IndexValues | None:
    """All values of an index that is straight for as long as a dimension, wherever it turns elsewhere.

    It may begin to be where what is clipped is 0, and where a quotient is 0 or 1.
    """
    symbol, extent = own
    bends = [g for g in generators_in(index) if isinstance(g, Floor | Relu)]
    turns = [g.p for g in bends] + [g.p - g.q for g in bends if isinstance(g, Floor)]
    starts = [ONE, *(found[1] for p in turns if (found := bound_of(Ge(p), symbol)) is not None)]
    new = coordinate(symbol.name, dimension)
    for start in (start for start in starts if all(s.kind != "coord" for s in start.free)):
        if _is_in(start, extent - dimension + 1, doubts.granted):
            there = _without_quotients(substitute(index, {symbol: new + start - 1}), doubts.granted)
            if there in (new, dimension + 1 - new):
                return IndexValues(ONE, 1, dimension)
    return None


def _without_quotients(form: Poly, facts: tuple[Cond, ...]) -> Poly:
    """A form without quotients that are 0, and without clips that are then decided."""
    for floor in generators_in(form):
        if isinstance(floor, Floor) and _is_in(floor.p + 1, floor.q, facts):
            return _without_quotients(replace_generator(form, floor, ZERO), facts)
    return simplify(form, facts)


def _is_in(at: Poly, extent: Poly, facts: tuple[Cond, ...]) -> bool:
    return is_nonnegative(at - 1, facts) and is_nonnegative(extent - at, facts)


def at_least_none(count: Poly, doubts: Doubts) -> Poly:
    """A number of elements that is never negative."""
    return count if is_nonnegative(count, doubts.granted) else relu(count)


def _is_small(growth: Poly, facts: tuple[Cond, ...]) -> bool:
    return is_nonnegative(growth, facts) and is_nonnegative(1 - growth, facts)


def bound_of(guard: Cond, symbol: Symbol) -> tuple[int, Poly] | None:
    """The bound that a guard sets to a coordinate: at least (1) or at most (-1) so much; None for another."""
    parts = affine_parts(guard.p, symbol) if isinstance(guard, Ge | Eq) else None
    way = None if parts is None else parts[0].constant
    if not isinstance(guard, Ge | Eq) or way is None or abs(way) != 1:
        return None
    return way, atom(symbol) - way * guard.p
