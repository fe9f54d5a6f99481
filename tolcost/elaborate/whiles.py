"""Loops until: ``while``, whose condition is asked before every turn, of what the loop carries."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from msgspec.structs import replace

from tolcost.algebra import FALSE, TRUE, Poly, const, data_symbol, fewer_clips, indicator, the_symbol
from tolcost.atoms.nodes import Part, Ref, Var
from tolcost.diagnostics import Rejected, Source, Span
from tolcost.elaborate.environment import Env, Falling, bind_data, evaluate, form
from tolcost.elaborate.expressions import as_length, function_of, is_functional, signature
from tolcost.elaborate.faults import NeedsUnrolling, fail
from tolcost.elaborate.layout import emit
from tolcost.elaborate.measures import Turn, falling, most_turns
from tolcost.elaborate.reduce import fold_value, written_fold
from tolcost.elaborate.shapes import facts_here, pick_component
from tolcost.elaborate.trip_count import (
    NO_LIMIT,
    WrittenLoop,
    fold_of,
    written_loop,
)
from tolcost.elaborate.values import Applicable, NodeValue, Seq, Value, ValueList, entry, is_static
from tolcost.syntax import parse, tree

_LIBRARY = """
turns = trips(tol[most], (s, e, k) => {{ n = next({carried}); seq(holds(n), n) }}, seq(holds(begin), begin))
value = reduce(tol[most], (carried, e, k) => next({alone}), begin)
turn = (holds(carried), next({alone}))
"""
"""A loop as a fold whose first entry is the condition of the next turn, one of known turns, and a turn."""


_WHOLE = (Part((), "Z"),)


@form("while")
def while_form(env: Env, expr: tree.Call) -> Value:
    """Evaluate ``while(holds, next, start)``, perhaps with the most turns there may be."""
    outer = env.indexing(False)
    holds, step = (_function(outer, argument) for argument in expr.args[:2])
    begin = bind_data(outer, entry(evaluate(outer, expr.args[2])))
    if isinstance(begin, Seq):
        hint = "a list carries several values: `(a, b)`, with `s[1]'` and `s[2]'`"
        fail("T0403", "what a `while` carries is not a sequence", expr.args[2].span, hint=hint)
    limit = expr.args[3] if len(expr.args) == 4 else None
    most = const(NO_LIMIT) if limit is None else as_length(outer, evaluate(outer, limit), limit.span)
    turns, value, turn = _texts(signature(step).low == 2)
    names: dict[str, Value] = {"holds": holds, "next": step, "begin": begin, "most": most}
    inner = Env(outer.context, outer.scope, dict(names), calls=outer.calls)
    loop = written_loop(inner, replace(turns, span=expr.span))
    if loop.go is FALSE:
        return begin
    value = replace(value, span=expr.span)
    return _run(inner, loop, value, lambda: _turn(inner, loop, turn), expr.span)


def _function(env: Env, expr: tree.Expr) -> Applicable:
    if not is_functional(env, expr):
        hint = (
            "`while((x) => x > 1, (x) => x / 2, start)`: whether to go on, the next value, and the first one"
        )
        fail("T0406", "`while` needs functions of what it carries", expr.span, hint=hint)
    return function_of(env, expr)


@cache
def _texts(counted: bool) -> tuple[tree.Call, tree.Call, tree.Expr]:
    """Return the loop, the fold and a turn as expressions; ``counted`` steps get the number of the turn."""
    number = ", k" if counted else ""
    text = _LIBRARY.format(carried=f"s[2]{number}", alone=f"carried{number}")
    defined = parse(Source("while", text)).statements
    first, second, third = (one.value for one in defined if isinstance(one, tree.Define))
    assert isinstance(first, tree.Call)
    assert isinstance(second, tree.Call)
    return first, second, third


def _turn(env: Env, loop: WrittenLoop, turn: tree.Expr) -> Turn | None:
    """Return a turn as atoms; None if it cannot be elaborated by itself."""
    inner = env.building(env.scope.inner())
    with env.context.notes.attempt(inner.scope):
        try:
            first = [emit(inner, value, turn.span) for value in loop.carried]
            holders = [Var("", node.type) for node in first]
            given = tuple(NodeValue(Ref(var, var.type)) for var in holders)
            number = Ref(Var("", _WHOLE), _WHOLE)
            carried = given[0] if len(given) == 1 else ValueList(given)
            names = {**env.names, "carried": carried, "k": NodeValue(number)}
            found = evaluate(Env(inner.context, inner.scope, names, calls=env.calls), turn)
            condition, *after = [
                emit(inner, pick_component(inner, found, j, turn.span), turn.span)
                for j in range(1, len(first) + 2)
            ]
        except (Rejected, NeedsUnrolling):
            return None
        return Turn(inner.scope.named, facts_here(inner), holders, condition, after, first)


def _run(
    env: Env, loop: WrittenLoop, value: tree.Call, one_turn: Callable[[], Turn | None], span: Span
) -> Value:
    """Return what a loop carries in the end: of turns whose number is known, or of turns that end by data."""
    names: list[str] = []

    def name() -> str:
        names.append(env.context.turns_name())
        return names[-1]

    measures: list[Falling] = []

    def falls() -> Poly | None:
        turn = one_turn()
        if turn is not None and env.scope.depth:
            measures.extend(falling(turn))
        return None if turn is None else most_turns(turn)

    turns, exact = loop.counted(env, name, falls)
    if exact and not names:
        many = loop.in_all(env)
        if many is None:
            many = turns if loop.go is TRUE or loop.go is None else fewer_clips(turns * indicator(loop.go))
        if loop.go is not None:
            known = Env(env.context, env.scope, {**env.names, "most": many}, calls=env.calls)
            return fold_value(known, *written_fold(known, value))
    if not names:
        base = name()
        full = env.context.own_name(f"{env.context.title or 'loop'}_{base}")
        turns = data_symbol(full, 0, turns, "turns", base)
    env.context.falling[the_symbol(turns)] = measures
    return _until(env, loop, turns, span)


def _until(env: Env, loop: WrittenLoop, turns: Poly, span: Span) -> Value:
    """Bind the fold that runs until the condition fails, and return what it carries."""
    ended = loop.fold(env, turns)
    condition = pick_component(env, ended, 1, span)
    if is_static(condition):
        message = "lengths decide when this loop ends, but no formula for its turns is found"
        fail("T0403", message, span, hint="give lengths as numbers: --shape x=8, --attr n=8")
    fold = fold_of(env, condition, span)
    for place, (var, node) in enumerate(env.scope.bindings):
        if node is fold:
            env.scope.bindings[place] = (var, replace(fold, ends=the_symbol(turns)))
            break
    else:
        fail("T0403", "the condition of this loop cannot be followed from turn to turn", span)
    carried = [pick_component(env, ended, j, span) for j in range(2, len(loop.carried) + 2)]
    return carried[0] if len(carried) == 1 else ValueList(tuple(carried))
