"""Counting by walking every coordinate: slow, plain, and independent of closed forms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod

from tolcost.algebra import Poly, Symbol, evaluate, evaluate_cond
from tolcost.atoms.nodes import (
    Block,
    Build,
    Component,
    Convert,
    Embed,
    Filter,
    Fold,
    Join,
    Lambda,
    Member,
    Node,
    Pack,
    Program,
    Put,
    Reshape,
    Select,
    Where,
)

Tally = Counter[tuple[str, ...]]
MEMBER, JOIN, EMBED, NORM, LAMBDA = ("member",), ("join",), ("embed",), ("norm",), ("lambda",)


def brute(program: Program, values: Mapping[Symbol, int]) -> Tally:
    """Count a program at concrete lengths; the lengths of filters are among the values."""
    tally: Tally = Counter()
    for root in (*(node for _, node in program.bindings), *(out.node for out in program.outputs)):
        _count(root, values, tally)
    return Counter({key: value for key, value in tally.items() if value})


def _count(node: Node, values: Mapping[Symbol, int], tally: Tally) -> None:  # noqa: C901 - one case per node
    """Add what a node does, and what its operands do."""
    operands: Sequence[Node] = ()
    match node:
        case Lambda(args=operands, charge=charge, function=function, space=space):
            _applied(function, space, charge, tally)
        case Where(condition=c, then=t, other=o, charge=charge, space=space):
            _applied("where", space, charge, tally)
            operands = (c, t, o)
        case Member(tol=tol, at=at):
            tally[MEMBER] += 1
            operands = (tol, *_nodes(at))
        case Component(value=value):
            tally[MEMBER] += 1
            operands = (value,)
        case Pack(items=operands):
            tally[JOIN] += len(operands) - 1
        case Join(left=left, right=right):
            tally[JOIN] += 1
            operands = (left, right)
        case Embed(value=value):
            tally[EMBED] += 1
            operands = (value,)
        case Build():
            _build(node, values, tally)
        case Fold(start=start):
            operands = (start,)
            for inner in _steps(node, values):
                _block(node.body, inner, tally)
        case Select(condition=condition, then=then, other=other) if isinstance(condition, Node):
            operands = (condition,)
            sides: tuple[Tally, Tally] = (Counter(), Counter())
            for side, own in zip((then, other), sides, strict=True):
                _block(side, values, own)
            tally.update(sides[0] | sides[1])  # each function as on the side that applies it more
        case Select(condition=condition, then=then, other=other):
            _block(then if evaluate_cond(condition, values) else other, values, tally)
        case Reshape(value=value) | Convert(value=value):
            _reassembled_list(node, values, tally)
            for old, new in zip(value.type, node.type, strict=True):
                tally[MEMBER] += bool(old.shape) - bool(new.shape)
            operands = (value,)
        case Put(tol=tol, at=at, value=value):
            _reassembled_list(node, values, tally)
            for part in filter(lambda part: part.shape, node.type):
                tally[MEMBER] += (len(node.type) > 1) - (len(part.shape) == len(at))
            operands = (tol, *_nodes(at), value)
        case Filter(tol=tol, mask=mask):
            _reassembled_list(node, values, tally)
            tally[NORM] += 1
            operands = (tol, mask)
    for operand in operands:
        _count(operand, values, tally)


def _applied(function: str, space: str, charge: str, tally: Tally) -> None:
    if charge != "static":
        tally[charge, function, space] += 1
        tally[LAMBDA] += charge == "data"


def _nodes(at: Sequence[Poly | Node]) -> list[Node]:
    return [index for index in at if not isinstance(index, Poly)]


def _block(block: Block, values: Mapping[Symbol, int], tally: Tally) -> None:
    for _, node in block.bindings:
        _count(node, values, tally)
    _count(block.result, values, tally)


def _shape(shape: Sequence[Poly], values: Mapping[Symbol, int]) -> list[int]:
    return [evaluate(extent, values) for extent in shape]


def _steps(node: Build | Fold, values: Mapping[Symbol, int]) -> Iterator[Mapping[Symbol, int]]:
    for at in product(*(range(1, extent + 1) for extent in _shape(node.extents, values))):
        yield {**values, **dict(zip(node.coords, at, strict=True))}


def _reassembled(shape: list[int], tally: Tally, member: bool = True) -> None:
    """Add what laying a ToL out entry by entry does; ``member`` where the entries are taken from another."""
    if shape:
        volume = prod(shape)
        tally[MEMBER] += volume * member
        tally[JOIN] += max(volume - 1, 0)
        tally[EMBED] += sum(prod(shape[j:]) for j in range(1, len(shape)))


def _reassembled_list(node: Node, values: Mapping[Symbol, int], tally: Tally) -> None:
    for part in node.type:
        _reassembled(_shape(part.shape, values), tally)
    if len(node.type) > 1 and any(part.shape for part in node.type):
        tally[MEMBER] += len(node.type)
        tally[JOIN] += len(node.type) - 1


def _build(node: Build, values: Mapping[Symbol, int], tally: Tally) -> None:
    for inner in _steps(node, values):
        _block(node.body, inner, tally)
    extents, parts = _shape(node.extents, values), node.body.result.type
    if not any(part.shape for part in parts):
        _reassembled(extents, tally, member=False)
        return
    for part in parts:
        _reassembled(extents + _shape(part.shape, values), tally)
    if len(node.type) > 1:
        tally[MEMBER] += sum(bool(part.shape) for part in parts) * prod(extents)
        tally[JOIN] += len(node.type) - 1
