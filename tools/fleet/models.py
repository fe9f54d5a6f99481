"""Small models to make fleets of: exported ones at other lengths, ONNX's node tests, and poison."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path

import onnx

EXPORTED = Path(__file__).parents[2] / "tests" / "models" / "exported"
HUGE = 1 << 36
"""Bytes of a file with nothing in it, which takes more memory than a model may."""


def exported() -> list[tuple[str, onnx.ModelProto]]:
    """Models that PyTorch wrote, with open lengths."""
    files = sorted(EXPORTED.glob("*.onnx"))
    return [(path.stem, onnx.load(path, load_external_data=False)) for path in files]


def with_lengths(model: onnx.ModelProto, n: int) -> onnx.ModelProto:
    """A model whose open lengths are numbers that go by ``n``."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    given = [dim for value in changed.graph.input for dim in value.type.tensor_type.shape.dim]
    names = sorted({dim.dim_param for dim in given if dim.dim_param})
    values = {name: 2 + (n * (7 + 2 * k)) % 61 for k, name in enumerate(names)}
    for dim in given:
        if dim.dim_param:
            dim.dim_value = values[dim.dim_param]
    return changed


def variants(models: Sequence[tuple[str, onnx.ModelProto]]) -> Iterator[tuple[str, onnx.ModelProto]]:
    """Models again and again, at other lengths."""
    for n in count():
        name, model = models[n % len(models)]
        yield f"{n:05}-{name}", with_lengths(model, n)


def write_fleet(folder: Path, models: Iterator[tuple[str, onnx.ModelProto]], number: int) -> None:
    """So many models, in folders of a hundred."""
    for n, (name, model) in enumerate(islice(models, number)):
        place = folder / f"{n // 100:03}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.onnx").write_bytes(model.SerializeToString())


def poison(folder: Path) -> None:
    """A file that is no model, one that never ends to be opened, and one that fits into no memory."""
    (folder / "broken.onnx").write_bytes(b"nothing of a model")
    os.mkfifo(folder / "hangs.onnx")
    with (folder / "huge.onnx").open("wb") as file:
        file.truncate(HUGE)
