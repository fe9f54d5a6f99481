"""Laying values out: turning what is known of a value, or of a member of it, into nodes of the IR."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import product

from tolcost.algebra import (
    FALSE,
    LARGEST_LENGTH,
    TRUE,
    Cond,
    Poly,
    conj,
    const,
    data_symbol,
    ge,
    range_of,
    the_symbol,
)
from tolcost.atoms.kit import Indices, all_static, constant_symbols, is_numeric, numeric_type
from tolcost.atoms.nodes import (
    Block,
    Build,
    Constant,
    Convert,
    Embed,
    Join,
    JointWork,
    Lambda,
    Member,
    Node,
    Number,
    Pack,
    Part,
    Ref,
    Reshape,
    Select,
    Table,
    Type,
)
from tolcost.diagnostics import NOWHERE, Span
from tolcost.elaborate.node_bounds import is_within
from tolcost.elaborate.shapes import (
    AT_LEAST_1,
    INSIDE,
    Shape,
    apart,
    capacity,
    check_component,
    check_index,
    component,
    components,
    decide,
    is_seen_inside,
    known,
    pick_component,
    shape_of,
    shape_text,
    space_of,
    told_together,
    unify,
)
from tolcost.elaborate.values import (
    LAY_OUT_LIMIT,
    MOST_IN_SEQUENCE,
    UNROLL_LIMIT,
    Cast,
    Data,
    Env,
    Misfit,
    Missing,
    NeedsUnrolling,
    Opaque,
    OutOfRange,
    Pieces,
    Quotient,
    RankMismatch,
    Results,
    Seq,
    Spaces,
    Unknown,
    Value,
    Vec,
    View,
    bind_data,
    fail,
    is_function,
    is_static,
    plain,
    recast,
)
from tolcost.spaces import join_spaces

MOST_DIMENSIONS = 256
"""The highest rank."""

MOST_COMPONENTS = 1024
"""The largest capacity of a list."""

TABLE_LIMIT = 4096
"""The largest static ToL that becomes a table; a larger one is computed where it is used."""


def materialise(env: Env, value: Value, span: Span, space: str | None = None) -> Node:
    """The node that computes a value; static numerics take ``space`` where it is given."""
    if isinstance(value, (Data, Opaque)):
        return value.node
    match value:
        case Poly():
            return number(value, space or "Z", span)
        case View(laid=laid) if laid is not None and space in (None, laid.type[0].space):
            return laid
        case View(shape=shape):
            return build_from(env, shape, value, span, space)
        case Vec():
            return _vec_node(env, value, span, space)
        case Pieces(items=items):
            return pack(tuple(materialise(env, item, span) for item in items))
        case Cast(value=inner, space=cast):
            return materialise(env, inner, span, cast)
        case Quotient(over=over, under=under):
            return _quotient(over, under, space or "R", span)
        case Missing() | Spaces() | Seq() | Unknown():
            fail("T0403", f"{describe(value)} stands where a ToL is needed", span)
        case _ if is_function(value):
            fail(
                "T0402",
                "a function stands where a value is needed",
                span,
                hint="apply it, or pass it to map or reduce",
            )
        case _:
            return number(value, space or space_of(value), span)  # type: ignore[arg-type]


def in_one_tol(env: Env, values: Sequence[Value], span: Span) -> tuple[list[Value], str | None]:
    """Values that are to make one ToL, and the machine type that what is static of it was told.

    Beside data that is not known entry by entry, what was told its space is laid out in it.
    """
    if all(map(is_static, values)) or all(map(_entrywise, values)):
        return [*map(plain, values)], told_together(values)
    laid: list[Value] = [Data(materialise(env, v, span)) if isinstance(v, Cast) else v for v in values]
    return laid, told_together(values)


def _entrywise(value: Value) -> bool:
    """Whether a value is a number, or known entry by entry."""
    inner = plain(value)
    return is_numeric(inner.node.type) if isinstance(inner, Data) else not isinstance(inner, (View, Pieces))


def _quotient(over: Poly, under: Poly, space: str, span: Span) -> Node:
    if under == const(1):
        return number(over, space, span)
    args = (number(over, "R", span), number(under, "R", span))
    return in_spaces(Lambda("div", args, "R", numeric_type("R"), "static", span), (space,))


def describe(value: Value) -> str:
    """What kind of thing a value is, for messages."""
    match value:
        case Missing(name=name):
            return f"the optional input `{name}`, which was not given,"
        case Spaces():
            return "a space"
        case Seq():
            return "a sequence"
        case Unknown():
            return "something that only running tells"
        case _:
            return "a value"


def number(value: Constant, space: str, span: Span) -> Number:
    """A static numeric as a node."""
    return Number(value, numeric_type(space), span)


def pack(nodes: tuple[Node, ...]) -> Node:
    """A list of nodes; one alone is itself."""
    if len(nodes) == 1:
        return nodes[0]
    return Pack(nodes, tuple(part for node in nodes for part in node.type))


def build_from(env: Env, shape: Shape, value: View, span: Span, space: str | None) -> Node:
    """Lay a view out: a Build of its elements."""
    numbers = known(shape)
    if numbers is not None and value.static and math.prod(numbers) <= TABLE_LIMIT:
        told = value.space if 0 in numbers else None  # no entry tells it
        return _vec_node(env, lay_out(value, numbers, env, span), span, space or told)

    def at(inner: Env, coords: tuple[Value, ...]) -> Value:
        entry = value.get(inner, coords)
        if space is None or not is_static(entry):
            return entry
        node = materialise(inner, entry, span, space)
        return Opaque(in_spaces(node, (space,) * len(node.type)), space)

    return materialise(env, lay(env, shape, at, span), span)


def build(coords: Shape, extents: Shape, body: Block, span: Span) -> Node:
    """A Build over coordinates given as polynomials of one symbol each."""
    if not coords and not body.bindings:
        return body.result
    for part in body.result.type:
        if part.shape:
            check_even(coords, part.shape, span)
    parts = tuple([Part((*extents, *p.shape), p.space) for p in body.result.type])
    return Build(tuple(map(the_symbol, coords)), tuple(extents), body, parts, span)


def check_even(coords: Shape, shape: Shape, span: Span) -> None:
    """Refuse members of different shapes: they do not make a ToL."""
    own = set(map(the_symbol, coords))
    if any(not own.isdisjoint(d.free) for d in shape):
        fail(
            "T0333",
            "the shape of the body depends on the coordinates, so the members do not fit together",
            span,
            hint="a ToL has one length in each dimension; a fold may grow, a map may not",
        )


def check_rank(shape: Sequence[object], span: Span) -> None:
    """Refuse a ToL of more dimensions than anybody has."""
    if len(shape) > MOST_DIMENSIONS:
        fail("T0502", f"a ToL of {len(shape):,} dimensions has more than {MOST_DIMENSIONS}", span)


def check_size(size: int, span: Span) -> None:
    """Refuse to lay out what would fill the memory."""
    if size > LAY_OUT_LIMIT:
        fail("T0502", f"a static ToL of {size:,} entries is too large to lay out while compiling", span)


def check_components(size: int, span: Span) -> None:
    """Refuse a list of more components than are worth taking one by one."""
    if size > MOST_COMPONENTS:
        fail("T0502", f"a list of {size:,} components is too large", span)


def check_sequence(size: int, span: Span) -> None:
    """Refuse a sequence of more entries than are worth taking one by one."""
    if size > MOST_IN_SEQUENCE:
        fail("T0502", f"a sequence of {size:,} has more than {MOST_IN_SEQUENCE:,} entries", span)


def lay_out(value: View, shape: tuple[int, ...], env: Env, span: Span) -> Vec:
    """A view of known lengths, entry by entry."""
    items = tuple(value.get(env, tuple(const(a) for a in at)) for at in grid(shape, span))
    return Vec(shape, items)


def grid(shape: tuple[int, ...], span: Span = NOWHERE) -> list[tuple[int, ...]]:
    """All coordinates of a shape, row-major, 1-based; refused where they would fill the memory.

    >>> grid((2, 2))
    [(1, 1), (1, 2), (2, 1), (2, 2)]
    """
    check_size(math.prod(shape), span)
    return list(product(*(range(1, d + 1) for d in shape))) if 0 not in shape else []


def _is_constant(value: Value) -> bool:
    """Whether a value is a number that is the same at all coordinates."""
    known = isinstance(value, (Poly, Cond, Fraction, float, complex, bool))
    return known and all(symbol.kind != "coord" for symbol in constant_symbols(value))  # type: ignore[arg-type]


def _vec_node(env: Env, value: Vec, span: Span, space: str | None) -> Node:
    if not value.shape:
        return materialise(env, value.items[0], span, space)
    shape = tuple(const(d) for d in value.shape)
    if all(map(_is_constant, value.items)):
        return Table(value.items, (Part(shape, space or space_of(value)),), span)  # type: ignore[arg-type]
    joined_space = space or space_of(value)
    nodes = [materialise(env, item, span, joined_space) for item in value.items]
    if space is not None:  # an opaque number comes in a space of its own
        nodes = [in_spaces(node, (space,) * len(node.type)) for node in nodes]
    pieces = [one_entry(node) for node in nodes]
    flat = join_all(pieces)
    return flat if len(shape) == 1 else Reshape(flat, tuple(Part(shape, p.space) for p in flat.type))


def one_entry(node: Node) -> Node:
    """Ξ: a last dimension of length 1; of a numeric, a vector of one entry."""
    return Embed(node, tuple(Part((*p.shape, const(1)), p.space) for p in node.type))


def join_all(pieces: list[Node], d: int = 1) -> Node:
    """⋈ of ToLs, one after the other along dimension ``d``, as a balanced tree so that depth stays small."""
    while len(pieces) > 1:
        pairs = [join_nodes(a, b, d) for a, b in zip(pieces[::2], pieces[1::2], strict=False)]
        pieces = pairs + pieces[len(pieces) - len(pieces) % 2 :]
    return pieces[0]


def join_nodes(left: Node, right: Node, d: int) -> Node:
    """⋈ along dimension ``d``; the caller has checked the other dimensions."""
    if len(left.type) != len(right.type):
        fail(
            "T0315", f"lists of capacity {len(left.type)} and {len(right.type)} cannot be joined", kind=Misfit
        )
    parts: Type = tuple(
        Part(
            (*a.shape[: d - 1], a.shape[d - 1] + b.shape[d - 1], *a.shape[d:]), join_spaces(a.space, b.space)
        )
        for a, b in zip(left.type, right.type, strict=True)
    )
    return Join(left, right, d, parts)


def with_spaces(parts: Type, spaces: tuple[str, ...]) -> Type:
    """A type in the given spaces: the very same where they are its own."""
    if spaces == spaces_of(parts):
        return parts
    return tuple([Part(p.shape, s) for p, s in zip(parts, spaces, strict=True)])


def spaces_of(parts: Type) -> tuple[str, ...]:
    """The spaces of the components of a type."""
    return tuple([part.space for part in parts])


def joined_spaces(left: Type, right: Type) -> tuple[str, ...]:
    """The spaces that hold the components of both of two types."""
    return tuple(map(join_spaces, spaces_of(left), spaces_of(right)))


def in_spaces(node: Node, spaces: tuple[str, ...]) -> Node:
    """The node with its components in the given spaces; free."""
    parts = with_spaces(node.type, spaces)
    if parts is node.type:
        return node
    if isinstance(node, Number):
        return Number(node.value, parts, node.span)
    return Convert(node, parts)


def member(env: Env, node: Node, at: tuple[Value, ...], span: Span) -> Node:
    """Π of a materialised ToL."""
    base = env.scope.bind(node)
    indices: Indices
    if all_static(at):
        indices = at
    else:
        indices = tuple([a if isinstance(a, Poly) else index_node(env, a, span) for a in at])
    if len(base.type) == 1:
        return Member(base, indices, numeric_type(base.type[0].space), span)
    return Member(base, indices, tuple(Part(p.shape[len(at) :], p.space) for p in base.type), span)


def as_static(env: Env, node: Node) -> Value:
    """A ToL that a node lays out though it is static: its elements are free, and so is what they give."""
    part = node.type[0]
    if len(node.type) == 1 and not part.shape:
        return Opaque(node, part.space)
    laid = env.scope.bind(node)
    if len(node.type) > 1:
        return Pieces(tuple(as_static(env, component(laid, j + 1)) for j in range(len(node.type))))
    return View(
        part.shape,
        lambda here, at: Opaque(member(here, laid, at, NOWHERE), part.space),
        True,
        part.space,
        laid,
    )


def made_of(env: Env, node: Node, *sources: Value) -> Value:
    """What a node makes of some values: static if all of them are."""
    return as_static(env, node) if all(is_static(source) for source in sources) else Data(node)


def index_node(env: Env, value: Value, span: Span, what: str = "an index") -> Node:
    """An index, or a condition, that is not a formula: a numeric node."""
    node = materialise(env, value, span)
    if node.type[0].shape or len(node.type) > 1:
        listed = "list" if len(node.type) > 1 else "ToL"
        hint = "a vector of known length is spliced: x[*v]"
        fail("T0305", f"{what} is a {listed} where a number is needed", span, hint=hint)
    return node


At = Callable[[Env, tuple[Value, ...]], Value]
"""What stands at a coordinate; its bindings go to the block of the environment."""

LaySlice = Callable[[Env, Shape, At], Value]
"""How the rest of a domain is laid out when one of its dimensions is taken entry by entry."""


def unrolled(env: Env, at: At, shape: Shape, place: int, span: Span, lay_slice: LaySlice) -> Value:
    """Take one dimension of the domain entry by entry, because a table is looked up by it.

    Each entry is work, as it would be under coordinates.
    """
    size = shape[place].constant
    assert size is not None
    rest = shape[:place] + shape[place + 1 :]
    entries = (_slice_of(env, at, rest, place, const(k), lay_slice) for k in range(1, size + 1))
    whole = JointWork()
    slices = [bind_data(env, entry, work=whole) for entry in entries]
    return _side_by_side(env, slices, place, whole, span)


def _side_by_side(env: Env, slices: list[Value], place: int, work: JointWork, span: Span) -> Value:
    """Slices as one ToL, along a new dimension; lists as a list of such ToLs."""
    if any(isinstance(s, Pieces) for s in slices):
        if len(set(map(capacity, slices))) > 1:
            fail("T0315", "the members are lists of different capacity", span, kind=Misfit)
        columns = zip(*(components(env, piece, span) for piece in slices), strict=True)
        return Pieces(tuple(_side_by_side(env, list(column), place, work, span) for column in columns))
    if all(not shape_of(env, s, span) and capacity(s) == 1 for s in slices):
        known = all(map(is_static, slices))
        return Vec((len(slices),), tuple(slices if known else _even(env, slices, work, span)))
    nodes = [materialise(env, piece, span) for piece in slices]
    for node in nodes:
        _check_alike(env, nodes[0].type, node.type, span)
    return made_of(env, join_all([_thickened(node, place) for node in nodes], place + 1), *slices)


def _even(env: Env, numbers: list[Value], work: JointWork, span: Span) -> list[Value]:
    """Numbers that make one ToL, some of which are data: all of them are, in one space, parts of one work."""
    space = reduce(join_spaces, map(space_of, numbers))
    nodes = [in_spaces(materialise(env, number, span), (space,)) for number in numbers]
    return [Data(_part_of(env, node, work)) for node in nodes]


def _part_of(env: Env, node: Node, work: JointWork) -> Node:
    bound = type(node) is Ref and node.var.work is work
    return node if bound else env.scope.bind(node, work=work)


def _check_alike(env: Env, first: Type, other: Type, span: Span) -> None:
    """Members of a ToL have one shape: lengths that may differ are a condition."""
    for p, q in zip(first, other, strict=False):
        if len(p.shape) != len(q.shape):
            message = f"members of shapes {shape_text(p.shape)} and {shape_text(q.shape)} do not fit together"
            fail("T0333", message, span, kind=RankMismatch)
        for x, y in zip(p.shape, q.shape, strict=True):
            if x is not y:
                unify(env, x, y, "the members of a ToL must have one shape", span)


def _thickened(node: Node, place: int) -> Node:
    """The same ToL with a dimension of length 1 put in at a place."""
    parts = tuple(Part((*p.shape[:place], const(1), *p.shape[place:]), p.space) for p in node.type)
    return Reshape(node, parts)


def _slice_of(env: Env, at: At, rest: Shape, place: int, k: Poly, lay_slice: LaySlice) -> Value:
    """The map with one coordinate fixed."""
    if not rest:
        return at(env, (k,))
    return lay_slice(env, rest, lambda inner, coords: at(inner, (*coords[:place], k, *coords[place:])))


def lay(env: Env, shape: Shape, at: At, span: Span) -> Value:
    """A ToL of a shape whose elements a function gives, laid out by the program."""
    coords, inner = inside(env, tuple(f"i{n + 1}" for n in range(len(shape))), shape)
    try:
        with env.context.attempt(inner.scope) as trial:
            node = materialise(inner, at(inner, coords), span)
            trial.keep()
        return Data(build(coords, shape, inner.scope.block(node), span))
    except NeedsUnrolling as needs:
        place = own_place(needs, coords)
        return unrolled(env, at, shape, place, span, lambda e, rest, a: lay(e, rest, a, span))


def own_place(needs: NeedsUnrolling, coords: tuple[Poly, ...]) -> int:
    """Which of our coordinates is to be taken entry by entry; if none, it is someone else's."""
    for n, c in enumerate(coords):
        if the_symbol(c) is needs.symbol:
            return n
    raise needs


