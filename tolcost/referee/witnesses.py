"""Who counts what, operator by operator: every verified operator with its witnesses, or why it has none.

A witness is independent of us: XLA as written and compiled, jax's roofline rules, onnx-tool, onnxsim,
instructions that a GPU executed, and rules that others publish for the operator.  Where nobody counts it, a
reason says why.
"""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from tolcost.audit.instances import OperatorInstance
from tolcost.audit.peers import COMPILED, ONNX_TOOL, WRITTEN, Measured, Peer, number_cell, peer_of, points
from tolcost.catalogue.specs import Library
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.referee.formulas import PublishedFormula
from tolcost.result.conformance import CONFORMANCE, conformance_of
from tolcost.show.document import Cell, Code, Column, ReportTable

ROOFLINE, ONNXSIM = "jax roofline", "onnxsim"
MADE_BY = "make peers referee"
COLUMNS = (
    Column("operator", "operator"),
    Column("shapes", "at", "code"),
    Column("eops", "EOPs", "number"),
    Column("macs", "MACs", "number"),
    Column("written", "XLA as written", "number"),
    Column("compiled", "XLA compiled", "number"),
    Column("roofline", "jax roofline", "number"),
    Column("onnx_tool", "onnx-tool", "number"),
    Column("onnxsim", "onnxsim", "number"),
    Column("telling", "telling"),
    Column("values", "twin"),
    Column("executed", "executed on an H200, fp32 / EOPs"),
    Column("rules", "rules published by"),
    Column("reason", "why there is none"),
)


@dataclass(frozen=True, slots=True, eq=False)
class OperatorWitnesses:
    """What is known of one operator from outside."""

    op: str
    point: Measured | None
    values: str
    executed: str
    rules: tuple[str, ...]
    reason: str

    @property
    def witnessed(self) -> bool:
        """Whether somebody counts it."""
        return bool(self.point is not None or self.executed or self.rules)


def gather(data: Path, formulas: Iterable[PublishedFormula], library: Library) -> list[OperatorWitnesses]:
    """All verified operators; ``data`` is the folder of what was recorded."""
    rows = [*_rows(data / "peers.csv"), *_rows(data / "witnesses.csv")]
    values = {row["operator"]: row["values"] for row in rows if row.get("values")}
    counted = {point.op: point for point in points(_first_points(map(peer_of, rows)), library)}
    executed = dict(_executed(data / "h200"))
    rules = _rules(formulas)
    reasons = tomllib.loads((data / "witness_reasons.toml").read_text(encoding="utf-8"))["reasons"]
    return [
        OperatorWitnesses(
            op,
            counted.get(op),
            values.get(op, ""),
            executed.get(op, ""),
            rules.get(op, ()),
            reasons.get(op, ""),
        )
        for op in _verified(data.parent)
    ]


def _verified(reports: Path) -> list[str]:
    """The operators that pass all of ONNX's tests that are within the model."""
    found: dict[str, set[str]] = {}
    for case in conformance_of((reports / CONFORMANCE).read_text(encoding="utf-8")).results:
        found.setdefault(case.op, set()).add(case.status)
    return sorted(op for op, told in found.items() if "pass" in told and told <= {"pass", "outside"})


def _rows(file: Path) -> list[dict[str, str]]:
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))
    except OSError as error:
        raise Rejected(Diagnostic("T0730", f"cannot read {file}: {error}", hint="run `make peers`")) from None


def _first_points(peers: Iterable[Peer]) -> list[Peer]:
    """What is counted of each operator at the first of its sizes."""
    first: dict[str, tuple[str, str]] = {}
    return [
        peer
        for peer in peers
        if first.setdefault(peer.op, (peer.shapes, peer.attrs)) == (peer.shapes, peer.attrs)
    ]


def _executed(folder: Path) -> Iterator[tuple[str, str]]:
    """Instructions in fp32 over EOPs, at the first size that was recorded of each operator."""
    taken: dict[tuple[str, str, str], int] = {}
    for row in _rows(folder / "counters.csv"):
        key = (row["name"], row["type"], row["size"])
        taken[key] = taken.get(key, 0) + int(row["fp32"])
    seen: set[str] = set()
    for row in _rows(folder / "counts.csv"):
        key, op = (row["name"], row["type"], row["size"]), row["name"].split()[0]
        if op not in seen and key in taken and row["type"] == "float32":
            seen.add(op)
            eops = int(row["eops"])
            yield op, f"{taken[key]:,} / {eops:,} at {row['size']}"


def _rules(formulas: Iterable[PublishedFormula]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for formula in formulas:
        if isinstance(formula.subject, OperatorInstance):
            found.setdefault(_without_domain(formula.subject.op), {})[formula.name.partition("/")[0]] = None
    return {op: tuple(names) for op, names in found.items()}


def _without_domain(op: str) -> str:
    """The name of an operator of ONNX; those of other domains keep theirs.

    >>> _without_domain("ai.onnx.ml.Scaler"), _without_domain("com.microsoft.MoE")
    ('Scaler', 'com.microsoft.MoE')
    """
    return op.rpartition(".")[2] if op.startswith("ai.onnx.") else op


def witnesses_table(found: Sequence[OperatorWitnesses]) -> ReportTable:
    """One line for each operator."""
    held = sum(one.values == "as ONNX" for one in found)
    telling = [one.point for one in found if one.point is not None and not one.point.trivial]
    equal = sum(point.ratio() == 1 for point in telling)
    trivial = sum(one.point is not None for one in found) - len(telling)
    without = sum(not one.witnessed for one in found)
    about = (
        f"{len(found)} verified operators: {len(found) - without} with at least one witness, {without} with "
        f"a reason why there is none. Twins in jax were held to ONNX's reference on random numbers: {held} "
        f"compute what it does. Of the points counted by XLA, {trivial} are trivial (no function, or one for "
        f"each element); of the {len(telling)} telling ones {equal} are equal to XLA's compiled count. Rules "
        "published by others are judged in referee.md; instructions were recorded once (hardware.md)."
    )
    return ReportTable(COLUMNS, tuple(map(_row, found)), "witnesses", "Who counts what", about, MADE_BY)


def _row(one: OperatorWitnesses) -> tuple[Cell, ...]:
    return (
        one.op,
        *((Code(""), *[None] * 7, "") if one.point is None else _counts(one.point)),
        one.values,
        one.executed,
        ", ".join(one.rules),
        "" if one.witnessed else one.reason,
    )


def _counts(point: Measured) -> tuple[Cell, ...]:
    """What we and others count at a point, and whether that tells anything."""
    macs = (point.counts[tool].macs if tool in point.counts else None for tool in (ONNX_TOOL, ONNXSIM))
    return (
        Code(json.dumps(point.instance.shapes, separators=(",", ":"))),
        point.eops,
        point.macs,
        *(number_cell(point.total(tool)) for tool in (WRITTEN, COMPILED, ROOFLINE)),
        *map(number_cell, macs),
        "trivial" if point.trivial else "yes",
    )
