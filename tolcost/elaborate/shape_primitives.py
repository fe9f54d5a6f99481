"""Primitives about shapes, spaces and lengths."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

from tolcost.algebra import (
    FALSE,
    TRUE,
    Cond,
    Poly,
    Symbol,
    ceil_log2,
    const,
    disj,
    eq,
    exact_div,
    length,
    negate,
    only_symbol,
    product_of,
    to_text,
)
from tolcost.atoms.nodes import ConditionKind, Convert, Node, Part
from tolcost.diagnostics import Span, on_one_line, quoted
from tolcost.elaborate.apply import apply, static_in
from tolcost.elaborate.environment import Env
from tolcost.elaborate.faults import Fault, Misfit, UnexpectedValue, fail
from tolcost.elaborate.layout import describe, emit, integers, made_of
from tolcost.elaborate.shapes import (
    Shape,
    capacity,
    check_within,
    component_shapes,
    components,
    decide,
    require,
    shape_of,
    space_of,
    split_if_uneven,
    substitute_equal_lengths,
    unify,
)
from tolcost.elaborate.signatures import (
    anything,
    integer,
    no_sequence,
    primitive,
    space_list,
    space_name,
    space_names,
    text,
    tol,
    vector,
)
from tolcost.elaborate.static_numbers import integer_division
from tolcost.elaborate.values import (
    Cast,
    NodeValue,
    Seq,
    Spaces,
    Value,
    ValueList,
    Vec,
    View,
    is_static,
    is_tol,
    plain,
)
from tolcost.elaborate.whole_numbers import is_whole
from tolcost.spaces import ALL, SPACES, bounds_of, kind_of
from tolcost.syntax.names import similar

# === The primitives.


@primitive("shape", tol)
def _shape(env: Env, span: Span, value: Value) -> Value:
    shape = shape_of(env, value, span)
    return Vec((len(shape),), shape, loose=True)


@primitive("dim", tol)
def _dim(env: Env, span: Span, value: Value) -> Value:
    return const(len(shape_of(env, value, span)))


@primitive("capacity", tol)
def _capacity(env: Env, span: Span, value: Value) -> Value:
    return const(capacity(value))


@primitive("vol", tol)
def _vol(env: Env, span: Span, value: Value) -> Value:
    found = const(0)
    for shape in component_shapes(env, value, span):
        found = found + product_of(shape)
    return found


# ---- spaces ------------------------------------------------------------------------------


@primitive("space", anything)
def _space(env: Env, span: Span, given: Value) -> Value:
    """Return the spaces of a value; a static value may have an explicit space."""
    if isinstance(given, Cast):
        return Spaces((given.space,))
    env.context.asked += 1
    value = tol(env, given, span)
    match value:
        case NodeValue(node=node):
            return Spaces(tuple(p.space for p in node.type))
        case ValueList(items=items):
            return Spaces(tuple(space_of(item) for item in items))
        case Vec(items=items, shape=(_,)) if is_static(value) and len({space_of(i) for i in items}) > 1:
            return Spaces(tuple(_default_space(item) for item in items))
        case _:
            return Spaces((_default_space(value),))


def _default_space(value: Value) -> str:
    number = value.constant if isinstance(value, Poly) else None
    return "N" if number is not None and number > 0 else space_of(value)


@primitive("convert", no_sequence, space_list)
def _convert(env: Env, span: Span, value: Value, target: Spaces) -> Value:
    spaces = target.names
    if len(spaces) not in (1, capacity(value)):
        fail("T0409", f"{len(spaces)} spaces for a list of capacity {capacity(value)}", span)
    if isinstance(value, ValueList) or (isinstance(value, View) and len(spaces) > 1):
        return _convert_each(env, span, components(env, value, span), target)
    if is_static(value) and len(spaces) == 1 and (not isinstance(value, NodeValue) or is_tol(value)):
        check_within(env, value, spaces[0], target.within[0], span)
        env.context.asked += 1  # no node remains to show that it was converted
        return static_in(env, value, spaces[0], span)
    node = emit(env, value, span)
    if len(spaces) < len(node.type):
        target = Spaces(spaces * len(node.type), target.within * len(node.type))
    if not is_static(value) and _rounds(env, node, target):
        return _convert_rounding(env, span, node, target)
    parts = tuple(Part(p.shape, s) for p, s in zip(node.type, target.names, strict=True))
    kept = all(bounds == bounds_of(p.space) for bounds, p in zip(target.within, node.type, strict=True))
    free = kept or all(bounds is ALL for bounds in target.within)
    converted = Convert(node, parts, within=() if free else target.within, span=span)
    return NodeValue(converted, is_static(value))


def _rounds(env: Env, node: Node, target: Spaces) -> bool:
    """Whether reals that may not be integral become integers."""
    pairs = zip(node.type, target.names, strict=True)
    if not any(kind_of(part.space) == "R" and kind_of(name) == "Z" for part, name in pairs):
        return False
    env.context.notes.looked += 1
    return not is_whole(env.scope, node)


def _convert_rounding(env: Env, span: Span, node: Node, target: Spaces) -> Value:
    """Convert values by rounding, component by component: an elementary function of each element."""
    if len(target.names) == 1:
        return _convert(env, span, apply(env, "round", (NodeValue(node),), span), target)
    return _convert_each(env, span, components(env, NodeValue(node), span), target)


def _convert_each(env: Env, span: Span, items: tuple[Value, ...], target: Spaces) -> Value:
    """Convert the components of a list, each to its own space, or all to one."""
    size = len(items) if len(target.names) == 1 else 1
    spaces = [Spaces((n,), (w,)) for n, w in zip(target.names * size, target.within * size, strict=True)]
    pairs = zip(map(plain, items), spaces, strict=True)
    return ValueList(tuple(_convert(env, span, item, one) for item, one in pairs))


@primitive("bitcast", anything, space_name)
def _bitcast(env: Env, span: Span, value: Value, target: str) -> Value:
    """Reinterpret the bits as elements of another space of the same width; free."""
    node = emit(env, split_if_uneven(env, value), span)
    for part in node.type:
        if SPACES[part.space].bits is None or SPACES[part.space].bits != SPACES[target].bits:
            fail("T0415", f"{part.space} and {target} do not have the same number of bits", span)
    read = Convert(node, tuple(Part(p.shape, target) for p in node.type), bits=True, span=span)
    return made_of(env, read, value)


@primitive("kind", space_names)
def _kind(env: Env, span: Span, spaces: tuple[str, ...]) -> Value:
    return kind_of(spaces[0])


@primitive("lo", space_names)
def _lo(env: Env, span: Span, spaces: tuple[str, ...]) -> Value:
    return _as_static(SPACES[spaces[0]].lo, -math.inf)


@primitive("hi", space_names)
def _hi(env: Env, span: Span, spaces: tuple[str, ...]) -> Value:
    return _as_static(SPACES[spaces[0]].hi, math.inf)


def _as_static(bound: float | int | None, otherwise: float) -> Value:
    if bound is None:
        return otherwise
    return const(bound) if isinstance(bound, int) else Fraction(bound)


# ---- lengths -----------------------------------------------------------------------------


@primitive("exact", integer, integer)
def _exact(env: Env, span: Span, a: Poly, b: Poly) -> Value:
    """Return ``a / b`` where ``b`` is meant to divide ``a``.

    If that is undecided, assume it as a condition.
    """
    written, a, b = a, substitute_equal_lengths(env.context, a), substitute_equal_lengths(env.context, b)
    found = exact_div(a, b)
    if found is not None:
        return found
    if a.constant is not None and b.constant is not None:
        fail("T0321", f"{b.constant} does not divide {a.constant}", span, kind=Misfit, definite=True)
    symbol = _divided_length(a, b)
    if symbol is not None:
        name = (_divided_length(written, b) or symbol).name
        share = length(env.context.unused(f"{name}_share"))
        env.context.notes.record(eq(written - b * share), "divides", "the length divides", span)
        env.context.notes.adopt(symbol, b * share)
        return share
    quotient = integer_division(env, span, a, b)
    require(env, eq(a - b * quotient), "the length divides", span, "the length does not divide", "divides")
    return quotient


def _divided_length(a: Poly, b: Poly) -> Symbol | None:
    """Return the length that is divided, if the divisor is the same at every coordinate."""
    if b.constant == 0 or any(s.kind != "length" for s in a.free | b.free):
        return None
    return only_symbol(a)


@primitive("halvings", integer)
def _halvings(env: Env, span: Span, a: Poly) -> Value:
    """Return how often a length is halved, rounded up, until 1 is left: the least p with ``2^p >= a``."""
    return ceil_log2(a)


def _check_ranks(left: Shape, right: Shape, span: Span) -> None:
    if len(left) != len(right):
        fail("T0301", f"{len(left)} lengths against {len(right)}", span, kind=Misfit, definite=True)


@primitive("same", integers, integers)
def _same(env: Env, span: Span, left: Shape, right: Shape) -> Value:
    _check_ranks(left, right, span)
    says = "says that they are equal"
    merged = tuple(
        unify(env, a, b, f"`same` {says}", span, lambda: f"`{on_one_line(span)}` {says}")
        for a, b in zip(left, right, strict=True)
    )
    return merged[0] if len(merged) == 1 else Vec((len(merged),), merged)


@primitive("agree", integers, integers)
def _agree(env: Env, span: Span, left: Shape, right: Shape) -> Value:
    """Return the first of two shapes that state the same lengths.

    Unlike with ``same``, neither replaces the other: an undecided equality is a condition of the result.
    """
    _check_ranks(left, right, span)
    for a, b in zip(left, right, strict=True):
        equal = decide(env, eq(a - b))
        if equal is FALSE:
            message = f"lengths {to_text(a)} and {to_text(b)} differ, but must agree"
            fail("T0301", message, span, kind=Misfit, definite=True)
        if equal is not TRUE:
            _record_assumption(env, span, equal, "equal", "lengths that are said twice agree")
    return left[0] if len(left) == 1 else Vec((len(left),), left)


@primitive("apart", integer, integer)
def _apart(env: Env, span: Span, a: Poly, b: Poly) -> Value:
    """Whether two lengths differ; if that is undecided, assume that they differ and record it."""
    equal = decide(env, eq(a - b))
    if equal is TRUE or equal is FALSE:
        return negate(equal)
    env.context.notes.record(negate(equal), "differ", "the lengths differ", span)
    return TRUE


@primitive("bdim", integer, integer)
def _bdim(env: Env, span: Span, a: Poly, b: Poly) -> Value:
    if a.constant == 1:
        return b
    return a if b.constant == 1 else unify(env, a, b, "broadcast lengths must agree", span)


# ---- membership and distinctness -----------------------------------------------------------


@primitive("oneof", anything, vector)
def _oneof(env: Env, span: Span, value: Value, allowed: tuple[Value, ...]) -> Value:
    """Require a text or number to be among the allowed ones.

    An undecided case is a condition of the result.
    """
    found = [_equal(env, span, value, one) for one in allowed]
    if any(equal is TRUE for equal in found):
        return value
    if any(equal is not FALSE for equal in found):
        _record_assumption(env, span, disj(*found), "range", "the value is one of some")
        return value
    source = env.context.argument_named(value)
    given = "" if source is None else f" is given for {quoted(source)}, and"
    listed = ", ".join(dict.fromkeys(map(_show, allowed)))
    names = [one for one in allowed if isinstance(one, str)]
    meant = similar(value, names) if isinstance(value, str) else None
    hint = None if meant is None else f"did you mean {_show(meant)}?"
    none = f"{_show(value)}{given} is none of {listed}"
    fail(
        "T0350",
        none if allowed else f"there is nothing that {_show(value)} could be",
        span,
        hint,
        kind=UnexpectedValue if isinstance(value, str) else Fault,
        definite=True,
    )


@primitive("different", anything)
def _different(env: Env, span: Span, value: Value) -> Value:
    """Require the entries of a vector to differ; an undecided case is a condition of the result."""
    entries = [plain(entry) for entry in vector(env, value, span)]
    known = [entry for entry in entries if _is_known(entry)]
    twice = next((entry for entry, times in Counter(known).items() if times > 1), None)
    unknown = [entry for entry in entries if not _is_known(entry)]
    for a, b in (*combinations(unknown, 2), *product(unknown, known)) if twice is None else ():
        equal = _equal(env, span, a, b)
        if equal is TRUE:
            twice = a
        elif equal is not FALSE:
            _record_assumption(env, span, negate(equal), "differ", "the entries differ")
    if twice is None:
        return value
    source = env.context.argument_named(value)
    listed = f"stands twice in [{', '.join(map(_show, entries))}]"
    told = f"{_show(twice)} {listed}" if source is None else f"{quoted(source)} has {_show(twice)} twice"
    fail("T0351", told, span, kind=UnexpectedValue if isinstance(twice, str) else Fault, definite=True)


def _is_known(value: Value) -> bool:
    return isinstance(value, str) or (isinstance(value, Poly) and value.constant is not None)


def _equal(env: Env, span: Span, a: Value, b: Value) -> Cond:
    """Decide whether two static values are equal; a text never equals a number."""
    equal = apply(env, "eq", (a, b), span)
    if not isinstance(equal, Cond):
        fail("T0313", "these must be known while compiling", span)
    return decide(env, equal)


def _record_assumption(env: Env, span: Span, condition: Cond, kind: ConditionKind, reason: str) -> None:
    """Record a condition that must hold wherever this place is reached."""
    here = [negate(fact) for fact in env.scope.facts]
    env.context.notes.record(disj(condition, *here), kind, reason, span)


def _show(value: Value) -> str:
    match plain(value):
        case str() as text:
            return quoted(text, '"')
        case Poly() as form:
            return to_text(form)
        case Fraction() | float() as number:
            return str(float(number))
        case other:
            return describe(other)


@primitive("known", anything)
def _known(env: Env, span: Span, value: Value) -> Value:
    """Whether a value is known at compile time."""
    env.context.asked += 1
    return TRUE if is_static(value) else FALSE


@primitive("isseq", anything)
def _is_sequence(env: Env, span: Span, value: Value) -> Value:
    return TRUE if isinstance(value, Seq) else FALSE


@primitive("chars", text)
def _chars(env: Env, span: Span, value: str) -> Value:
    return Vec((len(value),), tuple(value))
