"""Primitives that rearrange ToLs: part, swap, tile, reshape, join, embed, put, filter, repeat."""

from __future__ import annotations

from typing import NoReturn, TypeAlias

from tolcost.algebra import (
    FALSE,
    TRUE,
    Poly,
    atom,
    const,
    data_symbol,
    eq,
    exact_div,
    floordiv,
    ge,
    mod,
    product_of,
    the_symbol,
    to_text,
)
from tolcost.atoms.nodes import Filter, Part, Put, Reshape
from tolcost.diagnostics import Span
from tolcost.elaborate.apply import check_condition, number_in
from tolcost.elaborate.environment import Env, bind_data
from tolcost.elaborate.faults import Misfit, OutOfRange, fail
from tolcost.elaborate.layout import (
    check_components,
    check_indices,
    check_rank,
    check_sequence,
    check_size,
    element,
    emit,
    expand,
    in_spaces,
    index_node,
    integers,
    join_nodes,
    joined_spaces,
    made_of,
    one_entry,
    spread,
)
from tolcost.elaborate.ranges import bind_length, end_of, shifted
from tolcost.elaborate.shapes import (
    Shape,
    capacity,
    component_shapes,
    components,
    decide,
    domain_shape,
    each,
    is_same_shape,
    known,
    pick_component,
    require,
    require_length,
    shape_of,
    shape_text,
    space_of,
    split_if_uneven,
    unify,
)
from tolcost.elaborate.signatures import anything, integer, no_sequence, primitive, tol, vector
from tolcost.elaborate.static_numbers import truth
from tolcost.elaborate.values import NodeValue, Seq, Value, ValueList, Vec, View, entry, is_static, plain
from tolcost.spaces import join_spaces

Ends: TypeAlias = tuple[Value, ...]
"""The first or the last coordinate of a part: integers, or numbers that data decides."""


def as_entry(env: Env, value: Value, span: Span) -> Value:
    """Return a ToL with a new first dimension of length 1, whose only entry is the value."""
    value = split_if_uneven(env, value)
    if isinstance(value, ValueList):
        return each(value, lambda item: as_entry(env, item, span))
    return reshape_value(env, value, (const(1), *shape_of(env, value, span)), span)


def join_values(env: Env, left: Value, right: Value, d: int, span: Span) -> Value:
    """Join two ToLs along dimension ``d``."""
    lefts, rights = component_shapes(env, left, span), component_shapes(env, right, span)
    for a, b in zip(lefts, rights, strict=False):
        _check_joined(env, a, b, d, span)
    if len(lefts) != len(rights):
        fail("T0315", f"lists of capacity {len(lefts)} and {len(rights)} cannot be joined", span, kind=Misfit)
    if isinstance(left, Vec) and isinstance(right, Vec) and len(left.shape) == 1:
        check_size(left.shape[0] + right.shape[0], span)
        return Vec((left.shape[0] + right.shape[0],), left.items + right.items)
    if isinstance(left, ValueList) and isinstance(right, ValueList):
        return ValueList(
            tuple(join_values(env, x, y, d, span) for x, y in zip(left.items, right.items, strict=True))
        )
    node = join_nodes(emit(env, left, span), emit(env, right, span), d)
    return made_of(env, node, left, right)


