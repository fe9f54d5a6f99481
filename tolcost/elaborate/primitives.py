"""The primitive operators other than map and reduce, as functions of values."""

from __future__ import annotations

from fractions import Fraction

from tolcost.algebra import (
    FALSE,
    TRUE,
    Cond,
    Poly,
    const,
    data_symbol,
    eq,
    exact_div,
    floordiv,
    ge,
    indicator,
    length,
    mod,
    symbols_of,
    the_symbol,
)
from tolcost.algebra.poly import atom
from tolcost.atoms.nodes import Convert, Embed, Filter, Part, Put
from tolcost.diagnostics import Span
from tolcost.elaborate.apply import apply
from tolcost.elaborate.context import Env, bind_data, fail
from tolcost.elaborate.elements import capacity_of, check_indices, element, index_node, pick_component, spread
from tolcost.elaborate.evaluate import PRIMITIVES, Primitive
from tolcost.elaborate.folding import truth
from tolcost.elaborate.joining import join_values, reshape_value
from tolcost.elaborate.layout import in_spaces, lay_out, materialise
from tolcost.elaborate.lengths import decide, require, unify
from tolcost.elaborate.shapes import entry, first, known, shape_of, shape_text, space_of, volume
from tolcost.elaborate.values import Data, Opaque, Pieces, Ratio, Seq, Spaces, Value, Vec, View, is_static
from tolcost.spaces import SPACES, join_spaces, kind_of


def _expect(name: str, args: tuple[Value, ...], low: int, high: int, span: Span) -> None:
    if not low <= len(args) <= high:
        takes = str(low) if low == high else f"{low} to {high}"
        fail("T0203", f"`{name}` takes {takes} argument{'s' * (high != 1)}, not {len(args)}", span)


def _fixed(name: str, low: int, high: int, run: Primitive) -> Primitive:
    def checked(env: Env, args: tuple[Value, ...], span: Span) -> Value:
        _expect(name, args, low, high, span)
        return run(env, tuple(first(a) for a in args), span)

    return checked


# ---- norms -------------------------------------------------------------------------------


