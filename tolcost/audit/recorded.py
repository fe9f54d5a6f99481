"""What was recorded beside the reports, read back for the page: what a GPU says, and the referee's findings.

``benchmarks/hardware`` writes ``hardware.md``, charts and a table; ``make referee`` writes how those fare
who publish cost formulas, and who counts what.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tolcost.show.document import Cell, Code, Column, ReportTable
from tolcost.show.html import Chart

# ---- a GPU -----------------------------------------------------------------------------------


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


# ---- the referee -----------------------------------------------------------------------------


VERDICTS, WITNESSES = "referee.csv", "witnesses.csv"
MADE_BY = "make referee report"
LEAGUE = (
    Column("source", "who"),
    Column("formulas", "formulas", "number"),
    Column("equal", "equal", "number"),
    Column("leading", "right in the leading terms", "number"),
    Column("low", "too low", "number"),
    Column("high", "too high", "number"),
    Column("both", "too low and too high", "number"),
    Column("products", "models: equal in products alone", "number"),
    Column("where", "published in"),
    Column("checked", "held there to"),
)
WHO = (
    ("operator", "operator"), ("at", "shapes"), ("EOPs", "eops"), ("XLA as written", "written"),
    ("XLA compiled", "compiled"), ("jax roofline", "roofline"), ("onnx-tool", "onnx_tool"),
    ("onnxsim", "onnxsim"), ("telling", "telling"), ("twin", "values"), ("H200, fp32 / EOPs", "executed"),
    ("rules by", "rules"), ("why none", "reason"),
)  # fmt: skip


def league_table(folder: Path) -> tuple[ReportTable, ...]:
    """Who publishes formulas, and how they fare; nothing where the referee has not written."""
    rows = _rows(folder / VERDICTS)
    sources = list(dict.fromkeys(row["formula"].partition("/")[0] for row in rows))
    by_source = {name: [r for r in rows if r["formula"].partition("/")[0] == name] for name in sources}
    right = {
        name: sum(r["verdict"] == "equal" for r in found) / len(found) for name, found in by_source.items()
    }
    ranked = sorted(sources, key=lambda name: (-right[name], name))
    about = (
        f"{len(rows)} formulas of {len(sources)} sources, held to definitions for all lengths. A formula for "
        "another algorithm, or with weights of its own, differs too: referee.md says where and by how much. "
        "Formulas for models mostly mean products of matrices alone, which are judged apart."
    )
    found = tuple(_line(name, by_source[name]) for name in ranked)
    title = "The league of cost formulas"
    return (ReportTable(LEAGUE, found, "league", title, about, MADE_BY),) if rows else ()


def _line(name: str, rows: Sequence[Mapping[str, str]]) -> tuple[Cell, ...]:
    told = Counter(row["verdict"] for row in rows)
    return (
        name,
        len(rows),
        told["equal"],
        sum(row["leading"] == "right" for row in rows),
        told["too low"],
        told["too high"],
        told["too low and too high"],
        sum(row["products"] == "equal" for row in rows) if any(row["products"] for row in rows) else None,
        rows[0]["source"],
        rows[0]["checked"],
    )


def who_counts_table(folder: Path) -> tuple[ReportTable, ...]:
    """Who counts what, operator by operator."""
    rows = _rows(folder / WITNESSES)
    columns = tuple(Column(key, title, "code" if key == "shapes" else "text") for title, key in WHO)
    found = tuple(tuple(Code(row[key]) if key == "shapes" else row[key] for _, key in WHO) for row in rows)
    witnessed = sum(not row["reason"] for row in rows)
    about = (
        f"{len(rows)} verified operators, {witnessed} of them with at least one witness. Points that are "
        "trivial (no function, or one for each element) are marked. Twins in jax were held to ONNX's "
        "reference."
    )
    table = ReportTable(columns, found, "witnesses", "Who counts what, operator by operator", about, MADE_BY)
    return (table,) if rows else ()


def _rows(file: Path) -> list[dict[str, str]]:
    if not file.is_file():
        return []
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
