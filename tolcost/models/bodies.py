"""Bodies of functions: those a model defines, with their attributes put in, and those ONNX defines.

A body that ONNX has for an operator serves where there is no definition of it.  Nodes are checked
against the operator's schema before onnx is asked for a body that depends on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import onnx
from onnx import AttributeProto, FunctionProto, NodeProto, TypeProto

from tolcost.catalogue.types import CODE_OF_SPACE
from tolcost.models.known import Known, shape_of, space_of
from tolcost.models.model import Function, Step
from tolcost.models.reading import function_of, step_of


def resolved_steps(
    function: Function, caller: Step, done: dict[tuple[object, ...], tuple[Step, ...]]
) -> tuple[Step, ...]:
    """The nodes of a function's body, with the attributes that whoever calls it gives."""
    key = (id(function), caller.attributes)
    if key not in done:
        done[key] = tuple(map(step_of, resolved_nodes(function.nodes, function.attributes, caller.proto)))
    return done[key]


def resolved_nodes(
    nodes: Iterable[NodeProto], attributes: Mapping[str, AttributeProto | None], caller: NodeProto
) -> tuple[NodeProto, ...]:
    """Nodes of a body, with the attributes that whoever calls it gives, or the function by itself."""
    given = {name: a for name, a in attributes.items() if a is not None}
    given.update((a.name, a) for a in caller.attribute)
    return tuple(_resolved(node, given) for node in nodes)


def _resolved(node: NodeProto, given: Mapping[str, AttributeProto]) -> NodeProto:
    """A node whose references to attributes of the function are what they refer to."""
    if not any(a.ref_attr_name or a.type == AttributeProto.GRAPH for a in node.attribute):
        return node
    made = NodeProto()
    made.CopyFrom(node)
    del made.attribute[:]
    made.attribute.extend(_attributes(node.attribute, given))
    return made


def _attributes(
    attributes: Iterable[AttributeProto], given: Mapping[str, AttributeProto]
) -> Iterable[AttributeProto]:
    for attribute in attributes:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in given:
                made = AttributeProto()
                made.CopyFrom(given[attribute.ref_attr_name])
                made.name = attribute.name
                yield made
        elif attribute.type == AttributeProto.GRAPH:
            made = AttributeProto()
            made.CopyFrom(attribute)
            nodes = [_resolved(node, given) for node in attribute.g.node]
            del made.g.node[:]
            made.g.node.extend(nodes)
            yield made
        else:
            yield attribute


# ---- bodies that ONNX defines ------------------------------------------------------------


def body_of(step: Step, opset: int | None, known: Sequence[Known | None]) -> Function | None:
    """The body that ONNX defines for an operator, for what is known of its inputs; None without one."""
    try:
        newest = onnx.defs.onnx_opset_version() if not step.domain else 1
        schema = onnx.defs.get_schema(step.op, opset or newest, step.domain)
    except (onnx.defs.SchemaError, TypeError):
        return None
    if not _fits(step, schema):
        return None
    if schema.has_function:  # type: ignore[attr-defined]  # the stubs of onnx lack it
        return function_of(schema.function_body)
    if schema.has_context_dependent_function:  # type: ignore[attr-defined]
        return _built(step, schema, known)
    return None


def _fits(step: Step, schema: onnx.defs.OpSchema) -> bool:
    """Whether a node has inputs, outputs and attributes as its schema says."""
    if not schema.min_input <= len(step.inputs) <= schema.max_input:
        return False
    if not schema.min_output <= len(step.outputs) <= schema.max_output:
        return False
    given = {a.name: a.type for a in step.proto.attribute}
    declared = schema.attributes
    kinds = {name: int(a.type) for name, a in declared.items()}  # type: ignore[call-overload]
    if any(kinds.get(name) != kind for name, kind in given.items()):
        return False
    return all(name in given for name, a in declared.items() if a.required)


def _built(step: Step, schema: onnx.defs.OpSchema, known: Sequence[Known | None]) -> Function | None:
    types = [_type(item) for item in known]
    if any(kind is None for kind in types):
        return None
    node = step.proto.SerializeToString()
    try:
        known_types = [t.SerializeToString() for t in types if t is not None]
        raw = schema.get_context_dependent_function(node, known_types)  # type: ignore[attr-defined]
    except (RuntimeError, ValueError, TypeError):
        return None
    proto = FunctionProto.FromString(raw)
    return function_of(proto) if proto.node else None


def _type(known: Known | None) -> TypeProto | None:
    """The type of a tensor as onnx writes it; lengths that are not numbers stay open."""
    kind = TypeProto()
    if known is None:
        return kind
    space, shape = space_of(known), shape_of(known)
    if space not in CODE_OF_SPACE or shape is None:
        return None
    kind.tensor_type.elem_type = CODE_OF_SPACE[space]
    for d in shape:
        place = kind.tensor_type.shape.dim.add()
        if d.constant is not None:
            place.dim_value = d.constant
    return kind
