"""The content of ONNX's messages: tensors, attributes, and declarations of values."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Sequence
from typing import Protocol

from tolcost.algebra import FALSE, TRUE, const
from tolcost.catalogue.graph import MOST_RANK, Declared
from tolcost.catalogue.messages import (
    AttributeProto,
    SparseTensorProto,
    TensorProto,
    TypeProto,
    ValueInfoProto,
)
from tolcost.catalogue.types import SMALL, Array, constant, simplest, space_of_code
from tolcost.diagnostics import quoted, refuse
from tolcost.elaborate.values import Cast, Value, Vec

_DECIDING = {"int64": SMALL, "int32": SMALL, "bool": SMALL, "float32": 16, "float64": 16, "float16": 16}
"""Elements up to which a constant of a space may decide a shape; any larger one is a weight."""

_NAMELESS = ("", "?", "*", "-1", "None", "none", "unknown")
"""Exporters' marks for a length without a name; two of them are not the same length."""

MOST_DENSE = 1 << 20
"""Limit on the elements of a sparse tensor that is expanded."""

_STORED: dict[int, tuple[str, int]] = {
    TensorProto.FLOAT: ("float_data", 4),
    TensorProto.INT64: ("int64_data", 8),
    TensorProto.INT32: ("int32_data", 4),
    TensorProto.DOUBLE: ("double_data", 8),
}
"""The fields of elements that are not raw bytes, and the bytes of an element."""

_NARROW: dict[int, tuple[int, int]] = {
    TensorProto.BOOL: (0, 1),
    TensorProto.INT8: (-(1 << 7), (1 << 7) - 1),
    TensorProto.UINT8: (0, (1 << 8) - 1),
    TensorProto.INT16: (-(1 << 15), (1 << 15) - 1),
    TensorProto.UINT16: (0, (1 << 16) - 1),
}
"""Narrow elements that are stored in a wider field, with their ranges."""

_CODES = {
    "float16": "e", "float32": "f", "float64": "d", "bool": "?", "int8": "b", "int16": "h", "int32": "i",
    "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
}  # fmt: skip
"""The ``struct`` codes of elements stored as raw bytes."""


def shown(name: str | bytes) -> str:
    """Quote a name in a message; protobuf returns one that is not text as bytes."""
    return quoted(name if isinstance(name, str) else name.decode("utf-8", "replace"))


def check_rank(name: str, rank: int) -> None:
    """Refuse a tensor of excessive rank."""
    if rank > MOST_RANK:
        refuse("T0506", f"{shown(name)} has {rank:,} dimensions: more than {MOST_RANK}")


