"""Reading a model file: whatever is in it becomes our own types, or a diagnostic.

Weights are not read: an initializer is a shape and a type, and its values only where they are few
enough to decide a shape.  External data is never opened.  Nothing of onnx but its parser is let
near the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from itertools import chain, count
from operator import attrgetter
from pathlib import Path
from typing import NoReturn

import numpy as np
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
    numpy_helper,
)

from tolcost.algebra import const
from tolcost.catalogue.exported import scope_in
from tolcost.catalogue.graph import (
    MOST_NESTED_GRAPHS,
    MOST_RANK,
    Attribute,
    Declared,
    FunctionKey,
    Graph,
    GraphNode,
    Model,
    ModelFunction,
    Reference,
    Weight,
    free_names,
    held_in,
)
from tolcost.catalogue.types import SMALL, Array, constant, simplest, space_of_code
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.elaborate.values import Value, Vec

MOST_NODES = 2_000_000
NEWEST_OPSET = 200
"""Versions above this are a mistake in the file; the newest of onnx is far below."""

_DECIDING = {"int64": SMALL, "int32": SMALL, "bool": SMALL, "float32": 16, "float64": 16, "float16": 16}
"""Up to how many elements a constant of a space may decide a shape; all else is a weight."""

_NAMELESS = ("", "?", "*", "-1", "None", "none", "unknown")
"""What exporters write for a length that has no name; two of them are not the same length."""

MOST_DENSE = 1 << 20
"""The most elements of a sparse tensor that is written out."""

_LONGEST_KEY = 256
"""Attributes of more bytes are told apart by a digest."""

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
        _refuse("T0673", f"{_shown(name)} is not an ONNX model", _likely(raw[:64].lstrip().lower(), name))


_TORCH = "`tolcost torch package.module:function --shape x=batch,3,224,224`; in Python, `tolcost.from_torch`"
_KERAS = '`model.export("m.onnx", format="onnx")` in Keras 3, then `tolcost model m.onnx`'
_JAX = (
    '`jax2onnx.to_onnx(f, [("batch", 16)], return_mode="file", output_path="m.onnx")` of the package jax2onnx'
)
_TF = "python -m tf2onnx.convert"
_EXPORTS = {
    **dict.fromkeys((".pt", ".pth", ".pt2", ".ckpt", ".safetensors", ".bin"), _TORCH),
    **dict.fromkeys((".keras", ".h5", ".hdf5"), _KERAS),
    ".pb": f"`{_TF} --saved-model DIR --output m.onnx`, then `tolcost model m.onnx`",
    ".tflite": f"`{_TF} --tflite m.tflite --output m.onnx`, then `tolcost model m.onnx`",
    **dict.fromkeys((".mlir", ".jax", ".orbax"), _JAX),
}
"""What to type for files of others, by their suffix."""
_PACKAGES = {"torch": _TORCH, "transformers": _TORCH, "keras": _KERAS, "tensorflow": _KERAS}
_PACKAGES |= dict.fromkeys(("jax", "jaxlib", "flax", "equinox"), _JAX)
"""What to type for objects of others, by the package they come from."""


def as_bytes(model: object) -> bytes:
    """The bytes of onnx's own object; whoever has something else is told what to type."""
    if isinstance(model, ModelProto):
        return bytes(model.SerializeToString())
    packages = (base.__module__.partition(".")[0] for base in type(model).__mro__)
    hint = next((_PACKAGES[package] for package in packages if package in _PACKAGES), None)
    _refuse("T0673", f"an object of type {_shown(type(model).__name__)} is not an ONNX model", hint)


def _likely(head: bytes, name: str) -> str | None:
    suffix = "." + name.rpartition(".")[2].lower()
    if suffix in _EXPORTS:
        return _EXPORTS[suffix]
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


def check_text(names: Iterable[str]) -> None:
    """Refuse names that are not text: protobuf hands out what is no UTF-8 as bytes."""
    try:
        "".join(names)
    except TypeError:
        _refuse("T0673", "a name in the model is not text in UTF-8: the file is damaged")