def inside(env: Env, names: tuple[str, ...], shape: Shape) -> tuple[Shape, Env]:
    """Coordinates of a shape, and the block under them; inside it no length of the shape is 0."""
    facts = [decide(env, ge(d - 1)) for d in shape if (range_of(d)[0] or 0) < 1]  # most lengths are more
    if facts and FALSE in facts:  # everything holds of a coordinate that is nowhere: bounds say nothing
        shape = (const(LARGEST_LENGTH),) * len(shape)
    coords, scope = env.scope.under(names, shape, *([f for f in facts if f is not TRUE] if facts else ()))
    return coords, env.building(scope)


# === Elements, slices and components of values.


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
    left = TRUE if checked else check_indices(env, at, shape, span)
    if left is not TRUE and is_static(value) and len(at) == len(shape):
        return _where_there(env, left, _sought(env, value, at, span, checked=True), span)
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


def _where_there(env: Env, condition: Cond, value: Value, span: Span) -> Value:
    """An element of what is not laid out, where it is there; a run stops where it is looked at and is not.

    What an index that is a node is taken of is laid out, and checked as all members are.
    """
    if not isinstance(value, (Poly, Cond, Fraction, float, Quotient, Cast)):
        return value
    found = materialise(env, value, span)
    there, elsewhere = (
        env.scope.inner(condition).block(found),
        env.scope.inner().block(not_there(env, found, span)),
    )
    return as_static(env, Select(condition, there, elsewhere, found.type, span))


