"""Reading a model file: whatever is in it becomes our own types, or a diagnostic.

Weights are not read: an initializer is a shape and a type, and its values only where they are few
enough to decide a shape.  External data is never opened.  Nothing of onnx but its parser is let
near the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import NoReturn

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    SparseTensorProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
)

from tolcost.catalogue.graphs import free_names
from tolcost.catalogue.types import SMALL, array_of, constant, space_of_code
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.elaborate.values import Value
from tolcost.models.model import Declared, Function, FunctionKey, Graph, Model, Step, Weight

MOST_NODES = 2_000_000
NEWEST_OPSET = 200
"""Versions above this are a mistake in the file; the newest of onnx is far below."""

_DECIDING = {"int64": SMALL, "int32": SMALL, "bool": SMALL, "float32": 16, "float64": 16, "float16": 16}
"""Up to how many elements a constant of a space may decide a shape; all else is a weight."""

_HOLDS_GRAPHS = (AttributeProto.GRAPH, AttributeProto.GRAPHS)

_NAMELESS = ("", "?", "*", "-1", "None", "none", "unknown")
"""What exporters write for a length that has no name; two of them are not the same length."""

_STORED: dict[int, tuple[str, int]] = {
    TensorProto.FLOAT: ("float_data", 4),
    TensorProto.INT64: ("int64_data", 8),
    TensorProto.INT32: ("int32_data", 4),
    TensorProto.DOUBLE: ("double_data", 8),
}
"""Where tensors keep their elements if not as raw bytes, and the bytes of one."""


def load_model(path: Path) -> Model:
    """Read a model file; what is wrong with it is a diagnostic."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        _refuse("T0671", f"cannot read {quoted(str(path))}: {error.strerror}")
    return model_of(parse_model(raw, path.name), path.stem)


def parse_model(raw: bytes, name: str) -> ModelProto:
    """The protobuf message in a file."""
    if not raw:
        _refuse("T0672", f"{_shown(name)} is empty")
    try:
        return onnx.load_model_from_string(raw)
    except (DecodeError, ValueError, UnicodeDecodeError):
        _refuse("T0673", f"{_shown(name)} is not an ONNX model", _likely(raw[:64].lstrip().lower()))


def _likely(head: bytes) -> str | None:
    if head.startswith(b"version https://git-lfs"):
        return "this is a pointer of Git LFS, not the model: fetch it with `git lfs pull`"
    if head.startswith((b"<!doctype", b"<html")):
        return "this is a web page: the download did not give the model"
    if head.startswith(b"pk\x03\x04"):
        return "this is a zip archive: unpack it, or export the model to ONNX"
    return None


def _refuse(code: str, message: str, hint: str | None = None) -> NoReturn:
    raise Rejected(Diagnostic(code, message, hint=hint))


def _shown(name: str | bytes) -> str:
    """A name in a message; one that is not text comes from protobuf as bytes."""
    return quoted(name if isinstance(name, str) else name.decode("utf-8", "replace"))


def model_of(proto: ModelProto, name: str) -> Model:
    """A model as our own types."""
    if not proto.graph.node and not proto.graph.output:
        _refuse("T0672", f"{_shown(name)} has no graph", "an empty answer is never a cost of 0")
    if len(proto.graph.node) > MOST_NODES:
        _refuse("T0506", f"{_shown(name)} has more than {MOST_NODES:,} nodes")
    return Model(
        name,
        graph_of(proto.graph),
        opsets_of(proto.opset_import),
        _functions(proto.functions),
        str(proto.producer_name)[:60],
    )


