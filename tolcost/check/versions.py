"""Which cost model figures come from."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

_TABLES = ("weights/flops.toml", "widths.toml")
"""What figures rest on besides the program: the weights of FLOPs, the widths of elements."""


@cache
def costs_version() -> str:
    """A name for the cost model: another one where any of its tables says anything else."""
    folder = Path(__file__).parents[1] / "cost"
    text = "\0".join((folder / table).read_text(encoding="utf-8") for table in _TABLES)
    return sha256(text.encode("utf-8")).hexdigest()[:8]
