"""Traversals of the IR: the parts of a node, and the order in which nodes are evaluated.

    children(node)           its operands, in the order in which they are evaluated
    with_operands(node, ...) the node with other operands
    map_static(node, ...)    the node with other static integers and conditions
    regions(node)            the blocks inside it, each with the names that it binds
    inner_nodes(roots)       every node in and under the given nodes, each once
    reached(tops, parts)     the same, along other parts than operands and blocks
    parts_first(tops, parts) all of them, each after its parts
    schedule(...)            the nodes of one block, operands first
    schedules(program)       the schedules of every block of a program, inner ones first
    own_symbols(node)        the symbols it mentions itself

A pass defines its effect on each kind of node, best in a table from kinds to rules, and leaves everything
else to these functions. Nothing here recurses over a program: deep expressions need no stack, and shared
expressions no exponential work. Nodes hash by identity, so results can be cached by node.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import repeat
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias, TypeGuard, TypeVar, get_args, overload

from msgspec import Struct

from tolcost.algebra import Cond, Poly, Symbol, symbols_of_cond
from tolcost.atoms import nodes as ir
from tolcost.atoms.nodes import Block, Constant, Node, Part, Program, Type, Var

Indices: TypeAlias = tuple[Poly | Node, ...]
Bindings: TypeAlias = tuple[tuple[Var, Node], ...]
_N = TypeVar("_N", bound=Node)
_T = TypeVar("_T", bound=Hashable)
_CONDITIONS = get_args(Cond)
_STATIC = (Poly, *_CONDITIONS)

# ---- types of numbers


@lru_cache(maxsize=256)
def numeric_type(space: str) -> Type:
    """Return the type of a number, which most nodes have."""
    return (Part((), space),)


def is_numeric(types: Type) -> bool:
    """Whether a type is that of a single number."""
    return len(types) == 1 and not types[0].shape


# ---- what a node is made of ------------------------------------------------------------------


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes that are evaluated before the node itself, each once, in order."""
    return _CHILDREN[type(node)](node)


def with_operands(node: _N, operands: Sequence[Node], **fields: Any) -> _N:
    """Return the node with other operands; ``fields`` are other fields to change, such as its type."""
    if tuple(operands) != children(node):
        fields.update(_OPERAND_FIELDS[type(node)](node, operands))
    return _with_fields(node, fields)


def _with_fields(node: _N, fields: Mapping[str, Any]) -> _N:
    """Return the node with other fields, or the node itself if all of them are unchanged."""
    for name, value in fields.items():
        if getattr(node, name) is not value:
            break
    else:
        return node
    return type(node)(
        *[fields[name] if name in fields else getattr(node, name) for name in node.__struct_fields__]
    )


def index_nodes(at: Indices) -> tuple[Node, ...]:
    """Return the indices that are nodes; the others are static."""
    if all_static(at):  # the usual case
        return ()
    return tuple([index for index in at if not isinstance(index, Poly)])


def all_static(at: Sequence[object]) -> TypeGuard[tuple[Poly, ...]]:
    """Whether all indices are static integers."""
    for index in at:  # noqa: SIM110 - this runs for every index, and a generator takes twice as long
        if type(index) is not Poly:
            return False
    return True


def with_index_nodes(at: Indices, computed: Iterable[Node]) -> Indices:
    """Replace the indices that are nodes."""
    fresh = iter(computed)
    return tuple(index if isinstance(index, Poly) else next(fresh) for index in at)


LEAVES = {ir.Input, ir.Number, ir.Table, ir.Ref}
"""The kinds of nodes without operands and blocks."""

_COPIES = (ir.Component, ir.Embed, ir.Reshape, ir.Convert, ir.Length)

_CHILDREN: Mapping[type, Callable[[Any], tuple[Node, ...]]] = {
    **dict.fromkeys((*LEAVES, ir.Build), lambda node: ()),
    **dict.fromkeys(_COPIES, lambda node: (node.value,)),
    ir.Lambda: attrgetter("args"),
    ir.Where: attrgetter("condition", "then", "other"),
    ir.Member: lambda node: (node.tol, *index_nodes(node.at)),
    ir.Pack: attrgetter("items"),
    ir.Join: attrgetter("left", "right"),
    ir.Fold: lambda node: (node.start,),
    ir.Select: lambda node: () if isinstance(node.condition, _CONDITIONS) else (node.condition,),
    ir.Put: lambda node: (node.tol, *index_nodes(node.at), node.value),
    ir.Filter: attrgetter("tol", "mask"),
}

