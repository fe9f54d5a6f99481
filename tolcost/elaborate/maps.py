"""Bodies under coordinates: the body of a ``map``, and a step of a ``reduce``.

A small static domain is mapped entry by entry. Otherwise the body is elaborated once, under fresh
coordinates: a static result stays a formula, and a data result becomes a Build.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import (
    Cond,
    Poly,
    const,
    only_symbol,
    substitute,
    substitute_cond,
    the_symbol,
    to_text,
)
from tolcost.atoms.nodes import Node
from tolcost.diagnostics import Rejected, Span
from tolcost.elaborate.environment import Element, Env, Lazy, bind_data, evaluate, form
from tolcost.elaborate.expressions import (
    call_values,
    function_of,
    has_star,
    is_functional,
    signature,
)
from tolcost.elaborate.faults import ListForNumber, NeedsUnrolling, fail
from tolcost.elaborate.layout import (
    At,
    bind_coordinates,
    check_even,
    element,
    emit,
    entry_at,
    grid,
    make_build,
    own_place,
    pack,
    unroll_dimension,
)
from tolcost.elaborate.shapes import (
    Shape,
    capacity,
    component,
    domain_shape,
    is_told_by_data,
    joint_space,
    known,
    pick_component,
    shape_of,
    space_of,
    split_if_uneven,
)
from tolcost.elaborate.values import (
    UNROLL_LIMIT,
    NodeValue,
    Seq,
    Value,
    ValueList,
    Vec,
    View,
    entry,
    is_static,
    is_tol,
    plain,
    recast,
)
from tolcost.spaces import SPACES
from tolcost.syntax import tree

MOST_UNROLLED = 50_000
"""The most entries that all maps of a program unroll together, because nested maps multiply."""
_ANY_NUMBER = "a bare name or *name takes any number of coordinates"
_A_NUMBER = "this is a number; `map` and `reduce` take a ToL number by number, and x[i] is a row of x"


def _walked(at: tuple[Value, ...]) -> str:
    """Return the shape that coordinates walk over, in words; nothing if it is none of formulas."""
    symbols = [only_symbol(one) if isinstance(one, Poly) else None for one in at]
    lengths = [symbol.hi for symbol in symbols if symbol is not None and symbol.hi is not None]
    return f", those of [{', '.join(map(to_text, lengths))}]" if 0 < len(at) == len(lengths) else ""


class CoordinateNames(Struct, frozen=True, eq=False):
    """The names of coordinates: ``[i, j]``, ``[n, *o]``, or one name for all of them."""

    names: tuple[str, ...] = ()
    rest: str | None = None
    span: Span | None = None

    def bind(self, at: tuple[Value, ...], span: Span) -> dict[str, Lazy | Value]:
        """Return the names with their coordinates."""
        if len(self.names) > len(at) or (self.rest is None and self.names and len(self.names) != len(at)):
            hint = _ANY_NUMBER if at else _A_NUMBER
            fail(
                "T0322",
                f"coordinate names: {len(self.names)}, dimensions: {len(at)}{_walked(at)}",
                self.span or span,
                hint=hint,
            )
        bound: dict[str, Lazy | Value] = dict(zip(self.names, at, strict=False))
        if self.rest is not None:
            remaining = at[len(self.names) :]
            bound[self.rest] = Vec((len(remaining),), remaining, loose=True)
        return bound


def pattern_of(expr: tree.Expr | None) -> CoordinateNames:
    """Return the coordinate names that an iterator argument gives."""
    match expr:
        case None:
            return CoordinateNames()
        case tree.Name(name=name, span=span):
            return CoordinateNames(rest=name, span=span)
        case tree.Bracket(items=items, span=span):
            names = [item.name for item in items if isinstance(item, tree.Name)]
            if len(names) == len(items):  # the usual case
                return CoordinateNames(tuple(names), None, span)
            rest = [
                item.value.name
                for item in items
                if isinstance(item, tree.Splice) and isinstance(item.value, tree.Name)
            ]
            if len(names) + 1 == len(items) and len(rest) == 1 and isinstance(items[-1], tree.Splice):
                return CoordinateNames(tuple(names), rest[0], span)
        case _:
            pass
    fail("T0323", "the coordinates must be names: i, [i, j] or [n, *o]", expr.span)


def coordinate_names(pattern: CoordinateNames, rank: int) -> tuple[str, ...]:
    """Return names for fresh coordinates, preferably the program's own."""
    named = pattern.names[:rank]
    more = rank - len(named)
    if not more:
        return named
    stem = pattern.rest or "i"
    return (*named, *[stem if more == 1 else f"{stem}{n + 1}" for n in range(more)])


