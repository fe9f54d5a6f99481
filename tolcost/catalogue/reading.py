"""Reading a model file into our own types; any mistake in it becomes a diagnostic.

Weights are not read: an initializer is a shape and a type, with its values only if they are few enough to
decide a shape.  External data is never opened.  Of onnx, only its parser touches the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from itertools import chain, count
from operator import attrgetter
from os import PathLike
from pathlib import Path

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from msgspec.structs import replace

from tolcost.catalogue.graph import (
    HOLDS_A_TENSOR,
    MOST_NESTED_GRAPHS,
    Attribute,
    Declared,
    FunctionKey,
    Graph,
    GraphNode,
    Model,
    ModelFunction,
    ModuleSize,
    Reference,
    Weight,
    free_names,
    held_in,
    sort_nodes,
)
from tolcost.catalogue.messages import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    SparseTensorProto,
    TensorProto,
)
from tolcost.catalogue.protobuf import (
    array_of,
    attribute_value,
    check_inside,
    check_size,
    checked_shape,
    declared_of,
    dense,
    is_parameter,
    scope_in,
    shown,
    small_value,
)
from tolcost.catalogue.types import SMALL, space_of_code
from tolcost.diagnostics import quoted, refuse, unreadable

# === Large tensors of a model file stay in its bytes, since protobuf copies whatever it reads or accesses.
#
# This code knows only where fields of the wire format begin and end.  Anything unusual is left to
# protobuf, which reports what is wrong.


_GRAPH, _INITIALIZER, _RAW_DATA = 7, 5, 9
"""The fields of ONNX's messages that lead to the elements of a tensor."""

_VARINT, _EIGHT_BYTES, _SIZED, _FOUR_BYTES = 0, 1, 2, 5
"""The wire types of a field."""

LARGE = 1 << 14
"""More bytes than any tensor has that decides a shape."""

_Parts = list[memoryview | bytes]


class _Unusual(ValueError):
    """The bytes are left to protobuf."""


def without_data(raw: bytes) -> tuple[bytes, Mapping[int, memoryview]]:
    """Split off the elements of a model's large initializers, by initializer index."""
    view, held, places = memoryview(raw), dict[int, memoryview](), count()

    def graph(start: int, end: int) -> _Parts:
        return _field(_GRAPH, _replace_fields(view, start, end, _INITIALIZER, tensor))

    def tensor(start: int, end: int) -> _Parts | None:
        place = next(places)

        def data(start: int, end: int) -> _Parts | None:
            held.pop(place, None)  # of several data fields the last counts
            if end - start <= LARGE:
                return None
            held[place] = view[start:end]
            return []

        if end - start <= LARGE:
            return None
        return _field(_INITIALIZER, _replace_fields(view, start, end, _RAW_DATA, data))

    try:
        parts = _replace_fields(view, 0, len(raw), _GRAPH, graph) if len(raw) > LARGE else []
    except (_Unusual, IndexError):
        return raw, {}
    return (b"".join(parts), held) if held else (raw, held)


def _replace_fields(
    raw: memoryview, start: int, end: int, number: int, change: Callable[[int, int], _Parts | None]
) -> _Parts:
    """Rewrite a message with fields of one number replaced; ``change`` returns None to keep a field."""
    parts: _Parts = []
    for found, begin, first, last in _fields(raw, start, end):
        instead = change(first, last) if found == number else None
        if instead is not None:
            parts += [raw[start:begin], *instead]
            start = last
    return [*parts, raw[start:end]]


