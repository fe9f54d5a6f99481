"""Writing what each node costs into the model file itself, where viewers show it."""

from __future__ import annotations

from pathlib import Path

from onnx import ModelProto, StringStringEntryProto

from tolcost.algebra import Poly, to_text
from tolcost.catalogue.reading import parse_model
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.models.study import ModelStudy
from tolcost.models.totals import Figures

PREFIX = "tolcost."


def annotated(path: Path, study: ModelStudy) -> bytes:
    """The model file with a cost for every node, and the totals of the model.

    Where every length is known the figures are numbers, else closed forms.  Data kept beside the
    model stays where it is.
    """
    proto = parse_model(path.read_bytes(), path.name)
    for node, applied in zip(proto.graph.node, study.cost.nodes, strict=True):
        note(node.metadata_props, records(study, study.adder.node(applied)))
    coverage = f"{study.coverage.costed} of {study.coverage.nodes} nodes"
    note(proto.metadata_props, {**records(study, study.total), "coverage": coverage})
    return _serialised(proto, path)


def _serialised(proto: ModelProto, path: Path) -> bytes:
    try:
        return bytes(proto.SerializeToString())
    except ValueError as error:  # a protobuf message has at most 2 GB
        raise Rejected(
            Diagnostic("T0695", f"{quoted(path.name)} is too large to be written: {error}")
        ) from error


def records(study: ModelStudy, figures: Figures) -> dict[str, str]:
    """What is noted at a node: name and text."""
    forms = {"eops": figures.eops, "flops": figures.flops, "macs": figures.macs, "bytes": figures.bytes}
    found = {name: _text(study, form) for name, form in forms.items() if form is not None}
    return {**found, "status": figures.status}


def _text(study: ModelStudy, form: Poly) -> str:
    value = study.place.at(form) if study.place.complete else None
    return to_text(form) if value is None else str(value)


def note(entries: object, values: dict[str, str]) -> None:
    """Put entries into metadata; those of an earlier time are replaced."""
    kept = [e for e in entries if not e.key.startswith(PREFIX)]  # type: ignore[attr-defined]
    fresh = [StringStringEntryProto(key=f"{PREFIX}{name}", value=text) for name, text in values.items()]
    del entries[:]  # type: ignore[attr-defined]
    entries.extend([*kept, *fresh])  # type: ignore[attr-defined]
