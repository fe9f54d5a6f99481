"""``map`` and ``reduce``: bodies under coordinates.

A small static domain is taken entry by entry.  Otherwise the body is elaborated once under
fresh coordinates: a static result stays a formula, a data result becomes a Build or a Fold.
"""

from __future__ import annotations


from collections.abc import Callable
from dataclasses import dataclass

from tolcost.algebra import Cond, Poly, const, coordinate, ge, substitute, substitute_cond, the_symbol
from tolcost.diagnostics import Span
from tolcost.elaborate.context import Element, Env, Lazy, NeedsUnrolling, bind_data, fail, force
from tolcost.elaborate.shapes import build, element, first, grid, known, materialise, shape_of
from tolcost.elaborate.values import Data, Seq, Value, Vec, View, is_static
from tolcost.syntax import tree

UNROLL_LIMIT = 4096
"""The largest static domain that is taken entry by entry."""

Names = dict[str, "Lazy | Value"]
At = Callable[[Env, tuple[Value, ...]], Value]


@dataclass(frozen=True, slots=True)
class Pattern:
    """How coordinates are named: ``[i, j]``, ``[n, *o]``, or one name for all of them."""

    names: tuple[str, ...] = ()
    rest: str | None = None
    span: Span | None = None

    def bind(self, at: tuple[Value, ...], span: Span) -> Names:
        """The names with their coordinates."""
        if len(self.names) > len(at) or (self.rest is None and self.names and len(self.names) != len(at)):
            fail("T0322", f"{len(self.names)} coordinate names for {len(at)} dimensions", self.span or span,
                 hint="a bare name or *name takes any number of coordinates")
        bound: Names = dict(zip(self.names, at, strict=False))
        if self.rest is not None:
            remaining = at[len(self.names):]
            bound[self.rest] = Vec((len(remaining),), remaining, loose=True)
        return bound


def pattern_of(expr: tree.Expr | None) -> Pattern:
    """The coordinate names an iterator argument gives."""
    match expr:
        case None:
            return Pattern()
        case tree.Name(name=name, span=span):
            return Pattern(rest=name, span=span)
        case tree.Bracket(items=items, span=span):
            names = [item.name for item in items if isinstance(item, tree.Name)]
            rest = [item.value.name for item in items
                    if isinstance(item, tree.Splice) and isinstance(item.value, tree.Name)]
            last_is_rest = not rest or isinstance(items[-1], tree.Splice)
            if len(names) + len(rest) == len(items) and len(rest) <= 1 and last_is_rest:
                return Pattern(tuple(names), rest[0] if rest else None, span)
    fail("T0323", "the coordinates must be names: i, [i, j] or [n, *o]", expr.span)  # type: ignore[union-attr]


def hints(pattern: Pattern, rank: int) -> tuple[str, ...]:
    """Names for fresh coordinates, after what the program calls them."""
    named = list(pattern.names[:rank])
    stem = pattern.rest or "i"
    more = rank - len(named)
    return tuple(named + [stem if more == 1 else f"{stem}{n + 1}" for n in range(more)])


def fresh(pattern: Pattern, shape: tuple[Poly, ...]) -> tuple[Poly, ...]:
    """Fresh coordinates for a shape."""
    return tuple(coordinate(name, d) for name, d in zip(hints(pattern, len(shape)), shape, strict=True))


def inside(env: Env, shape: tuple[Poly, ...]) -> Env:
    """The block under coordinates of a shape; inside it no length of the shape is 0."""
    from tolcost.elaborate.lengths import decide

    facts = [ge(d - 1) for d in shape if d.constant is None]
    return env.child(scope=env.scope.inner(*(f for f in facts if isinstance(decide(env, f), type(f)))))


# ---- map ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """What to compute at each coordinate of a map."""

    env: Env
    over: Value
    expr: tree.Expr
    pattern: Pattern
    span: Span

    def at(self, env: Env, at: tuple[Value, ...]) -> Value:
        """The body's value at a coordinate, its bindings going to the block of ``env``."""
        from tolcost.elaborate.calls import arity, call_values, function_of, is_functional
        from tolcost.elaborate.expressions import evaluate

        item = Lazy("", env, lambda: element(env, self.over, at, self.span, checked=True))
        names = self.pattern.bind(at, self.span)
        inner = Env(env.context, env.scope, names, self.env, Element(item, at))
        if is_functional(inner, self.expr):
            function = function_of(inner, self.expr)
            args: tuple[Lazy | Value, ...] = (item,)
            if arity(inner, function)[0] == 2:
                args = (item, Vec((len(at),), at, loose=True))
            return first(call_values(inner, function, args, self.span))
        return first(evaluate(inner, self.expr))