def _shape(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    shape = shape_of(env, args[0], span)
    return Vec((len(shape),), shape, loose=True)


def _dim(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    return const(len(shape_of(env, args[0], span)))


def _capacity(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    return const(capacity_of(env, args[0], span))


def _vol(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    return volume(shape_of(env, args[0], span)) * capacity_of(env, args[0], span)


# ---- spaces ------------------------------------------------------------------------------


def _space(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    (value,) = args
    match value:
        case Data(node=node):
            return Spaces(tuple(p.space for p in node.type))
        case Pieces(items=items):
            return Spaces(tuple(space_of(item) for item in items))
        case Vec(items=items, shape=(_,)) if is_static(value) and len({space_of(i) for i in items}) > 1:
            return Spaces(tuple(_default_space(item) for item in items))
        case _:
            return Spaces((_default_space(value),))


def _default_space(value: Value) -> str:
    number = value.constant if isinstance(value, Poly) else None
    return "N" if number is not None and number > 0 else space_of(value)


def _convert(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    value, target = args
    spaces = _space_names(target, span)
    if is_static(value) and len(spaces) == 1 and not isinstance(value, View | Pieces | Opaque):
        return _convert_static(value, spaces[0])
    node = materialise(env, value, span)
    if len(spaces) not in (1, len(node.type)):
        fail("T0409", f"{len(spaces)} spaces for a list of capacity {len(node.type)}", span)
    names = spaces * len(node.type) if len(spaces) == 1 else spaces
    converted = Convert(node, tuple(Part(p.shape, s) for p, s in zip(node.type, names, strict=True)))
    return Opaque(converted, names[0]) if isinstance(value, Opaque) else Data(converted)


def _space_names(target: Value, span: Span) -> tuple[str, ...]:
    if isinstance(target, Spaces):
        return target.names
    if isinstance(target, Vec) and all(isinstance(item, Spaces) for item in target.items):
        return tuple(name for item in target.items if isinstance(item, Spaces) for name in item.names)
    fail("T0410", "`convert` needs a space such as R or a list of spaces", span)


def _convert_static(value: Value, space: str) -> Value:
    if isinstance(value, Vec):
        return Vec(value.shape, tuple(_convert_static(item, space) for item in value.items), value.loose)
    kind = kind_of(space)
    if isinstance(value, Cond) and kind == "Z":
        return indicator(value)
    if kind == "B" and not isinstance(value, Cond):
        return truth(value) or value
    if isinstance(value, Poly) and kind == "R":
        return Fraction(value.constant) if value.constant is not None else Ratio(value, const(1))
    if isinstance(value, Fraction) and kind == "Z":
        return const(int(value))
    return value


def _kind(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    return kind_of(_space_names(args[0], span)[0])


def _bound(which: str) -> Primitive:
    def run(env: Env, args: tuple[Value, ...], span: Span) -> Value:
        name = _space_names(args[0], span)[0]
        bound = SPACES[name].lo if which == "lo" else SPACES[name].hi
        if bound is None:
            return float("-inf") if which == "lo" else float("inf")
        return const(bound) if isinstance(bound, int) else Fraction(bound)

    return run


# ---- parts -------------------------------------------------------------------------------


def _vector(env: Env, value: Value, span: Span) -> tuple[Value, ...]:
    return spread(env, value, span)


def _integers(env: Env, value: Value, span: Span) -> tuple[Poly, ...]:
    entries = _vector(env, value, span)
    if not all(isinstance(e, Poly) for e in entries):
        fail("T0310", "these must be integers known while compiling", span)
    return tuple(e for e in entries if isinstance(e, Poly))


def _part(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    value = bind_data(env, args[0])
    if len(args) == 2:
        return element(env, value, _vector(env, args[1], span), span)
    low, high = _integers(env, args[1], span), _integers(env, args[2], span)
    shape = shape_of(env, value, span)
    if not len(low) == len(high) == len(shape):
        fail(
            "T0316",
            f"the corners of a part need {len(shape)} coordinates each for shape {shape_text(shape)}",
            span,
        )
    if isinstance(value, Seq | Vec) and len(shape) == 1:
        a, b = low[0].constant, high[0].constant
        if a is not None and b is not None:
            return _cut(env, value, a, b, span)
    size = tuple(_box_length(env, a, b, d, span) for a, b, d in zip(low, high, shape, strict=True))

    def get(env: Env, at: tuple[Value, ...]) -> Value:
        moved = tuple(apply(env, "add", (a - 1, k), span) for a, k in zip(low, at, strict=True))
        return element(env, value, moved, span, checked=True)

    return View(size, get, is_static(value), space_of(value))


def _cut(env: Env, value: Seq | Vec, a: int, b: int, span: Span) -> Value:
    n = len(value.items)
    if not (a >= 1 and b <= n) and b >= a:
        fail("T0302", f"part {a}..{b} of something of length {n}", span, definite=True)
    items = value.items[a - 1 : max(b, a - 1)]
    return Seq(items) if isinstance(value, Seq) else Vec((len(items),), items, value.loose)


def _box_length(env: Env, a: Poly, b: Poly, extent: Poly, span: Span) -> Poly:
    size = b - a + 1
    message = "a part reaches outside of its ToL"
    require(env, ge(size), "a part is not shorter than nothing", span, message)
    require(env, ge(a - 1), "a part starts inside its ToL", span, message)
    require(env, ge(extent - b), "a part ends inside its ToL", span, message)
    return size


def _component(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    (j,) = _integers(env, args[1], span)
    if j.constant is None:
        fail("T0313", "which component must be known while compiling", span)
    return pick_component(env, args[0], j.constant, span)


def _swap(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    value, (d,), order = bind_data(env, args[0]), _integers(env, args[1], span), args[2]
    shape, place = shape_of(env, value, span), d.constant
    if place is None or not 1 <= place <= len(shape):
        fail("T0317", f"there is no such dimension in shape {shape_text(shape)}", span)
    unify(env, shape[place - 1], shape_of(env, order, span)[0], "a swap names every place once", span)

    def get(env: Env, at: tuple[Value, ...]) -> Value:
        source = element(env, order, (at[place - 1],), span, checked=True)
        return element(env, value, (*at[: place - 1], source, *at[place:]), span, checked=True)

    return View(shape, get, is_static(value), space_of(value))


def _tile(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    value = bind_data(env, args[0])
    shape = shape_of(env, value, span)
    size = shape[-1].constant if shape else None
    if size is None:
        fail("T0318", "`tile` moves the last dimension into the list, so its length must be a number", span)

    def get(env: Env, at: tuple[Value, ...]) -> Value:
        pieces = [element(env, value, (*at, const(j)), span, checked=True) for j in range(1, size + 1)]
        found = tuple(c for piece in pieces for c in _components(env, piece, span))
        return found[0] if len(found) == 1 else Pieces(found)

    return get(env, ()) if len(shape) == 1 else View(shape[:-1], get, is_static(value), space_of(value))


def _components(env: Env, value: Value, span: Span) -> tuple[Value, ...]:
    return tuple(pick_component(env, value, j, span) for j in range(1, capacity_of(env, value, span) + 1))


# ---- reshape, join, embed ----------------------------------------------------------------


def _reshape(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    wanted = _integers(env, args[1], span)
    shape = shape_of(env, args[0], span)
    open_places = [n for n, d in enumerate(wanted) if d.constant == -1]
    if len(open_places) > 1:
        fail("T0319", "a shape can leave only one length open with -1", span)
    if open_places:
        rest = volume(tuple(d for n, d in enumerate(wanted) if n != open_places[0]))
        filled = _share(env, volume(shape), rest, span)
        wanted = tuple(filled if n == open_places[0] else d for n, d in enumerate(wanted))
    return reshape_value(env, args[0], wanted, span)


def _share(env: Env, whole: Poly, rest: Poly, span: Span) -> Poly:
    if rest.constant == 0:
        fail("T0319", "-1 beside a length of 0 could be anything", span)
    found = exact_div(whole, rest)
    if found is None:
        require(env, eq(mod(whole, rest)), "the lengths divide", span, "the lengths do not divide")
        found = floordiv(whole, rest)
    return found


def _join(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    left, right = args[:2]
    if isinstance(left, Seq) and isinstance(right, Seq):
        return Seq(left.items + right.items)
    rank = len(shape_of(env, left, span))
    if len(args) == 3:
        d = _integers(env, args[2], span)[0].constant
        if d is None:
            fail("T0313", "the dimension to join along must be known while compiling", span)
        return join_values(env, left, right, d, span)
    return join_values(env, left, right, rank, span)


def _embed(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    (value,) = args
    shape = shape_of(env, value, span)
    if isinstance(value, Vec):
        return Vec((*value.shape, 1), value.items)
    if isinstance(value, View):
        return View(
            (*shape, const(1)),
            lambda here, at: element(here, value, at[:-1], span, checked=True),
            value.static,
            value.space,
        )
    if is_static(value) and not isinstance(value, Opaque):
        return Vec((1,), (value,))
    node = materialise(env, value, span)
    return Data(Embed(node, tuple(Part((*p.shape, const(1)), p.space) for p in node.type)))


# ---- put and filter ----------------------------------------------------------------------


def _put(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    value, at, new = args[0], _vector(env, args[1], span), entry(args[2])
    shape = shape_of(env, value, span)
    if len(at) > len(shape):
        fail("T0303", f"{len(at)} indices into a ToL of shape {shape_text(shape)}", span)
    if (
        isinstance(value, View)
        and known(shape) is not None
        and value.static
        and len(shape) == 1
        and all(isinstance(a, Poly) and a.constant is not None for a in at)
    ):
        value = lay_out(value, known(shape) or (), env, span)
    if isinstance(value, Vec) and len(value.shape) == 1:
        place = at[0].constant if isinstance(at[0], Poly) else None
        if place is not None:
            return _put_entry(value, place, new, span)
    return _put_node(env, value, at, new, span)


def _put_entry(value: Vec, place: int, new: Value, span: Span) -> Value:
    if not 1 <= place <= len(value.items):
        fail("T0302", f"index {place} is outside 1..{len(value.items)}", span, definite=True)
    entry = new.items[0] if isinstance(new, Vec) and new.shape == (1,) else new
    return Vec(value.shape, (*value.items[: place - 1], entry, *value.items[place:]), value.loose)


def _put_node(env: Env, value: Value, at: tuple[Value, ...], new: Value, span: Span) -> Value:
    shape = shape_of(env, value, span)
    check_indices(env, at, shape, span)
    tol, item = materialise(env, value, span), materialise(env, new, span)
    rest = shape[len(at) :]
    if len(rest) != len(item.type[0].shape):
        fail(
            "T0329",
            f"what is put has shape {shape_text(item.type[0].shape)}, and replaces shape {shape_text(rest)}",
            span,
        )
    for x, y in zip(rest, item.type[0].shape, strict=True):
        unify(env, x, y, "what is put has the shape of what it replaces", span)
    spaces = tuple(join_spaces(p.space, q.space) for p, q in zip(tol.type, item.type, strict=True))
    tol, item = in_spaces(tol, spaces), in_spaces(item, spaces)
    indices = tuple(a if isinstance(a, Poly) else index_node(env, a, span) for a in at)
    return Data(Put(env.scope.bind(tol), indices, item, tol.type, span))


def _filter(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    value, mask = args
    size = shape_of(env, value, span)[0] if shape_of(env, value, span) else const(1)
    if is_static(mask):
        return _filter_static(env, value, mask, span)
    unify(env, size, shape_of(env, mask, span)[0], "a filter has one mark per entry", span)
    node, marks = materialise(env, value, span), materialise(env, mask, span)
    env.context.names += 1
    symbol = the_symbol(data_symbol(f"z{env.context.names}", 0, size))
    parts = tuple(Part((atom(symbol), *p.shape[1:]), p.space) for p in node.type)
    return Data(env.scope.bind(Filter(node, env.scope.bind(marks), symbol, parts, span)))


def _filter_static(env: Env, value: Value, mask: Value, span: Span) -> Value:
    if known(shape_of(env, mask, span)) is None or len(shape_of(env, mask, span)) != 1:
        fail("T0320", "which entries stay must be known while compiling, or depend on data", span)
    items, marks = _vector(env, value, span), _vector(env, mask, span)
    kept = []
    for item, mark in zip(items, marks, strict=True):
        holds = truth(mark)
        decided = None if holds is None else decide(env, holds)
        if decided is not TRUE and decided is not FALSE:
            fail("T0320", "which entries stay must be known while compiling, or depend on data", span)
        if decided is TRUE:
            kept.append(item)
    return Seq(tuple(kept)) if isinstance(value, Seq) else Vec((len(kept),), tuple(kept))


# ---- lengths -----------------------------------------------------------------------------


def _exact(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    """``a / b`` where ``b`` is meant to divide ``a``: where it cannot be told, it is assumed and said."""
    (a,), (b,) = _integers(env, args[0], span), _integers(env, args[1], span)
    found = exact_div(a, b)
    if found is not None:
        return found
    if a.constant is not None and b.constant is not None:
        fail("T0321", f"{b.constant} does not divide {a.constant}", span, definite=True)
    symbols = symbols_of(a)
    if len(symbols) == 1 and atom(next(iter(symbols))) == a and next(iter(symbols)).kind == "length":
        symbol = next(iter(symbols))
        share = length(f"{symbol.name}_share")
        env.context.record(eq(a - b * share), "the length divides", span)
        env.context.adopt(symbol, b * share)
        return share
    require(env, eq(mod(a, b)), "the length divides", span, "the length does not divide")
    return floordiv(a, b)


def _same(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    left, right = _integers(env, args[0], span), _integers(env, args[1], span)
    if len(left) != len(right):
        fail("T0301", f"{len(left)} lengths against {len(right)}", span, definite=True)
    merged = tuple(
        unify(env, a, b, "the lengths are the same", span) for a, b in zip(left, right, strict=True)
    )
    return merged[0] if len(merged) == 1 else Vec((len(merged),), merged)


def _bdim(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    (a,), (b,) = _integers(env, args[0], span), _integers(env, args[1], span)
    if a.constant == 1:
        return b
    return a if b.constant == 1 else unify(env, a, b, "broadcast lengths agree", span)


def _chars(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    (text,) = args
    if not isinstance(text, str):
        fail("T0411", "`chars` takes text", span)
    return Vec((len(text),), tuple(text))


PRIMITIVES.update(
    (name, _fixed(name, low, high, run))
    for name, low, high, run in (
        ("shape", 1, 1, _shape),
        ("dim", 1, 1, _dim),
        ("capacity", 1, 1, _capacity),
        ("vol", 1, 1, _vol),
        ("space", 1, 1, _space),
        ("convert", 2, 2, _convert),
        ("kind", 1, 1, _kind),
        ("lo", 1, 1, _bound("lo")),
        ("hi", 1, 1, _bound("hi")),
        ("part", 2, 3, _part),
        ("part'", 2, 2, _component),
        ("swap", 3, 3, _swap),
        ("tile", 1, 1, _tile),
        ("reshape", 2, 2, _reshape),
        ("join", 2, 3, _join),
        ("embed", 1, 1, _embed),
        ("put", 3, 3, _put),
        ("filter", 2, 2, _filter),
        ("exact", 2, 2, _exact),
        ("same", 2, 2, _same),
        ("bdim", 2, 2, _bdim),
        ("chars", 1, 1, _chars),
    )
)
