"""Shapes and lengths: shapes of values, decisions on conditions, equality of lengths, and range checks.

A condition that cannot be proved is recorded as an assumption of the result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache, reduce
from typing import NoReturn, TypeAlias

from tolcost.algebra import (
    FALSE,
    TRUE,
    Cond,
    Eq,
    Floor,
    Ge,
    Not,
    Poly,
    Symbol,
    atom,
    conj,
    const,
    disj,
    eq,
    floordiv,
    ge,
    maximum,
    negate,
    prove,
    step_of,
    substitute,
    substitute_cond,
    symbols_of_cond,
    to_text,
)
from tolcost.algebra.conditions import asks_coordinates
from tolcost.atoms.kit import constant_symbols, defined_length
from tolcost.atoms.nodes import Component, ConditionKind, Node, Pack, Type
from tolcost.diagnostics import Label, Span, quoted
from tolcost.elaborate.environment import Context, Env, Lazy, Scope
from tolcost.elaborate.faults import Fault, Misfit, OutOfRange, RankMismatch, UnexpectedValue, fail
from tolcost.elaborate.values import (
    Cast,
    Missing,
    NodeValue,
    Quotient,
    Seq,
    Unknown,
    Value,
    ValueList,
    Vec,
    View,
    cast_of,
    is_function,
    is_static,
    plain,
    recast,
)
from tolcost.spaces import ALL, SPACES, Bounds, bounded_text, join_spaces
from tolcost.syntax import tree


def substitute_equal_lengths(context: Context, p: Poly) -> Poly:
    """Replace every length that was found equal to another."""
    equal = context.notes.equal
    while equal and not equal.keys().isdisjoint(p.free):
        p = substitute(p, equal)
    return p


LazyMessage = str | Callable[[], str]
"""A message, or a function that makes it: most messages are never needed."""

LazyHint = str | None | Callable[[], str | None]


def message_text(message: LazyMessage) -> str:
    """Return the text of a message."""
    return message if isinstance(message, str) else message()


Shape: TypeAlias = tuple[Poly, ...]


class _LeftOpen(threading.local):
    """What was asked and lengths left open: conditions, and whether the lengths of a shape are numbers."""

    asked: dict[Cond | Shape, None] | None = None


_LEFT_OPEN = _LeftOpen()


@contextmanager
def recording() -> Iterator[dict[Cond | Shape, None]]:
    """Record every condition and every shape that is asked about inside and left open."""
    before, asked = _LEFT_OPEN.asked, dict[Cond | Shape, None]()
    _LEFT_OPEN.asked = asked
    try:
        yield asked
    finally:
        _LEFT_OPEN.asked = before


def try_prove(condition: Cond, facts: tuple[Cond, ...] = ()) -> bool | None:
    """Prove or refute a condition; None also if a divisor in it can be 0."""
    try:
        verdict = prove(condition, facts)
    except ZeroDivisionError:
        verdict = None
    if verdict is None:
        leave_open(condition)
    return verdict


def leave_open(question: Cond | Shape) -> None:
    """Record that lengths do not answer a question."""
    if _LEFT_OPEN.asked is not None:
        _LEFT_OPEN.asked[question] = None


def is_same_shape(one: Shape, other: Shape) -> bool:
    """Whether two shapes are seen to be the same; where lengths leave that open, they count as different."""
    if one != other and len(one) == len(other):
        leave_open(conj(*(eq(a - b) for a, b in zip(one, other, strict=True))))
    return one == other


def decide(env: Env, condition: Cond) -> Cond:
    """Return TRUE or FALSE if that can be proved here, else the condition itself.

    In a block that is never visited nothing is decided: every condition could be proved there, so the choice
    would be arbitrary.
    """
    if condition is TRUE or condition is FALSE or env.scope.never:
        return condition
    if env.context.notes.equal:
        condition = substitute_cond(condition, env.context.notes.equal)
    verdict = try_prove(condition, facts_here(env))
    return condition if verdict is None else TRUE if verdict else FALSE


def facts_here(env: Env) -> tuple[Cond, ...]:
    """Return the facts that hold in the current block."""
    notes, facts = env.context.notes, env.scope.facts
    if notes.data_equations:
        facts = (*facts, *notes.data_equations)
    return tuple(substitute_cond(fact, notes.equal) for fact in facts) if notes.equal else facts


def unify(
    env: Env, left: Poly, right: Poly, what: LazyMessage, span: Span, but: LazyMessage | None = None
) -> Poly:
    """Make two lengths equal: prove it, or adopt it as an equation, or reject the program.

    ``what`` describes the equation, and ``but`` adds to it in the message on lengths that differ.
    """
    context = env.context
    left, right = substitute_equal_lengths(context, left), substitute_equal_lengths(context, right)
    if left == right:
        return left
    verdict = try_prove(eq(left - right), facts_here(env))
    if verdict is True:
        return left

    def refuse(definite: bool = False) -> NoReturn:
        reason = message_text(what if but is None else but)
        message = f"lengths {to_text(left)} and {to_text(right)} differ, but {reason}"
        fail("T0301", message, span, kind=Misfit, definite=definite)

    if verdict is False:
        refuse(definite=True)
    solved = solve(left - right)
    everywhere = at_all_places(env, eq(left - right), refuse)
    if everywhere is TRUE:
        return left
    context.notes.record(everywhere, "equal", message_text(what), span)
    if solved is not None:
        symbol, value = solved
        context.notes.adopt(symbol, value)
        if _has_contradiction(context):
            refuse(definite=True)
        return substitute_equal_lengths(context, left)
    if not any(s.kind == "coord" for s in (left - right).free):
        context.notes.agree(eq(left - right))
    return left


def _has_contradiction(context: Context) -> bool:
    """Whether a recorded equality is false, now that another length is known."""
    notes = context.notes
    equal = (c for c, told in notes.conditions.items() if told.kind == "equal")
    return any(substitute_cond(c, notes.equal) is FALSE for c in equal)


def solve(difference: Poly) -> tuple[Symbol, Poly] | None:
    """Solve ``difference == 0`` for a length, in terms of the others.

    Later names are replaced by earlier ones, so that ``k2`` becomes ``k`` and not the reverse.
    """
    if any(s.kind == "coord" for s in difference.free):
        return None
    for symbol in sorted(difference.free, key=lambda s: (s.name, s.serial), reverse=True):
        for sign in (1, -1):
            value = difference * -sign + atom(symbol)
            if symbol not in value.free and symbol.kind == "length":
                return symbol, value
    return None


def require(
    env: Env,
    condition: Cond,
    reason: str,
    span: Span,
    message: LazyMessage,
    kind: ConditionKind = "range",
    code: str = "T0302",
    hint: LazyHint = None,
) -> bool:
    """Prove a condition, record the part of it that depends on lengths alone, or reject the program.

    Returns whether it was proved.
    """
    if condition is TRUE:  # the usual case
        return True
    return required(env, condition, reason, span, message, kind, code, hint) is TRUE


def required(
    env: Env,
    condition: Cond,
    reason: str,
    span: Span,
    message: LazyMessage,
    kind: ConditionKind = "range",
    code: str = "T0302",
    hint: LazyHint = None,
) -> Cond:
    """Act like ``require``, and return the part of the condition that is left: TRUE if it was proved.

    In a block that is never visited nothing is required.
    """
    verdict = decide(env, condition)
    if verdict is TRUE or env.scope.never or not env.scope.checked:
        return verdict if verdict is TRUE else FALSE

    def refuse(definite: bool = False) -> NoReturn:
        told = hint() if callable(hint) else hint
        fail(code, message_text(message), span, told, kind=OutOfRange, definite=definite)

    if verdict is FALSE:
        refuse(definite=True)
    everywhere = at_all_places(env, verdict, refuse)
    if everywhere is not TRUE:
        env.context.notes.record(everywhere, kind, reason, span)
    return everywhere


def require_length(
    env: Env,
    value: Poly,
    span: Span,
    reason: str = "a length is not negative",
    message: LazyMessage | None = None,
) -> Poly:
    """Require a formula to be a length, and return it, clipped at 0 where it may be negative.

    A run takes a negative length for 0 at coordinates where lengths alone do not exclude it, and in an empty
    range, whose body still has a shape.
    """
    condition = ge(value)
    if condition is TRUE:  # the usual case
        return value
    if env.scope.never:
        return maximum(value, 0)
    told = message or (lambda: f"this length is negative: {to_text(value)}")
    before = len(env.context.notes.unproved)
    if require(env, condition, reason, span, told):
        return maximum(value, 0) if _holds_only_if_visited(env, condition) else value
    return value if len(env.context.notes.unproved) == before else maximum(value, 0)


def _holds_only_if_visited(env: Env, condition: Cond) -> bool:
    """Whether a condition on lengths, proved here, may fail where lengths make a range around it empty."""
    scope = env.scope
    if not scope.visited or any(s.kind == "coord" for s in symbols_of_cond(condition)):
        return False
    kept = [f for f in scope.facts if f not in scope.visited]
    return try_prove(condition, (*kept, *env.context.notes.data_equations)) is not True


def at_all_places(env: Env, condition: Cond, refuse: Callable[[], NoReturn]) -> Cond:
    """Reduce an open condition to lengths alone, so that it holds at every coordinate.

    At the worst coordinates, the facts about lengths may prove it. A condition that cannot be reduced, or
    that stands under a guard on coordinates, is returned as it is, and left for a run to check.
    """
    # Under a guard on coordinates, the worst case may lie where the guard excludes it.
    guarded = any(s.kind == "coord" for fact in env.scope.facts for s in symbols_of_cond(fact))
    worst = None if guarded else worst_case(condition)
    if not guarded and _is_broken(condition, worst, facts_here(env)):
        if not env.scope.naming:
            refuse()
        worst = None  # a named value may be used only where it is in range
    if worst is None or worst == condition:
        return condition
    return TRUE if decide(env, worst) is TRUE else worst


def _is_broken(condition: Cond, worst: Cond | None, facts: tuple[Cond, ...]) -> bool:
    """Whether a condition fails at some coordinate for all lengths: at the worst one, or else at an end."""
    if worst is None:
        return any(try_prove(_at_end(condition, is_last), facts) is False for is_last in (True, False))
    return worst is FALSE or (worst != condition and try_prove(worst, facts) is False)


def is_reached(condition: Cond, facts: tuple[Cond, ...]) -> bool:
    """Whether a condition holds at the first or the last of all coordinates, together with the facts."""
    whole = conj(condition, *facts)
    return any(try_prove(_at_end(whole, is_last), facts) is True for is_last in (False, True))


def _at_end(condition: Cond, is_last: bool) -> Cond:
    """Return the condition with every coordinate at its last or first value.

    If a range may be empty, return the condition itself.
    """
    found = condition
    while coordinates := [s for s in symbols_of_cond(found) if s.kind == "coord"]:
        symbol = max(coordinates, key=lambda s: s.depth)
        if symbol.lo is None or symbol.hi is None or try_prove(ge(symbol.hi - symbol.lo)) is not True:
            return condition
        try:
            found = substitute_cond(found, {symbol: symbol.hi if is_last else symbol.lo})
        except ZeroDivisionError:
            return condition
    return found


@lru_cache(maxsize=1 << 10)
def worst_case(condition: Cond) -> Cond | None:
    """Return a condition on lengths alone that says the same: the condition at its worst coordinates.

    Where lengths make a range empty there is nothing to check, and the condition holds. The result is None
    if no coordinate is shown to be the worst, or if data decides whether a range is empty: a run checks it.

    >>> from tolcost.algebra import cond_text, coordinate, length
    >>> n, m = length("n"), length("m", 0)
    >>> cond_text(worst_case(ge(n - coordinate("i", m) - 3)))  # x[i + 3] for each of m places
    'n >= m + 3 or m <= 0'
    """
    try:
        return _reduce_to_worst(condition)
    except ZeroDivisionError:
        return None


def _reduce_to_worst(condition: Cond) -> Cond | None:
    """Put each coordinate at the end of its range at which the condition is hardest to meet.

    ``idle`` is the case in which some range has no coordinate at all.
    """
    if isinstance(condition, Eq) and any(s.kind == "coord" for s in condition.p.free):
        above, below = _reduce_to_worst(ge(condition.p)), _reduce_to_worst(ge(-condition.p))
        return None if above is None or below is None else conj(above, below)
    if isinstance(condition, Not) and isinstance(condition.part, Eq):
        return _nowhere_zero(condition.part.p)
    if not isinstance(condition, Ge):
        return None
    p = condition.p
    idle: Cond = FALSE
    for _ in range(16):
        coordinates = [s for s in p.free if s.kind == "coord"]
        if not coordinates:
            found = condition if p is condition.p else ge(p)
            return found if idle is FALSE or try_prove(found, (idle,)) is True else disj(found, idle)
        symbol = max(coordinates, key=lambda s: (s.depth, s.key))  # the other coordinates may bound it
        slope = step_of(p, symbol)
        if symbol.lo is None or symbol.hi is None:
            return None
        if try_prove(ge(symbol.hi - symbol.lo)) is not True:
            idle = disj(idle, ge(symbol.lo - symbol.hi - 1))
            if any(s.kind != "length" for s in symbols_of_cond(idle)):
                return None
        if try_prove(ge(slope)) is True:
            p = substitute(p, {symbol: symbol.lo})
        elif try_prove(ge(-slope)) is True:
            p = substitute(p, {symbol: symbol.hi})
        else:
            least = _with_least_remainder(p, symbol, symbol.hi - symbol.lo + 1)
            if least is None:
                return TRUE if _is_square_from_0_on(p, symbol) else None
            p = least
    return None


def _nowhere_zero(p: Poly) -> Cond | None:
    """Return the condition that a coordinate avoids the zero of a form that has at most one zero.

    >>> from tolcost.algebra import coordinate, length
    >>> _nowhere_zero(coordinate("i", length("n")) - 2)
    Ge(p=1 - n)
    """
    coordinates = [s for s in p.free if s.kind == "coord"]
    if len(coordinates) != 1:
        return None
    (symbol,) = coordinates
    step = step_of(p, symbol).constant
    if symbol.lo is None or symbol.hi is None or step not in (1, -1):
        return None
    place = atom(symbol) - p * step
    return disj(ge(symbol.lo - place - 1), ge(place - symbol.hi - 1))


def _is_square_from_0_on(p: Poly, symbol: Symbol) -> bool:
    """Whether a form is a quadratic in a coordinate with numeric coefficients that is never negative.

    >>> from tolcost.algebra import coordinate, the_symbol
    >>> i = coordinate("i", 9)
    >>> [_is_square_from_0_on(i * i - 6 * i + c, the_symbol(i)) for c in (10, 9, 8)]
    [True, True, False]
    """
    slope = step_of(p, symbol)
    bend = step_of(slope, symbol).constant
    first = substitute(slope, {symbol: 0}).constant
    if bend is None or bend <= 0 or first is None:
        return False
    lowest = -(first // bend)  # from there on it does not fall
    return try_prove(ge(substitute(p, {symbol: lowest}))) is True


def _with_least_remainder(p: Poly, symbol: Symbol, count: Poly) -> Poly | None:
    """Return the least value of a form whose coordinate occurs in one remainder only, taking all values."""
    for floor in {g for mono in p.terms for g in mono if isinstance(g, Floor) and symbol in g.p.free}:
        step = step_of(floor.p, symbol)
        if step.constant not in (1, -1) or symbol in floor.q.free:
            continue
        if try_prove(ge(count - floor.q)) is not True:
            continue
        remainder = floor.p - floor.q * floordiv(floor.p, floor.q)
        for rest, least in ((p - remainder, const(0)), (p + remainder, 1 - floor.q)):
            if symbol not in rest.free:
                return rest + least
    return None


AT_LEAST_1 = "an index is at least 1"
INSIDE = "an index stays inside its dimension"
"""The reasons of the conditions on an index."""


def check_index(env: Env, index: Poly, extent: Poly, span: Span, where: LazyMessage) -> Cond:
    """Check that an index is within its dimension; return the condition that is left for a run to check."""

    def message() -> str:
        beside = f"index {to_text(index)} is outside 1..{to_text(extent)} {message_text(where)}".rstrip()
        place = index.constant
        if place is None or place > 0:
            return beside
        return f"{beside}: the {'last' if place else 'first'} is {to_text(extent) if place else 1}"

    def low() -> str | None:
        return _from_1(span) if index.constant == 0 else _first(index)

    from_1 = required(env, ge(index - 1), AT_LEAST_1, span, message, hint=low)
    to_end = required(env, ge(extent - index), INSIDE, span, message, hint=lambda: _shorter(index, extent))
    notes = env.context.notes
    if (
        from_1 is TRUE and to_end is TRUE and not notes.equal and not notes.data_equations
    ):  # these equations may be discarded with a trial
        env.scope.in_range.add((index, extent))
    return conj(*filter(asks_coordinates, (from_1, to_end)))


def _from_1(span: Span) -> str:
    """Return a hint for an index that is 0: if none is written there, it may be an element of zeros."""
    if "0" in span.text:
        return "counting starts at 1"
    example = "reduce(tol[n], (a, z) => a + x[i], 0, [i])"
    return f"counting starts at 1, and elements of `tol[n]` are 0: a coordinate stands in brackets, {example}"


def _first(index: Poly) -> str | None:
    """Return a hint for an index such as ``i - 1``, which is 0 or less at the first coordinates.

    >>> from tolcost.algebra import coordinate
    >>> _first(coordinate("i", 8) - 1)
    'at the first `i` it is 0, and counting starts at 1'
    """
    symbol = _moving(index)
    if symbol is None or symbol.lo is None:
        return None
    first = substitute(index, {symbol: symbol.lo}).constant
    if first is None or first > 0:
        return None
    return f"at the first `{symbol.name}` it is {first}, and counting starts at 1"


def _shorter(index: Poly, extent: Poly) -> str | None:
    """Return a hint for an index such as ``i + 1``, which leaves a dimension at the last coordinates.

    >>> from tolcost.algebra import coordinate
    >>> _shorter(coordinate("i", 8) + 1, const(8))
    '`i` runs up to 8; let it run over a shorter range, such as tol[7]'
    """
    symbol = _moving(index)
    steps = None if symbol is None else (index - atom(symbol)).constant
    if symbol is None or symbol.hi is None or steps is None or steps < 0:
        return None
    said = f"`{symbol.name}` runs up to {to_text(symbol.hi)}"
    return f"{said}; let it run over a shorter range, such as tol[{to_text(extent - steps)}]"


def _moving(index: Poly) -> Symbol | None:
    """Return the coordinate of an index that has one."""
    moving = [symbol for symbol in index.free if symbol.kind == "coord"]
    return moving[0] if len(moving) == 1 else None


def is_seen_inside(env: Env, index: Poly, extent: Poly) -> bool:
    """Whether an index needs no proof: it is a coordinate up to this length, or a number in range.

    An index that was proved to be in range before needs none, either.
    """
    place, size = index.constant, extent.constant
    if place is not None and size is not None and 1 <= place <= size:
        return True
    if len(index.terms) == 1:
        ((mono, coef),) = index.terms.items()
        if coef == 1 and len(mono) == 1 and isinstance(mono[0], Symbol):
            low, high = mono[0].lo, mono[0].hi
            if low is not None and low.constant == 1 and (high is extent or high == extent):
                return True
    known = env.scope.in_range
    return bool(known) and (index, extent) in known


def shape_of(env: Env, value: Value, span: Span) -> Shape:
    """Return the shape of a value; ``()`` for a numeric."""
    if isinstance(value, Poly):
        return ()
    if isinstance(value, NodeValue):
        return substitute_in_shape(env, value.node.type[0].shape)
    if isinstance(value, View):
        return substitute_in_shape(env, value.shape)
    match value:
        case Vec(shape=shape):
            return tuple([const(d) for d in shape])
        case ValueList(items=items):
            return shape_of(env, items[0], span)
        case Cast(value=inner):
            return shape_of(env, inner, span)
        case Seq(items=items):
            return (const(len(items)),)
        case Missing(name=name):
            fail(
                "T0401",
                f"`{name}` is optional and was not given",
                span,
                hint=f"guard its use: where(given({name}), ..., ...)",
            )
        case Unknown():
            fail("T0403", "something that only running tells stands where a ToL is needed", span)
        case _ if is_function(value):
            fail("T0402", "a function stands where a value is needed", span)
        case _:
            return ()


def substitute_in_shape(env: Env, shape: Shape) -> Shape:
    """Replace every length in a shape that was found equal to another."""
    if not env.context.notes.equal:
        return shape
    return tuple([substitute_equal_lengths(env.context, length) for length in shape])


def space_of(value: Value) -> str:
    """Return the space of a value's (first) elements.

    Static numerics have the smallest space that holds them.
    """
    match value:
        case NodeValue(node=node):
            return node.type[0].space
        case Poly():
            return "Z"
        case View(space=space) | Cast(space=space):
            return space
        case Vec(items=items) | ValueList(items=items):
            return reduce(join_spaces, map(space_of, items)) if items else "Z"
        case float() | Quotient() | Fraction():  # the check for a fraction is the slowest, so it comes late
            return "R"
        case complex():
            return "C"
        case str():
            return "S"
        case _ if isinstance(value, Cond):
            return "B"
        case _:
            return "Z"


def joint_space(values: Iterable[Value]) -> str | None:
    """Return the machine type of values of which some are static with an explicit space; otherwise None."""
    values = tuple(values)
    if Cast not in map(type, values):
        return None
    joined = reduce(join_spaces, map(space_of, values))
    return joined if SPACES[joined].finite else None


def known(shape: Shape) -> tuple[int, ...] | None:
    """Return the lengths as numbers, if all of them are."""
    numbers = tuple([d.constant for d in shape])
    if None not in numbers:
        return numbers  # type: ignore[return-value]
    leave_open(shape)
    return None


def shape_text(shape: Shape) -> str:
    """Print a shape as a person would write it."""
    return "[" + ", ".join(to_text(d) for d in shape) + "]"


# ---- labels: where shapes come from --------------------------------------------------------


def label_operands(misfit: Misfit, env: Env, span: Span, operands: Iterable[tuple[tree.Expr, Value]]) -> None:
    """Label each operand of a misfit at ``span`` with its shape, at its declaration if possible."""
    head = misfit.diagnostics[0]
    if not head.labels and head.span == span:
        labels = (label for expr, value in operands for label in _labels(env, expr, value))
        misfit.label(*dict.fromkeys(labels))


def _labels(env: Env, expr: tree.Expr, value: Value) -> Iterator[Label]:
    value = plain(value)
    if (
        is_function(value)
        or isinstance(value, Missing)
        or (is_static(value) and not isinstance(expr, tree.Name))
    ):
        return
    shape = shape_of(env, value, expr.span)
    if not shape and not isinstance(expr, tree.Name):
        return
    told = f"has shape {shape_text(shape)}" if shape else "is a number"
    if isinstance(value, ValueList):
        told = f"is a list of {len(value.items)}"
    declared = _declaration_of(env, expr.name) if isinstance(expr, tree.Name) else None
    if isinstance(expr, tree.Name) and declared is not None:
        yield Label(declared, f"`{expr.name}` {told}")
    else:
        yield Label(expr.span, f"this {told}")


def _declaration_of(env: Env, name: str) -> Span | None:
    """Return the place where a name is defined in the text, if it is."""
    found = env.nearest(name)
    if isinstance(found, Lazy) and found.expr is not None:
        return found.expr.span
    return env.context.declared.get(name)


# --- Lists, component by component. The components of a list may differ in shape and space. ``shape_of``
# returns the shape of the first; the functions here consider all of them.


def is_told_by_data(scope: Scope, value: Value) -> bool:
    """Whether a static value may tell what data decides in a block, such as how often a loop turns.

    Outside of the block it is another one at each place, or there is none.
    """
    told = {defined_length(node) for _, node in scope.bindings} - {None}
    return bool(told) and _may_mention(value, told)


def _may_mention(value: Value, lengths: Set[Symbol | None]) -> bool:
    value = plain(value)
    if isinstance(value, (Vec, ValueList)):
        return any(_may_mention(item, lengths) for item in value.items)
    if isinstance(value, (Poly, Cond)):
        return not lengths.isdisjoint(constant_symbols(value))
    return isinstance(value, (View, Quotient))  # these may, and asking each entry takes long


def capacity(value: Value) -> int:
    """Return the number of components of a value, or of each element of it."""
    if isinstance(value, NodeValue):
        return len(value.node.type)
    if isinstance(value, View):
        return value.capacity
    if isinstance(value, ValueList):
        return len(value.items)
    return capacity(value.value) if isinstance(value, Cast) else 1


def component(value: Node, j: int) -> Node:
    """Return component ``j`` of a list (Π'); of a fresh pack, the item itself."""
    if isinstance(value, Pack) and all(len(item.type) == 1 for item in value.items):
        return value.items[j - 1]
    return Component(value, j, (value.type[j - 1],))


def pick_component(env: Env, base: Value, j: int, span: Span) -> Value:
    """Return component ``j`` of a list."""
    if isinstance(base, ValueList):
        check_component(j, len(base.items), span)
        return base.items[j - 1]
    check_component(j, capacity(base), span)
    match base:
        case NodeValue(node=node) if len(node.type) > 1:
            return NodeValue(component(env.scope.bind(node), j), base.static)
        case View(shape=shape, get=get, static=static, space=space) if base.capacity > 1:
            return View(shape, lambda here, at: pick_component(here, get(here, at), j, span), static, space)
        case Cast(value=inner, space=space):
            return recast(pick_component(env, inner, j, span), space)
        case _:
            return base


def check_component(j: int, size: int, span: Span) -> None:
    """Reject a component number out of range."""
    if not 1 <= j <= size:
        fail("T0314", f"component {j} of a list of capacity {size}", span, definite=True)


def require_components(given: int, carried: int, span: Span) -> None:
    """Reject a step that gives more or fewer components than its accumulator has."""
    if given != carried:
        message = f"the accumulator is a list of {carried}, but a step gives {given}"
        fail("T0327", message, span, kind=RankMismatch)


def components(env: Env, value: Value, span: Span) -> tuple[Value, ...]:
    """Return all components of a list; any other value is its only component."""
    if isinstance(value, ValueList):
        return value.items
    return tuple(pick_component(env, value, j, span) for j in range(1, capacity(value) + 1))


def each(value: ValueList, do: Callable[[Value], Value]) -> ValueList:
    """Apply a function to each component of a list; each keeps its explicit space."""
    return ValueList(tuple(recast(do(plain(item)), cast_of(item)) for item in value.items))


def component_shapes(env: Env, value: Value, span: Span) -> list[Shape]:
    """Return the shape of each component of a list; of any other value, its own shape."""
    match value:
        case ValueList(items=items):
            return [shape_of(env, item, span) for item in items]
        case NodeValue(node=node):
            return [substitute_in_shape(env, part.shape) for part in node.type]
        case _:
            return [shape_of(env, value, span)] * capacity(value)


def domain_shape(env: Env, value: Value, span: Span) -> Shape:
    """Return the domain of a map or reduce: the shape of the first ToL, with which others must begin."""
    first, *others = component_shapes(env, value, span)
    for other in others:
        for x, y in zip(first, other, strict=False):
            if x is not y:
                unify(env, x, y, "the ToLs of a list that is walked over must have one shape", span)
    return first


def _has_one_shape(parts: Type) -> bool:
    return len(parts) == 1 or all(part.shape == parts[0].shape for part in parts)


def split_if_uneven(env: Env, value: Value) -> Value:
    """Split a data list into components if its ToLs have different shapes.

    Return any other value as it is.
    """
    if not isinstance(value, NodeValue) or _has_one_shape(value.node.type):
        return value
    whole = env.scope.bind(value.node)
    return ValueList(tuple(NodeValue(component(whole, j + 1), value.static) for j in range(len(whole.type))))


# === Bounds of static values: numbers are checked now, and what depends on lengths becomes a condition.
#
# Values that data decides are checked during a run.


BOUNDS_CODE = "T0349"


def check_within(
    env: Env, value: Value, space: str, bounds: Bounds, span: Span, name: str | None = None
) -> None:
    """Check that a static value lies in its space; where lengths decide, record a condition of the result.

    ``name`` is the input that the value is given for.
    """
    if bounds is ALL:  # every value is within these bounds
        return
    match plain(value):
        case Vec(items=items):
            for item in items:
                check_within(env, item, space, bounds, span, name)
        case Poly(constant=None) as form:
            _require_bounds(env, form, space, bounds, span)
        case Poly(constant=number) if number is not None and number not in bounds:
            _reject_outside(number, space, bounds, span, name)
        case Fraction() | float() as number if number not in bounds:
            _reject_outside(number, space, bounds, span, name)
        case _:
            pass


def _reject_outside(
    number: int | float | Fraction, space: str, bounds: Bounds, span: Span, name: str | None
) -> None:
    shown = number if not isinstance(number, Fraction) else float(number)
    given = "" if name is None else f" given for {quoted(name)}, and is"
    text = f"{shown} is{given} not in {bounded_text(space, bounds)}"
    hint = f"its values are {bounds}"
    fail(BOUNDS_CODE, text, span, hint, kind=UnexpectedValue if name else Fault, definite=True)


def _require_bounds(env: Env, form: Poly, space: str, bounds: Bounds, span: Span) -> None:
    conditions = [
        *([ge(form - bounds.lo)] if isinstance(bounds.lo, int) else []),
        *([ge(bounds.hi - form)] if isinstance(bounds.hi, int) else []),
        *([] if bounds.zero else [negate(eq(form))]),
    ]
    for condition in conditions:
        where = bounded_text(space, bounds)
        message = f"{to_text(form)} is not in {where}, whose values are {bounds}"
        require(env, condition, f"the value lies in {where}", span, message, code=BOUNDS_CODE)
