"""Write the cost of each node into the model file itself, where viewers show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from onnx import StringStringEntryProto

from tolcost.catalogue.reading import parse_model
from tolcost.diagnostics import Diagnostic, Rejected, quoted

PREFIX = "tolcost."


def annotated(
    path: Path, nodes: Sequence[Mapping[str, str]], whole: Mapping[str, str], order: Sequence[int] = ()
) -> bytes:
    """Return the model file with notes on every node and on the model; external data stays where it is.

    ``order`` maps each node to its position in the file, if the file does not have them sorted.
    """
    proto = parse_model(path.read_bytes(), path.name)
    for place, notes in zip(order or range(len(proto.graph.node)), nodes, strict=True):
        note(proto.graph.node[place].metadata_props, notes)
    note(proto.metadata_props, whole)
    try:
        return bytes(proto.SerializeToString())
    except ValueError as error:  # a protobuf message has at most 2 GB
        message = f"{quoted(path.name)} is too large to be written: {error}"
        raise Rejected(Diagnostic("T0695", message)) from error


def note(entries: object, values: Mapping[str, str]) -> None:
    """Write entries into metadata, replacing those of an earlier run."""
    kept = [e for e in entries if not e.key.startswith(PREFIX)]  # type: ignore[attr-defined]
    fresh = [StringStringEntryProto(key=f"{PREFIX}{name}", value=text) for name, text in values.items()]
    del entries[:]  # type: ignore[attr-defined]
    entries.extend([*kept, *fresh])  # type: ignore[attr-defined]
