"""Reading a model file: whatever is in it becomes our own frozen types, or a diagnostic.

Weights are not read: an initializer is a shape and a type, and its values only where they are
few enough to decide a shape.  External data is never opened.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, ValueInfoProto

from tolcost.catalogue.nodes import Node, node_of
from tolcost.catalogue.types import SMALL, array_of, constant, space_of_code
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.elaborate.values import Value

MOST_NODES = 2_000_000


@dataclass(frozen=True, slots=True)
class Declared:
    """An input as the model declares it: lengths by number, by name, or not at all (None)."""

    name: str
    space: str
    shape: tuple[int | str | None, ...] | None
    sequence: bool = False


@dataclass(frozen=True, slots=True)
class Weight:
    """An initializer: its shape and space, how many bytes it takes, its value where it is small."""

    name: str
    space: str
    shape: tuple[int, ...]
    value: Value | None = None

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A graph: what it is given, what it holds, its nodes in order, what it gives."""

    name: str
    inputs: tuple[Declared, ...]
    weights: Mapping[str, Weight]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function that a model defines for itself: its nodes, and the names of what goes in and out."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[str, ...]
    nodes: tuple[NodeProto, ...]
    opsets: Mapping[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A model: its graph, the versions of the operators it uses, and its own functions."""

    name: str
    graph: Graph
    opsets: Mapping[str, int]
    functions: Mapping[tuple[str, str], Function] = field(default_factory=dict)


def load_model(path: Path) -> Model:
    """Read a model file; what is wrong with it is a diagnostic."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        _refuse("T0671", f"cannot read {quoted(str(path))}: {error.strerror}")
    return model_of(_parsed(raw, path), path.stem)


def _parsed(raw: bytes, path: Path) -> ModelProto:
    if not raw:
        _refuse("T0672", f"{quoted(path.name)} is empty")
    try:
        return onnx.load_model_from_string(raw)
    except (DecodeError, ValueError, UnicodeDecodeError):
        head = raw[:64].lstrip().lower()
        hint = None
        if head.startswith(b"version https://git-lfs"):
            hint = "this is a pointer of Git LFS, not the model: fetch it with `git lfs pull`"
        elif head.startswith((b"<!doctype", b"<html")):
            hint = "this is a web page: the download did not give the model"
        _refuse("T0673", f"{quoted(path.name)} is not an ONNX model", hint)


def _refuse(code: str, message: str, hint: str | None = None) -> NoReturn:
    raise Rejected(Diagnostic(code, message, hint=hint))


def model_of(proto: ModelProto, name: str) -> Model:
    """A model as our own types."""
    if not proto.graph.node and not proto.graph.output:
        _refuse("T0672", f"{quoted(name)} has no graph", "an empty answer is never a cost of 0")
    if len(proto.graph.node) > MOST_NODES:
        _refuse("T0506", f"{quoted(name)} has more than {MOST_NODES:,} nodes")
    return Model(
        name,
        graph_of(proto.graph),
        _opsets(proto.opset_import),
        {(f.domain, f.name): _function(f) for f in proto.functions},
    )


def _opsets(imports: object) -> dict[str, int]:
    return {("" if o.domain == "ai.onnx" else o.domain): o.version for o in imports}  # type: ignore[attr-defined]


def _function(proto: FunctionProto) -> Function:
    attributes = (*proto.attribute, *(a.name for a in proto.attribute_proto))
    return Function(tuple(proto.input), tuple(proto.output), attributes, tuple(proto.node), _opsets(proto.opset_import))


def graph_of(proto: GraphProto) -> Graph:
    """A graph as our own types, its nodes in an order in which they can be computed."""
    weights = {w.name: w for w in (*map(_weight, proto.initializer), *map(_sparse, proto.sparse_initializer))}
    inputs = tuple(_declared(i) for i in proto.input if i.name not in weights)
    outputs = tuple(o.name for o in proto.output)
    return Graph(proto.name, inputs, weights, _ordered(proto), outputs)


def _weight(tensor: TensorProto) -> Weight:
    shape = tuple(tensor.dims)
    if any(d < 0 for d in shape):
        _refuse("T0674", f"the initializer {quoted(tensor.name)} has a negative length")
    external = tensor.data_location == TensorProto.EXTERNAL
    value = None
    if math.prod(shape) <= SMALL and not external:
        try:
            value = constant(array_of(tensor))
        except (ValueError, TypeError) as error:
            _refuse("T0674", f"the initializer {quoted(tensor.name)} does not hold what it says: {error}")
    return Weight(tensor.name, space_of_code(tensor.data_type), shape, value)


def _sparse(tensor: onnx.SparseTensorProto) -> Weight:
    return Weight(tensor.values.name, space_of_code(tensor.values.data_type), tuple(tensor.dims))


def _declared(info: ValueInfoProto) -> Declared:
    kind = info.type
    sequence = kind.HasField("sequence_type")
    if kind.HasField("optional_type"):
        kind = kind.optional_type.elem_type
        sequence = kind.HasField("sequence_type")
    if sequence:
        kind = kind.sequence_type.elem_type
    if not kind.HasField("tensor_type"):
        return Declared(info.name, "R", None, sequence)
    return Declared(info.name, space_of_code(kind.tensor_type.elem_type), _lengths(kind), sequence)


def _lengths(kind: TypeProto) -> tuple[int | str | None, ...] | None:
    if not kind.tensor_type.HasField("shape"):
        return None
    found: list[int | str | None] = []
    for d in kind.tensor_type.shape.dim:
        if d.HasField("dim_value") and d.dim_value >= 0:
            found.append(d.dim_value)
        else:
            found.append(d.dim_param or None)
    return tuple(found)


def _ordered(proto: GraphProto) -> tuple[Node, ...]:
    """The nodes of a graph; each must come after what it uses, as ONNX demands."""
    known = {i.name for i in proto.input} | {t.name for t in proto.initializer}
    known |= {t.values.name for t in proto.sparse_initializer}
    made: set[str] = set()
    for node in proto.node:
        for name in node.output:
            if name and (name in made or name in {i.name for i in proto.input}):
                _refuse("T0675", f"two nodes give {quoted(name)}")
            made.add(name)
    for node in proto.node:
        late = [name for name in node.input if name and name in made and name not in known]
        if late:
            _refuse("T0676", f"{node.op_type} {quoted(node.name)} uses {quoted(late[0])} before it is computed")
        known.update(node.output)
    return tuple(node_of(node) for node in proto.node)
