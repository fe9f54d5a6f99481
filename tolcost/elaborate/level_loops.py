"""Recursion as deep as a length says: all applications of one depth at once, down to the last and up again.

A function that applies itself `a` times, each time at the level below, has `a^t` applications `t` levels
down. Two loops over the levels stand for all of them: one that splits the arguments, and one that joins the
results. What the function does is elaborated twice for it, once for the arguments of the applications in it
and once for its result; what neither needs is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from msgspec.structs import replace

from tolcost.algebra import Log2, Poly, Symbol, atom, const, ge, generators_in, powers
from tolcost.atoms.nodes import Node, Ref, Var
from tolcost.diagnostics import Rejected, Source, Span
from tolcost.elaborate.environment import Env, Lazy, bind_data, evaluate, force
from tolcost.elaborate.layout import element, emit
from tolcost.elaborate.levels import (
    NotByLevels,
    Recursion,
    holder,
    mentions,
    require_equal,
    sizes_of,
    study,
)
from tolcost.elaborate.shapes import Shape, components, facts_here, space_of, try_prove
from tolcost.elaborate.tol_primitives import reshape_value
from tolcost.elaborate.values import (
    Closure,
    Native,
    NodeValue,
    Seq,
    Unknown,
    Value,
    ValueList,
    View,
    entry,
    is_function,
    is_static,
)
from tolcost.syntax import parse, tree

_LIBRARY = """
below = reduce(tol[depth], (s, e, t) => split(map(tol[calls ^ (t - 1)], (z, i) => parts(s, t, i)), t), begin)
value = reduce(tol[levels], (r, e, s) => map(tol[calls ^ (levels - s)], (z, i) => joined(r, s, i)),
  map(tol[calls ^ levels], (z, i) => last(below, i)))
