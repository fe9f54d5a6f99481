"""What is computed inside of branches: onnxruntime shows values of the main graph only, so branches go there.

In a copy of a model, every If is replaced by the branch it takes, until none is left; after every Loop comes
one of its turns.  That is first done as the input decides; then, for each side that was not taken, once more
with that side forced and nothing after it.  Values go by their place: the first output of the node, the name
of its graph, and so on, and their name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort  # type: ignore[import-untyped]
from model_loops import SINGLE, Shape, forget_shapes, opened
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

SIDES = ("then_branch", "else_branch")

Array = np.ndarray[Any, Any]
Feeds = Mapping[str, Array]
Place = tuple[str, ...]


@dataclass
class Observed:
    """Values in branches by place; the sides that were seen, and those that fail when forced, with why.

    ``decided`` are the branches that were decided, with the name of the condition; ``by_data`` those of
    them whose condition depends on more than the lengths of the input.  ``changing`` are the values of a
    loop's body that do not have the same shape at each of its turns, ``single`` those which have one entry
    all the same.
    """

    values: dict[Place, object] = field(default_factory=dict)
    sides: set[Place] = field(default_factory=set)
    failed: dict[Place, str] = field(default_factory=dict)
    decided: dict[Place, str] = field(default_factory=dict)
    by_data: set[Place] = field(default_factory=set)
    changing: set[Place] = field(default_factory=set)
    single: set[Place] = field(default_factory=set)


@dataclass
class Flat:
    """A copy of a model; ``places`` are those of its values that came out of branches."""

    proto: ModelProto
    places: dict[str, Place] = field(default_factory=dict)
    loops: set[Place] = field(default_factory=set)
    steady: dict[Place, Shape] = field(default_factory=dict)

    def open_loops(self, feeds: Feeds) -> None:
        """Put a turn after each loop of the main graph that has none yet."""
        for node in [node for node in self.proto.graph.node if node.op_type == "Loop" and not node.domain]:
            place = self.place(next(filter(None, node.output)))
            if place in self.loops or "::before" in node.name:
                continue
            self.loops.add(place)
            inner = (*place, "body")
            found = opened(
                node, "::".join(inner), renamed, lambda *more: _run(self, more[2], feeds, *more[:2])
            )
            if found is None:
                continue
            at = list(self.proto.graph.node).index(node) + 1
            for n, new in enumerate(found.nodes):
                self.proto.graph.node.insert(at + n, new)
            self.proto.graph.initializer.extend(found.tensors)
            self.places.update((new, (*inner, name)) for name, new in found.names.items())
            self.steady.update(((*inner, name), shape) for name, shape in found.shapes.items())

    def waiting(self) -> list[tuple[Place, NodeProto]]:
        """The branches of the main graph that are still to be decided, each with its place."""
        found = [node for node in self.proto.graph.node if node.op_type == "If" and not node.domain]
        return [(self.place(next(filter(None, node.output))), node) for node in found]

    def place(self, name: str) -> Place:
        """Where a value was, by its name now."""
        return self.places.get(name, (name,))

    def take(self, sides: Mapping[Place, str], last: Place | None) -> None:
        """Replace the branches by the side they take; leave out everything after the ``last`` of them."""
        graph = self.proto.graph
        ends = next((node for place, node in self.waiting() if place == last), None)
        made: list[NodeProto] = []
        for node in graph.node:
            place = self.place(next(filter(None, node.output), ""))
            made += self._inlined(node, (*place, sides[place])) if place in sides else [node]
            if node is ends:
                break
        kept = [onnx.NodeProto.FromString(node.SerializeToString()) for node in made]
        del graph.node[:]
        graph.node.extend(kept)

    def _inlined(self, node: NodeProto, side: Place) -> Iterable[NodeProto]:
        branch = next(a.g for a in node.attribute if a.name == side[-1])
        names: dict[str, str] = {}
        for name in defined(branch):
            names[name] = "::".join((*side, name))
            self.places[names[name]] = (*side, name)
        for tensor in branch.initializer:
            self.proto.graph.initializer.add().CopyFrom(tensor)
            self.proto.graph.initializer[-1].name = names[tensor.name]
        yield from (renamed(inner, names) for inner in branch.node)
        for inner, outer in zip(branch.output, node.output, strict=True):
            yield onnx.helper.make_node("Identity", [names.get(inner.name, inner.name)], [outer])


def has_graphs(proto: ModelProto) -> bool:
    return any(a.type == AttributeProto.GRAPH for node in proto.graph.node for a in node.attribute)


def defined(graph: GraphProto) -> set[str]:
    held = {tensor.name for tensor in graph.initializer}
    return held | {name for node in graph.node for name in node.output if name}


def renamed(node: NodeProto, names: Mapping[str, str]) -> NodeProto:
    """A node with other names for values, wherever it or a graph inside of it mentions them."""
    made = NodeProto()
    made.CopyFrom(node)
    made.input[:] = [names.get(name, name) for name in node.input]
    made.output[:] = [names.get(name, name) for name in node.output]
    for attribute in made.attribute:
        if attribute.type == AttributeProto.GRAPH:
            own = defined(attribute.g) | {given.name for given in attribute.g.input}
            outer = {name: new for name, new in names.items() if name not in own}
            nodes = [renamed(inner, outer) for inner in attribute.g.node]
            del attribute.g.node[:]
            attribute.g.node.extend(nodes)
            for output in attribute.g.output:
                output.name = outer.get(output.name, output.name)
    return made


def session_of(proto: ModelProto, names: Iterable[str]) -> ort.InferenceSession:
    """The model with values of these names as outputs, run as it stands."""
    there = {output.name for output in proto.graph.output}
    proto.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in there)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def _run(
    flat: Flat,
    names: list[str],
    feeds: Feeds,
    nodes: Iterable[NodeProto] = (),
    tensors: Iterable[TensorProto] = (),
) -> dict[str, object]:
    """Values of the main graph, with more in it; Identity stands for those that may be inputs or held."""
    if not names:
        return {}
    proto = ModelProto()
    proto.CopyFrom(flat.proto)
    del proto.graph.output[:], proto.graph.value_info[:]
    proto.graph.node.extend(nodes)
    proto.graph.initializer.extend(tensors)
    shown = [f"shown::{name}" for name in names]
    identities = (onnx.helper.make_node("Identity", [a], [b]) for a, b in zip(names, shown, strict=True))
    proto.graph.node.extend(identities)
    runtime = session_of(proto, shown)
    wanted = {given.name for given in runtime.get_inputs()}
    arrays = runtime.run(shown, {name: array for name, array in feeds.items() if name in wanted})
    return dict(zip(names, arrays, strict=True))


def _flattened(proto: ModelProto, feeds: Feeds, forced: Mapping[Place, str], target: Place) -> Observed:
    """Run a model with its branches in the main graph: forced ones as they are, the rest as they decide.

    With a target, everything after it is left out, and only what is inside of it is told.
    """
    flat = Flat(ModelProto())
    flat.proto.CopyFrom(proto)
    forget_shapes(flat.proto.graph)
    seen = Observed()
    flat.open_loops(feeds)
    while waiting := flat.waiting():
        last = next((place for place, _ in waiting if _within(target, place)), None)
        count = [place for place, _ in waiting].index(last) + 1 if last is not None else len(waiting)
        conditions = {place: node.input[0] for place, node in waiting[:count]}
        open_ = {name for place, name in conditions.items() if place not in forced}
        values = _run(flat, sorted(open_), feeds) if open_ else {}
        sides = {place: forced.get(place) or _side(values[name]) for place, name in conditions.items()}
        flat.take(sides, last)
        flat.open_loops(feeds)
        seen.sides |= {(*place, side) for place, side in sides.items()}
        seen.decided.update(conditions)
    nodes = [node for node in flat.proto.graph.node if node.op_type != "Constant"]
    inner = [n for node in nodes for n in node.output if n in flat.places and _within(flat.places[n], target)]
    seen.values = {flat.places[name]: value for name, value in _run(flat, inner, feeds).items()}
    seen.single = {place for place in seen.values if flat.steady.get(place) == SINGLE}
    seen.changing = {
        place for place in seen.values if _changes(flat, place, seen.values[place])
    } - seen.single
    seen.sides = {side for side in seen.sides if _within(side, target)}
    data = of_data(flat.proto.graph)
    seen.by_data = {place for place, name in seen.decided.items() if name in data}
    return seen


def _changes(flat: Flat, place: Place, value: object) -> bool:
    """Whether a value of a loop's body has another shape at another turn."""
    in_loop = place[:-2] in flat.loops and isinstance(value, np.ndarray)
    return in_loop and flat.steady.get(place) != np.shape(np.asarray(value))


