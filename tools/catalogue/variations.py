"""ONNX's node tests varied: other lengths, ranks, attributes, values, inputs and versions.

Nothing here says whether a variation is legal: those who run it do.
"""

from __future__ import annotations

import random
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx
from msgspec import Struct
from msgspec.structs import replace
from onnx import AttributeProto, ModelProto, NodeProto, helper, numpy_helper

from tolcost.catalogue.cases import _make_tests
from tolcost.catalogue.specs import open_library

LIBRARY = open_library()
LENGTHS = (0, 1, 1, 2, 2, 3, 3, 5, 7)
MOST_ELEMENTS = 4000

Array = np.ndarray
Item = Array | list[Array] | None


class Varied(Struct, frozen=True):
    """A node with what it is given, in the making or run: ``outputs`` are what it gives."""

    test: str
    node: NodeProto
    opset: int
    inputs: tuple[Item, ...]
    outputs: tuple[Item, ...] = ()


# ---- the node tests --------------------------------------------------------------------------------


@cache
def node_tests(operators: frozenset[str] = frozenset()) -> tuple[Varied, ...]:
    """The node tests whose inputs are numbers, of some operators or of all."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for test in _make_tests(set(operators)):
            (node, *more) = test.model.graph.node
            if more or "_expanded" in test.name or (operators and node.op_type not in operators):
                continue
            ((inputs, _),) = test.data_sets
            rest = iter(inputs)
            items = tuple(item_of(next(rest, None)) if name else None for name in node.input)
            if not any(isinstance(i, np.ndarray) and i.dtype.kind in "OUS" for i in items):
                found.append(Varied(test.name, node, _opset(test.model, node), items))
    return tuple(found)


def _opset(proto: ModelProto, node: NodeProto) -> int:
    """The version of a node: of those that mean the same, one that onnxruntime has."""
    told = next(o.version for o in proto.opset_import if o.domain in (node.domain, node.domain or "ai.onnx"))
    schema = _schema_of(node.op_type, told, node.domain)
    return told if node.domain or schema is None else min(told, max(schema.since_version, 22))


def item_of(value: Any) -> Item:
    if isinstance(value, list):
        return [np.asarray(numpy_helper.to_array(v) if isinstance(v, onnx.TensorProto) else v) for v in value]
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return None if value is None else np.asarray(value)


@cache
def attribute_values(operators: frozenset[str]) -> Mapping[tuple[str, str], list[AttributeProto]]:
    """What attributes of some operators are in all of their tests."""
    found = defaultdict(list)
    for one in node_tests(operators):
        for attribute in one.node.attribute:
            found[one.node.op_type, attribute.name].append(attribute)
    return found


# ---- variations ------------------------------------------------------------------------------------


class Varying:
    """The random choices of one variation."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.arrays = np.random.default_rng(self.random.randrange(2**32))

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, items: Sequence[Any]) -> Any:
        return self.random.choice(items)

    def filled(self, like: Array, shape: tuple[int, ...]) -> Array:
        """Elements of a tensor, in another shape: as many of them as are there stay in their order."""
        if shape == like.shape:
            return like
        size = int(np.prod(shape, dtype=np.int64))
        if size > MOST_ELEMENTS:
            raise ValueError("large")
        if like.size:
            flat = like.ravel()
            at = self.arrays.integers(0, like.size, size)
            if like.size and self.chance(0.5):
                at = np.arange(size) % like.size
            return flat[at].reshape(shape)
        return np.asarray(self.arrays.integers(-2, 3, size)).astype(like.dtype).reshape(shape)


def places_of(one: Varied) -> list[tuple[int, int]]:
    """The places of all tensors: the input, and the entry of a sequence."""
    found = []
    for n, item in enumerate(one.inputs):
        if isinstance(item, list):
            found += [(n, k) for k in range(len(item))]
        elif item is not None:
            found.append((n, -1))
    return found


def value_at(one: Varied, place: tuple[int, int]) -> Array:
    item = one.inputs[place[0]]
    assert item is not None
    return item[place[1]] if isinstance(item, list) else item


def _with(one: Varied, changed: Mapping[tuple[int, int], Array]) -> Varied:
    inputs: list[Item] = [list(item) if isinstance(item, list) else item for item in one.inputs]
    for (n, k), array in changed.items():
        item = inputs[n]
        if isinstance(item, list):
            item[k] = array
        else:
            inputs[n] = array
    return replace(one, inputs=tuple(inputs))


