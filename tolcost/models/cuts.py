"""Conditions that data decides in part: where a graph joins what data decides to what the turn decides.

Such a condition is a truth of the turn once the truths that data decides are put in.  Whichever they are,
it holds no longer than it does for the best of them; so that bounds the turns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product

import onnx
from onnx import GraphProto, NodeProto

from tolcost.models.slices import uses

_MOST_CUT = 2


def assignments(names: Collection[str]) -> Iterator[dict[str, bool]]:
    """All truths that some values may be."""
    for truths in product((True, False), repeat=len(names)):
        yield dict(zip(names, truths, strict=True))


def cut_of(body: GraphProto, name: str, known: Collection[str], moving: Collection[str]) -> tuple[str, ...]:
    """The truths that data decides and that a value depends on beside the turn; none where that is not so.

    ``known`` are the names of values that data does not decide, and ``moving`` those of them that the turn
    decides, before any node of the body.
    """
    still = set(known) - set(moving) | {tensor.name for tensor in body.initializer}
    moved, maker = set(moving), {out: node for node in body.node for out in node.output}
    for node in body.node:
        names = set(uses(node))
        if names <= still:
            still.update(node.output)
        elif names <= still | moved:
            moved.update(node.output)
    while (node := maker.get(name)) is not None:
        open_ = sorted(set(uses(node)) - still - moved)
        if not moved.isdisjoint(uses(node)):
            return tuple(open_) if len(open_) <= _MOST_CUT and _are_truths(node, open_) else ()
        if len(open_) != 1:
            return ()
        name = open_[0]
    return ()


def _are_truths(node: NodeProto, names: Collection[str]) -> bool:
    """Whether ONNX lets nothing but truths stand where a node has some names."""
    try:
        schema = onnx.defs.get_schema(node.op_type, node.domain)
    except onnx.defs.SchemaError:
        return False
    places = [min(n, len(schema.inputs) - 1) for n, name in enumerate(node.input) if name in names]
    inner = set(uses(node)) - set(node.input)
    return inner.isdisjoint(names) and all(set(schema.inputs[n].types) == {"tensor(bool)"} for n in places)
