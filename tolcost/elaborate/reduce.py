"""Folds: the lowering of ``reduce``, by what is known of its domain, its start and its step."""

from __future__ import annotations

import math
from fractions import Fraction

from msgspec.structs import replace

from tolcost.algebra import (
    Cond,
    Poly,
    const,
    data_symbol,
    ge,
    product_of,
    prove,
    the_symbol,
)
from tolcost.atoms.kit import constant_symbols
from tolcost.atoms.nodes import JointWork
from tolcost.diagnostics import Diagnostic, Rejected, Span
from tolcost.elaborate.accumulators import fold_under_coordinates
from tolcost.elaborate.environment import Env, bind_data, evaluate, form
from tolcost.elaborate.faults import NeedsUnrolling, fail
from tolcost.elaborate.induction import as_list, components, may_be_known
from tolcost.elaborate.layout import emit, grid
from tolcost.elaborate.lists import NO_TOL, Kinds, fold_list, kinds_of, kinds_of_all, to_kinds
from tolcost.elaborate.maps import Step, WrappedStep, WrittenStep, fresh_coordinates, pattern_of
from tolcost.elaborate.progress import after_all
from tolcost.elaborate.shapes import (
    capacity,
    domain_shape,
    facts_here,
    is_told_by_data,
    known,
    pick_component,
    space_of,
    split_if_uneven,
)
from tolcost.elaborate.static_numbers import fit_to_space
from tolcost.elaborate.values import (
    UNROLL_LIMIT,
    NodeValue,
    Quotient,
    Seq,
    Value,
    ValueList,
    Vec,
    cast_of,
    entry,
    is_function,
    is_static,
    is_tol,
    plain,
    recast,
)
from tolcost.spaces import SPACES
from tolcost.syntax import tree

_FEW_STEPS = 16
"""The number of steps up to which running them one by one is cheaper than finding a sum."""


class _NotAList(Rejected):
    """Raised for an accumulator that is a sequence of sequences or lists, or of changing length.

    Such a fold has no IR; its steps must be run one by one.
    """

    def __init__(self, span: Span) -> None:
        message = "this accumulator is a sequence that cannot be a list, so the steps must be few and known"
        super().__init__(Diagnostic("T0331", message, span))


@form("reduce")
def reduce_form(env: Env, expr: tree.Call) -> Value:
    """Evaluate ``reduce(t, f, init, iter)``."""
    return fold_value(env.indexing(False), *written_fold(env, expr))


def written_fold(env: Env, expr: tree.Call) -> tuple[WrittenStep, Value, tuple[Poly, ...]]:
    """Return the step of a fold, its start, and the shape of its domain."""
    outer = env.indexing(False)
    over = split_if_uneven(outer, bind_data(outer, evaluate(outer, expr.args[0])))
    start = entry(evaluate(outer, expr.args[2]))
    if is_function(start):
        hint = "the function comes second, and then what it begins with: `reduce(t, add, 0)`"
        fail("T0402", "a function stands where a `reduce` begins", expr.args[2].span, hint=hint)
    pattern = pattern_of(expr.args[3] if len(expr.args) == 4 else None)
    step = WrittenStep(outer, over, expr.args[1], pattern, expr.span)
    return step, bind_data(outer, start), domain_shape(outer, over, expr.span)


def fold_value(env: Env, step: WrittenStep, start: Value, shape: tuple[Poly, ...]) -> Value:
    """Fold a step over a shape."""
    if isinstance(step.over, Seq):
        return _run_steps(env, step, start, [(n + 1,) for n in range(len(step.over.items))])
    numbers = known(shape)
    few = numbers is not None and math.prod(numbers) <= UNROLL_LIMIT
    over = plain(step.over)
    if few and isinstance(over, Vec):
        return _entry_by_entry(env, _as_data_if_any(env, step, over), start, grid(numbers or ()))
    try:
        return _fold(env, step, start, shape)
    except _NotAList:
        if not few:
            raise
        return _entry_by_entry(env, step, start, grid(numbers or ()))
    except NeedsUnrolling:
        if few:
            return _entry_by_entry(env, step, start, grid(numbers or ()))
        if env.scope.tables:
            raise
        # The domain is too long to unroll: look tables up instead.
        return fold_value(env.building(env.scope.same(tables=True)), step, start, shape)


