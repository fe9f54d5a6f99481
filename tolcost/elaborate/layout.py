"""Layout: turn values, and members of values, into nodes of the IR."""

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
from tolcost.elaborate.environment import Env, bind_data
from tolcost.elaborate.faults import Misfit, NeedsUnrolling, OutOfRange, RankMismatch, fail
from tolcost.elaborate.node_bounds import is_within
from tolcost.elaborate.shapes import (
    AT_LEAST_1,
    INSIDE,
    Shape,
    capacity,
    check_component,
    check_index,
    component,
    components,
    decide,
    is_seen_inside,
    joint_space,
    known,
    pick_component,
    shape_of,
    shape_text,
    space_of,
    split_if_uneven,
    unify,
)
from tolcost.elaborate.values import (
    LAY_OUT_LIMIT,
    MOST_IN_SEQUENCE,
    UNROLL_LIMIT,
    Cast,
    Items,
    Missing,
    NodeValue,
    Quotient,
    Seq,
    Spaces,
    Unknown,
    Value,
    ValueList,
    Vec,
    View,
    is_function,
    is_static,
    is_tol,
    plain,
    recast,
)
from tolcost.spaces import join_spaces

MOST_DIMENSIONS = 256
"""The largest number of dimensions of a ToL."""

MOST_COMPONENTS = 1024
"""The largest capacity of a list: its components are taken one by one."""

TABLE_LIMIT = 4096
"""The largest static ToL that becomes a table; a larger one is computed where it is used."""


def emit(env: Env, value: Value, span: Span, space: str | None = None) -> Node:
    """Return the node that computes a value; static numerics take ``space``, if given."""
    if isinstance(value, NodeValue):
        as_it_is = space is None or not is_tol(value) or space == value.node.type[0].space
        return value.node if as_it_is else build_from(env, value, span, space)
    match value:
        case Poly():
            return number(value, space or "Z", span)
        case View():
            return build_from(env, value, span, space)
        case Vec():
            return _vec_node(env, value, span, space)
        case ValueList(items=items):
            return pack(tuple(emit(env, item, span) for item in items))
        case Cast(value=inner, space=cast):
            return emit(env, inner, span, cast)
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
    """Prepare values that form one ToL; return them with the joint machine type of the static ones.

    Next to data that is not known entry by entry, a value with an explicit space is laid out in it.
    """
    if all(map(is_static, values)) or all(map(_entrywise, values)):
        return [*map(plain, values)], joint_space(values)
    laid: list[Value] = [NodeValue(emit(env, v, span)) if isinstance(v, Cast) else v for v in values]
    return laid, joint_space(values)


def _entrywise(value: Value) -> bool:
    """Whether a value is a number, or known entry by entry."""
    inner = plain(value)
    return (
        is_numeric(inner.node.type)
        if isinstance(inner, NodeValue)
        else not isinstance(inner, (View, ValueList))
    )


def _quotient(over: Poly, under: Poly, space: str, span: Span) -> Node:
    if under == const(1):
        return number(over, space, span)
    args = (number(over, "R", span), number(under, "R", span))
    return in_spaces(Lambda("div", args, "R", numeric_type("R"), "static", span), (space,))


def describe(value: Value) -> str:
    """Describe the kind of a value, for messages."""
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
    """Return a static numeric as a node."""
    return Number(value, numeric_type(space), span)


def pack(nodes: tuple[Node, ...]) -> Node:
    """Pack nodes into a list; a single node is itself."""
    if len(nodes) == 1:
        return nodes[0]
    return Pack(nodes, tuple(part for node in nodes for part in node.type))


def build_from(env: Env, value: Value, span: Span, space: str | None) -> Node:
    """Lay a ToL out as a Build of its elements."""
    shape = shape_of(env, value, span)
    numbers = known(shape)
    if numbers is not None and is_static(value) and math.prod(numbers) <= TABLE_LIMIT:
        told = space_of(value) if 0 in numbers else None  # no entry shows the space
        return _vec_node(env, expand(value, numbers, env, span), span, space or told)

    def at(inner: Env, coords: tuple[Value, ...]) -> Value:
        entry = element(inner, value, coords, span, checked=True)
        if space is None or not is_static(entry):
            return entry
        node = emit(inner, entry, span, space)
        return NodeValue(in_spaces(node, (space,) * len(node.type)), static=True)

    return emit(env, emit_map(env, shape, at, span), span)


