"""The table of counts of other tools, as ``tolcost report`` reads it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

HEADER = (
    "operator", "class", "shapes", "attrs", "tool", "version", "flops", "transcendentals", "macs", "remark",
)  # fmt: skip


def write(output: str, header: tuple[str, ...], found: Iterable[tuple[str, ...]]) -> None:
    """Write a table in order, every row once."""
    rows = dict.fromkeys(found)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(sorted(rows, key=lambda row: (row[0], row[4], row[2], row[3])))
    beside = Path(output + ".tmp")
    beside.write_text(out.getvalue(), encoding="utf-8")
    beside.replace(output)
