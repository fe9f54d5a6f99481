"""``where``: choosing between two values by a condition that is known, partly known, or data.

A decided condition evaluates one side.  A condition on lengths or coordinates that cannot be
decided evaluates both, each knowing its side of the condition, and merges them (``merge``).  A
condition on data is an elementary function.
"""

from __future__ import annotations

from tolcost.algebra import FALSE, TRUE, Cond, const, negate
from tolcost.atoms.nodes import Part, Where
from tolcost.diagnostics import Span
from tolcost.elaborate.apply import check_condition, check_numbers
from tolcost.elaborate.components import apart, capacity
from tolcost.elaborate.context import Env, bind_data
from tolcost.elaborate.evaluate import evaluate, form, results
from tolcost.elaborate.faults import Fault, Misfit, RankMismatch, fail
from tolcost.elaborate.indexing import element, leaves, regrown
from tolcost.elaborate.layout import grid, index_node, lay, materialise
from tolcost.elaborate.merge import align, alike, choose_sequence, merge, select
from tolcost.elaborate.shapes import (
    decide,
    known,
    label_operands,
    shape_of,
    shape_text,
    unify,
)
from tolcost.elaborate.static_numbers import truth
from tolcost.elaborate.tol_primitives import reshape_value
from tolcost.elaborate.values import (
    Data,
    Missing,
    Opaque,
    Pieces,
    Results,
    Seq,
    Value,
    Vec,
    entry,
    is_static,
    plain,
)
from tolcost.syntax import tree

MOST_CASES = 40
"""How deeply choices may nest whose conditions cannot be decided while compiling."""


@form("where")
def where_form(env: Env, expr: tree.Call) -> Value | Results:
    """``where(c, a, b)`` with its branches unevaluated."""
    condition = plain(evaluate(env, expr.args[0]))
    if isinstance(condition, Vec) and condition.shape == (1,) and condition.loose:
        condition = condition.items[0]
    holds = truth(condition)
    if holds is not None:
        return _static_choice(env, decide(env, holds), expr)
    check_condition("where", condition, expr.span)
    if isinstance(condition, Opaque):
        return _opaque_choice(env, condition, expr)
    then, other = (entry(evaluate(env, a)) for a in expr.args[1:])
    try:
        return choose_by_data(env, condition, then, other, expr.span)
    except Misfit as misfit:
        label_operands(misfit, env, expr.span, zip(expr.args, (condition, then, other), strict=True))
        raise


@form("choose")
def choose_form(env: Env, expr: tree.Call) -> Value | Results:
    """``choose(c, a, b)``: as ``where``, but of a condition on data only the side taken is computed."""
    condition = plain(entry(evaluate(env, expr.args[0])))
    holds = truth(condition)
    if holds is not None:
        return _static_choice(env, decide(env, holds), expr)
    check_condition("choose", condition, expr.span)
    return _opaque_choice(env, condition, expr)


def _static_choice(env: Env, condition: Cond, expr: tree.Call) -> Value | Results:
    _, then, other = expr.args
    if condition is TRUE:
        return results(env, then)
    if condition is FALSE:
        return results(env, other)
    if len(env.scope.facts) >= MOST_CASES:
        fail("T0508", f"choices nest more than {MOST_CASES} deep on conditions that stay open", expr.span)
    sides = []
    for side in (then, other):
        if isinstance(side, tree.Numeral):  # the same whatever holds
            sides.append((env.building(env.scope.inner()), evaluate(env, side)))
            continue
        fact = condition if side is then else negate(condition)
        inner = env.building(env.scope.inner(fact))
        try:
            with env.context.attempt(inner.scope) as trial:
                sides.append((inner, evaluate(inner, side)))
                trial.keep()
        except Fault as fault:
            if not fault.definite:
                raise
            env.context.record(negate(fact), "case", "the other case cannot be", side.span)
            return results(env.building(env.scope.same(negate(fact))), other if side is then else then)
    return merge(env, condition, sides[0], sides[1], expr.span)


