"""The paper's rows against what others execute: XLA, a GPU, and PyTorch's counter of FLOPs.

FLOPs by weights come from the same definitions as EOPs, and are no evidence.  The conclusion is drawn from
the counts of others alone: how far EOPs are from them, derived and as printed, and why.
"""

from __future__ import annotations

import csv
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from tolcost.apps.paper.judge import Judged, meaning_for_definition
from tolcost.apps.paper.paper_table import definition_command
from tolcost.apps.paper.peers import REASONS, by_operator
from tolcost.apps.paper.readings import IllFormed, read
from tolcost.apps.paper.starts import restarted
from tolcost.catalogue.specs import Library
from tolcost.cost import Analysis, analyze_program
from tolcost.cost.count import count_functions
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.result.instances import lower_instance
from tolcost.result.other_counts import COMPILED, WRITTEN, Measured
from tolcost.show.document import Cell, Code, Column, ReportTable, rounded, text_of
from tolcost.show.svg import Scale, strip

XLA, BEFORE, H200, TORCH = "XLA", "XLA before compilation", "H200", "FlopCounterMode"
TOOLS = (XLA, BEFORE, H200, TORCH)
MADE = "make peers flop-counter report"
FLOP_COUNTER = "data/flop_counter.csv"
_GPU = Path("data") / "h200"
_FORM = 17

Band: TypeAlias = Literal["nothing to count", "equal", "within 5 %", "within 25 %", "more"]
BANDS: tuple[Band, ...] = ("nothing to count", "equal", "within 5 %", "within 25 %", "more")


class RowPoint(Struct, frozen=True):
    """An operator at some lengths: a count of another tool, and ours; None where there is none."""

    other: Fraction
    eops: int
    printed: int | None = None
    first: int | None = None
    weighted: int | None = None


Evidence: TypeAlias = Mapping[str, Sequence[RowPoint]]
"""The points of a row, by tool."""
Ours: TypeAlias = Callable[[RowPoint], int | None]

OURS: Mapping[str, tuple[str, Ours]] = {
    "eops": ("EOPs, derived", lambda point: point.eops),
    "first": ("EOPs, sums from their first term", lambda point: point.first),
    "weighted": ("FLOPs by weights", lambda point: point.weighted),
    "printed": ("EOPs, printed", lambda point: point.printed),
}


class RowsNear(Struct, frozen=True):
    """How many rows compute nothing, how many something, and how many of these are near another count."""

    nothing: int
    rows: int
    equal: int
    within_5: int
    within_25: int


class ReasonWords(Struct, frozen=True):
    """Why counts differ and why a tool has none: words by tool, their meanings, and where each applies."""

    meanings: Mapping[str, Mapping[str, str]]
    differs: Mapping[str, Mapping[str, tuple[str, ...]]]
    absent: Mapping[str, Mapping[str, str]]


# ---- the counts --------------------------------------------------------------------------


def gather(
    judged: Sequence[Judged],
    folder: Path,
    found: Sequence[Measured],
    torch: Sequence[Measured],
    library: Library,
) -> dict[str, Evidence]:
    """Return the points of every row of the paper, by its operator."""
    compiled, counted, gpu = by_operator(found), by_operator(torch), _gpu_points(folder)
    evidence: dict[str, Evidence] = {}
    for one in judged:
        op = one.row.operator
        same = one.by_definition is not None and one.by_definition.equal
        evidence[op] = {
            XLA: [_point(point, COMPILED, one, library) for point in compiled.get(op, ())],
            BEFORE: [_point(point, WRITTEN, one, library) for point in compiled.get(op, ())],
            H200: [RowPoint(other, eops, eops if same else None) for other, eops in gpu.get(op, ())],
            TORCH: [_point(point, TORCH, one, library) for point in counted.get(op, ())],
        }
    return evidence


def _point(point: Measured, tool: str, found: Judged, library: Library) -> RowPoint:
    other = point.total(tool)
    if other is None:
        raise LookupError(f"{tool} has no count of {point.op} at {point.instance.shapes}")
    program = lower_instance(point.instance, library).program
    analysis = analyze_program(program, depth=False, moved=False)
    first = count_functions(restarted(program, "first term")).eops.constant
    return RowPoint(
        other, point.eops, _printed_at(found, analysis, point.eops), first, analysis.flops.constant
    )


def _printed_at(found: Judged, analysis: Analysis, eops: int) -> int | None:
    """Return the printed count at the lengths of a point; a formula of windows has no meaning at any rank."""
    if found.by_definition is not None and found.by_definition.equal:
        return eops
    if "Pi(" in found.row.eops:
        return None
    try:
        return read(found.row.eops, meaning_for_definition(found.row, analysis)).form.constant
    except IllFormed:
        return None