def map_form(env: Env, expr: tree.Call) -> Value:
    """``map(t, f, iter)``."""
    from tolcost.elaborate.expressions import evaluate

    if not 2 <= len(expr.args) <= 3:
        fail("T0203", f"`map` takes 2 to 3 arguments, not {len(expr.args)}", expr.span)
    outer = env.indexing(False)
    over = bind_data(outer, first(evaluate(outer, expr.args[0])))
    pattern = pattern_of(expr.args[2] if len(expr.args) == 3 else None)
    body = Body(outer, over, expr.args[1], pattern, expr.span)
    if isinstance(over, Seq):
        return Seq(tuple(bind_data(outer, body.at(outer, (const(n + 1),))) for n in range(len(over.items))))
    return map_value(outer, body, shape_of(outer, over, expr.span))


def map_value(env: Env, body: Body, shape: tuple[Poly, ...]) -> Value:
    """The map of a body over a shape."""
    numbers = known(shape)
    if numbers is not None and is_static(body.over):
        laid_out = _entry_by_entry(env, body, numbers)
        if laid_out is not None:
            return laid_out
    return _under_coordinates(env, body, shape)


def _entry_by_entry(env: Env, body: Body, shape: tuple[int, ...]) -> Vec | None:
    """A static map over a known domain, laid out; None if an entry turns out to be data."""
    size = 1
    for d in shape:
        size *= d
    if not 0 < size <= UNROLL_LIMIT:
        return Vec(shape, ()) if size == 0 and len(shape) == 1 else None
    items: list[Value] = []
    for at in grid(shape):
        value = body.at(env.child(scope=env.scope.inner()), tuple(const(a) for a in at))
        if not is_static(value):
            return None
        items.append(value)
    return _nested(shape, items)


def _nested(shape: tuple[int, ...], items: list[Value]) -> Vec | None:
    """Entries that are vectors of one shape become further dimensions."""
    if not any(isinstance(item, Vec | View) for item in items):
        return Vec(shape, tuple(items))
    inner = {item.shape if isinstance(item, Vec) else None for item in items}
    if len(inner) != 1 or None in inner:
        return None
    (rest,) = inner
    return Vec((*shape, *(rest or ())), tuple(e for item in items if isinstance(item, Vec) for e in item.items))


def _under_coordinates(env: Env, body: Body, shape: tuple[Poly, ...]) -> Value:
    coords = fresh(body.pattern, shape)
    inner = inside(env, shape)
    try:
        value = body.at(inner, coords)
        if not is_static(value):
            node = materialise(inner, value, body.span)
            return Data(build(coords, shape, inner.scope.block(node), body.span))
    except NeedsUnrolling as needs:
        return _unrolled(env, body.at, shape, own_place(needs, coords), body.span)
    return _static_view(env, body, shape, coords, value)


def _static_view(env: Env, body: Body, shape: tuple[Poly, ...], coords: tuple[Poly, ...], value: Value) -> View:
    """A static map of symbolic lengths: its element at given coordinates, by substitution."""
    symbols = tuple(the_symbol(c) for c in coords)
    inner_shape = shape_of(env, value, body.span)

    def get(at: tuple[Value, ...]) -> Value:
        outer, rest = at[: len(coords)], at[len(coords):]
        if all(isinstance(a, Poly) for a in outer):
            swap = {s: a for s, a in zip(symbols, outer, strict=True) if isinstance(a, Poly)}
            if isinstance(value, Poly):
                return substitute(value, swap)
            if isinstance(value, Cond):
                return substitute_cond(value, swap)
        again = body.at(env.child(scope=env.scope.inner()), outer)
        return element(env, again, rest, body.span, checked=True) if rest else again

    from tolcost.elaborate.shapes import space_of

    return View((*shape, *inner_shape), get, True, space_of(value))


