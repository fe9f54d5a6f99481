"""Parts of a graph: which nodes some of its values need, and what goes into those from outside."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from onnx import AttributeProto, GraphProto, NodeProto

from tolcost.catalogue.graphs import free_names


@dataclass(frozen=True, slots=True)
class Slice:
    """The nodes that some values of a graph need, in order; ``outside`` is what none of them gives."""

    nodes: tuple[NodeProto, ...]
    outside: frozenset[str]


def uses(node: NodeProto) -> Iterator[str]:
    """The names that a node uses, those in graphs inside of it included."""
    yield from filter(None, node.input)
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield from free_names(attribute.g)


def slice_of(graph: GraphProto, names: Iterable[str], given: Collection[str] = ()) -> Slice:
    """What some values of a graph need, where some are given; tensors that it holds come from inside."""
    wanted, kept = set(names), []
    for node in reversed(graph.node):
        if not wanted.isdisjoint(node.output) and not set(node.output) <= set(given):
            kept.append(node)
            wanted.update(uses(node))
    inside = {name for node in kept for name in node.output} | {tensor.name for tensor in graph.initializer}
    return Slice(tuple(reversed(kept)), frozenset(wanted - inside))


def graph_of(graph: GraphProto, names: Iterable[str], given: Collection[str] = ()) -> GraphProto:
    """The part of a graph that gives some of its values, as a graph that sees all else around it."""
    wanted = tuple(names)
    made = GraphProto(name=graph.name)
    made.node.extend(slice_of(graph, wanted, given).nodes)
    made.initializer.extend(graph.initializer)
    for name in wanted:
        made.output.add(name=name)
    return made
