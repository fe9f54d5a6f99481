"""Counterexamples at a glance: a few fixed points where every symbol has an admissible value.

A goal that fails at one of them needs no search for a proof, and most goals without a proof do.
Finding none says nothing.  The value of a symbol depends on the symbol and the point alone, so it
is kept with the symbol.
"""

from __future__ import annotations

from zlib import crc32

from tolcost.algebra.conditions import And, Cond, Eq, Ge, Not, Or, Truth
from tolcost.algebra.poly import Poly
from tolcost.algebra.symbols import Floor, Generator, Relu, Sum, Symbol, behind, remember_samples

_DEEP = 8
FEW, MANY = 16, 40
"""How many points to look at first, and when more is at stake."""
_AHEAD = 4
"""How many values of a generator are found at a time: most goals fail at one of the first points."""
_MOST_TERMS = 200
"""What is longer than this no search looks at either."""
_SPREADS = (1, 9, 4, 7, 3, 12, 5, 40)
"""How far from its lower bound half of the symbols may be, by point; the others are next to it."""


def refuted(goal: Poly, known: tuple[Poly, ...], points: int = MANY) -> bool:
    """Whether the goal is at most -1 at some point where everything known is at least 0.

    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> refuted(n - 3, ()), refuted(n - 3, (n - 4,)), refuted(n - 1, ())
    (True, False, False)
    """
    if len(goal.terms) > _MOST_TERMS:
        return False
    for index in range(points):
        value = _numerator(goal, index)
        if value is not None and value <= -goal.den and _all_hold(known, index):
            return True
    return False


def undecided(cond: Cond, facts: tuple[Cond, ...]) -> bool:
    """Whether a condition holds at one point and fails at another, facts holding at both.

    >>> from tolcost.algebra.conditions import ge
    >>> from tolcost.algebra.poly import length
    >>> n = length("n")
    >>> undecided(ge(n - 2), ()), undecided(ge(n - 2), (ge(n - 2),))
    (True, False)
    """
    seen: bool | None = None
    for index in range(FEW):
        holds = _truth(cond, index)
        if holds is not None and holds is not seen and all(_truth(fact, index) for fact in facts):
            if seen is not None:
                return True
            seen = holds
    return False


def _truth(cond: Cond, index: int) -> bool | None:
    """Whether a condition holds at one of the points; ``None`` where it has no value."""
    match cond:
        case Truth(value=value):
            return value
        case Ge(p=p) | Eq(p=p):
            top = None if len(p.terms) > _MOST_TERMS else _numerator(p, index)
            return None if top is None else top >= 0 if isinstance(cond, Ge) else top == 0
        case Not(part=part):
            found = _truth(part, index)
            return None if found is None else not found
        case And(parts=parts) | Or(parts=parts):
            found_all = [_truth(part, index) for part in parts]
            if None in found_all:
                return None
            return all(found_all) if isinstance(cond, And) else any(found_all)


def _all_hold(known: tuple[Poly, ...], index: int) -> bool:
    values = (_numerator(fact, index) for fact in known)
    return all(value is not None and value >= 0 for value in values)


def _numerator(p: Poly, index: int) -> int | None:
    """Give ``p * p.den`` at one of the points; ``None`` where it has no value."""
    total = 0
    for mono, coef in p.terms.items():
        for generator in mono:
            samples = generator.samples
            if len(samples) <= index:
                samples = _sampled(generator, index)
            value = samples[index]
            if value is None:
                return None
            coef *= value
        total += coef
    return total


def _sampled(generator: Generator, index: int) -> tuple[int | None, ...]:
    """The values of a generator at the points up to this one, and at a few more."""
    if isinstance(generator, Symbol) and generator.depth > _DEEP:
        for symbol in behind(generator):  # from the outside in, so that no recursion gets deep
            if len(symbol.samples) <= index:
                _sampled(symbol, index)
    known = generator.samples
    ahead = range(len(known), index + _AHEAD)
    samples = (*known, *[_sample(generator, point) for point in ahead])
    remember_samples(generator, samples)
    return samples


def _sample(generator: Generator, index: int) -> int | None:
    match generator:
        case Symbol():
            return _chosen(generator, index)
        case Floor(p=p, q=q):
            top, bottom = _value(p, index), _value(q, index)
            return None if top is None or bottom is None or bottom < 1 else top // bottom
        case Relu(p=p):
            inside = _value(p, index)
            return None if inside is None else max(inside, 0)
        case Sum():
            return None


def _value(p: Poly, index: int) -> int | None:
    top = _numerator(p, index)
    return None if top is None or top % p.den else top // p.den


def _chosen(symbol: Symbol, index: int) -> int | None:
    """Choose a value between the bounds: near the lower one, or the upper one where that is near."""
    low = 0 if symbol.lo is None else _value(symbol.lo, index)
    high = None if symbol.hi is None else _value(symbol.hi, index)
    if low is None or (high is None and symbol.hi is not None) or (high is not None and high < low):
        return None
    noise = crc32(b"%d %d" % (symbol.serial, index), crc32(symbol.name.encode())) >> 3
    spread = _SPREADS[index % len(_SPREADS)] if noise & 2048 else 2
    offset = noise % spread
    if symbol.lo is None:
        offset -= spread // 2
        return offset if high is None else min(offset, high)
    if high is None:
        return low + offset
    return high - offset % (high - low + 1) if noise & 1024 and high - low < 1000 else min(low + offset, high)