def opsets_of(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """The version of each domain that a model, or a function, says it uses."""
    found: dict[str, int] = {}
    for entry in imports:
        check_text((entry.domain,))
        domain = domain_of(entry.domain)
        if not 1 <= entry.version <= NEWEST_OPSET:
            _refuse(
                "T0690",
                f"there is no version {entry.version} of the operators of {quoted(domain or 'ai.onnx')}",
            )
        found[domain] = entry.version
    return found


def domain_of(text: str) -> str:
    """A domain, as ours: that of ONNX itself is empty."""
    return "" if text == "ai.onnx" else text


# ---- functions ---------------------------------------------------------------------------


def _functions(protos: Iterable[FunctionProto]) -> Mapping[FunctionKey, Function]:
    found: dict[FunctionKey, Function] = {}
    for proto in protos:
        key = (domain_of(proto.domain), proto.name, getattr(proto, "overload", ""))
        if key in found:
            _refuse("T0675", f"two functions are called {_shown(proto.name)}")
        found[key] = function_of(proto)
    return found


def function_of(proto: FunctionProto) -> Function:
    """A function as our own type."""
    check_text((proto.name, proto.domain, *proto.input, *proto.output, *proto.attribute))
    check_text(chain.from_iterable(map(_node_words, proto.node)))
    attributes: dict[str, AttributeProto | None] = dict.fromkeys(proto.attribute)
    attributes.update((a.name, a) for a in proto.attribute_proto)
    return Function(
        proto.name,
        domain_of(proto.domain),
        tuple(proto.input),
        tuple(proto.output),
        attributes,
        tuple(proto.node),
        opsets_of(proto.opset_import),
    )


# ---- graphs ------------------------------------------------------------------------------


def graph_of(proto: GraphProto) -> Graph:
    """A graph as our own types."""
    weights: dict[str, Weight] = {}
    for weight in (*map(weight_of, proto.initializer), *map(_sparse, proto.sparse_initializer)):
        if weight.name in weights:
            _refuse("T0675", f"two initializers are called {_shown(weight.name)}")
        weights[weight.name] = weight
    inputs = tuple(declared_of(given) for given in proto.input if given.name not in weights)
    names = [given.name for given in inputs]
    if len(set(names)) < len(names):
        _refuse("T0675", f"two inputs of the graph {_shown(proto.name)} have one name")
    between = {info.name: declared_of(info) for info in (*proto.value_info, *proto.output)}
    outputs = tuple(output.name for output in proto.output)
    steps = tuple(map(step_of, proto.node))
    check_text(
        chain((proto.name,), weights, *map(_words, inputs), between, outputs, *map(_words, between.values()))
    )
    check_text(chain.from_iterable((s.op, s.domain, s.name, *s.inputs, *s.outputs) for s in steps))
    return Graph(proto.name, inputs, weights, steps, outputs, between)


def check_text(names: Iterable[str]) -> None:
    """Refuse names that are not text: protobuf hands out what is no UTF-8 as bytes."""
    try:
        "".join(names)
    except TypeError:
        _refuse("T0673", "a name in the model is not text in UTF-8: the file is damaged")


def _node_words(node: NodeProto) -> Iterator[str]:
    """All names that a node mentions, those in graphs inside of it included."""
    yield from (node.op_type, node.domain, node.name, node.overload, *node.input, *node.output)
    for attribute in node.attribute:
        yield from (attribute.name, attribute.ref_attr_name)
        for graph in (attribute.g, *attribute.graphs) if attribute.type in _HOLDS_GRAPHS else ():
            yield from _graph_words(graph)


def _graph_words(graph: GraphProto) -> Iterator[str]:
    yield graph.name
    yield from (held.name for held in graph.initializer)
    for info in (*graph.input, *graph.output):
        yield from _words(declared_of(info))
    for node in graph.node:
        yield from _node_words(node)


def _words(declared: Declared) -> Iterable[str]:
    return (declared.name, *(d for d in declared.shape or () if not isinstance(d, int | None)))


_NOTHING: tuple[str, ...] = ()
_FIELDS = attrgetter("op_type", "domain", "name", "input", "output", "attribute")
"""A field after the other takes longer than all at once; so does a tuple that is not sliced first."""


def step_of(proto: NodeProto) -> Step:
    """A node as our own type.  Models have many: what most of them lack is asked for first."""
    op, domain, name, given, gives, attributes = _FIELDS(proto)
    outputs = tuple(gives[:])
    serialised, free, graphs = b"", _NOTHING, False
    if attributes:
        serialised = b"".join([a.SerializeToString() for a in attributes])
        free, graphs = _graphs(attributes)
    asked = len(outputs) if outputs and outputs[-1] else _asked(outputs)
    domain = domain_of(domain) if domain else ""
    return Step(op, domain, name, tuple(given[:]), outputs, serialised, asked, free, graphs, proto)


def _asked(outputs: tuple[str, ...]) -> int:
    return max((n for n, name in enumerate(outputs, start=1) if name), default=1)


def _graphs(attributes: Sequence[AttributeProto]) -> tuple[tuple[str, ...], bool]:
    """The names that graphs among attributes take from around them, and whether there are graphs."""
    graphs = [a.g for a in attributes if a.type == AttributeProto.GRAPH]
    if not graphs:
        return (), False
    check_text(chain((a.name for a in attributes), *map(_graph_words, graphs)))
    return tuple(dict.fromkeys(name for graph in graphs for name in free_names(graph))), True


# ---- tensors -----------------------------------------------------------------------------


def weight_of(tensor: TensorProto) -> Weight:
    """A tensor that the model holds; its value too where that may decide a shape."""
    shape = tuple(tensor.dims)
    if any(d < 0 for d in shape):
        _refuse("T0674", f"the initializer {_shown(tensor.name)} has a negative length")
    space = space_of_code(tensor.data_type)
    if tensor.data_location == TensorProto.EXTERNAL:
        return Weight(tensor.name, space, shape)
    _check_size(tensor, math.prod(shape))
    return Weight(tensor.name, space, shape, _small_value(tensor, space, math.prod(shape)))


def _small_value(tensor: TensorProto, space: str, size: int) -> Value | None:
    """The value of a tensor that is small enough to decide a shape, else None."""
    if size > 1 and (space not in _DECIDING or size > _DECIDING[space]):
        return None
    try:
        return constant(array_of(tensor))
    except (ValueError, TypeError, AttributeError) as error:
        text = f"the initializer {_shown(tensor.name)} does not hold what it says: {error}"
        _refuse("T0674", text[:300])


def _check_size(tensor: TensorProto, size: int) -> None:
    """Refuse a tensor that does not hold as many elements as its shape says, where that is plain to see."""
    if tensor.data_type not in _STORED:
        return
    field, width = _STORED[tensor.data_type]
    held = len(tensor.raw_data) if tensor.HasField("raw_data") else len(getattr(tensor, field)) * width
    if held != size * width:
        text = (
            f"the initializer {_shown(tensor.name)} has {held:,} bytes, but its shape needs {size * width:,}"
        )
        _refuse("T0674", text)


def _sparse(tensor: SparseTensorProto) -> Weight:
    shape = tuple(tensor.dims)
    if any(d < 0 for d in shape):
        _refuse("T0674", f"the initializer {_shown(tensor.values.name)} has a negative length")
    space = space_of_code(tensor.values.data_type)
    return Weight(tensor.values.name, space, shape, None, math.prod(tensor.values.dims))


def declared_of(info: ValueInfoProto) -> Declared:
    """What the model declares of a value."""
    kind = info.type
    if kind.HasField("optional_type"):
        kind = kind.optional_type.elem_type
    sequence = kind.HasField("sequence_type")
    if sequence:
        kind = kind.sequence_type.elem_type
    if not kind.HasField("tensor_type") or not kind.tensor_type.elem_type:
        return Declared(info.name, "", None, sequence)
    return Declared(info.name, space_of_code(kind.tensor_type.elem_type), _lengths(info.name, kind), sequence)


def _lengths(name: str, kind: TypeProto) -> tuple[int | str | None, ...] | None:
    if not kind.tensor_type.HasField("shape"):
        return None
    found: list[int | str | None] = []
    for d in kind.tensor_type.shape.dim:
        if d.HasField("dim_value"):
            if d.dim_value < -1:
                _refuse("T0691", f"{_shown(name)} is declared with a length of {d.dim_value}")
            found.append(d.dim_value if d.dim_value >= 0 else None)
        else:
            found.append(None if d.dim_param in _NAMELESS else d.dim_param)
    return tuple(found)
