"""Graphs inside nodes: the body of a loop or a branch, as a function a definition can apply.

A graph becomes a function of its inputs whose result is the sequence of its outputs.  It is
elaborated where it is applied, node by node, each by the definition of its operator.  Names it
does not define are those of the graphs around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from onnx import GraphProto

from tolcost.catalogue.binding import bind
from tolcost.catalogue.nodes import Node, node_of
from tolcost.catalogue.specs import Library, Spec
from tolcost.catalogue.types import array_of, constant
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.elaborate.context import Env
from tolcost.elaborate.programs import apply_program
from tolcost.elaborate.values import Native, Seq, Value


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a graph inside a node can see: definitions, their versions, and values around it."""

    library: Library
    opsets: Mapping[str, int]
    values: Mapping[str, Value] = field(default_factory=dict)


def graph_functions(node: Node, around: Surroundings) -> dict[str, Value]:
    """The graphs of a node as functions, by the name of the attribute."""
    return {name: graph_function(name, graph, around) for name, graph in node.graphs.items()}


def graph_function(name: str, graph: GraphProto, around: Surroundings) -> Native:
    """A graph as a function of its inputs."""

    def run(env: Env, args: tuple[Value, ...]) -> Value:
        values: dict[str, Value] = dict(around.values)
        values.update((tensor.name, constant(array_of(tensor))) for tensor in graph.initializer)
        values.update((given.name, value) for given, value in zip(graph.input, args, strict=True))
        for proto in graph.node:
            _apply(env, node_of(proto), values, around)
        return Seq(tuple(_value(env, values, output.name) for output in graph.output))

    return Native(name, len(graph.input), run)


def free_names(graph: GraphProto) -> tuple[str, ...]:
    """The names a graph uses and does not define: they belong to the graphs around it."""
    defined = {given.name for given in graph.input} | {tensor.name for tensor in graph.initializer}
    free: dict[str, None] = {}
    for proto in graph.node:
        inner = (name for a in proto.attribute if a.HasField("g") for name in free_names(a.g))
        free.update(dict.fromkeys(name for name in (*proto.input, *inner) if name and name not in defined))
        defined.update(proto.output)
    free.update(dict.fromkeys(output.name for output in graph.output if output.name not in defined))
    return tuple(free)


def _apply(env: Env, node: Node, values: dict[str, Value], around: Surroundings) -> None:
    spec = _spec(node, around)
    inputs = [_value(env, values, name) if name else None for name in node.inputs]
    inside = Surroundings(around.library, around.opsets, values)
    given = bind(node, spec, inputs, graph_functions(node, inside))
    results = apply_program(env, spec.program, given, spec.library, node.asked)
    if len(results) == 1 and isinstance(results[0], Seq) and spec.outputs[0].variadic:
        results = results[0].items
    values.update((name, value) for name, value in zip(node.outputs, results, strict=False) if name)


def _spec(node: Node, around: Surroundings) -> Spec:
    spec = around.library.find(node.domain, node.op, around.opsets.get(node.domain))
    if spec is None:
        raise Rejected(Diagnostic("T0661", f"there is no definition of {quoted(node.op)}"))
    return spec


def _value(env: Env, values: Mapping[str, Value], name: str) -> Value:
    if name in values:
        return values[name]
    if name in env.context.around:
        return env.context.around[name]
    raise Rejected(Diagnostic("T0662", f"a graph uses {quoted(name)}, which nothing around it defines"))
