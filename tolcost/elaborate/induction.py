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

from tolcost.algebra import Cond, Poly, const
from tolcost.atoms.nodes import Component, Node, Ref
from tolcost.diagnostics import NOWHERE, Rejected
from tolcost.elaborate.environment import Env, Scope
from tolcost.elaborate.faults import NeedsUnrolling
from tolcost.elaborate.layout import expand
from tolcost.elaborate.maps import Step, fresh_coordinates, steps_before
from tolcost.elaborate.outlook import guess_growth
from tolcost.elaborate.progress import guesses, value_after
from tolcost.elaborate.shapes import capacity, pick_component, require_components, shape_of
from tolcost.elaborate.shapes import known as numbers_of
from tolcost.elaborate.values import (
    Items,
    Unknown,
    Value,
    ValueList,
    Vec,
    View,
    cast_of,
    is_data,
    plain,
    recast,
)

MOST_ENTRIES = 16
"""The most entries of a component that is followed from step to step."""

ClosedForms = Mapping[int, Value]
"""What components are after any number of steps, as forms in ``STEPS``, by number from 0."""


Longer = tuple[tuple[int, ...], ...]
"""By how much lengths grow in a step, for each component."""


class Followed(Struct, frozen=True, eq=False):
    """The components of a list that a fold carries, and which of them are taken to be known at every step.

    ``ways`` are the possible forms of these, the likeliest first. A ``barred`` component is not known: all
    its forms have been refuted. In the first step, lengths became so much ``longer``.
    """

    start: Items
    ways: Mapping[int, Items] = field(default_factory=dict)
    barred: frozenset[int] = frozenset()
    longer: Longer = ()

    def take(
        self, env: Env, step: Step, rest: Value, at: tuple[Value, ...], done: Poly
    ) -> tuple[Value, ClosedForms]:
        """Take a step after ``done`` others, given what is not known.

        Return what the step makes of the same components, and which components it leaves known.
        """
        before = components(self.whole(components(rest), done))
        result = step.at(env, as_list(before), at)
        if not self.ways and not isinstance(result, ValueList):
            return result, {}
        require_components(capacity(result), len(before), step.span)
        after = [pick_component(env, result, j + 1, step.span) for j in range(len(before))]
        kept: dict[int, Value] = {}
        for j, (old, new) in enumerate(zip(before, after, strict=True)):
            if j in self.ways:
                if _are_equal(env, new, value_after(self.ways[j][0], done + 1)):
                    kept[j] = self.ways[j][0]
            elif j not in self.barred and _are_same_data(env.scope, old, new):
                kept[j] = self.start[j]
        return as_list(tuple([item for j, item in enumerate(after) if j not in self.ways])), kept

    def without(self, kept: ClosedForms) -> Followed | None:
        """Return what remains after a step that confirmed only those in ``kept``; None if that is all."""
        if kept.keys() == self.ways.keys():
            return None
        left = {j: ways if j in kept else ways[1:] for j, ways in self.ways.items()}
        found = {j: ways for j, ways in left.items() if ways}
        barred = self.barred | (left.keys() - found.keys())
        return Followed(self.start, {**{j: (way,) for j, way in kept.items()}, **found}, barred, self.longer)

    def rest(self) -> Items:
        """Return the starts of the components that are not known."""
        return tuple([item for j, item in enumerate(self.start) if j not in self.ways])

    def whole(self, rest: Items, steps: Poly) -> Value:
        """Return the list after some steps, given the components that are not known."""
        others = iter(rest)
        ways = self.ways
        places = range(len(self.start))
        return as_list(tuple([value_after(ways[j][0], steps) if j in ways else next(others) for j in places]))


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
    ways, handed_on, _ = guess_from_first_step(env, step, unknown, shape)
    followed: Followed | None = Followed(start, {**ways, **{j: (start[j],) for j in handed_on}})
    while followed is not None:
        rest = ValueList(tuple(Unknown() for _ in followed.rest()))
        _, kept = followed.take(env, step, rest, coords, steps_before(coords, shape))
        followed = followed.without(kept)


def guess_from_first_step(
    env: Env, step: Step, start: Items, shape: tuple[Poly, ...]
) -> tuple[dict[int, Items], frozenset[int], Longer]:
    """Guess from the first step the forms of components, which data is handed on, and how lengths grow."""
    if not any(map(_known_entries, start)):
        return {}, frozenset(), ()
    _, inner = fresh_coordinates(env, step.pattern, shape)
    try:
        with env.context.notes.attempt(inner.scope):
            result = step.at(inner, as_list(start), tuple(const(1) for _ in shape))
            after = [pick_component(inner, result, j + 1, step.span) for j in range(len(start))]
            pairs = list(zip(start, after, strict=True))
            found = {j: _possible_forms(inner, a, b) for j, (a, b) in enumerate(pairs)}
            handed_on = frozenset(j for j, (a, b) in enumerate(pairs) if _are_same_data(inner.scope, a, b))
            longer = tuple([_length_growth(inner, a, b) for a, b in pairs])
    except (Rejected, NeedsUnrolling):
        return {}, frozenset(), ()
    ways = {j: forms for j, forms in found.items() if forms}
    return ways, handed_on - ways.keys(), longer


def _length_growth(env: Env, before: Value, after: Value) -> tuple[int, ...]:
    """Return the growth of a component's lengths in one step, where it is a number."""
    if isinstance(before, Unknown) or isinstance(after, Unknown):
        return ()
    old, new = (shape_of(env, value, NOWHERE) for value in (before, after))
    if len(old) != len(new):
        return ()
    return tuple([max((b - a).constant or 0, 0) for a, b in zip(old, new, strict=True)])


def _possible_forms(env: Env, start: Value, now: Value) -> Items:
    """Return what a component may be after any number of steps, from its first two values.

    Repeated multiplication soon wraps in a machine type, which only a run can follow; so it is not tried.
    """
    before, after = _known_entries(start), _known_entries(now, env)
    space = cast_of(start)
    if before is None or after is None or before[0] != after[0] or space != cast_of(now):
        return ()
    shape, entries = before
    return tuple(
        [
            start if forms == entries else recast(Vec(shape, forms) if shape else forms[0], space)
            for forms in guesses(entries, after[1], space is None)
        ]
    )


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
