"""The peak of activations to the byte: held to what a run's values take, added up by hand."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.parser import parse_model
from onnx.reference import ReferenceEvaluator

import tolcost
from tolcost.algebra import Poly, const, floordiv, is_nonnegative, length
from tolcost.models import memory
from tools.models import graphs

BOUNDED = onnx.load(Path(__file__).parent / "exported" / "bounded.onnx")


def sizes(model: onnx.ModelProto, dims: Mapping[str, int]) -> dict[str, int]:
    """The bytes of every value, observed in a run in which all of them are outputs."""
    whole = graphs.with_all_values(model)
    for one in whole.graph.initializer:
        if one.data_location == onnx.TensorProto.EXTERNAL:
            kind = onnx.helper.tensor_dtype_to_np_dtype(one.data_type)
            one.CopyFrom(onnx.numpy_helper.from_array(np.ones(one.dims, kind), one.name))
    given = {}
    for one in whole.graph.input:
        declared = one.type.tensor_type
        shape = [d.dim_value or dims[d.dim_param] for d in declared.shape.dim]
        given[one.name] = np.ones(shape, onnx.helper.tensor_dtype_to_np_dtype(declared.elem_type))
    found = ReferenceEvaluator(whole).run(None, given)
    outputs = zip((out.name for out in whole.graph.output), found, strict=True)
    return {name: np.asarray(value).nbytes for name, value in (*given.items(), *outputs)}


def by_hand(model: onnx.ModelProto, dims: Mapping[str, int]) -> int:
    """Run nodes in order: a value lives from the node that gives it until the last that uses it."""
    size, graph = sizes(model, dims), model.graph
    constant = {"", *(one.name for one in graph.initializer)}
    last = {out.name: len(graph.node) for out in graph.output}
    for place, node in enumerate(graph.node):
        constant.update(node.output if constant.issuperset(node.input) else ())
        last.update({name: max(place, last.get(name, 0)) for name in (*node.input, *node.output)})
    live = {one.name for one in graph.input}
    peak = sum(size[name] for name in live)
    for place, node in enumerate(graph.node):
        live |= set(node.output) - constant
        peak = max(peak, sum(size[name] for name in live))
        live = {name for name in live if last.get(name, place) > place or name not in last}
    return peak


def test_an_exported_model_peaks_where_a_run_does() -> None:
    cost = tolcost.from_onnx(BOUNDED)
    for seq in (1, 5, 60):
        assert cost(batch=1, seq=seq).peak_bytes == by_hand(BOUNDED, {"batch": 1, "seq": seq})


def test_a_transformer_peaks_where_a_run_does() -> None:
    model = graphs.bert(17, graphs.SMALL)
    cost = tolcost.from_onnx(model)
    for dims in ({"batch": 1, "seq": 2}, {"batch": 3, "seq": 7}, {"batch": 2, "seq": 16}):
        assert cost(dims).peak_bytes == by_hand(model, dims)


def test_a_sequence_of_known_values_takes_memory_as_well() -> None:
    """Its entries are known where the file has the length, and as large as where it has none."""
    nodes = "{ s = Shape(x) v = ConstantOfShape <value = float[1] {1.5}> (s) y = SequenceConstruct(v, v, v) }"
    head = '<ir_version: 10, opset_import: ["" : 18]> g '
    cost = [
        tolcost.from_onnx(onnx.parser.parse_model(f"{head} (float[{n}] x) => (seq(float[a]) y) {nodes}"))
        for n in ("n", "2")
    ]
    assert cost[0](n=2).peak_bytes == cost[1].peak_bytes == 8 + 3 * 8


def test_what_all_sizes_share_has_no_part_in_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    b, n = length("b"), length("n")
    asked: list[Poly] = []
    monkeypatch.setattr(memory, "is_nonnegative", lambda p: asked.append(p) or is_nonnegative(p))
    half = floordiv(n, const(2))
    assert memory.dominating((b * (n + 1), b * (half + 1))) == ((b * (n + 1),), True)
    assert asked == [n - half]


def test_texts_may_make_it_more() -> None:
    """How many bytes texts take is not known: what the other values take was said to be all."""
    head = '<ir_version: 10, opset_import: ["" : 20]>'
    for space, remark, sure in (
        ("float", "bytes", "exact"),
        ("string", "bytes, perhaps more", "perhaps more"),
    ):
        cost = tolcost.from_onnx(
            parse_model(f"{head} g ({space}[n] a, {space}[n] b) => (bool[n] y) {{ y = Equal(a, b) }}")
        )
        (peak,) = (one for one in cost.measures if one.key == "peak_bytes")
        assert (peak.remark, cost.standing(peak, peak.form)) == (remark, sure)
    runs = tolcost.generate(cost, "n: 1..m")
    told = {one.key: one for one in runs.measures}
    assert told["peak_bytes"].remark == "bytes, with the cache, perhaps more"
    assert told["memory_bytes"].form is None