"""


def by_levels(env: Env, function: Closure, given: Sequence[Lazy | Value], span: Span) -> Value | None:
    """Apply a function that applies itself as often as a length says; None if that does not go by levels."""
    try:
        args = tuple([bind_data(env, entry(force(arg, span))) for arg in given])
        sizes = list(sizes_of(env, args, span))
    except Rejected:
        return None
    inside = {generator for size in sizes for generator in generators_in(size)}
    levels = [
        g for g in inside if isinstance(g, Log2) or (isinstance(g, Symbol) and g.kind in ("length", "coord"))
    ]
    for symbol in sorted(levels, key=lambda g: (isinstance(g, Symbol), g.key)):
        inner = env.building(env.scope.inner())
        with env.context.notes.attempt(inner.scope) as trial:
            try:
                value = _apply(inner, Recursion(function, args, span, symbol))
            except (NotByLevels, Rejected):
                continue
            trial.keep()
        env.scope.absorb(inner.scope)
        return value
    return None


@cache
def _texts() -> tuple[tree.Expr, tree.Expr]:
    below, value = parse(Source("levels", _LIBRARY)).statements
    assert isinstance(below, tree.Define)
    assert isinstance(value, tree.Define)
    return below.value, value.value


def _placed(expr: tree.Expr, span: Span) -> tree.Expr:
    """Return an expression whose loops stand at a place of the program."""
    match expr:
        case tree.Call(args=args):
            return replace(expr, args=tuple([_placed(arg, span) for arg in args]), span=span)
        case tree.Arrow(body=body):
            return replace(expr, body=_placed(body, span), span=span)
        case _:
            return expr


def _apply(env: Env, recursion: Recursion) -> Value:
    args = recursion.args
    recursion.data = [k for k, arg in enumerate(args) if not is_function(arg) and not is_static(arg)]
    if any(isinstance(args[k], (ValueList, Seq, Unknown)) for k in recursion.data):
        raise NotByLevels
    study(env, recursion)
    levels = atom(recursion.level) - recursion.end
    if try_prove(ge(levels), facts_here(env)) is not True:
        reason = f"`{recursion.function.name}` applies itself at all"
        env.context.notes.record(ge(levels), "case", reason, recursion.span)
        env = env.building(env.scope.same(ge(levels)))
    top, span = atom(recursion.level), recursion.span
    firsts = [
        reshape_value(env, args[k], (const(1), *recursion.shape(env, k, top)), span) for k in recursion.data
    ]
    names = recursion.names
    names["levels"], names["calls"] = levels, const(recursion.calls)
    names["begin"] = firsts[0] if len(firsts) == 1 else ValueList(tuple(firsts))
    for name, (arity, made) in _STEPS.items():
        names[name] = _native(recursion, arity, made)
    names["below"] = bind_data(env, _below(env, recursion, levels)) if firsts else const(0)
    every = bind_data(env, evaluate(Env(env.context, env.scope, names), _placed(_texts()[1], span)))
    return _result(env, recursion, every, const(1), top)


def _native(recursion: Recursion, arity: int, made: Callable[..., Value]) -> Native:
    return Native("", arity, lambda here, args: made(here, recursion, *map(entry, args)))


def _below(env: Env, recursion: Recursion, depth: Poly) -> Value:
    """Return the arguments of all applications so many levels down."""
    names = {**recursion.names, "depth": depth}
    return evaluate(Env(env.context, env.scope, names), _placed(_texts()[0], recursion.span))


def _member(env: Env, all_: Value, i: Poly, shapes: Sequence[Shape], span: Span) -> list[Value]:
    """Return what belongs to one application, of those of all applications at a level.

    Its shape is told: while a loop is elaborated, its accumulator may have another one for a while.
    """
    found: list[Value] = []
    for one, shape in zip(components(env, all_, span), shapes, strict=True):

        def get(here: Env, at: tuple[Value, ...], one: Value = one) -> Value:
            return element(here, one, (i, *at), span, checked=True)

        found.append(View(shape, get, is_static(one), space_of(one)) if shape else get(env, ()))
    return found


def _members(env: Env, recursion: Recursion, all_: Value, i: Poly, level: Poly) -> list[Value]:
    """Return the arguments of one application that are data."""
    shapes = [recursion.shape(env, k, level) for k in recursion.data]
    return _member(env, all_, i, shapes, recursion.span) if shapes else []


def _result(env: Env, recursion: Recursion, all_: Value, i: Poly, level: Poly) -> Value:
    """Return the result of one application."""
    shapes = [part.shape for part in recursion.type_at(level)]
    found = _member(env, all_, i, shapes, recursion.span)
    return found[0] if len(found) == 1 else ValueList(tuple(found))


def _parts(env: Env, recursion: Recursion, all_: Value, t: Value, i: Value) -> Value:
    """Return the arguments of the applications that one application makes, ``t - 1`` levels down."""
    assert isinstance(t, Poly)
    level = atom(recursion.level) - t + 1
    found: list[list[Value]] = []
    inside: list[Var] = []

    def taken(there: Env, args: list[Value], span: Span) -> Value:
        found.append(args)
        inside.append(Var("", recursion.type_at(level - 1)))
        return NodeValue(Ref(inside[-1], inside[-1].type))

    assert isinstance(i, Poly)
    emit(env, recursion.body(env, level, _members(env, recursion, all_, i, level), taken), recursion.span)
    if len(found) != recursion.calls:
        raise NotByLevels
    columns = [_stacked(env, column, recursion.span) for column in zip(*found, strict=True)]
    _without(env, [emit(env, column, recursion.span) for column in columns], inside)
    return columns[0] if len(columns) == 1 else ValueList(tuple(columns))


def _without(env: Env, tops: list[Node], holders: list[Var]) -> None:
    """Require that nodes need nothing of what stands for other values."""
    bound = {var: node for scope in env.scope.around() for var, node in scope.bindings}
    if holders and mentions(tops, bound, holders):
        raise NotByLevels


def _stacked(env: Env, values: Sequence[Value], span: Span) -> Value:
    """Return the ToL of some values."""
    names: dict[str, Lazy | Value] = {f"v{n}": value for n, value in enumerate(values)}
    bracket = tree.Bracket(tuple(tree.Name(name, span) for name in names), span)
    return evaluate(Env(env.context, env.scope, names), bracket)


def _split(env: Env, recursion: Recursion, all_: Value, t: Value) -> Value:
    """Lay out the arguments of all applications ``t`` levels down one after the other."""
    assert isinstance(t, Poly)
    level = atom(recursion.level) - t
    many = powers(recursion.calls, t)
    laid = [
        reshape_value(env, one, (many, *recursion.shape(env, k, level)), recursion.span)
        for k, one in zip(recursion.data, components(env, all_, recursion.span), strict=True)
    ]
    return laid[0] if len(laid) == 1 else ValueList(tuple(laid))


def _last(env: Env, recursion: Recursion, all_: Value, i: Value) -> Value:
    """Return the result of an application that makes no other."""

    def taken(there: Env, args: list[Value], span: Span) -> Value:
        raise NotByLevels

    assert isinstance(i, Poly)
    end = const(recursion.end)
    return recursion.body(env, end, _members(env, recursion, all_, i, end), taken)


def _joined(env: Env, recursion: Recursion, all_: Value, s: Value, i: Value) -> Value:
    """Return the result of an application ``s`` levels above the last ones, of those that it makes."""
    assert isinstance(s, Poly)
    assert isinstance(i, Poly)
    level = s + recursion.end
    made = 0

    def taken(there: Env, args: list[Value], span: Span) -> Value:
        nonlocal made
        made += 1
        return _result(there, recursion, all_, recursion.calls * (i - 1) + made, level - 1)

    holders: list[Var] = []
    if recursion.needs_data:
        all_args = bind_data(env, _below(env, recursion, atom(recursion.level) - level))
        data = _members(env, recursion, all_args, i, level)
    else:
        holders = [holder(env, recursion, k, level) for k in recursion.data]
        data = [NodeValue(Ref(var, var.type)) for var in holders]
    node = emit(env, recursion.body(env, level, data, taken), recursion.span)
    _without(env, [node], holders)
    if made != recursion.calls:
        raise NotByLevels
    for part, like in zip(node.type, recursion.type_at(level), strict=True):
        for d, e in zip(part.shape, like.shape, strict=True):
            require_equal(env, d, e)
    return NodeValue(node)


_STEPS: dict[str, tuple[int, Callable[..., Value]]] = {
    "parts": (3, _parts),
    "split": (2, _split),
    "joined": (3, _joined),
    "last": (2, _last),
}
"""The functions that the text of the loops applies, and how many arguments they take."""