def _unrolled(env: Env, at: At, shape: tuple[Poly, ...], place: int, span: Span) -> Value:
    """Take one dimension of the domain entry by entry, because a table is looked up by it."""
    from tolcost.elaborate.expressions import as_entry, join_values
    from tolcost.elaborate.primitives import reshape_value

    size = shape[place].constant
    assert size is not None
    rest = shape[:place] + shape[place + 1:]
    slices = [bind_data(env, _slice_of(env, at, rest, place, const(k), span)) for k in range(1, size + 1)]
    if not rest and all(not shape_of(env, s, span) for s in slices):
        return Vec((size,), tuple(slices))
    joined: Value | None = None
    for piece in slices:
        if not rest:
            entry = as_entry(env, piece, span)
        else:
            whole = shape_of(env, piece, span)
            entry = reshape_value(env, piece, (*whole[:place], const(1), *whole[place:]), span)
        joined = entry if joined is None else join_values(env, joined, entry, place + 1, span)
    assert joined is not None
    return joined


def _slice_of(env: Env, at: At, rest: tuple[Poly, ...], place: int, k: Poly, span: Span) -> Value:
    """The map with one coordinate fixed."""
    if not rest:
        return at(env, (k,))
    return lay(env, rest, lambda inner, coords: at(inner, (*coords[:place], k, *coords[place:])), span)


def lay(env: Env, shape: tuple[Poly, ...], at: At, span: Span, names: tuple[str, ...] = ()) -> Value:
    """A ToL of a shape whose elements a function gives, laid out by the program."""
    hinted = names or tuple(f"i{n + 1}" for n in range(len(shape)))
    coords = tuple(coordinate(name, d) for name, d in zip(hinted, shape, strict=True))
    inner = inside(env, shape)
    try:
        node = materialise(inner, at(inner, coords), span)
        return Data(build(coords, shape, inner.scope.block(node), span))
    except NeedsUnrolling as needs:
        return _unrolled(env, at, shape, own_place(needs, coords), span)


def own_place(needs: NeedsUnrolling, coords: tuple[Poly, ...]) -> int:
    """Which of our coordinates is to be taken entry by entry; if none, it is someone else's."""
    for n, c in enumerate(coords):
        if the_symbol(c) is needs.symbol:
            return n
    raise needs


# ---- reduce ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of a reduce: from an accumulator and a coordinate to the next accumulator."""

    env: Env
    over: Value
    expr: tree.Expr
    pattern: Pattern
    span: Span

    def at(self, env: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        """The next accumulator; bindings go to the block of ``env``."""
        from tolcost.elaborate.calls import arity, call_values, function_of, is_functional

        item = Lazy("", env, lambda: element(env, self.over, at, self.span, checked=True))
        names = self.pattern.bind(at, self.span)
        inner = Env(env.context, env.scope, names, self.env, Element(item, at))
        if not is_functional(inner, self.expr):
            fail("T0406", "`reduce` needs a function of the accumulator and the element", self.expr.span,
                 hint="name one, such as add, or write (a, e) => a + e")
        function = function_of(inner, self.expr)
        low, _ = arity(inner, function)
        args: tuple[Lazy | Value, ...] = (accumulator, item)
        if low == 3:
            args = (accumulator, item, Vec((len(at),), at, loose=True))
        return first(call_values(inner, function, args, self.span))


def reduce_form(env: Env, expr: tree.Call) -> Value:
    """``reduce(t, f, init, iter)``."""
    from tolcost.elaborate.expressions import evaluate
    from tolcost.elaborate.folds import fold_value

    if not 2 <= len(expr.args) <= 4:
        fail("T0203", f"`reduce` takes 3 to 4 arguments, not {len(expr.args)}", expr.span)
    outer = env.indexing(False)
    over = bind_data(outer, first(evaluate(outer, expr.args[0])))
    if len(expr.args) == 2:
        fail("T0325", "`reduce` needs a value to start from", expr.span, hint="for a sum: reduce(t, add, 0)")
    start = first(evaluate(outer, expr.args[2]))
    pattern = pattern_of(expr.args[3] if len(expr.args) == 4 else None)
    step = Step(outer, over, expr.args[1], pattern, expr.span)
    return fold_value(outer, step, bind_data(outer, start), shape_of(outer, over, expr.span))


