"""Running models on random input with onnxruntime: at which lengths, on what, and all values that come out.

What a model's file gets wrong about itself is put right here first, in a copy that everyone then sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from model_branches import Array, Observed, Place, has_graphs, inner_values, session_of

from tolcost.algebra import evaluate
from tolcost.result.model import ModelStudy

LENGTHS = (96, 64, 512, 320, 1600, 4000, 128, 48, 160, 32, 24, 16, 8, 5, 4, 3, 2, 1)
BATCHES = (1, 2, 3)
KINDS = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(uint8)": np.uint8,
    "tensor(int8)": np.int8,
    "tensor(int16)": np.int16,
    "tensor(uint16)": np.uint16,
    "tensor(uint64)": np.uint64,
    "tensor(string)": np.object_,
}

Dims = dict[str, int]


# ---- files that contradict themselves ----------------------------------------------------


@dataclass(frozen=True)
class Correction:
    """What a file should declare: the length of an axis of an input, and why."""

    name: str
    axis: int
    length: int
    why: str

    def __str__(self) -> str:
        return f"corrected: `{self.name}[{self.axis}]` = {self.length}, because {self.why}"


CORRECTIONS = {
    "logreg_iris": Correction(
        "float_input",
        1,
        4,
        "the file contradicts itself: its 12 coefficients and 3 intercepts are for 4 features, but it "
        "declares an input of 2 (onnxruntime runs it all the same, ONNX's reference evaluator refuses)",
    )
}


def name_of(path: Path) -> str:
    """The name of a model in its package."""
    return path.stem.split("__")[-1]


def corrected(path: Path, folder: Path) -> Path:
    """A copy of the file in a folder with its correction made; the file itself where it has none."""
    correction = CORRECTIONS.get(name_of(path))
    if correction is None:
        return path
    proto = onnx.load(path)
    given = next(i for i in proto.graph.input if i.name == correction.name)
    given.type.tensor_type.shape.dim[correction.axis].dim_value = correction.length
    onnx.save(proto, folder / path.name)
    return folder / path.name


# ---- lengths -----------------------------------------------------------------------------


def open_lengths(study: ModelStudy) -> tuple[list[str], set[str]]:
    """The lengths of a model's inputs that are open, and which of them are those of first axes."""
    places = [
        (str(d or f"{given.name}[{n}]"), n)
        for given in study.model.graph.inputs
        for n, d in enumerate(given.shape or ())
        if not isinstance(d, int)
    ]
    return list(dict.fromkeys(name for name, _ in places)), {name for name, axis in places if axis == 0}


def candidates(study: ModelStudy) -> Iterator[Dims]:
    """Lengths to try: those of first axes are small, the others all alike; then everything alike."""
    names, first = open_lengths(study)
    equal = {n for n in names if study.cost.dimensions[n].free & study.cost.equal.keys()}
    others = set(names) - first - equal
    for length in LENGTHS if others else (1,):
        yield from (equalled(study, {n: length if n in others else b for n in names}) for b in BATCHES)
    yield from (dict.fromkeys(names, length) for length in reversed(LENGTHS))


def equalled(study: ModelStudy, dims: Dims) -> Dims:
    """Lengths that the model makes equal are equal."""
    symbols = {next(iter(study.cost.dimensions[name].free)): name for name in dims}
    given = {s: dims[name] for s, name in symbols.items() if s not in study.cost.equal}
    known = {s: p for s, p in study.cost.equal.items() if s in symbols and p.free <= given.keys()}
    return {**dims, **{symbols[s]: evaluate(p, given) for s, p in known.items()}}


# ---- running -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """A run that succeeded: at which lengths, on what, and all values of the main graph."""

    dims: Dims
    feeds: dict[str, Array]
    values: dict[str, object]


class Model:
    """A model as onnxruntime has it, with all values of its graph as outputs."""

    def __init__(self, path: Path, study: ModelStudy) -> None:
        self.study = study
        self.refused = ""
        proto = onnx.load(path)
        self.whole = onnx.ModelProto.FromString(proto.SerializeToString()) if has_graphs(proto) else None
        self.runtime = session_of(proto, [n for node in proto.graph.node for n in node.output if n])
        self.names = [output.name for output in self.runtime.get_outputs()]

    def runs(self) -> Iterator[Run]:
        """Runs at all lengths that the model takes; the second is as different from the first as may be.

        Those at which our conditions hold come first: beyond them some models end the process.
        """
        dims = list({tuple(d.items()): d for d in candidates(self.study)}.values())
        first = next(filter(None, map(self._run, self._accepted_first(dims))), None)
        if first is None:
            return
        yield first
        others = (d for d in dims if d != first.dims)
        far = sorted(others, key=lambda d: -sum(first.dims[k] != v for k, v in d.items()))
        yield from filter(None, map(self._run, self._accepted_first(far)))

    def _accepted_first(self, dims: list[Dims]) -> Iterator[Dims]:
        """Lengths, those at the end that break a condition which the forms rely on."""
        later: list[Dims] = []
        for each in dims:
            if self.study.locate(each).problems:
                later.append(each)
            else:
                yield each
        yield from later

    def _run(self, dims: Dims) -> Run | None:
        feeds = self.feeds(dims)
        try:
            arrays = self.runtime.run(self.names, feeds)
        except Exception as error:  # the model does not take these lengths
            self.refused = str(error)[:160]
            return None
        return Run(dims, feeds, dict(zip(self.names, arrays, strict=True)))

    def inside(self, run: Run, wanted: set[Place]) -> Observed:
        """The values inside of branches in a run, those of sides not taken as well where they are wanted."""
        return Observed() if self.whole is None else inner_values(self.whole, run.feeds, wanted)

    def feeds(self, dims: Dims) -> dict[str, Array]:
        """Random input."""
        random = np.random.default_rng(7)
        declared = {given.name: given.shape or () for given in self.study.model.graph.inputs}
        found: dict[str, Array] = {}
        for given in self.runtime.get_inputs():
            shape = [
                d if isinstance(d, int) else dims[d or f"{given.name}[{n}]"]
                for n, d in enumerate(declared[given.name])
            ]
            kind = KINDS[given.type]
            values = (
                random.random(shape) if np.issubdtype(kind, np.floating) else random.integers(0, 2, shape)
            )
            found[given.name] = (
                values.astype(str).astype(object) if kind is np.object_ else values.astype(kind)
            )
            if given.name == "sr":  # a sampling rate: only two values mean anything
                found[given.name] = np.full(shape, 16000, kind)
            elif given.name.endswith(
                ("lens", "lengths", "length")
            ):  # how much of the rest is meant: all of it
                found[given.name] = np.full(shape, max(dims.values(), default=1), kind)
        return found
