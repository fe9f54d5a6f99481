"""Proofs without a search: a linear goal with every symbol at that end of its range where it is least."""

from __future__ import annotations

from tolcost.algebra.poly import Poly
from tolcost.algebra.symbols import Generator, Relu, Symbol

_MOST_CLIPS = 3
"""Each is two cases, so these are few."""

Exponents = dict[Generator, int]


def holds_at_ends(goal: Poly) -> bool:
    """Whether a goal is seen to be above -1 at the ends of all ranges; most that always hold are.

    Symbols are replaced from the innermost out, so that what bounds one may cancel against the rest.  What a
    range without values says is true of all of them, so it need not be known that there is one.

    >>> from tolcost.algebra.poly import coordinate, length
    >>> n = length("n"); i = coordinate("i", n); j = coordinate("j", n - i)
    >>> holds_at_ends(n - i - j), holds_at_ends(n - i - j - 1)
    (True, False)
    """
    factors: Exponents = {}
    number = _added(factors, goal, 1)
    return number is not None and _is_least(factors, number + goal.den - 1, _MOST_CLIPS)


def _is_least(factors: Exponents, number: int, clips: int) -> bool:
    """Whether generators, so many times each, and a number are at least 0 together at the ends."""
    while factors:
        inner = max(factors, key=_depth)
        factor = factors.pop(inner)
        if isinstance(inner, Symbol):
            end = inner.lo if factor > 0 else inner.hi
            more = None if end is None or end.den > 1 else _added(factors, end, factor)
            if more is None:
                return False
            number += more
        elif isinstance(inner, Relu) and clips:
            return _is_least_of_clip(inner, factor, factors, number, clips - 1)
        else:
            return False
    return number >= 0


def _is_least_of_clip(clip: Relu, factor: int, factors: Exponents, number: int, clips: int) -> bool:
    """The same with a clip, which is the larger of 0 and its argument: above both, and one of them."""
    idle = _is_least(dict(factors), number, clips)
    if idle == (factor > 0):
        return idle
    more = _added(factors, clip.p, factor) if clip.p.den == 1 else None
    return more is not None and _is_least(factors, number + more, clips)


def _added(factors: Exponents, p: Poly, times: int) -> int | None:
    """Add the generators of a polynomial, so many times each; give its number, None if it has products."""
    number = 0
    for mono, coef in p.terms.items():
        if not mono:
            number = coef * times
        elif len(mono) > 1:
            return None
        else:
            factors[mono[0]] = factors.get(mono[0], 0) + coef * times
            if not factors[mono[0]]:
                del factors[mono[0]]
    return number


def _depth(generator: Generator) -> float:
    """How far inside a generator stands: what bounds it, or it is made of, is further out."""
    if isinstance(generator, Symbol):
        return generator.depth
    return max([symbol.depth for symbol in generator.free], default=0) + 0.5
