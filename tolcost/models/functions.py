"""The functions of one model, for nodes that call them and for graphs inside of nodes that do."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import count

from onnx import NodeProto

from tolcost.catalogue.graphs import Body
from tolcost.models.bodies import resolved_nodes
from tolcost.models.inner import lighter_nodes
from tolcost.models.model import Function, FunctionKey, Step, Weight
from tolcost.models.reading import domain_of


class Functions:
    """The functions of one model; equal to nothing but itself, so that it can be part of a key."""

    def __init__(self, given: Mapping[FunctionKey, Function]) -> None:
        """Start with those of the model; bodies that ONNX defines come when they are needed."""
        self.given = given
        self.bodies: list[Function] = []
        self.steps: dict[tuple[object, ...], tuple[Step, ...]] = {}
        self.walked = 0
        self.overloaded = any(overload for _, _, overload in given)
        self._resolved: dict[tuple[FunctionKey, bytes], Body] = {}

    @cached_property
    def _light(self) -> tuple[Mapping[FunctionKey, tuple[NodeProto, ...]], Mapping[str, Weight]]:
        """The nodes of all functions without the weights they hold, and these by names that no file has."""
        weights: dict[str, Weight] = {}
        serial = (f"weight of a function {n}" for n in count(1))
        nodes = {
            key: lighter_nodes(function.nodes, function.outputs, weights, serial)
            for key, function in self.given.items()
        }
        return nodes, weights

    @property
    def weights(self) -> Mapping[str, Weight]:
        """The weights that functions hold, for graphs that call them."""
        return self._light[1] if self.given else {}

    def body_of(self, call: NodeProto) -> Body | None:
        """The body of the function that a node of a graph calls; None where it calls none."""
        key = (domain_of(call.domain), call.op_type, call.overload)
        function = self.given.get(key)
        if function is None:
            return None
        attributes = b"".join(a.SerializeToString() for a in call.attribute)
        if (key, attributes) not in self._resolved:
            nodes = resolved_nodes(self._light[0][key], function.attributes, call)
            self._resolved[key, attributes] = Body(function.inputs, nodes, function.outputs, function.opsets)
        return self._resolved[key, attributes]
