"""Sets of array elements: how many elements the reads of an input take together.

An index takes a set of values that is evenly spaced (``IndexValues`` of ``indices``).  Several indices take a
box, one such set for each dimension, or, where conditions hold at some coordinates only, a part of it.  An
``ElementSet`` is either, at all lengths at once:

    members(s) = the box, where the guards hold                            if s.ranges is empty
                 {at(c) : c in the ranges, where the guards hold at c}     otherwise
    s.count    = the number of members

Each question has a one-sided answer, which holds at all lengths that satisfy the facts:

    a.is_apart(b)          implies that members(a) and members(b) are disjoint
    a.is_inside(b)         implies that members(a) is a subset of members(b)
    drop_inner(sets)       has the same union, of fewer sets
    merge_boxes(sets)      has the same union, of fewer sets
    count_union(sets)      is the size of the union, or None
    cut_box(box, at, ...)  has the values of the indices at which conditions hold, or is None

``tests/cost/test_element_sets.py`` holds each of them to sets that are written out.
"""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import gcd
from operator import add

from msgspec import Struct

from tolcost.algebra import (
    ZERO,
    Cond,
    Ge,
    Monomial,
    Poly,
    atom,
    const,
    contradict,
    coordinate,
    eq,
    evaluate,
    ge,
    is_nonnegative,
    negate,
    product_of,
    prove,
    substitute,
    substitute_cond,
    symbols_of_cond,
    total_of,
)
from tolcost.algebra.conditions import asks_coordinates
from tolcost.cost.indices import IndexValues, Ranges, ReadAnalysis, at_least_none

_FEW_SETS = 64
"""Sets that are compared pair by pair; the comparison is quadratic."""
_FEW_TOGETHER = 8
"""Sets up to which one inside another is dropped, or two are merged, since every pair takes proofs."""
_FEW_ELEMENTS = 1 << 14
"""Elements of a set up to which they are enumerated."""


class ElementSet(Struct, frozen=True):
    """Elements of an array of some shape: a box, part of a box, or a set that is not a box."""

    count: Poly
    shape: tuple[Poly, ...]
    box: tuple[IndexValues, ...] | None
    """The values of each index; with ``ranges``, the members are some of these. None where it is no box."""
    at: tuple[Poly, ...] = ()
    """The indices by coordinates: distinct coordinates give distinct elements."""
    guards: frozenset[Cond] = frozenset()
    ranges: Ranges = ()

    @property
    def is_constant(self) -> bool:
        """Whether the box and the guards are the same at all lengths."""
        sides = self.box
        if any(symbol.kind != "coord" for guard in self.guards for symbol in symbols_of_cond(guard)):
            return False
        return sides is not None and all(not (side.first.free | side.count.free) for side in sides)

    def is_apart(self, other: ElementSet) -> bool:
        """Whether no element is in both sets, as far as can be proved."""
        if self.shape != other.shape:
            return False
        if self.at == other.at and any(negate(guard) in other.guards for guard in self.guards):
            return True
        boxes = self.box is not None and other.box is not None and any(map(_are_apart, self.box, other.box))
        return boxes or _never_meet(self, other)

    def is_inside(self, other: ElementSet, facts: tuple[Cond, ...]) -> bool:
        """Whether all elements of this one are in another, as far as can be proved."""
        if self.shape != other.shape or self.box is None or other.box is None:
            return False
        known = (*facts, *(guard for guard in self.guards if not asks_coordinates(guard)))
        # with conditions on coordinates, the other one lacks part of its box
        needed = [guard for guard in other.guards if guard not in known]
        return not any(map(asks_coordinates, needed)) and (
            all(prove(guard, known) for guard in needed)
            and all(_is_within(a, b, known) for a, b in zip(self.box, other.box, strict=True))
        )

    def elements(self) -> set[tuple[int, ...]] | None:
        """Enumerate the elements, if they are known and few."""
        if self.at or self.box is None or not self.is_constant or (self.count.constant or 0) > _FEW_ELEMENTS:
            return None
        ranges = (range(0, evaluate(side.count, {}) * side.step, side.step) for side in self.box)
        firsts = [evaluate(side.first, {}) for side in self.box]
        return {tuple(map(add, firsts, at)) for at in product(*ranges)}


def _never_meet(a: ElementSet, b: ElementSet) -> bool:
    """Whether no coordinates of two sets lead to the same element: the equations contradict the guards."""
    if not a.ranges or not b.ranges:
        return False
    others = {symbol: coordinate(f"{symbol.name} of the other", extent) for symbol, extent in b.ranges}
    places = [(atom(s), e) for s, e in a.ranges]
    places += [(others[s], substitute(e, others)) for s, e in b.ranges]
    within = [ge(form) for at, extent in places for form in (at - 1, extent - at)]
    guards = [*a.guards, *(substitute_cond(guard, others) for guard in b.guards)]
    equal = [eq(one - substitute(other, others)) for one, other in zip(a.at, b.at, strict=False)]
    return contradict((*within, *guards, *equal))


