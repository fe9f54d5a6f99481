"""``com.microsoft.DynamicQuantizeLSTM`` held to onnxruntime: to what it gave, and to what it gives."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import numpy as np
import pytest

from tests.specs.holding import LIBRARY
from tests.specs.quantised_lstm import DOMAIN, OP, WAYS, Layer, observed, random_layer, recorded
from tolcost.catalogue.cases import Case
from tolcost.catalogue.conformance import Result, check
from tolcost.catalogue.listing import entries
from tolcost.catalogue.reading import node_of

KEPT = recorded()
WITH_RUNTIME = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is None, reason="onnxruntime is not installed"
)


def held(layer: Layer) -> Result:
    """Hold the definition to a layer: values, shapes, and the closed form to what was counted."""
    case = Case(OP, node_of(layer.node), 1, layer.inputs, layer.outputs, 0.0, 1e-5)
    result = check(case, LIBRARY)
    assert result.status == "pass", result.detail or result.cause
    assert result.concrete == ()
    return result


@pytest.mark.parametrize("layer", KEPT, ids=range(len(KEPT)))
def test_as_recorded(layer: Layer) -> None:
    held(layer)


def test_what_is_recorded_has_every_option() -> None:
    assert {layer.attributes["direction"] for layer in KEPT} == set(WAYS)
    assert {name for layer in KEPT for name in layer.attributes} >= {"clip", "input_forget", "activations"}
    for place in range(3, 8):  # bias, lengths, states and peepholes, with and without
        assert {layer.inputs[place] is None for layer in KEPT} == {True, False}
    for place in (8, 10):  # one scale, and one for each column
        assert {np.ndim(layer.inputs[place]) for layer in KEPT} == {1, 2}  # type: ignore[arg-type]
    backwards = [layer for layer in KEPT if layer.attributes["direction"] != "forward"]
    lengths = [layer.inputs[4] for layer in backwards if layer.inputs[4] is not None]
    assert any(len(set(found.tolist())) > 1 for found in lengths)


@WITH_RUNTIME
@pytest.mark.parametrize("layer", KEPT, ids=range(len(KEPT)))
def test_the_record_is_what_onnxruntime_gives(layer: Layer) -> None:
    for kept, now in zip(layer.outputs, observed(layer), strict=True):
        np.testing.assert_allclose(kept, now, rtol=0, atol=1e-5)


@WITH_RUNTIME
@pytest.mark.parametrize("seed", range(100, 112))
def test_as_onnxruntime_gives(seed: int) -> None:
    layer = random_layer(seed)
    held(replace(layer, outputs=observed(layer)))


def test_what_a_layer_costs() -> None:
    """As an LSTM, and: 8 for each element brought to 8 bits, 3 for each gate, the weights' zero points."""
    n, b, m, h = 3, 2, 5, 4
    weights = np.ones((1, m, 4 * h), np.int8), np.ones((1, h, 4 * h), np.int8)
    scale = np.ones(1, np.float32), np.zeros(1, np.int8)
    inputs = (np.ones((n, b, m), np.float32), *weights, *[None] * 5, *scale, *scale)
    layer = Layer(inputs, {"hidden_size": h})
    sizes = (n, 1, b, h), (1, b, h), (1, b, h)
    form = check(
        Case(OP, node_of(layer.node), 1, inputs, tuple(np.ones(s, np.float32) for s in sizes), 0, 9), LIBRARY
    ).form
    assert form == (
        "8*R_2**2*X_1*X_2 + 8*R_2*W_2*X_1*X_2 + 38*R_2*X_1*X_2 + 8*W_2*X_1*X_2 + 4*R_2**2 + 4*R_2*W_2 "
        "+ 10*X_1 + 10"
    )


def test_its_domain_is_in_the_catalogue() -> None:
    (entry,) = entries(LIBRARY, [f"{DOMAIN}.{OP}"])
    assert (entry.domain, entry.standing) == (DOMAIN, "defined")
    assert entry.title in {one.title for one in entries(LIBRARY)}
    assert LIBRARY.find("", OP) is None