def model_of(proto: ModelProto, name: str) -> Model:
    """A model as our own types."""
    if not proto.graph.node and not proto.graph.output:
        _refuse("T0672", f"{_shown(name)} has no graph", "an empty answer is never a cost of 0")
    if len(proto.graph.node) > MOST_NODES:
        _refuse("T0506", f"{_shown(name)} has more than {MOST_NODES:,} nodes")
    reader = Reader()
    graph = reader.graph(proto.graph, outermost=True)
    functions = reader.functions(proto.functions)
    return Model(name, graph, opsets_of(proto.opset_import), functions)


def node_of(proto: NodeProto) -> GraphNode:
    """A node by itself."""
    return Reader().node(proto)


def function_of(proto: FunctionProto) -> ModelFunction:
    """A function by itself."""
    return Reader().function(proto)


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


_FIELDS = attrgetter("op_type", "domain", "name", "input", "output", "attribute", "overload")
"""A field after the other takes longer than all at once; so does a tuple that is not sliced first."""

_Read = tuple[Mapping[str, Attribute], Mapping[str, Graph], bytes]
_NOTHING: _Read = ({}, {}, b"")


class Reader:
    """Reads the messages of one file.  Many nodes of a model are alike: their attributes are read once."""

    def __init__(self) -> None:
        self._serial = count(1)
        self._depth = 0
        self._read: dict[bytes, _Read] = {}

    # ---- functions and graphs ----

    def functions(self, protos: Iterable[FunctionProto]) -> Mapping[FunctionKey, ModelFunction]:
        """The functions of a model."""
        found: dict[FunctionKey, ModelFunction] = {}
        for proto in protos:
            key = (domain_of(proto.domain), proto.name, getattr(proto, "overload", ""))
            if key in found:
                _refuse("T0675", f"two functions are called {_shown(proto.name)}")
            found[key] = self.function(proto)
        return found

    def function(self, proto: FunctionProto) -> ModelFunction:
        """A function as our own type."""
        check_text((proto.name, proto.domain, *proto.input, *proto.output, *proto.attribute))
        attributes, graphs, _ = self._attributes(proto.attribute_proto)
        nodes = tuple(map(self.node, proto.node))
        check_text(_node_words(nodes))
        return ModelFunction(
            proto.name,
            domain_of(proto.domain),
            tuple(proto.input),
            tuple(proto.output),
            attributes,
            graphs,
            nodes,
            opsets_of(proto.opset_import),
        )

    def graph(self, proto: GraphProto, outermost: bool = False) -> Graph:
        """A graph as our own type."""
        weights: dict[str, Weight] = {}
        for weight in (*map(self._weight, proto.initializer), *map(self._sparse, proto.sparse_initializer)):
            if weight.name in weights:
                _refuse("T0675", f"two initializers are called {_shown(weight.name)}")
            weights[weight.name] = weight
        # An initializer may be listed among the inputs too, as what they are by default.
        inputs = tuple(declared_of(given) for given in proto.input if given.name not in weights)
        names = [given.name for given in inputs]
        if len(set(names)) < len(names):
            _refuse("T0675", f"two inputs of the graph {_shown(proto.name)} have one name")
        between = {info.name: declared_of(info) for info in (*proto.value_info, *proto.output)}
        outputs = tuple(output.name for output in proto.output)
        nodes = tuple(map(self.node, proto.node))
        declared = (*map(_words, inputs), *map(_words, between.values()))
        check_text(chain((proto.name,), weights, between, outputs, *declared, _node_words(nodes)))
        kept = between if outermost else {name: between[name] for name in outputs}
        return Graph(proto.name, inputs, weights, nodes, outputs, kept)

    def _inner_graph(self, proto: GraphProto) -> Graph:
        if self._depth >= MOST_NESTED_GRAPHS:
            _refuse("T0506", f"graphs nest more than {MOST_NESTED_GRAPHS} deep")
        self._depth += 1
        try:
            return self.graph(proto)
        finally:
            self._depth -= 1

    # ---- nodes ----

    def node(self, proto: NodeProto) -> GraphNode:
        """A node as our own type.  What most nodes lack is asked for first."""
        op, domain, name, given, gives, raw, overload = _FIELDS(proto)
        outputs = tuple(gives[:])
        attributes, graphs, key = self._attributes(raw) if raw else _NOTHING
        asked = len(outputs) if outputs and outputs[-1] else _asked(outputs)
        domain = domain_of(domain) if domain else ""
        free = free_names(graphs) if graphs else ()
        return GraphNode(
            op,
            domain,
            name,
            tuple(given[:]),
            outputs,
            attributes,
            key,
            asked,
            free,
            graphs,
            overload,
            held_in(domain, op, attributes) if raw else None,
            scope_in(proto.metadata_props) if proto.metadata_props else (),
        )

    def _attributes(self, protos: Sequence[AttributeProto]) -> _Read:
        serialised = b"".join([a.SerializeToString() for a in protos])
        found = self._read.get(serialised)
        if found is not None:
            return found
        check_text(chain.from_iterable((a.name, a.ref_attr_name) for a in protos))
        attributes: dict[str, Attribute] = {}
        graphs: dict[str, Graph] = {}
        for proto in protos:
            if proto.type == AttributeProto.GRAPH and not proto.ref_attr_name:
                graphs[proto.name] = self._inner_graph(proto.g)
                continue
            value = self._attribute(proto)
            if value is not None:
                attributes[proto.name] = value
        short = len(serialised) <= _LONGEST_KEY
        read = (attributes, graphs, serialised if short else blake2b(serialised).digest())
        if short:
            self._read[serialised] = read
        return read

    def _attribute(self, proto: AttributeProto) -> Attribute | None:
        if proto.ref_attr_name:
            return Reference(proto.ref_attr_name)
        if proto.type == AttributeProto.TENSOR:
            _check_inside(proto.t, f"the attribute {_shown(proto.name)}")
            return self._weight(proto.t)
        if proto.type == AttributeProto.SPARSE_TENSOR:
            for part in (proto.sparse_tensor.values, proto.sparse_tensor.indices):
                _check_inside(part, f"the attribute {_shown(proto.name)}")
            return self._sparse(proto.sparse_tensor)
        return attribute_value(proto)

    # ---- tensors ----

    def _weight(self, tensor: TensorProto) -> Weight:
        """A tensor that the model holds; its value too where that may decide a shape."""
        shape = _checked_shape(tensor.name, tensor.dims)
        space = space_of_code(tensor.data_type)
        value = None
        if tensor.data_location != TensorProto.EXTERNAL:
            _check_size(tensor, math.prod(shape))
            value = _small_value(tensor, space, math.prod(shape))
        return Weight(
            tensor.name, space, shape, partial(array_of, tensor), value, None, self._key(tensor.name)
        )

    def _sparse(self, tensor: SparseTensorProto) -> Weight:
        name = tensor.values.name
        shape = _checked_shape(name, tensor.dims)
        space, stored = space_of_code(tensor.values.data_type), math.prod(tensor.values.dims)
        return Weight(name, space, shape, partial(dense, tensor), None, stored, self._key(name))

    def _key(self, name: str) -> str:
        return f"weight {next(self._serial)} {name}"


