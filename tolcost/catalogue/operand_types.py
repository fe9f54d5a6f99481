"""Types of an operator's inputs and outputs according to ONNX, from tables that come with tolcost.

``specs/types`` has the tables for the domains of ONNX, a line for each operator with all of its versions; for
other domains, ``schemas.json`` has the types.  Only for versions newer than the tables is onnx itself needed,
which takes longer to load than a common model takes to cost.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, NoReturn

from tolcost.catalogue.graph import EMPTY_LIST, Attribute, GraphNode, Reference, attribute_kind, met
from tolcost.catalogue.messages import TensorProto
from tolcost.catalogue.specs import FOLDER_OF_DOMAIN, StoredTexts, folder_of
from tolcost.catalogue.types import CODE_OF_SPACE, SPACE_OF_CODE
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.elaborate.values import Vec
from tolcost.platform import specs_root
from tolcost.spaces import SPACES

FOLDER = "types"

_SPACE_OF_NAME = {TensorProto.DataType.Name(code).lower(): space for code, space in SPACE_OF_CODE.items()}
"""The spaces of ONNX's names for element types."""


class SchemaOperand(NamedTuple):
    """An input or output: operands of one kind have one type, unless they differ among themselves.

    ``types`` has spaces, and types that are not tensors as ONNX writes them.
    """

    name: str
    kind: str
    types: tuple[str, ...]
    variadic: bool = False
    differ: bool = False


class OperatorTypes(NamedTuple):
    """The inputs and outputs of one version of an operator, and the kind of each attribute by name."""

    inputs: tuple[SchemaOperand, ...]
    outputs: tuple[SchemaOperand, ...]
    attributes: Mapping[str, str]


class TypeContradiction(Rejected):
    """An attribute or an input of a node has a type that its operator cannot take, at any lengths."""


def check_node(node: GraphNode, opset: int | None, spaces: Sequence[str | None]) -> tuple[str, ...]:
    """Refuse a node with attributes or inputs of types that its operator does not take.

    ``spaces`` are those of its inputs; a space that ONNX does not have is not checked.  The definition
    decides the number of inputs, and which attributes there are.  An input in another number format than the
    listed ones, such as bfloat16 beside float32, is not a contradiction: the result describes these inputs.
    """
    known = types_of(node.op, node.domain, opset)
    if known is None:
        return ()
    for name, value in node.attributes.items():
        kind = known.attributes.get(name)
        if kind is not None and not isinstance(value, Reference) and not is_of_kind(value, kind):
            _contradict(f"the attribute {quoted(name)} of {node.shown} must be of type {kind}")
    bound: dict[str, str] = {}
    unlisted: dict[str, None] = {}
    for operand, space in zip(met(known.inputs, len(spaces)), spaces, strict=False):
        if space in CODE_OF_SPACE:
            _check_input(node, operand, space, bound)
            if space not in operand.types:
                unlisted[f"{node.title} takes {space} as its input {quoted(operand.name)}"] = None
    return tuple(unlisted)


def _contradict(message: str) -> NoReturn:
    raise TypeContradiction(Diagnostic("T0664", message))


def output_spaces(node: GraphNode, opset: int | None, spaces: Sequence[str | None]) -> list[str | None]:
    """Return the spaces of a node's outputs that follow from its inputs; None where they do not.

    Values that a definition computes at compile time may be in no space of ONNX, or empty.
    """
    for graph in node.graphs.values():  # the outputs of a node are the last outputs of its graphs
        told = [graph.declared[name].space or None for name in graph.outputs]
        return told[-len(node.outputs) :]
    known = types_of(node.op, node.domain, opset)
    if known is None:
        return [None] * len(node.outputs)
    pairs = zip(met(known.inputs, len(spaces)), spaces, strict=False)
    bound = {o.kind: space for o, space in pairs if not o.differ and space in CODE_OF_SPACE}
    given = met(known.outputs, len(node.outputs))
    return [None if o.differ else bound.get(o.kind) or _only_space(o) for o in given]


def is_operator(domain: str, name: str, opset: int | None) -> bool:
    """Whether ONNX itself defines an operator, which a model's function then cannot replace."""
    return _of_onnx(name, domain, opset) is not None


def is_of_kind(value: Attribute, kind: str) -> bool:
    """Whether an attribute is of the kind that its operator declares."""
    found = attribute_kind(value)
    return found == kind or (found == EMPTY_LIST and kind in ("ints", "floats", "strings"))


def _only_space(operand: SchemaOperand) -> str | None:
    only = operand.types[0] if len(operand.types) == 1 else None
    return only if only in CODE_OF_SPACE else None


def _check_input(node: GraphNode, operand: SchemaOperand, space: str, bound: dict[str, str]) -> None:
    if space not in operand.types and not _is_format_of(space, operand.types):
        _contradict(f"{node.shown} does not take {space} as its input {quoted(operand.name)}")
    if not operand.differ and bound.setdefault(operand.kind, space) != space:
        types = f"{bound[operand.kind]} and {space} ({quoted(operand.name)})"
        _contradict(f"{node.shown} takes inputs of one type, not {types}")


def _is_format_of(space: str, listed: Sequence[str]) -> bool:
    """Whether a space has numbers of the kind of a listed space, in another format.

    >>> _is_format_of("bfloat16", ("float32", "int32")), _is_format_of("int64", ("float32",))
    (True, False)
    """
    return any(SPACES[space].kind == SPACES[one].kind for one in listed if one in CODE_OF_SPACE)


# ---- sources of types ---------------------------------------------------------------------