def checked_shape(name: str, dims: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of a stored tensor."""
    check_rank(name, len(dims))
    if any(d < 0 for d in dims):
        refuse("T0674", f"the initializer {shown(name)} has a negative length")
    return tuple(dims)


# ---- tensors -----------------------------------------------------------------------------


def array_of(value: object, data: memoryview | None = None) -> Array:
    """Return the array of a tensor, an array or a scalar; ``data`` has elements that were read separately."""
    import numpy as np

    if not isinstance(value, TensorProto):
        return np.asarray(value)
    check_inside(value, f"the tensor {shown(value.name)}")
    if data is not None:
        value.raw_data = bytes(data)
    from onnx import numpy_helper

    try:
        return numpy_helper.to_array(value)
    except (ValueError, TypeError, AttributeError) as error:
        refuse("T0674", f"the tensor {shown(value.name)} does not hold what it says: {error}"[:300])


def dense(sparse: SparseTensorProto) -> Array:
    """Return the array of a sparse tensor; its indices are flat, or one row of coordinates each."""
    import numpy as np

    values, places = array_of(sparse.values), array_of(sparse.indices)
    shape = tuple(sparse.dims)
    if math.prod(shape) > MOST_DENSE:
        refuse("T0651", f"a sparse constant of {math.prod(shape):,} elements is too large")
    try:
        flat = places if places.ndim == 1 else np.ravel_multi_index(tuple(places.T), shape)
        array = np.zeros(math.prod(shape), dtype=values.dtype)
        array[flat] = values
        return array.reshape(shape)
    except (ValueError, TypeError, IndexError) as error:
        refuse("T0674", f"a sparse tensor does not hold what it says: {error}"[:300])


def check_inside(tensor: TensorProto, what: str) -> None:
    """Refuse a tensor whose elements are needed but stored in another file, which is never opened."""
    if tensor.data_location == TensorProto.EXTERNAL:
        hint = "only initializers may keep their data beside the model, and a cost needs none of it"
        refuse("T0674", f"{what} keeps its data in another file", hint=hint)


def small_value(tensor: TensorProto, space: str, size: int) -> Value | None:
    """Return the value of a tensor that is small enough to decide a shape, else None."""
    if size > 1 and (space not in _DECIDING or size > _DECIDING[space]):
        return None
    numbers = _numbers(tensor, space, size)
    if numbers is None:
        return constant(array_of(tensor))
    shape = tuple(tensor.dims)
    return Cast(Vec(shape, numbers) if shape else numbers[0], space)


def _numbers(tensor: TensorProto, space: str, size: int) -> tuple[Value, ...] | None:
    """Read the elements of a small tensor as NumPy would; None where NumPy itself is needed."""
    field, _ = _STORED.get(tensor.data_type, ("", 0))
    if tensor.HasField("raw_data"):
        code = f"<{size}{_CODES.get(space, 's')}"
        if space not in _CODES or len(tensor.raw_data) != struct.calcsize(code):
            return None
        found: Sequence[float] = struct.unpack(code, tensor.raw_data)
    elif field and len(getattr(tensor, field)) == size:
        found = getattr(tensor, field)
    elif tensor.data_type in _NARROW and len(tensor.int32_data) == size:
        low, high = _NARROW[tensor.data_type]
        found = tensor.int32_data
        if not all(low <= item <= high for item in found):
            return None
    else:
        return None
    if space == "bool":
        return tuple([TRUE if item else FALSE for item in found])
    if space.startswith("float"):
        return tuple([simplest(item, space) for item in found])
    return tuple([const(int(item)) for item in found])


def check_size(tensor: TensorProto, size: int, data: memoryview | None = None) -> None:
    """Refuse a tensor whose size differs from its shape, where that is visible without decoding."""
    if tensor.data_type not in _STORED:
        return
    field, width = _STORED[tensor.data_type]
    raw = tensor.raw_data if data is None and tensor.HasField("raw_data") else data
    held = len(getattr(tensor, field)) * width if raw is None else len(raw)
    if held != size * width:
        text = f"the tensor {shown(tensor.name)} has {held:,} bytes, but its shape needs {size * width:,}"
        refuse("T0674", text)


# ---- attributes of numbers and text ------------------------------------------------------


def attribute_value(attribute: AttributeProto) -> Value | None:
    """Return an attribute of numbers or text as a static value; None for any other attribute."""
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


# ---- declarations of values in the file ----------------------------------------------------


def declared_of(info: ValueInfoProto) -> Declared:
    """Return the model's declaration of a value."""
    name, kind = info.name, info.type
    which = kind.WhichOneof("value")
    optional = which == "optional_type"
    if optional:
        kind = kind.optional_type.elem_type
        which = kind.WhichOneof("value")
    sequence = which == "sequence_type"
    if sequence:
        kind = kind.sequence_type.elem_type
        which = kind.WhichOneof("value")
    tensor = kind.tensor_type if which == "tensor_type" else None
    code = 0 if tensor is None else tensor.elem_type
    if tensor is None or not code:
        return Declared(name, "", None, sequence, optional=optional)
    return Declared(name, space_of_code(code), _lengths(name, tensor), sequence, optional=optional)


def _lengths(name: str, tensor: TypeProto.Tensor) -> tuple[int | str | None, ...] | None:
    if not tensor.HasField("shape"):
        return None
    dims = tensor.shape.dim
    check_rank(name, len(dims))
    found: list[int | str | None] = []
    for d in dims:
        value = d.dim_value
        if value or d.HasField("dim_value"):
            if value < -1:
                refuse("T0691", f"{shown(name)} is declared with a length of {value}")
            found.append(value if value >= 0 else None)
        else:
            found.append(None if d.dim_param in _NAMELESS else d.dim_param)
    return tuple(found)


# ---- exporters' notes about a node: the source modules that it comes from ---------------------


_SCOPES, _NAMESPACE = "pkg.torch.onnx.name_scopes", "namespace"
_NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"
"""What PyTorch's exporter writes for a node that it knows no module of."""
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_MOST_CHARACTERS, _MOST_LEVELS = 10_000, 64


class MetadataEntry(Protocol):
    """An entry of the metadata of a node."""

    key: str
    value: str | bytes
    """Bytes if it is not text."""


KIND, PARAMETER = "pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER"
FOLDED = "pkg.onnxscript.optimizer.folded_from"


def is_parameter(entries: Iterable[MetadataEntry]) -> bool | None:
    """Whether newer exporters of PyTorch note a stored tensor as a parameter; None if they note nothing."""
    noted = {entry.key: entry.value for entry in entries if entry.key in (KIND, FOLDED)}
    return noted.get(KIND) == PARAMETER if noted else None


def scope_in(entries: Iterable[MetadataEntry]) -> tuple[str, ...]:
    """Return the modules around a node, outermost first, as newer exporters of PyTorch write them, if any.

    Both spellings list names that grow: ``model``, ``model.encoder``, ``model.encoder.layer.0``, and last the
    name of the node itself.
    """
    noted = {
        entry.key: entry.value
        for entry in entries
        if entry.key in (_SCOPES, _NAMESPACE) and isinstance(entry.value, str)
    }
    if _SCOPES in noted:
        text = noted[_SCOPES][:_MOST_CHARACTERS]
        names = [single or double for single, double in _QUOTED.findall(text)]
        return grown([name for name in names[:-1] if name != _NO_MODULE])
    parts = noted.get(_NAMESPACE, "")[:_MOST_CHARACTERS].split("/")
    names = [part.split(":")[0].strip() for part in parts[:-1]]
    return grown([name for name in names if name != _NO_MODULE])


def grown(names: Sequence[str]) -> tuple[str, ...]:
    """Return the suffix that each name adds to the one before.

    >>> grown(["", "model", "model.layer.0", "model.layer.0.norm"])
    ('model', 'layer.0', 'norm')
    """
    found: list[str] = []
    before = ""
    for name in names[:_MOST_LEVELS]:
        added = name.removeprefix(f"{before}.") if before else name
        if added:
            found.append(added)
            before = name
    return tuple(found)
