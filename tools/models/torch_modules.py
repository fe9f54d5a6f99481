"""Small modules of PyTorch whose exports are stored as test data: ``make torch`` exports them anew.

Run as a program, it writes ``exported/``.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from tolcost.apps.torch.export import example, exported

EXPORTED = Path(__file__).parents[2] / "tests" / "models" / "exported"


class Convolutional(nn.Module):
    """An image to ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 8, 3, stride=2), nn.Linear(8, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.first(x).relu().mean((2, 3)))


class Decoder(nn.Module):
    """Two layers of attention over a cache that grows, as a language model is run."""

    def __init__(self, width: int = 32, heads: int = 4, words: int = 100) -> None:
        super().__init__()
        self.heads = heads
        self.embed, self.head = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(2))
        self.norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))

    def forward(self, ids: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        x, grown = self.embed(ids), []
        for layer, (norm, qkv, out) in enumerate(zip(self.norm, self.qkv, self.out, strict=True)):
            q, k, v = qkv(norm(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            k, v = (torch.cat([cache[layer, n], new], 2) for n, new in enumerate((k, v)))
            x = x + out(functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            grown.append(torch.stack([k, v]))
        return self.head(x), torch.stack(grown)


class Experts(nn.Module):
    """A mixture of four experts, two for each token, as transformers writes it."""

    def __init__(self, width: int = 16, experts: int = 4) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(experts))

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = torch.topk(self.gate(x).softmax(-1), 2, dim=-1)
        y = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            token, place = torch.where(chosen == number)
            y = y.index_add(0, token, expert(x[token]) * weights[token, place, None])
        return y


MODULES = {
    "convolutional": (Convolutional, {"x": ("float32", ("batch", 3, "h", "w"))}),
    "decoder": (
        Decoder,
        {"ids": ("int64", ("batch", "seq")), "cache": ("float32", (2, 2, "batch", 4, "past", 8))},
    ),
    "experts": (Experts, {"x": ("float32", ("tokens", 16))}),
}


def export(name: str) -> bytes:
    """Give the bytes of the model that a module is exported as, for the opset of the stored files."""
    make, shapes = MODULES[name]
    return exported(make().eval(), (), *example(shapes), opset=20)


if __name__ == "__main__":
    for name in sys.argv[1:] or MODULES:
        (EXPORTED / f"{name}.onnx").write_bytes(export(name))
