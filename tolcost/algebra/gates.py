"""Sums and products with conditions on lengths alone: clips instead of cases.

Where the value vanishes at the edge of the condition, as a sum over an empty range does, one
clip says it all: ``[p >= 0] * p * q == relu(p) * q``.
"""

from __future__ import annotations

from typing import TypeAlias

from tolcost.algebra.cases import Atoms
from tolcost.algebra.clips import relu
from tolcost.algebra.conditions import Cond, Ge, indicator
from tolcost.algebra.faulhaber import sum_range
from tolcost.algebra.floors import exact_quotient
from tolcost.algebra.intervals import range_of
from tolcost.algebra.poly import ZERO, Monomial, Poly, Terms, multiply, poly, scale, total_of
from tolcost.algebra.prove import is_nonnegative, prove
from tolcost.algebra.symbols import Relu, Symbol

Decided: TypeAlias = dict[tuple[Relu, Relu], bool]
"""Pairs of clips already compared: whether the first is proved to be at most the second."""


def clipped_sum(body: Poly, x: Symbol, lo: Poly, hi: Poly, facts: tuple[Cond, ...]) -> Poly:
    """Sum over a range that may be empty."""
    count = hi - lo + 1
    clipped = relu(count, facts)
    if clipped == count or not clipped.terms:
        return sum_range(body, x, lo, hi) if clipped.terms else ZERO
    if any(x in g.free and g is not x for mono in body.terms for g in mono):
        return sum_range(body, x, lo, lo + clipped - 1)
    per_item = exact_quotient(sum_range(body, x, lo, hi), count)
    if per_item is None:
        return sum_range(body, x, lo, lo + clipped - 1)
    return multiply(clipped, per_item)


def gated(body: Poly, atoms: Atoms, facts: tuple[Cond, ...]) -> Poly:
    """Give the body where all conditions hold, and 0 elsewhere."""
    for a in atoms:
        verdict = prove(a, facts)
        if verdict is False:
            return ZERO
        if verdict is None:
            body = _gate(body, a, facts)
    return body


def _gate(body: Poly, a: Cond, facts: tuple[Cond, ...]) -> Poly:
    if isinstance(a, Ge):
        for edge in (a.p, a.p + 1):
            quotient = exact_quotient(body, edge)
            if quotient is not None:
                return multiply(relu(edge, facts), quotient)
    return multiply(body, indicator(a, facts))


def tidied(p: Poly, facts: tuple[Cond, ...] = ()) -> Poly:
    """Leave at most one of two clips in a product where one decides the other."""
    return _tidied(p, facts, {})


def _tidied(p: Poly, facts: tuple[Cond, ...], decided: Decided) -> Poly:
    kept: Terms = {}
    better = []
    for mono, coef in p.terms.items():
        clips = [(k, g) for k, g in enumerate(mono) if isinstance(g, Relu)]
        found = _uncrowded(mono, clips, facts, decided) if len(clips) > 1 else None
        if found is None:
            kept[mono] = coef
        else:
            better.append(scale(found, coef, p.den))
    if not better:
        return p
    result = total_of((poly(kept, p.den), *better))
    return result if result == p else _tidied(result, facts, decided)


def _uncrowded(
    mono: Monomial, clips: list[tuple[int, Relu]], facts: tuple[Cond, ...], decided: Decided
) -> Poly | None:
    """Rewrite ``relu(a) * relu(b)`` as ``relu(a) * b`` where ``b >= a``: it counts only if a does."""
    for k, small in clips:
        for j, large in clips:
            if j != k and _decides(small, large, facts, decided):
                return multiply(Poly({mono[:j] + mono[j + 1 :]: 1}), large.p)
    return None


def _decides(small: Relu, large: Relu, facts: tuple[Cond, ...], decided: Decided) -> bool:
    """Whether one clip is proved to be never above another; products share few pairs of clips."""
    if (small, large) not in decided:
        decided[small, large] = small is large or _never_above(small, large, facts)
    return decided[small, large]


def _never_above(small: Relu, large: Relu, facts: tuple[Cond, ...]) -> bool:
    if facts or small.free & large.free:
        return is_nonnegative(large.p - small.p, facts)
    most, least = (
        range_of(small.p)[1],
        range_of(large.p)[0],
    )  # of clips that have nothing to do with each other
    return most is not None and least is not None and most <= least
