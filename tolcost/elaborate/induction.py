"""Loop-carried values with a known closed form, found by induction over the steps of a fold.

A component of the accumulator may stay as it is, grow by a fixed amount with each step, be multiplied by a
fixed factor, or be divided by a fixed number and rounded down. The guess comes from the first step; a step at
symbolic coordinates then proves it, together with all other guesses about the accumulator. Components found
in this way are not part of the fold: they cost nothing, and may decide lengths.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import prod

from msgspec import Struct, field

from tolcost.algebra import ZERO, Cond, Poly, const, exact_div, floordiv, ge, powers, product_of, prove
from tolcost.atoms.nodes import Component, Node, Ref
from tolcost.diagnostics import NOWHERE, Rejected, Span
from tolcost.elaborate.accumulators import Longer, fold_under_coordinates
from tolcost.elaborate.apply import static_in
from tolcost.elaborate.environment import Env, Scope, bind_data
from tolcost.elaborate.faults import NeedsUnrolling
from tolcost.elaborate.layout import emit, expand, in_spaces
from tolcost.elaborate.maps import Step, WrappedStep, fresh_coordinates, position
from tolcost.elaborate.outlook import guess_growth
from tolcost.elaborate.shapes import facts_here, pick_component, shape_of, space_of
from tolcost.elaborate.shapes import known as numbers_of
from tolcost.elaborate.values import (
    Items,
    NodeValue,
    Unknown,
    Value,
    ValueList,
    Vec,
    View,
    cast_of,
    is_data,
    is_static,
    plain,
    recast,
)
from tolcost.spaces import join_spaces

MOST_ENTRIES = 16
"""The most entries of a component that is followed from step to step."""
_MOST_DIVISOR = 16
"""The largest number by which an entry is tried to be divided at each step."""


class Induction(Struct, frozen=True, eq=False):
    """A component that is known at every step: its start, and the change of each entry per step."""

    start: Value
    changes: tuple[Advance, ...] = ()

    def after(self, steps: Poly) -> Value:
        """Return the component after some steps."""
        if not any(self.changes):
            return self.start
        entries = _known_entries(self.start)
        assert entries is not None
        shape, items = entries
        moved = tuple([_entry_after(i, change, steps) for i, change in zip(items, self.changes, strict=True)])
        return recast(Vec(shape, moved) if shape else moved[0], cast_of(self.start))


class Advance(Struct, frozen=True):
    """The change of an entry per step: a factor, a divisor or an increment; none if it stays the same."""

    factor: int = 1
    more: Poly = ZERO
    divisor: int = 1

    def __bool__(self) -> bool:
        """Whether the entry changes."""
        return self.factor != 1 or self.divisor != 1 or bool(self.more.terms)


def _entry_after(entry: Value, change: Advance, steps: Poly) -> Value:
    """Return an entry after some steps."""
    if not change:
        return entry
    assert isinstance(entry, Poly)
    if change.divisor != 1:
        return floordiv(entry, powers(change.divisor, steps))
    return entry * powers(change.factor, steps) if change.factor != 1 else entry + change.more * steps


class InductionCandidates(Struct, frozen=True, eq=False):
    """Components that may be known at every step, each with its possible inductions, the likeliest first.

    A ``barred`` component is not known: all its inductions have been refuted.
    """

    ways: Mapping[int, tuple[Induction, ...]]
    barred: frozenset[int] = frozenset()

    @property
    def known(self) -> dict[int, Induction]:
        """The current induction of each component."""
        return {j: ways[0] for j, ways in self.ways.items()}

    def without(self, kept: Mapping[int, Induction]) -> InductionCandidates:
        """Return the candidates that remain after a step that confirmed only those in ``kept``."""
        left = {j: ways if j in kept else ways[1:] for j, ways in self.ways.items()}
        found = {j: ways for j, ways in left.items() if ways}
        barred = self.barred | (left.keys() - found.keys())
        return InductionCandidates({**{j: (way,) for j, way in kept.items()}, **found}, barred)


class Refuted(Exception):
    """Some inductions are wrong; those in ``kept`` are not refuted."""

    def __init__(self, kept: dict[int, Induction]) -> None:
        super().__init__()
        self.kept = kept


class InductiveStep(WrappedStep, frozen=True):
    """A step on a list, restricted to the components that are not known at every step."""

    start: Items
    known: Mapping[int, Induction]
    barred: frozenset[int]
    shape: tuple[Poly, ...]
    kept: dict[int, Induction] = field(default_factory=dict)
    """The components that are known after the last step."""

    def at(self, env: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        """Take a step; return the next list of these components."""
        given = iter(components(accumulator))
        done = position(at, self.shape)
        places = range(len(self.start))
        before = tuple(self.known[j].after(done) if j in self.known else next(given) for j in places)
        result = self.step.at(env, as_list(before), at)
        if not self.known and not isinstance(result, ValueList):
            return result
        after = tuple(pick_component(env, result, j + 1, self.span) for j in places)
        self.kept.clear()
        for j in places:
            if j in self.known:
                if _are_equal(env, after[j], self.known[j].after(done + 1)):
                    self.kept[j] = self.known[j]
            elif j not in self.barred and _are_same_data(env.scope, before[j], after[j]):
                self.kept[j] = Induction(self.start[j])
        return as_list(tuple(item for j, item in enumerate(after) if j not in self.known))

    def confirm(self) -> None:
        """Raise ``Refuted`` unless the step confirmed exactly the assumed components."""
        if self.kept.keys() != self.known.keys():
            raise Refuted(dict(self.kept))

    def rest(self) -> Items:
        """Return the starts of the components that are not known."""
        return tuple(item for j, item in enumerate(self.start) if j not in self.known)

    def restored(self, rest: Items, steps: Poly) -> Value:
        """Return the whole list after some steps, given the components that are not known."""
        others = iter(rest)
        places = range(len(self.start))
        return as_list(tuple(self.known[j].after(steps) if j in self.known else next(others) for j in places))


def fold_list(
    env: Env, step: Step, start: Items, shape: tuple[Poly, ...], maybe_static: bool = False
) -> Value:
    """Build the fold of a list; components that are known at every step are not computed."""
    guess = guess_from_first_step(env, step, start, shape)
    if guess.handed_on:  # usually every step copies the components that the first step copies
        given = {**guess.candidates.known, **{j: Induction(start[j]) for j in guess.handed_on}}
        try:
            inductive = InductiveStep(step, start, given, frozenset(), shape)
            return _fold_rest(env, inductive, maybe_static, guess.longer)
        except (Refuted, Rejected):
            pass
    candidates = guess.candidates
    while True:
        inductive = InductiveStep(step, start, candidates.known, candidates.barred, shape)
        try:
            return _fold_rest(env, inductive, maybe_static, guess.longer)
        except Refuted as refuted:
            candidates = candidates.without(refuted.kept)
        except Rejected as refused:
            if not candidates.ways:
                found = _peel(env, step, start, shape, maybe_static)
                if found is None:
                    raise refused
                return found
            candidates = InductionCandidates({}, frozenset(range(len(start))))


def may_be_known(step: Step, start: Items) -> bool:
    """Whether the syntax of a step suggests that some component may be known at every step."""
    seems = guess_growth(step, len(start))
    if seems is None:
        return True
    every = zip(start, *seems, strict=True)
    return any(_is_whole(item) and not data and not longer for item, data, longer in every)


def _is_whole(value: Value) -> bool:
    """Whether a value is a known integer, or a few of them."""
    found = _known_entries(value)
    return found is not None and all(isinstance(entry, Poly) for entry in found[1])


class _LaterStep(WrappedStep, frozen=True):
    """The steps of a fold after its first one."""

    def at(self, env: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        """Take the step at the next coordinate."""
        return self.step.at(env, accumulator, tuple(c + 1 for c in at if isinstance(c, Poly)))


def _peel(env: Env, step: Step, start: Items, shape: tuple[Poly, ...], maybe_static: bool) -> Value | None:
    """Peel off the first step of a fold, if it changes a rank and so differs from the others.

    A component that turns out to be data, or wider, is made so from the start, which changes the first step;
    so it is elaborated again.
    """
    if isinstance(step, _LaterStep) or len(shape) != 1:
        return None
    if prove(ge(shape[0] - 1), facts_here(env)) is not True:
        return None
    inner = env.building(env.scope.inner())
    with env.context.notes.attempt(inner.scope) as trial:
        found = _first_and_rest(inner, step, start, shape[0], maybe_static)
        if found is None:
            return None
        bound = bind_data(inner, found)
        ends = [pick_component(inner, bound, j + 1, step.span) for j in range(len(start))]
        pairs = list(zip(start, ends, strict=True))
        settled = all(is_static(b) or (not is_static(a) and space_of(a) == space_of(b)) for a, b in pairs)
        if settled:
            trial.keep()
    if settled:
        env.scope.absorb(inner.scope)
        return bound
    begin = tuple([a if is_static(b) else _carry_on(env, b, a, step.span) for a, b in pairs])
    return _peel(env, step, begin, shape, maybe_static)


def _first_and_rest(env: Env, step: Step, start: Items, size: Poly, maybe_static: bool) -> Value | None:
    """Elaborate the first step, and the fold of the others; None if the first step changes no rank."""
    inner = env.building(env.scope.inner())
    try:
        with env.context.notes.attempt(inner.scope) as trial:
            result = bind_data(inner, step.at(inner, as_list(start), (const(1),)))
            after = tuple(pick_component(inner, result, j + 1, step.span) for j in range(len(start)))
            ranks = [[len(shape_of(inner, item, step.span)) for item in items] for items in (start, after)]
            if ranks[0] == ranks[1]:
                return None
            pairs = zip(start, after, strict=True)
            after = tuple([_carry_on(inner, first, item, step.span) for first, item in pairs])
            trial.keep()
    except (Rejected, NeedsUnrolling):
        return None
    env.scope.absorb(inner.scope)
    return fold_list(env, _LaterStep(step), after, (size - 1,), maybe_static)


def _carry_on(env: Env, start: Value, after: Value, span: Span) -> Value:
    """Carry the result of the first step on: data if the start is data, and in a space that holds both."""
    space = join_spaces(space_of(start), space_of(after))
    if not (is_static(start) and is_static(after)):
        return NodeValue(in_spaces(emit(env, after, span), (space,)))
    return after if space == space_of(after) else static_in(env, after, space, span)


def _fold_rest(env: Env, step: InductiveStep, maybe_static: bool, longer: Longer) -> Value:
    """Build the fold of the components that are not known, and add those that are."""
    rest, steps = step.rest(), product_of(step.shape)
    if not rest:
        coords, inner = fresh_coordinates(env, step.pattern, step.shape)
        with env.context.notes.attempt(inner.scope) as trial:
            step.at(inner, ValueList(()), coords)
            step.confirm()
            trial.keep()
        return step.restored((), steps)
    grown = tuple(row for j, row in enumerate(longer) if j not in step.known)
    found = fold_under_coordinates(env, step, as_list(rest), step.shape, maybe_static, grown)
    if not step.known:
        return found
    bound = bind_data(env, found)
    parts = tuple(pick_component(env, bound, j + 1, step.span) for j in range(len(rest)))
    return step.restored(parts, steps)


def as_list(items: Items) -> Value:
    """Return a list of components; a single component is itself."""
    return items[0] if len(items) == 1 else ValueList(items)


def components(accumulator: Value) -> Items:
    """Return the components of a list."""
    return accumulator.items if isinstance(accumulator, ValueList) else (accumulator,)


def elaborate_any_step(
    env: Env, step: Step, start: Items, shape: tuple[Poly, ...], coords: tuple[Poly, ...]
) -> None:
    """Elaborate a step at symbolic coordinates, where only facts that hold at every step are known."""
    unknown: Items = tuple(item if _known_entries(item) else Unknown() for item in start)
    guess = guess_from_first_step(env, step, unknown, shape)
    handed_on = {j: (Induction(start[j]),) for j in guess.handed_on}
    candidates = InductionCandidates({**guess.candidates.ways, **handed_on})
    while True:
        inductive = InductiveStep(step, start, candidates.known, candidates.barred, shape)
        inductive.at(env, ValueList(tuple(Unknown() for _ in inductive.rest())), coords)
        if inductive.kept.keys() == candidates.ways.keys():
            return
        candidates = candidates.without(inductive.kept)


class Guess(Struct, frozen=True, eq=False):
    """A guess from the first step: what may hold at every step.

    ``candidates`` are components that may be known, ``handed_on`` are components that the step returns
    unchanged, and ``longer`` is the growth of each length.
    """

    candidates: InductionCandidates = field(default_factory=lambda: InductionCandidates({}))
    handed_on: frozenset[int] = frozenset()
    longer: Longer = ()


def guess_from_first_step(env: Env, step: Step, start: Items, shape: tuple[Poly, ...]) -> Guess:
    """Guess what holds at every step from the result of the first step."""
    if not any(map(_known_entries, start)):
        return Guess()
    _, inner = fresh_coordinates(env, step.pattern, shape)
    try:
        with env.context.notes.attempt(inner.scope):
            result = step.at(inner, as_list(start), tuple(const(1) for _ in shape))
            after = [pick_component(inner, result, j + 1, step.span) for j in range(len(start))]
            pairs = list(zip(start, after, strict=True))
            found = {j: _possible_inductions(inner, a, b) for j, (a, b) in enumerate(pairs)}
            handed_on = frozenset(j for j, (a, b) in enumerate(pairs) if _are_same_data(inner.scope, a, b))
            longer = tuple(_length_growth(inner, a, b) for a, b in pairs)
    except (Rejected, NeedsUnrolling):
        return Guess()
    ways = {j: inductions for j, inductions in found.items() if inductions}
    return Guess(InductionCandidates(ways), handed_on - ways.keys(), longer)


def _length_growth(env: Env, before: Value, after: Value) -> tuple[int, ...]:
    """Return the growth of a component's lengths in one step, where it is a number."""
    if isinstance(before, Unknown) or isinstance(after, Unknown):
        return ()
    old, new = (shape_of(env, value, NOWHERE) for value in (before, after))
    if len(old) != len(new):
        return (0,) * len(old)
    return tuple(max((b - a).constant or 0, 0) for a, b in zip(old, new, strict=True))


