"""What is static only because an input happened to be known is counted where that input arrives late."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.specs.holding import LIBRARY
from tolcost.algebra import evaluate, to_text
from tolcost.catalogue.reading import model_of
from tolcost.cost import count
from tolcost.diagnostics import Rejected
from tolcost.elaborate import Tensor, elaborate
from tolcost.execute import run_reference, run_unrolled, run_vectorised
from tolcost.models.walking import Session
from tolcost.result.model import Wanted, model_cost

RANDOM = np.random.default_rng(11)


def late(op: str, **spaces: str):
    """The program of an operator that is given single numbers when it runs."""
    spec = LIBRARY.find("", op)
    given = {name: Tensor((), space) for name, space in spaces.items()}
    return elaborate(
        spec.program, given, name=op, library=spec.library, operators=LIBRARY.operators()
    ).program


def window(size: int, *weights: float) -> np.ndarray:
    x = np.arange(size) / max(size, 1)
    return sum(w * np.cos(2 * k * np.pi * x) for k, w in enumerate(weights))


WINDOWS = {
    "HannWindow": (0.5, -0.5),
    "HammingWindow": (25 / 46, -21 / 46),
    "BlackmanWindow": (0.42, -0.5, 0.08),
}


@pytest.mark.parametrize("op", WINDOWS)
def test_windows(op: str) -> None:
    program = late(op, size="int64")
    counts = count(program)
    assert counts.status == "depends on data"
    for size in range(12):
        runs = [
            run(program, {"size": np.array(size)}) for run in (run_reference, run_vectorised, run_unrolled)
        ]
        for run in runs:
            np.testing.assert_allclose(run.outputs["output"], window(size, *WINDOWS[op]), atol=1e-6)
            assert run.counts.eops == evaluate(counts.eops, run.bindings)


@pytest.mark.parametrize("space, dtype", [("float32", np.float32), ("int64", np.int64)])
def test_ranges(space: str, dtype: type) -> None:
    program = late("Range", start=space, limit=space, delta=space)
    counts = count(program)
    assert to_text(counts.eops) == "2*z1 + 4"
    for trial in range(60):
        start, limit = RANDOM.integers(-9, 9, 2)
        delta = RANDOM.choice([-3, -1, 1, 2])
        given = {
            "start": np.array(start, dtype),
            "limit": np.array(limit, dtype),
            "delta": np.array(delta, dtype),
        }
        for run in (run_reference, run_vectorised, run_unrolled)[: 3 if trial < 9 else 1]:
            found = run(program, given)
            np.testing.assert_array_equal(
                found.outputs["output"], np.arange(start, limit, delta).astype(dtype)
            )
            assert found.counts.eops == evaluate(counts.eops, found.bindings)


def test_in_a_model_what_arrives_late_is_charged() -> None:
    """The limit is an input of the model, on which only the length depends: start and delta are constants."""
    scalars = [helper.make_tensor(name, TensorProto.INT64, [], [v]) for name, v in (("zero", 0), ("one", 1))]
    graph = helper.make_graph(
        [helper.make_node("Range", ["zero", "limit", "one"], ["y"])],
        "late",
        [helper.make_tensor_value_info("limit", TensorProto.INT64, [])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, ["n"])],
        scalars,
    )
    model = model_of(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), "late")
    found = model_cost(model, "late.onnx", Session(LIBRARY), Wanted({}))
    assert found.status == "depends on data"
    assert {key[0] for key in found.total.histogram} == {"sub", "div", "ceil", "max"}


def test_a_static_input_that_no_one_asks_of_stays_static() -> None:
    with pytest.raises(Rejected) as caught:
        late("MelWeightMatrix", num_mel_bins="int64")
    assert caught.value.diagnostics[0].code == "T0413"
