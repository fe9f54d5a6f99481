"""The heart of elaboration: an expression and an environment give a value.

Each kind of syntax has one function; the modules that define them register them here, and so
do the primitives and the special forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tolcost.diagnostics import Span
from tolcost.elaborate.context import Env
from tolcost.elaborate.values import Value
from tolcost.syntax import tree

Rule = Callable[[Env, Any], Value]
Form = Callable[[Env, tree.Call], Value]
Primitive = Callable[[Env, tuple[Value, ...], Span], Value]
_F = TypeVar("_F", Rule, Form)

RULES: dict[type, Rule] = {}
"""How to evaluate each kind of expression."""

FORMS: dict[str, Form] = {}
"""Applications that do not evaluate their arguments first: map, reduce, where, given, seq."""

PRIMITIVES: dict[str, Primitive] = {}
"""The other primitive operators, as functions of values."""


def evaluate(env: Env, expr: tree.Expr) -> Value:
    """The value of an expression."""
    env.context.tick(expr.span)
    return RULES[type(expr)](env, expr)


def evaluates(kind: type) -> Callable[[Rule], Rule]:
    """Register how one kind of expression is evaluated."""

    def register(rule: Rule) -> Rule:
        RULES[kind] = rule
        return rule

    return register


def form(name: str) -> Callable[[Form], Form]:
    """Register a special form."""

    def register(rule: Form) -> Form:
        FORMS[name] = rule
        return rule

    return register
