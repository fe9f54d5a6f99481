"""Weights of graphs inside nodes: taken out, so that a loop or a branch sees them as data around it.

Names of one branch may be used again in another, so what is taken out gets a name that no file has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import count

from onnx import AttributeProto, GraphProto, NodeProto, TensorProto

from tolcost.models.model import Weight
from tolcost.models.reading import weight_of


def without_weights(node: NodeProto) -> tuple[NodeProto, dict[str, Weight]]:
    """A node whose graphs hold small constants only, and the weights they hold otherwise, by new names."""
    taken: dict[str, Weight] = {}
    return _node(node, {}, taken, (f"weight {n}" for n in count(1))), taken


def inner_weights(node: NodeProto) -> Iterator[Weight]:
    """The weights that graphs inside of a node hold."""
    yield from without_weights(node)[1].values()


def _node(
    node: NodeProto, names: Mapping[str, str], taken: dict[str, Weight], serial: Iterator[str]
) -> NodeProto:
    made = NodeProto(op_type=node.op_type, domain=node.domain, name=node.name, overload=node.overload)
    made.input.extend(names.get(name, name) for name in node.input)
    made.output.extend(node.output)
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH and not attribute.ref_attr_name:
            made.attribute.add(name=attribute.name, type=AttributeProto.GRAPH).g.CopyFrom(
                _graph(attribute.g, names, taken, serial)
            )
        else:
            made.attribute.add().CopyFrom(attribute)
    return made


def lighter_nodes(
    nodes: Iterable[NodeProto], outputs: Collection[str], taken: dict[str, Weight], serial: Iterator[str]
) -> tuple[NodeProto, ...]:
    """Nodes of a function without the weights they hold, except what the function gives."""
    names: dict[str, str] = {}
    kept: list[NodeProto] = []
    for node in nodes:
        held = _held(node)
        if held is None or node.output[0] in outputs or not _take(held, node.output[0], names, taken, serial):
            kept.append(_node(node, names, taken, serial))
    return tuple(kept)


def _graph(
    graph: GraphProto, around: Mapping[str, str], taken: dict[str, Weight], serial: Iterator[str]
) -> GraphProto:
    own = {given.name for given in graph.input} | {name for node in graph.node for name in node.output}
    names = {name: new for name, new in around.items() if name not in own}
    made = GraphProto(name=graph.name)
    made.input.extend(graph.input)
    for tensor in graph.initializer:
        if not _take(tensor, tensor.name, names, taken, serial):
            made.initializer.add().CopyFrom(tensor)
    for node in graph.node:
        held = _held(node)
        if held is None:
            made.node.add().CopyFrom(_node(node, names, taken, serial))
        elif not _take(held, node.output[0], names, taken, serial):
            made.initializer.add().CopyFrom(held)
            made.initializer[-1].name = node.output[0]
    for output in graph.output:
        made.output.add(name=names.get(output.name, output.name))
    return made


def _held(node: NodeProto) -> TensorProto | None:
    if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    return attribute.t if attribute.name == "value" and attribute.HasField("t") else None


def _take(
    tensor: TensorProto, name: str, names: dict[str, str], taken: dict[str, Weight], serial: Iterator[str]
) -> bool:
    """Take a tensor out if it is a weight, and remember its new name."""
    weight = weight_of(tensor)
    if weight.value is not None:
        return False
    names[name] = f"{next(serial)} {name}"
    taken[names[name]] = weight
    return True
