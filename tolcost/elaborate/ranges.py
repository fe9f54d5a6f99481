"""Ranges of which data decides an end: their length is a symbol that a run defines."""

from __future__ import annotations

from tolcost.algebra import Poly, atom, const, data_symbol, the_symbol
from tolcost.atoms.nodes import Length, Node
from tolcost.diagnostics import Span
from tolcost.elaborate.apply import static_node
from tolcost.elaborate.environment import Env, bind_data
from tolcost.elaborate.faults import fail
from tolcost.elaborate.layout import emit, index_node, number
from tolcost.elaborate.values import NodeValue, Value, Vec, is_static, plain
from tolcost.spaces import kind_of

NOT_WHOLE = "the end of a range must be a whole number"


def end_of(env: Env, value: Value, span: Span) -> Value:
    """Take an end of a range: an integer known while compiling, or one that data decides."""
    inner = plain(value)
    if isinstance(inner, Vec) and len(inner.items) == 1 and inner.loose:
        inner = plain(inner.items[0])
    if isinstance(inner, Poly):
        return inner
    if is_static(inner) and not isinstance(inner, NodeValue):
        fail("T0310", NOT_WHOLE, span)
    node = index_node(env, inner, span, "the end of a range")
    if kind_of(node.type[0].space) not in ("B", "Z"):
        fail("T0310", f"{NOT_WHOLE}, and this is in {node.type[0].space}", span, hint="`convert(x, Z)`")
    return bind_data(env, inner)


def bind_length(env: Env, low: Value, high: Value, most: Poly | None, span: Span) -> Poly:
    """Bind the length of the range from ``low`` to ``high``, which data decides.

    It is at most ``most``, and a range that is shorter than nothing is a fault; without ``most`` it is empty.
    Finding the length costs nothing.
    """
    ends = [_node(env, end, span) for end in (high, low)]
    one = number(const(1), "Z", span)
    size = static_node("sub", (ends[0], static_node("sub", (ends[1], one), "Z", span)), "Z", span)
    if most is None:
        size = static_node("max", (size, number(const(0), "Z", span)), "Z", span)
    env.context.names += 1
    name = env.context.own_name(f"range{env.context.names}")
    symbol = the_symbol(data_symbol(name, 0, most, "range", name))
    env.scope.bind(Length(size, symbol, size.type, span))
    return atom(symbol)


def _node(env: Env, end: Value, span: Span) -> Node:
    return number(end, "Z", span) if isinstance(end, Poly) else emit(env, end, span)


def shifted(env: Env, index: Value, by: Value, span: Span) -> Value:
    """Return the entry of a range, or of a part, that begins after ``by``; the addition is free."""
    if isinstance(index, Poly) and isinstance(by, Poly):
        return index + by
    if isinstance(by, Poly) and by == const(0):
        return index
    moved = static_node("add", (_node(env, index, span), _node(env, by, span)), "Z", span)
    return NodeValue(moved, is_static(index) and is_static(by))
