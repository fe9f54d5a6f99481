"""What is kept of a model: its file without weights, and the shapes that onnxruntime observes."""

from __future__ import annotations

import io
import json
import lzma
import math
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from model_branches import session_of
from model_runs import KINDS
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

from tests.models.corpus import ARCHIVE, OBSERVED, Observed
from tolcost.catalogue.reading import model_in
from tools.corpus.members import Member, point

DECIDING = {TensorProto.INT64: 1024, TensorProto.INT32: 1024, TensorProto.BOOL: 1024}
"""Up to how many elements a constant may decide a shape; of other types, up to 16."""

MODULES = ("pkg.torch.onnx.name_scopes", "namespace")
"""The notes of exporters at a node that tell the modules it comes from."""


# ---- without weights -----------------------------------------------------------------------


def without_weights(raw: bytes) -> bytes:
    """A model whose weights are said to lie beside it, and do not; notes of exporters are left out."""
    model = ModelProto.FromString(raw)
    del model.metadata_props[:]
    strip_graph(model.graph)
    for function in model.functions:
        for node in function.node:
            strip_node(node)
    return model.SerializeToString(deterministic=True)


def strip_graph(graph: GraphProto) -> None:
    """Take the weights out of a graph, and of graphs inside of it."""
    graph.doc_string = ""
    del graph.metadata_props[:]
    for tensor in graph.initializer:
        strip_notes(tensor)
        if is_weight(tensor):
            forget(tensor)
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="weights")
    for info in (*graph.value_info, *graph.input, *graph.output):
        strip_notes(info)
    for node in graph.node:
        strip_node(node)


def strip_node(node: NodeProto) -> None:
    """Take the weights out of a node; those of attributes become zeros, as they have no place elsewhere."""
    node.doc_string = ""
    kept = [entry for entry in node.metadata_props if entry.key.endswith(MODULES)]
    del node.metadata_props[:]
    node.metadata_props.extend(kept)
    for attribute in node.attribute:
        attribute.doc_string = ""
        if attribute.type == AttributeProto.GRAPH:
            strip_graph(attribute.g)
        if attribute.type == AttributeProto.TENSOR and is_weight(attribute.t) and attribute.t.raw_data:
            attribute.t.raw_data = bytes(len(attribute.t.raw_data))


def strip_notes(noted: Any) -> None:
    noted.doc_string = ""
    del noted.metadata_props[:]


def is_weight(tensor: TensorProto) -> bool:
    """Whether a tensor has more elements than decide a shape."""
    return math.prod(tensor.dims) > DECIDING.get(tensor.data_type, 16) and tensor.data_type != 8


def forget(tensor: TensorProto) -> None:
    """Take the elements out of a tensor."""
    kept = {"name", "dims", "data_type"}
    for field, _ in tensor.ListFields():
        if field.name not in kept:
            tensor.ClearField(field.name)


# ---- at two points -------------------------------------------------------------------------


def observe(path: Path, member: Member) -> list[Observed]:
    """The shapes of all values at both points, as onnxruntime gives them; once where no length is open."""
    found: list[Observed] = []
    for which in (0, 1):
        dims = lengths(path, member, which)
        if found and dims == found[0].dims:
            break
        try:
            found.append(Observed(dims, shapes_at(path, feeds(path, dims))))
        except Exception as error:  # whatever onnxruntime does not take
            words = str(error).strip().splitlines()[0]
            print(f"{member.name}: onnxruntime: {words[:400]}", flush=True)
            found.append(Observed(dims, {}, f"refuses it: {words.split(' : ')[-1][:100]}"))
    return found


def lengths(path: Path, member: Member, which: int) -> dict[str, int]:
    """The open lengths of a model at one of its points."""
    names = [d for shape in shapes_of(path).values() for d in shape if isinstance(d, str)]
    return {name: point(member, name, which) for name in names}


def shapes_of(path: Path) -> dict[str, list[int | str]]:
    """The shapes of the inputs of a model: numbers, and the names that tolcost has for open lengths."""
    given = model_in(path.read_bytes(), path.name, path.stem).graph.inputs
    return {
        one.name: [f"{one.name}[{n}]" if d is None else d for n, d in enumerate(one.shape or ())]
        for one in given
    }


def shapes_at(path: Path, given: Mapping[str, Any]) -> dict[str, list[int]]:
    """The shapes of all values that a model comes to."""
    proto = onnx.load(path)
    runtime = session_of(proto, [n for node in proto.graph.node for n in node.output if n])
    names = [output.name for output in runtime.get_outputs()]
    values = runtime.run(names, given)
    return {n: list(v.shape) for n, v in zip(names, values, strict=True) if isinstance(v, np.ndarray)}


def feeds(path: Path, dims: Mapping[str, int]) -> dict[str, Any]:
    """Random input at lengths."""
    random = np.random.default_rng(7)
    graph = onnx.load(path, load_external_data=False).graph
    types = {given.name: given.type.tensor_type.elem_type for given in graph.input}
    found = {}
    for name, shape in shapes_of(path).items():
        kind = onnx.helper.tensor_dtype_to_np_dtype(types[name])
        found[name] = draw(random, name, [d if isinstance(d, int) else dims[d] for d in shape], kind)
    return found


def first_feeds(path: Path, member: Member) -> dict[str, Any]:
    """Random input at the first point."""
    return feeds(path, lengths(path, member, 0))


def draw(random: np.random.Generator, name: str, shape: list[int], kind: Any) -> Any:
    """Elements of an input: masks let all through."""
    if kind == KINDS["tensor(string)"]:
        return random.choice(np.array(["red", "green bird", "blue"]), shape).astype(object)
    if "mask" in name:
        return np.ones(shape, kind)
    if np.issubdtype(kind, np.floating):
        return random.standard_normal(shape).astype(kind)
    return random.integers(1, 50, shape).astype(kind)


# ---- the archive ---------------------------------------------------------------------------


def write_archive(models: Mapping[str, bytes], observed: Mapping[str, list[Observed]]) -> None:
    """Write all models, and what was observed of them: like ones next to each other."""
    told = {name: [one._asdict() for one in each] for name, each in observed.items()}
    files = {**{f"{name}.onnx": raw for name, raw in models.items()}, OBSERVED: json.dumps(told).encode()}
    ARCHIVE.write_bytes(lzma.compress(b"".join(packed(files)), preset=9 | lzma.PRESET_EXTREME))


def packed(files: Mapping[str, bytes]) -> Iterator[bytes]:
    """An archive with nothing in it of when it was made, and by whom."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, raw in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(raw)
            archive.addfile(entry, io.BytesIO(raw))
    yield whole.getvalue()
