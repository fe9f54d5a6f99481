"""The functions of one model, what they and graphs use as data, and a model without calls of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from msgspec.structs import replace

from tolcost.catalogue.graph import (
    Body,
    FunctionKey,
    Graph,
    GraphNode,
    Model,
    ModelFunction,
    Reference,
    Weight,
    first_output,
    free_names,
    held_in,
    met,
)
from tolcost.catalogue.operand_types import is_operator
from tolcost.catalogue.specs import Library

# === Values that nodes use as data, themselves or in nested graphs and functions.


Opsets = Mapping[str, int]


class Inner:
    """A memo of how the functions of one model use their inputs."""

    def __init__(self, functions: Functions, library: Library) -> None:
        """Start with an empty memo."""
        self._library = library
        self._functions = functions
        self._used: dict[int, frozenset[str]] = {}
        self._static: dict[tuple[str, str, int, int | None], tuple[bool, ...]] = {}

    def deciding(self, nodes: Sequence[GraphNode], outputs: Sequence[str], opsets: Opsets) -> frozenset[str]:
        """Return the outputs of nodes that are used, but never as data: they only determine shapes."""
        data, used, found = self._wanted(nodes, outputs, opsets), set(outputs), set[str]()
        for node in reversed(nodes):
            if not used.isdisjoint(node.outputs):
                used.update(node.inputs, node.free)
                found.update(node.outputs if data.isdisjoint(node.outputs) else ())
        return frozenset(found)

    def _wanted(self, nodes: Sequence[GraphNode], outputs: Iterable[str], opsets: Opsets) -> frozenset[str]:
        """Return the names that nodes use as data, from the outputs backwards; others only decide shapes."""
        found = set(outputs)
        for node in reversed(nodes):
            if not found.isdisjoint(node.outputs):
                found.update(self._taken(node, opsets))
        return frozenset(found)

    def _taken(self, node: GraphNode, opsets: Opsets) -> Iterator[str]:
        for name, static in zip(node.inputs, self.demanded(node, opsets), strict=False):
            if not static:
                yield name
        for graph in node.graphs.values():
            yield from self._wanted(graph.nodes, graph.outputs, opsets)

    def demanded(self, node: GraphNode, opsets: Opsets) -> tuple[bool, ...]:
        """Return for each input of a node whether its operator must know it at compile time."""
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
            self._used[key] = frozenset(body.inputs)  # in case the function calls itself
            self._used[key] = self._wanted(body.nodes, body.outputs, {**opsets, **body.opsets})
        return self._used[key]

    def _by_spec(self, domain: str, op: str, count: int, version: int | None) -> tuple[bool, ...]:
        key = (domain, op, count, version)
        if key not in self._static:
            spec = self._library.find(domain, op, version)
            self._static[key] = tuple(f.kind == "static" for f in met(spec.head.takes, count)) if spec else ()
        return self._static[key]


# === Functions.


class Functions:
    """The functions of one model, compared by identity, so that they can be part of a key."""

    def __init__(
        self, given: Mapping[FunctionKey, ModelFunction], opsets: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        """Take the functions of a model, except those named like an operator that ONNX defines."""
        self.given = {
            (domain, name, overload): function
            for (domain, name, overload), function in given.items()
            if not is_operator(domain, name, opsets.get(domain))
        }
        self.walked = 0
        self.overloaded = any(overload for _, _, overload in self.given)
        self._resolved: dict[tuple[ModelFunction, bytes], tuple[GraphNode, ...]] = {}

    @cached_property
    def weights(self) -> tuple[Weight, ...]:
        """The weights stored in functions, for graphs that call them."""
        nodes = (node for function in self.given.values() for node in function.nodes)
        return tuple(weight for node in nodes for weight in node.held_weights())

    def called(self, node: GraphNode) -> ModelFunction | None:
        """Return the function that a node calls; None if it calls none."""
        return self.given.get((node.domain, node.op, node.overload))

    def body_of(self, node: GraphNode) -> Body | None:
        """Return the body of the function that a node calls; None if it calls none."""
        function = self.called(node)
        if function is None:
            return None
        return Body(function.inputs, self.nodes(function, node), function.outputs, function.opsets)

    def nodes(self, function: ModelFunction, caller: GraphNode) -> tuple[GraphNode, ...]:
        """Return the nodes of a function, with attributes from its caller or their defaults."""
        key = (function, caller.key)
        if key not in self._resolved:
            given = {**function.attributes, **function.graphs, **caller.attributes, **caller.graphs}
            self._resolved[key] = tuple(_resolved(node, given, caller.key) for node in function.nodes)
        return self._resolved[key]


def _resolved(node: GraphNode, given: Mapping[str, object], key: bytes) -> GraphNode:
    """Replace a node's references to attributes of the function by their values."""
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
            attributes[name] = value  # type: ignore[assignment]  # attributes hold nothing else
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