def make_build(coords: Shape, extents: Shape, body: Block, span: Span) -> Node:
    """Build a ToL over coordinates that are given as polynomials of one symbol each."""
    if not coords and not body.bindings:
        return body.result
    for part in body.result.type:
        if part.shape:
            check_even(coords, part.shape, span)
    parts = tuple([Part((*extents, *p.shape), p.space) for p in body.result.type])
    return Build(tuple(map(the_symbol, coords)), tuple(extents), body, parts, span)


def check_even(coords: Shape, shape: Shape, span: Span) -> None:
    """Reject members whose shapes depend on the coordinates: they do not form a ToL."""
    own = set(map(the_symbol, coords))
    if any(not own.isdisjoint(d.free) for d in shape):
        fail(
            "T0333",
            "the shape of the body depends on the coordinates, so the members do not fit together",
            span,
            hint="a ToL has one length in each dimension; a fold may grow, a map may not",
        )


def check_rank(shape: Sequence[object], span: Span) -> None:
    """Reject a ToL with more than ``MOST_DIMENSIONS`` dimensions."""
    if len(shape) > MOST_DIMENSIONS:
        fail("T0502", f"a ToL of {len(shape):,} dimensions has more than {MOST_DIMENSIONS}", span)


def check_size(size: int, span: Span) -> None:
    """Reject a static ToL that is too large to lay out in memory."""
    if size > LAY_OUT_LIMIT:
        fail("T0502", f"a static ToL of {size:,} entries is too large to lay out while compiling", span)


def check_components(size: int, span: Span) -> None:
    """Reject a list with too many components to take one by one."""
    if size > MOST_COMPONENTS:
        fail("T0502", f"a list of {size:,} components is too large", span)


def check_sequence(size: int, span: Span) -> None:
    """Reject a sequence with too many entries to take one by one."""
    if size > MOST_IN_SEQUENCE:
        fail("T0502", f"a sequence of {size:,} has more than {MOST_IN_SEQUENCE:,} entries", span)


def expand(value: Value, shape: tuple[int, ...], env: Env, span: Span) -> Vec:
    """Lay a ToL of known lengths out, entry by entry."""
    places = grid(shape, span)
    items = tuple(element(env, value, tuple(map(const, at)), span, checked=True) for at in places)
    return Vec(shape, items)