def _are_apart(a: IndexValues, b: IndexValues) -> bool:
    """Whether two indices share no value: one lies beyond the other, or their steps never meet."""
    distance = (a.first - b.first).constant
    if distance is not None and distance % gcd(a.step, b.step):
        return True
    return is_nonnegative(a.first - b.last - 1) or is_nonnegative(b.first - a.last - 1)


def _is_within(a: IndexValues, b: IndexValues, facts: tuple[Cond, ...]) -> bool:
    """Whether all values of one index are values of another."""
    known = (*facts, ge(a.count - 1))
    ends = is_nonnegative(a.first - b.first, known) and is_nonnegative(b.last - a.last, known)
    return a == b or (b.step == 1 and ends)


def drop_inner(sets: list[ElementSet], facts: tuple[Cond, ...]) -> list[ElementSet]:
    """Drop sets that lie inside another."""
    kept: list[ElementSet] = []
    for one in sets if len(sets) <= _FEW_TOGETHER else ():
        if not any(one.is_inside(other, facts) for other in kept):
            kept = [*(other for other in kept if not other.is_inside(one, facts)), one]
    return kept or sets


def merge_boxes(sets: list[ElementSet], facts: tuple[Cond, ...]) -> list[ElementSet]:
    """Merge pairs of boxes that differ in one dimension and touch or overlap there."""
    for one, other in permutations(sets, 2) if len(sets) <= _FEW_TOGETHER else ():
        plain = not one.at and not other.at and one.shape == other.shape
        if plain and one.box is not None and other.box is not None:
            apart = [k for k, (a, b) in enumerate(zip(one.box, other.box, strict=True)) if a != b]
            if len(apart) == 1 and _continues(one.box[apart[0]], other.box[apart[0]], facts):
                a, b = one.box[apart[0]], other.box[apart[0]]
                long = IndexValues(a.first, 1, b.last - a.first + 1)
                box = (*one.box[: apart[0]], long, *one.box[apart[0] + 1 :])
                both = ElementSet(product_of(side.count for side in box), one.shape, box)
                return merge_boxes([both, *(rest for rest in sets if rest not in (one, other))], facts)
    return sets


def _continues(a: IndexValues, b: IndexValues, facts: tuple[Cond, ...]) -> bool:
    """Whether the values of ``b`` begin within ``a`` or just after it, and end no earlier."""
    gaps = (b.first - a.first, a.last + 1 - b.first, b.last - a.last)
    return a.step == b.step == 1 and all(is_nonnegative(gap, facts) for gap in gaps)


def count_union(sets: list[ElementSet]) -> Poly | None:
    """Return how many elements sets have together; None where their overlap is unknown."""
    if len(sets) <= _FEW_SETS and all(a.is_apart(b) for a, b in combinations(sets, 2)):
        return total_of(one.count for one in sets)
    found = [one.elements() for one in sets] if len({one.shape for one in sets}) == 1 else [None]
    known = [elements for elements in found if elements is not None]
    return const(len(set().union(*known))) if len(known) == len(found) else None


def cut_box(
    box: tuple[IndexValues, ...], at: tuple[Poly, ...], guards: list[Cond], analysis: ReadAnalysis
) -> tuple[IndexValues, ...] | None:
    """Return the part of a box where guards hold; None if a guard does not bound one index."""
    sides = list(box)
    for guard in guards:
        p = guard.p if isinstance(guard, Ge) else ZERO
        found = [(k, index, times) for k, index in enumerate(at) if (times := _times(index, p)) is not None]
        if not found or sides[found[0][0]].step != 1:
            return None
        k, index, times = found[0]
        sides[k] = _cut_side(sides[k], p - times * index, times, analysis)
    return tuple(sides)


def _times(index: Poly, p: Poly) -> int | None:
    """Return the factor of an index in a form that mentions coordinates nowhere else."""
    moving = next((mono for mono in index.terms if _moves(mono)), None)
    times, rest = divmod(p.terms.get(moving, 0), index.terms[moving]) if moving is not None else (0, 0)
    left = p - times * index
    return times if times and not rest and not any(map(_moves, left.terms)) else None


def _moves(mono: Monomial) -> bool:
    """Whether a monomial mentions a coordinate."""
    return any(symbol.kind == "coord" for generator in mono for symbol in generator.free)


def _cut_side(side: IndexValues, rest: Poly, times: int, analysis: ReadAnalysis) -> IndexValues:
    """Return the values of an index at which ``times * index + rest`` is nonnegative."""
    bound = rest // abs(times)
    gone = at_least_none(-bound - side.first if times > 0 else side.last - bound, analysis)
    first = side.first + gone if times > 0 else side.first
    return IndexValues(first, 1, at_least_none(side.count - gone, analysis))
