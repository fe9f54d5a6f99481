"""Layers for ``com.microsoft.DynamicQuantizeLSTM``, and what onnxruntime gives for them.

onnx knows nothing of this operator, and onnxruntime is no dependency; so what it gives is kept in
``recorded/``.  ``python -m tests.specs.quantised_lstm``, where onnxruntime is installed, writes it again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import NodeProto, helper

from tests.specs.holding import Array

OP, DOMAIN = "DynamicQuantizeLSTM", "com.microsoft"
RECORDED = Path(__file__).parent / "recorded" / f"{OP}.json"
RESULTS = ("Y", "Y_h", "Y_c")
WAYS = ("forward", "reverse", "bidirectional")
OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"clip": 0.75},
    {"input_forget": 1},
    {"activations": ["HardSigmoid", "Relu", "Softsign"], "activation_alpha": [0.3], "activation_beta": [0.4]},
)


@dataclass(frozen=True)
class Layer:
    """A node by what it is given, and what it must give."""

    inputs: tuple[Array | None, ...]
    attributes: dict[str, Any]
    outputs: tuple[Array, ...] = ()

    @property
    def node(self) -> NodeProto:
        """The node; an input that is left out has no name."""
        names = ["" if array is None else f"i{n}" for n, array in enumerate(self.inputs)]
        return helper.make_node(OP, names, RESULTS, domain=DOMAIN, **self.attributes)


def random_layer(seed: int) -> Layer:
    """A random layer: the seed decides the direction, and with it which of the options there are."""
    random = np.random.default_rng(seed)
    direction = WAYS[seed % len(WAYS)]
    d = 2 if direction == "bidirectional" else 1
    n, b, m, h = (int(v) for v in random.integers((2, 1, 1, 1), (5, 4, 4, 4)))

    def floats(*shape: int) -> Array:
        return random.standard_normal(shape).astype(np.float32)

    def perhaps(array: Array) -> Array | None:
        return array if random.random() < 0.5 else None

    kind: type[np.generic] = np.int8 if random.random() < 0.5 else np.uint8
    inputs = [floats(n, b, m), _weights(random, kind, d, m, 4 * h), _weights(random, kind, d, h, 4 * h)]
    more = [perhaps(floats(d, 8 * h)), perhaps(random.integers(1, n + 1, b).astype(np.int32))]
    more += [perhaps(floats(d, b, h)), perhaps(floats(d, b, h)), perhaps(floats(d, 3 * h))]
    scales = [*_scale(random, kind, d, h), *_scale(random, kind, d, h)]
    options = dict(OPTIONS[int(random.integers(len(OPTIONS)))])
    if "activations" in options:
        options = {name: value * d for name, value in options.items()}
    return Layer((*inputs, *more, *scales), {"hidden_size": h, "direction": direction, **options})


def _weights(random: np.random.Generator, kind: type[np.generic], *shape: int) -> Array:
    """Signed ones keep to 7 bits: some processors add two products in 16 bits, and lose what does not fit."""
    low, high = (-64, 64) if kind is np.int8 else (0, 256)
    return random.integers(low, high, shape).astype(kind)


def _scale(random: np.random.Generator, kind: type[np.generic], d: int, h: int) -> tuple[Array, Array]:
    """A scale and a zero point: one each, or one for each column, where all zero points have to be equal."""
    by_column = random.random() < 0.5
    scale = (random.random((d, 4 * h) if by_column else d) * 0.02 + 0.005).astype(np.float32)
    if by_column:
        return scale, np.full(scale.shape, 0 if kind is np.int8 else 130, kind)
    return scale, random.integers(*((-9, 9) if kind is np.int8 else (100, 150)), d).astype(kind)


def observed(layer: Layer) -> tuple[Array, ...]:
    """What onnxruntime gives, on one thread: it brings the outputs of a step to 8 bits by thread."""
    import onnxruntime

    node = layer.node
    given = {name: array for name, array in zip(node.input, layer.inputs, strict=True) if array is not None}
    code = helper.np_dtype_to_tensor_dtype
    inputs = [helper.make_tensor_value_info(k, code(a.dtype), a.shape) for k, a in given.items()]
    outputs = [helper.make_empty_tensor_value_info(name) for name in RESULTS]
    graph = helper.make_graph([node], "one", inputs, outputs)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return tuple(session.run(list(RESULTS), given))


# ---- what is kept ------------------------------------------------------------------------


def recorded() -> tuple[Layer, ...]:
    """The layers that are kept, with what onnxruntime gave for them."""
    found = json.loads(RECORDED.read_text(encoding="utf-8"))["layers"]
    return tuple(
        Layer(tuple(map(_array, one["inputs"])), one["attributes"], tuple(_array(o) for o in one["outputs"]))  # type: ignore[misc]
        for one in found
    )


def _array(kept: dict[str, Any] | None) -> Array | None:
    return None if kept is None else np.array(kept["values"], kept["type"]).reshape(kept["shape"])


def _kept(array: Array | None) -> dict[str, Any] | None:
    if array is None:
        return None
    values = [float(f"{v:.9g}") for v in array.ravel()] if array.dtype.kind == "f" else array.ravel().tolist()
    return {"type": array.dtype.name, "shape": list(array.shape), "values": values}


def write(seeds: range) -> None:
    """Keep layers with what onnxruntime gives for them."""
    import onnxruntime

    lines = []
    for layer in map(random_layer, seeds):
        kept = [[_kept(array) for array in arrays] for arrays in (layer.inputs, observed(layer))]
        one = {"attributes": layer.attributes, "inputs": kept[0], "outputs": kept[1]}
        lines.append(json.dumps(one, separators=(",", ":")))
    head = f'{{"onnxruntime": "{onnxruntime.__version__}", "layers": [\n'
    RECORDED.write_text(head + ",\n".join(lines) + "\n]}\n", encoding="utf-8")


if __name__ == "__main__":
    write(range(12))