def grid(shape: tuple[int, ...], span: Span = NOWHERE) -> list[tuple[int, ...]]:
    """Return all coordinates of a shape, row-major and 1-based; reject a shape that is too large.

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
        return emit(env, value.items[0], span, space)
    shape = tuple(const(d) for d in value.shape)
    if all(map(_is_constant, value.items)):
        return Table(value.items, (Part(shape, space or space_of(value)),), span)  # type: ignore[arg-type]
    joined_space = space or space_of(value)
    nodes = [emit(env, item, span, joined_space) for item in value.items]
    if space is not None:  # a number that only a run determines comes in its own
        nodes = [in_spaces(node, (space,) * len(node.type)) for node in nodes]
    pieces = [one_entry(node) for node in nodes]
    flat = join_all(pieces)
    return flat if len(shape) == 1 else Reshape(flat, tuple(Part(shape, p.space) for p in flat.type))


def one_entry(node: Node) -> Node:
    """Apply Ξ: add a last dimension of length 1; a numeric becomes a vector of one entry."""
    return Embed(node, tuple(Part((*p.shape, const(1)), p.space) for p in node.type))


def join_all(pieces: list[Node], d: int = 1) -> Node:
    """Join ToLs along dimension ``d`` (⋈), as a balanced tree so that its depth stays small."""
    while len(pieces) > 1:
        pairs = [join_nodes(a, b, d) for a, b in zip(pieces[::2], pieces[1::2], strict=False)]
        pieces = pairs + pieces[len(pieces) - len(pieces) % 2 :]
    return pieces[0]


def join_nodes(left: Node, right: Node, d: int) -> Node:
    """Join along dimension ``d`` (⋈); the caller has checked the other dimensions."""
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
    """Return a type in the given spaces; the same object if they are its own."""
    if spaces == spaces_of(parts):
        return parts
    return tuple([Part(p.shape, s) for p, s in zip(parts, spaces, strict=True)])


def spaces_of(parts: Type) -> tuple[str, ...]:
    """Return the spaces of the components of a type."""
    return tuple([part.space for part in parts])


def joined_spaces(left: Type, right: Type) -> tuple[str, ...]:
    """Return the spaces that hold the components of both types."""
    return tuple(map(join_spaces, spaces_of(left), spaces_of(right)))


def in_spaces(node: Node, spaces: tuple[str, ...]) -> Node:
    """Convert a node to the given spaces, component by component; free."""
    parts = with_spaces(node.type, spaces)
    if parts is node.type:
        return node
    if isinstance(node, Number):
        return Number(node.value, parts, node.span)
    return Convert(node, parts)


def member(env: Env, node: Node, at: tuple[Value, ...], span: Span) -> Node:
    """Read a member (Π) of a materialised ToL."""
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
    """Return a ToL that a node lays out as a static value: its elements are free, and so is their use."""
    part = node.type[0]
    if len(node.type) == 1 and not part.shape:
        return NodeValue(node, static=True)
    laid = env.scope.bind(node)
    if len(node.type) > 1:
        return ValueList(tuple(as_static(env, component(laid, j + 1)) for j in range(len(node.type))))
    return NodeValue(laid, static=True)


def made_of(env: Env, node: Node, *sources: Value) -> Value:
    """Return a node as a value that is static if all its sources are."""
    return as_static(env, node) if all(is_static(source) for source in sources) else NodeValue(node)


def index_node(env: Env, value: Value, span: Span, what: str = "an index") -> Node:
    """Return the numeric node of an index or a condition that is not a formula."""
    node = emit(env, value, span)
    if node.type[0].shape or len(node.type) > 1:
        listed = "list" if len(node.type) > 1 else "ToL"
        hint = "a vector of known length is spliced: x[*v]"
        fail("T0305", f"{what} is a {listed} where a number is needed", span, hint=hint)
    return node


At = Callable[[Env, tuple[Value, ...]], Value]
"""Computes the element at a coordinate; its bindings go to the block of the environment."""

LaySlice = Callable[[Env, Shape, At], Value]
"""Lays out the rest of a domain when one of its dimensions is unrolled."""


def unroll_dimension(env: Env, at: At, shape: Shape, place: int, span: Span, lay_slice: LaySlice) -> Value:
    """Unroll one dimension of a domain, because a table is indexed by it.

    Each entry counts as work, as it would under coordinates.
    """
    size = shape[place].constant
    assert size is not None
    rest = shape[:place] + shape[place + 1 :]
    entries = (_slice_of(env, at, rest, place, const(k), lay_slice) for k in range(1, size + 1))
    whole = JointWork()
    slices = [bind_data(env, entry, work=whole) for entry in entries]
    return _side_by_side(env, slices, place, whole, span)


def _side_by_side(env: Env, slices: list[Value], place: int, work: JointWork, span: Span) -> Value:
    """Join slices into one ToL along a new dimension; lists become a list of such ToLs."""
    if any(isinstance(s, ValueList) for s in slices):
        if len(set(map(capacity, slices))) > 1:
            fail("T0315", "the members are lists of different capacity", span, kind=Misfit)
        columns = zip(*(components(env, piece, span) for piece in slices), strict=True)
        return ValueList(tuple(_side_by_side(env, list(column), place, work, span) for column in columns))
    if all(not shape_of(env, s, span) and capacity(s) == 1 for s in slices):
        static = all(map(is_static, slices))
        return Vec(
            (len(slices),), tuple(slices if static else _as_data_of_one_space(env, slices, work, span))
        )
    nodes = [emit(env, piece, span) for piece in slices]
    for node in nodes:
        _check_alike(env, nodes[0].type, node.type, span)
    return made_of(env, join_all([_insert_dimension(node, place) for node in nodes], place + 1), *slices)


def _as_data_of_one_space(env: Env, numbers: list[Value], work: JointWork, span: Span) -> list[Value]:
    """Turn numbers of which some are data into data of one space, as parts of one joint work."""
    space = reduce(join_spaces, map(space_of, numbers))
    nodes = [in_spaces(emit(env, number, span), (space,)) for number in numbers]
    return [NodeValue(_bind_as_part(env, node, work)) for node in nodes]


def _bind_as_part(env: Env, node: Node, work: JointWork) -> Node:
    bound = type(node) is Ref and node.var.work is work
    return node if bound else env.scope.bind(node, work=work)


def _check_alike(env: Env, first: Type, other: Type, span: Span) -> None:
    """Require the members of a ToL to have equal shapes; lengths that may differ become a condition."""
    for p, q in zip(first, other, strict=False):
        if len(p.shape) != len(q.shape):
            message = f"members of shapes {shape_text(p.shape)} and {shape_text(q.shape)} do not fit together"
            fail("T0333", message, span, kind=RankMismatch)
        for x, y in zip(p.shape, q.shape, strict=True):
            if x is not y:
                unify(env, x, y, "the members of a ToL must have one shape", span)


def _insert_dimension(node: Node, place: int) -> Node:
    """Insert a dimension of length 1 into a ToL."""
    parts = tuple(Part((*p.shape[:place], const(1), *p.shape[place:]), p.space) for p in node.type)
    return Reshape(node, parts)


def _slice_of(env: Env, at: At, rest: Shape, place: int, k: Poly, lay_slice: LaySlice) -> Value:
    """Return the slice of a domain with one coordinate fixed."""
    if not rest:
        return at(env, (k,))
    return lay_slice(env, rest, lambda inner, coords: at(inner, (*coords[:place], k, *coords[place:])))


def emit_map(env: Env, shape: Shape, at: At, span: Span) -> Value:
    """Lay out a ToL whose elements a function computes."""
    coords, inner = bind_coordinates(env, tuple(f"i{n + 1}" for n in range(len(shape))), shape)
    try:
        with env.context.notes.attempt(inner.scope) as trial:
            node = emit(inner, at(inner, coords), span)
            trial.keep()
        return NodeValue(make_build(coords, shape, inner.scope.block(node), span))
    except NeedsUnrolling as needs:
        place = own_place(needs, coords)
        return unroll_dimension(env, at, shape, place, span, lambda e, rest, a: emit_map(e, rest, a, span))


def own_place(needs: NeedsUnrolling, coords: tuple[Poly, ...]) -> int:
    """Return which of our coordinates to unroll; if it is none of them, raise the request again."""
    for n, c in enumerate(coords):
        if the_symbol(c) is needs.symbol:
            return n
    raise needs


def bind_coordinates(env: Env, names: tuple[str, ...], shape: Shape) -> tuple[Shape, Env]:
    """Bind coordinates of a shape; in the block under them, no length of the shape is 0."""
    # most lengths are at least 1
    facts = [decide(env, ge(d - 1)) for d in shape if (range_of(d)[0] or 0) < 1]
    # in an empty range every statement about the coordinate holds, and its bounds mean nothing
    if facts and FALSE in facts:
        shape = (const(LARGEST_LENGTH),) * len(shape)
    coords, scope = env.scope.under(names, shape, *([f for f in facts if f is not TRUE] if facts else ()))
    return coords, env.building(scope)


# === Elements, slices and components of values.


SHORT = 16
"""The longest coordinate range that is unrolled for a look-up in a table of integers.

