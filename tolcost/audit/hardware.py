"""What a GPU says, on the page of reports: what was asked of the analysis, how far it got, and its charts.

The analysis itself is ``benchmarks/hardware``; it writes ``reports/hardware.md``, the charts, and a table
that is read back here.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from tolcost.show.document import Column, ReportTable
from tolcost.show.html import Chart

MADE = "make hardware"
_TABLE = Path("data") / "h200" / "reached.csv"
_CHARTS = {
    "hardware-operations": "On an H200: executed fp32 operations against EOPs.",
    "hardware-times": "On an H200: predicted against measured time.",
    "hardware-roofline": "On an H200: EOPs per microsecond against EOPs per byte, under the roofline.",
}


def gpu_table(folder: Path) -> Iterator[ReportTable]:
    """The table, if the analysis was made."""
    if not (folder / _TABLE).is_file():
        return
    with (folder / _TABLE).open(encoding="utf-8", newline="") as lines:
        head, *rows = csv.reader(lines)
    keys = ("figure", "asked", "reached", "first_half", "verdict")
    columns = tuple(Column(key, title or "verdict") for key, title in zip(keys, head, strict=True))
    about = (
        "Counters and times of PyTorch's kernels on one NVIDIA H200 beside what is counted here, on operators"
        " that nothing was fitted on: how many operations are executed, how long calls take, and whether the"
        " bound holds. Case by case, with reasons: `reports/hardware.md`; the charts are above."
    )
    yield ReportTable(columns, [tuple(row) for row in rows], "gpu", "EOPs against a GPU", about, MADE)


def gpu_charts(folder: Path) -> Iterator[Chart]:
    """The charts, those that were made."""
    for name, caption in _CHARTS.items():
        if (folder / f"{name}.svg").is_file():
            yield Chart(name, caption, MADE, (folder / f"{name}.svg").read_text(encoding="utf-8"))
