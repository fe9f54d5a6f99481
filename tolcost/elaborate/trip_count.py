"""Trip counts: the number of iterations of a loop whose step computes the condition of the next iteration.

An iteration ("turn") is a step of a fold whose accumulator starts with a condition. If the condition is known
at every turn (because the other loop-carried values are, by induction), the algebra finds the turn at which
it first fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from itertools import compress, islice

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.algebra import (
    FALSE,
    LARGEST_LENGTH,
    TRUE,
    And,
    Cond,
    Eq,
    Floor,
    Ge,
    Not,
    Poly,
    Relu,
    Symbol,
    Truth,
    atom,
    ceil_log2,
    conj,
    const,
    data_symbol,
    evaluate_cond,
    exact_div,
    floordiv,
    ge,
    indicator,
    maximum,
    minimum,
    only_symbol,
    powers,
    prove,
    substitute,
    substitute_cond,
    symbols_of_cond,
    the_symbol,
)
from tolcost.atoms.kit import inner_nodes, is_ref, reached
from tolcost.atoms.nodes import Block, Component, Convert, Fold, Lambda, Node, Number, Pack, Ref, Var
from tolcost.diagnostics import Rejected, Span
from tolcost.elaborate.again import restrict_to_components
from tolcost.elaborate.environment import Env, Scope, bind_data, form
from tolcost.elaborate.faults import NeedsUnrolling, fail
from tolcost.elaborate.induction import as_list, components, elaborate_any_step
from tolcost.elaborate.lists import fold_list
from tolcost.elaborate.maps import Step, WrappedStep, fresh_coordinates
from tolcost.elaborate.reduce import written_fold
from tolcost.elaborate.shapes import capacity, pick_component
from tolcost.elaborate.values import Seq, Unknown, Value, ValueList, Vec, is_data, is_static, plain
from tolcost.syntax import tree

MOST_TAKEN = 512
"""The most turns that are elaborated one by one, if no induction over the turns succeeds."""

MOST_TRIED = 20_000
"""The most turns at which a condition without a simple form is evaluated one by one."""

NO_LIMIT = LARGEST_LENGTH - 1
"""The limit from which on a loop counts as unlimited."""


_MOST_EARLY = 64
"""The most doublings before the first turn that are looked for."""

NO_END = "no end"
"""The result for a condition that holds at every turn."""

Turns = Poly | str | None
"""A number of turns, ``NO_END``, or None if it is unknown."""

TURN = data_symbol("turn", 0, LARGEST_LENGTH)
"""The number of turns before an arbitrary one."""


@form("trips")
def trips_form(env: Env, expr: tree.Call) -> Value:
    """Evaluate ``trips(t, f, init, iter)``: the trip count of a loop, and whether it is exact.

    A turn is written like a step of ``reduce``; the first entry of ``init``, and of the result of a turn, is
    the condition of the next turn. If data decides the trip count, finding it computes the conditions.
    """
    loop = written_loop(env, expr)
    turns, exact = loop.counted(env, env.context.turns_name)
    symbol = only_symbol(turns)
    if symbol is not None and symbol.kind == "data" and symbol.role == "turns":
        compute_conditions(env.indexing(False), loop, symbol)
    return loop.result(turns, exact)


@form("tripcount")
def tripcount_form(env: Env, expr: tree.Call) -> Value:
    """Evaluate ``tripcount(t, f, init, iter)``: ``trips`` for a loop whose steps compute the condition."""
    loop = written_loop(env, expr)
    return loop.result(*loop.counted(env, lambda: "turns"))


class WrittenLoop(Struct, frozen=True, eq=False):
    """A loop: its turn with the first condition, the loop-carried values, and its limit."""

    turn: _Turn
    carried: tuple[Value, ...]
    shape: tuple[Poly, ...]

    @property
    def go(self) -> Cond | None:
        """The condition of the first turn; None if data decides it."""
        return truth(self.turn.go)

    def counted(
        self, env: Env, name: Callable[[], str], falls: Callable[[], Poly | None] = lambda: None
    ) -> tuple[Poly, bool]:
        """Return the trip count, given that the first turn is taken, and whether it is exact.

        ``name`` names a trip count that data decides, and ``falls`` gives a bound of it, by a measure.
        """
        held = HeldTurns(None, certain=False)
        if self.shape[0] != const(0) and self.go is not FALSE:
            held = _count_held_turns(env, self.turn, self.carried, self.shape)
        return _trip_count(env, self.shape[0], held, name, falls)

    def in_all(self, env: Env) -> Poly | None:
        """Return how many turns there are, if the first condition is one of those that follow."""
        if self.go is None or self.go is FALSE:
            return None
        held = _count_held_turns(env, self.turn, self.carried, self.shape)
        if held.now is None or not held.certain:
            return None
        turn = the_symbol(TURN)
        before = substitute_cond(held.now, {turn: TURN - 1})
        if substitute_cond(before, {turn: const(0)}) != self.go:
            return None
        turns = count_leading_turns(before, turn)
        return minimum(self.shape[0], turns) if isinstance(turns, Poly) else None

    def fold(self, env: Env, turns: Poly) -> Value:
        """Bind the fold of so many turns; return a list, the condition and what the loop carries."""
        turn = self.turn

        def take(here: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
            go, *parts = components(accumulator)
            carried = turn.from_condition(here, go, parts, at)
            return as_list((*turn.said, *components(carried)))

        step, start = turn.wrapped(take), (turn.go, *self.carried)
        try:
            return bind_data(env, fold_list(env, step, start, (turns,), maybe_static=True))
        except NeedsUnrolling:
            tables = env.building(env.scope.same(tables=True))
            return bind_data(env, fold_list(tables, step, start, (turns,), maybe_static=True))

    def result(self, turns: Poly, exact: bool) -> Value:
        """Return the list that is the value of the form."""
        if self.go is None:
            is_open = any(symbol.kind == "data" for symbol in turns.free)
            return ValueList((turns, TRUE if exact and is_open else FALSE))
        return ValueList((turns * indicator(self.go), TRUE if exact else FALSE))


def written_loop(env: Env, expr: tree.Call) -> WrittenLoop:
    """Return the loop that the arguments of ``trips`` describe."""
    step, start, shape = written_fold(env, expr)
    if not isinstance(start, Seq) or not start.items or len(shape) != 1:
        message = "`trips` needs a vector, and a sequence that starts with a condition"
        hint = "`trips(tol[n], (s, z) => seq(s[2] > 1, s[2] / 2), seq(1, n))` halves n, n times at the most"
        fail("T0403", message, expr.span, hint=hint)
    go, *carried = start.items
    sizes = tuple(map(capacity, carried))
    return WrittenLoop(_Turn(step, go, sizes), _components_of(env, carried, sizes, expr.span), shape)


def _components_of(env: Env, items: Sequence[Value], sizes: Sequence[int], span: Span) -> tuple[Value, ...]:
    """Split lists into components, so that each can be known or not by itself."""
    return tuple(
        value
        for item, size in zip(items, sizes, strict=True)
        for value in ([item] if size == 1 else [pick_component(env, item, j + 1, span) for j in range(size)])
    )


class HeldTurns(Struct, frozen=True):
    """The number of turns at which the condition holds.

    If it is not ``certain``, the condition may fail before. ``now`` is the condition after ``TURN`` turns, if
    there is one formula for all.
    """

    turns: Turns
    certain: bool
    now: Cond | None = None
    most: Poly | None = None
    """The most turns at which a condition on data may hold, because a part of it is known at every turn."""


def _trip_count(
    env: Env, limit: Poly, held: HeldTurns, name: Callable[[], str], falls: Callable[[], Poly | None]
) -> tuple[Poly, bool]:
    """Return the trip count, and whether it is exact; a trip count that data decides is a symbol."""
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
    if held.most is not None:
        most = held.most + 1 if endless else minimum(limit, held.most + 1)
    fallen = falls()
    if fallen is not None:
        most = fallen if endless and held.most is None else minimum(most, fallen)
    base = name()
    full = env.context.own_name(f"{env.context.title or 'loop'}_{base}")
    return data_symbol(full, 0, most, "turns", base), True


# ---- the work of finding the trip count --------------------------------------------------------


def compute_conditions(env: Env, loop: WrittenLoop, turns: Symbol) -> None:
    """Bind the fold that computes the conditions of a loop whose trip count data decides.

    It contains only the loop-carried values that the conditions depend on. Static conditions are no work.
    """
    span = loop.turn.step.span
    condition = pick_component(env, loop.fold(env, atom(turns)), 1, span)
    if not is_static(condition):
        env.scope.bind(_restrict_to_condition(fold_of(env, condition, span), turns))


def fold_of(env: Env, condition: Value, span: Span) -> Fold:
    """Return the fold whose first component a value is."""
    node = condition.node if is_data(condition) else None
    while node is not None and not isinstance(node, Fold):
        match node:
            case Component(value=value, j=1):
                node = value
            case Ref(var=var):
                node = env.scope.named(var)
            case _:
                node = None
    if node is None:
        fail("T0403", "the condition of this loop cannot be followed from turn to turn", span)
    return node


def _restrict_to_condition(fold: Fold, turns: Symbol) -> Fold:
    """Restrict a fold to the components that its first component, the condition, depends on."""
    body, var = fold.body, fold.accumulator
    items = body.result.items if isinstance(body.result, Pack) else ()
    if len(items) != len(fold.type):
        return replace(fold, ends=turns)
    needed = set(reached([1], lambda j: _components_read(items[j - 1], body, var)))
    chosen = tuple(j in needed for j in range(1, len(items) + 1))
    if all(chosen):
        return replace(fold, ends=turns)
    start, alone, inside = restrict_to_components(fold.start, var, body, chosen)
    kind = tuple(compress(fold.type, chosen))
    return replace(fold, ends=turns, accumulator=alone, start=start, body=inside, type=kind)


def _components_read(node: Node, body: Block, accumulator: Var) -> list[int]:
    """Return the components of an accumulator that a value depends on.

    These are all of them if the accumulator is read as a whole.
    """
    nodes = list(inner_nodes((node,), dict(body.bindings)))
    parts = [one for one in nodes if isinstance(one, Component) and is_ref(one.value, accumulator)]
    whole = len({part.value for part in parts}) < len({one for one in nodes if is_ref(one, accumulator)})
    return [*range(1, len(accumulator.type) + 1)] if whole else [part.j for part in parts]


# ---- the condition after an arbitrary turn -----------------------------------------------------


class _Turn(Struct, frozen=True, eq=False):
    """A turn of a loop; ``said`` is the condition that it computed last."""

    step: Step
    go: Value
    sizes: tuple[int, ...]
    """The number of components of each loop-carried value: a list is carried component by component."""
    said: list[Value] = field(default_factory=list)

    def wrapped(self, at: Callable[[Env, Value, tuple[Value, ...]], Value]) -> Step:
        """Return a step that takes this turn."""
        return WrappedStep(at, self.step.pattern, self.step.span)

    def at(self, env: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        """Return the loop-carried values after a turn, given the first condition."""
        return self.from_condition(env, self.go, components(accumulator), at)

    def from_condition(self, env: Env, go: Value, parts: Iterable[Value], at: tuple[Value, ...]) -> Value:
        """Return the loop-carried values after a turn, given its condition."""
        left = iter(parts)
        carried = [next(left) if size == 1 else ValueList(tuple(islice(left, size))) for size in self.sizes]
        result = self.step.at(env, Seq((go, *carried)), at)
        if not isinstance(result, Seq) or len(result.items) <= len(carried):
            fail("T0403", "a turn gives a condition, and what the loop carries", self.step.span)
        self.said[:] = result.items[:1]
        return as_list(_components_of(env, result.items[1 : len(carried) + 1], self.sizes, self.step.span))


def _count_held_turns(env: Env, turn: _Turn, start: tuple[Value, ...], shape: tuple[Poly, ...]) -> HeldTurns:
    """Find out at how many turns the condition holds, from what induction shows about every turn."""
    coords, inner = fresh_coordinates(env, turn.step.pattern, shape)
    open_end = inner.building(inner.scope.same(checked=False))  # of turns that may never be taken
    with env.context.notes.attempt(inner.scope):
        try:
            elaborate_any_step(open_end, turn.wrapped(turn.at), start, shape, coords)
        except (Rejected, NeedsUnrolling):
            return _count_turn_by_turn(inner, turn, start, shape[0])
    condition, certain = _necessary_condition(turn.said[0])
    if is_data(turn.said[0]):
        condition = conj(*_known_parts(open_end.scope, turn.said[0].node))
    now = substitute_cond(condition, {the_symbol(coords[0]): TURN + 1})
    turns = count_leading_turns(now, the_symbol(TURN))
    if is_data(turn.said[0]):
        return HeldTurns(None, certain=False, most=turns if isinstance(turns, Poly) else None)
    return HeldTurns(turns, certain, now)


def _count_turn_by_turn(env: Env, turn: _Turn, carried: tuple[Value, ...], limit: Poly) -> HeldTurns:
    """Find out at how many turns the condition holds by running turns whose values are numbers."""
    last = LARGEST_LENGTH if limit.constant is None else limit.constant
    try:
        for done in range(min(last, MOST_TAKEN)):
            carried = components(turn.at(env, as_list(carried), (const(done + 1),)))
            match truth(turn.said[0]):
                case Truth(value=True):
                    continue
                case Truth():
                    return HeldTurns(const(done), certain=True)
                case _:
                    return HeldTurns(None, certain=False)
    except (Rejected, NeedsUnrolling):
        return HeldTurns(None, certain=False)
    return HeldTurns(NO_END, certain=True) if last <= MOST_TAKEN else HeldTurns(None, certain=False)


def _necessary_condition(value: Value) -> tuple[Cond, bool]:
    """Return a condition that is necessary for a value to be true, and whether it is also sufficient."""
    if isinstance(value, Unknown):
        ends = value.otherwise is not None and truth(value.otherwise) is FALSE
        return (value.needs if ends else TRUE), False
    known = truth(value)
    return (TRUE, False) if known is None else (known, True)


def _known_parts(scope: Scope, node: Node) -> Iterator[Cond]:
    """Yield the conditions without data of which each is necessary for a truth value that is data."""
    pending: list[Node | None] = [node]
    while pending:
        match pending.pop():
            case Ref(var=var):
                pending.append(scope.named(var))
            case Convert(value=value) | Component(value=Pack(items=(value,))):
                pending.append(value)
            case Lambda(function="and", args=args):
                pending.extend(args)
            case Number(value=known) if isinstance(known, Cond):
                yield known
            case _:
                pass


def truth(value: Value) -> Cond | None:
    """Return the condition that a value of one entry is; None if data decides it."""
    inner = plain(value)
    if isinstance(inner, Vec) and len(inner.items) == 1:
        inner = plain(inner.items[0])
    return inner if isinstance(inner, Cond) else None


# ---- the first turn at which a condition fails -------------------------------------------------


def count_leading_turns(condition: Cond, turn: Symbol) -> Turns:
    """Return at how many turns, from turn 0 on, a condition holds before it first fails.

    >>> from tolcost.algebra import data_symbol, length, the_symbol
    >>> k = data_symbol("k", 0, 100)
    >>> count_leading_turns(ge(length("n") - 1 - 2 * k), the_symbol(k))
    floor((n + 1)/2)
    """
    match condition:
        case Ge(p=p):
            p = _without_quotient(p, turn)
            found = _count_while_nonnegative(p, turn)
            found = _count_while_a_power_fits(p, turn) if found is None else found
            return _count_by_trial(condition, turn) if found is None else found
        case And(parts=parts):
            return _earliest_end([count_leading_turns(part, turn) for part in parts])
        case Not(part=Eq(p=p)) if (compared := _comparison(p)) is not None:
            return count_leading_turns(compared, turn)
        case _ if prove(condition) is True:
            return NO_END
        case _:
            return _count_by_trial(condition, turn)


def _comparison(p: Poly) -> Cond | None:
    """Return the comparison whose truth value, converted to a number, is ``p``."""
    clips = {part.p for mono in p.terms for part in mono if isinstance(part, Relu)}
    tried = (ge(q) for clip in clips for q in (clip, clip - 1, -clip, -clip - 1))
    return next((c for c in tried if indicator(c) in (p, -p)), None)


def _earliest_end(found: list[Turns]) -> Turns:
    if any(turns is None for turns in found):
        return None
    ends = [turns for turns in found if isinstance(turns, Poly)]
    return reduce(minimum, ends) if ends else NO_END


def _count_while_nonnegative(p: Poly, turn: Symbol) -> Turns:
    """Return at how many turns ``p >= 0`` holds, if p changes by a constant with each turn."""
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


def _without_quotient(p: Poly, turn: Symbol) -> Poly:
    """Return what is at least 0 just when p is, if p is a quotient rounded down less a form."""
    quotients = [
        part for mono in p.terms for part in mono if isinstance(part, Floor) and turn in atom(part).free
    ]
    if len(quotients) != 1:
        return p
    (quotient,) = quotients
    least = atom(quotient) - p
    if turn in least.free:
        return p
    return quotient.p - least * quotient.q


def _count_while_a_power_fits(p: Poly, turn: Symbol) -> Turns:
    """Return at how many turns ``p >= 0`` holds, if p is a form less a form that grows by a power of 2.

    >>> from tolcost.algebra import data_symbol, length, powers, the_symbol
    >>> k = data_symbol("k", 0, 100)
    >>> _count_while_a_power_fits(length("n") - 3 * powers(2, k), the_symbol(k))
    ceiling(log(floor(n/3) + 1, 2))
    >>> _count_while_a_power_fits(length("n") - 1 - powers(4, k), the_symbol(k))
    floor((ceiling(log(n, 2)) + 1)/2)
    """
    first, second, third = (substitute(p, {turn: const(k)}) for k in range(3))
    factor = exact_div(third - second, second - first) if first != second else None
    number = 0 if factor is None or factor.constant is None else factor.constant
    doublings = number.bit_length() - 1
    if number < 2 or number != 2**doublings:
        return None
    grown = exact_div(first - second, const(number - 1))
    if grown is None or prove(ge(grown - 1)) is not True:
        return None
    limit = first + grown
    if p != limit - grown * powers(number, atom(turn)):
        return None
    odd, early = grown, 0  # a factor 2^early is as many doublings that were made before
    while (half := exact_div(odd, const(2))) is not None and early < _MOST_EARLY:
        odd, early = half, early + 1
    fits = maximum(floordiv(limit, odd) + 1, const(1))
    return floordiv(maximum(ceil_log2(fits) - early, const(0)) + doublings - 1, const(doublings))


def _count_by_trial(condition: Cond, turn: Symbol) -> Turns:
    """Return at how many turns a condition on the turn alone holds, by evaluating it turn by turn."""
    if not symbols_of_cond(condition) <= {turn}:
        return None
    failed = (k for k in range(MOST_TRIED) if not evaluate_cond(condition, {turn: k}))
    return next(map(const, failed), None)
