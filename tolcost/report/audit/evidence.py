"""What was measured before and is read back: conformance, and the counts of other tools.

Both are files under ``reports/data``: making them takes minutes, or tools that tolcost does not
need.  A file that is missing or not as it should be is a diagnostic, never an empty answer.
"""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

from tolcost.diagnostics import Diagnostic, Rejected

CONFORMANCE = "data/conformance.json"
PEERS = "data/peers.csv"
REASONS = "data/reasons.toml"
CONFORMANCE_COMMAND = f"tolcost verify --format json --output reports/{CONFORMANCE}"
PEERS_COMMAND = "make peers"
CONFORMANCE_MADE, PEERS_MADE = "make conformance report", "make peers report"
"""What makes the tables that rest on such a file anew."""


Given: TypeAlias = "int | float | bool | str | list[Given]"
"""A shape of names and numbers, several of them, or a value, as JSON has it."""


@dataclass(frozen=True, slots=True)
class Tested:
    """What became of one node test, and the closed forms behind it.

    ``since`` is the version of the definition, ``shapes`` and ``values`` are what the forms are for.
    """

    case: str
    op: str
    status: str
    cause: str
    eops: str | None
    macs: str | None
    certainty: str
    concrete: tuple[str, ...]
    functions: tuple[str, ...]
    since: int | None = None
    shapes: Mapping[str, Given] = field(default_factory=dict)
    values: Mapping[str, Given] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Conformance:
    """The outcome of a whole run of ONNX's node tests."""

    onnx: str
    cases: tuple[Tested, ...]

    def of(self, op: str) -> tuple[Tested, ...]:
        """The cases of one operator."""
        return tuple(case for case in self.cases if case.op == op)


@dataclass(frozen=True, slots=True)
class Peer:
    """What another tool counts for an operator at some shapes; None where it does not count at all."""

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


@dataclass(frozen=True, slots=True)
class Reasons:
    """Why counts differ: texts by kind, and the kinds that each operator needs."""

    kinds: Mapping[str, str]
    operators: Mapping[str, tuple[str, ...]]


def read_conformance(reports: Path) -> Conformance:
    """Read the stored outcome of ``tolcost verify``."""
    return conformance_of(_read(reports / CONFORMANCE, CONFORMANCE_COMMAND))


def conformance_of(text: str) -> Conformance:
    """Read the JSON that ``tolcost verify`` writes."""
    try:
        record: Mapping[str, Any] = json.loads(text)
        if record["tolcost"] != 1 or record["kind"] != "verify":
            raise ValueError("it is of another kind or version")
        cases = tuple(map(_tested, record["cases"]))
        broken = next((case for case in cases if case.cause.startswith("internal error")), None)
        if broken is not None:
            raise ValueError(f"in that run tolcost itself failed: {broken.cause}")
        return Conformance(str(record["onnx"]), cases)
    except (ValueError, KeyError, TypeError) as error:
        raise _unusable(CONFORMANCE, CONFORMANCE_COMMAND, error) from None


def _tested(case: Mapping[str, Any]) -> Tested:
    return Tested(
        str(case["name"]),
        str(case["op"]),
        str(case["status"]),
        str(case["cause"] or ""),
        case["eops"],
        case["macs"],
        str(case["certainty"] or ""),
        tuple(map(str, case["concrete"])),
        tuple(map(str, case["functions"])),
        case.get("since"),
        dict(case.get("shapes") or {}),
        dict(case.get("values") or {}),
    )


def read_peers(reports: Path) -> tuple[Peer, ...]:
    """Read what the other tools counted."""
    text = _read(reports / PEERS, PEERS_COMMAND)
    try:
        return tuple(map(_peer, csv.DictReader(io.StringIO(text))))
    except (ValueError, KeyError, TypeError) as error:
        raise _unusable(PEERS, PEERS_COMMAND, error) from None


def _peer(row: Mapping[str, str]) -> Peer:
    flops, transcendentals, macs = (
        Fraction(row[key]) if row[key] else None for key in ("flops", "transcendentals", "macs")
    )
    return Peer(
        row["operator"],
        row["class"],
        row["shapes"],
        row["attrs"],
        row["tool"],
        row["version"],
        flops,
        transcendentals,
        macs,
        row["remark"],
    )


def read_reasons(reports: Path) -> Reasons:
    """Read why other counts differ, as written down by hand."""
    text = _read(reports / REASONS, "an editor: it is written by hand")
    try:
        table = tomllib.loads(text)
        operators = {str(op): tuple(map(str, kinds)) for op, kinds in table["operators"].items()}
        return Reasons({str(kind): str(text) for kind, text in table["kinds"].items()}, operators)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unusable(REASONS, "an editor", error) from None


def _read(path: Path, command: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Rejected(
            Diagnostic("T0681", f"cannot read {path.name}: {error}", hint=f"make it with `{command}`")
        ) from None


def _unusable(name: str, command: str, error: Exception) -> Rejected:
    return Rejected(Diagnostic("T0681", f"{name} cannot be used: {error}", hint=f"make it with `{command}`"))