def fresh_coordinates(env: Env, pattern: CoordinateNames, shape: Shape) -> tuple[Shape, Env]:
    """Make fresh coordinates for a shape, and the block under them."""
    return bind_coordinates(env, coordinate_names(pattern, len(shape)), shape)


# ---- map ---------------------------------------------------------------------------------


class MapBody(Struct, frozen=True, eq=False):
    """The body of a map, with its domain."""

    env: Env
    over: Value
    expr: tree.Expr
    pattern: CoordinateNames
    span: Span

    def at(self, env: Env, at: tuple[Value, ...]) -> Value:
        """Return the body's value at a coordinate; its bindings go to the block of ``env``."""
        inner, item = _enter(self, env, at)
        if is_functional(inner, self.expr):
            function = function_of(inner, self.expr)
            args: tuple[Lazy | Value, ...] = (item,)
            if signature(function).low == 2:
                args = (item, Vec((len(at),), at, loose=True))
            return entry(call_values(inner, function, args, self.span))
        return entry(evaluate(inner, self.expr))

    def is_one_value(self, env: Env) -> bool:
        """Whether the body uses neither the element nor its coordinates."""
        named = self.pattern.names or self.pattern.rest is not None
        return not named and not has_star(self.expr) and not is_functional(env, self.expr)


@form("map")
def map_form(env: Env, expr: tree.Call) -> Value:
    """Evaluate ``map(t, f, iter)``."""
    outer = env.indexing(False)
    over = split_if_uneven(outer, bind_data(outer, evaluate(outer, expr.args[0])))
    pattern = pattern_of(expr.args[2] if len(expr.args) == 3 else None)
    body = MapBody(outer, over, expr.args[1], pattern, expr.span)
    if isinstance(over, Seq):
        return Seq(tuple(bind_data(outer, body.at(outer, (const(n + 1),))) for n in range(len(over.items))))
    shape = domain_shape(outer, over, expr.span)
    try:
        return map_value(outer, body, shape)
    except ListForNumber:
        if capacity(over) == 1:
            raise
    return ValueList(tuple(_component_map(outer, body, j + 1, shape) for j in range(capacity(over))))


def _component_map(env: Env, body: MapBody, j: int, shape: tuple[Poly, ...]) -> Value:
    """Map a function of numbers over one component of a list."""
    numbers = bind_data(env, pick_component(env, body.over, j, body.span))
    return map_value(env, replace(body, over=numbers), shape)


def map_value(env: Env, body: MapBody, shape: tuple[Poly, ...]) -> Value:
    """Map a body over a shape.

    A static map over a small known domain is laid out, a data map is not. Elaborating the body shows which it
    is; a body that gave data before is assumed to do so again, and is elaborated under coordinates at once,
    so that nested maps are not elaborated twice at each level.
    """
    numbers = known(shape)
    if numbers is None or not is_static(body.over):
        return under_coordinates(env, shape, body.at, body.pattern, body.span)
    place = env.context.node, id(body.expr)
    if place in env.context.gave_data:
        value = _map_as_data(env, body, shape)
        if value is not None:
            return value
    laid_out = _entry_by_entry(env, body, numbers)
    if laid_out is not None:
        return laid_out
    env.context.gave_data.add(place)
    return under_coordinates(env, shape, body.at, body.pattern, body.span)


def _map_as_data(env: Env, body: MapBody, shape: tuple[Poly, ...]) -> Value | None:
    """Map under coordinates; return None unless the result is data."""
    try:
        value = under_coordinates(env, shape, body.at, body.pattern, body.span)
    except Rejected:
        return None
    return None if is_static(value) else value


