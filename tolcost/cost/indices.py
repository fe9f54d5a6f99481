"""The set of values that an index takes over the ranges of its coordinates: first value, step and number.

When a coordinate grows by one, an index may change by a constant, stay (quotients and clips), or wrap to its
start (a remainder).  Where several coordinates contribute, the values are known if no gap of one is left
unfilled by the others.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from tolcost.atoms.totals import Totals

Ranges: TypeAlias = tuple[tuple[Symbol, Poly], ...]
FEW_TERMS = 8
"""Forms with more terms are no clearer to a reader than the whole dimension."""


class ReadAnalysis(Struct):
    """Findings of an analysis of reads: undecided questions about lengths, and data-dependent elements."""

    facts: tuple[Cond, ...] = ()
    inexact: bool = False
    chosen: bool = False
    least: bool = False
    """Whether to count, of data-dependent elements, only those that are read whatever the data."""
    undecided: dict[Poly, None] = field(default_factory=dict)
    """Forms that could not be proved nonnegative."""
    vague: bool = False
    """Whether the result is inexact for a reason that ``undecided`` does not record."""
    granted: tuple[Cond, ...] = ()
    """The conditions of the program; they may prove that a range is never empty."""
    full: dict[Poly, None] = field(default_factory=dict)
    """Forms that are nonnegative if ranges have an element, which was assumed."""
    totals: Mapping[Symbol, Totals] = field(default_factory=dict)
    """The lengths that data decides at every step of a loop, with what they amount to."""

    def proved(self, p: Poly) -> bool:
        """Whether a form is proved nonnegative; records it as undecided otherwise."""
        found = is_nonnegative(p, self.facts)
        if not found and p.constant is None:
            self.inexact = True
            self.undecided[p] = None
        return found

    def assume_nonempty(self, extent: Poly, among: int) -> bool:
        """Assume that a range has an element, if no other may be empty; record it in ``full``.

        If that one range is empty, the others still reach as far as the form needs in order to be
        nonnegative.
        """
        if self.least or among > 1 or is_nonnegative(extent - 1, self.facts):
            return self.proved(extent - 1)
        self.full[extent - 1] = None
        return True

    def mark_inexact(self, inexact: bool) -> None:
        """Mark the result as inexact, if it is, for a reason that no single form expresses."""
        self.inexact |= inexact
        self.vague |= inexact

    def join(self, other: ReadAnalysis) -> None:
        """Add the undecided questions of another analysis."""
        self.mark_inexact(other.vague)
        self.inexact |= other.inexact
        self.undecided |= other.undecided
        self.full |= other.full


class IndexValues(Struct, frozen=True):
    """The values of an index: the smallest, the distance between neighbours, and their number."""

    first: Poly
    step: int
    count: Poly

    @property
    def last(self) -> Poly:
        """The largest value."""
        return self.first + self.step * (self.count - 1)

    @property
    def is_involved(self) -> bool:
        """Whether naming the whole dimension is clearer to a reader than the number of values."""
        return self.count.height > 1 or len(self.count.terms) > FEW_TERMS


class _Stride(Struct, frozen=True):
    """The contribution of one coordinate to an index: smallest value, step, and number of values."""

    first: Poly
    step: Poly
    count: Poly

    @property
    def size(self) -> tuple[bool, int]:
        """The sort key for combining contributions: constant steps first, by size."""
        return self.step.constant is None, self.step.constant or 0


def slope_of(index: Poly, symbol: Symbol, analysis: ReadAnalysis) -> Poly | None:
    """Return the growth of an index with a coordinate, if it is the same everywhere and its sign is known."""
    parts = affine_parts(index, symbol)
    if parts is None or any(other.kind == "coord" for other in parts[0].free):
        return None
    told = (is_nonnegative(way * parts[0] - 1, analysis.granted) for way in (1, -1))
    return parts[0] if any(told) else None


def index_values(index: Poly, given: Ranges, dimension: Poly, analysis: ReadAnalysis) -> IndexValues | None:
    """Return the values that an index takes, if they are evenly spaced.

    Inside an empty range, the extent of another range may be negative; it is taken as 0.
    """
    index = substitute(index, {symbol: ONE for symbol, extent in given if extent == ONE})
    own = tuple((symbol, at_least_none(extent, analysis)) for symbol, extent in given if extent != ONE)
    parts = _parts(index, [symbol for symbol, _ in own])
    if parts is None or (len(own) == 1 and slope_of(index, own[0][0], analysis) is None):
        every = _remainder_values(index, own, analysis) or _dense_values(index, own, dimension, analysis)
        return every or (_unit_slope_values(index, own[0], dimension, analysis) if len(own) == 1 else None)
    rest, *moving = parts
    found = [_stride(part, one, analysis) for part, one in zip(moving, own, strict=True)]
    strides = [stride for stride in found if stride is not None]
    if len(strides) < len(found):
        return _dense_values(index, own, dimension, analysis)
    return _combine_strides(rest, strides, analysis)


def _parts(index: Poly, symbols: list[Symbol]) -> list[Poly] | None:
    """Split an index into the part without coordinates and one part per coordinate.

    The result is None if a term mentions two coordinates.
    """
    found = [dict[Monomial, int]() for _ in range(len(symbols) + 1)]
    for mono, coefficient in index.terms.items():
        mentioned = [k for k, s in enumerate(symbols, 1) if any(s in generator.free for generator in mono)]
        if len(mentioned) > 1:
            return None
        found[mentioned[0] if mentioned else 0][mono] = coefficient
    return [Poly(terms, index.den) for terms in found]


def _stride(part: Poly, own: tuple[Symbol, Poly], analysis: ReadAnalysis) -> _Stride | None:
    symbol, extent = own
    slope = slope_of(part, symbol, analysis)
    if slope is None:
        factor, rest = _without_factor(part, symbol)
        side = _remainder_values(rest, (own,), analysis) or _dense_values(rest, (own,), None, analysis)
        if side is None or not is_nonnegative(factor - 1, analysis.granted):
            return None
        return _Stride(factor * side.first, factor * side.step, side.count)
    up = is_nonnegative(slope - 1, analysis.granted)
    return _Stride(substitute(part, {symbol: ONE if up else extent}), slope if up else -slope, extent)


def _without_factor(part: Poly, symbol: Symbol) -> tuple[Poly, Poly]:
    """Split off the factor that all terms share and that does not change with a coordinate."""
    number = gcd(*part.terms.values())
    factor, rest = const(number), Poly({m: value // number for m, value in part.terms.items()}, part.den)
    monos = rest.terms.keys()
    while shared := [g for g in next(iter(monos)) if symbol not in g.free and all(g in m for m in monos)]:
        factor, rest = factor * atom(shared[0]), divided(rest, shared[0])
        monos = rest.terms.keys()
    return factor, rest


def _combine_strides(rest: Poly, strides: list[_Stride], analysis: ReadAnalysis) -> IndexValues | None:
    """Combine the contributions of several coordinates, if no gap of one is left unfilled by the others."""
    first = total_of((rest, *(stride.first for stride in strides)))
    maybe_empty = [not is_nonnegative(stride.count - 1, analysis.facts) for stride in strides]
    order = sorted(range(len(strides)), key=lambda k: (*strides[k].size, maybe_empty[k]))
    unit = strides[order[0]].step.constant if order else 1
    if unit is None:
        return None
    reach = ONE
    for k in order:
        gap = _in_units(strides[k].step, unit)
        if gap is None or not analysis.proved(reach - gap):
            return None
        # windows that touch leave no gap even if they are empty
        if reach != gap and not analysis.assume_nonempty(strides[k].count, sum(maybe_empty)):
            return None
        reach = reach + gap * (strides[k].count - 1)
    return IndexValues(first, unit, reach)


def _in_units(step: Poly, unit: int) -> Poly | None:
    number = step.constant
    if number is None:
        return step if unit == 1 else None
    return const(number // unit) if number % unit == 0 else None


def _remainder_values(index: Poly, own: Ranges, analysis: ReadAnalysis) -> IndexValues | None:
    """Return all values of a remainder, if the dividend takes at least as many values as the divisor."""
    names = {symbol for symbol, _ in own}
    for floor in generators_in(index):
        if isinstance(floor, Floor) and names.isdisjoint(floor.q.free):
            first = index - (floor.p - floor.q * atom(floor))
            divided = index_values(floor.p, own, floor.q, analysis) if names.isdisjoint(first.free) else None
            if divided and divided.step == 1 and is_nonnegative(divided.count - floor.q, analysis.granted):
                return IndexValues(first, 1, floor.q)
    return None


def _dense_values(
    index: Poly, own: Ranges, dimension: Poly | None, analysis: ReadAnalysis
) -> IndexValues | None:
    """Return all values between the ends of an index, if no step of a coordinate skips a value."""
    inside = (*analysis.granted, *(ge(p) for symbol, e in own for p in (atom(symbol) - 1, e - atom(symbol))))
    first, last, none_counts = dict[Symbol, Poly](), dict[Symbol, Poly](), len(own) == 1
    for symbol, extent in own:
        growth = step_of(index, symbol)
        steps = (*inside, ge(extent - 1 - atom(symbol)))
        way = next((way for way in (1, -1) if _is_small(way * growth, steps)), None)
        if way is None:
            return None
        first[symbol], last[symbol] = (ONE, extent)[::way]
        # a step just before the first value gives an empty range the count 0
        before = substitute(index, {symbol: ONE}) - substitute(index, {symbol: ZERO})
        none_counts = none_counts and prove(eq(before - way), analysis.granted) is True
    empty = [extent for _, extent in own if not is_nonnegative(extent - 1, analysis.facts)]
    if not none_counts and not all(analysis.assume_nonempty(extent, len(empty)) for extent in empty):
        return None
    low = substitute(index, first)
    count = at_least_none(substitute(index, last) - low + 1, analysis)
    is_whole = dimension is not None and is_nonnegative(count - dimension, analysis.granted)
    return IndexValues(low, 1, dimension if dimension is not None and is_whole else count)


def _unit_slope_values(
    index: Poly, own: tuple[Symbol, Poly], dimension: Poly, analysis: ReadAnalysis
) -> IndexValues | None:
    """Return all values of a dimension, if the index has slope 1 or -1 along it, whatever it does elsewhere.

    The straight part may start where a clip is 0, or where a quotient becomes 0 or 1.
    """
    symbol, extent = own
    bends = [g for g in generators_in(index) if isinstance(g, Floor | Relu)]
    turns = [g.p for g in bends] + [g.p - g.q for g in bends if isinstance(g, Floor)]
    starts = [ONE, *(found[1] for p in turns if (found := bound_of(Ge(p), symbol)) is not None)]
    new = coordinate(symbol.name, dimension)
    for start in (start for start in starts if all(s.kind != "coord" for s in start.free)):
        if _is_in(start, extent - dimension + 1, analysis.granted):
            there = _without_quotients(substitute(index, {symbol: new + start - 1}), analysis.granted)
            if there in (new, dimension + 1 - new):
                return IndexValues(ONE, 1, dimension)
    return None


def _without_quotients(form: Poly, facts: tuple[Cond, ...]) -> Poly:
    """Replace quotients that are 0, then simplify the clips that this decides."""
    for floor in generators_in(form):
        if isinstance(floor, Floor) and _is_in(floor.p + 1, floor.q, facts):
            return _without_quotients(replace_generator(form, floor, ZERO), facts)
    return simplify(form, facts)


def _is_in(at: Poly, extent: Poly, facts: tuple[Cond, ...]) -> bool:
    return is_nonnegative(at - 1, facts) and is_nonnegative(extent - at, facts)


def at_least_none(count: Poly, analysis: ReadAnalysis) -> Poly:
    """Return a number of elements, clipped at 0 unless it is proved nonnegative."""
    return count if is_nonnegative(count, analysis.granted) else relu(count)


def _is_small(growth: Poly, facts: tuple[Cond, ...]) -> bool:
    return is_nonnegative(growth, facts) and is_nonnegative(1 - growth, facts)


def bound_of(guard: Cond, symbol: Symbol) -> tuple[int, Poly] | None:
    """Return the bound that a guard sets for a coordinate: 1 and the lower bound, or -1 and the upper bound.

    The result is None for any other guard.
    """
    parts = affine_parts(guard.p, symbol) if isinstance(guard, Ge | Eq) else None
    way = None if parts is None else parts[0].constant
    if not isinstance(guard, Ge | Eq) or way is None or abs(way) != 1:
        return None
    return way, atom(symbol) - way * guard.p
