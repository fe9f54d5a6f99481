"""Modules of PyTorch that cannot be made or exported, and things that are none."""

from __future__ import annotations

import torch
from torch import nn

Narrow = nn.Linear(4, 3)
NUMBER = 5


class Branching(nn.Module):
    """Data decides what is computed, which torch does not export."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x - 1


class Positions(nn.Module):
    """Learned positions, sliced to the length of a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(10, 4), nn.Parameter(torch.zeros(1, 16, 4))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.tokens(ids) + self.positions[:, : ids.shape[1]]


class Attending(nn.Module):
    """Attention as torch has it in one function, which older opsets have not."""

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)


class Unmade(nn.Module):
    def __init__(self) -> None:
        raise RuntimeError("no luck")


def needing(width: int) -> nn.Module:
    return nn.Linear(width, 3)