def _check_rank(name: str, rank: int) -> None:
    if rank > MOST_RANK:
        _refuse("T0506", f"{_shown(name)} has {rank:,} dimensions: more than {MOST_RANK}")


def _checked_shape(name: str, dims: Sequence[int]) -> tuple[int, ...]:
    """The shape of a tensor that the model holds."""
    _check_rank(name, len(dims))
    if any(d < 0 for d in dims):
        _refuse("T0674", f"the initializer {_shown(name)} has a negative length")
    return tuple(dims)


def _asked(outputs: tuple[str, ...]) -> int:
    return max((n for n, name in enumerate(outputs, start=1) if name), default=1)


def _node_words(nodes: Iterable[GraphNode]) -> Iterator[str]:
    return chain.from_iterable((n.op, n.domain, n.name, n.overload, *n.inputs, *n.outputs) for n in nodes)


def _words(declared: Declared) -> Iterable[str]:
    return (declared.name, *(d for d in declared.shape or () if not isinstance(d, int | None)))


# ---- tensors -----------------------------------------------------------------------------


def array_of(value: object) -> Array:
    """The array that a tensor, an array or a scalar stands for."""
    if not isinstance(value, TensorProto):
        return np.asarray(value)
    _check_inside(value, f"the tensor {_shown(value.name)}")
    try:
        return numpy_helper.to_array(value)
    except (ValueError, TypeError, AttributeError) as error:
        _refuse("T0674", f"the tensor {_shown(value.name)} does not hold what it says: {error}"[:300])


