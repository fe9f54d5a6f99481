"""Primitives that keep some rows of a ToL: filter, and repeat, which keeps them several times."""

from __future__ import annotations

from tolcost.algebra import FALSE, TRUE, Poly, atom, const, data_symbol, ge, the_symbol
from tolcost.atoms.nodes import Filter, Part
from tolcost.diagnostics import Span
from tolcost.elaborate.apply import check_condition
from tolcost.elaborate.components import capacity, component_shapes, each
from tolcost.elaborate.context import Env, bind_data
from tolcost.elaborate.faults import fail
from tolcost.elaborate.indexing import element, integers, spread
from tolcost.elaborate.layout import check_size, materialise
from tolcost.elaborate.shapes import (
    decide,
    known,
    require,
    shape_of,
    shape_text,
    space_of,
    unify,
)
from tolcost.elaborate.signatures import anything, integer, primitive, tol
from tolcost.elaborate.static_numbers import truth
from tolcost.elaborate.tol_primitives import reshape_value
from tolcost.elaborate.values import Data, Pieces, Seq, Value, Vec, View, is_static, plain


@primitive("filter", anything, tol, elements=(0,))
def _filter(env: Env, span: Span, given: Value, mask: Value) -> Value:
    value = tol(env, given, span)
    size = _length(env, value, mask, "a filter needs one mark per entry", span)
    check_condition("filter", mask, span)
    if is_static(mask):
        return _filter_static(env, value, mask, span)
    return _kept(env, given, mask, size, False, span)


@primitive("repeat", anything, tol, integer, elements=(0,))
def _repeat(env: Env, span: Span, given: Value, counts: Value, most: Poly) -> Value:
    value = tol(env, given, span)
    size = _length(env, value, counts, "`repeat` needs one count per entry", span)
    if not is_static(counts):
        return _kept(env, given, counts, size * most, True, span)
    often = _same_count(env, counts, span)
    if (
        often is not None
        and not isinstance(value, Seq)
        and (None in (size.constant, often.constant) or not shape_of(env, counts, span))
    ):
        return _repeat_alike(env, value, size, often, most, span)
    if often is None and known(shape_of(env, counts, span)) is None:
        text = (
            f"how often each of {size} entries stays depends on its place, and so does where the next begin"
        )
        fail("T0320", text, span, hint="write each place as a formula: `map(tol[m], x[i / 2 + 1], [i])`")
    forms = integers(env, counts, span)
    unify(env, size, const(len(forms)), "`repeat` needs one count per entry", span)
    for form in forms:
        _check_count(env, form, most, 0, span)
    times = [form.constant for form in forms]
    if None in times:
        fail("T0320", "how often entries stay is not known while compiling, and differs", span)
    check_size(sum(count or 0 for count in times), span)
    rows = [const(n) for n, count in enumerate(times, start=1) for _ in range(count or 0)]
    return _rows(env, value, rows, span)


def _check_count(env: Env, count: Poly, most: Poly, least: int, span: Span) -> None:
    """An entry stays so many times at the least, and ``most`` times at the most."""
    text = f"an entry is to stay {count} times, which has to be from {least} to {most}"
    require(env, ge(count - least), f"an entry stays {least} times at the least", span, text, code="T0320")
    require(env, ge(most - count), f"an entry stays {most} times at the most", span, text, code="T0320")


def _same_count(env: Env, counts: Value, span: Span) -> Poly | None:
    """How often entries stay, if that is the same for all of them."""
    shape = shape_of(env, counts, span)
    if known(shape) is not None:
        first, *others = integers(env, counts, span) or (None,)
        return first if all(other == first for other in others) else None
    if len(shape) != 1:
        return None
    (place,), scope = env.scope.under(("i",), shape)
    found = plain(element(env.building(scope), counts, (place,), span, checked=True))
    return found if isinstance(found, Poly) and place.free.isdisjoint(found.free) else None


def _repeat_alike(env: Env, value: Value, size: Poly, often: Poly, most: Poly, span: Span) -> Value:
    """Every row equally often: another dimension that no element depends on, and none of its own."""
    if isinstance(value, Pieces):
        return each(value, lambda item: _repeat_alike(env, item, size, often, most, span))
    _check_count(env, often, most, 0, span)
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
    """How many entries there are to keep or not; as many as there are marks."""
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


def _kept(env: Env, value: Value, marks: Value, most: Poly, repeats: bool, span: Span) -> Value:
    """The entries that data keeps: a length of its own, of which only the most is known."""
    node, marked = materialise(env, value, span), materialise(env, marks, span)
    env.context.names += 1
    name = f"z{env.context.names}"
    symbol = the_symbol(data_symbol(name, 0, most, "kept", name))
    parts = tuple(Part((atom(symbol), *p.shape[1:]), p.space) for p in node.type)
    return Data(env.scope.bind(Filter(node, env.scope.bind(marked), symbol, parts, span, repeats)))


def _filter_static(env: Env, value: Value, mask: Value, span: Span) -> Value:
    if isinstance(value, Pieces):
        return each(value, lambda item: _filter_static(env, item, mask, span))
    everywhere = _same_everywhere(env, mask, span)
    if everywhere is not None and not isinstance(value, (Vec, Seq)):
        return value if everywhere else _nothing_of(env, value, span)
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
    marks = [_decided(env, mark, span) for mark in spread(env, mask, span)]
    if len(shape_of(env, value, span)) > 1 or capacity(value) > 1:
        return _rows(env, value, [const(n) for n, mark in enumerate(marks, start=1) if mark], span)
    kept = tuple(item for item, mark in zip(spread(env, value, span), marks, strict=True) if mark)
    return Seq(kept) if isinstance(value, Seq) else Vec((len(kept),), kept)


def _decided(env: Env, mark: Value, span: Span) -> bool:
    holds = truth(mark)
    decided = None if holds is None else decide(env, holds)
    if decided is not TRUE and decided is not FALSE:
        fail("T0320", "whether an entry stays depends on a length, and so does how many do", span)
    return decided is TRUE


def _rows(env: Env, value: Value, kept: list[Poly], span: Span) -> Value:
    """Some of the rows of a ToL, or entries of a sequence, by number."""
    if isinstance(value, Pieces):
        return each(value, lambda item: _rows(env, item, kept, span))
    if isinstance(value, Seq):
        return Seq(tuple(value.items[(row.constant or 1) - 1] for row in kept))
    order, bound = Vec((len(kept),), tuple(kept)), bind_data(env, value)

    def get(here: Env, at: tuple[Value, ...]) -> Value:
        row = element(here, order, at[:1], span, checked=True)
        return element(here, bound, (row, *at[1:]), span, checked=True)

    shape = (const(len(kept)), *shape_of(env, value, span)[1:])
    return View(shape, get, is_static(value), space_of(value), capacity=capacity(value))


def _same_everywhere(env: Env, mask: Value, span: Span) -> bool | None:
    """Whether a mask of any length keeps everything (or nothing), whatever the place."""
    if not isinstance(mask, View) or len(mask.shape) != 1:
        return None
    place, scope = env.scope.under(("i",), mask.shape)
    holds = truth(mask.get(env.building(scope), place))
    decided = None if holds is None else decide(env, holds)
    return decided is TRUE if decided is TRUE or decided is FALSE else None


def _nothing_of(env: Env, value: Value, span: Span) -> Value:
    """A ToL of the same rank without entries."""
    rest = shape_of(env, value, span)[1:]
    return View(
        (const(0), *rest),
        lambda here, at: element(here, value, at, span, checked=True),
        is_static(value),
        space_of(value),
        capacity=capacity(value),
    )