def _possible_inductions(env: Env, start: Value, now: Value) -> tuple[Induction, ...]:
    """Return possible inductions from a component's first two values: an increment, a factor or a divisor.

    Repeated multiplication soon wraps in a machine type, which only a run can follow; so factors are not
    tried there.
    """
    before, after = _known_entries(start), _known_entries(now, env)
    if before is None or after is None or before[0] != after[0] or cast_of(start) != cast_of(now):
        return ()
    pairs = list(zip(before[1], after[1], strict=True))
    added = [_increment_of(a, b) for a, b in pairs]
    multiplied = [_factor_of(a, b) for a, b in pairs] if cast_of(start) is None else [None]
    divided = [_divisor_of(a, b) for a, b in pairs]
    every = dict.fromkeys(tuple(changes) for changes in (added, multiplied, divided))
    return tuple(Induction(start, changes) for changes in every if None not in changes)  # type: ignore[arg-type]


def _increment_of(before: Value, after: Value) -> Advance | None:
    if isinstance(before, Poly) and isinstance(after, Poly):
        return Advance(more=after - before)
    return Advance() if before == after else None


def _factor_of(before: Value, after: Value) -> Advance | None:
    if before == after:
        return Advance()
    if not isinstance(before, Poly) or not isinstance(after, Poly) or not before.terms:
        return None
    ratio = exact_div(after, before)
    factor = None if ratio is None else ratio.constant
    return Advance(factor) if factor is not None and factor > 1 else None