def _check_joined(env: Env, a: Shape, b: Shape, d: int, span: Span) -> None:
    """Require two shapes to have equal rank, and equal lengths except along the joined dimension."""
    if len(a) != len(b) or not 1 <= d <= len(a):
        fail(
            "T0312",
            f"cannot join shapes {shape_text(a)} and {shape_text(b)} along dimension {d}",
            span,
            hint="all other dimensions must agree",
            kind=Misfit,
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


def reshape_value(env: Env, value: Value, shape: tuple[Poly, ...], span: Span) -> Value:
    """Return the same elements, row-major, under another shape."""
    check_rank(shape, span)
    if isinstance(value, ValueList):
        return each(value, lambda item: reshape_value(env, item, shape, span))
    old = shape_of(env, value, span)
    if is_same_shape(old, shape):
        return value
    before, after = product_of(old), product_of(shape)
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
    if is_static(value) and not old and numbers is not None and not isinstance(value, NodeValue):
        return Vec(numbers, (value,))
    if not shape:
        return element(env, bind_data(env, value), (const(1),) * len(old), span, checked=True)
    node = emit(env, value, span)
    reshaped = Reshape(node, tuple(Part(shape, p.space) for p in node.type))
    return made_of(env, reshaped, value)


@primitive("part", tol, vector, vector, elements=(0,), place=1)
def _part(env: Env, span: Span, value: Value, at: Ends, to: Ends | None = None) -> Value:
    value = bind_data(env, value)
    if to is None:
        return element(env, value, at, span)
    low, high = (tuple([end_of(env, end, span) for end in ends]) for ends in (at, to))
    return _box(env, value, low, high, span)


def _box(env: Env, value: Value, low: Ends, high: Ends, span: Span) -> Value:
    """Return the box between two corners."""
    shape = shape_of(env, value, span)
    if not len(low) == len(high) == len(shape):
        fail(
            "T0316",
            f"the corners of a part need {len(shape)} coordinates each for shape {shape_text(shape)}",
            span,
            kind=Misfit,
        )
    if isinstance(value, ValueList):
        return each(value, lambda item: _box_of_component(env, item, low, high, span))
    if isinstance(value, (Seq, Vec)) and len(shape) == 1:
        a, b = (end.constant if isinstance(end, Poly) else None for end in (low[0], high[0]))
        if a is not None and b is not None:
            return _cut_vector(env, value, a, b, span)
    size = tuple([_box_length(env, a, b, d, span) for a, b, d in zip(low, high, shape, strict=True)])

    before = [shifted(env, a, const(-1), span) for a in low]

    def get(env: Env, at: tuple[Value, ...]) -> Value:
        moved = tuple([shifted(env, k, by, span) for by, k in zip(before, at, strict=True)])
        return element(env, value, moved, span, checked=True)

    static = is_static(value) and all(map(is_static, low))
    return View(size, get, static, space_of(value), capacity=capacity(value))


def _box_of_component(env: Env, item: Value, low: Ends, high: Ends, span: Span) -> Value:
    """Box a component of a list; its further dimensions are kept whole."""
    own = shape_of(env, item, span)[len(low) :]
    return _box(env, item, (*low, *(const(1) for _ in own)), (*high, *own), span)


def _cut_vector(env: Env, value: Seq | Vec, a: int, b: int, span: Span) -> Value:
    n = len(value.items)
    if not (a >= 1 and b <= n) and b >= a:
        fail("T0302", f"part {a}..{b} of something of length {n}", span, kind=OutOfRange, definite=True)
    items = value.items[a - 1 : max(b, a - 1)]
    return Seq(items) if isinstance(value, Seq) else Vec((len(items),), items, value.loose)


def _box_length(env: Env, a: Value, b: Value, extent: Poly, span: Span) -> Poly:
    if not (isinstance(a, Poly) and isinstance(b, Poly)):
        return bind_length(env, a, b, extent, span)
    size = b - a + 1

    def message() -> str:
        return f"the part {to_text(a)}..{to_text(b)} reaches outside 1..{to_text(extent)}"

    length = require_length(env, size, span, "a part is not shorter than nothing", message)
    require(env, ge(a - 1), "a part starts inside its ToL", span, message)
    require(env, ge(extent - b), "a part ends inside its ToL", span, message)
    return length


@primitive("part'", tol, integer, elements=(0,))
def _component(env: Env, span: Span, value: Value, j: Poly) -> Value:
    if j.constant is None:
        fail("T0313", "which component must be known while compiling", span)
    return pick_component(env, value, j.constant, span)


@primitive("swap", no_sequence, integer, no_sequence, elements=(0,), place=2)
def _swap(env: Env, span: Span, given: Value, d: Poly, order: Value) -> Value:
    value = bind_data(env, given)
    if isinstance(value, ValueList):
        return each(value, lambda item: _swap(env, span, item, d, order))
    shape, place = shape_of(env, value, span), d.constant
    if place is None or not 1 <= place <= len(shape):
        fail("T0317", f"there is no such dimension in shape {shape_text(shape)}", span, kind=Misfit)
    places = shape_of(env, order, span)
    if len(places) != 1:
        fail(
            "T0317", f"the order of a swap is a vector, not of shape {shape_text(places)}", span, kind=Misfit
        )
    unify(env, shape[place - 1], places[0], "a swap must name every place once", span)

    def get(env: Env, at: tuple[Value, ...]) -> Value:
        source = element(env, order, (at[place - 1],), span, checked=True)
        return element(env, value, (*at[: place - 1], source, *at[place:]), span, checked=True)

    return View(shape, get, is_static(value), space_of(value), capacity=capacity(value))


@primitive("tile", tol, elements=(0,))
def _tile(env: Env, span: Span, given: Value) -> Value:
    value = bind_data(env, given)
    shape = shape_of(env, value, span)
    size = shape[-1].constant if shape else None
    if not size:
        fail("T0318", "`tile` moves the last dimension into the list, so its length must be a number", span)
    several = size * capacity(value)
    check_components(several, span)
    for other in component_shapes(env, value, span)[1:]:
        if len(other) != len(shape):
            fail("T0318", "`tile` takes no list of ToLs of different ranks", span, kind=Misfit)
    domain_shape(env, value, span)

    def get(env: Env, at: tuple[Value, ...]) -> Value:
        pieces = [element(env, value, (*at, const(j)), span, checked=True) for j in range(1, size + 1)]
        found = tuple(c for piece in pieces for c in components(env, piece, span))
        return found[0] if len(found) == 1 else ValueList(found)

    if len(shape) == 1:
        return get(env, ())
    return View(shape[:-1], get, is_static(value), space_of(value), capacity=several)


@primitive("reshape", no_sequence, integers, elements=(0,))
def _reshape(env: Env, span: Span, value: Value, wanted: Shape) -> Value:
    if isinstance(value, ValueList):
        return each(value, lambda item: _reshape(env, span, item, wanted))
    shape = shape_of(env, value, span)
    open_places = [n for n, d in enumerate(wanted) if d.constant == -1]
    if len(open_places) > 1:
        fail("T0319", "a shape can leave only one length open with -1", span, kind=Misfit)
    if open_places:
        rest = product_of(tuple(d for n, d in enumerate(wanted) if n != open_places[0]))
        filled = _open_length(env, product_of(shape), rest, span)
        wanted = tuple(filled if n == open_places[0] else d for n, d in enumerate(wanted))
    for length in wanted:  # two negative lengths would have the right product
        require_length(env, length, span)
    return reshape_value(env, value, wanted, span)


def _open_length(env: Env, whole: Poly, rest: Poly, span: Span) -> Poly:
    anything = "-1 beside a length of 0 could be anything"
    if rest.constant == 0:
        fail("T0319", anything, span, kind=Misfit)
    require(env, ge(rest - 1), "lengths beside -1 are not 0", span, anything)
    found = exact_div(whole, rest)
    if found is None:
        require(
            env,
            eq(mod(whole, rest)),
            "the lengths divide",
            span,
            lambda: f"{to_text(whole)} elements do not make rows of {to_text(rest)}",
            "divides",
        )
        found = floordiv(whole, rest)
    return found


@primitive("join", tol, tol, integer, elements=(0, 1))
def _join(env: Env, span: Span, left: Value, right: Value, along: Poly | None = None) -> Value:
    if isinstance(left, Seq) and isinstance(right, Seq):
        check_sequence(len(left.items) + len(right.items), span)
        return Seq(left.items + right.items)
    d = len(shape_of(env, left, span)) if along is None else along.constant
    if d is None:
        fail("T0313", "the dimension to join along must be known while compiling", span)
    return join_values(env, left, right, d, span)


@primitive("embed", no_sequence, elements=(0,))
def _embed(env: Env, span: Span, value: Value) -> Value:
    if isinstance(value, ValueList):
        return each(value, lambda item: _embed(env, span, item))
    shape = shape_of(env, value, span)
    if isinstance(value, Vec):
        return Vec((*value.shape, 1), value.items)
    if isinstance(value, View):
        return View(
            (*shape, const(1)),
            lambda here, at: element(here, value, at[:-1], span, checked=True),
            value.static,
            value.space,
            capacity=value.capacity,
        )
    if is_static(value) and not isinstance(value, NodeValue):
        return Vec((1,), (value,))
    return made_of(env, one_entry(emit(env, value, span)), value)


@primitive("put", no_sequence, vector, no_sequence, elements=(0, 2), place=1)
def _put(env: Env, span: Span, value: Value, at: tuple[Value, ...], given: Value) -> Value:
    new = entry(given)
    if isinstance(value, ValueList) and len(set(component_shapes(env, value, span))) > 1:
        _check_as_many(capacity(value), capacity(new), span)
        where, news = tuple(bind_data(env, a) for a in at), components(env, new, span)
        pairs = zip(value.items, news, strict=True)
        return ValueList(tuple(_put(env, span, item, where, one) for item, one in pairs))
    shape = shape_of(env, value, span)
    if not at:
        fail("T0303", "where to put the value is not said: there is no index", span, kind=Misfit)
    for one in component_shapes(env, value, span):
        if len(at) > len(one):
            fail("T0303", f"{len(at)} indices into a ToL of shape {shape_text(one)}", span, kind=Misfit)
    if (
        isinstance(value, (View, NodeValue))
        and value.static
        and known(shape) is not None
        and is_static(new)
        and capacity(value) == 1
        and len(shape) == 1
        and all(isinstance(a, Poly) and a.constant is not None for a in at)
    ):
        value = expand(value, known(shape) or (), env, span)
    # data turns a static ToL into data; in a bracket that contains data, entries are already separate
    entrywise = isinstance(value, Vec) and (value.loose or not value.static or is_static(new))
    if isinstance(value, Vec) and entrywise and len(value.shape) == 1:
        place = at[0].constant if isinstance(at[0], Poly) else None
        if place is not None and capacity(new) == 1:
            return _put_entry(env, value, place, new, span)
    return _put_node(env, value, at, new, span)


def _put_entry(env: Env, value: Vec, place: int, new: Value, span: Span) -> Value:
    if shape := shape_of(env, new, span):
        _wrong_shape(shape, (), span)
    if not 1 <= place <= len(value.items):
        fail("T0302", f"index {place} is outside 1..{len(value.items)}", span, kind=OutOfRange, definite=True)
    space = join_spaces(space_of(value), space_of(new))
    items = (*value.items[: place - 1], new, *value.items[place:])
    return Vec(value.shape, tuple(number_in(env, item, space, span) for item in items), value.loose)


def _put_node(env: Env, value: Value, at: tuple[Value, ...], new: Value, span: Span) -> Value:
    for shape in component_shapes(env, value, span):
        check_indices(env, at, shape, span)
    tol, item = emit(env, value, span), emit(env, new, span)
    for whole, one in zip(tol.type, item.type, strict=False):
        rest = whole.shape[len(at) :]
        if len(rest) != len(one.shape):
            _wrong_shape(one.shape, rest, span)
        for x, y in zip(rest, one.shape, strict=True):
            unify(env, x, y, "what is put must have the shape of what it replaces", span)
    _check_as_many(len(tol.type), len(item.type), span)
    spaces = joined_spaces(tol.type, item.type)
    tol, item = in_spaces(tol, spaces), in_spaces(item, spaces)
    indices = tuple(a if isinstance(a, Poly) else index_node(env, a, span) for a in at)
    return made_of(env, Put(env.scope.bind(tol), indices, item, tol.type, span), value, new, *at)


def _check_as_many(old: int, new: int, span: Span) -> None:
    if old != new:
        message = f"a list of capacity {new} is put in place of one of {old}"
        fail("T0315", message, span, kind=Misfit)


def _wrong_shape(new: Shape, old: Shape, span: Span) -> NoReturn:
    fail(
        "T0329",
        f"what is put has shape {shape_text(new)}, and replaces shape {shape_text(old)}",
        span,
        kind=Misfit,
    )


# === Primitives that keep some rows of a ToL: filter, and repeat, which may keep a row several times.


@primitive("filter", anything, tol, elements=(0,))
def _filter(env: Env, span: Span, given: Value, mask: Value) -> Value:
    value = tol(env, given, span)
    size = _length(env, value, mask, "a filter needs one mark per entry", span)
    check_condition("filter", mask, span)
    if is_static(mask):
        return _filter_static(env, value, mask, span)
    return _keep_by_data(env, given, mask, size, False, span)


@primitive("repeat", anything, tol, integer, elements=(0,))
def _repeat(env: Env, span: Span, given: Value, counts: Value, most: Poly) -> Value:
    value = tol(env, given, span)
    size = _length(env, value, counts, "`repeat` needs one count per entry", span)
    if not is_static(counts):
        return _keep_by_data(env, given, counts, size * most, True, span)
    often = _common_count(env, counts, span)
    if (
        often is not None
        and not isinstance(value, Seq)
        and (None in (size.constant, often.constant) or not shape_of(env, counts, span))
    ):
        return _repeat_equally(env, value, size, often, most, span)
    if often is None and known(shape_of(env, counts, span)) is None:
        text = (
            f"how often each of {size} entries stays depends on its place, and so does where the next begin"
        )
        fail("T0320", text, span, hint="write each place as a formula: `map(tol[m], x[i / 2 + 1], [i])`")
    forms = integers(env, counts, span)
    unify(env, size, const(len(forms)), "`repeat` needs one count per entry", span)
    for form in forms:
        _check_count(env, form, most, span)
    times = [form.constant for form in forms]
    if None in times:
        fail("T0320", "how often entries stay is not known while compiling, and differs", span)
    check_size(sum(count or 0 for count in times), span)
    rows = [const(n) for n, count in enumerate(times, start=1) for _ in range(count or 0)]
    return _select_rows(env, value, rows, span)


def _check_count(env: Env, count: Poly, most: Poly, span: Span) -> None:
    """Require a count to lie between 0 and ``most``."""
    text = f"an entry is to stay {count} times, which has to be from 0 to {most}"
    require(env, ge(count), "an entry stays 0 times at the least", span, text, code="T0320")
    require(env, ge(most - count), f"an entry stays {most} times at the most", span, text, code="T0320")


def _common_count(env: Env, counts: Value, span: Span) -> Poly | None:
    """Return how often entries are repeated, if it is equally often for all of them."""
    shape = shape_of(env, counts, span)
    if known(shape) is not None:
        first, *others = integers(env, counts, span) or (None,)
        return first if all(other == first for other in others) else None
    if len(shape) != 1:
        return None
    (place,), scope = env.scope.under(("i",), shape)
    found = plain(element(env.building(scope), counts, (place,), span, checked=True))
    return found if isinstance(found, Poly) and place.free.isdisjoint(found.free) else None


def _repeat_equally(env: Env, value: Value, size: Poly, often: Poly, most: Poly, span: Span) -> Value:
    """Repeat every row equally often: add a second dimension, on which no element depends, and merge it."""
    if isinstance(value, ValueList):
        return each(value, lambda item: _repeat_equally(env, item, size, often, most, span))
    _check_count(env, often, most, span)
    bound, rest = bind_data(env, value), shape_of(env, value, span)[1:]
    wide = View(
        (size, often, *rest),
        lambda here, at: element(here, bound, (at[0], *at[2:]), span, checked=True),
        is_static(value),
        space_of(value),
        capacity=capacity(value),
    )
    return reshape_value(env, wide, (size * often, *rest), span)


def _length(env: Env, value: Value, marks: Value, problem: str, span: Span) -> Poly:
    """Return the number of entries, which must equal the number of marks."""
    shapes, marked = component_shapes(env, value, span), shape_of(env, marks, span)
    sizes = [shape[0] if shape else const(1) for shape in shapes]
    if len(marked) == 1:
        for size in sizes:
            unify(env, size, marked[0], problem, span)
    if is_static(marks):
        return sizes[0]
    if len(marked) != 1 or not all(shapes):
        fail("T0320", f"{problem}: a vector, not shape {shape_text(marked)}", span)
    several = capacity(marks)
    if several != 1:
        fail("T0320", f"{problem}: a vector, not a list of {several}", span)
    return sizes[0]


def _keep_by_data(env: Env, value: Value, marks: Value, most: Poly, repeats: bool, span: Span) -> Value:
    """Filter or repeat by data: the result has a new length, of which only the maximum is known."""
    node, marked = emit(env, value, span), emit(env, marks, span)
    env.context.names += 1
    name = env.context.own_name(f"z{env.context.names}")
    symbol = the_symbol(data_symbol(name, 0, most, "kept", name))
    parts = tuple(Part((atom(symbol), *p.shape[1:]), p.space) for p in node.type)
    return NodeValue(env.scope.bind(Filter(node, env.scope.bind(marked), symbol, parts, span, repeats)))


def _filter_static(env: Env, value: Value, mask: Value, span: Span) -> Value:
    if isinstance(value, ValueList):
        return each(value, lambda item: _filter_static(env, item, mask, span))
    everywhere = _decide_everywhere(env, mask, span)
    if everywhere is not None and not isinstance(value, (Vec, Seq)):
        return value if everywhere else _empty_like(env, value, span)
    marked = shape_of(env, mask, span)
    if len(marked) != 1:
        fail("T0320", f"a filter needs one mark per entry: a vector, not shape {shape_text(marked)}", span)
    if known(marked) is None:
        text = (
            f"which of {marked[0]} entries stay depends on their places, and how many do has no formula here"
        )
        hint = "take them by their places: `part(x, [a], [b])`, or `map(tol[n / 2], x[2 * i], [i])`"
        fail("T0320", text, span, hint=hint)
    if shape_of(env, mask, span)[0].constant == 0:
        return value
    marks = [_decide_mark(env, mark, span) for mark in spread(env, mask, span)]
    if len(shape_of(env, value, span)) > 1 or capacity(value) > 1:
        return _select_rows(env, value, [const(n) for n, mark in enumerate(marks, start=1) if mark], span)
    kept = tuple(item for item, mark in zip(spread(env, value, span), marks, strict=True) if mark)
    return Seq(kept) if isinstance(value, Seq) else Vec((len(kept),), kept)


def _decide_mark(env: Env, mark: Value, span: Span) -> bool:
    holds = truth(mark)
    decided = None if holds is None else decide(env, holds)
    if decided is not TRUE and decided is not FALSE:
        fail("T0320", "whether an entry stays depends on a length, and so does how many do", span)
    return decided is TRUE


def _select_rows(env: Env, value: Value, kept: list[Poly], span: Span) -> Value:
    """Select rows of a ToL, or entries of a sequence, by number."""
    if isinstance(value, ValueList):
        return each(value, lambda item: _select_rows(env, item, kept, span))
    if isinstance(value, Seq):
        return Seq(tuple(value.items[(row.constant or 1) - 1] for row in kept))
    order, bound = Vec((len(kept),), tuple(kept)), bind_data(env, value)

    def get(here: Env, at: tuple[Value, ...]) -> Value:
        row = element(here, order, at[:1], span, checked=True)
        return element(here, bound, (row, *at[1:]), span, checked=True)

    shape = (const(len(kept)), *shape_of(env, value, span)[1:])
    return View(shape, get, is_static(value), space_of(value), capacity=capacity(value))


def _decide_everywhere(env: Env, mask: Value, span: Span) -> bool | None:
    """Whether a mask keeps everything (True) or nothing (False) at every place; None if it varies."""
    if not isinstance(mask, View) or len(mask.shape) != 1:
        return None
    place, scope = env.scope.under(("i",), mask.shape)
    holds = truth(mask.get(env.building(scope), place))
    decided = None if holds is None else decide(env, holds)
    return decided is TRUE if decided is TRUE or decided is FALSE else None


def _empty_like(env: Env, value: Value, span: Span) -> Value:
    """Return a ToL of the same rank without entries."""
    rest = shape_of(env, value, span)[1:]
    return View(
        (const(0), *rest),
        lambda here, at: element(here, value, at, span, checked=True),
        is_static(value),
        space_of(value),
        capacity=capacity(value),
    )