def _fold(env: Env, step: WrittenStep, start: Value, shape: tuple[Poly, ...]) -> Value:
    """Choose the kind of fold by its start."""
    maybe_static = _partly_static(step.over) or not step.looks_at_elements()
    if maybe_static and is_static(start):
        found = _static_fold(env, step, start, shape)
        if found is not None:
            return found
    if isinstance(start, Seq):
        return _sequence_fold(env, step, start, shape)
    if isinstance(start, ValueList):
        return fold_list(env, step, start.items, shape, maybe_static=True)
    return fold_under_coordinates(env, step, start, shape, maybe_static)


def _partly_static(over: Value) -> bool:
    """Whether a step may read something static from its element."""
    return any(map(is_static, over.items)) if isinstance(over, ValueList) else is_static(over)


def _sequence_fold(env: Env, step: Step, start: Seq, shape: tuple[Poly, ...]) -> Value:
    """Fold a sequence of tensors as a list of these tensors."""
    if not start.items or any(isinstance(item, Seq) or capacity(item) > 1 for item in start.items):
        raise _NotAList(step.span)

    def take(here: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        result = step.at(here, Seq(components(accumulator)), at)
        if not isinstance(result, Seq):
            raise _NotAList(step.span)
        return as_list(result.items)

    bound = bind_data(env, fold_list(env, WrappedStep(take, step.pattern, step.span), start.items, shape))
    return Seq(tuple(pick_component(env, bound, j + 1, step.span) for j in range(len(start.items))))


def _entry_by_entry(env: Env, step: Step, start: Value, points: list[tuple[int, ...]]) -> Value:
    """Run the steps one by one, as one joint piece of work, as a fold of more steps would be."""
    return _run_steps(env, step, start, points, JointWork())


def _run_steps(
    env: Env,
    step: Step,
    start: Value,
    points: list[tuple[int, ...]],
    work: JointWork | None = None,
    kinds: Kinds = (),
) -> Value:
    """Run the steps one by one.

    An accumulator is static only if its start and every step's result are, and its space holds all of them.
    If it becomes data, or real, at some step, the fold is repeated with that kind from the start, as in a
    fold of unknown length.
    """
    outer = env.building(env.scope.inner())
    with env.context.notes.attempt(outer.scope) as trial:
        values = [start if work is None else bind_data(outer, start, work=work)]
        for at in points:
            after = step.at(outer, values[-1], tuple(const(a) for a in at))
            values.append(bind_data(outer, to_kinds(outer, after, kinds, step.span), work=work))
        found = kinds_of_all(values)
        settled = found == kinds or all(to_kinds(outer, v, found, step.span) is v for v in values)
        if settled:
            trial.keep()
    if settled:
        env.scope.absorb(outer.scope)
        return values[-1]
    return _run_steps(env, step, to_kinds(env, start, found, step.span), points, work, found)


def _as_data_if_any(env: Env, step: WrittenStep, over: Vec) -> WrittenStep:
    """Make a step over a bracket treat all entries as data if one of them is."""
    if over.static or not step.looks_at_elements():
        return step
    items = tuple(_as_data(env, item, step.span) for item in over.items)
    return replace(step, over=Vec(over.shape, items, over.loose))


def _as_data(env: Env, value: Value, span: Span) -> Value:
    """Convert a static number to data; return any other value as it is."""
    number = isinstance(plain(value), (Poly, Cond, Fraction, float, complex, Quotient, NodeValue))
    return NodeValue(emit(env, value, span)) if number else value


# ---- static folds ------------------------------------------------------------------------


def _static_fold(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value | None:
    """Fold statics: by numbers, by a sum in closed form, or by a static Fold.

    Returns the data fold if a step turns out to be data, and None if the IR cannot express the fold.
    """
    folded = _probe(env, step, start, shape)
    if folded is None or not is_static(folded):
        return folded
    # Of what has no IR only the first step was asked, so that it does not tell what all steps give.
    kinds = () if isinstance(folded, NO_TOL) else kinds_of(folded)

    def take(here: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        return to_kinds(here, whole.at(here, accumulator, at), kinds, whole.span)

    start, whole = to_kinds(env, start, kinds, step.span), step
    step = WrappedStep(take, whole.pattern, whole.span)
    numbers = known(shape)
    size = UNROLL_LIMIT + 1 if numbers is None else math.prod(numbers)
    if isinstance(plain(start), Poly) and size > _FEW_STEPS:
        closed = _fold_in_closed_form(env, step, start, shape)
        if closed is not None:
            return _in_fold_space(env, closed, folded)
    if numbers is not None and size <= UNROLL_LIMIT:
        return _entry_by_entry(env, step, start, grid(numbers))
    if isinstance(start, NO_TOL):
        return None  # too long to run step by step, and not expressible in the IR
    steady = (
        None
        if isinstance(start, ValueList) or is_tol(start)
        else _fold_final_at_once(env, step, start, shape)
    )
    return folded if steady is None else _in_fold_space(env, steady, folded)


def _in_fold_space(env: Env, value: Value, folded: Value) -> Value:
    """Give the result of a static fold the machine type that the fold has."""
    space = space_of(folded)
    return recast(fit_to_space(env, value, space), space) if SPACES[space].finite else value


def _probe(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value | None:
    """Build the fold as a static one, to find out whether its steps stay static."""
    if isinstance(start, NO_TOL):
        return _probe_first_step(env, step, start, shape)
    if isinstance(start, ValueList) and may_be_known(step, start.items):
        return fold_list(env, step, start.items, shape, maybe_static=True)
    return fold_under_coordinates(env, step, start, shape, maybe_static=True)


def _probe_first_step(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value | None:
    """Probe a fold of sequences or texts: without IR, only the first step shows whether it is static."""
    inner = env.building(env.scope.inner())
    with env.context.notes.attempt(inner.scope):
        value = step.at(inner, start, tuple(const(1) for _ in shape))
    return start if known(shape) is not None and is_static(value) else None


def _fold_final_at_once(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value | None:
    """Return the result of a fold that is final after the first step, such as a maximum of equal numbers."""
    if prove(ge(product_of(shape) - 1), facts_here(env)) is not True:
        return None
    coords, inner = fresh_coordinates(env, step.pattern, shape)
    with env.context.notes.attempt(inner.scope) as trial:
        value = plain(step.at(inner, start, coords))
        if not isinstance(value, (Poly, Cond, Fraction, float)) or is_told_by_data(inner.scope, value):
            return None
        if not {the_symbol(c) for c in coords}.isdisjoint(constant_symbols(value)):
            return None
        if plain(step.at(inner, value, coords)) != value:
            return None
        trial.keep()
    return value


def _fold_in_closed_form(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value | None:
    """Return a fold of numbers in closed form: a sum of increments, or a power of a factor.

    Repeated multiplication soon wraps in a machine type, so it is not tried there.
    """
    accumulator, first = data_symbol("accumulator", None, None), plain(start)
    symbol = the_symbol(accumulator)
    coords, inner = fresh_coordinates(env, step.pattern, shape)
    with env.context.notes.attempt(inner.scope) as trial:
        value = plain(step.at(inner, accumulator, coords))
        if not isinstance(value, Poly) or is_told_by_data(inner.scope, value):
            return None
        assert isinstance(first, Poly)
        over = tuple([(the_symbol(c), const(1), d) for c, d in zip(coords, shape, strict=True)])
        found = after_all(first, symbol, value, over, facts_here(env), cast_of(start) is None)
        if found is not None:
            trial.keep()
    return found
