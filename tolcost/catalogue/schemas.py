"""ONNX's own knowledge of its operators: schemas of inputs, outputs and attributes, and function bodies.

``operand_types`` has the types that operators take, without loading onnx.

Besides the reader, only this module uses protobuf: onnx builds bodies that depend on a node.  Nodes are
checked against the schema of their operator before they reach onnx.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import onnx
from onnx import FunctionProto, TensorProto, TypeProto, helper, numpy_helper

from tolcost.algebra import Poly
from tolcost.catalogue.graph import GraphNode, ModelFunction, Weight
from tolcost.catalogue.operand_types import OperatorTypes, SchemaOperand, is_of_kind
from tolcost.catalogue.protobuf import attribute_value
from tolcost.catalogue.reading import function_of
from tolcost.catalogue.types import CODE_OF_SPACE
from tolcost.elaborate.values import Value, Vec

_TYPE_OF_SPACE = {
    space: f"tensor({TensorProto.DataType.Name(code).lower()})" for space, code in CODE_OF_SPACE.items()
}
"""The names in schemas of tensors of a space."""

_SPACE_OF_TYPE = {kind: space for space, kind in _TYPE_OF_SPACE.items()}

TensorType = tuple[str, tuple[int | None, ...]]
"""The space of a tensor, and its lengths, None where they are not numbers."""


def onnx_version() -> str:
    """Return the version of the installed onnx."""
    return str(onnx.__version__)


@cache
def _schema(op: str, domain: str, opset: int | None) -> onnx.defs.OpSchema | None:
    newest = onnx.defs.onnx_opset_version() if not domain else 1
    try:
        return onnx.defs.get_schema(op, opset or newest, domain)
    except (onnx.defs.SchemaError, TypeError):
        return None


def types_in_onnx(op: str, domain: str, opset: int | None) -> OperatorTypes | None:
    """Return the types of an operator in the installed onnx; None if onnx does not know it."""
    schema = _schema(op, domain, opset)
    return None if schema is None else types_of_schema(schema)


def types_of_schema(schema: onnx.defs.OpSchema) -> OperatorTypes:
    """Return the types of an operator in a schema."""
    attributes = {name: _kind_text(declared) for name, declared in schema.attributes.items()}
    return OperatorTypes(
        tuple(map(_operand, schema.inputs)), tuple(map(_operand, schema.outputs)), attributes
    )


def _operand(formal: onnx.defs.OpSchema.FormalParameter) -> SchemaOperand:
    types = tuple(sorted(_SPACE_OF_TYPE.get(kind, kind) for kind in formal.types))
    variadic = formal.option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    return SchemaOperand(formal.name, formal.type_str, types, variadic, not formal.is_homogeneous)


def attribute_defaults(node: GraphNode, opset: int | None) -> dict[str, Value]:
    """Return the default values of the attributes of a node's operator."""
    schema = _schema(node.op, node.domain, opset)
    found = {
        name: attribute_value(attribute.default_value)
        for name, attribute in (schema.attributes.items() if schema else ())
        if attribute.default_value.name
    }
    return {name: value for name, value in found.items() if value is not None}


def required_attributes(node: GraphNode, opset: int | None) -> set[str]:
    """Return the attributes that every node of the operator must have."""
    schema = _schema(node.op, node.domain, opset)
    return {name for name, attribute in schema.attributes.items() if attribute.required} if schema else set()


def fits(node: GraphNode, schema: onnx.defs.OpSchema) -> bool:
    """Whether a node has the inputs, outputs and attributes that its schema requires."""
    if not schema.min_input <= len(node.inputs) <= schema.max_input:
        return False
    if not schema.min_output <= len(node.outputs) <= schema.max_output:
        return False
    given = {**node.attributes, **node.graphs}
    declared = schema.attributes
    if any(
        name not in declared or not is_of_kind(value, _kind_text(declared[name]))
        for name, value in node.attributes.items()
    ):
        return False
    return all(name in given for name, a in declared.items() if a.required)


def _kind_text(declared: onnx.defs.OpSchema.Attribute) -> str:
    return str(declared.type).rpartition(".")[2].lower()


# ---- bodies ------------------------------------------------------------------------------


def body_of(
    node: GraphNode, opset: int | None, types: Sequence[TensorType | None] | None
) -> ModelFunction | None:
    """Return the body that ONNX defines for an operator; None if there is none.

    ``types`` are those of its inputs, None for an omitted input; ``types`` itself is None if one is unknown.
    """
    schema = _schema(node.op, node.domain, opset)
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
        helper.make_attribute(name, _plain(value), attr_type=int(schema.attributes[name].type))  # type: ignore[call-overload]
        for name, value in node.attributes.items()
    )
    known = [_type(item).SerializeToString() for item in types]
    try:
        raw = schema.get_context_dependent_function(made.SerializeToString(), known)  # type: ignore[attr-defined]
    except (RuntimeError, ValueError, TypeError):
        return None
    proto = FunctionProto.FromString(raw)
    return function_of(proto) if proto.node else None


def _plain(value: object) -> object:
    """Convert an attribute for onnx's helper."""
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
    """Convert a tensor's type to onnx's message; lengths that are not numbers stay open."""
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
