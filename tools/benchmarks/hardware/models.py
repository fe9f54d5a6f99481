"""Whole models, written in our operators and computed by PyTorch's calls of the table.

What a model applies is logged: operator, shapes, attributes.  Reshapes and transposes are views, which
PyTorch does not compute, and are not logged.  Weights are random.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import torch

from .pytorch import evaluate
from .table import Case

Tensor = torch.Tensor
SIZES: dict[str, tuple[dict[str, int], ...]] = {
    "ResNet50": ({"batch": 1}, {"batch": 16}, {"batch": 64}),
    "ViT-B/16": ({"batch": 1}, {"batch": 8}, {"batch": 32}),
    "BERT-base": ({"batch": 1, "seq": 128}, {"batch": 8, "seq": 512}, {"batch": 32, "seq": 512}),
    "GPT-2": ({"batch": 1, "seq": 128}, {"batch": 4, "seq": 1024}, {"batch": 16, "seq": 1024}),
    "Llama-like": ({"batch": 1, "seq": 128}, {"batch": 1, "seq": 1024}, {"batch": 4, "seq": 2048}),
}


class Net:
    """Applies operators of the table, keeps weights by name, and logs what it applies."""

    def __init__(self, table: Mapping[str, Case], float_type: str, device: str) -> None:
        self.table, self.device, self.type = table, device, getattr(torch, float_type)
        self.fused = "Attention fused" if float_type == "float32" else "Attention flash"
        self.logging = True
        self.weights: dict[str, Tensor] = {}
        self.nodes: Counter[tuple[str, str, str]] = Counter()

    def __call__(self, case: str, attrs: Mapping[str, Any] | None = None, **inputs: Any) -> Tensor:
        """Apply a case of the table to these inputs."""
        given = attrs or {}
        if self.logging:
            self._log(case, given, inputs)
        output: Tensor = evaluate(self.table[case].call, {**inputs, **given, "device": self.device})
        return output

    def _log(self, case: str, attrs: Mapping[str, Any], inputs: Mapping[str, Any]) -> None:
        shapes = {
            name: [list(t.shape) for t in given] if isinstance(given, list) else list(given.shape)
            for name, given in inputs.items()
        }
        self.nodes[case, json.dumps(shapes), json.dumps(attrs)] += 1

    def weight(self, name: str, *shape: int, positive: bool = False) -> Tensor:
        """A weight by its name: random when first asked for."""
        if name not in self.weights:
            values = torch.randn(shape, device=self.device, dtype=self.type) * 0.05
            self.weights[name] = values.abs() + 0.5 if positive else values
        return self.weights[name]

    def linear(self, name: str, x: Tensor, width: int) -> Tensor:
        """A product with a matrix, and a bias."""
        w, b = self.weight(f"{name}.w", width, x.shape[-1]), self.weight(f"{name}.b", width)
        y = self("Gemm", {"transB": 1}, A=x.reshape(-1, x.shape[-1]), B=w, C=b)
        return y.view(*x.shape[:-1], width)

    def product(self, name: str, x: Tensor, width: int) -> Tensor:
        """A product with a matrix, without a bias."""
        w = self.weight(f"{name}.w", width, x.shape[-1])
        return self("MatMul", A=x.reshape(-1, x.shape[-1]), B=w.t()).view(*x.shape[:-1], width)

    def norm(self, name: str, x: Tensor) -> Tensor:
        """Layer normalisation over the last dimension."""
        w, b = self.weight(f"{name}.w", x.shape[-1]), self.weight(f"{name}.b", x.shape[-1])
        return self("LayerNormalization", X=x, Scale=w, B=b)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
        """Attention over heads that lie in views, by the fused kernel of the element type."""
        case = "Attention causal" if causal and self.type == torch.bfloat16 else self.fused
        return self(case, {"is_causal": 1} if case == "Attention causal" else {}, Q=q, K=k, V=v)


def heads(x: Tensor, count: int) -> Tensor:
    """A view of tokens as heads."""
    return x.view(*x.shape[:2], count, -1).transpose(1, 2)


def joined(x: Tensor) -> Tensor:
    """Heads as tokens again: attention leaves them so in memory that this is a view, too."""
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def _block(net: Net, name: str, x: Tensor, count: int, gelu: str, causal: bool, first: bool) -> Tensor:
    """A layer of a transformer: normalised first, as GPT-2 and ViT have it, or after, as BERT."""
    width = x.shape[-1]
    y = net.norm(f"{name}.1", x) if first else x
    q, k, v = (heads(net.linear(f"{name}.{part}", y, width), count) for part in "qkv")
    y = net.linear(f"{name}.o", joined(net.attend(q, k, v, causal)), width)
    x = net("Add", A=x, B=y)
    x = x if first else net.norm(f"{name}.1", x)
    y = net.norm(f"{name}.2", x) if first else x
    y = net(gelu, {"approximate": "tanh"} if "tanh" in gelu else {}, X=net.linear(f"{name}.up", y, 4 * width))
    x = net("Add", A=x, B=net.linear(f"{name}.down", y, width))
    return x if first else net.norm(f"{name}.2", x)


def _words(net: Net, at: Mapping[str, int], words: int, width: int) -> Tensor:
    if "ids" not in net.weights:
        net.weights["ids"] = torch.randint(0, words, (at["batch"], at["seq"]), device=net.device)
    return net("Gather", data=net.weight("words", words, width), indices=net.weights["ids"])


def _embedded(net: Net, at: Mapping[str, int], words: int, width: int) -> Tensor:
    x = _words(net, at, words, width)
    return net("Add rows", A=x, B=net.weight("places", at["seq"], width))


def bert(net: Net, at: Mapping[str, int]) -> Tensor:
    """BERT-base: 12 layers of width 768."""
    x = net.norm("embedding", _embedded(net, at, 30522, 768))
    for i in range(12):
        x = _block(net, str(i), x, 12, "Gelu", causal=False, first=False)
    return x


def gpt2(net: Net, at: Mapping[str, int]) -> Tensor:
    """GPT-2 with 12 layers of width 768, and its head."""
    x = _embedded(net, at, 50257, 768)
    for i in range(12):
        x = _block(net, str(i), x, 12, "Gelu tanh", causal=True, first=True)
    return net.product("head", net.norm("last", x), 50257)


def vit(net: Net, at: Mapping[str, int]) -> Tensor:
    """ViT-B/16 on images of 224 by 224."""
    image, n = net.weight("image", at["batch"], 3, 224, 224), at["batch"]
    attrs = {"strides": [16, 16], "pads": [0, 0, 0, 0]}
    x = net("Conv strided", attrs, X=image, W=net.weight("patch", 768, 3, 16, 16))
    tokens = x.flatten(2).transpose(1, 2)
    start = net.weight("class", 1, 1, 768).expand(n, 1, 768)
    x = net("Concat columns", {"axis": 1}, inputs=[start, tokens])
    x = net("Add rows", A=x, B=net.weight("places", 197, 768))
    for i in range(12):
        x = _block(net, str(i), x, 12, "Gelu", causal=False, first=True)
    return net.linear("head", net.norm("last", x)[:, 0], 1000)


def llama(net: Net, at: Mapping[str, int]) -> Tensor:
    """Like Llama: 16 layers of width 2048, rotary positions, gated layers of width 5632."""
    width, count, seq = 2048, 16, at["seq"]
    cos, sin = (net.weight(name, at["batch"], seq, width // count // 2) for name in ("cos", "sin"))
    x = _words(net, at, 32000, width)
    for i in range(16):
        y = net("RMSNormalization", X=x, scale=net.weight(f"{i}.1", width))
        q, k, v = (heads(net.product(f"{i}.{part}", y, width), count) for part in "qkv")
        q, k = (net("RotaryEmbedding", X=part, cos_cache=cos, sin_cache=sin) for part in (q, k))
        y = net.product(f"{i}.o", joined(net.attend(q, k, v, causal=True)), width)
        x = net("Add", A=x, B=y)
        y = net("RMSNormalization", X=x, scale=net.weight(f"{i}.2", width))
        gate, up = (net.product(f"{i}.{part}", y, 5632) for part in ("gate", "up"))
        x = net("Add", A=x, B=net.product(f"{i}.down", net("SwiGLU", A=gate, B=up), width))
    return net.product("head", net("RMSNormalization", X=x, scale=net.weight("last", width)), 32000)


def _conv(net: Net, name: str, x: Tensor, width: int, size: int, stride: int = 1) -> Tensor:
    """A convolution without a bias, and a batch normalisation."""
    w = net.weight(f"{name}.w", width, x.shape[1], size, size)
    attrs = {"strides": [stride, stride], "pads": [size // 2] * 4}
    x = net("Conv strided", attrs, X=x, W=w)
    channel = {key: net.weight(f"{name}.{key}", width) for key in ("scale", "B", "input_mean")}
    spread = net.weight(f"{name}.var", width, positive=True)
    return net("BatchNormalization", X=x, **channel, input_var=spread)


def resnet50(net: Net, at: Mapping[str, int]) -> Tensor:
    """ResNet50 on images of 224 by 224."""
    x = net("Relu", X=_conv(net, "first", net.weight("image", at["batch"], 3, 224, 224), 64, 7, 2))
    pool = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    x = net("MaxPool overlapping", pool, X=x)
    for stage, (blocks, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512))):
        for i in range(blocks):
            name, stride = f"{stage}.{i}", 2 if stage and not i else 1
            y = net("Relu", X=_conv(net, f"{name}.1", x, width, 1))
            y = net("Relu", X=_conv(net, f"{name}.2", y, width, 3, stride))
            y = _conv(net, f"{name}.3", y, 4 * width, 1)
            x = _conv(net, f"{name}.0", x, 4 * width, 1, stride) if not i else x
            x = net("Relu", X=net("Add", A=x, B=y))
    return net.linear("head", net("GlobalAveragePool", X=x).flatten(1), 1000)


MODELS: dict[str, Callable[[Net, Mapping[str, int]], Tensor]] = {
    "ResNet50": resnet50,
    "ViT-B/16": vit,
    "BERT-base": bert,
    "GPT-2": gpt2,
    "Llama-like": llama,
}
