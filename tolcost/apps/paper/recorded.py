"""Recordings beside the reports, read back for the page: a GPU's measurements, and the referee's findings.

``tools/benchmarks/hardware`` writes ``hardware.md``, charts and a table; ``make referee`` writes the verdicts
on published cost formulas, and the counts of other tools.
"""

from __future__ import annotations

import csv
import io
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from msgspec import Struct

from tolcost.algebra import Poly, evaluate, length, substitute, total_of
from tolcost.algebra.parse import parse_text
from tolcost.catalogue.specs import Library
from tolcost.cost import Analysis
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.platform import read_spec
from tolcost.result.instances import analyse_source
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
    """Yield the table, if the analysis was made."""
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
    """Yield the charts that were made."""
    for name, caption in _CHARTS.items():
        file = folder / "charts" / f"{name}.svg"
        if file.is_file():
            yield Chart(name, caption, MADE, file.read_text(encoding="utf-8"))


# ---- the referee -----------------------------------------------------------------------------


VERDICTS, WITNESSES = "referee.csv", "witnesses.csv"
MADE_BY = "make referee report"
RIGHT = ("equal", "another convention")
"""The verdicts on formulas that are right, by our convention or by one that is stated."""
LEAGUE = (
    Column("source", "who"),
    Column("formulas", "formulas", "number"),
    Column("equal", "equal", "number"),
    Column("convention", "right by another convention", "number"),
    Column("low", "too low", "number"),
    Column("high", "too high", "number"),
    Column("both", "too low and too high", "number"),
    Column("leading", "of these right in the leading terms", "number"),
    Column("where", "published in", shown=False),
    Column("checked", "held there to", shown=False),
)
WHO = (
    ("operator", "operator"), ("at", "shapes"), ("EOPs", "eops"), ("XLA as written", "written"),
    ("XLA compiled", "compiled"), ("jax roofline", "roofline"), ("onnx-tool", "onnx_tool"),
    ("onnxsim", "onnxsim"), ("telling", "telling"), ("twin", "values"), ("H200, fp32 / EOPs", "executed"),
    ("rules by", "rules"), ("why none", "reason"),
)  # fmt: skip


def league_table(folder: Path) -> tuple[ReportTable, ...]:
    """Make a table of the publishers of formulas and their results, if the referee has written it."""
    rows = _rows(folder / VERDICTS)
    sources = list(dict.fromkeys(row["formula"].partition("/")[0] for row in rows))
    by_source = {name: [r for r in rows if r["formula"].partition("/")[0] == name] for name in sources}
    right = {
        name: sum(r["verdict"] in RIGHT for r in found) / len(found) for name, found in by_source.items()
    }
    ranked = sorted(sources, key=lambda name: (-right[name], name))
    about = (
        f"{len(rows)} formulas of {len(sources)} sources, compared with definitions for all lengths. A"
        " formula may follow another stated convention, and is right by that: it counts a "
        "multiply-add as one, counts only products of matrices, or is for another verified algorithm."
        " A formula that is right by no convention is too low or too high; referee.md says where and "
        "by how much. The notes say where each is published."
    )
    found = tuple(_line(name, by_source[name]) for name in ranked)
    title = "The league of cost formulas"
    notes = tuple((row[0], f"{row[-2]}. Held there to: {row[-1]}.") for row in found)
    return (ReportTable(LEAGUE, found, "league", title, about, MADE_BY, notes=notes),) if rows else ()


def _line(name: str, rows: Sequence[Mapping[str, str]]) -> tuple[Cell, ...]:
    told = Counter(row["verdict"] for row in rows)
    return (
        name,
        len(rows),
        told["equal"],
        told["another convention"],
        told["too low"],
        told["too high"],
        told["too low and too high"],
        sum(row["leading"] == "right" and row["verdict"] not in RIGHT for row in rows),
        rows[0]["source"],
        rows[0]["checked"],
    )


def who_counts_table(folder: Path) -> tuple[ReportTable, ...]:
    """Make a table of the counts of each tool, operator by operator."""
    rows = _rows(folder / WITNESSES)
    columns = tuple(Column(key, title, "code" if key == "shapes" else "text") for title, key in WHO)
    found = tuple(tuple(Code(row[key]) if key == "shapes" else row[key] for _, key in WHO) for row in rows)
    witnessed = sum(not row["reason"] for row in rows)
    about = (
        f"{len(rows)} verified operators, {witnessed} of them with a count by at least one other tool."
        " Trivial points (no function, or one for each element) are marked. The programs of jax were "
        "checked against ONNX's reference."
    )
    table = ReportTable(columns, found, "witnesses", "Who counts what, operator by operator", about, MADE_BY)
    return (table,) if rows else ()


def _rows(file: Path) -> list[dict[str, str]]:
    if not file.is_file():
        return []
    return list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))


# === PolyBench: the closed forms of ``specs/polybench`` beside the counts of DaCe for these kernels.


