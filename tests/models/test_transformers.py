"""Transformers as exporters write them: totals in batch and seq, and the shapes a runtime sees."""

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from tests.models.running import run_model
from tolcost.algebra import evaluate, length
from tolcost.catalogue.reading import model_of
from tolcost.catalogue.specs import open_library
from tolcost.models.facts import shape_of
from tolcost.models.walking import Session
from tolcost.result.model import ModelStudy, Wanted, model_cost, of_model
from tools.models import graphs

BATCH, SEQ = length("batch"), length("seq")
STYLES = [(17, False), (18, False), (18, True), (23, True)]
"""Opsets, and whether the exporter is that by torch.export, from 18 on; TorchScript's ends before 23."""

BUILDERS = {"bert": graphs.bert, "gpt2": graphs.gpt2, "llama": graphs.llama}


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


def studied(proto: onnx.ModelProto, session: Session, **dims: int) -> ModelStudy:
    return of_model(model_cost(model_of(proto, "model"), "model.onnx", session, Wanted(dims)))


def matmul_macs(study: ModelStudy) -> object:
    wanted = {"MatMul", "Gemm", "Attention"}
    return sum(group.figures.macs for group in study.operators if group.title in wanted)


@pytest.mark.parametrize("opset, dynamo", STYLES)
def test_bert_base(opset: int, dynamo: bool, session: Session) -> None:
    study = studied(graphs.bert(opset, dynamo=dynamo), session)
    assert study.coverage.missing == ()
    assert matmul_macs(study) == 84934656 * BATCH * SEQ + 18432 * BATCH * SEQ**2
    assert {symbol.name for symbol in study.symbols} == {"batch", "seq"}
    assert study.holdings.parameters == 108_891_648
    assert [str(r.condition.p) for r in study.requirements] == ["512 - seq"]


@pytest.mark.parametrize("opset, dynamo", STYLES)
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_decoders(name: str, opset: int, dynamo: bool, session: Session) -> None:
    study = studied(BUILDERS[name](opset, dynamo=dynamo), session)
    assert study.coverage.missing == ()
    assert {symbol.name for symbol in study.symbols} == {"batch", "seq"}
    forms = {"gpt2": 123532032 * BATCH * SEQ + 18432 * BATCH * SEQ**2,
             "llama": 1034420224 * BATCH * SEQ + 90112 * BATCH * SEQ**2}  # fmt: skip
    assert matmul_macs(study) == forms[name]
    assert study.total.status == "exact"


def test_all_opsets_agree(session: Session) -> None:
    """The same network costs the same, whichever way its shapes are computed."""
    for name, build in BUILDERS.items():
        first, second = (studied(build(opset), session).total for opset in (17, 18))
        assert first.eops == second.eops, name
        assert first.macs == second.macs, name


def observed(proto: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a runtime gives for every value of a model: onnxruntime, or onnx's own where that is missing."""
    names = [name for node in proto.graph.node for name in node.output if name]
    everything = onnx.ModelProto()
    everything.CopyFrom(proto)
    del everything.graph.output[:]
    everything.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    return dict(zip(names, _run(everything, names, feeds), strict=True))


def _run(proto: onnx.ModelProto, names: list[str], feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    try:
        import onnxruntime as ort
    except ImportError:
        found: list[np.ndarray] = ReferenceEvaluator(proto).run(names, feeds)
        return found
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    runtime = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(runtime.run(names, feeds))


def feeds_for(proto: onnx.ModelProto, batch: int, seq: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(batch * 100 + seq)
    return {
        given.name: np.ones((batch, seq), np.int64)
        if "mask" in given.name
        else random.integers(0, graphs.SMALL.vocabulary, (batch, seq))
        for given in proto.graph.input
    }


@pytest.mark.parametrize("opset, dynamo", STYLES)
@pytest.mark.parametrize("name", BUILDERS)
def test_shapes_are_those_a_runtime_observes(name: str, opset: int, dynamo: bool, session: Session) -> None:
    proto = BUILDERS[name](opset, graphs.SMALL, stored=True, dynamo=dynamo)
    study = studied(proto, session)
    assert study.coverage.missing == ()
    for batch, seq in ((2, 5), (3, 7)):
        values = {s: {"batch": batch, "seq": seq}[s.name] for s in study.symbols}
        for tensor, array in observed(proto, feeds_for(proto, batch, seq)).items():
            shape = shape_of(study.cost.known(tensor))
            assert shape is not None, tensor
            assert tuple(evaluate(d, values) for d in shape) == array.shape, tensor


@pytest.mark.parametrize(
    "name, opset, dynamo",
    [("bert", 17, False), ("gpt2", 18, True), ("llama", 18, False), ("llama", 23, True)],
)
def test_running_gives_the_values_of_a_runtime(name: str, opset: int, dynamo: bool) -> None:
    proto = BUILDERS[name](opset, graphs.SMALL, stored=True, dynamo=dynamo)
    feeds = feeds_for(proto, 2, 5)
    found, _ = run_model(model_of(proto, "model"), feeds, open_library())
    (last,) = proto.graph.output
    np.testing.assert_allclose(found[last.name], observed(proto, feeds)[last.name], rtol=2e-3, atol=1e-4)
