"""FLOPs of backward as PyTorch's tests of its counter have them: products alone, padding included."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from onnx import ModelProto, TensorProto, helper

import tolcost
from tolcost.result.training import TrainingStudy

Node = tuple[str, list[str], str, dict[str, object]]
"""An operator, its inputs, its output, and its attributes."""
Conv = tuple[str, str, int, int, int, int, int]
"""Input, output, channels in and out, length of the kernel, stride, and pixels of the input."""


def resnet18() -> tuple[list[Node], list[Conv]]:
    """Return the nodes of ResNet-18 without its normalisations, and its convolutions."""
    nodes: list[Node] = []
    convs: list[Conv] = []

    def conv(x: str, c: int, m: int, k: int, stride: int, pixels: int) -> str:
        y = f"c{len(convs)}"
        convs.append((x, y, c, m, k, stride, pixels))
        nodes.append(("Conv", [x, f"W{y}"], y, {"strides": [stride] * 2, "pads": [k // 2] * 4}))
        return y

    def node(op: str, *inputs: str, **attrs: object) -> str:
        nodes.append((op, list(inputs), f"t{len(nodes)}", attrs))
        return nodes[-1][2]

    y = node("Relu", conv("x", 3, 64, 7, 2, 224))
    y = node("MaxPool", y, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    pixels = 56
    for before, channels in pairwise([64, 64, 128, 256, 512]):
        for block in range(2):
            first = before if block == 0 else channels
            stride = 2 if first != channels else 1
            a = node("Relu", conv(y, first, channels, 3, stride, pixels))
            b = conv(a, channels, channels, 3, 1, pixels // stride)
            y = conv(y, first, channels, 1, stride, pixels) if stride == 2 else y
            pixels //= stride
            y = node("Relu", node("Add", b, y))
    y = node("Flatten", node("GlobalAveragePool", y))
    nodes.append(("MatMul", [y, "F"], "y", {}))
    return nodes, convs


def made(nodes: list[Node], convs: list[Conv]) -> ModelProto:
    shapes = {f"W{y}": (m, c, k, k) for _, y, c, m, k, _, _ in convs} | {"F": (512, 1000)}
    names = {name for _, inputs, _, _ in nodes for name in inputs}
    held = []
    for name, shape in shapes.items():
        if name in names:
            tensor = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT)
            tensor.raw_data = np.zeros(shape, np.float32).tobytes()
            held.append(tensor)
    listed = [helper.make_node(op, inputs, [out], **attrs) for op, inputs, out, attrs in nodes]
    pixels = convs[0][6]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, convs[0][2], pixels, pixels))
    result = helper.make_tensor_value_info(nodes[-1][2], TensorProto.FLOAT, None)
    graph = helper.make_graph(listed, "g", [given], [result], held)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def products(model: ModelProto) -> tuple[int, int]:
    """Return twice the MACs of products, forward and backward."""
    step = tolcost.from_onnx(model).training("sgd")
    assert isinstance(step.study, TrainingStudy)
    found = {group.title: int(str(group.figures.macs)) for group in step.groups("op")}
    both = [sum(found.get(f"{op}{end}", 0) for op in ("Conv", "MatMul")) for end in ("", " backward")]
    return 2 * both[0], 2 * both[1]


def skipped(conv: Conv) -> int:
    """Count the products with padding, which the derived gradient of an input leaves out."""
    _, _, c, m, k, stride, pixels = conv
    out = (pixels - 1) // stride + 1
    inside = sum(0 <= o * stride + q - k // 2 < pixels for o, q in product(range(out), range(k)))
    return c * m * (out * out * k * k - inside * inside)


def test_resnet18() -> None:
    """PyTorch's figure, less what is not done here, each for a reason.

    Its input is given a gradient there; a product that is a sum of one term is no multiplication that is
    added up; and padding is not multiplied.
    """
    nodes, convs = resnet18()
    forward, backward = products(made(nodes, convs))
    padding = 2 * sum(map(skipped, convs[1:]))
    of_input = 2 * 3 * 64 * 49 * 112 * 112
    single = 2 * 512 * 1000
    assert padding == 263_766_016
    assert forward + backward + padding + of_input + single == 10_884_440_064


def test_the_first_layer_of_resnet18() -> None:
    """Four convolutions of 64 channels at 56 pixels: 924,844,032 forward, and twice that backward."""
    convs: list[Conv] = [(f"c{n}" if n else "x", f"c{n + 1}", 64, 64, 3, 1, 56) for n in range(4)]
    nodes = [("Conv", [x, f"W{y}"], y, {"pads": [1] * 4}) for x, y, *_ in convs]
    forward, backward = products(made(nodes, convs))
    assert forward == 924_844_032
    of_input = 2 * 64 * 64 * 9 * 56 * 56
    assert backward + 2 * sum(map(skipped, convs[1:])) + of_input == 1_849_688_064
