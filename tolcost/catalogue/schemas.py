"""What ONNX itself says of its operators: which inputs, outputs and attributes a node may have, and bodies.

Of domains that onnx does not know, ``schemas.json`` in the folder of the domain says the same, as recorded
from the run-time that has them.

This is the one place besides the reader that speaks protobuf: onnx builds bodies that depend on a node.
Nodes are held to the schema of their operator before onnx is asked.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NoReturn

import onnx
from onnx import AttributeProto, FunctionProto, TensorProto, TypeProto, helper, numpy_helper

from tolcost.algebra import Poly
from tolcost.catalogue.graph import (
    EMPTY_LIST,
    Attribute,
    GraphNode,
    ModelFunction,
    Reference,
    Weight,
    attribute_kind,
)
from tolcost.catalogue.protobuf import attribute_value
from tolcost.catalogue.reading import function_of
from tolcost.catalogue.specs import folder_of
from tolcost.catalogue.types import CODE_OF_SPACE
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.elaborate.values import Value, Vec
from tolcost.library import specs_root

_TYPE_OF_SPACE = {
    space: f"tensor({TensorProto.DataType.Name(code).lower()})" for space, code in CODE_OF_SPACE.items()
}
"""What schemas call tensors of a space."""

_SPACE_OF_TYPE = {kind: space for space, kind in _TYPE_OF_SPACE.items()}

TensorType = tuple[str, tuple[int | None, ...]]
"""The space of a tensor, and its lengths where they are numbers."""


def onnx_version() -> str:
    """The version of the installed onnx."""
    return str(onnx.__version__)


def schema_of(node: GraphNode, opset: int | None) -> onnx.defs.OpSchema | None:
    """The schema of a node's operator, as ONNX has it or as it was recorded; None where neither is there."""
    return _schema(node.op, node.domain, opset) or recorded_schema(node.domain, node.op)


@cache
def _schema(op: str, domain: str, opset: int | None) -> onnx.defs.OpSchema | None:
    newest = onnx.defs.onnx_opset_version() if not domain else 1
    try:
        return onnx.defs.get_schema(op, opset or newest, domain)
    except (onnx.defs.SchemaError, TypeError):
        return None


def is_operator(domain: str, name: str, opset: int | None) -> bool:
    """Whether ONNX itself defines an operator: no function of a model takes its place."""
    return _schema(name, domain, opset) is not None


def check_node(node: GraphNode, opset: int | None, spaces: Sequence[str | None]) -> None:
    """Refuse a node whose attributes or inputs are of types that its operator does not take.

    ``spaces`` are those of its inputs; what is no space of ONNX is not checked.  How many inputs there are,
    and which attributes, the definition says.
    """
    schema = schema_of(node, opset)
    if schema is None:
        return
    for name, value in node.attributes.items():
        declared = schema.attributes.get(name)
        if declared is not None and not isinstance(value, Reference) and not _is_of(value, declared):
            kind = _kind_text(declared)
            _refuse(f"the attribute {quoted(name)} of {node.shown} must be of type {kind}")
    bound: dict[str, str] = {}
    for formal, space in zip(_formals(schema.inputs, len(spaces)), spaces, strict=False):
        if space in _TYPE_OF_SPACE:
            _check_input(node, formal, space, bound)


def output_spaces(node: GraphNode, opset: int | None, spaces: Sequence[str | None]) -> list[str | None]:
    """The spaces of a node's outputs as its schema tells them from those of its inputs; None: it does not.

    What a definition makes of numbers that are known may be in no space of ONNX, or empty.
    """
    for graph in node.graphs.values():  # the outputs of a node are the last of those of its graphs
        told = [graph.declared[name].space or None for name in graph.outputs]
        return told[-len(node.outputs) :]
    schema = schema_of(node, opset)
    if schema is None:
        return [None] * len(node.outputs)
    met = zip(_formals(schema.inputs, len(spaces)), spaces, strict=False)
    bound = {f.type_str: s for f, s in met if f.is_homogeneous and s in _TYPE_OF_SPACE}
    given = _formals(schema.outputs, len(node.outputs))
    return [
        bound.get(f.type_str) or _only_space(f) if f.is_homogeneous else None
        for f in given[: len(node.outputs)]
    ]


def _only_space(formal: onnx.defs.OpSchema.FormalParameter) -> str | None:
    return _SPACE_OF_TYPE.get(next(iter(formal.types))) if len(formal.types) == 1 else None


