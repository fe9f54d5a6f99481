"""A node of a graph as our own type: names and attribute values, nothing of protobuf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from onnx import AttributeProto, GraphProto, NodeProto

from tolcost.catalogue.types import array_of, attribute_value, constant, dense
from tolcost.elaborate.values import Value


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """An operator applied in a graph.  An empty input or output name is one left out."""

    op: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Value]
    graphs: Mapping[str, GraphProto] = field(default_factory=dict)

    @property
    def asked(self) -> int:
        """How many outputs are asked for, up to the last one with a name."""
        return max((n for n, name in enumerate(self.outputs, start=1) if name), default=1)


def node_of(proto: NodeProto) -> Node:
    """Read a node; tensors among its attributes keep their element type."""
    values: dict[str, Value] = {}
    graphs: dict[str, GraphProto] = {}
    for attribute in proto.attribute:
        if attribute.type == AttributeProto.GRAPH:
            graphs[attribute.name] = attribute.g
            continue
        value = _value(attribute)
        if value is not None:
            values[attribute.name] = value
    return Node(
        op=proto.op_type,
        domain="" if proto.domain == "ai.onnx" else proto.domain,
        name=proto.name,
        inputs=tuple(proto.input),
        outputs=tuple(proto.output),
        attributes=values,
        graphs=graphs,
    )


def _value(attribute: AttributeProto) -> Value | None:
    if attribute.type == AttributeProto.SPARSE_TENSOR:
        return constant(dense(attribute.sparse_tensor))
    if attribute.type == AttributeProto.TENSOR:
        return constant(array_of(attribute.t))
    return attribute_value(attribute)