def _side(condition: object) -> str:
    return SIDES[0] if np.asarray(condition).all() else SIDES[1]


def _within(place: Place, outer: Place) -> bool:
    return place[: len(outer)] == outer


def of_data(graph: GraphProto) -> set[str]:
    """The values that depend on the elements of the inputs, and not on their lengths alone."""
    held = {tensor.name for tensor in graph.initializer}
    found = {given.name for given in graph.input} - held
    for node in graph.node:
        if node.op_type not in ("Shape", "Size") and not found.isdisjoint(node.input):
            found.update(filter(None, node.output))
    return found


def inner_values(proto: ModelProto, feeds: Feeds, wanted: set[Place]) -> Observed:
    """All values in branches, as the input decides; other sides are forced.

    That is, those that data may decide for, and those wanted besides.
    """
    seen = _flattened(proto, feeds, {}, ())
    while True:
        others = {(*side[:-1], SIDES[side[-1] == SIDES[0]]) for side in seen.sides}
        may = {side for side in others if side[:-1] in seen.by_data or side in wanted}
        left = sorted(may - seen.sides - seen.failed.keys())
        if not left:
            return seen
        side = left[0]
        try:
            more = _flattened(proto, feeds, {side[:n]: side[n] for n in range(1, len(side), 2)}, side)
        except Exception as error:  # whatever a branch does that was never meant for this input
            seen.failed[side] = str(error)
            continue
        seen.values.update(more.values)
        seen.sides |= more.sides | {side}
        seen.by_data |= more.by_data
        seen.changing |= more.changing
        seen.single |= more.single
