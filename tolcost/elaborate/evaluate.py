"""The heart of elaboration: an expression and an environment give a value.

Each kind of syntax has one function; the modules that define them register them here, and so
do the primitives and the special forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tolcost.diagnostics import Span
from tolcost.elaborate.context import Env
from tolcost.elaborate.faults import BUDGET, too_many_steps
from tolcost.elaborate.values import Results, Value
from tolcost.syntax import tree

EvaluationRule = Callable[[Env, Any], Value | Results]
SpecialForm = Callable[[Env, tree.Call], Value | Results]
Primitive = Callable[[Env, tuple[Value, ...], Span], Value]

RULES: dict[type, EvaluationRule] = {}
"""How to evaluate each kind of expression."""

FORMS: dict[str, SpecialForm] = {}
"""Applications that do not evaluate their arguments first: map, reduce, where, given, seq."""

PRIMITIVES: dict[str, Primitive] = {}
"""The other primitive operators, as functions of values."""


def evaluate(env: Env, expr: tree.Expr) -> Value:
    """The value of an expression; of several results the first."""
    context = env.context
    context.steps += 1  # as ``tick`` does; this is asked most of all
    if context.steps > BUDGET:
        too_many_steps(expr.span)
    found = RULES[type(expr)](env, expr)
    return found.items[0] if isinstance(found, Results) else found


def results(env: Env, expr: tree.Expr) -> Value | Results:
    """The value of an expression, or all that an operator in it gives."""
    env.context.tick(expr.span)
    return RULES[type(expr)](env, expr)


def evaluates(kind: type) -> Callable[[EvaluationRule], EvaluationRule]:
    """Register how one kind of expression is evaluated."""

    def register(rule: EvaluationRule) -> EvaluationRule:
        RULES[kind] = rule
        return rule

    return register


def form(name: str) -> Callable[[SpecialForm], SpecialForm]:
    """Register a special form."""

    def register(rule: SpecialForm) -> SpecialForm:
        FORMS[name] = rule
        return rule

    return register
