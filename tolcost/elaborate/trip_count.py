"""How many turns a loop takes: for how many of them the condition that each turn gives holds.

A turn is a step of a fold whose accumulator starts with a condition.  Where the condition is known at every
turn (its other values are, by induction), the algebra tells when it fails for the first time.
"""

from __future__ import annotations

from functools import reduce

from msgspec import Struct, field

from tolcost.algebra import (
    FALSE,
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
    Truth,
    atom,
    const,
    data_symbol,
    evaluate_cond,
    floordiv,
    ge,
    indicator,
    maximum,
    minimum,
    prove,
    substitute,
    substitute_cond,
    symbols_of_cond,
    the_symbol,
)
from tolcost.diagnostics import Rejected
from tolcost.elaborate.induction import as_list, components, follow
from tolcost.elaborate.maps import WrappedStep, fresh
from tolcost.elaborate.reduce import written_fold
from tolcost.elaborate.values import Env, NeedsUnrolling, Pieces, Seq, Unknown, Value, Vec, fail, form, plain
from tolcost.syntax import tree

MOST_TAKEN = 512
"""So many turns are taken one by one, where nothing follows from one for the next."""

MOST_TRIED = 20_000
"""So many turns are tried one by one, where the condition has no simple form."""

NO_LIMIT = LARGEST_LENGTH - 1
"""A loop that may take so many turns has no limit."""


NO_END = "no end"
"""What is said of a condition that holds at every turn."""

Turns = Poly | str | None
"""A number of turns, ``NO_END``, or nothing that could be told."""

TURN = data_symbol("turn", 0, LARGEST_LENGTH)
"""How many turns came before one that may be any."""


@form("trips")
def trips_form(env: Env, expr: tree.Call) -> Value:
    """``trips(t, f, init, iter)``: how many turns a loop takes, and whether it takes exactly so many.

    A turn is written as a step of ``reduce``; the first entry of ``init``, and of what a turn gives, says
    whether there is a next one.
    """
    step, start, shape = written_fold(env, expr)
    if not isinstance(start, Seq) or not start.items or len(shape) != 1:
        message = "`trips` needs a vector, and a sequence that starts with a condition"
        hint = "`trips(tol[n], (s, z) => seq(s[2] > 1, s[2] / 2), seq(1, n))` halves n, n times at the most"
        fail("T0403", message, expr.span, hint=hint)
    go, held = truth(start.items[0]), Held(None, certain=False)
    if shape[0] != const(0) and go is not FALSE:
        held = _held(env, _Turn(step, start.items[0]), start.items[1:], shape)
    turns, exact = _turns(env, shape[0], held)
    if go is None:
        is_open = any(symbol.kind == "data" for symbol in turns.free)
        return Pieces((turns, TRUE if exact and is_open else FALSE))
    return Pieces((turns * indicator(go), TRUE if exact else FALSE))


class Held(Struct, frozen=True):
    """At how many turns the condition holds; where that is not ``certain``, it may fail before."""

    turns: Turns
    certain: bool


def _turns(env: Env, limit: Poly, held: Held) -> tuple[Poly, bool]:
    """How many turns are taken, and whether exactly so many: what nothing limits is a symbol."""
    number = limit.constant
    endless = number is not None and number >= NO_LIMIT
    if isinstance(held.turns, Poly):
        most = held.turns + 1
        return (most if endless else minimum(limit, most)), held.certain
    if held.turns == NO_END and held.certain and not endless:
        return limit, True
    if number is not None and not endless and not held.certain:
        return limit, False
    most = const(LARGEST_LENGTH) if endless else limit
    name = env.context.own_name(f"{env.context.title or 'loop'}_turns")
    return data_symbol(name, 0, most, "turns", "turns"), True


# ---- the condition after a turn that may be any -----------------------------------------------


class _Turn(WrappedStep, frozen=True):
    """A turn of a loop, seen as a step on what it carries; ``said`` is the condition it gave last."""

    go: Value
    said: list[Value] = field(default_factory=list)

    def at(self, env: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        """What the loop carries after a turn."""
        parts = components(accumulator)
        result = self.step.at(env, Seq((self.go, *parts)), at)
        if not isinstance(result, Seq) or len(result.items) <= len(parts):
            fail("T0403", "a turn gives a condition, and what the loop carries", self.span)
        self.said[:] = result.items[:1]
        return as_list(result.items[1 : len(parts) + 1])


def _held(env: Env, turn: _Turn, start: tuple[Value, ...], shape: tuple[Poly, ...]) -> Held:
    """At how many turns the condition holds, as far as it follows from what is known at every turn."""
    coords, inner = fresh(env, turn.pattern, shape)
    with env.context.attempt(inner.scope):
        try:
            follow(inner, turn, start, shape, coords)
        except (Rejected, NeedsUnrolling):
            return _turn_by_turn(inner, turn, start, shape[0])
    condition, certain = _necessary(turn.said[0])
    now = substitute_cond(condition, {the_symbol(coords[0]): TURN + 1})
    return Held(leading(now, the_symbol(TURN)), certain)


def _turn_by_turn(env: Env, turn: _Turn, carried: tuple[Value, ...], limit: Poly) -> Held:
    """The same where nothing follows from one turn for the next, but every turn is a matter of numbers."""
    last = LARGEST_LENGTH if limit.constant is None else limit.constant
    try:
        for done in range(min(last, MOST_TAKEN)):
            carried = components(turn.at(env, as_list(carried), (const(done + 1),)))
            match truth(turn.said[0]):
                case Truth(value=True):
                    continue
                case Truth():
                    return Held(const(done), certain=True)
                case _:
                    return Held(None, certain=False)
    except (Rejected, NeedsUnrolling):
        return Held(None, certain=False)
    return Held(NO_END, certain=True) if last <= MOST_TAKEN else Held(None, certain=False)


def _necessary(value: Value) -> tuple[Cond, bool]:
    """A condition without which a value does not hold, and whether that is all of it."""
    if isinstance(value, Unknown):
        ends = value.otherwise is not None and truth(value.otherwise) is FALSE
        return (value.needs if ends else TRUE), False
    known = truth(value)
    return (TRUE, False) if known is None else (known, True)


def truth(value: Value) -> Cond | None:
    """The condition that a value of one entry is; None where only data decides."""
    inner = plain(value)
    if isinstance(inner, Vec) and len(inner.items) == 1:
        inner = plain(inner.items[0])
    return inner if isinstance(inner, Cond) else None


# ---- when a condition fails for the first time ------------------------------------------------


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