def _entry_by_entry(env: Env, body: MapBody, shape: tuple[int, ...]) -> Value | None:
    """Lay a static map over a known domain out; None if an entry turns out to be data."""
    size = prod(shape)
    if size == 0:
        return _map_over_nothing(env, body, shape)
    if size > UNROLL_LIMIT:
        return None
    env.context.unrolled += size
    if env.context.unrolled > MOST_UNROLLED:
        fail("T0502", f"maps take more than {MOST_UNROLLED:,} entries one by one while compiling", body.span)
    items: list[Value] = []
    outer = env.building(env.scope.inner())
    alike = body.is_one_value(outer)
    with env.context.notes.attempt(outer.scope) as trial:
        for at in grid(shape, body.span):
            value = body.at(outer, tuple(const(a) for a in at))
            if not is_static(value):
                return None
            items.append(value)
            if alike:
                items *= size
                break
        trial.keep()
    env.scope.absorb(outer.scope)
    return _assemble(shape, items) if shape else items[0]


def _assemble(shape: tuple[int, ...], items: list[Value]) -> Value | None:
    """Assemble entries into one ToL; lists become a list of ToLs, one for each component."""
    capacities = {len(item.items) if isinstance(item, ValueList) else None for item in items}
    if capacities != {None}:
        columns = [item.items for item in items if isinstance(item, ValueList)]
        if len(capacities) > 1:
            return None
        parts = [_assemble(shape, list(column)) for column in zip(*columns, strict=True)]
        return None if None in parts else ValueList(tuple(p for p in parts if p is not None))
    if any(isinstance(item, Seq) for item in items):
        return None
    laid_out = _flatten(shape, [plain(item) for item in items])
    return None if laid_out is None else recast(laid_out, joint_space(items))


def _map_over_nothing(env: Env, body: MapBody, shape: tuple[int, ...]) -> Value | None:
    """Map over an empty domain: return an empty vector in the space of its elements.

    Return None if they are data.
    """
    coords, inner = bind_coordinates(
        env, coordinate_names(body.pattern, len(shape)), tuple(map(const, shape))
    )
    with env.context.notes.attempt(inner.scope):
        try:
            entry_ = body.at(inner, coords)
        except ListForNumber:
            raise
        except (Rejected, NeedsUnrolling):
            return Vec(shape, ())
    number = is_static(entry_) and capacity(entry_) == 1 and not shape_of(env, entry_, body.span)
    if not number:
        return None
    space = space_of(entry_)
    return Vec(shape, ()) if space == "Z" else recast(Vec(shape, ()), space)


def _flatten(shape: tuple[int, ...], items: list[Value]) -> Vec | None:
    """Flatten entries that are vectors of one shape, which become further dimensions."""
    if not any(map(is_tol, items)):
        return Vec(shape, tuple(items))
    inner = {item.shape if isinstance(item, Vec) else None for item in items}
    if len(inner) != 1 or None in inner:
        return None
    (rest,) = inner
    return Vec(
        (*shape, *(rest or ())), tuple(e for item in items if isinstance(item, Vec) for e in item.items)
    )


def under_coordinates(env: Env, shape: Shape, at: At, pattern: CoordinateNames, span: Span) -> Value:
    """Build a ToL whose elements a function computes; its static components stay formulas."""
    coords, inner = fresh_coordinates(env, pattern, shape)
    try:
        with env.context.notes.attempt(inner.scope) as trial:
            value = at(inner, coords)
            items = value.items if isinstance(value, ValueList) else (value,)
            static = tuple(
                [
                    is_static(item) and not isinstance(item, Seq) and not is_told_by_data(inner.scope, item)
                    for item in items
                ]
            )
            data = [emit(inner, v, span) for v, known in zip(items, static, strict=True) if not known]
            trial.keep()
        laid = make_build(coords, shape, inner.scope.block(pack(tuple(data))), span) if data else None
    except NeedsUnrolling as needs:
        place = own_place(needs, coords)
        return unroll_dimension(
            env,
            at,
            shape,
            place,
            span,
            lambda e, rest, a: under_coordinates(e, rest, a, CoordinateNames(), span),
        )
    if laid is not None and not any(static):
        return NodeValue(laid)
    views = [_static_view(env, at, shape, coords, v, j, span) for j, v in enumerate(items) if static[j]]
    if laid is None:
        return ValueList(tuple(views)) if isinstance(value, ValueList) else views[0]
    return _interleave(env.scope.bind(laid), views, static)


