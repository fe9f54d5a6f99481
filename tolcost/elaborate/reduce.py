"""Folds: the lowering of ``reduce``, by what is known of its domain, its start and its step."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from itertools import accumulate
from operator import is_
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from tolcost.algebra import (
    Cond,
    Poly,
    const,
    data_symbol,
    ge,
    powers,
    product_of,
    prove,
    step_of,
    the_symbol,
    total,
)
from tolcost.atoms.kit import constant_symbols
from tolcost.atoms.nodes import JointWork
from tolcost.diagnostics import Diagnostic, Rejected, Span
from tolcost.elaborate.accumulators import fold_under_coordinates
from tolcost.elaborate.apply import static_in
from tolcost.elaborate.environment import Env, bind_data, evaluate, form
from tolcost.elaborate.faults import NeedsUnrolling, fail
from tolcost.elaborate.induction import as_list, components, fold_list, may_be_known
from tolcost.elaborate.layout import emit, grid, in_spaces
from tolcost.elaborate.maps import Step, WrappedStep, WrittenStep, fresh_coordinates, pattern_of
from tolcost.elaborate.shapes import (
    capacity,
    domain_shape,
    facts_here,
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
    Spaces,
    Value,
    ValueList,
    Vec,
    View,
    cast_of,
    entry,
    is_data,
    is_function,
    is_static,
    is_tol,
    plain,
    recast,
)
from tolcost.spaces import SPACES, join_spaces
from tolcost.syntax import tree

_NO_TOL = (Seq, str, Spaces)
_FEW_STEPS = 16
"""The number of steps up to which running them one by one is cheaper than finding a sum."""


class _NotAList(Rejected):
    """Raised for an accumulator that is a sequence of sequences or lists, or of changing length.

    Such a fold has no IR; its steps must be run one by one.
    """

    def __init__(self, span: Span) -> None:
        message = "this accumulator is a sequence that cannot be a list, so the steps must be few and known"
        super().__init__(Diagnostic("T0331", message, span))


class _ListStep(WrappedStep, frozen=True):
    """A step whose accumulator is a sequence, as a step on a list of the same values."""

    def at(self, env: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        """Return the next list."""
        result = self.step.at(env, Seq(components(accumulator)), at)
        if not isinstance(result, Seq):
            raise _NotAList(self.span)
        return as_list(result.items)


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
    all_static = maybe_static and is_static(start)
    if all_static and not (isinstance(start, ValueList) and may_be_known(step, start.items)):
        found = _static_fold(env, step, start, shape)
        if found is not None:
            return found
    if isinstance(start, Seq):
        return _sequence_fold(env, step, start, shape)
    if isinstance(start, ValueList):
        return _list_fold(env, step, start, shape, all_static)
    return fold_under_coordinates(env, step, start, shape, maybe_static)


def _list_fold(env: Env, step: Step, start: ValueList, shape: tuple[Poly, ...], all_static: bool) -> Value:
    """Fold a list; if nothing is data and the steps are few, run them one by one."""
    numbers = known(shape)
    if not all_static or numbers is None or math.prod(numbers) > UNROLL_LIMIT:
        return fold_list(env, step, start.items, shape, maybe_static=True)
    inner = env.building(env.scope.inner())
    with env.context.notes.attempt(inner.scope) as trial:
        found = fold_list(inner, step, start.items, shape, maybe_static=True)
        if not is_static(found):
            trial.keep()
    if is_static(found):
        begin = _in_spaces_of(env, start, found, step.span)
        return _entry_by_entry(env, _SpacedStep(step, found), begin, grid(numbers))
    env.scope.absorb(inner.scope)
    return found


def _partly_static(over: Value) -> bool:
    """Whether a step may read something static from its element."""
    return any(map(is_static, over.items)) if isinstance(over, ValueList) else is_static(over)


def _sequence_fold(env: Env, step: Step, start: Seq, shape: tuple[Poly, ...]) -> Value:
    """Fold a sequence of tensors as a list of these tensors."""
    if not start.items or any(isinstance(item, Seq) or capacity(item) > 1 for item in start.items):
        raise _NotAList(step.span)
    bound = bind_data(env, fold_list(env, _ListStep(step), start.items, shape))
    return Seq(tuple(pick_component(env, bound, j + 1, step.span) for j in range(len(start.items))))


def _entry_by_entry(env: Env, step: Step, start: Value, points: list[tuple[int, ...]]) -> Value:
    """Run the steps one by one, as one joint piece of work, as a fold of more steps would be."""
    return _run_steps(env, step, start, points, JointWork())


def _run_steps(
    env: Env, step: Step, start: Value, points: list[tuple[int, ...]], work: JointWork | None = None
) -> Value:
    """Run the steps one by one.

    An accumulator is static only if its start and every step's result are, and its space holds all of them.
    If it becomes data, or real, at some step, the fold is repeated with that kind from the start, as in a
    fold of unknown length.
    """
    outer = env.building(env.scope.inner())
    with env.context.notes.attempt(outer.scope) as trial:
        values = _run_once(outer, step, start, points, work)
        kinds = _kinds_of_all(values)
        again = isinstance(step, _KindStep) and step.kinds == kinds
        settled = again or all(_to_kinds(outer, value, kinds, step.span) is value for value in values)
        if settled:
            trial.keep()
    if settled:
        env.scope.absorb(outer.scope)
        return values[-1]
    inner, first = step.step if isinstance(step, _KindStep) else step, _to_kinds(env, start, kinds, step.span)
    return _run_steps(env, _KindStep(inner, kinds), first, points, work)


def _run_once(
    env: Env, step: Step, start: Value, points: list[tuple[int, ...]], work: JointWork | None
) -> list[Value]:
    values = [start if work is None else bind_data(env, start, work=work)]
    for at in points:
        after = step.at(env, values[-1], tuple(const(a) for a in at))
        values.append(bind_data(env, after, work=work))
    return values


class _Kind(NamedTuple):
    """The kind of one loop-carried value: whether it is data, and its space."""

    is_data: bool
    space: str


Kinds: TypeAlias = tuple[_Kind, ...]
"""The kinds of all components of an accumulator, or of all members of a sequence."""


class _KindStep(WrappedStep, frozen=True):
    """A step whose results are converted to the kinds that all steps have in common."""

    kinds: Kinds

    def at(self, env: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        """Return the next accumulator."""
        return _to_kinds(env, self.step.at(env, accumulator, at), self.kinds, self.span)


def _kinds_of_all(values: list[Value]) -> Kinds:
    """Return the kinds that hold the accumulator at every step; nothing if its structure changes."""
    every = [*map(_kinds, values)]
    if len(set(map(len, every))) > 1:
        return ()
    return tuple([reduce(_join_kinds, column) for column in zip(*every, strict=True)])


def _join_kinds(one: _Kind, other: _Kind) -> _Kind:
    return one if one == other else _Kind(one.is_data or other.is_data, join_spaces(one.space, other.space))


def _kinds(value: Value) -> Kinds:
    match value:
        case ValueList(items=items) | Seq(items=items):
            return tuple([kind for item in items for kind in _kinds(item)])
        case NodeValue(node=node, static=False):
            return tuple([_Kind(True, part.space) for part in node.type])
        case View(capacity=several) if several > 1:
            return ()
        case _:
            return (_Kind(not is_static(value), space_of(value)),)


def _to_kinds(env: Env, value: Value, kinds: Kinds, span: Span) -> Value:
    """Convert a value to the given kinds; return the same object if nothing changes."""
    if not kinds:
        return value
    if isinstance(value, (ValueList, Seq)):
        sizes = [len(_kinds(item)) for item in value.items]
        places = zip(value.items, accumulate(sizes, initial=0), sizes, strict=False)
        items = [_to_kinds(env, item, kinds[first : first + size], span) for item, first, size in places]
        return value if all(map(is_, items, value.items)) else type(value)(tuple(items))
    if is_data(value):
        node = in_spaces(value.node, tuple(kind.space for kind in kinds))
        return value if node is value.node else NodeValue(node)
    ((becomes_data, space),) = kinds
    if not becomes_data:
        return _static_in(env, value, space, span)
    if isinstance(value, Vec) and not value.static:
        items = [_to_kinds(env, item, kinds, span) for item in value.items]
        return value if all(map(is_, items, value.items)) else Vec(value.shape, tuple(items), value.loose)
    if not is_static(value) and space_of(value) == space:
        return value
    return value if isinstance(value, _NO_TOL) else NodeValue(in_spaces(emit(env, value, span), (space,)))


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
    start, step = _in_spaces_of(env, start, folded, step.span), _SpacedStep(step, folded)
    numbers = known(shape)
    size = UNROLL_LIMIT + 1 if numbers is None else math.prod(numbers)
    if isinstance(plain(start), Poly) and size > _FEW_STEPS:
        closed = _fold_in_closed_form(env, step, start, shape)
        if closed is not None:
            return _in_fold_space(env, closed, folded)
    if numbers is not None and size <= UNROLL_LIMIT:
        return _entry_by_entry(env, step, start, grid(numbers))
    if isinstance(start, _NO_TOL):
        return None  # too long to run step by step, and not expressible in the IR
    steady = (
        None
        if isinstance(start, ValueList) or is_tol(start)
        else _fold_final_at_once(env, step, start, shape)
    )
    return folded if steady is None else _in_fold_space(env, steady, folded)


class _SpacedStep(WrappedStep, frozen=True):
    """A step of statics whose results take the spaces of the whole fold."""

    like: Value

    def at(self, env: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        """Return the next accumulator."""
        return _in_spaces_of(env, self.step.at(env, accumulator, at), self.like, self.span)


def _in_spaces_of(env: Env, value: Value, like: Value, span: Span) -> Value:
    """Convert a static value to the spaces of another, component by component."""
    if isinstance(value, ValueList) and isinstance(like, ValueList) and len(value.items) == len(like.items):
        pairs = zip(value.items, like.items, strict=True)
        return ValueList(tuple(_in_spaces_of(env, item, other, span) for item, other in pairs))
    return _static_in(env, value, space_of(like), span)


def _static_in(env: Env, value: Value, space: str, span: Span) -> Value:
    """Convert a static value without components to a space; return the same object if nothing changes."""
    inner = plain(value)
    if not is_static(value) or isinstance(inner, (*_NO_TOL, ValueList)):
        return value
    even = not isinstance(inner, Vec) or {space_of(item) for item in inner.items} <= {space}
    return value if even and space_of(value) == space else static_in(env, value, space, span)


def _in_fold_space(env: Env, value: Value, folded: Value) -> Value:
    """Give the result of a static fold the machine type that the fold has."""
    space = space_of(folded)
    return recast(fit_to_space(env, value, space), space) if SPACES[space].finite else value


def _probe(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value | None:
    """Build the fold as a static one, to find out whether its steps stay static."""
    if isinstance(start, _NO_TOL):
        return _probe_first_step(env, step, start, shape)
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
        if not isinstance(value, (Poly, Cond, Fraction, float)):
            return None
        if not {the_symbol(c) for c in coords}.isdisjoint(constant_symbols(value)):
            return None
        if plain(step.at(inner, value, coords)) != value:
            return None
        trial.keep()
    return value


def _fold_in_closed_form(env: Env, step: Step, start: Value, shape: tuple[Poly, ...]) -> Value | None:
    """Return a fold of numbers in closed form: a sum of increments, or a power of a factor.

    Repeated multiplication soon wraps in a machine type, so there it is not a power.
    """
    accumulator, first = data_symbol("accumulator", None, None), plain(start)
    symbol = the_symbol(accumulator)
    coords, inner = fresh_coordinates(env, step.pattern, shape)
    with env.context.notes.attempt(inner.scope) as trial:
        value = plain(step.at(inner, accumulator, coords))
        if not isinstance(value, Poly):
            return None
        added, factor = value - accumulator, step_of(value, symbol).constant
        multiplies = value == accumulator * (factor or 0) and cast_of(start) is None
        if symbol in added.free and not multiplies:
            return None
        trial.keep()
    assert isinstance(first, Poly)
    if symbol not in added.free:
        over = [(the_symbol(c), const(1), d) for c, d in zip(coords, shape, strict=True)]
        return first + total(added, over, facts=facts_here(env))
    return first * powers(factor, product_of(shape)) if factor is not None and factor > 0 else None