def _fields(raw: memoryview, place: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the sized fields of a message: number, start of the field, start and end of its content."""
    while place < end:
        begin = place
        key, place = _number(raw, place)
        kind = key & 7
        if kind == _SIZED:
            size, place = _number(raw, place)
            yield key >> 3, begin, place, place + size
            place += size
        elif kind == _VARINT:
            _, place = _number(raw, place)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            place += 8 if kind == _EIGHT_BYTES else 4
        else:
            raise _Unusual
    if place != end:
        raise _Unusual


def _number(raw: memoryview, place: int) -> tuple[int, int]:
    """Decode the number at a position, seven bits per byte, and return the position after it."""
    byte, value, shift = raw[place], 0, 0
    while byte > 127 and shift < 63:
        value |= (byte & 127) << shift
        shift += 7
        place += 1
        byte = raw[place]
    return value | byte << shift, place + 1


def _field(number: int, parts: _Parts) -> _Parts:
    """Encode a field."""
    return [_encode_number(number << 3 | _SIZED), _encode_number(sum(map(len, parts))), *parts]


def _encode_number(number: int) -> bytes:
    """Encode a number, seven bits per byte.

    >>> _encode_number(5).hex(), _encode_number(300).hex()
    ('05', 'ac02')
    """
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes((*found, number))


# === Model files.


MOST_NODES = 2_000_000
"""Nodes of a model; larger files are refused before their nodes are converted."""
NEWEST_OPSET = 200
"""Larger versions are a mistake in the file; the newest of onnx is far below."""

_LONGEST_KEY = 256
"""Attributes of more bytes are compared by a digest."""

_NONE_HELD: Mapping[int, memoryview] = {}


def load_model(path: Path) -> Model:
    """Read a model file; any mistake in it is a diagnostic."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        refuse("T0671", f"cannot read {quoted(str(path))}: {unreadable(error)}")
    return model_in(raw, path.name, path.stem)


def model_in(raw: bytes, file: str, name: str) -> Model:
    """Read the model in the bytes of a file."""
    rest, held = without_data(raw)
    return model_of(parse_model(rest, file), name, held)


def parse_model(raw: bytes, name: str) -> ModelProto:
    """Parse the protobuf message in a file."""
    if not raw:
        refuse("T0672", f"{shown(name)} is empty")
    try:
        found: ModelProto = ModelProto.FromString(raw)
        return found
    except (DecodeError, ValueError, UnicodeDecodeError):
        refuse(
            "T0673",
            f"{shown(name)} is not an ONNX model",
            hint=_guess_format(raw[:64].lstrip().lower(), name),
        )


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
"""Export commands for files of other formats, by suffix."""
_PACKAGES = {"torch": _TORCH, "transformers": _TORCH, "keras": _KERAS, "tensorflow": _KERAS}
_PACKAGES |= dict.fromkeys(("jax", "jaxlib", "flax", "equinox"), _JAX)
"""Export commands for objects of other packages, by package."""


def as_bytes(model: object) -> bytes:
    """Serialise onnx's own object; for any other object, the diagnostic suggests an export command."""
    if isinstance(model, ModelProto):
        return bytes(model.SerializeToString())
    packages = (base.__module__.partition(".")[0] for base in type(model).__mro__)
    hint = next((_PACKAGES[package] for package in packages if package in _PACKAGES), None)
    if isinstance(model, (str, PathLike)):
        hint = "`tolcost.load_model` reads a file"
    refuse("T0673", f"an object of type {shown(type(model).__name__)} is not an ONNX model", hint=hint)


_BEGINS = b"\x08"
"""The field of ONNX's version, which comes first."""


def other_format(name: str) -> str | None:
    """Return the export command for a file whose name indicates another format."""
    return _EXPORTS.get("." + name.rpartition(".")[2].lower())


def _guess_format(head: bytes, name: str) -> str | None:
    if exported := other_format(name):
        return exported
    if head.startswith(b"version https://git-lfs"):
        return "this is a pointer of Git LFS, not the model: fetch it with `git lfs pull`"
    if head.startswith((b"<!doctype", b"<html")):
        return "this is a web page: the download did not give the model"
    if head.startswith(b"pk\x03\x04"):
        return "this is a zip archive: unpack it, or export the model to ONNX"
    if head.startswith(_BEGINS):
        return "it begins like one, and is cut off or damaged: fetch or export it again"
    return None


def check_text(names: Iterable[str]) -> None:
    """Refuse names that are not text: protobuf returns bytes for invalid UTF-8."""
    try:
        "".join(names)
    except TypeError:
        refuse("T0673", "a name in the model is not text in UTF-8: the file is damaged")


def model_of(proto: ModelProto, name: str, held: Mapping[int, memoryview] = _NONE_HELD) -> Model:
    """Convert a model to our own types; ``held`` has elements of initializers that were read separately."""
    if not proto.graph.node and not proto.graph.output:
        refuse("T0672", f"{shown(name)} has no graph", hint="an empty answer is never a cost of 0")
    if len(proto.graph.node) > MOST_NODES:
        refuse("T0506", f"{shown(name)} has more than {MOST_NODES:,} nodes")
    reader = ModelReader()
    graph = reader.graph(proto.graph, held, outermost=True)
    functions = reader.functions(proto.functions)
    return Model(name, graph, opsets_of(proto.opset_import), functions, _module_size(proto))


MODULE_PARAMETERS, MODULE_BUFFERS = "module_parameters", "module_buffers"
MODULE_UNFUSED, MODULE_TRAINS = "module_unfused_attention", "module_training"
"""Entries of a model's metadata about the exported module: size, attentions split into operators, mode."""
_MOST_DIGITS = 18
"""Digits of a recorded size, which is read from an untrusted file."""


def _module_size(proto: ModelProto) -> ModuleSize | None:
    """Return the size of the module that a model was exported from, if ``tolcost torch`` noted it."""
    if not proto.metadata_props:
        return None
    noted = {entry.key: entry.value for entry in proto.metadata_props}
    sizes = [noted.get(key, "") for key in (MODULE_PARAMETERS, MODULE_BUFFERS)]
    sizes += [noted.get(key, "0") for key in (MODULE_UNFUSED, MODULE_TRAINS)]
    if not all(
        isinstance(n, str) and n.isascii() and n.isdecimal() and len(n) <= _MOST_DIGITS for n in sizes
    ):
        return None
    return ModuleSize(*map(int, sizes))


def node_of(proto: NodeProto) -> GraphNode:
    """Convert a single node."""
    return ModelReader().node(proto)


def function_of(proto: FunctionProto) -> ModelFunction:
    """Convert a single function."""
    return ModelReader().function(proto)


def opsets_of(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """Return the version of each domain that a model, or a function, declares."""
    found: dict[str, int] = {}
    for entry in imports:
        check_text((entry.domain,))
        domain = domain_of(entry.domain)
        if not 1 <= entry.version <= NEWEST_OPSET:
            refuse(
                "T0690",
                f"there is no version {entry.version} of the operators of {quoted(domain or 'ai.onnx')}",
            )
        found[domain] = entry.version
    return found


def domain_of(text: str) -> str:
    """Normalise a domain: that of ONNX itself is empty."""
    return "" if text == "ai.onnx" else text


_FIELDS = attrgetter("op_type", "domain", "name", "input", "output", "attribute", "overload")
"""One access to all fields is faster than one per field; so is slicing a sequence before ``tuple``."""

_Read = tuple[Mapping[str, Attribute], Mapping[str, Graph], bytes]
_NOTHING: _Read = ({}, {}, b"")


class ModelReader:
    """Reads the messages of one file.  Many nodes have equal attributes, which are read once."""

    def __init__(self) -> None:
        self._serial = count(1)
        self._depth = 0
        self._read: dict[bytes, _Read] = {}

    # ---- functions and graphs ----

    def functions(self, protos: Iterable[FunctionProto]) -> Mapping[FunctionKey, ModelFunction]:
        """Convert the functions of a model."""
        found: dict[FunctionKey, ModelFunction] = {}
        for proto in protos:
            key = (domain_of(proto.domain), proto.name, getattr(proto, "overload", ""))
            if key in found:
                refuse("T0675", f"two functions are called {shown(proto.name)}")
            found[key] = self.function(proto)
        return found

    def function(self, proto: FunctionProto) -> ModelFunction:
        """Convert a function to our own type."""
        check_text((proto.name, proto.domain, *proto.input, *proto.output, *proto.attribute))
        attributes, graphs, _ = self._attributes(proto.attribute_proto)
        nodes, order = self._nodes(proto.node, proto.input)
        return ModelFunction(
            proto.name,
            domain_of(proto.domain),
            tuple(proto.input),
            tuple(proto.output),
            attributes,
            graphs,
            nodes,
            opsets_of(proto.opset_import),
            order,
        )

    def graph(
        self, proto: GraphProto, held: Mapping[int, memoryview] = _NONE_HELD, outermost: bool = False
    ) -> Graph:
        """Convert a graph to our own type."""
        weights: dict[str, Weight] = {}
        dense = (self._weight(tensor, held.get(n)) for n, tensor in enumerate(proto.initializer))
        for weight in (*dense, *map(self._sparse, proto.sparse_initializer)):
            if weight.name in weights:
                refuse("T0675", f"two initializers are called {shown(weight.name)}")
            weights[weight.name] = weight
        for info in proto.value_info if outermost else ():
            if info.name in weights and info.metadata_props:
                weight = weights[info.name]
                weights[info.name] = replace(weight, trained=is_parameter(info.metadata_props))
        # An initializer may be listed among the inputs, too, as their default value.
        inputs = tuple(declared_of(given) for given in proto.input if given.name not in weights)
        names = [given.name for given in inputs]
        if len(set(names)) < len(names):
            refuse("T0675", f"two inputs of the graph {shown(proto.name)} have one name")
        between = {info.name: declared_of(info) for info in (*proto.value_info, *proto.output)}
        outputs = tuple(output.name for output in proto.output)
        declared = (*map(_words, inputs), *map(_words, between.values()))
        check_text(chain((proto.name,), weights, between, outputs, *declared))
        nodes, order = self._nodes(proto.node, {*names, *weights})
        kept = between if outermost else {name: between[name] for name in outputs}
        return Graph(proto.name, inputs, weights, nodes, outputs, kept, order)

    def _inner_graph(self, proto: GraphProto) -> Graph:
        if self._depth >= MOST_NESTED_GRAPHS:
            refuse("T0506", f"graphs nest more than {MOST_NESTED_GRAPHS} deep")
        self._depth += 1
        try:
            return self.graph(proto)
        finally:
            self._depth -= 1

    # ---- nodes ----

    def _nodes(
        self, protos: Iterable[NodeProto], given: Collection[str]
    ) -> tuple[tuple[GraphNode, ...], tuple[int, ...]]:
        """Return nodes in topological order, and their positions in the file if the order there differs."""
        nodes = tuple(map(self.node, protos))
        check_text(_node_words(nodes))
        order = sort_nodes(nodes, given)
        return tuple(nodes[n] for n in order) if order else nodes, order

    def node(self, proto: NodeProto) -> GraphNode:
        """Convert a node to our own type, with a fast path for fields that most nodes lack."""
        op, domain, name, given, gives, raw, overload = _FIELDS(proto)
        outputs = tuple(gives[:])
        domain = domain_of(domain) if domain else ""
        attributes, graphs, key = (
            (self._large_constant(domain, op, raw) or self._attributes(raw)) if raw else _NOTHING
        )
        named = outputs and outputs[-1]
        asked = len(outputs) if named else max((n for n, o in enumerate(outputs, 1) if o), default=1)
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

    def _large_constant(self, domain: str, op: str, protos: Sequence[AttributeProto]) -> _Read | None:
        """Read the attribute of a node that only holds a tensor too large to decide a shape."""
        first = protos[0]
        if (domain, op, first.name) != HOLDS_A_TENSOR or len(protos) > 1 or first.ref_attr_name:
            return None
        weight = self._attribute(first) if len(first.t.raw_data) > _LONGEST_KEY else None
        if not isinstance(weight, Weight) or weight.value is not None:
            return None
        return {first.name: weight}, {}, f"{weight.space} {weight.shape}".encode()

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
            check_inside(proto.t, f"the attribute {shown(proto.name)}")
            return self._weight(proto.t)
        if proto.type == AttributeProto.SPARSE_TENSOR:
            for part in (proto.sparse_tensor.values, proto.sparse_tensor.indices):
                check_inside(part, f"the attribute {shown(proto.name)}")
            return self._sparse(proto.sparse_tensor)
        return attribute_value(proto)

    # ---- tensors ----

    def _weight(self, tensor: TensorProto, data: memoryview | None = None) -> Weight:
        """Convert a stored tensor, with its value if that may decide a shape."""
        shape = checked_shape(tensor.name, tensor.dims)
        space, size = space_of_code(tensor.data_type), math.prod(shape)
        if data is not None and size <= SMALL:  # a mismatch, which the general code reports
            tensor.raw_data, data = bytes(data), None
        value = None
        if tensor.data_location != TensorProto.EXTERNAL:
            check_size(tensor, size, data)
            value = small_value(tensor, space, size) if data is None else None
        array = partial(array_of, tensor, data)
        return Weight(tensor.name, space, shape, array, value, None, self._key(tensor.name))

    def _sparse(self, tensor: SparseTensorProto) -> Weight:
        name = tensor.values.name
        shape = checked_shape(name, tensor.dims)
        space, stored = space_of_code(tensor.values.data_type), math.prod(tensor.values.dims)
        return Weight(name, space, shape, partial(dense, tensor), None, stored, self._key(name))

    def _key(self, name: str) -> str:
        return f"weight {next(self._serial)} {name}"


def _node_words(nodes: Iterable[GraphNode]) -> Iterator[str]:
    return chain.from_iterable((n.op, n.domain, n.name, n.overload, *n.inputs, *n.outputs) for n in nodes)


def _words(declared: Declared) -> Iterable[str]:
    return (declared.name, *(d for d in declared.shape or () if not isinstance(d, int | None)))
