"""Folds of lists: components that are known at every step are followed, and only the others computed."""

from __future__ import annotations

from tolcost.algebra import Poly, const, ge, product_of, prove
from tolcost.diagnostics import Rejected, Span
from tolcost.elaborate.accumulators import fold_computed
from tolcost.elaborate.apply import static_in
from tolcost.elaborate.induction import Followed, Longer, as_list, guess_from_first_step
from tolcost.elaborate.layout import emit, in_spaces
from tolcost.elaborate.maps import Step, WrappedStep, fresh_coordinates, position
from tolcost.elaborate.shapes import facts_here, pick_component, shape_of, space_of
from tolcost.elaborate.values import (
    Data,
    Env,
    Items,
    NeedsUnrolling,
    Value,
    ValueList,
    bind_data,
    is_static,
)
from tolcost.spaces import join_spaces


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
    guess = guess_from_first_step(env, step, start, shape)
    # usually every step copies the components that the first step copies
    copied = {j: (start[j],) for j in guess.handed_on}
    beginnings = [Followed(start, {**guess.ways, **copied})]
    if copied and guess.ways:
        beginnings.append(Followed(start, guess.ways))
    if copied or guess.ways:
        beginnings.append(Followed(start, {}, frozenset(range(len(start)))))
    for followed in beginnings:
        try:
            return _fold_followed(env, step, followed, shape, maybe_static, guess.longer)
        except Rejected as refused:
            reason = refused
    found = None if is_later else _peel(env, step, start, shape, maybe_static)
    if found is None:
        raise reason
    return found


def _fold_followed(
    env: Env, step: Step, followed: Followed, shape: tuple[Poly, ...], maybe_static: bool, longer: Longer
) -> Value:
    """Build the fold of the components that are not known, and add those that are."""
    while True:
        found = _fold_rest(env, step, followed, shape, maybe_static, longer)
        if not isinstance(found, Followed):
            break
        followed = found
    if not followed.ways:
        return found
    bound = bind_data(env, found)
    size = len(followed.rest())
    parts = tuple([pick_component(env, bound, j + 1, step.span) for j in range(size)])
    return followed.whole(parts, product_of(shape))


def _fold_rest(
    env: Env, step: Step, followed: Followed, shape: tuple[Poly, ...], maybe_static: bool, longer: Longer
) -> Value | Followed:
    """Build the fold of the components that are not known; or return what is known, if a step refutes it."""
    rest = followed.rest()
    if rest:
        grown = tuple([row for j, row in enumerate(longer) if j not in followed.ways])
        return fold_computed(env, step, as_list(rest), shape, maybe_static, followed, grown)
    coords, inner = fresh_coordinates(env, step.pattern, shape)
    with env.context.attempt(inner.scope) as trial:
        found, kept = followed.take(inner, step, ValueList(()), coords, position(coords, shape))
        if not followed.is_confirmed(kept):
            return followed.without(kept)
        trial.keep()
    return found


def _peel(env: Env, step: Step, start: Items, shape: tuple[Poly, ...], maybe_static: bool) -> Value | None:
    """Peel off the first step of a fold, if it changes a rank and so differs from the others.

    A component that turns out to be data, or wider, is made so from the start, which changes the first step;
    so it is elaborated again.
    """
    if len(shape) != 1 or prove(ge(shape[0] - 1), facts_here(env)) is not True:
        return None
    inner = env.building(env.scope.inner())
    with env.context.attempt(inner.scope) as trial:
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
        with env.context.attempt(inner.scope) as trial:
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

    def take(here: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        return step.at(here, accumulator, tuple([c + 1 for c in at if isinstance(c, Poly)]))

    return fold_list(env, WrappedStep(step, take), after, (size - 1,), maybe_static, is_later=True)


def _carry_on(env: Env, start: Value, after: Value, span: Span) -> Value:
    """Carry the result of the first step on: data if the start is data, and in a space that holds both."""
    space = join_spaces(space_of(start), space_of(after))
    if not (is_static(start) and is_static(after)):
        return Data(in_spaces(emit(env, after, span), (space,)))
    return after if space == space_of(after) else static_in(env, after, space, span)
