"""What was measured before and is read back: conformance, and the counts of other tools.

Both are files under ``reports/data``: making them takes minutes, or tools that tolcost does not
need.  A file that is missing or not as it should be is a diagnostic, never an empty answer.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.result.conformance import CONFORMANCE, CONFORMANCE_COMMAND, Conformance, conformance_of

PEERS = "data/peers.csv"
REASONS = "data/reasons.toml"
PEERS_COMMAND = "make peers"
CONFORMANCE_MADE, PEERS_MADE = "make conformance report", "make peers report"
"""What makes the tables that rest on such a file anew."""


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
