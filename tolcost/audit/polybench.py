"""PolyBench: the closed forms of ``specs/polybench`` beside what DaCe counts for the same kernels."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from tolcost.algebra import Poly, evaluate, length, substitute, total_of
from tolcost.algebra.parse import parse_text
from tolcost.audit.instances import analyse_source
from tolcost.catalogue.specs import Library
from tolcost.cost import Analysis
from tolcost.dataclass import dataclass
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.platform import read_spec
from tolcost.show.document import Cell, Code, Column, ReportTable

RECORDED = "data/polybench.toml"

COLUMNS = (
    Column("kernel", "kernel"),
    Column("eops", "EOPs", "form"),
    Column("work", "DaCe's work", "form"),
    Column("difference", "EOPs less work", "form"),
    Column("why", "why"),
    Column("bytes", "bytes in and out, once", "form"),
    Column("volume", "DaCe's bytes", "form", printed=False),
    Column("eops_at", "EOPs at DaCe's lengths", "number"),
    Column("work_at", "DaCe's work there", "number"),
    Column("traffic_ratio", "its bytes over ours there", "number"),
    Column("command", "EOPs shown by", "code", printed=False),
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A kernel as DaCe counts it, in formulas of its lengths; and by what EOPs differ from that, by kind."""

    work: Poly
    volume: Poly
    pinned: tuple[int, int]
    differs: Mapping[str, Poly]


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """All that is recorded: its source, the lengths it was pinned at, reasons by kind, and the kernels."""

    source: str
    at: Mapping[str, int]
    kinds: Mapping[str, str]
    kernels: Mapping[str, Recorded]


def read_record(reports: Path) -> KernelRecord:
    """Read what was recorded of DaCe."""
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
    """One line for each kernel; a difference that the recorded reasons do not make up is refused."""
    record = read_record(reports)
    analyses = {
        name: analyse_source(read_spec("polybench", name), library) for name in sorted(record.kernels)
    }
    problems = [said for name, found in analyses.items() for said in _problems(name, found, record)]
    if problems:
        raise Rejected(*(Diagnostic("T0681", f"{RECORDED}: {problem}") for problem in problems))
    about = (
        "The 30 kernels of PolyBench as ToLang programs: EOPs in closed form beside the work and the bytes "
        f"that DaCe's own tests pin for them ({record.source}). That EOPs are that work and the difference "
        "shown is proved for all lengths of at least 2. Bytes are other models: here every input and output "
        "moves once, whatever is computed between; there every region moves once for each nest of maps and "
        "each turn of the loops around it, intermediate arrays among them."
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
    """The form for lengths of at least 2: each written as one more than a length."""
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
