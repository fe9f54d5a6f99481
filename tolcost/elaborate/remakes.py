"""Primitives that put ToLs together anew: reshape, join, embed, put."""

from __future__ import annotations

from typing import NoReturn

from tolcost.algebra import Poly, const, eq, exact_div, floordiv, mod, to_text
from tolcost.atoms.nodes import Embed, Part, Put
from tolcost.diagnostics import Span
from tolcost.elaborate.context import Env, fail
from tolcost.elaborate.elements import check_indices, element, integers, spread
from tolcost.elaborate.evaluate import primitive
from tolcost.elaborate.joining import join_values, reshape_value
from tolcost.elaborate.layout import in_spaces, index_node, lay_out, made_of, materialise
from tolcost.elaborate.lengths import require, unify
from tolcost.elaborate.shapes import Shape, entry, known, shape_of, shape_text, volume
from tolcost.elaborate.values import Opaque, Seq, Value, Vec, View, is_static
from tolcost.spaces import join_spaces


@primitive("reshape", 2, 2, keeps_space=True)
def _reshape(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    wanted = integers(env, args[1], span)
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
        require(
            env,
            eq(mod(whole, rest)),
            "the lengths divide",
            span,
            lambda: f"{to_text(whole)} elements do not make rows of {to_text(rest)}",
        )
        found = floordiv(whole, rest)
    return found


@primitive("join", 2, 3, keeps_space=True)
def _join(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    left, right = args[:2]
    if isinstance(left, Seq) and isinstance(right, Seq):
        return Seq(left.items + right.items)
    rank = len(shape_of(env, left, span))
    if len(args) == 3:
        d = integers(env, args[2], span)[0].constant
        if d is None:
            fail("T0313", "the dimension to join along must be known while compiling", span)
        return join_values(env, left, right, d, span)
    return join_values(env, left, right, rank, span)


@primitive("embed", 1, 1, keeps_space=True)
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
    embedded = Embed(node, tuple(Part((*p.shape, const(1)), p.space) for p in node.type))
    return made_of(env, embedded, value)


@primitive("put", 3, 3, keeps_space=True)
def _put(env: Env, args: tuple[Value, ...], span: Span) -> Value:
    value, at, new = args[0], spread(env, args[1], span), entry(args[2])
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
            return _put_entry(env, value, place, new, span)
    return _put_node(env, value, at, new, span)


def _put_entry(env: Env, value: Vec, place: int, new: Value, span: Span) -> Value:
    if shape := shape_of(env, new, span):
        _wrong_shape(shape, (), span)
    if not 1 <= place <= len(value.items):
        fail("T0302", f"index {place} is outside 1..{len(value.items)}", span, definite=True)
    return Vec(value.shape, (*value.items[: place - 1], new, *value.items[place:]), value.loose)


def _put_node(env: Env, value: Value, at: tuple[Value, ...], new: Value, span: Span) -> Value:
    shape = shape_of(env, value, span)
    check_indices(env, at, shape, span)
    tol, item = materialise(env, value, span), materialise(env, new, span)
    rest = shape[len(at) :]
    if len(rest) != len(item.type[0].shape):
        _wrong_shape(item.type[0].shape, rest, span)
    for x, y in zip(rest, item.type[0].shape, strict=True):
        unify(env, x, y, "what is put must have the shape of what it replaces", span)
    spaces = tuple(join_spaces(p.space, q.space) for p, q in zip(tol.type, item.type, strict=True))
    tol, item = in_spaces(tol, spaces), in_spaces(item, spaces)
    indices = tuple(a if isinstance(a, Poly) else index_node(env, a, span) for a in at)
    return made_of(env, Put(env.scope.bind(tol), indices, item, tol.type, span), value, new, *at)


def _wrong_shape(new: Shape, old: Shape, span: Span) -> NoReturn:
    fail("T0329", f"what is put has shape {shape_text(new)}, and replaces shape {shape_text(old)}", span)
