"""How many turns a loop takes, by a condition that depends on the turn: for how many of them it holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from tolcost.algebra import (
    LARGEST_LENGTH,
    TRUE,
    And,
    Cond,
    Eq,
    Ge,
    Not,
    Poly,
    Relu,
    Symbol,
    atom,
    const,
    evaluate_cond,
    floordiv,
    ge,
    indicator,
    maximum,
    minimum,
    prove,
    substitute,
    symbols_of_cond,
    the_symbol,
)
from tolcost.elaborate.values import Cast, Vec
from tolcost.models.counters import TURN, Turning, truth_in
from tolcost.models.known import Known
from tolcost.models.lowering import Given

MOST_TRIED = 20_000
"""So many turns are tried one by one, where the condition has no simple form."""

NO_END = "no end"
"""What is said of a condition that holds at every turn."""

Turns = Poly | str | None
"""A number of turns, ``NO_END``, or nothing that could be told."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a loop ends: after ``most`` turns, if it starts; where not ``certain``, data may end it before.

    ``turns`` are those it takes, where that is known.
    """

    most: Poly
    certain: bool
    turns: Poly | None = None


def ending_of(found: Turning, given: Given) -> Ending | None:
    """How a loop ends, where its condition tells; None where only its limit, or data, does."""
    held = None if found.condition is None else leading(found.condition, the_symbol(TURN))
    limit = _limit(given.inputs[0])
    if held is None or limit is None or held == limit == NO_END:
        return None
    most = _first_to_end([limit, held + 1 if isinstance(held, Poly) else held])
    assert isinstance(most, Poly)
    go = TRUE if given.inputs[1] is None else truth_in(given.inputs[1])
    turns = most * indicator(go) if found.whole and go is not None else None
    return Ending(most, found.whole, turns)


def _limit(known: Known | None) -> Turns:
    """The limit that a loop has before it looks at its condition."""
    inner = known.value if isinstance(known, Cast) else known
    if isinstance(inner, Vec) and len(inner.items) == 1:
        inner = inner.items[0]
    if inner is None:
        return NO_END
    if not isinstance(inner, Poly):
        return None
    return NO_END if (inner.constant or 0) >= LARGEST_LENGTH - 1 else maximum(inner, const(0))


def leading(condition: Cond, turn: Symbol) -> Turns:
    """At how many turns, from turn 0 on, a condition holds before it fails for the first time.

    >>> from tolcost.algebra import data_symbol, length, the_symbol
    >>> k = data_symbol("k", 0, 100)
    >>> leading(ge(length("n") - 1 - 2 * k), the_symbol(k))
    floor((n + 1)/2)
    """
    match condition:
        case Ge(p=p):
            found = _while_positive(p, turn)
            return _one_by_one(condition, turn) if found is None else found
        case And(parts=parts):
            return _first_to_end([leading(part, turn) for part in parts])
        case Not(part=Eq(p=p)) if (compared := _comparison(p)) is not None:
            return leading(compared, turn)
        case _ if prove(condition) is True:
            return NO_END
        case _:
            return _one_by_one(condition, turn)


def _comparison(p: Poly) -> Cond | None:
    """The comparison that ``p`` is 1 or 0 by, where it is a truth that was made a number."""
    clips = {part.p for mono in p.terms for part in mono if isinstance(part, Relu)}
    tried = (ge(q) for clip in clips for q in (clip, clip - 1, -clip, -clip - 1))
    return next((c for c in tried if indicator(c) in (p, -p)), None)


def _first_to_end(found: list[Turns]) -> Turns:
    if any(turns is None for turns in found):
        return None
    ends = [turns for turns in found if isinstance(turns, Poly)]
    return reduce(minimum, ends) if ends else NO_END


def _while_positive(p: Poly, turn: Symbol) -> Turns:
    """The same of ``p >= 0``, where p changes by the same number each turn."""
    at_first = substitute(p, {turn: const(0)})
    change = substitute(p, {turn: const(1)}) - at_first
    slope = change.constant
    if slope is None or p != at_first + change * atom(turn):
        return None
    if slope < 0:
        return maximum(floordiv(at_first, const(-slope)) + 1, const(0))
    match prove(ge(at_first)):
        case True:
            return NO_END
        case False:
            return const(0)
        case _:
            return None


def _one_by_one(condition: Cond, turn: Symbol) -> Turns:
    """The same of a condition on nothing but the turn."""
    if not symbols_of_cond(condition) <= {turn}:
        return None
    failed = (k for k in range(MOST_TRIED) if not evaluate_cond(condition, {turn: k}))
    return next(map(const, failed), None)
