"""What ONNX itself says of its operators: which inputs, outputs and attributes a node may have, and bodies.

This is the one place besides the reader that speaks protobuf: onnx builds bodies that depend on a node.
Nodes are held to the schema of their operator before onnx is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import onnx
from onnx import AttributeProto, FunctionProto, TypeProto, helper, numpy_helper

from tolcost.algebra import Poly
from tolcost.catalogue.graph import Attribute, GraphNode, ModelFunction, Weight
from tolcost.catalogue.reading import function_of
from tolcost.catalogue.types import CODE_OF_SPACE
from tolcost.elaborate.values import Vec

TensorType = tuple[str, tuple[int | None, ...]]
"""The space of a tensor, and its lengths where they are numbers."""


def onnx_version() -> str:
    """The version of the installed onnx."""
    return str(onnx.__version__)


def schema_of(node: GraphNode, opset: int | None) -> onnx.defs.OpSchema | None:
    """The schema of a node's operator; None where ONNX has no such operator."""
    newest = onnx.defs.onnx_opset_version() if not node.domain else 1
    try:
        return onnx.defs.get_schema(node.op, opset or newest, node.domain)
    except (onnx.defs.SchemaError, TypeError):
        return None


def fits(node: GraphNode, schema: onnx.defs.OpSchema) -> bool:
    """Whether a node has inputs, outputs and attributes as its schema says."""
    if not schema.min_input <= len(node.inputs) <= schema.max_input:
        return False
    if not schema.min_output <= len(node.outputs) <= schema.max_output:
        return False
    given = {**node.attributes, **node.graphs}
    declared = schema.attributes
    if any(
        name not in declared or not _is_of(value, declared[name]) for name, value in node.attributes.items()
    ):
        return False
    return all(name in given for name, a in declared.items() if a.required)


def _is_of(value: Attribute, declared: onnx.defs.OpSchema.Attribute) -> bool:
    """Whether an attribute is of the kind that a schema declares."""
    kinds = onnx.defs.OpSchema.AttrType
    match declared.type:
        case kinds.INT:
            return isinstance(value, Poly)
        case kinds.FLOAT:
            return isinstance(value, Fraction | float)
        case kinds.STRING:
            return isinstance(value, str)
        case kinds.INTS:
            return isinstance(value, Vec) and all(isinstance(item, Poly) for item in value.items)
        case kinds.FLOATS:
            return isinstance(value, Vec) and all(isinstance(item, Fraction | float) for item in value.items)
        case kinds.STRINGS:
            return isinstance(value, Vec) and all(isinstance(item, str) for item in value.items)
        case kinds.TENSOR:
            return isinstance(value, Weight) and value.nonzero is None
        case kinds.SPARSE_TENSOR:
            return isinstance(value, Weight) and value.nonzero is not None
        case _:
            return False


# ---- bodies ------------------------------------------------------------------------------


def body_of(
    node: GraphNode, opset: int | None, types: Sequence[TensorType | None] | None
) -> ModelFunction | None:
    """The body that ONNX defines for an operator; None without one.

    ``types`` are those of its inputs, None for one left out; they are None where one is not known.
    """
    schema = schema_of(node, opset)
    if schema is None or not fits(node, schema):
        return None
    if schema.has_function:  # type: ignore[attr-defined]  # the stubs of onnx lack it
        return function_of(schema.function_body)
    if schema.has_context_dependent_function and types is not None:  # type: ignore[attr-defined]
        return _built(node, schema, types)
    return None


def _built(
    node: GraphNode, schema: onnx.defs.OpSchema, types: Sequence[TensorType | None]
) -> ModelFunction | None:
    made = helper.make_node(node.op, node.inputs, node.outputs, node.name, domain=node.domain)
    made.attribute.extend(
        _proto(name, value, schema.attributes[name]) for name, value in node.attributes.items()
    )
    known = [_type(item).SerializeToString() for item in types]
    try:
        raw = schema.get_context_dependent_function(made.SerializeToString(), known)  # type: ignore[attr-defined]
    except (RuntimeError, ValueError, TypeError):
        return None
    proto = FunctionProto.FromString(raw)
    return function_of(proto) if proto.node else None


def _proto(name: str, value: Attribute, declared: onnx.defs.OpSchema.Attribute) -> AttributeProto:
    return helper.make_attribute(name, _plain(value), attr_type=int(declared.type))  # type: ignore[call-overload]


def _plain(value: object) -> object:
    """An attribute as onnx's helper takes it."""
    match value:
        case Poly():
            return value.constant
        case Fraction():
            return float(value)
        case Vec(items=items):
            return [_plain(item) for item in items]
        case Weight():
            return numpy_helper.from_array(value.array(), value.name)
        case _:
            return value


def _type(known: TensorType | None) -> TypeProto:
    """The type of a tensor as onnx writes it; lengths that are not numbers stay open."""
    kind = TypeProto()
    if known is None:
        return kind
    space, shape = known
    kind.tensor_type.elem_type = CODE_OF_SPACE[space]
    for d in shape:
        place = kind.tensor_type.shape.dim.add()
        if d is not None:
            place.dim_value = d
    return kind
