"""What is computed inside of loops: a turn of the body goes to the main graph, where values can be seen.

That is the second turn where there is one: what is special about the first is over by then.  A copy of the
loop besides gives the shapes of all values of its body at all of its turns, to see that they are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

Show = Callable[[list[NodeProto], list[TensorProto], list[str]], dict[str, object]]
"""Values of the main graph with more nodes and more tensors in it."""

Shape = tuple[int, ...]

SINGLE: Shape = (-1,)
"""No shape: one entry, but not always of the same rank."""


@dataclass(frozen=True)
class Opened:
    """A turn of a loop: nodes and tensors to put after the loop, and what the body computes there.

    ``shapes`` are the shapes that values of the body have at all turns; those with several are not there.
    ``SINGLE`` is that of a single entry which is a scalar at some turns, and a vector at others.
    """

    nodes: list[NodeProto]
    tensors: list[TensorProto]
    names: Mapping[str, str]
    shapes: Mapping[str, Shape]


def opened(
    loop: NodeProto, prefix: str, inline: Callable[[NodeProto, Mapping[str, str]], NodeProto], show: Show
) -> Opened | None:
    """A turn of a loop as part of the main graph; None where the loop takes none."""
    body = next(a.g for a in loop.attribute if a.name == "body")
    turns = _turns(loop, prefix, show)
    if not turns:
        return None
    before = [] if turns == 1 else [_loop(loop, f"{prefix}::before", limit=f"{prefix}::1")]
    carried = list(loop.input[2:]) if turns == 1 else list(before[0].output[: len(loop.input) - 2])
    own = {name: f"{prefix}::{name}" for name in _defined(body)}
    given = (f"{prefix}::{min(turns - 1, 1)}", f"{prefix}::true", *carried)
    names = own | {place.name: name for place, name in zip(body.input, given, strict=True)}
    tensors = _numbers(prefix)
    for tensor in body.initializer:
        tensors.append(TensorProto.FromString(tensor.SerializeToString()))
        tensors[-1].name = names[tensor.name]
    nodes = [*before, *(inline(node, names) for node in body.node)]
    return Opened(nodes, tensors, own, dict(_steady(loop, prefix, list(_computed(body)), show)))


def forget_shapes(graph: GraphProto) -> None:
    """Forget what a file says of the shapes of values inside of nodes: it need not hold at each turn."""
    for node in graph.node:
        carried = 2 if node.op_type == "Loop" else 0
        for inner in (a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH):
            for place in (*inner.input[carried:], *inner.output[carried // 2 :]):
                if place.type.HasField("tensor_type"):
                    place.type.tensor_type.ClearField("shape")
            del inner.value_info[:]
            forget_shapes(inner)


def _numbers(prefix: str) -> list[TensorProto]:
    made = {"0": np.array(0), "1": np.array(1), "true": np.array(True)}
    return [numpy_helper.from_array(array, f"{prefix}::{name}") for name, array in made.items()]


def _defined(graph: GraphProto) -> set[str]:
    held = {tensor.name for tensor in graph.initializer}
    return held | {name for node in graph.node for name in node.output if name}


def _computed(graph: GraphProto) -> Iterator[str]:
    for node in graph.node:
        if node.op_type != "Constant":
            yield from filter(None, node.output)


def _loop(
    loop: NodeProto, prefix: str, limit: str = "", told: Mapping[str, NodeProto] | None = None
) -> NodeProto:
    """A copy of a loop with outputs of its own, perhaps another limit, and more values told at each turn."""
    made = NodeProto.FromString(loop.SerializeToString())
    body = next(a.g for a in made.attribute if a.name == "body")
    made.input[0] = limit or made.input[0]
    for name, node in (told or {}).items():
        body.node.append(node)
        body.output.append(onnx.ValueInfoProto(name=name))
    del made.output[:]
    made.output.extend(f"{prefix}::{n}" for n in range(len(body.output) - 1))
    made.name = prefix
    return made


def _told(loop: NodeProto, prefix: str, told: Mapping[str, NodeProto], show: Show) -> list[object]:
    """What the body of a loop tells besides, turn by turn."""
    copy = _loop(loop, f"{prefix}::copy", told=told)
    wanted = list(copy.output[len(copy.output) - len(told) :])
    return list(show([copy], [], wanted).values())


def _turns(loop: NodeProto, prefix: str, show: Show) -> int:
    body = next(a.g for a in loop.attribute if a.name == "body")
    (turns,) = _told(
        loop, prefix, {"told::turn": helper.make_node("Identity", [body.input[0].name], ["told::turn"])}, show
    )
    return len(np.asarray(turns))


def _steady(loop: NodeProto, prefix: str, names: list[str], show: Show) -> Iterator[tuple[str, Shape]]:
    """Values of the body that have one shape at all turns; those that have not are found by halves."""
    if not names:
        return
    told = {f"told::{name}": helper.make_node("Shape", [name], [f"told::{name}"]) for name in names}
    try:
        shapes = _told(loop, prefix, told, show)
    except Exception:  # a rank that changes, or no tensor
        if len(names) > 1:
            half = len(names) // 2
            yield from _steady(loop, prefix, names[:half], show)
            yield from _steady(loop, prefix, names[half:], show)
        elif _is_single(loop, prefix, names[0], show):
            yield names[0], SINGLE
        return
    for name, found in zip(names, shapes, strict=True):
        rows = {tuple(map(int, row)) for row in np.asarray(found)}
        if len(rows) == 1:
            yield name, rows.pop()


def _is_single(loop: NodeProto, prefix: str, name: str, show: Show) -> bool:
    """Whether a value of the body has one entry at all turns."""
    try:
        told = {"told::size": helper.make_node("Size", [name], ["told::size"])}
        return bool((np.asarray(_told(loop, prefix, told, show)[0]) == 1).all())
    except Exception:  # no tensor
        return False
