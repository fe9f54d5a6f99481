"""Walking the IR without recursion: what a node is made of, and in which order to evaluate it.

A ``Schedule`` lists the nodes of a block so that operands come first.  A node reachable by
several paths is listed once, with the number of paths: it is computed once and counted as
often as it stands in the tree.  So deep expressions need no stack and shared ones no
exponential work.  Bodies of Build, Fold and Select are blocks with schedules of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from tolcost.algebra import Poly
from tolcost.atoms.nodes import (
    Block,
    Build,
    Component,
    Convert,
    Embed,
    Filter,
    Fold,
    Input,
    Join,
    Lambda,
    Member,
    Node,
    Number,
    Pack,
    Put,
    Ref,
    Reshape,
    Select,
    Table,
    Var,
    Where,
)


def index_nodes(at: tuple[Poly | Node, ...]) -> tuple[Node, ...]:
    """Give the indices that are nodes; the others are static."""
    return tuple(index for index in at if not isinstance(index, Poly))


def operands(node: Node) -> tuple[Node, ...]:
    """Give the nodes that are evaluated once, before the node itself, in order."""
    match node:
        case Input() | Number() | Table() | Ref() | Build():
            return ()
        case Lambda(args=args):
            return args
        case Where(condition=condition, then=then, other=other):
            return (condition, then, other)
        case Member(tol=tol, at=at):
            return (tol, *index_nodes(at))
        case Put(tol=tol, at=at, value=value):
            return (tol, *index_nodes(at), value)
        case Component(value=value) | Embed(value=value) | Reshape(value=value) | Convert(value=value):
            return (value,)
        case Pack(items=items):
            return items
        case Join(left=left, right=right):
            return (left, right)
        case Fold(start=start):
            return (start,)
        case Select(condition=condition):
            return (condition,) if isinstance(condition, Node) else ()
        case Filter(tol=tol, mask=mask):
            return (tol, mask)


def blocks(node: Node) -> tuple[Block, ...]:
    """Give the blocks inside a node."""
    match node:
        case Build(body=body) | Fold(body=body):
            return (body,)
        case Select(then=then, other=other):
            return (then, other)
        case _:
            return ()


def inner_nodes(roots: Iterable[Node]) -> Iterator[Node]:
    """Give every node in and under some nodes, each once, in an order of the program's making."""
    seen: set[Node] = set()
    pending = list(roots)
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        pending.extend(operands(node))
        for block in blocks(node):
            pending.extend(inner for _, inner in block.bindings)
            pending.append(block.result)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A node to evaluate: the steps its operands come from, and how often it counts.

    ``binds`` are the variables that name its value; ``done`` are the steps no one needs after.
    """

    node: Node
    operands: tuple[int, ...]
    times: int
    binds: tuple[Var, ...]
    done: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """The steps of a block in order, and where its roots (bindings, then results) are."""

    steps: tuple[Step, ...]
    roots: tuple[int, ...]


def schedule(bindings: tuple[tuple[Var, Node], ...], results: tuple[Node, ...]) -> Schedule:
    """Order the nodes of bindings and results so that each comes after what it needs."""
    roots = (*(node for _, node in bindings), *results)
    order: list[Node] = []
    place: dict[Node, int] = {}
    for root in roots:
        _append_postorder(root, order, place)
    inputs = [tuple(place[child] for child in operands(node)) for node in order]
    at = tuple(place[root] for root in roots)
    names: dict[int, tuple[Var, ...]] = {}
    for (var, _), k in zip(bindings, at, strict=False):
        names[k] = (*names.get(k, ()), var)
    times = _multiplicities(inputs, at)
    done = _last_uses(inputs, at)
    steps = (
        Step(node, inputs[k], times[k], names.get(k, ()), done.get(k, ())) for k, node in enumerate(order)
    )
    return Schedule(tuple(steps), at)


@lru_cache(maxsize=1 << 10)
def schedule_block(block: Block) -> Schedule:
    """Order the nodes of a block; both interpreters ask for it, one soon after the other."""
    return schedule(block.bindings, (block.result,))


def _append_postorder(root: Node, order: list[Node], place: dict[Node, int]) -> None:
    pending: list[tuple[Node, bool]] = [(root, False)]
    while pending:
        node, ready = pending.pop()
        if node in place:
            continue
        if ready:
            place[node] = len(order)
            order.append(node)
        else:
            pending.append((node, True))
            pending.extend((child, False) for child in reversed(operands(node)))


def _multiplicities(inputs: list[tuple[int, ...]], roots: tuple[int, ...]) -> list[int]:
    """Count the paths from the roots to every step."""
    times = [0] * len(inputs)
    for root in roots:
        times[root] += 1
    for k in reversed(range(len(inputs))):
        for child in inputs[k]:
            times[child] += times[k]
    return times


def _last_uses(inputs: list[tuple[int, ...]], roots: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """Find after which step each value is no longer needed; roots are kept."""
    last: dict[int, int] = {}
    for k, children in enumerate(inputs):
        for child in children:
            last[child] = k
    kept = set(roots)
    done: dict[int, tuple[int, ...]] = {}
    for child, k in last.items():
        if child not in kept:
            done[k] = (*done.get(k, ()), child)
    return done
