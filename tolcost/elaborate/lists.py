"""Folds of lists: components that are known at every step are followed, and only the others computed."""

from __future__ import annotations

from functools import reduce
from itertools import accumulate
from operator import is_
from typing import NamedTuple, TypeAlias

from tolcost.algebra import Poly, const, ge, prove
from tolcost.diagnostics import Rejected, Span
from tolcost.elaborate.accumulators import fold_under_coordinates
from tolcost.elaborate.apply import static_in
from tolcost.elaborate.environment import Env, bind_data
from tolcost.elaborate.faults import NeedsUnrolling
from tolcost.elaborate.induction import Followed, as_list, guess_from_first_step
from tolcost.elaborate.layout import emit, in_spaces
from tolcost.elaborate.maps import Step, WrappedStep
from tolcost.elaborate.shapes import facts_here, pick_component, shape_of, space_of
from tolcost.elaborate.values import (
    Items,
    NodeValue,
    Seq,
    Spaces,
    Value,
    ValueList,
    Vec,
    View,
    is_data,
    is_static,
    plain,
)
from tolcost.spaces import join_spaces

NO_TOL = (Seq, str, Spaces)
"""What has no IR: folds of these run step by step."""


def fold_list(
    env: Env,
    step: Step,
    start: Items,
    shape: tuple[Poly, ...],
    maybe_static: bool = False,
    is_later: bool = False,
) -> Value:
    """Build the fold of a list; components that are known at every step are not computed.

    The first step may be one apart, unless ``is_later`` says that it follows such a step.
    """
    ways, handed_on, longer = guess_from_first_step(env, step, start, shape)
    # usually every step copies the components that the first step copies
    beginnings = [Followed(start, {**ways, **{j: (start[j],) for j in handed_on}}, longer=longer)]
    if handed_on and ways:
        beginnings.append(Followed(start, ways, longer=longer))
    if handed_on or ways:
        beginnings.append(Followed(start, {}, frozenset(range(len(start))), longer))
    for followed in beginnings:
        try:
            return fold_under_coordinates(env, step, as_list(start), shape, maybe_static, followed)
        except Rejected as refused:
            reason = refused
    found = None if is_later else _peel(env, step, start, shape, maybe_static)
    if found is None:
        raise reason
    return found


def _peel(env: Env, step: Step, start: Items, shape: tuple[Poly, ...], maybe_static: bool) -> Value | None:
    """Peel off the first step of a fold, if it changes a rank and so differs from the others.

    A component that turns out to be data, or wider, is made so from the start, which changes the first step;
    so it is elaborated again.
    """
    if len(shape) != 1 or prove(ge(shape[0] - 1), facts_here(env)) is not True:
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
    begin = tuple([a if is_static(b) else _in_kind_of_both(env, a, b, step.span) for a, b in pairs])
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
            after = tuple([_in_kind_of_both(inner, item, first, step.span) for first, item in pairs])
            trial.keep()
    except (Rejected, NeedsUnrolling):
        return None
    env.scope.absorb(inner.scope)

    def take(here: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        return step.at(here, accumulator, tuple([c + 1 for c in at if isinstance(c, Poly)]))

    return fold_list(
        env, WrappedStep(take, step.pattern, step.span), after, (size - 1,), maybe_static, is_later=True
    )


def _in_kind_of_both(env: Env, value: Value, other: Value, span: Span) -> Value:
    """Convert a value to the kind that holds it and another."""
    return to_kinds(env, value, kinds_of_all([value, other]), span)


# ---- the kind of a value that a loop carries: its binding time and its space ---------------------------


class _Kind(NamedTuple):
    """The kind of one loop-carried value: whether it is data, and its space."""

    is_data: bool
    space: str


Kinds: TypeAlias = tuple[_Kind, ...]
"""The kinds of all components of an accumulator, or of all members of a sequence."""


def kinds_of_all(values: list[Value]) -> Kinds:
    """Return the kinds that hold the accumulator at every step; nothing if its structure changes."""
    every = [*map(kinds_of, values)]
    if len(set(map(len, every))) > 1:
        return ()
    return tuple([reduce(_join_kinds, column) for column in zip(*every, strict=True)])


def _join_kinds(one: _Kind, other: _Kind) -> _Kind:
    return one if one == other else _Kind(one.is_data or other.is_data, join_spaces(one.space, other.space))


def kinds_of(value: Value) -> Kinds:
    """Return the kinds of a value; nothing if its components are no values of their own."""
    match value:
        case ValueList(items=items) | Seq(items=items):
            return tuple([kind for item in items for kind in kinds_of(item)])
        case NodeValue(node=node, static=False):
            return tuple([_Kind(True, part.space) for part in node.type])
        case View(capacity=several) if several > 1:
            return ()
        case _:
            return (_Kind(not is_static(value), space_of(value)),)


def to_kinds(env: Env, value: Value, kinds: Kinds, span: Span) -> Value:
    """Convert a value to the given kinds, if it has as many; return the same object if nothing changes."""
    if not kinds or len(kinds) != len(kinds_of(value)):
        return value
    if isinstance(value, (ValueList, Seq)):
        sizes = [len(kinds_of(item)) for item in value.items]
        places = zip(value.items, accumulate(sizes, initial=0), sizes, strict=False)
        items = [to_kinds(env, item, kinds[first : first + size], span) for item, first, size in places]
        return value if all(map(is_, items, value.items)) else type(value)(tuple(items))
    if is_data(value):
        node = in_spaces(value.node, tuple(kind.space for kind in kinds))
        return value if node is value.node else NodeValue(node)
    ((becomes_data, space),) = kinds
    if not becomes_data:
        return _static_in(env, value, space, span)
    if isinstance(value, Vec) and not value.static:
        items = [to_kinds(env, item, kinds, span) for item in value.items]
        return value if all(map(is_, items, value.items)) else Vec(value.shape, tuple(items), value.loose)
    if not is_static(value) and space_of(value) == space:
        return value
    return value if isinstance(value, NO_TOL) else NodeValue(in_spaces(emit(env, value, span), (space,)))


def _static_in(env: Env, value: Value, space: str, span: Span) -> Value:
    """Convert a static value without components to a space; return the same object if nothing changes."""
    inner = plain(value)
    if not is_static(value) or isinstance(inner, (*NO_TOL, ValueList)):
        return value
    even = not isinstance(inner, Vec) or {space_of(item) for item in inner.items} <= {space}
    return value if even and space_of(value) == space else static_in(env, value, space, span)