def _gpu_points(folder: Path) -> dict[str, list[tuple[Fraction, int]]]:
    """Return executed fp32 operations and EOPs by operator; a fused multiply-add is two operations."""
    executed: Counter[tuple[str, str]] = Counter()
    for row in _rows(folder / _GPU / "counters.csv"):
        if row["type"] == "float32":
            executed[row["name"], row["size"]] += int(row["fp32"]) + int(row["ffma"])
    points: dict[str, list[tuple[Fraction, int]]] = defaultdict(list)
    for row in _rows(folder / _GPU / "counts.csv"):
        key = row["name"], row["size"]
        if row["type"] == "float32" and key in executed:
            points[row["name"].partition(" ")[0]].append((Fraction(executed[key]), int(row["eops"])))
    return points


def _rows(file: Path) -> Iterator[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)


# ---- how far they are apart --------------------------------------------------------------


def ratios(points: Sequence[RowPoint], ours: Ours) -> list[Fraction | None]:
    """Return the other count over ours at each point; 1 where both are 0, None where only ours is."""
    found: list[Fraction | None] = []
    for point in points:
        count = ours(point)
        if count is not None:
            both = point.other == count == 0
            found.append(Fraction(1) if both else point.other / count if count else None)
    return found


def band(points: Sequence[RowPoint], ours: Ours) -> Band | None:
    """Return how far a row is from a tool where it is farthest, relative to the tool's count."""
    counted = [(point.other, count) for point in points if (count := ours(point)) is not None]
    if not counted:
        return None
    if all(other == count == 0 for other, count in counted):
        return "nothing to count"
    errors = [abs(count / other - 1) if other else Fraction(count != 0) for other, count in counted]
    worst = max(errors)
    if worst == 0:
        return "equal"
    return "within 5 %" if worst <= Fraction(1, 20) else "within 25 %" if worst <= Fraction(1, 4) else "more"


def span_text(values: Sequence[Fraction | None]) -> str:
    """Write the least and the greatest of some ratios.

    >>> span_text([Fraction(1), Fraction(3, 2), Fraction(1)]), span_text([None])
    ('1 to 1.5', 'ours 0')
    """
    known = sorted(value for value in values if value is not None)
    if not known:
        return "ours 0"
    ends = dict.fromkeys(rounded(value, 3) for value in (known[0], known[-1]))
    return " to ".join(ends)


# ---- tables ------------------------------------------------------------------------------

COLUMNS = (
    Column("operator", "operator"),
    Column("printed", "EOPs, printed", "code", group="EOPs"),
    Column("eops", "EOPs, derived", "code", group="EOPs"),
    Column("flops", "FLOPs by weights", "code", printed=False),
    Column("xla", "XLA over EOPs", group="XLA over"),
    Column("written", "XLA before compilation over EOPs", printed=False),
    Column("h200", "H200 over EOPs"),
    Column("torch", "torch over EOPs"),
    Column("xla_printed", "XLA over printed", group="XLA over"),
    Column("xla_first", "XLA over EOPs from first terms", printed=False),
    Column("band", "from XLA", group="XLA over"),
    Column("why", "why", "code"),
    Column("shapes", "points of XLA", "number", printed=False),
    Column("sizes", "points of the H200", "number", printed=False),
    Column("command", "EOPs shown by", "code", printed=False),
)


def evidence_of_rows(
    judged: Sequence[Judged], evidence: Mapping[str, Evidence], words: ReasonWords
) -> ReportTable:
    """Make a table of the 60 rows: what is printed, what is derived, and what others execute."""
    _check(evidence, words)
    about = (
        "Three counts for each of the 60 rows: what the paper prints, what the definition that passes"
        " ONNX's tests costs, and what others count or execute. The last is divided by our EOPs, so "
        "that 1 is the same number; two numbers are the least and the greatest over all shapes. *XLA*"
        " is its compiled count of a jax program (flops and transcendentals). *H200* is the number of"
        " fp32 operations that PyTorch's kernels executed, where a fused multiply-add is two. *torch*"
        " is PyTorch's counter. *FLOPs by weights* (in the CSV) come from the same definition as "
        "EOPs, with 0 for comparisons and choices, so they are no independent count. A word in place "
        "of a number says why there is none. *From XLA* is the difference at the shape where it is "
        "largest. The notes explain the words under *why*."
    )
    rows = tuple(_row(one, evidence[one.row.operator], words) for one in judged)
    used = {(tool, word) for points in evidence.items() for tool, word in _why(*points, words)}
    notes = tuple((Code(f"{tool}: {word}"), words.meanings[tool][word]) for tool, word in sorted(used))
    title = "The 60 rows beside independent counts"
    return ReportTable(COLUMNS, rows, "evidence", title, about, MADE, notes=notes)


def _row(found: Judged, evidence: Evidence, words: ReasonWords) -> tuple[Cell, ...]:
    op, verified = found.row.operator, found.verified
    eops, flops = text_of(verified.eops), text_of(verified.flops)
    cells = [
        span_text(ratios(points, OURS["eops"][1])) if points else words.absent[tool].get(op, "no rule")
        for tool, points in evidence.items()
    ]
    xla = evidence[XLA]
    reasons: dict[str, list[str]] = {}
    for tool, word in _why(op, evidence, words):
        reasons.setdefault(tool, []).append(word)
    printed = ratios(xla, OURS["printed"][1])
    return (
        op,
        Code(found.row.eops),
        Code(eops),
        Code("= EOPs" if eops == flops else flops),
        *cells,
        span_text(printed) if printed else "no shape" if xla else "",
        span_text(ratios(xla, OURS["first"][1])) if xla else "",
        band(xla, OURS["eops"][1]) or "not counted",
        Code("\n".join(f"{tool}: {', '.join(found)}" for tool, found in reasons.items())),
        len(xla),
        len(evidence[H200]),
        Code(definition_command(found)),
    )


