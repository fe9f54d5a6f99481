"""Lists, component by component.

The components of a list may differ in shape and space.  Who asks for *the* shape of a list gets that of its
first; what holds of all of them is asked here.
"""

from __future__ import annotations

from collections.abc import Callable

from tolcost.atoms.nodes import Component, Node, Pack, Type
from tolcost.diagnostics import Span
from tolcost.elaborate.context import Env
from tolcost.elaborate.faults import fail
from tolcost.elaborate.shapes import Shape, settled, shape_of, unify
from tolcost.elaborate.values import Cast, Data, Pieces, Value, View, cast_of, plain, recast


def capacity(value: Value) -> int:
    """How many components a value has, or each element of it."""
    match value:
        case Pieces(items=items):
            return len(items)
        case Data(node=node):
            return len(node.type)
        case View(capacity=several):
            return several
        case Cast(value=inner):
            return capacity(inner)
        case _:
            return 1


def component(value: Node, j: int) -> Node:
    """Π': component ``j`` of a list; of a fresh pack it is the item itself."""
    if isinstance(value, Pack) and all(len(item.type) == 1 for item in value.items):
        return value.items[j - 1]
    return Component(value, j, (value.type[j - 1],))


def pick_component(env: Env, base: Value, j: int, span: Span) -> Value:
    """Component ``j`` of a list."""
    if isinstance(base, Pieces):
        check_component(j, len(base.items), span)
        return base.items[j - 1]
    check_component(j, capacity(base), span)
    match base:
        case Data(node=node) if len(node.type) > 1:
            return Data(component(env.scope.bind(node), j))
        case View(shape=shape, get=get, static=static, space=space) if base.capacity > 1:
            return View(shape, lambda here, at: pick_component(here, get(here, at), j, span), static, space)
        case Cast(value=inner, space=space):
            return recast(pick_component(env, inner, j, span), space)
        case _:
            return base


def check_component(j: int, size: int, span: Span) -> None:
    """There is a component of this number."""
    if not 1 <= j <= size:
        fail("T0314", f"component {j} of a list of capacity {size}", span, definite=True)


def components(env: Env, value: Value, span: Span) -> tuple[Value, ...]:
    """All components of a list; anything else is its only one."""
    if isinstance(value, Pieces):
        return value.items
    return tuple(pick_component(env, value, j, span) for j in range(1, capacity(value) + 1))


def each(value: Pieces, do: Callable[[Value], Value]) -> Pieces:
    """A list with something done to each component, which keeps the space that it came in."""
    return Pieces(tuple(recast(do(plain(item)), cast_of(item)) for item in value.items))


def component_shapes(env: Env, value: Value, span: Span) -> list[Shape]:
    """The shape of each component of a list; of anything else, its own."""
    match value:
        case Pieces(items=items):
            return [shape_of(env, item, span) for item in items]
        case Data(node=node):
            return [settled(env, part.shape) for part in node.type]
        case _:
            return [shape_of(env, value, span)] * capacity(value)


def walked_shape(env: Env, value: Value, span: Span) -> Shape:
    """The shape that is walked over: of a list, that of its first ToL, as which the others begin."""
    first, *others = component_shapes(env, value, span)
    for other in others:
        for x, y in zip(first, other, strict=False):
            if x is not y:
                unify(env, x, y, "the ToLs of a list that is walked over must have one shape", span)
    return first


def _has_one_shape(parts: Type) -> bool:
    return len(parts) == 1 or all(part.shape == parts[0].shape for part in parts)


def apart(env: Env, value: Value) -> Value:
    """A list that is data, one by one where its ToLs have different shapes; anything else as it is."""
    if not isinstance(value, Data) or _has_one_shape(value.node.type):
        return value
    whole = env.scope.bind(value.node)
    return Pieces(tuple(Data(component(whole, j + 1)) for j in range(len(whole.type))))
