"""The functions of one model, for nodes that call them and for graphs inside of nodes that do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType

from tolcost.catalogue.graph import (
    Body,
    FunctionKey,
    Graph,
    GraphNode,
    ModelFunction,
    Reference,
    Weight,
    free_names,
    held_in,
)
from tolcost.catalogue.operand_types import is_operator


class Functions:
    """The functions of one model; equal to nothing but itself, so that it can be part of a key."""

    def __init__(
        self, given: Mapping[FunctionKey, ModelFunction], opsets: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """Start with those of a model; none takes the place of an operator that ONNX defines."""
        self.given = {key: function for key, function in given.items() if not _is_operator(key, opsets)}
        self.walked = 0
        self.overloaded = any(overload for _, _, overload in self.given)
        self._resolved: dict[tuple[ModelFunction, bytes], tuple[GraphNode, ...]] = {}

    @cached_property
    def weights(self) -> tuple[Weight, ...]:
        """The weights that functions hold, for graphs that call them."""
        nodes = (node for function in self.given.values() for node in function.nodes)
        return tuple(weight for node in nodes for weight in node.held_weights())

    def called(self, node: GraphNode) -> ModelFunction | None:
        """The function that a node calls; None where it calls none."""
        return self.given.get((node.domain, node.op, node.overload))

    def body_of(self, node: GraphNode) -> Body | None:
        """The body of the function that a node of a graph calls; None where it calls none."""
        function = self.called(node)
        if function is None:
            return None
        return Body(function.inputs, self.nodes(function, node), function.outputs, function.opsets)

    def nodes(self, function: ModelFunction, caller: GraphNode) -> tuple[GraphNode, ...]:
        """The nodes of a function, with the attributes that whoever calls it gives, or it has by itself."""
        key = (function, caller.key)
        if key not in self._resolved:
            given = {**function.attributes, **function.graphs, **caller.attributes, **caller.graphs}
            self._resolved[key] = tuple(_resolved(node, given, caller.key) for node in function.nodes)
        return self._resolved[key]


def _is_operator(key: FunctionKey, opsets: Mapping[str, int]) -> bool:
    return is_operator(*key[:2], opsets.get(key[0]))


def _resolved(node: GraphNode, given: Mapping[str, object], key: bytes) -> GraphNode:
    """A node whose references to attributes of the function are what they refer to."""
    references = {name: a.name for name, a in node.attributes.items() if isinstance(a, Reference)}
    inner = {name: _resolved_graph(graph, given, key) for name, graph in node.graphs.items()}
    if not references and all(inner[name] is graph for name, graph in node.graphs.items()):
        return node
    attributes = {name: a for name, a in node.attributes.items() if name not in references}
    for name, source in references.items():
        value = given.get(source)
        if isinstance(value, Graph):
            inner[name] = value
        elif value is not None:
            attributes[name] = value  # type: ignore[assignment]  # nothing else is among the attributes
    return node._replace(
        attributes=attributes,
        graphs=inner,
        free=free_names(inner),
        key=node.key + b"\0" + key,
        held=held_in(node.domain, node.op, attributes),
    )


def _resolved_graph(graph: Graph, given: Mapping[str, object], key: bytes) -> Graph:
    nodes = tuple(_resolved(node, given, key) for node in graph.nodes)
    same = all(a is b for a, b in zip(nodes, graph.nodes, strict=True))
    return graph if same else replace(graph, nodes=nodes)