@cache
def types_of(op: str, domain: str, opset: int | None) -> OperatorTypes | None:
    """Return the types of an operator; None if they are unknown."""
    return _of_onnx(op, domain, opset) or recorded_types(op, domain)


def _of_onnx(op: str, domain: str, opset: int | None) -> OperatorTypes | None:
    if domain not in FOLDER_OF_DOMAIN:
        return _asked(op, domain, opset) if "onnx" in sys.modules else None  # a schema may be registered
    newest, lines = _table(folder_of(domain))
    version = opset or (1 if domain else newest)
    if version > newest:
        return _asked(op, domain, opset)
    versions = _line(lines, op)
    since = max((int(since) for since in versions if int(since) <= version), default=None)
    if since is None:
        return None
    inputs, outputs, types, attributes = versions[str(since)]
    met_in, met_out = ([_operand(text, types) for text in listed] for listed in (inputs, outputs))
    return OperatorTypes(tuple(met_in), tuple(met_out), attributes)


def newest_version(domain: str) -> int:
    """Return the newest version of a domain that the tables cover."""
    return _table(folder_of(domain))[0]


def _asked(op: str, domain: str, opset: int | None) -> OperatorTypes | None:
    from tolcost.catalogue.schemas import types_in_onnx  # this loads onnx

    return types_in_onnx(op, domain, opset)


@cache
def _table(folder: str) -> tuple[int, StoredTexts]:
    """Return the newest version in the table of a domain, and a line for each operator."""
    raw = specs_root().joinpath(FOLDER, f"{folder}.tsv").read_bytes()
    end = raw.index(b"\n")
    return int(json.loads(raw[:end])["newest"]), StoredTexts(raw, end)


def _line(lines: StoredTexts, op: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(lines.get(op) or "{}") if op.isidentifier() else {}
    return found


def _operand(text: str, types: Mapping[str, str]) -> SchemaOperand:
    name, _, kind = text.partition(":")
    told = types.get(kind, kind).split("|")
    return SchemaOperand(name.rstrip("*~"), kind, tuple(told), "*" in name, "~" in name)


def recorded_types(op: str, domain: str) -> OperatorTypes | None:
    """Return the recorded types of an operator of another domain."""
    one = recorded_schemas(domain).get(op)
    if one is None:
        return None
    types = {kind: tuple(_recorded_type(t) for t in told) for kind, told in one["types"].items()}

    def operands(listed: Sequence[tuple[str, str]]) -> tuple[SchemaOperand, ...]:
        return tuple(
            SchemaOperand(
                name.rstrip("?*"),
                kind,
                types.get(kind) or (_recorded_type(kind),),
                name.endswith("*"),
                name.endswith("**"),
            )
            for name, kind in listed
        )

    attributes = {name: kind.rstrip("!") for name, (kind, *_) in one["attributes"].items()}
    return OperatorTypes(operands(one["inputs"]), operands(one["outputs"]), attributes)


def _recorded_type(text: str) -> str:
    """Return the space of a type such as ``float`` or ``tensor(float)``; any other text stays as it is."""
    return _SPACE_OF_NAME.get(text.removeprefix("tensor(").removesuffix(")"), text)


@cache
def recorded_schemas(domain: str) -> dict[str, dict[str, Any]]:
    """Return the recorded operators of a domain by name: inputs, outputs, attributes and element types."""
    file = specs_root().joinpath(folder_of(domain), "schemas.json")
    if not file.is_file():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["operators"]
    return found


# === A skeleton definition for an operator that has none: its node as declarations.
#
# Names of inputs, outputs and attributes are those of a recorded schema, if there is one.


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def skeleton(node: GraphNode, ranks: Sequence[int | None]) -> str | None:
    """Return the first lines of a definition for a node whose inputs have the given ranks, where known.

    The result is None for a name that no definition can have.
    """
    if not _NAME.fullmatch(node.op):
        return None
    schema = recorded_types(node.op, node.domain)
    inputs = [p.name for p in schema.inputs] if schema else []
    outputs = [p.name for p in schema.outputs] if schema else []
    return "\n".join(
        [
            f"operator {node.op}",
            *_inputs(node, ranks, inputs),
            *_attributes(node),
            *(f"{_named(outputs, n, 'y')} := ..." for n in range(len(node.outputs))),
        ]
    )


def _inputs(node: GraphNode, ranks: Sequence[int | None], names: Sequence[str]) -> Iterator[str]:
    for n, given in enumerate(node.inputs):
        name, rank = _named(names, n, "x"), ranks[n] if n < len(ranks) else None
        lengths = ["..."] if rank is None else [f"{name}_{axis}" for axis in range(1, rank + 1)]
        yield f"tol {name}{'' if given else '?'}: R" + (f" [{', '.join(lengths)}]" if lengths else "")


def _attributes(node: GraphNode) -> Iterator[str]:
    for name, value in node.attributes.items():
        if _NAME.fullmatch(name):
            yield f"attr {name}: {_space(value)}{' [k]' if isinstance(value, Vec) else ''}"
    yield from (f"attr {name}: G" for name in node.graphs if _NAME.fullmatch(name))


def _space(value: Attribute) -> str:
    one = value.items[0] if isinstance(value, Vec) and value.items else value
    if isinstance(one, str):
        return "S"
    return "R" if isinstance(one, Fraction | float) else "Z"


def _named(names: Sequence[str], place: int, letter: str) -> str:
    known = names[place] if place < len(names) else ""
    return known if _NAME.fullmatch(known) else f"{letter}{place + 1}"