def _opaque_choice(env: Env, condition: Value, expr: tree.Call) -> Value:
    node = index_node(env, condition, expr.span, "a condition")
    sides = []
    for side in expr.args[1:]:
        inner = env.building(env.scope.inner())
        sides.append((inner, entry(evaluate(inner, side))))
    (ea, a), (eb, b) = sides
    if is_static(a) and is_static(b) and a == b:
        return a
    if isinstance(a, Seq) and isinstance(b, Seq):
        if any(isinstance(item, Missing) for item in (*a.items, *b.items)):
            return _filled(*(entry(evaluate(env, side)) for side in expr.args[1:]))
        a, b = _evened(ea, a, eb, b, expr.span)
        return choose_sequence(env, node, (ea, a), (eb, b), expr.span)
    return select(env, node, (ea, a), (eb, b), expr.span, is_static(condition))


def _filled(a: Value, b: Value) -> Value:
    """Sequences with what is missing in one taken from the other."""
    assert isinstance(a, Seq)
    assert isinstance(b, Seq)
    return Seq(tuple(y if isinstance(x, Missing) else x for x, y in zip(a.items, b.items, strict=True)))


def _evened(then_env: Env, a: Value, other_env: Env, b: Value, span: Span) -> tuple[Value, Value]:
    """Two sequences; a number in one is a vector of one entry where it is that in the other."""
    left, right = leaves(a), leaves(b)
    if len(left) != len(right):
        return a, b
    first = [_as_entry_of(then_env, x, other_env, y, span) for x, y in zip(left, right, strict=True)]
    second = [_as_entry_of(other_env, y, then_env, x, span) for x, y in zip(left, right, strict=True)]
    return regrown(a, iter(first)), regrown(b, iter(second))


def _as_entry_of(env: Env, value: Value, other_env: Env, other: Value, span: Span) -> Value:
    alone = not shape_of(env, value, span) and [d.constant for d in shape_of(other_env, other, span)] == [1]
    return reshape_value(env, value, (const(1),), span) if alone else value


# ---- conditions on data ------------------------------------------------------------------


def choose_by_data(env: Env, condition: Value, then: Value, other: Value, span: Span) -> Value:
    """``where`` with a condition on data: one elementary function per condition."""
    check_numbers(env, "where", (condition,), span)
    then, other = alike(then, other)
    shape = shape_of(env, condition, span)
    if not shape:
        return _where(env, condition, then, other, span)
    for side in (then, other):
        if isinstance(side, Seq):  # its members need not be numbers
            materialise(env, side, span)
    numbers = known(shape)
    bound = tuple(bind_data(env, v) for v in (condition, then, other))
    if numbers is not None and isinstance(condition, Vec):
        places = grid(numbers, span)
        entries = tuple(_choose_entry(env, bound, tuple(const(n) for n in at), span) for at in places)
        if all(capacity(one) == 1 and not shape_of(env, one, span) for one in entries):  # a vector of numbers
            return Vec(numbers, entries)
    return lay(env, shape, lambda here, at: _choose_entry(here, bound, at, span), span)


def _choose_entry(env: Env, values: tuple[Value, ...], at: tuple[Value, ...], span: Span) -> Value:
    condition, then, other = (_entry_there(env, v, at, span) for v in values)
    holds = truth(condition)
    if holds is None:
        return _where(env, condition, then, other, span)
    holds = decide(env, holds)
    if holds is TRUE or holds is FALSE:
        return then if holds is TRUE else other
    sides = [env.building(env.scope.inner()) for _ in range(2)]
    return merge(env, holds, (sides[0], then), (sides[1], other), span)


def _entry_there(env: Env, value: Value, at: tuple[Value, ...], span: Span) -> Value:
    """An element, of each component of a list; a number stands at every place."""
    value = apart(env, value)
    if isinstance(value, Pieces):
        return Pieces(tuple(_entry_there(env, item, at, span) for item in value.items))
    return element(env, value, at, span) if shape_of(env, value, span) else value


def _where(env: Env, condition: Value, then: Value, other: Value, span: Span) -> Value:
    left, right = align(env, then, env, other, span)
    parts: list[Part] = []
    for p, q in zip(left.type, right.type, strict=True):
        if len(p.shape) != len(q.shape):
            fail(
                "T0308",
                f"the two cases have shapes {shape_text(p.shape)} and {shape_text(q.shape)}",
                span,
                kind=RankMismatch,
            )
        shape = tuple(
            unify(env, x, y, "both cases of a choice must have one shape", span)
            for x, y in zip(p.shape, q.shape, strict=True)
        )
        parts.append(Part(shape, p.space))
    node = Where(materialise(env, condition, span), left, right, parts[0].space, tuple(parts), "data", span)
    return Data(node)
