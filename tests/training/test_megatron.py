"""The activations of Megatron's layers, as arXiv 2205.05198 tells them and calculon tabulates them, derived.

A graph is what one of ``t`` GPUs computes of a layer: its share of the heads and of the network.  Gathering
what others hold is a node that joins its own share with inputs of the graph.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from onnx import ModelProto, TensorProto, helper

import tolcost
from tests.training.test_step import study

Shape = tuple[int | str, ...]
GIB = 1 << 30
LARGE = (6144, 64, 4, 48)
"""The model of 22 billion parameters: states, heads, texts of a GPU, and layers that it keeps."""
LARGER = (12288, 96, 1, 124)
"""175 billion, in 8 stages with 3 pieces each: the first one keeps 96 * (1 + 7/24) layers."""


class Layers:
    """Writes the nodes of layers; a scope is the beginning of a name."""

    def __init__(self, states: int, heads: int, split: int, sequence: bool) -> None:
        self.h, self.a, self.t, self.sequence = states, heads, split, sequence
        self.nodes: list[object] = []
        self.held: list[TensorProto] = []
        self.inputs: dict[str, Shape] = {}

    def node(self, op: str, scope: str, *inputs: str, outputs: int = 1, **attrs: object) -> str:
        name = f"{scope}/{op}_{len(self.nodes)}"
        made = [f"{name}_out{n}" for n in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, made, name=f"/{name}", **attrs))
        return made[0]

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.held)}"
        self.held.append(TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT, data_location=1))
        return name

    def constant(self, value: object, kind: int, *shape: int) -> str:
        name = f"c{len(self.held)}"
        self.held.append(helper.make_tensor(name, kind, shape, value if shape else [value]))
        return name

    def affine(self, scope: str, x: str, rows: int, columns: int, bias: bool = True) -> str:
        y = self.node("MatMul", scope, x, self.weight(rows, columns))
        return self.node("Add", scope, y, self.weight(columns)) if bias else y

    def dropped(self, scope: str, x: str) -> str:
        """Drop numbers by a mask, which backward reads; a node Dropout would have its mask computed again."""
        tenth, scale, zero = (self.constant(value, TensorProto.FLOAT) for value in (0.1, 1 / 0.9, 0.0))
        mask = self.node("GreaterOrEqual", scope, self.node("RandomUniformLike", scope, x), tenth)
        return self.node("Where", scope, mask, self.node("Mul", scope, x, scale), zero)

    def norm(self, scope: str, x: str) -> str:
        return self.node("LayerNormalization", scope, x, self.weight(self.h), self.weight(self.h))

    def whole(self, scope: str, x: str) -> str:
        """Gather the parts of a sequence that other GPUs hold; products of it are in its scope."""
        if not self.sequence:
            return x
        others = f"others{len(self.inputs)}"
        self.inputs[others] = ("b", f"{self.t - 1}*r", self.h)
        return self.node("Concat", scope, x, others, axis=1)

    def part(self, scope: str, x: str) -> str:
        """Keep the own part of a sequence, of a sum that all GPUs have a share in."""
        if not self.sequence:
            return x
        ends = [self.constant([n], TensorProto.INT64, 1) for n in (0, self.length // self.t, 1)]
        return self.node("Slice", scope, x, *ends)

    length = 2048

    def layer(self, scope: str, x: str) -> str:
        h, t, heads = self.h, self.t, self.a // self.t
        shape = self.constant([0, 0, heads, h // self.a], TensorProto.INT64, 4)
        back = self.constant([0, 0, h // t], TensorProto.INT64, 3)
        first, second = (f"{scope}/{place}/gather" for place in ("first", "second"))
        n = self.whole(first, self.norm(scope, x))
        q, k, w = (self.node("Reshape", scope, self.affine(first, n, h, h // t), shape) for _ in range(3))
        core = f"{scope}/core"
        q, w = (self.node("Transpose", core, one, perm=[0, 2, 1, 3]) for one in (q, w))
        scores = self.node("MatMul", core, q, self.node("Transpose", core, k, perm=[0, 2, 3, 1]))
        scores = self.node("Mul", core, scores, self.constant(0.125, TensorProto.FLOAT))
        p = self.dropped(core, self.node("Softmax", core, scores, axis=-1))
        a = self.node("Transpose", core, self.node("MatMul", core, p, w), perm=[0, 2, 1, 3])
        a = self.affine(scope, self.node("Reshape", core, a, back), h // t, h)
        y = self.node("Add", scope, x, self.dropped(scope, self.part(scope, a)))
        n = self.whole(second, self.norm(scope, y))
        g = self.node("Gelu", scope, self.affine(second, n, h, 4 * h // t))
        d = self.affine(scope, g, 4 * h // t, h)
        return self.node("Add", scope, y, self.dropped(scope, self.part(scope, d)))

    def model(self, layers: int) -> ModelProto:
        x = self.node("Add", "start", "x", self.weight(self.h))
        for n in range(layers):
            x = self.layer(f"layers.{n}", x)
        rows: int | str = self.length // self.t if self.sequence else self.length
        given: dict[str, Shape] = {"x": ("b", rows, self.h)}
        given |= dict.fromkeys(self.inputs, ("b", self.length - rows, self.h))  # type: ignore[operator]
        inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in given.items()]
        y = helper.make_tensor_value_info(x, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "g", inputs, [y], self.held)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])


def kept(states: int, heads: int, texts: int, sequence: bool) -> int:
    """Return the bytes that a layer keeps, the sum before it among them, which its norm reads."""
    model = Layers(states, heads, 8, sequence).model(1)
    again = {"recompute": "core, gather"} if sequence else {}
    step = tolcost.from_onnx(model).training("adam", precision="bf16-mixed", backward="derived", **again)
    assert not study(step).coverage.missing
    return int(str(step(b=texts).kept))


@pytest.mark.parametrize(
    "model, sequence, gib",
    [
        (LARGE, False, "59.25"),
        (LARGE, True, "9.5625"),
        (LARGER, False, "66.84375"),
        (LARGER, True, "12.3515625"),
    ],
)
def test_activations_of_a_gpu(model: tuple[int, int, int, int], sequence: bool, gib: str) -> None:
    """Equal: without anything, and with sequence parallelism and the core of attention computed again."""
    states, heads, texts, layers = model
    assert Fraction(kept(states, heads, texts, sequence) * layers, GIB) == Fraction(gib)
