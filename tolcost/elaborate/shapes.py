"""Shapes and elements of values, and turning a value into a node of the IR."""

from __future__ import annotations

from fractions import Fraction

from tolcost.algebra import Cond, Poly, const, symbols_of, the_symbol, to_text
from tolcost.atoms.nodes import (
    Build,
    Component,
    Constant,
    Embed,
    Join,
    Member,
    Node,
    Number,
    Pack,
    Part,
    Reshape,
    Table,
    Type,
)
from tolcost.diagnostics import NOWHERE, Span
from tolcost.elaborate.context import Env, NeedsUnrolling, fail
from tolcost.elaborate.lengths import check_index, settle
from tolcost.elaborate.values import (
    Data,
    Missing,
    Opaque,
    Pieces,
    Ratio,
    Results,
    Seq,
    Spaces,
    Value,
    Vec,
    View,
    is_function,
    is_static,
)
from tolcost.spaces import join_spaces

Shape = tuple[Poly, ...]


def first(value: Value) -> Value:
    """An operator's several results stand for the first of them."""
    return value.items[0] if isinstance(value, Results) else value


def shape_of(env: Env, value: Value, span: Span) -> Shape:
    """The lengths of a value; ``()`` for a numeric."""
    match value:
        case Vec(shape=shape):
            return tuple(const(d) for d in shape)
        case View(shape=shape):
            return tuple(settle(env.context, d) for d in shape)
        case Data(node=node):
            return tuple(settle(env.context, d) for d in node.type[0].shape)
        case Pieces(items=items):
            return shape_of(env, items[0], span)
        case Seq(items=items):
            return (const(len(items)),)
        case Missing(name=name):
            fail("T0401", f"`{name}` is optional and was not given", span,
                 hint=f"guard its use: where(given({name}), ..., ...)")
        case _ if is_function(value):
            fail("T0402", "a function stands where a value is needed", span)
        case _:
            return ()


def space_of(value: Value) -> str:
    """The space of a value's (first) elements; static numerics have the smallest that holds them."""
    match value:
        case Data(node=node):
            return node.type[0].space
        case View(space=space) | Opaque(space=space):
            return space
        case Vec(items=items) | Pieces(items=items):
            spaces = [space_of(item) for item in items] or ["Z"]
            joined = spaces[0]
            for space in spaces[1:]:
                joined = join_spaces(joined, space)
            return joined
        case Poly():
            return "Z"
        case Fraction() | float() | Ratio():
            return "R"
        case complex():
            return "C"
        case str():
            return "S"
        case _ if isinstance(value, Cond):
            return "B"
        case _:
            return "Z"


def known(shape: Shape) -> tuple[int, ...] | None:
    """The lengths as numbers, if all are."""
    numbers = tuple(d.constant for d in shape)
    return None if any(n is None for n in numbers) else numbers  # type: ignore[return-value]


def volume(shape: Shape) -> Poly:
    """How many elements a shape has."""
    product = const(1)
    for d in shape:
        product = product * d
    return product


def shape_text(shape: Shape) -> str:
    """A shape as a person would write it."""
    return "[" + ", ".join(to_text(d) for d in shape) + "]"


# ---- elements ----------------------------------------------------------------------------


def element(env: Env, value: Value, at: tuple[Value, ...], span: Span, checked: bool = False) -> Value:
    """The element at a full coordinate, or the slice at a partial one."""
    shape = shape_of(env, value, span)
    if len(at) > len(shape):
        fail("T0303", f"{len(at)} indices into a ToL of shape {shape_text(shape)}", span,
             hint=f"it has {len(shape)} dimension{'s' * (len(shape) != 1)}")
    if not at:
        return value
    if not checked:
        for index, extent in zip(at, shape, strict=False):
            if isinstance(index, Poly):
                check_index(env, index, extent, span, f"of shape {shape_text(shape)}")
    if len(at) < len(shape):
        return _slice(env, value, at, shape, span)
    match value:
        case Vec():
            return _entry(env, value, at, span)
        case View(get=get, static=static):
            if static and not all(isinstance(a, Poly) for a in at):
                return _looked_up(env, value, at, span)
            return get(at)
        case Data(node=node):
            return Data(member(env, node, at, span))
        case Pieces(items=items):
            return Pieces(tuple(element(env, item, at, span, checked=True) for item in items))
        case Seq(items=items):
            return _sequence_entry(items, at[0], span)
        case _:
            fail("T0303", "this value has no elements", span)