def _why(op: str, evidence: Evidence, words: ReasonWords) -> Iterator[tuple[str, str]]:
    for tool in (XLA, H200):
        if band(evidence[tool], OURS["eops"][1]) not in (None, "equal", "nothing to count"):
            yield from ((tool, word) for word in dict.fromkeys(words.differs[tool].get(op, ())))


SUMMARY = (
    Column("count", "count"),
    Column("tool", "beside"),
    Column("rows", "rows counted", "number"),
    *(Column(name.replace(" %", "").replace(" ", "_"), name, "number") for name in BANDS),
)


def agreement_table(evidence: Mapping[str, Evidence]) -> ReportTable:
    """Make a table of how many rows are how far from each tool."""
    about = (
        "How many of the paper's 60 rows are equal to each independent count, or within 5 or 25 % of "
        "it, at the shape where they differ most. Rows for which neither side counts anything have a "
        "column of their own. XLA starts a sum at its first term. EOPs are given twice: as the "
        "definitions start their sums, and derived again with every sum started as XLA does. Printed "
        "EOPs are compared where their formula can be read at the tool's shapes. FLOPs by weights "
        "stand beside EOPs for comparison; they are no independent count."
    )
    rows: list[tuple[Cell, ...]] = [
        (title, tool, *_bands([points[tool] for points in evidence.values()], ours))
        for tool in TOOLS
        for title, ours in OURS.values()
        if any(ours(point) is not None for points in evidence.values() for point in points[tool])
    ]
    title = "How far EOPs are from independent counts"
    return ReportTable(SUMMARY, tuple(rows), "agreement", title, about, MADE)


def agreement(evidence: Mapping[str, Evidence], tool: str, key: str) -> RowsNear:
    """Count the rows that compute something, and those that are near the count of a tool."""
    _, nothing, equal, within_5, within_25, more = _bands(
        [points[tool] for points in evidence.values()], OURS[key][1]
    )
    return RowsNear(
        nothing, equal + within_5 + within_25 + more, equal, equal + within_5, equal + within_5 + within_25
    )


def _bands(rows: Sequence[Sequence[RowPoint]], ours: Ours) -> tuple[int, ...]:
    found = Counter(one for points in rows if (one := band(points, ours)) is not None)
    return (found.total(), *(found[name] for name in BANDS))


def agreement_chart(evidence: Mapping[str, Evidence]) -> str:
    """Draw what others count over EOPs, a line for each row and tool that count something."""
    lines = []
    for op, tools in sorted(evidence.items()):
        name = op
        for tool, points in ((tool, tools[tool]) for tool in (XLA, H200, TORCH)):
            values = [float(value) for value in ratios(points, OURS["eops"][1]) if value]
            if values and band(points, OURS["eops"][1]) != "nothing to count":
                lines.append((name, tool, sorted(values)))
                name = ""
    low, high = (pick(v for _, _, values in lines for v in values) for pick in (min, max))
    return strip(
        lines, Scale("others / EOPs; 1 is equal", low / 1.2, high * 1.2), "Independent counts over EOPs"
    )


# ---- reasons -----------------------------------------------------------------------------


def read_words(folder: Path) -> ReasonWords:
    """Read why counts differ, and why there are none; both are written by hand."""
    try:
        xla = tomllib.loads((folder / REASONS).read_text(encoding="utf-8"))
        gpu = tomllib.loads((folder / _GPU / "reasons.toml").read_text(encoding="utf-8"))
        absent: Mapping[str, Any] = xla["absent"]
        cases: dict[str, tuple[str, ...]] = {}
        for name, kinds in gpu["cases"].items():
            op = name.partition(" ")[0]
            cases[op] = (*cases.get(op, ()), *kinds)
        return ReasonWords(
            {XLA: xla["kinds"], H200: gpu["kinds"]},
            {XLA: {op: tuple(kinds) for op, kinds in xla["operators"].items()}, H200: cases},
            {**absent, BEFORE: absent[XLA], TORCH: {}},
        )
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise Rejected(Diagnostic("T0681", f"{REASONS} cannot be used: {error}")) from None


def _check(evidence: Mapping[str, Evidence], words: ReasonWords) -> None:
    """Refuse an empty column without a word, and a word for a column that is not empty."""
    problems = []
    for tool in (XLA, H200):
        empty = {op for op, points in evidence.items() if not points[tool]}
        told = words.absent[tool].keys()
        problems += [f"{op} has no count of {tool}, and no word for that" for op in sorted(empty - told)]
        problems += [f"{op} has a count of {tool}, and a word for having none" for op in sorted(told - empty)]
    if problems:
        raise Rejected(*(Diagnostic("T0681", f"{REASONS}: {problem}") for problem in problems))
