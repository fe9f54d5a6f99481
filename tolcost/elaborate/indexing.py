"""Elements, slices and components of values."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tolcost.algebra import Poly, const, symbols_of
from tolcost.diagnostics import Span
from tolcost.elaborate.components import apart, capacity, check_component, pick_component
from tolcost.elaborate.context import Env, bind_data
from tolcost.elaborate.faults import Misfit, NeedsUnrolling, OutOfRange, fail
from tolcost.elaborate.layout import as_static, grid, in_spaces, materialise, member
from tolcost.elaborate.shapes import Shape, check_index, known, shape_of, shape_text, space_of
from tolcost.elaborate.values import (
    Cast,
    Data,
    Opaque,
    Pieces,
    Results,
    Seq,
    Value,
    Vec,
    View,
    is_static,
    plain,
    recast,
)

SHORT = 16
"""The longest coordinate range that a look-up in a table of integers takes entry by entry."""


def element(env: Env, value: Value, at: tuple[Value, ...], span: Span, checked: bool = False) -> Value:
    """The element at a full coordinate, or the slice at a partial one."""
    found = laid_at(value, at)
    return _sought(env, value, at, span, checked) if found is None else found


def _of_each(env: Env, value: Pieces, at: tuple[Value, ...], span: Span, checked: bool) -> Value:
    """The same of the components of a list, each of which has a shape of its own."""
    if at and not any(shape_of(env, item, span) for item in value.items):
        size = len(value.items)
        message = f"{len(at)} indices into a list of {size} numbers"
        hint = f"a component of a list has a prime: `t[1]'` to `t[{size}]'`"
        fail("T0303", message, span, hint=hint, kind=Misfit)
    return Pieces(tuple(element(env, item, at, span, checked) for item in value.items))


def _sought(env: Env, value: Value, at: tuple[Value, ...], span: Span, checked: bool) -> Value:
    """The same where it is not to be read off."""
    value = apart(env, value)
    if isinstance(value, Pieces):
        return _of_each(env, value, at, span, checked)
    shape = shape_of(env, value, span)
    if len(at) > len(shape):
        fail(
            "T0303",
            f"{len(at)} indices into a ToL of shape {shape_text(shape)}",
            span,
            hint=f"it has {len(shape)} dimension{'s' * (len(shape) != 1)}",
            kind=Misfit,
        )
    if not at:
        return value
    if not checked:
        check_indices(env, at, shape, span)
    if isinstance(value, Cast):
        return _of_told_space(env, value, at, shape, span)
    if len(at) < len(shape):
        return _slice(env, value, at, shape, span)
    match value:
        case Vec():
            return _entry(env, value, at, span)
        case View(get=get, static=static):
            if static and not all(isinstance(a, Poly) for a in at):
                return _looked_up(env, value, at, span)
            return get(env, at)
        case Data(node=node):
            return Data(member(env, node, at, span))
        case Seq(items=items):
            return _sequence_entry(items, at[0], span)
        case _:
            fail("T0303", "this value has no elements", span, kind=Misfit)


def _of_told_space(env: Env, value: Cast, at: tuple[Value, ...], shape: Shape, span: Span) -> Value:
    """An element, or a slice, that comes out in the space its ToL is told to be of."""
    if all(map(is_static, at)):
        found = element(env, value.value, at, span, checked=True)
        if isinstance(found, Opaque):
            return Opaque(in_spaces(found.node, (value.space,)), value.space)
        return recast(found, value.space)
    if len(at) == len(shape):
        return _looked_up(env, value, at, span)
    return _slice(env, value, at, shape, span)


def laid_at(value: Value, at: tuple[Value, ...]) -> Value | None:
    """The entry of a vector at a full coordinate of numbers in range; None of anything else."""
    if not isinstance(value, Vec) or len(at) != len(value.shape):
        return None
    offset = 0
    for index, size in zip(at, value.shape, strict=True):
        place = index.constant if isinstance(index, Poly) else None
        if place is None or not 1 <= place <= size:
            return None
        offset = offset * size + place - 1
    return value.items[offset]


def check_indices(env: Env, at: tuple[Value, ...], shape: Shape, span: Span) -> None:
    """Every static index lies inside its dimension; the others are checked when run."""
    for index, extent in zip(at, shape, strict=False):
        if isinstance(index, Poly):
            check_index(env, index, extent, span, lambda: f"of shape {shape_text(shape)}")


def _slice(env: Env, value: Value, at: tuple[Value, ...], shape: Shape, span: Span) -> Value:
    if isinstance(value, Vec):
        numbers = [a.constant if isinstance(a, Poly) else None for a in at]
        if all(n is not None for n in numbers):
            return _vec_slice(value, [n for n in numbers if n is not None])
    bound = Data(env.scope.bind(value.node)) if isinstance(value, Data) else value
    at = tuple(bind_data(env, index) for index in at)
    rest = shape[len(at) :]
    static = not isinstance(value, Data) and is_static_indexed(value, at)
    return View(
        rest,
        lambda here, more: element(here, bound, (*at, *more), span, checked=True),
        static,
        space_of(value),
        capacity=capacity(value),
    )


def is_static_indexed(value: Value, at: tuple[Value, ...]) -> bool:
    """Whether an element of a static ToL stays static under these indices."""
    return is_static(value) and all(is_static(a) for a in at)


def _vec_slice(value: Vec, at: list[int]) -> Value:
    rest = value.shape[len(at) :]
    size = 1
    for d in rest:
        size *= d
    start = _offset(value.shape[: len(at)], at) * size
    return Vec(rest, value.items[start : start + size])


def _offset(shape: tuple[int, ...], at: list[int]) -> int:
    offset = 0
    for d, a in zip(shape, at, strict=True):
        offset = offset * d + a - 1
    return offset


def _entry(env: Env, value: Vec, at: tuple[Value, ...], span: Span) -> Value:
    numbers = [a.constant if isinstance(a, Poly) else None for a in at]
    if all(n is not None for n in numbers):
        offset = _offset(value.shape, [n for n in numbers if n is not None])
        inside = 0 <= offset < len(value.items)
        return value.items[offset] if inside else const(0)  # outside only where nobody ever looks
    if all(item == value.items[0] for item in value.items) and is_static_indexed(value, at):
        return value.items[0] if value.items else const(0)  # nobody visits the elements of nothing
    if not env.scope.mode.tables and not any(isinstance(item, (Fraction, float)) for item in value.items):
        _ask_to_unroll(at, span)
    return _looked_up(env, value, at, span)


def _ask_to_unroll(at: tuple[Value, ...], span: Span) -> None:
    """Integers may decide lengths, so a short range of coordinates is taken entry by entry for them."""
    for index in at:
        for symbol in symbols_of(index) if isinstance(index, Poly) else ():
            size = symbol.hi.constant if symbol.kind == "coord" and symbol.hi is not None else None
            if size is not None and 0 < size <= SHORT:
                raise NeedsUnrolling(symbol, span)


def _looked_up(env: Env, value: Value, at: tuple[Value, ...], span: Span) -> Value:
    """An element of a static ToL at an index that is not a number: a look-up in its layout."""
    found = member(env, materialise(env, value, span), at, span)
    return as_static(env, found) if is_static_indexed(value, at) else Data(found)


def _sequence_entry(items: tuple[Value, ...], index: Value, span: Span) -> Value:
    if isinstance(index, Poly) and index.constant is not None:
        if not 1 <= index.constant <= len(items):
            message = f"index {index.constant} is outside 1..{len(items)} of a sequence"
            fail("T0302", message, span, kind=OutOfRange, definite=True)
        return items[index.constant - 1]
    for symbol in symbols_of(index) if isinstance(index, Poly) else ():
        if symbol.kind == "coord" and symbol.hi is not None and symbol.hi.constant is not None:
            raise NeedsUnrolling(symbol, span)
    fail("T0304", "a sequence is indexed by something not known while compiling", span)


def pick_result(env: Env, base: Value | Results, j: int, span: Span) -> Value:
    """Component ``j`` of a list, or result ``j`` of an operator."""
    if not isinstance(base, Results):
        return pick_component(env, base, j, span)
    check_component(j, len(base.items), span)
    return base.items[j - 1]


def spread(env: Env, value: Value, span: Span) -> tuple[Value, ...]:
    """The entries of a vector of known length; a number is its own only entry."""
    value = plain(value)
    if isinstance(value, Seq):
        return value.items
    shape = shape_of(env, value, span)
    if not shape:
        return (value,)
    numbers = known(shape)
    if len(shape) > 1 or numbers is None:
        fail(
            "T0309", f"only a vector of known length can be spliced here, not shape {shape_text(shape)}", span
        )
    if isinstance(value, Vec):
        return value.items
    bound = bind_data(env, value)
    return tuple(element(env, bound, (const(n),), span, checked=True) for (n,) in grid(numbers, span))


def leaves(value: Value) -> tuple[Value, ...]:
    """The tensors of a sequence, and of the sequences in it."""
    if isinstance(value, Seq):
        return tuple(leaf for item in value.items for leaf in leaves(item))
    return (value,)


def regrown(like: Value, parts: Iterator[Value]) -> Value:
    """A sequence of the same structure with other tensors."""
    if isinstance(like, Seq):
        return Seq(tuple(regrown(item, parts) for item in like.items))
    return next(parts)


def integers(env: Env, value: Value, span: Span) -> tuple[Poly, ...]:
    """The entries of a vector, all of them integers known while compiling."""
    return as_integers(spread(env, value, span), span)


def as_integers(entries: tuple[Value, ...], span: Span) -> tuple[Poly, ...]:
    """The same of entries that are known already."""
    found = tuple(plain(e) for e in entries)
    if not all(isinstance(e, Poly) for e in found):
        fail("T0310", "these must be integers known while compiling", span)
    return tuple(e for e in found if isinstance(e, Poly))
