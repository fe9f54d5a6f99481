"""Evaluation rules: one small function for each kind of syntax, and calls of functions of all kinds."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from tolcost.algebra import FALSE, TRUE, Cond, Poly, conj, const, disj, maximum
from tolcost.atoms.kit import all_static
from tolcost.diagnostics import Diagnostic, Label, Rejected, Span
from tolcost.elaborate.apply import apply, divide
from tolcost.elaborate.environment import (
    CALL_DEPTH,
    FORMS,
    PRIMITIVES,
    Activation,
    Env,
    Lazy,
    bind_data,
    evaluate,
    evaluates,
    force,
    force_results,
    form,
    results,
)
from tolcost.elaborate.faults import Misfit, OpenRecursion, OutOfRange, Outside, fail, wrong_arity
from tolcost.elaborate.layout import (
    check_components,
    check_rank,
    check_sequence,
    check_size,
    element,
    emit,
    in_one_tol,
    pick_result,
    spread,
)
from tolcost.elaborate.ranges import bind_length, end_of, shifted
from tolcost.elaborate.shapes import (
    capacity,
    components,
    facts_here,
    known,
    label_operands,
    require_length,
    shape_of,
)
from tolcost.elaborate.static_numbers import fold_integers
from tolcost.elaborate.tol_primitives import as_entry, join_values
from tolcost.elaborate.values import (
    Applicable,
    Closure,
    Items,
    Missing,
    Native,
    Seq,
    Spaces,
    Value,
    ValueList,
    Vec,
    View,
    builtin,
    entry,
    is_function,
    is_static,
    plain,
    recast,
    single,
    title_of,
)
from tolcost.elementary import FUNCTIONS, INFIX
from tolcost.spaces import SPACES
from tolcost.syntax import tree
from tolcost.syntax.names import BUILTINS, Signature

CONSTANTS: dict[str, Value] = {
    "Inf": math.inf,
    "NaN": math.nan,
    "pi": math.pi,
    "true": TRUE,
    "false": FALSE,
}

_BIND_EVERY = 64
"""The number of operators of a chain after which its value is bound, so that the IR does not grow deep."""


@evaluates(tree.Numeral)
def _number(env: Env, expr: tree.Numeral) -> Value:
    return const(int(expr.text)) if expr.text.isdigit() else Fraction(expr.text)


@evaluates(tree.Text)
def _text(env: Env, expr: tree.Text) -> Value:
    return expr.value


@evaluates(tree.Name)
def _name(env: Env, expr: tree.Name) -> Value | Items:
    found = env.nearest(expr.name)
    if found is None:
        return global_name(env, expr.name, expr.span)
    return force_results(found, expr.span) if isinstance(found, Lazy) else found


def global_name(env: Env, name: str, span: Span) -> Value:
    """Return the meaning of a name that the program does not define."""
    if name in CONSTANTS:
        return CONSTANTS[name]
    if is_callable_name(env, name):
        return builtin(name)
    if name in SPACES:
        return Spaces((name,))
    fail("T0201", f"`{name}` is not defined", span)


def is_callable_name(env: Env, name: str) -> bool:
    """Whether a name is an elementary function, a primitive or a known operator."""
    return name in FUNCTIONS or name in PRIMITIVES or name in FORMS or name in env.context.request.operators


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
    """Evaluate an index list or argument list; splices and vectors are expanded into their entries."""
    found: list[Value] = []
    for item in items:
        value = evaluate(env, item.value if isinstance(item, tree.Splice) else item)
        if isinstance(value, Poly):  # the usual case
            found.append(value)
        else:
            found.extend(spread(env, value, item.span))
    return tuple(found)


def dimensions(env: Env, items: tuple[tree.Expr, ...], span: Span) -> tuple[Poly, ...]:
    """Evaluate a list of lengths: each is a formula, and none is negative."""
    lengths = entries(env.indexing(False), items, span)
    check_rank(lengths, span)
    return tuple([as_length(env, d, span) for d in lengths])


def as_length(env: Env, value: Value, span: Span) -> Poly:
    """Convert a value to a length."""
    if not isinstance(value, Poly):
        value = _unwrap_number(value)
        if isinstance(value, Fraction) and value.denominator == 1:
            value = const(value.numerator)
    if not isinstance(value, Poly):
        fail(
            "T0310",
            "a length must be an integer known while compiling",
            span,
            hint="lengths come from shapes, attributes and static inputs, not from data",
        )
    return require_length(env, value, span)


@evaluates(tree.Bracket)
def _bracket(env: Env, expr: tree.Bracket) -> Value:
    spliced: list[bool] = []
    values: list[Value] = []
    for item in expr.items:
        splice = isinstance(item, tree.Splice)
        value = evaluate(env, item.value if isinstance(item, tree.Splice) else item)
        several = value.items if splice and isinstance(value, Seq) else None
        values += (value if splice else entry(value),) if several is None else several
        spliced += (splice,) if several is None else (False,) * len(several)
    if True not in spliced and all_static(values):  # the usual case
        check_size(len(values), expr.span)
        return Vec((len(values),), tuple(values))
    entries, space = in_one_tol(env, values, expr.span)
    return recast(_make_bracket(env, list(zip(spliced, entries, strict=True)), expr), space)


def _make_bracket(env: Env, pieces: list[tuple[bool, Value]], expr: tree.Bracket) -> Value:
    if pieces and all(isinstance(value, Spaces) and not spliced for spliced, value in pieces):
        return Spaces(tuple(name for _, value in pieces if isinstance(value, Spaces) for name in value.names))
    if all(_plain_entry(env, spliced, value, expr.span) for spliced, value in pieces):
        items = [e for spliced, v in pieces for e in (spread(env, v, expr.span) if spliced else (v,))]
        check_size(len(items), expr.span)
        return Vec((len(items),), tuple(items))
    return _stack_entries(env, pieces, expr)


def _plain_entry(env: Env, spliced: bool, value: Value, span: Span) -> bool:
    if isinstance(value, ValueList) or capacity(value) > 1:
        return False
    if isinstance(value, (str, Spaces)) or is_function(value):
        return True
    shape = shape_of(env, value, span)
    if not spliced:
        return not shape
    return len(shape) == 1 and (isinstance(value, Vec) or (is_static(value) and known(shape) is not None))


def _stack_entries(env: Env, pieces: list[tuple[bool, Value]], expr: tree.Bracket) -> Value:
    """Stack ToLs: a splice contributes its entries, any other value is one entry."""
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
            emit(env, value, item.span)
        items.extend(components(env, value, item.span))
    check_components(len(items), expr.span)
    return ValueList(tuple(items))


@evaluates(tree.Subscript)
def _index(env: Env, expr: tree.Subscript) -> Value:
    base = evaluate(env.indexing(False), expr.base)
    at = entries(env.indexing(True), expr.items, expr.span)
    if isinstance(base, Spaces):
        place = _known_integer(Vec((len(at),), at), expr.span)
        if not 1 <= place <= len(base.names):
            fail("T0302", f"index {place} is outside 1..{len(base.names)}", expr.span, kind=OutOfRange)
        return Spaces((base.names[place - 1],))
    try:
        return element(env, bind_data(env, base), at, expr.span)
    except Misfit as misfit:
        label_operands(misfit, env, expr.span, ((expr.base, base),))
        raise


def _unwrap_number(value: Value) -> Value:
    """Replace a vector of one entry by its entry, where a number is needed."""
    value = plain(value)
    return value.items[0] if isinstance(value, Vec) and len(value.items) == 1 else value


def _known_integer(value: Value, span: Span) -> int:
    value = value if isinstance(value, Poly) else _unwrap_number(value)
    if isinstance(value, Poly) and value.constant is not None:
        return value.constant
    fail("T0313", "this index must be a number known while compiling", span)


@evaluates(tree.ListSubscript)
def _list_index(env: Env, expr: tree.ListSubscript) -> Value:
    base = results(env.indexing(False), expr.base)
    j = _known_integer(evaluate(env.indexing(False), expr.item), expr.span)
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
    low, high = (end_of(env, evaluate(env, e), e.span) for e in (expr.low, expr.high))
    if not (isinstance(low, Poly) and isinstance(high, Poly)):
        return _range_by_data(env, low, high, expr.span)
    a, b = low.constant, high.constant
    if a is not None and b is not None and b - a < 100_000:
        return Vec((max(b - a + 1, 0),), tuple(const(n) for n in range(a, b + 1)))
    size = maximum(high - low + 1, const(0), facts_here(env))
    return View((size,), lambda here, at: apply(here, "add", (low - 1, at[0]), expr.span), True)


def _range_by_data(env: Env, low: Value, high: Value, span: Span) -> Value:
    size, before = bind_length(env, low, high, None, span), shifted(env, low, const(-1), span)
    return View((size,), lambda here, at: shifted(here, at[0], before, span), is_static(before))


@evaluates(tree.ZeroTol)
def _zero_tol(env: Env, expr: tree.ZeroTol) -> Value:
    return zeros(dimensions(env, expr.items, expr.span))


def zeros(shape: tuple[Poly, ...]) -> Value:
    """Return a ToL of zeros; without dimensions, the number 0."""
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
            value = _JOINED[op](value, right)  # the whole chain is decided at once
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
    """Apply an infix operator to two values."""
    both = left, right
    if op == "/":
        return divide(env, both, span)
    found = fold_integers(env, INFIX[op], both, span) if type(left) is type(right) is Poly else None
    return apply(env, INFIX[op], both, span) if found is None else found


@evaluates(tree.Power)
def _power(env: Env, expr: tree.Power) -> Value:
    return apply(env, "pow", (evaluate(env, expr.base), evaluate(env, expr.exponent)), expr.span)


# ---- functions and blocks ----------------------------------------------------------------


@evaluates(tree.Arrow)
def _lambda(env: Env, expr: tree.Arrow) -> Value:
    return Closure("", expr.params, expr.body, env)


@evaluates(tree.BlockExpr)
def _block(env: Env, expr: tree.BlockExpr) -> Value | Items:
    return results(define_all(env, expr.statements), expr.result)


def define_all(env: Env, statements: tuple[tree.Statement, ...]) -> Env:
    """Return an environment with the definitions of a block or a program; nothing is computed yet."""
    inner = env.child({})
    for statement in statements:
        if isinstance(statement, tree.Define):
            name, params, value = statement.name, statement.params, statement.value
            inner.names[name] = (
                delay(inner, name, value) if params is None else Closure(name, params, value, inner)
            )
        elif isinstance(statement, tree.Unpack):
            _define_components(inner, statement.names, statement.value)
    return inner


def delay(env: Env, name: str, expr: tree.Expr) -> Lazy:
    """Make a named value that is computed on first use."""
    return Lazy(name, env, lambda here: results(here, expr), expr)


def _define_components(env: Env, names: tuple[str, ...], value: tree.Expr) -> None:
    whole = delay(env, ", ".join(names), value)

    def part(j: int) -> Callable[[Env], Value]:
        return lambda here: pick_result(here, force_results(whole), j, value.span)

    for j, name in enumerate(names, start=1):
        env.names[name] = Lazy(name, env, part(j))


def has_star(expr: tree.Expr) -> bool:
    """Whether ``*`` is an operand somewhere in an expression."""
    return any(isinstance(node, tree.Star) for node in tree.inner_nodes(expr))


def names_asked_known(program: tree.Module) -> frozenset[str]:
    """Return the names to which a program applies ``known``: static inputs among them may be data."""
    found: set[str] = set()
    for node in (node for statement in program.statements for node in tree.inner_nodes(statement)):
        match node:
            case tree.Call(function=tree.Name(name="known"), args=(tree.Name(name=name),)):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def mentioned(expr: tree.Expr) -> list[str]:
    """Return the names that an expression mentions, at any depth."""
    if isinstance(expr, tree.Name):  # most lengths are a single name
        return [expr.name]
    return list(dict.fromkeys(node.name for node in tree.inner_nodes(expr) if isinstance(node, tree.Name)))


# === Application of functions: the program's own, elementary ones, primitives, operators, special forms.


MAX_LABELS = 4
"""The most calls named in a diagnostic: more would hide the mistake in a long list."""


@evaluates(tree.Call)
def call(env: Env, expr: tree.Call) -> Value | Items:
    """Evaluate an application."""
    function = function_of(env, expr.function)
    name = function.name if isinstance(function, Native) and function.call is None else None
    if name in FORMS:
        if not signature(function).takes(len(expr.args)):
            wrong_arity(title_of(function), signature(function), len(expr.args), expr.span)
        return FORMS[name](env, expr)
    if env.star is None and _takes_star(expr):
        return _partial(env, function, expr)
    if name is not None and name in env.context.request.operators:
        named = {name: evaluate(env, value) for name, value in expr.named}
        return env.context.request.call_operator(env, name, _values(env, expr), named, expr.span)
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
        else:  # there is no gain in delaying it
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
    """Return an argument: a function as it is, a name as the value it names, anything else delayed."""
    if isinstance(expr, tree.Name):
        found = env.nearest(expr.name)
        if found is not None and not _names_function(found):
            return found
    if is_functional(env, expr):
        return function_of(env, expr)
    return delay(env, expr.name if isinstance(expr, tree.Name) else "", expr)


def is_functional(env: Env, expr: tree.Expr | None, inside: tuple[tree.Expr, ...] = ()) -> bool:
    """Whether an expression, as written, is a function rather than a value.

    ``inside`` are the bodies of functions that led here: one that ends in itself gives no function.
    """
    if isinstance(expr, tree.Name):
        found = env.nearest(expr.name)
        return is_callable_name(env, expr.name) if found is None else _names_function(found)
    if isinstance(expr, tree.Call):
        written = expr.function
        found = env.nearest(written.name) if isinstance(written, tree.Name) else None
        if isinstance(found, Closure) and _returns_function(found, inside):
            return True
        is_form = isinstance(written, tree.Name) and written.name in FORMS
        return not is_form and env.star is None and _takes_star(expr)
    if isinstance(expr, tree.BlockExpr):
        return isinstance(expr.result, _FUNCTIONS_AS_WRITTEN)
    return isinstance(expr, _FUNCTIONS_AS_WRITTEN)


_FUNCTIONS_AS_WRITTEN = (tree.Arrow, tree.OperatorName, tree.Compose)


def _returns_function(found: Closure, inside: tuple[tree.Expr, ...]) -> bool:
    """Whether the body of a function is a function, as written: ``scale(c) = (v) => v * c``."""
    head = found.body.function if isinstance(found.body, tree.Call) else found.body
    passed = isinstance(head, tree.Name) and head.name in found.params
    if passed or any(body is found.body for body in inside):
        return False
    return is_functional(found.env, found.body, (*inside, found.body))


def _takes_star(expr: tree.Call) -> bool:
    """Whether an argument is written as ``*``."""
    return tree.Star in map(type, expr.args)


def _names_function(found: Lazy | Value) -> bool:
    """Whether a name stands for a function, as written."""
    return is_functional(found.env, found.expr) if isinstance(found, Lazy) else is_function(found)


def function_of(env: Env, expr: tree.Expr) -> Applicable:
    """Resolve an expression in call position; a name is resolved to the nearest function."""
    if isinstance(expr, tree.Name):
        nearest = env.nearest(expr.name)
        if isinstance(nearest, Closure):  # the usual case
            return nearest
        if nearest is None and expr.name in BUILTINS:  # the usual case otherwise
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
    """Evaluate ``f(*, y)``: a function of the arguments written as ``*``."""
    fixed = tuple(None if isinstance(a, tree.Star) else argument(env, a) for a in expr.args)

    def run(here: Env, args: tuple[Value, ...]) -> Value:
        rest = iter(args)
        full = tuple(next(rest) if a is None else force(a, expr.span) for a in fixed)
        return call_values(here, function, full, expr.span)

    return Native("", sum(a is None for a in fixed), run)


def signature(function: Applicable) -> Signature:
    """Return the number of arguments of a function; operators check theirs themselves."""
    match function:
        case Native(name=name, call=None):
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
    """Apply a function to values."""
    if isinstance(function, Closure):
        return single(_call_closure(env, function, args, span))
    if not signature(function).takes(len(args)):
        wrong_arity(title_of(function), signature(function), len(args), span)
    values, name = tuple([force(a, span) for a in args]), function.name
    if function.call is not None:
        return function.call(env, values)
    return apply(env, name, values, span) if name in FUNCTIONS else _primitive(env, name, values, span)


def _primitive(env: Env, name: str, args: tuple[Value, ...], span: Span) -> Value:
    if name in PRIMITIVES:
        return PRIMITIVES[name](env, args, span)
    if name in env.context.request.operators:
        return single(env.context.request.call_operator(env, name, args, {}, span))
    fail("T0209", f"`{name}` cannot be passed as a function", span)


def _call_closure(env: Env, function: Closure, args: tuple[Lazy | Value, ...], span: Span) -> Value | Items:
    if len(args) != len(function.params):
        wrong_arity(title_of(function), signature(function), len(args), span)
    context = env.context
    if context.request.apart is not None and context.request.apart.keeps(function.name):
        return context.request.apart.of_function(env, function, [force(arg, span) for arg in args], span)
    if context.depth >= CALL_DEPTH:
        fail("T0503", f"functions call one another more than {CALL_DEPTH} deep", span)
    inner = function.env.child(dict(zip(function.params, args, strict=True)), scope=env.scope)
    inner.calls = env.calls
    outer = None
    if function.name:
        inner.calls = Activation(function, args, span, env.calls, context.cases)
        outer = inner.calls.same_around()
        if outer is not None and outer.instead is not None:
            return outer.instead(env, args, span)
        if outer is not None:
            _check_smaller(env, inner.calls, outer)
    first = outer is None and context.is_recursive(function)
    context.depth += 1
    try:
        return _first_application(inner, function, args, span) if first else results(inner, function.body)
    except Rejected as rejected:
        if len(rejected.diagnostics[0].labels) < MAX_LABELS:
            rejected.label(Label(span, f"while applying {title_of(function)}"))
        raise
    finally:
        context.depth -= 1


def _check_smaller(env: Env, inner: Activation, outer: Activation) -> None:
    from tolcost.elaborate.recursion import check_smaller  # few programs need it

    check_smaller(env, inner, outer)


def _first_application(
    env: Env, function: Closure, args: tuple[Lazy | Value, ...], span: Span
) -> Value | Items:
    """Apply a function that applies itself: its applications are written out, or else go by levels."""
    context = env.context
    inner = env.building(env.scope.inner())
    try:
        with context.notes.attempt(inner.scope) as trial:
            found = results(inner, function.body)
            trial.keep()
    except OpenRecursion:
        from tolcost.elaborate.level_loops import by_levels  # few programs need it

        value = by_levels(env, function, args, span)
        if value is None and context.recurrences is not None:
            from tolcost.elaborate.any_parts import by_parts

            value = by_parts(env, function, args, span)
        if value is None:
            raise
        return value
    env.scope.absorb(inner.scope)
    return found


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
    """Evaluate ``outside("reason")``: the request is not a computation of the model."""
    reason = evaluate(env, expr.args[0])
    if not isinstance(reason, str):
        fail("T0411", "`outside` takes a text that says why", expr.span)
    raise Outside(Diagnostic("T0430", reason, expr.span))


@form("seq")
def _sequence_form(env: Env, expr: tree.Call) -> Value:
    values = _values(env, expr)
    check_sequence(len(values), expr.span)
    return Seq(values)