RECORDED = "data/polybench.toml"

COLUMNS = (
    Column("kernel", "kernel"),
    Column("eops", "EOPs", "form"),
    Column("work", "DaCe's work", "form", group="DaCe's work"),
    Column("difference", "EOPs less work", "form", group="DaCe's work"),
    Column("why", "why"),
    Column("bytes", "bytes in and out, once", "form"),
    Column("volume", "DaCe's bytes", "form", printed=False),
    Column("eops_at", "at DaCe's lengths: EOPs", "number", group="at DaCe's lengths"),
    Column("work_at", "at DaCe's lengths: work", "number", group="at DaCe's lengths"),
    Column("traffic_ratio", "at DaCe's lengths: its bytes over ours", "number", group="at DaCe's lengths"),
    Column("command", "EOPs shown by", "code", printed=False),
)


class Recorded(Struct, frozen=True):
    """A kernel as DaCe counts it, in formulas of its lengths, and the differences of EOPs, by kind."""

    work: Poly
    volume: Poly
    pinned: tuple[int, int]
    differs: Mapping[str, Poly]


class KernelRecord(Struct, frozen=True):
    """The whole recording: its source, the lengths of its evaluation, reasons by kind, and the kernels."""

    source: str
    at: Mapping[str, int]
    kinds: Mapping[str, str]
    kernels: Mapping[str, Recorded]


def read_record(reports: Path) -> KernelRecord:
    """Read the recording of DaCe."""
    try:
        table = tomllib.loads((reports / RECORDED).read_text(encoding="utf-8"))
        kernels = {str(name): _recorded(entry) for name, entry in table["kernels"].items()}
        source = "{project}, {file} at commit {commit} ({date}; {remark})".format(**table["source"])
        return KernelRecord(source, dict(table["at"]), dict(table["kinds"]), kernels)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Rejected(Diagnostic("T0681", f"{RECORDED} cannot be used: {error}")) from None


def _recorded(entry: Mapping[str, Any]) -> Recorded:
    work, read, written = entry["pinned"]
    differs = entry.get("differs", {})
    return Recorded(
        parse_text(str(entry["work"])),
        parse_text(str(entry["read"])) + parse_text(str(entry["written"])),
        (work, read + written),
        {kind: parse_text(form) for kind, form in differs.items()},
    )


def polybench_table(reports: Path, library: Library) -> ReportTable:
    """Make a table with one line for each kernel; a difference without a recorded reason is refused."""
    record = read_record(reports)
    analyses = {
        name: analyse_source(read_spec("polybench", name), library) for name in sorted(record.kernels)
    }
    problems = [said for name, found in analyses.items() for said in _problems(name, found, record)]
    if problems:
        raise Rejected(*(Diagnostic("T0681", f"{RECORDED}: {problem}") for problem in problems))
    about = (
        "The 30 kernels of PolyBench as ToLang programs. EOPs in closed form stand beside the work "
        f"and the bytes that DaCe's own tests state for them ({record.source}). It is proved for all "
        "lengths of at least 2 that EOPs are that work plus the difference shown. Bytes follow two "
        "different models: here every input and output moves once, and intermediate results do not; "
        "in DaCe every region, also of an intermediate array, moves once for each nest of maps and "
        "each turn of the loops around it."
    )
    rows = tuple(_row(name, analyses[name], record) for name in analyses)
    return ReportTable(COLUMNS, rows, "polybench", "PolyBench and DaCe", about, "tolcost report")


def _problems(name: str, analysis: Analysis, record: KernelRecord) -> list[str]:
    known = record.kernels[name]
    said = known.work + total_of(known.differs.values())
    problems = [f"{name} differs for no reason"] if _from_two(analysis.eops) != _from_two(said) else []
    problems += [f"there is no reason called {kind}" for kind in known.differs if kind not in record.kinds]
    pinned = (_at(known.work, record), _at(known.volume, record))
    return problems + ([f"{name} is {pinned}, not as pinned"] if pinned != known.pinned else [])


def _from_two(form: Poly) -> Poly:
    """Substitute lengths of at least 2 into a form: each is written as one more than a length."""
    return substitute(form, {symbol: length(symbol.name) + 1 for symbol in form.free})


def _at(form: Poly, record: KernelRecord) -> int:
    return evaluate(form, {symbol: record.at[symbol.name] for symbol in form.free})


def _row(name: str, analysis: Analysis, record: KernelRecord) -> tuple[Cell, ...]:
    known = record.kernels[name]
    moved = analysis.traffic.total
    return (
        name,
        analysis.eops,
        known.work,
        total_of(known.differs.values()),
        " ".join(record.kinds[kind] for kind in known.differs) or None,
        moved,
        known.volume,
        _at(analysis.eops, record),
        known.pinned[0],
        None if moved is None else Fraction(known.pinned[1], _at(moved, record)),
        Code(f"tolcost analyze specs/polybench/{name}.tol --symbolic"),
    )