def not_there(env: Env, like: Node, span: Span) -> Node:
    """A value of the type of another one that no run can have: it is taken from a place that is not there."""

    def part_of(part: Part) -> Node:
        table = Table((const(0),), (Part((const(1),), part.space),), span)
        coords, scope = env.scope.under([f"i{n + 1}" for n in range(len(part.shape))], part.shape)
        member_of = Member(table, (const(0),), numeric_type(part.space), span)
        return build(coords, part.shape, scope.block(member_of), span)

    return pack(tuple(map(part_of, like.type)))


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


def check_indices(env: Env, at: tuple[Value, ...], shape: Shape, span: Span) -> Cond:
    """Every static index lies inside its dimension: it is proved, a condition, or checked when run.

    Of one that data decides nothing is said: that it is checked when run goes without saying.  Gives what
    is left to check of those that are formulas.
    """
    left: list[Cond] = []
    for index, extent in zip(at, shape, strict=False):
        index = plain(index)
        if isinstance(index, Opaque):
            _leave_to_run(env, index.node, extent, span)
        elif isinstance(index, Poly) and not is_seen_inside(env, index, extent):
            left.append(check_index(env, index, extent, span, lambda: f"of shape {shape_text(shape)}"))
    return conj(*left)


@lru_cache(maxsize=1 << 8)
def _index_at(span: Span) -> Poly:
    """What the index is called of which only running tells where it is."""
    return data_symbol("index", None, None, "coord")


