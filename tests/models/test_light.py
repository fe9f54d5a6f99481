"""The nine graphs that come with onnx: every node costed, and the multiply-accumulates that are
known for them."""

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.models.running import run_model
from tolcost.catalogue.reading import load_model, model_of
from tolcost.catalogue.specs import open_library
from tolcost.models.walking import Session
from tolcost.result.model import study_file

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
MACS = {
    "bvlc_alexnet": 654_560_384,
    "densenet121": 2_834_161_664,
    "inception_v1": 1_431_556_352,
    "inception_v2": 2_018_851_840,
    "resnet50": 4_089_184_256,
    "shufflenet": 124_664_528,
    "squeezenet": 349_151_936,
    "vgg19": 19_632_062_464,
    "zfnet512": 1_481_727_008,
}
PARAMETERS = {"bvlc_alexnet": 60_965_224, "resnet50": 25_610_152, "vgg19": 143_667_240}


@pytest.fixture(name="session", scope="module")
def _session() -> Session:
    return Session(open_library())


def test_these_are_all_the_graphs_there_are() -> None:
    assert {path.stem.removeprefix("light_") for path in LIGHT.glob("*.onnx")} == MACS.keys()


@pytest.mark.parametrize("name", MACS)
def test_every_node_is_costed_and_macs_are_exact(name: str, session: Session) -> None:
    study = study_file(LIGHT / f"light_{name}.onnx", session)
    assert study.coverage.missing == ()
    counted = {group.title: group.figures.macs for group in study.operators}
    assert counted["Conv"] + counted.get("Gemm", 0) == MACS[name]
    assert study.total.status == "exact"
    assert study.symbols == ()
    if name in PARAMETERS:
        assert study.holdings.parameters == PARAMETERS[name]


def expected(name: str) -> np.ndarray:
    tensor = onnx.TensorProto.FromString((LIGHT / f"light_{name}_output_0.pb").read_bytes())
    return numpy_helper.to_array(tensor)


def counting_up(*shape: int) -> np.ndarray:
    """The input that the shipped outputs belong to."""
    size = int(np.prod(shape))
    return (np.arange(size).reshape(shape) / size).astype(np.float32)


def first_nodes(model: onnx.ModelProto, count: int, shape: list[int]) -> onnx.ModelProto:
    """The model cut after some nodes, for a smaller picture; nodes that make weights do not count."""
    kept, left = [], count
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            left -= 1
        kept.append(node)
        if left == 0:
            break
    last = kept[-1].output[0]
    given = next(g for g in model.graph.input if g.name not in {t.name for t in model.graph.initializer})
    graph = onnx.helper.make_graph(
        kept,
        "cut",
        [onnx.helper.make_tensor_value_info(given.name, onnx.TensorProto.FLOAT, shape)],
        [onnx.helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, None)],
        model.graph.initializer,
    )
    return onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=8)


def test_a_slice_of_squeezenet_runs_through_the_definitions() -> None:
    model = onnx.load(LIGHT / "light_squeezenet.onnx")
    cut = first_nodes(model, 10, [1, 3, 35, 35])
    picture = counting_up(1, 3, 35, 35)
    found, _ = run_model(model_of(cut, "cut"), {cut.graph.input[0].name: picture}, open_library())
    (theirs,) = ReferenceEvaluator(cut).run(None, {cut.graph.input[0].name: picture})
    np.testing.assert_allclose(next(iter(found.values())), theirs, rtol=1e-4)


def check_whole(name: str, session: Session) -> None:
    """Run a network by the definitions: its output is the shipped one, its counts are the closed form."""
    path = LIGHT / f"light_{name}.onnx"
    study = study_file(path, session)
    given = study.model.graph.inputs[0]
    picture = counting_up(*(d for d in given.shape or () if isinstance(d, int)))
    found, eops = run_model(load_model(path), {given.name: picture}, open_library())
    np.testing.assert_allclose(next(iter(found.values())), expected(name), rtol=1e-3, atol=1e-7)
    assert study.total.eops == eops


@pytest.mark.parametrize("name", ["squeezenet", "resnet50"])
def test_whole_networks_give_the_shipped_output_at_the_closed_form(name: str, session: Session) -> None:
    check_whole(name, session)


@pytest.mark.hypothesis
@pytest.mark.skipif("TOLCOST_SOAK" not in os.environ, reason="seven more networks take minutes: make soak")
@pytest.mark.parametrize("name", sorted(MACS.keys() - {"squeezenet", "resnet50"}))
def test_the_other_networks_do_too(name: str, session: Session) -> None:
    check_whole(name, session)
