"""Schemas that were recorded of a run-time, as onnx gives those that it has."""

from __future__ import annotations

from functools import cache

import onnx
from onnx import helper

from tolcost.catalogue.operand_types import recorded_schemas


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
    alike = not name.endswith("**")  # of several, each may be of a type of its own
    return onnx.defs.OpSchema.FormalParameter(
        name.rstrip("?*"), kind, param_option=option, is_homogeneous=alike
    )


def _type_text(name: str) -> str:
    return name if "(" in name else f"tensor({name})"


def _attribute(name: str, kind: str, default: object = None) -> onnx.defs.OpSchema.Attribute:
    """An attribute; a kind that ends with ``!`` is required, and a default may be told."""
    code = getattr(onnx.defs.OpSchema.AttrType, kind.rstrip("!").upper())
    if default is not None:
        return onnx.defs.OpSchema.Attribute(name, helper.make_attribute(name, default), "")
    return onnx.defs.OpSchema.Attribute(name, code, "", required=kind.endswith("!"))
