"""The corpus: exports of small models without their weights, and what is said of each.

``corpus/models.tar.xz`` holds the models, and the shapes of all values that onnxruntime observes at two
points.  ``corpus/*.txt`` are text pairs: above the ``---`` of a case stands where a model comes from and what
onnxruntime gives, below it what tolcost says.  ``make corpus`` makes them (``tools/corpus``).
"""

from __future__ import annotations

import io
import json
import lzma
import tarfile
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from tolcost.algebra import Poly, evaluate
from tolcost.catalogue.reading import model_in
from tolcost.catalogue.specs import open_library
from tolcost.diagnostics import Rejected
from tolcost.models.facts import shape_of
from tolcost.models.walking import Session
from tolcost.platform import with_deep_stack
from tolcost.result.cost import Cost
from tolcost.result.model import ModelStudy, Wanted, model_cost, of_model
from tolcost.result.study import locate_study
from tolcost.show.document import Form, text_of

FOLDER = Path(__file__).parent / "corpus"
ARCHIVE = FOLDER / "models.tar.xz"
OBSERVED = "observed.json"

LONGEST = 300
"""Characters of a form that are written out; of a longer one a digest is, too."""

MOST_LINES = 16
"""Conditions, and equal lengths, that are written out; of others a digest is."""

DERIVED = ("intensity", "model_bytes", "param_bytes")
FIXED = ("params",)
"""Figures that follow from others, and those that are the same at all points."""

SESSION = Session(open_library())


class Observed(NamedTuple):
    """The shapes of all values at a point, as onnxruntime gives them, or why it does not run the model."""

    dims: dict[str, int]
    shapes: dict[str, list[int]]
    refused: str = ""


@cache
def files() -> Mapping[str, bytes]:
    """All that the archive holds, by name."""
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(ARCHIVE.read_bytes()))) as archive:
        return {entry.name: found.read() for entry in archive if (found := archive.extractfile(entry))}


@cache
def observed() -> Mapping[str, list[Observed]]:
    """What onnxruntime observes of each model."""
    told = json.loads(files()[OBSERVED])
    return {name: [Observed(**one) for one in each] for name, each in told.items()}


def study_of(raw: bytes, name: str) -> ModelStudy:
    """What is known of a model."""

    def study() -> ModelStudy:
        return of_model(model_cost(model_in(raw, f"{name}.onnx", name), f"{name}.onnx", SESSION, Wanted()))

    return with_deep_stack(study)


@cache
def study(name: str) -> ModelStudy:
    """What is known of a model of the corpus."""
    return study_of(files()[f"{name}.onnx"], name)


# ---- what is said ---------------------------------------------------------------------------


def facts(found: ModelStudy, points: list[Observed]) -> str:
    """All that is held of a model, one fact a line."""
    return "\n".join((*_general(found), *(line for one in points for line in _at(found, one.dims))))


def _general(found: ModelStudy) -> Iterator[str]:
    yield f"status: {found.total.status}"
    said = (*found.head(), *found.remarks())
    yield from _short(
        [f"{fact.label}: {fact.value}" + f", {fact.remark}" * bool(fact.remark) for fact in said]
    )
    if found.coverage.missing:
        first, operators = found.coverage.missing[0], found.coverage.operators.items()
        yield f"not costed: {', '.join(f'{op} {count}' for op, count in operators)}"
        yield f"because: {first.op}: {first.why}"
    shapes = [shape_of(found.cost.known(name)) for name in _values(found)]
    open_ = sum(shape is not None and any(_by_data(d) for d in shape) for shape in shapes)
    unknown = sum(shape is None for shape in shapes)
    yield f"shapes: of {len(shapes)} values, {open_} by data, {unknown} unknown"
    yield from (f"{way}: {name} {kind}" for way, name, kind in found.types(lambda form: form))
    for measure in found.measures(()):
        if measure.key in DERIVED:
            continue
        text = "unknown" if measure.form is None else _cut(text_of(measure.form))
        remark = f"    {measure.remark}" if measure.remark else ""
        yield f"{measure.label}: {text}{remark}"
    yield from _short([f"{r.kind}: {_cut(r.text)}" for r in found.requirements])


def _short(lines: list[str]) -> Iterator[str]:
    lines = list(dict.fromkeys(lines))
    yield from lines[:MOST_LINES]
    if len(lines) > MOST_LINES:
        yield f"and {len(lines) - MOST_LINES} more ({_digest(lines)})"


def _at(found: ModelStudy, dims: Mapping[str, int]) -> Iterator[str]:
    at = ", ".join(f"{name}={value}" for name, value in dims.items()) or "once"
    try:
        cost = located(found, dims)
    except Rejected as rejected:
        first = rejected.diagnostics[0]
        yield f"at {at}: error {first.code}: {first.message}"
        return
    numbers = {m.label: _number(cost, m.form) for m in cost.measures if m.key not in (*DERIVED, *FIXED)}
    yield f"at {at}: " + ", ".join(f"{label} {number}" for label, number in numbers.items())


def located(found: ModelStudy, dims: Mapping[str, int]) -> Cost:
    """A model at a point."""
    return _located(found, tuple(dims.items()))


@lru_cache(2)
def _located(found: ModelStudy, dims: tuple[tuple[str, int], ...]) -> Cost:
    return with_deep_stack(lambda: locate_study(Cost, found, dict(dims)))


def _number(cost: Cost, form: Form | None) -> str:
    value = None if form is None else cost.value(form)
    return "unknown" if value is None else _cut(text_of(value))


def _values(found: ModelStudy) -> list[str]:
    return [name for node in found.model.graph.nodes for name in node.outputs if name]


def _by_data(form: Poly) -> bool:
    return any(symbol.kind == "data" for symbol in form.free)


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]} … ({len(text):,} characters, {_digest([text])})"


def _digest(lines: list[str]) -> str:
    return sha256("\n".join(lines).encode()).hexdigest()[:8]


# ---- what differs from what was observed -----------------------------------------------------


def macs(found: ModelStudy, seen: Observed) -> int | None:
    """How many products a model has at a point."""
    return located(found, seen.dims).number(found.total.macs)


def wrong_shapes(cost: Cost, seen: Observed) -> list[str]:
    """Values whose shape is known, and not what onnxruntime gives."""
    known, there = cost.point.values, of_model(cost).cost
    wrong = []
    for name, shape in seen.shapes.items():
        ours = shape_of(there.known(name))
        if ours is None:
            continue
        at = [evaluate(d, known) if d.free <= known.keys() else None for d in ours]
        if len(at) != len(shape) or any(a not in (None, b) for a, b in zip(at, shape, strict=True)):
            wrong.append(f"{name}: {at}, observed {shape}")
    return wrong
