"""Models are read without the elements of their large tensors, and are what protobuf makes of all of it."""

import random

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from tolcost.catalogue import reading
from tolcost.catalogue.graph import Model
from tolcost.catalogue.reading import (
    _GRAPH,
    _INITIALIZER,
    LARGE,
    _field,
    model_in,
    model_of,
    parse_model,
    without_data,
)
from tolcost.diagnostics import Rejected


def model(sizes: list[int]) -> ModelProto:
    """A model with tensors of so many bytes each; every other is no raw bytes."""
    tensors = [numpy_helper.from_array(np.arange(n, dtype=np.uint8), f"w{n}") for n in sizes]
    tensors += [helper.make_tensor(f"v{n}", TensorProto.INT64, [n], range(n)) for n in sizes]
    nodes = [helper.make_node("Identity", [tensor.name], [f"y_{tensor.name}"]) for tensor in tensors]
    nodes.append(helper.make_node("Constant", [], ["c"], value=tensors[0]))
    outputs = [helper.make_tensor_value_info(node.output[0], 2, None) for node in nodes]
    return helper.make_model(helper.make_graph(nodes, "held", [], outputs, tensors))


def told(found: Model) -> list[object]:
    weights = found.graph.weights.values()
    rows = [(w.name, w.space, w.shape, repr(w.value), w.key, w.array().tolist()) for w in weights]
    return [found.name, found.opsets, repr(found.graph.nodes), found.graph.outputs, *rows]


def outcome(read: Model | Rejected) -> str:
    return repr(read.diagnostics if isinstance(read, Rejected) else told(read))


def test_what_is_left_out_is_there_when_it_is_asked_for() -> None:
    raw = model([3, LARGE - 1, LARGE, LARGE + 1, 5 * LARGE]).SerializeToString()
    rest, held = without_data(raw)
    assert {place: len(data) for place, data in held.items()} == {3: LARGE + 1, 4: 5 * LARGE}
    assert len(rest) < len(raw) - 6 * LARGE
    assert told(model_in(raw, "f", "m")) == told(model_of(parse_model(raw, "f"), "m"))


def test_of_data_that_is_there_twice_the_last_counts() -> None:
    """Of a graph that is there twice, too, as protobuf has it, there is one that has the fields of both."""
    large, small = bytes(LARGE + 1), bytes(7)
    for first, last in ((large, small), (small, large)):
        head = TensorProto(name="w", dims=[len(last)], data_type=TensorProto.UINT8)
        parts = (head, TensorProto(raw_data=first), TensorProto(raw_data=last))
        tensor = b"".join(part.SerializeToString() for part in parts)
        raw = b"".join((model([1]).SerializeToString(), *_field(_GRAPH, _field(_INITIALIZER, [tensor]))))
        assert ModelProto.FromString(raw).graph.initializer[-1].raw_data == last
        assert bool(without_data(raw)[1]) == (last is large)
        assert told(model_in(raw, "f", "m")) == told(model_of(parse_model(raw, "f"), "m"))


def test_a_file_that_is_damaged_is_left_to_protobuf(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is larger than 4 bytes is left out, and put back: it does not fit a shape that is small."""
    monkeypatch.setattr(reading, "LARGE", 4)
    whole, rng = model([3, 5, 9]).SerializeToString(), random.Random(4)
    assert without_data(whole)[1]
    seen = set()
    for _ in range(400):
        raw = bytearray(whole)
        for _ in range(rng.choice((0, 1, 1, 2, 5))):
            raw[rng.randrange(len(raw))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        cut = bytes(raw[: rng.choice((len(raw), rng.randrange(1, len(raw))))])
        try:
            expected: Model | Rejected = model_of(parse_model(cut, "f"), "m")
            told(expected)
        except Rejected as rejected:
            expected = rejected
        try:
            found: Model | Rejected = model_in(cut, "f", "m")
            told(found)
        except Rejected as rejected:
            found = rejected
        assert outcome(found) == outcome(expected)
        seen.add(type(found))
    assert seen == {Model, Rejected}