_OPERAND_FIELDS: Mapping[type, Callable[[Any, Sequence[Node]], dict[str, Any]]] = {
    **dict.fromkeys((*LEAVES, ir.Build), lambda node, new: {}),
    **dict.fromkeys(_COPIES, lambda node, new: {"value": new[0]}),
    ir.Lambda: lambda node, new: {"args": tuple(new)},
    ir.Where: lambda node, new: {"condition": new[0], "then": new[1], "other": new[2]},
    ir.Member: lambda node, new: {"tol": new[0], "at": with_index_nodes(node.at, new[1:])},
    ir.Pack: lambda node, new: {"items": tuple(new)},
    ir.Join: lambda node, new: {"left": new[0], "right": new[1]},
    ir.Fold: lambda node, new: {"start": new[0]},
    ir.Select: lambda node, new: {"condition": new[0]} if new else {},
    ir.Put: lambda node, new: {"tol": new[0], "at": with_index_nodes(node.at, new[1:-1]), "value": new[-1]},
    ir.Filter: lambda node, new: {"tol": new[0], "mask": new[1]},
}


class Region(NamedTuple):
    """A block inside a node, with the coordinates and the accumulator bound around it."""

    block: Block
    coords: tuple[Symbol, ...] = ()
    accumulator: Var | None = None


def regions(node: Node) -> tuple[Region, ...]:
    """Return the blocks inside a node, each with the names that it binds."""
    found = REGIONS.get(type(node))
    return () if found is None else found(node)


def blocks(node: Node) -> tuple[Block, ...]:
    """Return the blocks inside a node."""
    found = REGIONS.get(type(node))  # most nodes have none, and every pass calls this for every node
    return () if found is None else tuple([region.block for region in found(node)])


REGIONS: Mapping[type, Callable[[Any], tuple[Region, ...]]] = {
    ir.Build: lambda node: (Region(node.body, node.coords),),
    ir.Fold: lambda node: (Region(node.body, node.coords, node.accumulator),),
    ir.Select: lambda node: (Region(node.then), Region(node.other)),
}
"""The blocks inside a node, for the kinds of nodes that have blocks."""


def roots(block: Block | Program) -> tuple[Node, ...]:
    """Return the nodes that one visit of a block, or one run of a program, evaluates."""
    results = (block.result,) if isinstance(block, Block) else tuple(out.node for out in block.outputs)
    return (*(node for _, node in block.bindings), *results)


def static_condition(node: ir.Select) -> Cond | None:
    """Return the condition on lengths and coordinates that decides a choice; None if a node decides it."""
    return node.condition if isinstance(node.condition, _CONDITIONS) else None


def is_ref(node: Node, var: Var) -> bool:
    """Whether a node is the value of the given variable."""
    return isinstance(node, ir.Ref) and node.var is var


@overload
def resolve_name(value: Node, bound: Mapping[Var, Node]) -> Node: ...
@overload
def resolve_name(value: Node | Poly, bound: Mapping[Var, Node]) -> Node | Poly: ...
def resolve_name(value: Node | Poly, bound: Mapping[Var, Node]) -> Node | Poly:
    """Follow a name, through any further names, to the value it is bound to."""
    while isinstance(value, ir.Ref) and value.var in bound:
        value = bound[value.var]
    return value


def reached(tops: Iterable[_T], parts: Callable[[_T], Iterable[_T]]) -> Iterator[_T]:
    """Yield the given things and all that follows from them, each once and before its parts."""
    seen: set[_T] = set()
    pending = list(tops)
    while pending:
        top = pending.pop()
        if top not in seen:
            seen.add(top)
            yield top
            pending.extend(parts(top))


def parts_first(tops: Iterable[_T], parts: Callable[[_T], Iterable[_T]]) -> Iterator[_T]:
    """Yield the given things and all that they are made of, each once and after its parts."""
    entered: set[_T] = set()
    for first in tops:
        opened = [iter((first,))]
        around: list[_T] = []
        while opened:
            top = next((one for one in opened[-1] if one not in entered), None)
            if top is not None:
                entered.add(top)
                around.append(top)
                opened.append(iter(parts(top)))
            else:
                opened.pop()
                if around:
                    yield around.pop()


def inner_nodes(tops: Iterable[Node], bound: Mapping[Var, Node] | None = None) -> Iterator[Node]:
    """Yield every node in and under the given nodes, each once, following the variables in ``bound``, too."""
    seen: set[Node] = set()
    pending = list(tops)
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        if bound and isinstance(node, ir.Ref) and node.var in bound:
            pending.append(bound[node.var])
        kind = type(node)
        pending.extend(_CHILDREN[kind](node))
        if kind in REGIONS:
            for region in REGIONS[kind](node):
                pending.extend(roots(region.block))