def other_length(one: Varied, vary: Varying) -> Varied:
    """Another length for all axes of some length, wherever it stands, sometimes in attributes and values."""
    places = places_of(one)
    lengths = sorted({n for place in places for n in value_at(one, place).shape})
    if not lengths:
        return one
    old, new = vary.pick(lengths), vary.pick(LENGTHS)
    changed = {
        place: vary.filled(a, tuple(new if n == old else n for n in a.shape))
        for place in places
        if old in (a := value_at(one, place)).shape
    }
    found = _with(one, changed)
    return _renumbered(found, old, new) if vary.chance(0.4) else found


def _renumbered(one: Varied, old: int, new: int) -> Varied:
    node = NodeProto()
    node.CopyFrom(one.node)
    for attribute in node.attribute:
        if attribute.type == AttributeProto.INT and attribute.i == old and attribute.name not in _fixed(one):
            attribute.i = new
        if attribute.type == AttributeProto.INTS:
            attribute.ints[:] = [new if n == old else n for n in attribute.ints]
    inputs: list[Item] = [
        np.where(i == old, new, i).astype(i.dtype)
        if isinstance(i, np.ndarray) and i.dtype == np.int64 and i.ndim <= 1
        else i
        for i in one.inputs
    ]
    return replace(one, node=node, inputs=tuple(inputs))


def one_length(one: Varied, vary: Varying) -> Varied:
    """Another length for one axis of one input."""
    places = [p for p in places_of(one) if value_at(one, p).ndim]
    if not places:
        return one
    place = vary.pick(places)
    a = value_at(one, place)
    shape = list(a.shape)
    shape[vary.random.randrange(a.ndim)] = vary.pick(LENGTHS)
    return _with(one, {place: vary.filled(a, tuple(shape))})


def all_lengths(one: Varied, vary: Varying) -> Varied:
    """Other lengths for all axes, those that are equal alike."""
    places = places_of(one)
    to = {n: vary.pick(LENGTHS) for n in sorted({n for place in places for n in value_at(one, place).shape})}
    return _with(
        one, {p: vary.filled(value_at(one, p), tuple(to[n] for n in value_at(one, p).shape)) for p in places}
    )


def other_rank(one: Varied, vary: Varying) -> Varied:
    """An axis more or less, of one input or of all that have as many."""
    places = places_of(one)
    if not places:
        return one
    first = vary.pick(places)
    rank = value_at(one, first).ndim
    alike = [p for p in places if value_at(one, p).ndim == rank] if vary.chance(0.5) else [first]
    at, new = vary.random.randint(0, rank), vary.pick(LENGTHS)
    less = vary.chance(0.5) and rank > 0
    changed = {}
    for place in alike:
        a = value_at(one, place)
        shape = list(a.shape)
        if less:
            del shape[min(at, rank - 1)]
        else:
            shape.insert(at, new)
        changed[place] = vary.filled(a, tuple(shape))
    return _with(one, changed)


_NUMBERS = (-3, -2, -1, 0, 1, 2, 3, 4)


def other_attribute(one: Varied, vary: Varying) -> Varied:
    """Another value for an attribute, one more, or one less."""
    schema = _schema(one)
    if schema is None or not schema.attributes:
        return one
    node = NodeProto()
    node.CopyFrom(one.node)
    name = vary.pick(sorted(schema.attributes))
    told = {a.name: a for a in node.attribute}
    kept = [a for a in node.attribute if a.name != name]
    del node.attribute[:]
    node.attribute.extend(kept)
    known = attribute_values(frozenset({one.node.op_type})).get((one.node.op_type, name), [])
    if name in told and vary.chance(0.2):
        return replace(one, node=node)
    if known and vary.chance(0.3):
        node.attribute.append(vary.pick(known))
        return replace(one, node=node)
    kind = schema.attributes[name].type
    if name in _truths(one):
        node.attribute.append(helper.make_attribute(name, vary.pick((0, 1))))
        return replace(one, node=node)
    kinds = onnx.defs.OpSchema.AttrType
    if name in TYPES:
        inner = name in ("stash_type", "softmax_precision", "precision")  # what sums are computed in
        node.attribute.append(
            helper.make_attribute(name, vary.pick((1, 11) if inner else (1, 2, 6, 7, 10, 11)))
        )
    elif kind == kinds.INT:
        node.attribute.append(helper.make_attribute(name, vary.pick(_NUMBERS)))
    elif kind == kinds.INTS:
        node.attribute.append(helper.make_attribute(name, _numbers(one, told.get(name), vary)))
    elif kind == kinds.FLOAT:
        node.attribute.append(helper.make_attribute(name, vary.pick((-1.0, 0.0, 0.25, 0.5, 1.0, 2.0))))
    elif known:
        node.attribute.append(vary.pick(known))
    else:
        return one
    return replace(one, node=node)


