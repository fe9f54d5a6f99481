"""Which types an operator takes and gives, as ONNX says, from tables that come with tolcost.

``specs/types`` holds them for the domains of ONNX, a line for each operator with all of its versions; of
other domains ``schemas.json`` says the same.  So onnx itself, which takes longer to load than a common model
to be costed, is asked only for versions that are newer than the tables.
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

    ``types`` are spaces, and as ONNX writes them the types that are no tensors.
    """

    name: str
    kind: str
    types: tuple[str, ...]
    variadic: bool = False
    differ: bool = False


class OperatorTypes(NamedTuple):
    """What one version of an operator takes and gives; attributes by name, with the kind of each."""

    inputs: tuple[SchemaOperand, ...]
    outputs: tuple[SchemaOperand, ...]
    attributes: Mapping[str, str]


class TypeContradiction(Rejected):
    """An attribute or an input of a node has a type that its operator cannot take, at any lengths."""


def check_node(node: GraphNode, opset: int | None, spaces: Sequence[str | None]) -> tuple[str, ...]:
    """Refuse a node whose attributes or inputs are of types that its operator does not take.

    ``spaces`` are those of its inputs; a space that ONNX does not have is not checked.  How many inputs there
    are, and which attributes, the definition says.  An input in another format of numbers that the operator
    takes, such as bfloat16 beside float32, is no contradiction: the result says which inputs these are.
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
    """The spaces of a node's outputs as its operator tells them from those of its inputs; None: it does not.

    What a definition makes of numbers that are known may be in no space of ONNX, or empty.
    """
    for graph in node.graphs.values():  # the outputs of a node are the last of those of its graphs
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
    """Whether ONNX itself defines an operator: no function of a model takes its place."""
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
    """Whether a space has numbers of the kind that some listed one has, in another format.

    >>> _is_format_of("bfloat16", ("float32", "int32")), _is_format_of("int64", ("float32",))
    (True, False)
    """
    return any(SPACES[space].kind == SPACES[one].kind for one in listed if one in CODE_OF_SPACE)


# ---- where they are from ------------------------------------------------------------------


@cache
def types_of(op: str, domain: str, opset: int | None) -> OperatorTypes | None:
    """What an operator takes and gives; None where nobody says."""
    return _of_onnx(op, domain, opset) or recorded_types(op, domain)


def _of_onnx(op: str, domain: str, opset: int | None) -> OperatorTypes | None:
    if domain not in FOLDER_OF_DOMAIN:
        return _asked(op, domain, opset) if "onnx" in sys.modules else None  # it knows what it was told of
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
    """The newest version of the operators of a domain that types and definitions are of."""
    return _table(folder_of(domain))[0]


def _asked(op: str, domain: str, opset: int | None) -> OperatorTypes | None:
    from tolcost.catalogue.schemas import types_in_onnx  # and onnx with it

    return types_in_onnx(op, domain, opset)


@cache
def _table(folder: str) -> tuple[int, StoredTexts]:
    """The newest version in the table of a domain, and a line for each operator."""
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
    """What is recorded of an operator of another domain."""
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
    """The space of a type as in ``float`` or ``tensor(float)``; a type that is none stays as it is."""
    return _SPACE_OF_NAME.get(text.removeprefix("tensor(").removesuffix(")"), text)


@cache
def recorded_schemas(domain: str) -> dict[str, dict[str, Any]]:
    """The operators of a domain by name, as recorded: inputs, outputs, attributes and element types."""
    file = specs_root().joinpath(folder_of(domain), "schemas.json")
    if not file.is_file():
        return {}
    found: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["operators"]
    return found


# === The start of a definition, for an operator that has none: what its node says, as declarations.
#
# Names of inputs, outputs and attributes are those of a recorded schema, where there is one.


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def skeleton(node: GraphNode, ranks: Sequence[int | None]) -> str | None:
    """The first lines of a definition for a node whose inputs have the ranks given, as far as they are known.

    None for a name that no definition can have.
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
