"""Reads that may be outside because data selects another value: ``where(0 < k and k <= n, x[k], 0)``.

In a program such a read is no fault. Its adjoint is a write, which would be one, although it adds 0 there. So
what a ``where`` may leave out reads at the nearest place that is inside, in the derivative alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tolcost.algebra import ONE, Cond, Poly, substitute
from tolcost.diagnostics import refuse
from tolcost.gradient.equations import (
    Apply,
    Choice,
    Equation,
    Expression,
    ReadAt,
    Reduction,
    Scattered,
    Static,
    Subscripts,
    rebuilt,
    walk,
)


def keep_inside(arrays: Sequence[Equation]) -> None:
    """Change the definitions of arrays; in loops, they may be read before they are defined."""
    left_out: set[Equation] = set()
    size, kept = -1, dict[Equation, Expression | Scattered]()
    while size != len(left_out):  # once more after the last array was found
        size = len(left_out)
        for array in reversed(arrays):
            value = array.value
            if isinstance(value, Scattered):
                kept[array] = _put_inside(array, value, left_out)
            elif value is not None:
                kept[array] = _inside(value, array in left_out, left_out)
    for array, found in kept.items():
        array.value = found


def _put_inside(array: Equation, value: Scattered, left_out: set[Equation]) -> Scattered:
    """Change what is put at places: an array that may be left out is one to which nothing happens outside."""
    may_be = array in left_out
    at = value.at
    if may_be:
        if value.start is not None:
            left_out.add(value.start.array)
        ends = array.domain.extents[value.around :]
        at = tuple([_nearest(*pair) for pair in zip(_indices(at, left_out), ends, strict=True)])
    return replace(value, at=at, body=_inside(value.body, may_be, left_out))


def _indices(at: Subscripts, left_out: set[Equation]) -> Subscripts:
    return tuple([index if isinstance(index, Poly) else _inside(index, True, left_out) for index in at])


def _inside(expr: Expression, may_be: bool, left_out: set[Equation]) -> Expression:
    """Change the reads of what may be left out, and note which arrays they read."""
    if not may_be and not any(map(_chooses, walk(expr))):
        return expr
    if isinstance(expr, ReadAt) and may_be:
        left_out.add(expr.array)
        domain = expr.array.domain
        there = {s: i for s, i in zip(domain.coords, expr.at, strict=True) if isinstance(i, Poly)}
        ends = [substitute(extent, there) for extent in domain.extents]
        by_data = set(domain.coords) - there.keys()
        if any(not extent.free.isdisjoint(by_data) for extent in domain.extents):
            message = "a read that may be outside has no derivative yet where data decides a range's length"
            refuse("T0900", message, expr.span)
        at = _indices(expr.at, left_out)
        return replace(expr, at=tuple([_nearest(*pair) for pair in zip(at, ends, strict=True)]))
    if isinstance(expr, Choice) and not isinstance(expr.condition, Cond):
        condition = _inside(expr.condition, may_be, left_out)
        return Choice(condition, *(_inside(side, True, left_out) for side in (expr.then, expr.other)))
    if isinstance(expr, Apply) and expr.function == "where":
        condition, *sides = expr.args
        kept = [_inside(side, True, left_out) for side in sides]
        return replace(expr, args=(_inside(condition, may_be, left_out), *kept))
    if isinstance(expr, Reduction):
        start, body = (_inside(part, may_be, left_out) for part in (expr.start, expr.body))
        return replace(expr, start=start, body=body)
    return rebuilt(expr, lambda part: _inside(part, may_be, left_out), {})


def _chooses(expr: Expression | Scattered) -> bool:
    """Whether data may leave out a part of an expression."""
    if isinstance(expr, Choice):
        return not isinstance(expr.condition, Cond)
    return isinstance(expr, Apply) and expr.function == "where"


def _nearest(index: Poly | Expression, extent: Poly) -> Poly | Expression:
    """Return the nearest index inside of a dimension."""
    if isinstance(index, Poly):
        return index
    space = index.space
    below = Apply("min", (index, Static(extent, space)), space, space, "index")
    return Apply("max", (below, Static(ONE, space)), space, space, "index")