def _truths(one: Varied) -> set[str]:
    spec = LIBRARY.find(one.node.domain, one.node.op_type, one.opset)
    return set() if spec is None else {s.name for s in spec.attributes if s.space == "B"}


TYPES = {"to", "dtype", "stash_type", "softmax_precision", "output_datatype", "output_dtype", "precision"}
"""Attributes that are element types, as ONNX numbers them."""


def _fixed(one: Varied) -> set[str]:
    return TYPES | _truths(one)


def _numbers(one: Varied, told: AttributeProto | None, vary: Varying) -> list[int]:
    if told is not None and told.ints and vary.chance(0.7):
        found = list(told.ints)
        found[vary.random.randrange(len(found))] = vary.pick(_NUMBERS)
        return found
    ranks = [value_at(one, p).ndim for p in places_of(one)] or [1]
    rank = ranks[0]
    size = vary.pick((1, 2, rank, max(rank - 2, 1), 2 * max(rank - 2, 1)))
    return [vary.pick(_NUMBERS[3:] if vary.chance(0.7) else _NUMBERS) for _ in range(size)]


@cache
def _schema_of(op: str, opset: int, domain: str) -> Any:
    try:
        return onnx.defs.get_schema(op, opset, domain)
    except onnx.defs.SchemaError:
        return None


def _schema(one: Varied) -> Any:
    return _schema_of(one.node.op_type, one.opset, one.node.domain)


def other_values(one: Varied, vary: Varying) -> Varied:
    """Other numbers in a vector of whole numbers, or another vector."""
    places = [p for p in places_of(one) if value_at(one, p).dtype in (np.int64, np.int32)]
    if not places:
        return one
    place = vary.pick(places)
    a = value_at(one, place).copy()
    if not a.size or vary.chance(0.3):
        size = vary.pick((0, 1, 2, 3, 4)) if a.ndim == 1 and vary.chance(0.6) else a.size
        shape = (size,) if a.ndim == 1 else a.shape
        return _with(one, {place: vary.arrays.integers(-2, 5, shape).astype(a.dtype)})
    a.ravel()[vary.random.randrange(a.size)] = vary.pick(_NUMBERS)
    return _with(one, {place: a})


def other_inputs(one: Varied, vary: Varying) -> Varied:
    """One that may be left out is; one of several is there once more."""
    schema = _schema(one)
    if schema is None:
        return one
    kinds = onnx.defs.OpSchema.FormalParameterOption
    node = NodeProto()
    node.CopyFrom(one.node)
    n = vary.random.randrange(max(len(node.input), 1))
    if n >= len(node.input):
        return one
    last = len(schema.inputs) - 1
    formal = schema.inputs[min(n, last)]
    if formal.option == kinds.Optional:
        node.input[n] = ""
        inputs = [*one.inputs[:n], None, *one.inputs[n + 1 :]]
        while inputs and inputs[-1] is None:
            inputs.pop()
            node.input.pop()
        return replace(one, node=node, inputs=tuple(inputs))
    if formal.option == kinds.Variadic and formal.is_homogeneous:
        if vary.chance(0.5) and len(node.input) > 1:
            del node.input[n]
            return replace(one, node=node, inputs=(*one.inputs[:n], *one.inputs[n + 1 :]))
        node.input.append(f"{node.input[n]}_more")
        return replace(one, node=node, inputs=(*one.inputs, one.inputs[n]))
    return one


def other_opset(one: Varied, vary: Varying) -> Varied:
    """The same node in a model of another version."""
    return one if one.node.domain else replace(one, opset=vary.random.randint(7, 28))


WAYS: tuple[tuple[int, Callable[[Varied, Varying], Varied]], ...] = (
    (4, other_length),
    (3, all_lengths),
    (4, one_length),
    (3, other_rank),
    (4, other_attribute),
    (2, other_values),
    (1, other_inputs),
    (2, other_opset),
)


def varied(one: Varied, seed: str) -> Varied | None:
    """A test with a few things changed; None where that comes to nothing."""
    vary = Varying(seed)
    found = one
    for _ in range(vary.pick((1, 1, 2, 2, 3, 4))):
        way = vary.random.choices([w for _, w in WAYS], [n for n, _ in WAYS])[0]
        try:
            found = way(found, vary)
        except ValueError:
            return None
    return (
        None
        if found is one or any(value_at(found, p).size > MOST_ELEMENTS for p in places_of(found))
        else found
    )