# === Inlining.

_MOST_INLINED = 200_000
"""Nodes up to which calls are inlined: functions that call others twice double at every level."""


def inlined(model: Model) -> Model:
    """Return a model with the nodes of functions in the place of their calls.

    A call stays where its function calls itself, takes an operator in another version than the graph, or
    gives an input, or a value twice.
    """
    work = _Inlining(Functions(model.functions, model.opsets), dict(model.opsets))
    graph = model.graph
    work.taken.update(graph.weights, (given.name for given in graph.inputs))
    work.taken.update(name for node in graph.nodes for name in node.outputs)
    for node in graph.nodes:
        work.add(node, ())
    return replace(model, graph=replace(graph, nodes=tuple(work.nodes)), opsets=work.opsets)


class _Inlining:
    """The nodes so far, and the names that are taken."""

    def __init__(self, functions: Functions, opsets: dict[str, int]) -> None:
        self.functions = functions
        self.opsets = opsets
        self.nodes: list[GraphNode] = []
        self.taken: set[str] = set()

    def add(self, node: GraphNode, callers: tuple[ModelFunction, ...]) -> None:
        """Append a node, or those of the function that it calls."""
        function = self.functions.called(node)
        if function is None or function in callers or not self.fits(function):
            self.nodes.append(node)
            return
        own = first_output(node.outputs)
        names = dict(zip(function.inputs, (*node.inputs, *[""] * len(function.inputs)), strict=False))
        names |= {inner: name for inner, name in zip(function.outputs, node.outputs, strict=False) if name}
        path = (*node.path, node.name.split("/")[-1] or node.op)
        for inner in self.functions.nodes(function, node):
            for name in inner.outputs:
                if name and name not in names:
                    names[name] = self.fresh(f"{own}/{name}")
            moved = _renamed(inner, names)
            self.add(moved._replace(scope=(*path, *inner.path)), (*callers, function))

    def fits(self, function: ModelFunction) -> bool:
        """Whether the nodes of a function mean the same in the graph."""
        opsets = {**self.opsets, **function.opsets}
        uses = {domain for domain in _domains(function.nodes) if domain in opsets}
        if any(self.opsets.get(domain, opsets[domain]) != opsets[domain] for domain in uses):
            return False
        if len({*function.inputs, *function.outputs}) < len(function.inputs) + len(function.outputs):
            return False
        self.opsets |= {domain: opsets[domain] for domain in uses}
        return len(self.nodes) < _MOST_INLINED

    def fresh(self, name: str) -> str:
        """Return a name that is not taken, and take it."""
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return name


def _domains(nodes: Iterable[GraphNode]) -> Iterator[str]:
    for node in nodes:
        yield node.domain
        for graph in node.graphs.values():
            yield from _domains(graph.nodes)


def _renamed(node: GraphNode, names: Mapping[str, str]) -> GraphNode:
    """Return a node with other names for its tensors, and for what its graphs take from outside."""
    graphs = {key: _renamed_graph(graph, names) for key, graph in node.graphs.items()}
    inputs = tuple([names.get(name, name) for name in node.inputs])
    outputs = tuple([names.get(name, name) for name in node.outputs])
    if not graphs:
        return node._replace(inputs=inputs, outputs=outputs)
    free = free_names(graphs)
    key = node.key + b"\0" + "\0".join(free).encode()  # graphs that take other names are other attributes
    return node._replace(inputs=inputs, outputs=outputs, graphs=graphs, free=free, key=key)


def _renamed_graph(graph: Graph, names: Mapping[str, str]) -> Graph:
    free = {name: names[name] for name in graph.free if name in names}
    nodes = tuple(_renamed(node, free) for node in graph.nodes)
    return replace(graph, nodes=nodes, outputs=tuple(free.get(name, name) for name in graph.outputs))