def _divisor_of(before: Value, after: Value) -> Advance | None:
    if before == after:
        return Advance()
    if not isinstance(before, Poly) or not isinstance(after, Poly):
        return None
    divisors = (k for k in range(2, _MOST_DIVISOR + 1) if floordiv(before, k) == after)
    return next((Advance(divisor=k) for k in divisors), None)


def _are_equal(env: Env, left: Value, right: Value) -> bool:
    """Whether two values are known and equal."""
    if is_data(right):
        return _are_same_data(env.scope, left, right)
    a, b = _known_entries(left, env), _known_entries(right, env)
    return a is not None and a == b and cast_of(left) == cast_of(right)


def _known_entries(value: Value, env: Env | None = None) -> tuple[tuple[int, ...], Items] | None:
    """Return the shape and entries of a value that is known and small."""
    inner = plain(value)
    if isinstance(inner, View) and inner.static and env is not None:
        numbers = numbers_of(inner.shape)
        if numbers is None or prod(numbers) > MOST_ENTRIES:
            return None
        inner = expand(inner, numbers, env, NOWHERE)
    shape, items = (inner.shape, inner.items) if isinstance(inner, Vec) else ((), (inner,))
    entries = tuple(map(plain, items))
    if len(entries) > MOST_ENTRIES or not all(
        isinstance(i, (Poly, Cond, Fraction, float, str)) for i in entries
    ):
        return None
    return shape, entries


def _are_same_data(scope: Scope, left: Value, right: Value) -> bool:
    """Whether two values are the same computed or given data."""
    if isinstance(left, Unknown):
        return left is right
    if not is_data(left) or not is_data(right):
        return False
    return _resolve_origin(scope, left.node) == _resolve_origin(scope, right.node)


def _resolve_origin(scope: Scope, node: Node) -> tuple[object, int]:
    """Resolve a node to the variable or node that it names, and the number of its component, 0 for all."""
    match node:
        case Ref(var=var):
            named = scope.named(var)
            return _resolve_origin(scope, named) if isinstance(named, (Ref, Component)) else (var, 0)
        case Component(value=value, j=j):
            whole, part = _resolve_origin(scope, value)
            return (whole, j) if part == 0 else (node, 0)
        case _:
            return node, 0