def _interleave(laid: Node, views: list[Value], static: tuple[bool, ...]) -> ValueList:
    """Assemble a list from static components and the components that a node computes."""
    size = len(static) - sum(static)
    computed = iter([component(laid, j + 1) if size > 1 else laid for j in range(size)])
    formulas = iter(views)
    return ValueList(tuple(next(formulas) if known else NodeValue(next(computed)) for known in static))


def _static_view(
    env: Env, at: At, shape: Shape, coords: Shape, found: Value, place: int, span: Span
) -> Value:
    """Return a static map of symbolic lengths as a view, whose elements are found by substitution.

    If the body is a list, it is the component at ``place``, counted from 0.
    """
    if not coords:  # a number has one element
        return found
    symbols = tuple(the_symbol(c) for c in coords)
    value = plain(found)
    inner_shape = shape_of(env, value, span)
    check_even(coords, inner_shape, span)

    def get(here: Env, full: tuple[Value, ...]) -> Value:
        outer, rest = full[: len(coords)], full[len(coords) :]
        if all(isinstance(a, Poly) for a in outer):
            swap = {s: a for s, a in zip(symbols, outer, strict=True) if isinstance(a, Poly)}
            if isinstance(value, Poly):
                return substitute(value, swap)
            if isinstance(value, Cond):
                return substitute_cond(value, swap)
        again = at(here, outer)
        again = plain(again.items[place] if isinstance(again, ValueList) else again)
        return element(here, again, rest, span, checked=True) if rest else again

    space = space_of(found)
    laid = View((*shape, *inner_shape), get, True, space, capacity=capacity(value))
    # an entry that only a run determines has its space from its node, and a number may replace it
    return recast(laid, space) if SPACES[space].finite else laid


class WrappedStep(Struct, frozen=True, eq=False):
    """A step that works on another accumulator than the program's own."""

    at: Callable[[Env, Value, tuple[Value, ...]], Value]
    pattern: CoordinateNames
    span: Span


class WrittenStep(Struct, frozen=True, eq=False):
    """One step of a ``reduce``, as the program defines it."""

    env: Env
    over: Value
    expr: tree.Expr
    pattern: CoordinateNames
    span: Span

    def looks_at_elements(self) -> bool:
        """Whether the step may use the elements, not only their coordinates.

        It may, unless its syntax shows otherwise.
        """
        if isinstance(self.expr, tree.Arrow) and len(self.expr.params) in (2, 3):
            element, nodes = self.expr.params[1], tree.inner_nodes(self.expr.body)
            return any(isinstance(node, tree.Name) and node.name == element for node in nodes)
        return True

    def at(self, env: Env, accumulator: Value, at: tuple[Value, ...]) -> Value:
        """Return the next accumulator; bindings go to the block of ``env``."""
        inner, item = _enter(self, env, at)
        if not is_functional(inner, self.expr):
            fail(
                "T0406",
                "`reduce` needs a function of the accumulator and the element",
                self.expr.span,
                hint="name one, such as add, or write (a, e) => a + e",
            )
        function = function_of(inner, self.expr)
        low = signature(function).low
        args: tuple[Lazy | Value, ...] = (accumulator, item)
        if low == 3:
            args = (accumulator, item, Vec((len(at),), at, loose=True))
        return entry(call_values(inner, function, args, self.span))


Step: TypeAlias = WrittenStep | WrappedStep
"""One step of a fold: from an accumulator and a coordinate to the next accumulator."""


def steps_before(at: tuple[Value, ...], shape: tuple[Poly, ...]) -> Poly:
    """Return the number of steps before that at a coordinate: a walk goes row by row.

    >>> steps_before((const(2), const(1)), (const(2), const(3)))
    3
    """
    found = const(0)
    for c, d in zip(at, shape, strict=True):
        assert isinstance(c, Poly)
        found = found * d + c - 1
    return found


def _enter(body: MapBody | WrittenStep, env: Env, at: tuple[Value, ...]) -> tuple[Env, Lazy | Value]:
    """Return the environment of a body at a coordinate, binding in the block of ``env``, and the element."""
    item: Lazy | Value | None = entry_at(body.over, at)
    # it may need computation, which happens once, in this block
    if item is None or not isinstance(item, (Poly, Cond, str)):
        item = Lazy("", env, lambda here: element(here, body.over, at, body.span, checked=True))
    names = body.pattern.bind(at, body.span)
    return Env(env.context, env.scope, names, body.env, Element(item, at), calls=body.env.calls), item