def _slice(env: Env, value: Value, at: tuple[Value, ...], shape: Shape, span: Span) -> Value:
    if isinstance(value, Vec):
        numbers = [a.constant if isinstance(a, Poly) else None for a in at]
        if all(n is not None for n in numbers):
            return _vec_slice(value, [n for n in numbers if n is not None])
    bound = Data(env.scope.bind(value.node)) if isinstance(value, Data) else value
    rest = shape[len(at):]
    static = not isinstance(value, Data) and is_static_indexed(value, at)
    return View(rest, lambda more: element(env, bound, (*at, *more), span, checked=True), static,
                space_of(value))


def is_static_indexed(value: Value, at: tuple[Value, ...]) -> bool:
    """Whether an element of a static ToL stays static under these indices."""
    return is_static(value) and all(is_static(a) for a in at)


def _vec_slice(value: Vec, at: list[int]) -> Value:
    rest = value.shape[len(at):]
    size = 1
    for d in rest:
        size *= d
    start = _offset(value.shape[: len(at)], at) * size
    return Vec(rest, value.items[start:start + size])


def _offset(shape: tuple[int, ...], at: list[int]) -> int:
    offset = 0
    for d, a in zip(shape, at, strict=True):
        offset = offset * d + a - 1
    return offset


def _entry(env: Env, value: Vec, at: tuple[Value, ...], span: Span) -> Value:
    numbers = [a.constant if isinstance(a, Poly) else None for a in at]
    if all(n is not None for n in numbers):
        return value.items[_offset(value.shape, [n for n in numbers if n is not None])]
    if value.items and all(item == value.items[0] for item in value.items):
        return value.items[0]
    for index in at:
        if isinstance(index, Poly):
            for symbol in symbols_of(index):
                if symbol.kind == "coord" and symbol.hi is not None and symbol.hi.constant is not None \
                        and symbol.hi.constant <= 64:
                    raise NeedsUnrolling(symbol, span)
    return _looked_up(env, value, at, span)


def _looked_up(env: Env, value: Value, at: tuple[Value, ...], span: Span) -> Value:
    """An element of a static ToL at an index that is not a number: a look-up in its layout."""
    found = member(env, materialise(env, value, span), at, span)
    if is_static_indexed(value, at):
        return Opaque(found, found.type[0].space)
    return Data(found)


def _sequence_entry(items: tuple[Value, ...], index: Value, span: Span) -> Value:
    if isinstance(index, Poly) and index.constant is not None:
        return items[index.constant - 1]
    if isinstance(index, Poly):
        for symbol in symbols_of(index):
            if symbol.kind == "coord":
                raise NeedsUnrolling(symbol, span)
    fail("T0304", "a sequence is indexed by something not known while compiling", span)


def member(env: Env, node: Node, at: tuple[Value, ...], span: Span) -> Node:
    """Π of a materialised ToL."""
    base = env.scope.bind(node)
    indices = tuple(a if isinstance(a, Poly) else index_node(env, a, span) for a in at)
    return Member(base, indices, tuple(Part((), p.space) for p in base.type), span)


def index_node(env: Env, value: Value, span: Span) -> Node:
    """An index that is not a formula: a numeric node."""
    node = materialise(env, value, span)
    if node.type[0].shape:
        fail("T0305", "an index is a ToL where a number is needed", span,
             hint="a vector of known length is spliced: x[*v]")
    return node


# ---- nodes -------------------------------------------------------------------------------


def materialise(env: Env, value: Value, span: Span = NOWHERE, space: str | None = None) -> Node:
    """The node that computes a value; static numerics take ``space`` where it is given."""
    match value:
        case Data(node=node):
            return node
        case Opaque(node=node):
            return node
        case View(shape=shape):
            return build_from(env, shape, value, span, space)
        case Vec():
            return _vec_node(env, value, span, space)
        case Pieces(items=items):
            return pack(tuple(materialise(env, item, span) for item in items))
        case Results(items=items):
            return materialise(env, items[0], span, space)
        case Ratio(over=over, under=under):
            from tolcost.elaborate.apply import static_node

            return static_node("div", (number(over, "R"), number(under, "R")), "R", span)
        case Missing() | Spaces() | Seq():
            fail("T0403", f"{describe(value)} stands where a ToL is needed", span)
        case _ if is_function(value):
            fail("T0402", "a function stands where a value is needed", span,
                 hint="apply it, or pass it to map or reduce")
        case _:
            return number(value, space or space_of(value))  # type: ignore[arg-type]


def describe(value: Value) -> str:
    """What kind of thing a value is, for messages."""
    match value:
        case Missing(name=name):
            return f"the optional input `{name}`, which was not given,"
        case Spaces():
            return "a space"
        case Seq():
            return "a sequence"
        case _:
            return "a value"