@lru_cache(maxsize=8)
def program_nodes(program: Program) -> tuple[Node, ...]:
    """Return every node of a program, each once; cached because each run of a program looks them through."""
    return tuple(inner_nodes(roots(program)))


# ---- the order of evaluation -----------------------------------------------------------------


class ScheduledNode(NamedTuple):
    """A node to evaluate, the steps of its operands, how often it counts, and the variables bound to it."""

    node: Node
    operands: tuple[int, ...]
    times: int
    binds: tuple[Var, ...]


class Schedule(Struct, frozen=True, eq=False):
    """The nodes that one visit evaluates, operands first, and the steps of bindings and results.

    A node reachable by several paths is listed once, with the number of paths: it is computed once and
    counted once per path.
    """

    steps: tuple[ScheduledNode, ...]
    roots: tuple[int, ...]

    @property
    def nodes(self) -> list[Node]:
        """The nodes alone."""
        return [step[0] for step in self.steps]

    def of(self, kinds: Collection[type]) -> list[ScheduledNode]:
        """Return the steps whose nodes have one of the given kinds; the kinds are meant to be rare ones."""
        return [step for step in self.steps if type(step[0]) in kinds]


class Schedules(Struct, frozen=True, eq=False):
    """Every block of a program with its schedule, inner ones first, and the program's own schedule."""

    blocks: tuple[tuple[Block, Schedule], ...]
    top: Schedule

    def __iter__(self) -> Iterator[Schedule]:
        """Yield inner schedules before the schedules of the blocks around them, the program's last."""
        yield from (plan for _, plan in self.blocks)
        yield self.top


def schedule(bindings: Bindings, results: tuple[Node, ...]) -> Schedule:
    """Order the nodes of bindings and results so that each comes after the nodes it needs."""
    tops = (*[node for _, node in bindings], *results)
    place, inputs = _postorder(tops)
    at = tuple([place[top] for top in tops])
    names: list[tuple[Var, ...]] = [()] * len(inputs)
    for (var, _), k in zip(bindings, at, strict=False):
        names[k] += (var,)
    rows = zip(place, inputs, _multiplicities(inputs, at), names, strict=True)
    return Schedule(tuple(map(tuple.__new__, repeat(ScheduledNode), rows)), at)


@lru_cache(maxsize=1 << 10)
def schedule_block(block: Block) -> Schedule:
    """Order the nodes of a block; cached because pass after pass needs it."""
    return schedule(block.bindings, (block.result,))


@lru_cache(maxsize=8)
def schedule_program(program: Program) -> Schedule:
    """Order the nodes of a program that are in no block; cached because a program may run many times."""
    return schedule(program.bindings, tuple(out.node for out in program.outputs))


def schedules(program: Program) -> Schedules:
    """Order the nodes of every block of a program, each once, inner blocks first."""
    top = schedule_program(program)
    found: list[tuple[Block, Schedule]] = []
    entered: set[Block] = set()
    pending: list[tuple[Block, Schedule | None]] = [(block, None) for block in _blocks_entered(top)]
    while pending:
        block, plan = pending.pop()
        if plan is not None:
            found.append((block, plan))
        elif block not in entered:
            entered.add(block)
            plan = schedule_block(block)
            pending.append((block, plan))
            pending += [(inner, None) for inner in _blocks_entered(plan)]
    return Schedules(tuple(found), top)


def bound_nodes(program: Program, found: Schedules) -> dict[Var, Node]:
    """Return the node that each variable of a program is bound to; accumulators are not included."""
    bound = dict(program.bindings)
    for block, _ in found.blocks:
        bound.update(block.bindings)
    return bound


def _blocks_entered(plan: Schedule) -> list[Block]:
    return [region.block for node, *_ in plan.of(REGIONS) for region in REGIONS[type(node)](node)]


def _postorder(tops: Iterable[Node]) -> tuple[dict[Node, int], list[tuple[int, ...]]]:
    """Number the nodes reachable without entering a block, operands first.

    Returns the number of each node, and for each number the numbers of the operands.
    """
    place: dict[Node, int] = {}
    inputs: list[tuple[int, ...]] = []
    opened: list[tuple[Node, tuple[Node, ...]]] = []
    for top in tops:
        pending: list[Node | None] = [top]
        while pending:
            node = pending.pop()
            if node is None:  # all its operands are numbered
                node, operands = opened.pop()
            elif node in place:
                continue
            elif operands := () if type(node) in LEAVES else _CHILDREN[type(node)](node):
                opened.append((node, operands))
                pending.append(None)
                pending.extend(operands[::-1])
                continue
            place[node] = len(inputs)
            inputs.append(tuple(map(place.__getitem__, operands)) if operands else ())
    return place, inputs