Integers may decide lengths, so their values are worth the work of elaborating every entry.
"""


def element(env: Env, value: Value, at: tuple[Value, ...], span: Span, checked: bool = False) -> Value:
    """Return the element at a full coordinate, or the slice at a partial one."""
    found = entry_at(value, at)
    return _find_element(env, value, at, span, checked) if found is None else found


def _element_of_each(env: Env, value: ValueList, at: tuple[Value, ...], span: Span, checked: bool) -> Value:
    """Return the elements of the components of a list, each of which has a shape of its own."""
    if at and not any(shape_of(env, item, span) for item in value.items):
        size = len(value.items)
        message = f"{len(at)} indices into a list of {size} numbers"
        hint = f"a component of a list has a prime: `t[1]'` to `t[{size}]'`"
        fail("T0303", message, span, hint=hint, kind=Misfit)
    return ValueList(tuple(element(env, item, at, span, checked) for item in value.items))


def _find_element(env: Env, value: Value, at: tuple[Value, ...], span: Span, checked: bool) -> Value:
    """Return an element that is not a plain entry of a vector."""
    value = split_if_uneven(env, value)
    if isinstance(value, ValueList):
        return _element_of_each(env, value, at, span, checked)
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
        return _element_where_in_range(env, left, _find_element(env, value, at, span, checked=True), span)
    if isinstance(value, Cast):
        return _element_in_space(env, value, at, shape, span)
    if len(at) < len(shape):
        return _slice(env, value, at, shape, span)
    match value:
        case Vec():
            return _entry(env, value, at, span)
        case View(get=get, static=static):
            if static and not all(isinstance(a, Poly) for a in at):
                return _look_up(env, value, at, span)
            return get(env, at)
        case NodeValue(node=node):
            return NodeValue(member(env, node, at, span), is_static_indexed(value, at))
        case Seq(items=items):
            return _sequence_entry(items, at[0], span)
        case _:
            fail("T0303", "this value has no elements", span, kind=Misfit)


def _element_where_in_range(env: Env, condition: Cond, value: Value, span: Span) -> Value:
    """Return an element of a view where the index is in range; elsewhere a run stops when it is read.

    An element whose index is a node is read from a materialised ToL, and checked like all members.
    """
    if not isinstance(value, (Poly, Cond, Fraction, float, Quotient, Cast)):
        return value
    found = emit(env, value, span)
    there, elsewhere = (
        env.scope.inner(condition).block(found),
        env.scope.inner().block(not_there(env, found, span)),
    )
    return as_static(env, Select(condition, there, elsewhere, found.type, span))


def not_there(env: Env, like: Node, span: Span) -> Node:
    """Build a value that a run never produces: reading it is a fault, because its place does not exist."""

    def part_of(part: Part) -> Node:
        table = Table((const(0),), (Part((const(1),), part.space),), span)
        coords, scope = env.scope.under([f"i{n + 1}" for n in range(len(part.shape))], part.shape)
        member_of = Member(table, (const(0),), numeric_type(part.space), span)
        return make_build(coords, part.shape, scope.block(member_of), span)

    return pack(tuple(map(part_of, like.type)))


def _element_in_space(env: Env, value: Cast, at: tuple[Value, ...], shape: Shape, span: Span) -> Value:
    """Return an element or a slice, in the explicit space of its ToL."""
    if all(map(is_static, at)):
        found = element(env, value.value, at, span, checked=True)
        if isinstance(found, NodeValue) and not is_tol(found):
            return NodeValue(in_spaces(found.node, (value.space,)), static=True)
        return recast(found, value.space)
    if len(at) == len(shape):
        return _look_up(env, value, at, span)
    return _slice(env, value, at, shape, span)


def entry_at(value: Value, at: tuple[Value, ...]) -> Value | None:
    """Return the entry of a vector at a full coordinate of numbers in range; None in all other cases."""
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
    """Check that every static index is in range: by proof, as a condition, or at run time.

    An index that data decides is always checked at run time, without a condition. Returns the conditions left
    to check on the indices that are formulas.
    """
    left: list[Cond] = []
    for index, extent in zip(at, shape, strict=False):
        index = plain(index)
        if isinstance(index, NodeValue) and index.static:
            _record_run_check(env, index.node, extent, span)
        elif isinstance(index, Poly) and not is_seen_inside(env, index, extent):
            left.append(check_index(env, index, extent, span, lambda: f"of shape {shape_text(shape)}"))
    return conj(*left)


@lru_cache(maxsize=1 << 8)
def _index_at(span: Span) -> Poly:
    """Return the symbol of an index whose value only a run determines."""
    return data_symbol("index", None, None, "coord")


def _record_run_check(env: Env, node: Node, extent: Poly, span: Span) -> None:
    """Record that an index is checked at run time, unless its computation keeps it in range."""
    scope = env.scope
    if not scope.never and scope.checked and not is_within(env, node, const(1), extent):
        index = _index_at(span)
        for condition, reason in ((ge(index - 1), AT_LEAST_1), (ge(extent - index), INSIDE)):
            env.context.notes.record(condition, "range", reason, span)


def _slice(env: Env, value: Value, at: tuple[Value, ...], shape: Shape, span: Span) -> Value:
    if isinstance(value, Vec):
        numbers = [a.constant if isinstance(a, Poly) else None for a in at]
        if all(n is not None for n in numbers):
            return _vec_slice(value, [n for n in numbers if n is not None])
    bound = bind_data(env, value) if isinstance(value, NodeValue) else value
    at = at if all_static(at) else tuple([bind_data(env, index) for index in at])
    rest = shape[len(at) :]
    static = is_static_indexed(value, at)
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
        is_there = 0 <= offset < len(value.items)
        # out of range only in blocks that are never visited
        return value.items[offset] if is_there else const(0)
    if all(item == value.items[0] for item in value.items) and is_static_indexed(value, at):
        return value.items[0] if value.items else const(0)  # an empty ToL has no elements to visit
    if not env.scope.tables:
        _ask_to_unroll(at, _longest_unrolled(value), span)
    return _look_up(env, value, at, span)


def _longest_unrolled(value: Vec) -> int:
    """Return the longest coordinate range to unroll for reading a vector.

    Integers may decide lengths, reals do not. If some entries are data, every entry is elaborated by itself.
    """
    if not value.static and any(map(is_static, value.items)):
        return UNROLL_LIMIT
    return 0 if any(isinstance(item, (Fraction, float)) for item in value.items) else SHORT


def _ask_to_unroll(at: tuple[Value, ...], longest: int, span: Span) -> None:
    """Request unrolling of a coordinate that an index mentions, if its range is short enough."""
    for index in at:
        for symbol in index.free if isinstance(index, Poly) else ():
            size = symbol.hi.constant if symbol.kind == "coord" and symbol.hi is not None else None
            if size is not None and 0 < size <= longest:
                raise NeedsUnrolling(symbol, span)


def _look_up(env: Env, value: Value, at: tuple[Value, ...], span: Span) -> Value:
    """Read a static ToL at an index that is not a number, from its layout."""
    found = member(env, emit(env, value, span), at, span)
    return as_static(env, found) if is_static_indexed(value, at) else NodeValue(found)


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


def pick_result(env: Env, base: Value | Items, j: int, span: Span) -> Value:
    """Return component ``j`` of a list, or result ``j`` of an operator."""
    if not isinstance(base, tuple):
        return pick_component(env, base, j, span)
    check_component(j, len(base), span)
    return base[j - 1]


def spread(env: Env, value: Value, span: Span) -> tuple[Value, ...]:
    """Return the entries of a vector of known length; a number is its own only entry."""
    value = plain(value)
    if isinstance(value, Seq) or (isinstance(value, Vec) and len(value.shape) == 1):
        return value.items
    shape = shape_of(env, value, span)
    if not shape:
        return (value,)
    numbers = known(shape)
    if len(shape) > 1 or numbers is None:
        fail(
            "T0309",
            f"only a vector of known length can be spliced here, not shape {shape_text(shape)}",
            span,
            hint="name its entries one by one; a ToL of n entries is `tol[n]`, at coordinates 1 to n",
        )
    bound = bind_data(env, value)
    return tuple(element(env, bound, (const(n),), span, checked=True) for (n,) in grid(numbers, span))


def leaves(value: Value) -> tuple[Value, ...]:
    """Return the tensors of a sequence, including those of nested sequences."""
    if isinstance(value, Seq):
        return tuple(leaf for item in value.items for leaf in leaves(item))
    return (value,)


def rebuild_sequence(like: Value, parts: Iterator[Value]) -> Value:
    """Return a sequence of the same structure with other tensors."""
    if isinstance(like, Seq):
        return Seq(tuple(rebuild_sequence(item, parts) for item in like.items))
    return next(parts)


def integers(env: Env, value: Value, span: Span) -> tuple[Poly, ...]:
    """Return the entries of a vector, all of them integers known at compile time."""
    return as_integers(spread(env, value, span), span)


def as_integers(entries: tuple[Value, ...], span: Span) -> tuple[Poly, ...]:
    """Return entries as integers known at compile time."""
    found = tuple(map(plain, entries))
    if not all_static(found):
        fail("T0310", "these must be integers known while compiling", span)
    return found
