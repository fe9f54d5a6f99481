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


def brute(program: Program, values: Mapping[Symbol, int]) -> Tally:
    """Count a program at concrete lengths; the lengths of filters are among the values."""
    tally: Tally = Counter()
    for root in (*(node for _, node in program.bindings), *(out.node for out in program.outputs)):
        tally += _count(root, values)
    return Counter({key: value for key, value in tally.items() if value})


def _count(node: Node, values: Mapping[Symbol, int]) -> Tally:  # noqa: C901 - one case per node
    tally: Tally = Counter()
    match node:
        case Lambda(args=args, charge=charge, function=function, space=space):
            tally += _applied(function, space, charge)
            return _all(tally, args, values)
        case Where(condition=c, then=t, other=o, charge=charge, space=space):
            return _all(_applied("where", space, charge), (c, t, o), values)
        case Member(tol=tol, at=at):
            return _all(Counter({("member",): 1}), (tol, *_nodes(at)), values)
        case Component(value=value):
            return _all(Counter({("member",): 1}), (value,), values)
        case Pack(items=items):
            return _all(Counter({("join",): len(items) - 1}), items, values)
        case Join(left=left, right=right):
            return _all(Counter({("join",): 1}), (left, right), values)
        case Embed(value=value):
            return _all(Counter({("embed",): 1}), (value,), values)
        case Build():
            return _build(node, values)
        case Fold(start=start):
            tally += _count(start, values)
            for inner in _steps(node, values):
                tally += _block(node.body, inner)
        case Select(condition=condition, then=then, other=other):
            chosen = then if evaluate_cond(condition, values) else other  # type: ignore[arg-type]
            return _block(chosen, values)
        case Reshape(value=value) | Convert(value=value):
            tally = _relays(node, values)
            for old, new in zip(value.type, node.type, strict=True):
                tally[("member",)] += bool(old.shape) - bool(new.shape)
            return _all(tally, (value,), values)
        case Put(tol=tol, at=at, value=value):
            tally = _relays(node, values)
            for part in filter(lambda part: part.shape, node.type):
                tally[("member",)] += (len(node.type) > 1) - (len(part.shape) == len(at))
            return _all(tally, (tol, *_nodes(at), value), values)
        case Filter(tol=tol, mask=mask):
            return _all(_relays(node, values) + Counter({("norm",): 1}), (tol, mask), values)
        case _:
            pass
    return tally


def _applied(function: str, space: str, charge: str) -> Tally:
    if charge == "static":
        return Counter()
    tally: Tally = Counter({(charge, function, space): 1})
    return tally + Counter({("lambda",): 1}) if charge == "data" else tally


def _all(tally: Tally, nodes: Sequence[Node], values: Mapping[Symbol, int]) -> Tally:
    for node in nodes:
        tally.update(_count(node, values))
    return tally


def _nodes(at: Sequence[Poly | Node]) -> list[Node]:
    return [index for index in at if not isinstance(index, Poly)]


def _block(block: Block, values: Mapping[Symbol, int]) -> Tally:
    return _all(Counter(), (*(node for _, node in block.bindings), block.result), values)


def _shape(shape: Sequence[Poly], values: Mapping[Symbol, int]) -> list[int]:
    return [evaluate(extent, values) for extent in shape]


def _steps(node: Build | Fold, values: Mapping[Symbol, int]) -> Iterator[Mapping[Symbol, int]]:
    for at in product(*(range(1, extent + 1) for extent in _shape(node.extents, values))):
        yield {**values, **dict(zip(node.coords, at, strict=True))}


def _relay(shape: list[int]) -> Tally:
    if not shape:
        return Counter()
    volume = prod(shape)
    embeds = sum(prod(shape[j:]) for j in range(1, len(shape)))
    return Counter({("member",): volume, ("join",): max(volume - 1, 0), ("embed",): embeds})


def _relays(node: Node, values: Mapping[Symbol, int]) -> Tally:
    tally: Tally = Counter()
    for part in node.type:
        tally.update(_relay(_shape(part.shape, values)))
    if len(node.type) > 1 and any(part.shape for part in node.type):
        tally.update({("member",): len(node.type), ("join",): len(node.type) - 1})
    return tally


def _build(node: Build, values: Mapping[Symbol, int]) -> Tally:
    tally: Tally = Counter()
    for inner in _steps(node, values):
        tally.update(_block(node.body, inner))
    extents = _shape(node.extents, values)
    if all(not part.shape for part in node.body.result.type):
        assembled = _relay(extents)
        assembled.pop(("member",), None)
        tally.update(assembled)
        return tally
    for part in node.body.result.type:
        tally.update(_relay(extents + _shape(part.shape, values)))
    if len(node.type) > 1:
        shaped = sum(bool(part.shape) for part in node.body.result.type)
        tally.update({("member",): shaped * prod(extents), ("join",): len(node.type) - 1})
    return tally
