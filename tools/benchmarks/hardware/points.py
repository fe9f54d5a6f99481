"""What is measured, one by one: operators of the table and whole models, ready to be called on the GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .models import MODELS, SIZES, Net
from .pytorch import bind, random_inputs
from .table import Case, read_table


@dataclass(frozen=True, slots=True)
class Point:
    """A case or a model at a size, in a float type; ``build`` makes inputs and gives the call."""

    name: str
    kind: str
    type: str
    lengths: Mapping[str, int]
    counters: bool
    build: Callable[[], Callable[[], Any]]
    net: list[Net] = field(default_factory=list)

    @property
    def size(self) -> str:
        """The lengths as text."""
        return " ".join(f"{name}={n}" for name, n in self.lengths.items())


def operator_points() -> Iterator[Point]:
    """Every case of the table, at every size in every type: small sizes of all before larger ones."""
    cases = list(read_table().values())
    for index in range(max(len(case.sizes) for case in cases)):
        for case in cases:
            for type_ in case.floats if index < len(case.sizes) else ():
                yield _operator(case, case.sizes[index], type_)


def _operator(case: Case, at: Mapping[str, int], type_: str) -> Point:
    def build() -> Callable[[], Any]:
        return bind(case, random_inputs(case, at, type_, "cuda"), at, "cuda")

    return Point(case.name, case.kind, type_, at, case.counters, build)


def model_points(sizes: slice = slice(None)) -> Iterator[Point]:
    """The models, at some of their sizes."""
    for type_ in ("float32", "bfloat16"):
        for model, given in SIZES.items():
            yield from (_model(model, at, type_) for at in given[sizes])


def _model(model: str, at: Mapping[str, int], type_: str) -> Point:
    logs: list[Net] = []

    def build() -> Callable[[], Any]:
        net = Net(read_table(), type_, "cuda")
        MODELS[model](net, at)
        net.logging = False
        logs.append(net)
        return lambda: MODELS[model](net, at)

    return Point(model, "model", type_, at, True, build, logs)