def _check_input(
    node: GraphNode, formal: onnx.defs.OpSchema.FormalParameter, space: str, bound: dict[str, str]
) -> None:
    if _TYPE_OF_SPACE[space] not in formal.types:
        _refuse(f"{node.shown} does not take {space} as its input {quoted(formal.name)}")
    if formal.is_homogeneous and bound.setdefault(formal.type_str, space) != space:
        other = bound[formal.type_str]
        _refuse(f"{node.shown} takes inputs of one type, not {other} and {space} ({quoted(formal.name)})")


def _formals(
    declared: Sequence[onnx.defs.OpSchema.FormalParameter], count: int
) -> list[onnx.defs.OpSchema.FormalParameter]:
    """The parameter that each of a node's inputs or outputs meets; a variadic one takes all that are left."""
    listed = list(declared)
    variadic = listed and listed[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    return listed + listed[-1:] * (count - len(listed)) if variadic else listed


def input_names(node: GraphNode, opset: int | None) -> list[tuple[str, bool]]:
    """The schema's name for each of a node's inputs, and whether that name takes several."""
    schema = schema_of(node, opset)
    variadic = onnx.defs.OpSchema.FormalParameterOption.Variadic
    formals = _formals(schema.inputs, len(node.inputs)) if schema else []
    return [(formal.name, formal.option == variadic) for formal in formals]


def attribute_defaults(node: GraphNode, opset: int | None) -> dict[str, Value]:
    """What the attributes of a node's operator are where it does not say."""
    schema = schema_of(node, opset)
    found = {
        name: attribute_value(attribute.default_value)
        for name, attribute in (schema.attributes.items() if schema else ())
        if attribute.default_value.name
    }
    return {name: value for name, value in found.items() if value is not None}


def required_attributes(node: GraphNode, opset: int | None) -> set[str]:
    """The attributes that no node of the operator can leave out."""
    schema = schema_of(node, opset)
    return {name for name, attribute in schema.attributes.items() if attribute.required} if schema else set()


def _refuse(message: str) -> NoReturn:
    raise Rejected(Diagnostic("T0664", message))


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
    kind, found = _kind_text(declared), attribute_kind(value)
    return found == kind or (found == EMPTY_LIST and kind in ("ints", "floats", "strings"))


def _kind_text(declared: onnx.defs.OpSchema.Attribute) -> str:
    return str(declared.type).rpartition(".")[2].lower()


# ---- schemas that are recorded ----------------------------------------------------------
@cache
def recorded_schemas(domain: str) -> dict[str, dict[str, Any]]:
    """The operators of a domain by name, as recorded: inputs, outputs, attributes and element types."""
    file = specs_root().joinpath(folder_of(domain), "schemas.json")
    if not file.is_file():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["operators"]
    return found


@cache
def recorded_schema(domain: str, op: str) -> onnx.defs.OpSchema | None:
    """The recorded schema of an operator, as onnx gives those that it has; None where there is none."""
    one = recorded_schemas(domain).get(op)
    if one is None:
        return None
    return onnx.defs.OpSchema(
        op,
        domain,
        one["since"],
        inputs=[_parameter(*p) for p in one["inputs"]],
        outputs=[_parameter(*p) for p in one["outputs"]],
        type_constraints=[(name, [_type_text(t) for t in types], "") for name, types in one["types"].items()],
        attributes=[_attribute(name, *a) for name, a in one["attributes"].items()],
    )


def _parameter(name: str, kind: str) -> onnx.defs.OpSchema.FormalParameter:
    options = onnx.defs.OpSchema.FormalParameterOption
    option = {"?": options.Optional, "*": options.Variadic}.get(name[-1], options.Single)
    return onnx.defs.OpSchema.FormalParameter(name.rstrip("?*"), kind, param_option=option)


def _type_text(name: str) -> str:
    return name if "(" in name else f"tensor({name})"


def _attribute(name: str, kind: str, default: object = None) -> onnx.defs.OpSchema.Attribute:
    """An attribute; a kind that ends with ``!`` is required, and a default may be told."""
    code = getattr(onnx.defs.OpSchema.AttrType, kind.rstrip("!").upper())
    if default is not None:
        return onnx.defs.OpSchema.Attribute(name, helper.make_attribute(name, default), "")
    return onnx.defs.OpSchema.Attribute(name, code, "", required=kind.endswith("!"))


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