def _multiplicities(inputs: list[tuple[int, ...]], tops: tuple[int, ...]) -> list[int]:
    """Count the paths from the roots to every step."""
    times = [0] * len(inputs)
    for top in tops:
        times[top] += 1
    for k in reversed(range(len(inputs))):
        for child in inputs[k]:
            times[child] += times[k]
    return times


@lru_cache(maxsize=1 << 10)
def last_uses(plan: Schedule) -> tuple[tuple[int, ...], ...]:
    """Return the values that are no longer needed after each step; roots are kept. Only runs need this."""
    last: dict[int, int] = {}
    for k, step in enumerate(plan.steps):
        for child in step.operands:
            last[child] = k
    kept = set(plan.roots)
    done: list[tuple[int, ...]] = [()] * len(plan.steps)
    for child, k in last.items():
        if child not in kept:
            done[k] += (child,)
    return tuple(done)


# ---- static integers and conditions ----------------------------------------------------------


STATIC_FIELD: Mapping[type, str] = {
    ir.Number: "value",
    ir.Table: "values",
    ir.Member: "at",
    ir.Put: "at",
    ir.Build: "extents",
    ir.Fold: "extents",
    ir.Select: "condition",
}
"""The field in which a node holds static integers and conditions: one, or several mixed with other values."""


def static_parts(node: Node) -> tuple[Poly | Cond, ...]:
    """Return the static integers and conditions of a node itself, without those of its type."""
    name = STATIC_FIELD.get(type(node))
    if name is None:
        return ()
    held = getattr(node, name)
    return tuple([one for one in (held if isinstance(held, tuple) else (held,)) if isinstance(one, _STATIC)])


def map_static(node: _N, poly: Callable[[Poly], Poly], cond: Callable[[Cond], Cond]) -> _N:
    """Return the node with other static integers and conditions, also in its type."""

    def part(value: Any) -> Any:
        return (
            poly(value) if isinstance(value, Poly) else cond(value) if isinstance(value, _STATIC) else value
        )

    fields: dict[str, Any] = {"type": map_type(node.type, poly)}
    name = STATIC_FIELD.get(type(node))
    if name is not None:
        held = getattr(node, name)
        fields[name] = _map_parts(held, part) if isinstance(held, tuple) else part(held)
    return _with_fields(node, fields)


def _map_parts(parts: tuple[Any, ...], part: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Map the parts of a tuple; return the same tuple if no part changes."""
    fresh = tuple(map(part, parts))
    return parts if all(map(operator.is_, fresh, parts)) else fresh


def map_type(types: Type, poly: Callable[[Poly], Poly]) -> Type:
    """Return a type with every length mapped."""

    def restated(part: ir.Part) -> ir.Part:
        shape = _map_parts(part.shape, poly)
        return part if shape is part.shape else ir.Part(shape, part.space)

    return _map_parts(types, restated)


def program_symbols(program: Program) -> frozenset[Symbol]:
    """Return every symbol that a program mentions."""
    found: set[Symbol] = set(program.symbols)
    for condition in program.conditions:
        found.update(symbols_of_cond(condition.condition))
    for needed in program.inputs:
        found.update(type_symbols(needed.type))
    for node in inner_nodes(roots(program)):
        found.update(type_symbols(node.type))
        found.update(own_symbols(node))
        if isinstance(node, ir.Fold):
            found.update(type_symbols(node.accumulator.type))
    return frozenset(found)


def own_symbols(node: Node) -> Iterator[Symbol]:
    """Yield the symbols that a node itself mentions or binds, not those in its type or operands."""
    for part in static_parts(node):
        yield from constant_symbols(part)
    if isinstance(node, (ir.Build, ir.Fold)):
        yield from node.coords
    elif isinstance(node, (ir.Filter, ir.Length)):
        yield node.length


def defined_length(node: Node) -> Symbol | None:
    """Return the length that evaluating a node defines, if there is one."""
    if isinstance(node, (ir.Filter, ir.Length)):
        return node.length
    return node.ends if isinstance(node, ir.Fold) else None


def is_fixed(table: ir.Table) -> bool:
    """Whether the entries of a table stay the same throughout a run."""
    return all(symbol.kind == "length" for symbol in own_symbols(table))


def constant_symbols(value: Constant) -> Iterable[Symbol]:
    """Return the symbols of a static numeric."""
    if isinstance(value, Poly):
        return value.free
    return symbols_of_cond(value) if isinstance(value, _CONDITIONS) else ()


def type_symbols(types: Type) -> Set[Symbol]:
    """Return the symbols of the lengths in a type."""
    return frozenset().union(*[length.free for part in types for length in part.shape])
