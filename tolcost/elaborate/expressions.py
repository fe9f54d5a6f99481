"""Evaluating expressions: one small function for each kind of syntax."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from tolcost.algebra import FALSE, TRUE, Cond, Poly, conj, const, disj, maximum
from tolcost.diagnostics import Span
from tolcost.elaborate.apply import apply, divide
from tolcost.elaborate.components import capacity, components
from tolcost.elaborate.context import Env, Lazy, bind_data, force, force_results
from tolcost.elaborate.evaluate import FORMS, PRIMITIVES, evaluate, evaluates, results
from tolcost.elaborate.faults import Misfit, OutOfRange, fail
from tolcost.elaborate.indexing import element, pick_result, spread
from tolcost.elaborate.layout import check_components, check_rank, check_size, in_one_tol, materialise
from tolcost.elaborate.shapes import facts_here, known, label_operands, require_length, shape_of
from tolcost.elaborate.tol_primitives import as_entry, join_values
from tolcost.elaborate.values import (
    Closure,
    Missing,
    Pieces,
    Results,
    Seq,
    Spaces,
    Value,
    Vec,
    View,
    builtin,
    entry,
    is_function,
    plain,
    recast,
)
from tolcost.elementary import FUNCTIONS, INFIX
from tolcost.spaces import SPACES
from tolcost.syntax import tree
from tolcost.syntax.tree import children

CONSTANTS: dict[str, Value] = {
    "Inf": math.inf,
    "NaN": math.nan,
    "pi": math.pi,
    "true": TRUE,
    "false": FALSE,
}

_BIND_EVERY = 64
"""A long sum is bound now and then, so that the IR does not grow deep."""


@evaluates(tree.Numeral)
def _number(env: Env, expr: tree.Numeral) -> Value:
    return const(int(expr.text)) if expr.text.isdigit() else Fraction(expr.text)


@evaluates(tree.Text)
def _text(env: Env, expr: tree.Text) -> Value:
    return expr.value


@evaluates(tree.Name)
def _name(env: Env, expr: tree.Name) -> Value | Results:
    found = env.nearest(expr.name)
    if found is None:
        return global_name(env, expr.name, expr.span)
    return force_results(found, expr.span) if isinstance(found, Lazy) else found


def global_name(env: Env, name: str, span: Span) -> Value:
    """What a name means when the program does not define it."""
    if name in CONSTANTS:
        return CONSTANTS[name]
    if is_callable_name(env, name):
        return builtin(name)
    if name in SPACES:
        return Spaces((name,))
    fail("T0201", f"`{name}` is not defined", span)


def is_callable_name(env: Env, name: str) -> bool:
    """Whether a name is an elementary function, a primitive or a known operator."""
    return name in FUNCTIONS or name in PRIMITIVES or name in FORMS or name in env.context.operators


@evaluates(tree.Star)
def _star(env: Env, expr: tree.Star) -> Value:
    if env.star is None:
        fail("T0206", "`*` stands outside of any map or reduce", expr.span)
    if env.in_index:
        return Vec((len(env.star.coordinates),), env.star.coordinates, loose=True)
    return force(env.star.value, expr.span)


@evaluates(tree.Splice)
def _splice(env: Env, expr: tree.Splice) -> Value:
    fail("T0207", "a splice stands where a single value is needed", expr.span)


@evaluates(tree.OperatorName)
def _operator_name(env: Env, expr: tree.OperatorName) -> Value:
    return builtin(INFIX[expr.op])


# ---- lists, vectors, elements ------------------------------------------------------------


def entries(env: Env, items: tuple[tree.Expr, ...], span: Span) -> tuple[Value, ...]:
    """An index list or argument list with splices, and vectors, taken entry by entry."""
    found: list[Value] = []
    for item in items:
        value = evaluate(env, item.value if isinstance(item, tree.Splice) else item)
        if isinstance(value, Poly):  # as most are
            found.append(value)
        else:
            found.extend(spread(env, value, item.span))
    return tuple(found)


def dimensions(env: Env, items: tuple[tree.Expr, ...], span: Span) -> tuple[Poly, ...]:
    """Lengths written as a list: each a formula, none negative."""
    lengths = entries(env.indexing(False), items, span)
    check_rank(lengths, span)
    return tuple(as_length(env, d, span) for d in lengths)


def as_length(env: Env, value: Value, span: Span) -> Poly:
    """A value as a length."""
    if not isinstance(value, Poly):
        value = _number_of(value)
        if isinstance(value, Fraction) and value.denominator == 1:
            value = const(value.numerator)
    if not isinstance(value, Poly):
        fail(
            "T0310",
            "a length must be an integer known while compiling",
            span,
            hint="lengths come from shapes, attributes and static inputs, not from data",
        )
    require_length(env, value, span)
    return value


@evaluates(tree.Bracket)
def _bracket(env: Env, expr: tree.Bracket) -> Value:
    given: list[tuple[bool, Value]] = []
    for item in expr.items:
        splice = isinstance(item, tree.Splice)
        value = evaluate(env, item.value if isinstance(item, tree.Splice) else item)
        if splice and isinstance(value, Seq):
            given.extend((False, one) for one in value.items)
        else:
            given.append((splice, value if splice else entry(value)))
    entries, space = in_one_tol(env, [value for _, value in given], expr.span)
    spliced = [one for one, _ in given]
    return recast(_bracketed(env, list(zip(spliced, entries, strict=True)), expr), space)


def _bracketed(env: Env, pieces: list[tuple[bool, Value]], expr: tree.Bracket) -> Value:
    if pieces and all(isinstance(value, Spaces) and not spliced for spliced, value in pieces):
        return Spaces(tuple(name for _, value in pieces if isinstance(value, Spaces) for name in value.names))
    if all(_plain_entry(env, spliced, value, expr.span) for spliced, value in pieces):
        items = [e for spliced, v in pieces for e in (spread(env, v, expr.span) if spliced else (v,))]
        check_size(len(items), expr.span)
        return Vec((len(items),), tuple(items))
    return _stack(env, pieces, expr)


def _plain_entry(env: Env, spliced: bool, value: Value, span: Span) -> bool:
    if isinstance(value, Pieces) or capacity(value) > 1:
        return False
    if isinstance(value, (str, Spaces)) or is_function(value):
        return True
    shape = shape_of(env, value, span)
    if not spliced:
        return not shape
    static = isinstance(value, View) and value.static and known(shape) is not None
    return len(shape) == 1 and (isinstance(value, Vec) or static)


def _stack(env: Env, pieces: list[tuple[bool, Value]], expr: tree.Bracket) -> Value:
    """ToLs one after the other: a splice gives its entries, anything else is one entry."""
    if all(isinstance(v, Vec) and not spliced for spliced, v in pieces):
        rows = [v for _, v in pieces if isinstance(v, Vec)]
        if len({row.shape for row in rows}) == 1:
            check_size(sum(len(row.items) for row in rows), expr.span)
            return Vec((len(rows), *rows[0].shape), tuple(e for row in rows for e in row.items))
    joined: Value | None = None
    for spliced, value in pieces:
        one = value if spliced else as_entry(env, value, expr.span)
        joined = one if joined is None else join_values(env, joined, one, 1, expr.span)
    assert joined is not None
    return joined


@evaluates(tree.Tuple)
def _tuple(env: Env, expr: tree.Tuple) -> Value:
    items: list[Value] = []
    for item in expr.items:
        value = entry(evaluate(env, item))
        if isinstance(plain(value), (Missing, Seq)) or is_function(value):
            materialise(env, value, item.span)
        items.extend(components(env, value, item.span))
    check_components(len(items), expr.span)
    return Pieces(tuple(items))


@evaluates(tree.Subscript)
def _index(env: Env, expr: tree.Subscript) -> Value:
    base = evaluate(env.indexing(False), expr.base)
    at = entries(env.indexing(True), expr.items, expr.span)
    if isinstance(base, Spaces):
        place = _whole(Vec((len(at),), at), expr.span)
        if not 1 <= place <= len(base.names):
            fail("T0302", f"index {place} is outside 1..{len(base.names)}", expr.span, kind=OutOfRange)
        return Spaces((base.names[place - 1],))
    try:
        return element(env, bind_data(env, base), at, expr.span)
    except Misfit as misfit:
        label_operands(misfit, env, expr.span, ((expr.base, base),))
        raise


def _number_of(value: Value) -> Value:
    """What a value is where a number is needed: a vector of one entry is its entry."""
    value = plain(value)
    return value.items[0] if isinstance(value, Vec) and len(value.items) == 1 else value


def _whole(value: Value, span: Span) -> int:
    value = value if isinstance(value, Poly) else _number_of(value)
    if isinstance(value, Poly) and value.constant is not None:
        return value.constant
    fail("T0313", "this index must be a number known while compiling", span)


@evaluates(tree.ListSubscript)
def _list_index(env: Env, expr: tree.ListSubscript) -> Value:
    base = results(env.indexing(False), expr.base)
    j = _whole(evaluate(env.indexing(False), expr.item), expr.span)
    return pick_result(env, base, j, expr.span)


@evaluates(tree.ShapeOf)
def _shape(env: Env, expr: tree.ShapeOf) -> Value:
    value = evaluate(env.indexing(False), expr.value)
    shape = shape_of(env, value, expr.span)
    return Vec((len(shape),), shape, loose=True)


@evaluates(tree.CapacityOf)
def _capacity(env: Env, expr: tree.CapacityOf) -> Value:
    return const(capacity(evaluate(env.indexing(False), expr.value)))


@evaluates(tree.RangeExpr)
def _range(env: Env, expr: tree.RangeExpr) -> Value:
    low, high = (_integer(env, e) for e in (expr.low, expr.high))
    a, b = low.constant, high.constant
    if a is not None and b is not None and b - a < 100_000:
        return Vec((max(b - a + 1, 0),), tuple(const(n) for n in range(a, b + 1)))
    size = maximum(high - low + 1, const(0), facts_here(env))
    return View((size,), lambda here, at: apply(here, "add", (low - 1, at[0]), expr.span), True)


def _integer(env: Env, expr: tree.Expr) -> Poly:
    value = _number_of(evaluate(env, expr))
    if not isinstance(value, Poly):
        fail("T0310", "the end of a range must be an integer known while compiling", expr.span)
    return value


@evaluates(tree.ZeroTol)
def _zero_tol(env: Env, expr: tree.ZeroTol) -> Value:
    return zeros(dimensions(env, expr.items, expr.span))


def zeros(shape: tuple[Poly, ...]) -> Value:
    """A ToL of zeros; of no dimension, the number 0."""
    if not shape:
        return const(0)
    return View(shape, lambda here, at: const(0), True)


# ---- operators ---------------------------------------------------------------------------


@evaluates(tree.Unary)
def _unary(env: Env, expr: tree.Unary) -> Value:
    value = evaluate(env, expr.value)
    if expr.op == "+":
        return value
    return apply(env, "neg" if expr.op == "-" else "not", (value,), expr.span)


_JOINED = {"and": conj, "or": disj}


@evaluates(tree.Infix)
def _chain(env: Env, expr: tree.Infix) -> Value:
    value = evaluate(env, expr.first)
    last = len(expr.rest)
    for n, (op, operand) in enumerate(expr.rest, start=1):
        if op in ("and", "or") and entry(value) is (FALSE if op == "and" else TRUE):
            continue
        right = evaluate(env, operand)
        if n < last and op in _JOINED and isinstance(value, Cond) and isinstance(right, Cond):
            value = _JOINED[op](value, right)  # whether it can hold is asked once, of the whole chain
            continue
        whole = expr.span
        span = whole if operand.span.end == whole.end else Span(whole.source, whole.start, operand.span.end)
        try:
            result = infix(env, op, value, right, span)
        except Misfit as misfit:
            label_operands(misfit, env, span, ((expr.first, value), (operand, right)))
            raise
        value = result
        if n % _BIND_EVERY == 0:
            value = bind_data(env, value)
    return value


def infix(env: Env, op: str, left: Value, right: Value, span: Span) -> Value:
    """An infix operator of two values."""
    if op == "/":
        return divide(env, (left, right), span)
    return apply(env, INFIX[op], (left, right), span)


@evaluates(tree.Power)
def _power(env: Env, expr: tree.Power) -> Value:
    return apply(env, "pow", (evaluate(env, expr.base), evaluate(env, expr.exponent)), expr.span)


# ---- functions and blocks ----------------------------------------------------------------


@evaluates(tree.Arrow)
def _lambda(env: Env, expr: tree.Arrow) -> Value:
    return Closure("", expr.params, expr.body, env)


@evaluates(tree.BlockExpr)
def _block(env: Env, expr: tree.BlockExpr) -> Value | Results:
    return results(define_all(env, expr.statements), expr.result)


def define_all(env: Env, statements: tuple[tree.Statement, ...]) -> Env:
    """An environment with the definitions of a block or a program; nothing is computed yet."""
    inner = env.child({})
    for statement in statements:
        match statement:
            case tree.Define(name=name, params=None, value=value):
                inner.names[name] = delay(inner, name, value)
            case tree.Define(name=name, params=params, value=value) if params is not None:
                inner.names[name] = Closure(name, params, value, inner)
            case tree.Unpack(names=names, value=value):
                _define_components(inner, names, value)
            case _:
                pass
    return inner


def delay(env: Env, name: str, expr: tree.Expr) -> Lazy:
    """A named value, computed when first needed."""
    return Lazy(name, env, lambda here: results(here, expr), expr)


def _define_components(env: Env, names: tuple[str, ...], value: tree.Expr) -> None:
    whole = delay(env, ", ".join(names), value)

    def part(j: int) -> Callable[[Env], Value]:
        return lambda here: pick_result(here, force_results(whole), j, value.span)

    for j, name in enumerate(names, start=1):
        env.names[name] = Lazy(name, env, part(j))


def has_star(expr: tree.Expr) -> bool:
    """Whether ``*`` is an operand somewhere in an expression."""
    return isinstance(expr, tree.Star) or any(has_star(child) for child in children(expr))


def asked_known(program: tree.Module) -> frozenset[str]:
    """The names of which a program asks whether they are known: static inputs among these may arrive late."""
    found: set[str] = set()
    stack: list[tree.Expr | tree.Statement] = list(program.statements)
    while stack:
        node = stack.pop()
        match node:
            case tree.Call(function=tree.Name(name="known"), args=(tree.Name(name=name),)):
                found.add(name)
            case _:
                stack.extend(children(node))
    return frozenset(found)


def mentions(expr: tree.Expr, name: str) -> bool:
    """Whether an expression mentions a name, wherever in it."""
    if isinstance(expr, tree.Name):
        return expr.name == name
    return any(mentions(child, name) for child in children(expr))


def mentioned(expr: tree.Expr) -> list[str]:
    """The names an expression mentions, wherever in it."""
    if isinstance(expr, tree.Name):  # as most lengths are
        return [expr.name]
    names: dict[str, None] = {}
    stack: list[tree.Expr | tree.Statement] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, tree.Name):
            names[node.name] = None
        stack.extend(children(node))
    return list(names)