def _leave_to_run(env: Env, node: Node, extent: Poly, span: Span) -> None:
    """Say that an index is checked when run, unless how it is computed keeps it inside."""
    scope = env.scope
    if not scope.never and scope.mode.checked and not is_within(env, node, const(1), extent):
        index = _index_at(span)
        for condition, reason in ((ge(index - 1), AT_LEAST_1), (ge(extent - index), INSIDE)):
            env.context.record(condition, "range", reason, span)


def _slice(env: Env, value: Value, at: tuple[Value, ...], shape: Shape, span: Span) -> Value:
    if isinstance(value, Vec):
        numbers = [a.constant if isinstance(a, Poly) else None for a in at]
        if all(n is not None for n in numbers):
            return _vec_slice(value, [n for n in numbers if n is not None])
    bound = Data(env.scope.bind(value.node)) if isinstance(value, Data) else value
    at = at if all_static(at) else tuple([bind_data(env, index) for index in at])
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
    size = math.prod(rest)
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
    if not env.scope.mode.tables:
        _ask_to_unroll(at, _longest(value), span)
    return _looked_up(env, value, at, span)


def _longest(value: Vec) -> int:
    """The longest range of coordinates that is taken entry by entry for a vector.

    Integers may decide lengths, reals do not.  Of entries some of which are data, each is judged by itself.
    """
    if not value.static and any(map(is_static, value.items)):
        return UNROLL_LIMIT
    return 0 if any(isinstance(item, (Fraction, float)) for item in value.items) else SHORT


def _ask_to_unroll(at: tuple[Value, ...], longest: int, span: Span) -> None:
    """Ask for a range to be taken entry by entry that an index mentions."""
    for index in at:
        for symbol in index.free if isinstance(index, Poly) else ():
            size = symbol.hi.constant if symbol.kind == "coord" and symbol.hi is not None else None
            if size is not None and 0 < size <= longest:
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
    for symbol in index.free if isinstance(index, Poly) else ():
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
    if isinstance(value, Seq) or (isinstance(value, Vec) and len(value.shape) == 1):
        return value.items
    shape = shape_of(env, value, span)
    if not shape:
        return (value,)
    numbers = known(shape)
    if len(shape) > 1 or numbers is None:
        fail(
            "T0309", f"only a vector of known length can be spliced here, not shape {shape_text(shape)}", span
        )
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
    found = tuple(map(plain, entries))
    if not all_static(found):
        fail("T0310", "these must be integers known while compiling", span)
    return found