def dense(sparse: SparseTensorProto) -> Array:
    """The array that a sparse tensor stands for; its indices are flat, or a row of coordinates each."""
    values, places = array_of(sparse.values), array_of(sparse.indices)
    shape = tuple(sparse.dims)
    if math.prod(shape) > MOST_DENSE:
        _refuse("T0651", f"a sparse constant of {math.prod(shape):,} elements is too large")
    try:
        flat = places if places.ndim == 1 else np.ravel_multi_index(tuple(places.T), shape)
        array = np.zeros(math.prod(shape), dtype=values.dtype)
        array[flat] = values
        return array.reshape(shape)
    except (ValueError, TypeError, IndexError) as error:
        _refuse("T0674", f"a sparse tensor does not hold what it says: {error}"[:300])


def _check_inside(tensor: TensorProto, what: str) -> None:
    """Refuse a tensor whose elements are needed but stand in another file, which is never opened."""
    if tensor.data_location == TensorProto.EXTERNAL:
        hint = "only initializers may keep their data beside the model, and a cost needs none of it"
        _refuse("T0674", f"{what} keeps its data in another file", hint)


def _small_value(tensor: TensorProto, space: str, size: int) -> Value | None:
    """The value of a tensor that is small enough to decide a shape, else None."""
    if size > 1 and (space not in _DECIDING or size > _DECIDING[space]):
        return None
    return constant(array_of(tensor))


def _check_size(tensor: TensorProto, size: int) -> None:
    """Refuse a tensor that does not hold as many elements as its shape says, where that is plain to see."""
    if tensor.data_type not in _STORED:
        return
    field, width = _STORED[tensor.data_type]
    held = len(tensor.raw_data) if tensor.HasField("raw_data") else len(getattr(tensor, field)) * width
    if held != size * width:
        text = f"the tensor {_shown(tensor.name)} has {held:,} bytes, but its shape needs {size * width:,}"
        _refuse("T0674", text)


# ---- attributes of numbers and text ------------------------------------------------------


def attribute_value(attribute: AttributeProto) -> Value | None:
    """What an attribute of numbers or text says, as a static value; None for anything else."""
    kind = AttributeProto
    match attribute.type:
        case kind.INT:
            return const(attribute.i)
        case kind.FLOAT:
            return simplest(attribute.f)
        case kind.STRING:
            return _text(attribute.s)
        case kind.INTS:
            return _vector([const(i) for i in attribute.ints])
        case kind.FLOATS:
            return _vector([simplest(f) for f in attribute.floats])
        case kind.STRINGS:
            return _vector([_text(s) for s in attribute.strings])
        case _:
            return None


def _vector(items: Sequence[Value]) -> Value:
    return Vec((len(items),), tuple(items))


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


# ---- what the file declares of values ------------------------------------------------------


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
    _check_rank(name, len(kind.tensor_type.shape.dim))
    found: list[int | str | None] = []
    for d in kind.tensor_type.shape.dim:
        if d.HasField("dim_value"):
            if d.dim_value < -1:
                _refuse("T0691", f"{_shown(name)} is declared with a length of {d.dim_value}")
            found.append(d.dim_value if d.dim_value >= 0 else None)
        else:
            found.append(None if d.dim_param in _NAMELESS else d.dim_param)
    return tuple(found)
