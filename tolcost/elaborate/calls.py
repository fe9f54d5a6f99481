"""Applying functions: the program's own, elementary ones, primitives, operators, special forms."""

from __future__ import annotations

from functools import cache

from tolcost.algebra import FALSE, TRUE
from tolcost.diagnostics import Diagnostic, Label, Rejected, Span
from tolcost.elaborate.apply import apply
from tolcost.elaborate.context import CALL_DEPTH, Env, Lazy, bind_data, force
from tolcost.elaborate.evaluate import FORMS, PRIMITIVES, evaluate, evaluates, form, results
from tolcost.elaborate.expressions import delay, entries, global_name, is_callable_name
from tolcost.elaborate.faults import Misfit, Outside, fail, wrong_arity
from tolcost.elaborate.layout import check_sequence
from tolcost.elaborate.shapes import label_operands
from tolcost.elaborate.values import (
    Applicable,
    Builtin,
    Closure,
    Missing,
    Native,
    Results,
    Seq,
    Value,
    builtin,
    is_function,
    single,
)
from tolcost.elementary import FUNCTIONS
from tolcost.syntax import tree
from tolcost.syntax.declarations import BUILTINS, Signature

MAX_LABELS = 4


@evaluates(tree.Call)
def call(env: Env, expr: tree.Call) -> Value | Results:
    """The value of an application."""
    function = function_of(env, expr.function)
    name = function.name if isinstance(function, Builtin) else None
    if name in FORMS:
        if not signature(function).takes(len(expr.args)):
            wrong_arity(function.title, signature(function), len(expr.args), expr.span)
        return FORMS[name](env, expr)
    if env.star is None and _takes_star(expr):
        return _partial(env, function, expr)
    if name is not None and name in env.context.operators:
        named = {name: evaluate(env, value) for name, value in expr.named}
        return env.context.call_operator(env, name, _values(env, expr), named, expr.span)
    if expr.named:
        fail("T0208", "only operators take named arguments", expr.span)
    if isinstance(function, Closure):
        return _call_closure(env, function, _arguments(env, expr), expr.span)
    values = _values(env, expr)
    try:
        return call_values(env, function, values, expr.span)
    except Misfit as misfit:
        label_operands(misfit, env, expr.span, zip(expr.args, values, strict=False))
        raise


def _values(env: Env, expr: tree.Call) -> tuple[Value, ...]:
    found: list[Value] = []
    for arg in expr.args:
        if isinstance(arg, tree.Splice):
            found.extend(entries(env, (arg,), arg.span))
        elif isinstance(arg, tree.Name) or is_functional(env, arg):
            found.append(force(argument(env, arg), arg.span))
        else:  # nothing is gained by putting it off
            found.append(bind_data(env, evaluate(env, arg)))
    return tuple(found)


def _arguments(env: Env, expr: tree.Call) -> tuple[Lazy | Value, ...]:
    found: list[Lazy | Value] = []
    for arg in expr.args:
        if isinstance(arg, tree.Splice):
            found.extend(entries(env, (arg,), arg.span))
        else:
            found.append(argument(env, arg))
    return tuple(found)


def argument(env: Env, expr: tree.Expr) -> Lazy | Value:
    """An argument: a function as it is, a name as what it names, anything else when needed."""
    if isinstance(expr, tree.Name):
        found = env.nearest(expr.name)
        if found is not None and not _names_function(found):
            return found
    if is_functional(env, expr):
        return function_of(env, expr)
    return delay(env, expr.name if isinstance(expr, tree.Name) else "", expr)


def is_functional(env: Env, expr: tree.Expr | None) -> bool:
    """Whether an expression, as written, is a function rather than a value."""
    if isinstance(expr, tree.Name):
        found = env.nearest(expr.name)
        return is_callable_name(env, expr.name) if found is None else _names_function(found)
    if isinstance(expr, tree.Call):
        written = expr.function
        is_form = isinstance(written, tree.Name) and written.name in FORMS
        return not is_form and env.star is None and _takes_star(expr)
    return isinstance(expr, _FUNCTIONS_AS_WRITTEN)


_FUNCTIONS_AS_WRITTEN = (tree.Arrow, tree.OperatorName, tree.Compose)


def _takes_star(expr: tree.Call) -> bool:
    """Whether an argument is written as ``*``."""
    return tree.Star in map(type, expr.args)


def _names_function(found: Lazy | Value) -> bool:
    """Whether what a name stands for is a function, as written."""
    return is_functional(found.env, found.expr) if isinstance(found, Lazy) else is_function(found)