def number(value: Constant, space: str) -> Number:
    """A static numeric as a node."""
    return Number(value, (Part((), space),))


def pack(nodes: tuple[Node, ...]) -> Node:
    """A list of nodes; one alone is itself."""
    if len(nodes) == 1:
        return nodes[0]
    return Pack(nodes, tuple(part for node in nodes for part in node.type))


def build_from(env: Env, shape: Shape, value: View, span: Span, space: str | None = None) -> Node:
    """Lay a view out: a Build of its elements."""
    if known(shape) is not None and value.static:
        return _vec_node(env, lay_out(value, known(shape) or (), env, span), span, space)
    from tolcost.elaborate.binders import lay

    def at(inner: Env, coords: tuple[Value, ...]) -> Value:
        entry = value.get(coords)
        return entry if space is None or not is_static(entry) else Opaque(materialise(inner, entry, span, space), space)

    return materialise(env, lay(env, shape, at, span), span)


def build(coords: Shape, extents: Shape, body: object, span: Span) -> Node:
    """A Build over coordinates given as polynomials of one symbol each."""
    from tolcost.atoms.nodes import Block

    assert isinstance(body, Block)
    if not coords and not body.bindings:
        return body.result
    parts = tuple(Part((*extents, *p.shape), p.space) for p in body.result.type)
    return Build(tuple(the_symbol(c) for c in coords), tuple(extents), body, parts, span)


LAY_OUT_LIMIT = 100_000


def lay_out(value: View, shape: tuple[int, ...], env: Env, span: Span) -> Vec:
    """A view of known lengths, entry by entry."""
    size = 1
    for d in shape:
        size *= d
    if size > LAY_OUT_LIMIT:
        fail("T0502", f"a static ToL of {size:,} entries is too large to lay out while compiling", span)
    items = tuple(value.get(tuple(const(a) for a in at)) for at in grid(shape))
    return Vec(shape, items)


def grid(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """All coordinates of a shape, row-major, 1-based.

    >>> grid((2, 2))
    [(1, 1), (1, 2), (2, 1), (2, 2)]
    """
    points: list[tuple[int, ...]] = [()]
    for d in shape:
        points = [(*p, a) for p in points for a in range(1, d + 1)]
    return points


def _constant(value: Value) -> bool:
    return isinstance(value, Poly | Fraction | float | complex | bool) or isinstance(value, Cond)


def _vec_node(env: Env, value: Vec, span: Span, space: str | None) -> Node:
    if not value.shape:
        return materialise(env, value.items[0], span, space)
    shape = tuple(const(d) for d in value.shape)
    if all(_constant(item) and not _has_coordinates(item) for item in value.items):
        return Table(value.items, (Part(shape, space or space_of(value)),))  # type: ignore[arg-type]
    joined_space = space or space_of(value)
    pieces = [one_entry(materialise(env, item, span, joined_space)) for item in value.items]
    flat = join_all(pieces)
    return flat if len(shape) == 1 else Reshape(flat, tuple(Part(shape, p.space) for p in flat.type))


def _has_coordinates(value: Value) -> bool:
    from tolcost.algebra import symbols_of_cond

    if isinstance(value, Poly):
        return any(s.kind == "coord" for s in symbols_of(value))
    if isinstance(value, Cond):
        return any(s.kind == "coord" for s in symbols_of_cond(value))
    return False


def one_entry(node: Node) -> Node:
    """Ξ of a numeric: a vector of one entry."""
    return Embed(node, tuple(Part((*p.shape, const(1)), p.space) for p in node.type))


def join_all(pieces: list[Node]) -> Node:
    """⋈ of vectors, one after the other, as a balanced tree so that depth stays small."""
    while len(pieces) > 1:
        pairs = [join_nodes(a, b, 1) for a, b in zip(pieces[::2], pieces[1::2], strict=False)]
        pieces = pairs + pieces[len(pieces) - len(pieces) % 2:]
    return pieces[0]


def join_nodes(left: Node, right: Node, d: int) -> Node:
    """⋈ along dimension ``d``; the caller has checked the other dimensions."""
    parts: Type = tuple(
        Part((*a.shape[: d - 1], a.shape[d - 1] + b.shape[d - 1], *a.shape[d:]), join_spaces(a.space, b.space))
        for a, b in zip(left.type, right.type, strict=True)
    )
    return Join(left, right, d, parts)


def component(value: Node, j: int) -> Node:
    """Π': component ``j`` of a list; of a fresh pack it is the item itself."""
    if isinstance(value, Pack) and all(len(item.type) == 1 for item in value.items):
        return value.items[j - 1]
    return Component(value, j, (value.type[j - 1],))
