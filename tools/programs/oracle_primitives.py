"""The oracle's primitives: parts, swaps, reshapes, joins, puts, filters."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from tolcost.syntax import tree
from tools.programs.oracle_spaces import bits_as, family
from tools.programs.oracle_values import (
    Arr,
    Env,
    Frame,
    Lst,
    Num,
    Unknown,
    Value,
    capacity,
    element,
    even,
    grid,
    in_spaces,
    is_data,
    joined,
    joined_spaces,
    placed,
    shape_of,
    spaces_of,
    stacked,
    tainted,
    whole,
)

UNCLEAR = 0
"""No accumulator: whether a number is known to be whole is not clear."""


class Primitives(Struct):
    """What every primitive does; how to evaluate an expression is for the whole oracle to say."""

    root: Frame = field(default_factory=Frame)
    frame: Frame = field(default_factory=Frame)
    uneven: bool = False
    asked: int = 0
    """How often somebody asked for the kind of a space."""

    def value(self, env: Env, expr: tree.Expr, in_index: bool = False) -> Value:
        raise AssertionError(expr)

    def apart(self, frame: Frame, work: Callable[[], Value]) -> Value:
        raise AssertionError(work)

    def spread(self, env: Env, items: tuple[Any, ...], in_index: bool) -> list[Value]:
        raise AssertionError(items)

    def form_part(self, env: Env, tol: tree.Expr, low: tree.Expr, high: tree.Expr) -> Value:
        value = self.value(env, tol)
        a, b = (tuple(map(whole, self.spread(env, (corner,), False))) for corner in (low, high))
        shape = tuple(y - x + 1 for x, y in zip(a, b, strict=True))
        return Arr(
            shape,
            tuple(element(value, tuple(x + k - 1 for x, k in zip(a, at, strict=True))) for at in grid(shape)),
        )

    def form_swap(self, env: Env, tol: tree.Expr, dim: tree.Expr, order: tree.Expr) -> Value:
        value, d = self.value(env, tol), whole(self.value(env, dim))
        places = [whole(p) for p in self.spread(env, (order,), False)]
        shape = shape_of(value)
        return Arr(
            shape, tuple(element(value, (*at[: d - 1], places[at[d - 1] - 1], *at[d:])) for at in grid(shape))
        )

    def form_reshape(self, env: Env, tol: tree.Expr, shape: tree.Expr) -> Value:
        value = self.value(env, tol)
        wanted = [whole(d) for d in self.spread(env, (shape,), False)]
        items = value.items if isinstance(value, Arr) else (value,)
        if -1 in wanted:
            wanted[wanted.index(-1)] = -len(items) // prod(wanted)
        assert prod(wanted) == len(items)
        return Arr(tuple(wanted), items)

    def form_join(self, env: Env, left: tree.Expr, right: tree.Expr, dim: tree.Expr | None = None) -> Value:
        a, b = self.value(env, left), self.value(env, right)
        self.empty |= 0 in (*shape_of(a), *shape_of(b))  # whose space only a type tells
        return joined(a, b, len(shape_of(a)) if dim is None else whole(self.value(env, dim)))

    def form_embed(self, env: Env, tol: tree.Expr) -> Value:
        value = self.value(env, tol)
        return Arr((*shape_of(value), 1), value.items if isinstance(value, Arr) else (value,))

    def form_tile(self, env: Env, tol: tree.Expr) -> Value:
        value = self.value(env, tol)
        *rest, size = shape_of(value)
        if not size:
            raise Unknown("the capacity of nothing")
        rows = []
        for at in grid(tuple(rest)):
            entries = [element(value, (*at, j)) for j in range(1, size + 1)]
            flat = [c for e in entries for c in (e.items if isinstance(e, Lst) else (e,))]
            rows.append(Lst(tuple(flat)) if len(flat) > 1 else flat[0])
        return stacked(tuple(rest), rows)

    def form_put(self, env: Env, tol: tree.Expr, place: tree.Expr, new: tree.Expr) -> Value:
        value, item = self.value(env, tol), self.value(env, new)
        found = self.spread(env, (place,), False)
        at, shape = tuple(whole(a) for a in found), shape_of(value)
        members = [
            element(item, p[len(at) :]) if p[: len(at)] == at else element(value, p) for p in grid(shape)
        ]
        spaces = joined_spaces(spaces_of(value), spaces_of(item))
        changed = even(in_spaces(Arr(shape, tuple(members)), spaces))
        self.uneven |= is_data(value) != is_data(item)  # a short vector is known entry by entry
        data = is_data(value) or is_data(item) or any(isinstance(a, Num) and a.data for a in found)
        return tainted(changed) if data else changed

    def form_filter(self, env: Env, tol: tree.Expr, mask: tree.Expr) -> Value:
        value, marks = self.value(env, tol), self.value(env, mask)
        self.root.needed.append(self.frame)  # even where only its length is used
        assert isinstance(marks, Arr)
        kept = [k for k, m in enumerate(marks.items, start=1) if isinstance(m, Num) and m.value]
        shape = (len(kept), *shape_of(value)[1:])
        return Arr(shape, tuple(element(value, (kept[at[0] - 1], *at[1:])) for at in grid(shape)))

    def form_repeat(self, env: Env, tol: tree.Expr, counts: tree.Expr, most: tree.Expr) -> Value:
        value, marks = self.value(env, tol), self.value(env, counts)
        self.root.needed.append(self.frame)
        each = marks.items if isinstance(marks, Arr) else [marks] * shape_of(value)[0]
        kept = [k for k, m in enumerate(each, start=1) for _ in range(whole(m))]
        shape = (len(kept), *shape_of(value)[1:])
        return Arr(shape, tuple(element(value, (kept[at[0] - 1], *at[1:])) for at in grid(shape)))

    def form_convert(self, env: Env, tol: tree.Expr, space: tree.Expr) -> Value:
        return self.converted(self.value(env, tol), self.space(env, space))

    def converted(self, value: Value, space: str) -> Value:
        """Each number in another space; reals that need not be whole are rounded by a function."""
        match value:
            case Lst(items=items):
                return Lst(tuple(self.converted(item, space) for item in items))
            case Arr(shape=shape, items=items):
                return Arr(shape, tuple(self.converted(item, space) for item in items))
            case Num(data=data) if data and family(value.space) == "R" and family(space) == "Z":
                if value.whole is not None and UNCLEAR in value.whole:
                    raise Unknown("whether a number is known to be whole")
                if value.whole is None or value.whole:
                    self.frame.counts["round", value.space] += 1
                    self.frame.read |= {value.source} if value.source else set()
                    value = replace(value, deep=value.deep + 1, source=None)
            case _:
                pass
        assert isinstance(value, Num)
        return placed(value, space)

    def form_bitcast(self, env: Env, tol: tree.Expr, space: tree.Expr) -> Value:
        value, target = self.value(env, tol), self.space(env, space)
        items = value.items if isinstance(value, Arr) else (value,)
        read = [
            replace(n, value=bits_as(n.value, n.space, target), told=target, on=None)
            for n in items
            if isinstance(n, Num)
        ]
        return Arr(value.shape, tuple(read)) if isinstance(value, Arr) else read[0]

    def space(self, env: Env, expr: tree.Expr) -> str:
        """A space by its name, or that of a value."""
        if isinstance(expr, tree.Name):
            return expr.name
        assert isinstance(expr, tree.Call)
        return spaces_of(self.apart(Frame(), lambda: self.value(env, expr.args[0])))[0]

    def form_kind(self, env: Env, space: tree.Expr) -> Value:
        self.asked += 1
        return Num(family(self.space(env, space)))

    def form_dim(self, env: Env, tol: tree.Expr) -> Value:
        return Num(len(shape_of(self.apart(Frame(), lambda: self.value(env, tol)))))

    def form_vol(self, env: Env, tol: tree.Expr) -> Value:
        value = self.apart(Frame(), lambda: self.value(env, tol))
        return Num(prod(shape_of(value)) * capacity(value))

    def form_exact(self, env: Env, over: tree.Expr, under: tree.Expr) -> Value:
        return Num(whole(self.value(env, over)) // whole(self.value(env, under)))

    def form_halvings(self, env: Env, length: tree.Expr) -> Value:
        return Num(max(whole(self.value(env, length)) - 1, 0).bit_length())

    def form_same(self, env: Env, one: tree.Expr, other: tree.Expr) -> Value:
        return self.value(env, one)

    def form_bdim(self, env: Env, one: tree.Expr, other: tree.Expr) -> Value:
        a, b = whole(self.value(env, one)), whole(self.value(env, other))
        return Num(b if a == 1 else a)