def function_of(env: Env, expr: tree.Expr) -> Applicable:
    """What an expression in call position means: for a name, the nearest function of that name."""
    if isinstance(expr, tree.Name):
        nearest = env.nearest(expr.name)
        if isinstance(nearest, Closure):  # as in most calls
            return nearest
        if nearest is None and expr.name in BUILTINS:  # as in most others
            return builtin(expr.name)
        for found in env.lookups(expr.name) if nearest is not None else ():
            if isinstance(found, Lazy) and is_functional(found.env, found.expr):
                found = force(found, expr.span)
            if not isinstance(found, Lazy) and is_function(found):
                return found  # type: ignore[return-value]
        value = global_name(env, expr.name, expr.span) if is_callable_name(env, expr.name) else None
    else:
        value = evaluate(env, expr)
    if value is None or not is_function(value):
        named = f"`{expr.name}`" if isinstance(expr, tree.Name) else "this"
        fail("T0205", f"{named} is not a function", expr.span, hint="to take an element write x[i]")
    return value  # type: ignore[return-value]


def _partial(env: Env, function: Applicable, expr: tree.Call) -> Value:
    """``f(*, y)``: a function of the arguments written as ``*``."""
    fixed = tuple(None if isinstance(a, tree.Star) else argument(env, a) for a in expr.args)

    def run(here: Env, args: tuple[Value, ...]) -> Value:
        rest = iter(args)
        full = tuple(next(rest) if a is None else force(a, expr.span) for a in fixed)
        return call_values(here, function, full, expr.span)

    return Native("", sum(a is None for a in fixed), run)


def signature(function: Applicable) -> Signature:
    """How many arguments a function takes; operators check that themselves."""
    match function:
        case Builtin(name=name):
            return BUILTINS.get(name, _OPERATOR)
        case Closure(params=params):
            return _exactly(len(params))
        case Native(arity=n):
            return _exactly(n)


@cache
def _exactly(n: int) -> Signature:
    return Signature(n, n)


_OPERATOR = Signature(1, None)


def call_values(env: Env, function: Applicable, args: tuple[Lazy | Value, ...], span: Span) -> Value:
    """A function of values."""
    if isinstance(function, Closure):
        return single(_call_closure(env, function, args, span))
    if not signature(function).takes(len(args)):
        wrong_arity(function.title, signature(function), len(args), span)
    match function:
        case Native(call=run):
            return run(env, tuple(force(a, span) for a in args))
        case Builtin(name=name):
            values = tuple(force(a, span) for a in args)
            return (
                apply(env, name, values, span) if name in FUNCTIONS else _primitive(env, name, values, span)
            )


def _primitive(env: Env, name: str, args: tuple[Value, ...], span: Span) -> Value:
    if name in PRIMITIVES:
        return PRIMITIVES[name](env, args, span)
    if name in env.context.operators:
        return single(env.context.call_operator(env, name, args, {}, span))
    fail("T0209", f"`{name}` cannot be passed as a function", span)


def _call_closure(env: Env, function: Closure, args: tuple[Lazy | Value, ...], span: Span) -> Value | Results:
    if len(args) != len(function.params):
        wrong_arity(function.title, signature(function), len(args), span)
    context = env.context
    if context.depth >= CALL_DEPTH:
        fail("T0503", f"functions call one another more than {CALL_DEPTH} deep", span)
    inner = function.env.child(dict(zip(function.params, args, strict=True)), scope=env.scope)
    context.depth += 1
    try:
        return results(inner, function.body)
    except Rejected as rejected:
        if len(rejected.diagnostics[0].labels) < MAX_LABELS:
            rejected.label(Label(span, f"while applying {function.title}"))
        raise
    finally:
        context.depth -= 1


@evaluates(tree.Compose)
def _compose(env: Env, expr: tree.Compose) -> Value:
    functions = tuple(function_of(env, f) for f in expr.functions)

    def run(here: Env, args: tuple[Value, ...]) -> Value:
        value = call_values(here, functions[0], args, expr.span)
        for function in functions[1:]:
            value = call_values(here, function, (bind_data(here, value),), expr.span)
        return value

    return Native("", 1, run)


# ---- special forms -----------------------------------------------------------------------


@form("given")
def _given_form(env: Env, expr: tree.Call) -> Value:
    (arg,) = expr.args
    value = evaluate(env, arg)
    return FALSE if isinstance(value, Missing) else TRUE


@form("outside")
def _outside_form(env: Env, expr: tree.Call) -> Value:
    """``outside("reason")``: what is asked for here is no computation of the model."""
    reason = evaluate(env, expr.args[0])
    if not isinstance(reason, str):
        fail("T0411", "`outside` takes a text that says why", expr.span)
    raise Outside(Diagnostic("T0430", reason, expr.span))


@form("seq")
def _sequence_form(env: Env, expr: tree.Call) -> Value:
    values = _values(env, expr)
    check_sequence(len(values), expr.span)
    return Seq(values)
