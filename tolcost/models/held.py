"""What graphs inside of nodes and functions of a model hold, and which values they use as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tolcost.catalogue.binding import takes
from tolcost.catalogue.graph import Body, Graph, GraphNode, Model, Weight
from tolcost.catalogue.specs import Library
from tolcost.models.functions import Functions

Opsets = Mapping[str, int]


class Inner:
    """A look into the nodes of one model; every function is looked into once."""

    def __init__(self, model: Model, library: Library) -> None:
        """Start with nothing seen."""
        self._library = library
        self._functions = Functions(model.functions, model.opsets)
        self._opsets = model.opsets
        self._used: dict[int, frozenset[str]] = {}
        self._static: dict[tuple[str, str, int, int | None], tuple[bool, ...]] = {}

    # ---- what is used as data ----

    def taken(self, node: GraphNode) -> Iterator[str]:
        """The names that a node uses as data, by itself and in graphs inside; others only decide shapes."""
        return self._taken(node, self._opsets)

    def _taken(self, node: GraphNode, opsets: Opsets) -> Iterator[str]:
        for name, static in zip(node.inputs, self._demanded(node, opsets), strict=False):
            if not static:
                yield name
        for graph in node.graphs.values():
            yield from self._names(graph.nodes, graph.outputs, opsets)

    def _names(self, nodes: Sequence[GraphNode], outputs: Iterable[str], opsets: Opsets) -> frozenset[str]:
        """The names that nodes use as data, from what they give backwards."""
        wanted = set(outputs)
        for node in reversed(nodes):
            if not wanted.isdisjoint(node.outputs):
                wanted.update(self._taken(node, opsets))
        return frozenset(wanted)

    def _demanded(self, node: GraphNode, opsets: Opsets) -> tuple[bool, ...]:
        """For each input of a node, whether its operator must know it while compiling."""
        body, count = self._functions.body_of(node), len(node.inputs)
        if body is not None:
            used = self._in_body(body, opsets)
            known = tuple(name not in used for name in body.inputs)
        else:
            known = self._by_spec(node.domain, node.op, count, opsets.get(node.domain))
        return (*known, *[False] * (count - len(known)))

    def _in_body(self, body: Body, opsets: Opsets) -> frozenset[str]:
        key = id(body.nodes)
        if key not in self._used:
            self._used[key] = frozenset(body.inputs)  # of a function that calls itself nothing is told
            self._used[key] = self._names(body.nodes, body.outputs, {**opsets, **body.opsets})
        return self._used[key]

    def _by_spec(self, domain: str, op: str, count: int, version: int | None) -> tuple[bool, ...]:
        key = (domain, op, count, version)
        if key not in self._static:
            spec = self._library.find(domain, op, version)
            self._static[key] = tuple(f.kind == "static" for f in takes(spec, count)) if spec else ()
        return self._static[key]

    # ---- what is held ----

    def weights(self, nodes: Iterable[GraphNode]) -> Iterator[tuple[Weight, ...]]:
        """For each node the weights of graphs inside and functions it calls, where no node before has them.

        Of those small enough to decide a shape, these are the ones that are used as data; a number of no
        dimension is a part of the formula.
        """
        seen: set[int] = set()
        for node in nodes:
            yield tuple(self._held_by(node, self._opsets, seen)) if self._has_inside(node) else ()

    def _has_inside(self, node: GraphNode) -> bool:
        return bool(node.graphs) or self._functions.called(node) is not None

    def _held_by(self, node: GraphNode, opsets: Opsets, seen: set[int]) -> Iterator[Weight]:
        body = self._functions.body_of(node)
        if body is not None and id(body.nodes) not in seen:
            seen.add(id(body.nodes))
            within = Graph("", (), {}, body.nodes, body.outputs)
            yield from self._held_in(within, {**opsets, **body.opsets}, seen)
        for graph in node.graphs.values():
            yield from self._held_in(graph, opsets, seen)

    def _held_in(self, graph: Graph, opsets: Opsets, seen: set[int]) -> Iterator[Weight]:
        used = self._names(graph.nodes, graph.outputs, opsets)
        nodes = ((node.outputs[0], node.held) for node in graph.nodes if node.held is not None)
        for name, weight in (*graph.weights.items(), *nodes):
            if id(weight) in seen:  # a function with other attributes holds what it did
                continue
            if weight.value is None or (weight.shape and name in used):
                seen.add(id(weight))
                yield weight
        for node in graph.nodes:
            yield from self._held_by(node, opsets, seen)
