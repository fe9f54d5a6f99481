"""Counts of other tools at given shapes, beside ours."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from tolcost.algebra import product_of
from tolcost.catalogue.specs import Library
from tolcost.cost import Analysis
from tolcost.diagnostics import refuse
from tolcost.result.instances import OperatorInstance, analyse_instance
from tolcost.show.document import Cell

COMPILED, WRITTEN, ONNX_TOOL = "XLA compiled", "XLA as written", "onnx-tool"


class Peer(Struct, frozen=True):
    """Counts of another tool for an operator at some shapes; None where the tool does not count."""

    op: str
    kind: str
    shapes: str
    attrs: str
    tool: str
    version: str
    flops: Fraction | None
    transcendentals: Fraction | None
    macs: Fraction | None
    remark: str


def peer_of(row: Mapping[str, str]) -> Peer:
    """Read a row of the table of counts."""
    flops, transcendentals, macs = (
        Fraction(row[key]) if row[key] else None for key in ("flops", "transcendentals", "macs")
    )
    keys = ("operator", "class", "shapes", "attrs", "tool", "version")
    op, kind, shapes, attrs, tool, version = (row[key] for key in keys)
    return Peer(op, kind, shapes, attrs, tool, version, flops, transcendentals, macs, row["remark"])


class Measured(Struct, frozen=True):
    """An operator at some shapes: our counts, and those of other tools."""

    op: str
    kind: str
    instance: OperatorInstance
    eops: int
    macs: int
    counts: Mapping[str, Peer]
    trivial: bool
    """Whether the operator applies no function, or a single function at most once per element."""

    def total(self, tool: str) -> Fraction | None:
        """Return the sum of XLA's flops and transcendentals, each counted once."""
        peer = self.counts.get(tool)
        if peer is None or peer.flops is None:
            return None
        return peer.flops + (peer.transcendentals or 0)

    def ratio(self, tool: str = COMPILED) -> Fraction | None:
        """Return EOPs over the other count; 1 if both are 0, None if only the other is."""
        return _quotient(self.eops, self.total(tool))

    @property
    def ratio_macs(self) -> Fraction | None:
        """Our MACs over onnx-tool's; our EOPs for an operator without MACs, as that tool counts then."""
        peer = self.counts.get(ONNX_TOOL)
        return _quotient(self.macs or self.eops, None if peer is None else peer.macs)


def _quotient(ours: int, theirs: Fraction | None) -> Fraction | None:
    if theirs is None:
        return None
    if theirs == 0:
        return Fraction(1) if ours == 0 else None
    return Fraction(ours) / theirs


def points(peers: Sequence[Peer], library: Library) -> tuple[Measured, ...]:
    """Count every operator at the shapes at which the other tools counted it."""
    found: dict[tuple[str, str, str], dict[str, Peer]] = {}
    for peer in peers:
        found.setdefault((peer.op, peer.shapes, peer.attrs), {})[peer.tool] = peer
    return tuple(_point(op, shapes, attrs, counts, library) for (op, shapes, attrs), counts in found.items())


def _point(op: str, shapes: str, attrs: str, counts: Mapping[str, Peer], library: Library) -> Measured:
    instance = OperatorInstance(op, json.loads(shapes), json.loads(attrs), 1)
    analysis = analyse_instance(instance, library)
    eops, macs = analysis.eops.constant, analysis.counts.macs.constant
    if eops is None or macs is None:
        refuse("T0681", f"the count of {op} at {shapes} is not a number")
    kind = next(iter(counts.values())).kind
    return Measured(op, kind, instance, eops, macs, counts, _is_trivial(analysis, eops))


def _is_trivial(analysis: Analysis, eops: int) -> bool:
    shapes = [part.shape for tensor in (*analysis.inputs, *analysis.outputs) for part in tensor.type]
    largest = max((product_of(shape).constant or 0 for shape in shapes), default=0)
    return eops == 0 or (len(analysis.counts.histogram) == 1 and eops <= largest)


def number_cell(value: Fraction | None) -> Cell:
    """Return a whole number as an integer."""
    return value.numerator if value is not None and value.denominator == 1 else value
