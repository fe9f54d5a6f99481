"""Putting values together: joins and reshapes of whole ToLs."""

from __future__ import annotations

from tolcost.algebra import Poly, const
from tolcost.atoms.nodes import Part, Reshape
from tolcost.diagnostics import Span
from tolcost.elaborate.context import Env, bind_data, fail
from tolcost.elaborate.elements import element
from tolcost.elaborate.layout import check_size, join_nodes, made_of, materialise
from tolcost.elaborate.lengths import unify
from tolcost.elaborate.shapes import known, shape_of, shape_text, volume
from tolcost.elaborate.values import Opaque, Pieces, Value, Vec, is_static


def as_entry(env: Env, value: Value, span: Span) -> Value:
    """A value as a ToL of one entry: a new first dimension of length 1."""
    if isinstance(value, Pieces):
        return Pieces(tuple(as_entry(env, item, span) for item in value.items))
    return reshape_value(env, value, (const(1), *shape_of(env, value, span)), span)


def join_values(env: Env, left: Value, right: Value, d: int, span: Span) -> Value:
    """Two ToLs one after the other along dimension ``d``."""
    a, b = shape_of(env, left, span), shape_of(env, right, span)
    if len(a) != len(b) or not 1 <= d <= len(a):
        fail(
            "T0312",
            f"cannot join shapes {shape_text(a)} and {shape_text(b)} along dimension {d}",
            span,
            hint="all other dimensions must agree",
            definite=True,
        )
    for n, (x, y) in enumerate(zip(a, b, strict=True)):
        if n + 1 != d:
            unify(
                env,
                x,
                y,
                lambda: (
                    f"a join along dimension {d} needs the others equal: {shape_text(a)} and {shape_text(b)}"
                ),
                span,
            )
    if isinstance(left, Vec) and isinstance(right, Vec) and len(a) == 1:
        check_size(left.shape[0] + right.shape[0], span)
        return Vec((left.shape[0] + right.shape[0],), left.items + right.items)
    if isinstance(left, Pieces) and isinstance(right, Pieces):
        return Pieces(
            tuple(join_values(env, x, y, d, span) for x, y in zip(left.items, right.items, strict=True))
        )
    node = join_nodes(materialise(env, left, span), materialise(env, right, span), d)
    return made_of(env, node, left, right)


def reshape_value(env: Env, value: Value, shape: tuple[Poly, ...], span: Span) -> Value:
    """The same elements, row-major, under another shape."""
    old = shape_of(env, value, span)
    if old == shape:
        return value
    if isinstance(value, Pieces):
        return Pieces(tuple(reshape_value(env, item, shape, span) for item in value.items))
    before, after = volume(old), volume(shape)
    unify(
        env,
        before,
        after,
        lambda: f"{shape_text(old)} and {shape_text(shape)} must have as many elements",
        span,
    )
    numbers = known(shape)
    if isinstance(value, Vec) and numbers is not None:
        return value.items[0] if not numbers else Vec(numbers, value.items)
    if is_static(value) and not old and numbers is not None and not isinstance(value, Opaque):
        return Vec(numbers, (value,))
    if not shape:
        return element(env, bind_data(env, value), (const(1),) * len(old), span, checked=True)
    node = materialise(env, value, span)
    if len({p.shape for p in node.type}) > 1:
        fail("T0315", "a list whose components have different shapes cannot be reshaped", span)
    reshaped = Reshape(node, tuple(Part(shape, p.space) for p in node.type))
    return made_of(env, reshaped, value)
