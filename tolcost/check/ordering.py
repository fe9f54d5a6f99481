"""Which of two costs is the larger, for all shapes: a proof, shapes that show both, or neither.

Where a proof of the whole difference fails, shapes with one or two large lengths are looked at, and then the
difference is written anew: in its factors, in lengths counted from their least, in both cases of a clip.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from tolcost.algebra import (
    AlgebraBudget,
    Cond,
    Ge,
    NotInteger,
    Poly,
    Symbol,
    atom,
    compare,
    evaluate,
    generators_in,
    is_nonnegative,
    negate,
    prove,
    substitute,
    symbols_of_cond,
    total_of,
)
from tolcost.algebra.compare import ComparisonVerdict
from tolcost.algebra.points import Assignment, hold_at
from tolcost.algebra.poly import Relu, data_symbol
from tolcost.check.matching import Meeting, meetings
from tolcost.check.records import LockEntry
from tolcost.diagnostics import Rejected
from tolcost.result.regions import sign_of, signs_of_one, try_shapes


def ordering(a: Poly, b: Poly, facts: tuple[Cond, ...] = ()) -> ComparisonVerdict:
    """Compare two costs for all shapes.

    >>> from tolcost.algebra import length
    >>> n, m = length("n"), length("m")
    >>> ordering(2 * n * m, n * n + m * m)
    'less_or_equal'
    """
    found = compare(a, b, facts).verdict
    if found != "unknown":
        return found
    gap = b - a
    every = signs_of_one(gap, facts)
    others = any(symbols_of_cond(fact) - gap.free for fact in facts)  # may leave out what shows a sign
    if every is not None and not ({-1, 1} <= every and others):
        return _by_signs(every)
    signs = set(_signs(gap, facts))
    if {-1, 1} <= signs:
        return "crosses"
    if 1 in signs and _never_negative(gap, facts):
        return "less_or_equal"
    return "greater_or_equal" if -1 in signs and _never_negative(-gap, facts) else "unknown"


def _by_signs(every: frozenset[int]) -> ComparisonVerdict:
    """What the signs that a difference takes say."""
    if {-1, 1} <= every:
        return "crosses"
    return "less_or_equal" if 1 in every else "greater_or_equal" if -1 in every else "equal"


def _signs(gap: Poly, facts: Sequence[Cond]) -> Iterator[int]:
    """The signs of a difference at shapes of many kinds."""
    for tried in try_shapes(gap, gap, facts):
        yield _sign(tried.old)
    for point in _skewed(gap, facts):
        try:
            yield _sign(evaluate(gap, point))
        except (AlgebraBudget, NotInteger):
            continue


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _skewed(gap: Poly, facts: Sequence[Cond]) -> Iterator[Assignment]:
    """Shapes at which one or two lengths are large and the others small, or the other way round."""
    start = next(try_shapes(gap, gap, facts), None)
    symbols = sorted(start.point, key=lambda symbol: symbol.name) if start else []
    for low, high in ((1, 1000), (1000, 1), (2, 30), (30, 2)):
        for few in (1, 2):
            for chosen in combinations(symbols, few):
                point = {symbol: high if symbol in chosen else low for symbol in symbols}
                if hold_at(facts, point) and all(_allowed(symbol, point) for symbol in symbols):
                    yield point


def _allowed(symbol: Symbol, point: Assignment) -> bool:
    low = symbol.lo is None or evaluate(symbol.lo, point) <= point[symbol]
    return low and (symbol.hi is None or point[symbol] <= evaluate(symbol.hi, point))


def _never_negative(gap: Poly, facts: tuple[Cond, ...]) -> bool:
    if sign_of(gap, facts) == 1 or is_nonnegative(_from_least(gap, facts)):
        return True
    cases = _cases(gap)
    return bool(cases) and all(_never_negative(case, facts) for case in cases)


def _from_least(gap: Poly, facts: Sequence[Cond]) -> Poly:
    """A difference in lengths counted from their least: where `w >= k - 1`, w is k - 1 and some more."""
    for fact in facts:
        if isinstance(fact, Ge) and not fact.p.height:
            for symbol in sorted(fact.p.free, key=lambda symbol: symbol.name):
                rest = fact.p - atom(symbol)
                if symbol in gap.free and symbol not in rest.free:
                    more = data_symbol(f"{symbol.name}_more", 0, None)
                    gap = substitute(gap, {symbol: more - rest})
                    break
    return gap


def _cases(gap: Poly) -> tuple[Poly, ...]:
    """A difference without its clip of two lengths: where the first is the larger one, and the second."""
    for clip in generators_in(gap):
        if isinstance(clip, Relu) and len(clip.p.free) == 2 and not clip.p.height:
            first, second = sorted(clip.p.free, key=lambda symbol: -clip.p.terms.get((symbol,), 0))
            if clip.p == atom(first) - atom(second):
                more = data_symbol(f"{first.name}_more", 0, None)
                larger = substitute(gap, {first: atom(second) + more})
                return larger, substitute(gap, {second: atom(first) + more})
    return ()


# === Which shapes a program admitted before and admits no longer.
#
# A figure says nothing of the shapes at which a program is refused: one that costs the same, but needs
# longer inputs than before, fails where it did not.


def narrowed(old: LockEntry, new: LockEntry) -> tuple[str, ...]:
    """What a program needs now and did not need before, each in words; nothing where it admits as much."""
    if (old.inputs, old.where) == (new.inputs, new.where):
        return ()
    try:
        return min((tuple(_needs(one)) for one in meetings(old, new)), key=len)
    except (Rejected, AlgebraBudget, RecursionError):  # of which the verdicts tell
        return ()


def _needs(meeting: Meeting) -> Iterator[str]:
    yield from meeting.fixed
    for text, condition in meeting.asked:
        if not prove(condition, meeting.known):
            shape = _refused(condition, meeting.known)
            yield f"it needs {text}" + (
                f": {shape} was right before" if shape else ", for all that is proved"
            )


def _refused(condition: Cond, known: tuple[Cond, ...]) -> str | None:
    """A shape that was admitted and is not any more, if one is found."""
    mentioned = total_of(atom(symbol) for symbol in symbols_of_cond(condition))
    found = next(try_shapes(mentioned, mentioned, (*known, negate(condition))), None)
    return None if found is None else ", ".join(f"{s.name}={value}" for s, value in found.point.items())
