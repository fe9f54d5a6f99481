"""EOPs compared with the counts of other tools, operator by operator and shape by shape."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import median

from msgspec import Struct

from tolcost.catalogue.conformance import Report
from tolcost.catalogue.general.record import GeneralForms
from tolcost.diagnostics import Diagnostic, Rejected, unreadable
from tolcost.result.conformance import (
    CONFORMANCE,
    CONFORMANCE_COMMAND,
    GENERAL,
    GENERAL_COMMAND,
    conformance_of,
    general_of,
)
from tolcost.result.instances import command_of
from tolcost.result.other_counts import (
    COMPILED,
    ONNX_TOOL,
    WRITTEN,
    Measured,
    Peer,
    number_cell,
    peer_of,
)
from tolcost.show.document import Cell, Code, Column, ReportTable

PEERS = "data/peers.csv"
RECORDED = "data/recorded.json"
RECORDED_COMMAND = "make conformance"
REASONS = "data/reasons.toml"
PEERS_COMMAND = "make peers"
CONFORMANCE_MADE, PEERS_MADE = "make conformance report", "make peers report"
"""Commands that make the tables from such files again."""

COLUMNS = (
    Column("operator", "operator"),
    Column("class", "class", printed=False),
    Column("shapes", "shapes", "code", group="shapes"),
    Column("attrs", "attributes", "code", group="shapes"),
    Column("eops", "EOPs", "number"),
    Column("macs", "MACs", "number", group="MACs"),
    Column("xla_flops", "XLA flops", "number", group="XLA"),
    Column("xla_transcendentals", "XLA transcendentals", "number", group="XLA"),
    Column("xla_written", "XLA before compilation", "number", group="XLA"),
    Column("onnx_tool_macs", "onnx-tool MACs", "number", group="MACs"),
    Column("ratio", "EOPs / XLA", "number"),
    Column("onnx_tool_remark", "onnx-tool says", shown=False),
    Column("command", "EOPs shown by", "code", printed=False),
)

OPERATOR_COLUMNS = (
    Column("operator", "operator"),
    Column("class", "class", printed=False),
    Column("shapes", "shapes counted", "number", printed=False),
    Column("least", "least EOPs / XLA", "number"),
    Column("middle", "median", "number"),
    Column("most", "greatest", "number"),
    Column("written", "median before compilation", "number"),
    Column("onnx_tool", "against onnx-tool, median", "number"),
    Column("reasons", "why it is not 1"),
    Column("why", "why, in full", printed=False),
)


def peers_table(found: Sequence[Measured]) -> ReportTable:
    """Make a table with one line for each operator and shape."""
    versions = {peer.tool: peer.version for point in found for peer in point.counts.values()}
    tools = ", ".join(f"{tool} {version}" for tool, version in sorted(versions.items()))
    about = (
        f"EOPs of the verified definitions beside the counts of {tools} (for XLA the version of "
        "jaxlib), at the same shapes. One of XLA's transcendentals counts as one of its flops. "
        "onnx-tool counts multiply-accumulates, and gives other functions weights of its own choice "
        "(32 for an exponential)."
    )
    return ReportTable(COLUMNS, tuple(map(_row, found)), "peers", "EOPs and other counts", about, PEERS_MADE)


def _row(point: Measured) -> tuple[Cell, ...]:
    compiled, tool = point.counts.get(COMPILED), point.counts.get(ONNX_TOOL)
    return (
        point.op,
        point.kind,
        Code(_plain(point.instance.shapes)),
        Code(_plain(point.instance.attrs)) if point.instance.attrs else None,
        point.eops,
        point.macs,
        number_cell(compiled.flops if compiled else None),
        number_cell(compiled.transcendentals if compiled else None),
        number_cell(point.total(WRITTEN)),
        number_cell(tool.macs if tool else None),
        point.ratio(),
        tool.remark if tool else "",
        Code(command_of(point.instance).replace(" --symbolic", "")),
    )


def _plain(values: Mapping[str, object]) -> str:
    return " ".join(f"{name}={json.dumps(value, separators=(',', ':'))}" for name, value in values.items())


def by_operator(found: Iterable[Measured]) -> dict[str, list[Measured]]:
    """Group points by operator, sorted by name."""
    groups: dict[str, list[Measured]] = {}
    for point in found:
        groups.setdefault(point.op, []).append(point)
    return dict(sorted(groups.items()))


def middle(values: Iterable[Fraction | None]) -> Fraction | None:
    """Return the median of the known values."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def operators_table(found: Sequence[Measured], reasons: Reasons) -> ReportTable:
    """Make a table with one line for each operator: the range of its ratios, and why it is not 1."""
    groups = by_operator(found)
    _check_reasons(groups, reasons)
    about = (
        "How far EOPs are from XLA's compiled count, over the shapes of each operator, and why. A "
        "ratio of 1 means that the two counts are the same number. The last column compares with "
        "onnx-tool: MACs with its MACs where the operator multiplies and adds up, and EOPs with its "
        "MACs elsewhere. The notes explain the words."
    )
    rows = tuple(_operator_row(op, group, reasons) for op, group in groups.items())
    title = "EOPs over FLOPs by operator"
    notes = tuple((Code(kind), said) for kind, said in reasons.kinds.items())
    return ReportTable(OPERATOR_COLUMNS, rows, "ratios", title, about, PEERS_MADE, notes=notes)


def _operator_row(op: str, group: Sequence[Measured], reasons: Reasons) -> tuple[Cell, ...]:
    ratios = [ratio for point in group if (ratio := point.ratio()) is not None]
    why = " ".join(reasons.kinds[kind] for kind in reasons.operators.get(op, ()))
    return (
        op,
        group[0].kind,
        len(group),
        min(ratios, default=None),
        middle(ratios),
        max(ratios, default=None),
        middle(point.ratio(WRITTEN) for point in group),
        middle(point.ratio_macs for point in group),
        ", ".join(reasons.operators.get(op, ())),
        why,
    )


def _check_reasons(groups: Mapping[str, Sequence[Measured]], reasons: Reasons) -> None:
    """Refuse a difference without a reason, and a reason without a difference."""
    differing = {op for op, group in groups.items() if any(point.ratio() != 1 for point in group)}
    unknown = {kind for kinds in reasons.operators.values() for kind in kinds} - reasons.kinds.keys()
    problems = [
        *(f"{op} differs from XLA, but has no reason" for op in sorted(differing - reasons.operators.keys())),
        *(f"{op} has a reason, but does not differ" for op in sorted(reasons.operators.keys() - differing)),
        *(f"there is no reason called {kind}" for kind in sorted(unknown)),
    ]
    if problems:
        raise Rejected(*(Diagnostic("T0681", f"{REASONS}: {problem}") for problem in problems))


# ---- the distance between EOPs and FLOPs, by class of operators ---------------------------


ANSWER_COLUMNS = (
    Column("class", "class"),
    Column("operators", "operators", "number", printed=False),
    Column("points", "points", "number"),
    Column("equal", "equal", "number"),
    Column("within_5", "within 5 %", "number"),
    Column("within_25", "within 25 %", "number"),
    Column("least", "least EOPs / XLA", "number"),
    Column("middle", "median", "number"),
    Column("most", "greatest", "number"),
    Column("equal_written", "equal, as written", "number"),
    Column("within_5_written", "within 5 %, as written", "number"),
)


class Spread(Struct, frozen=True):
    """The distribution of the ratios of points."""

    points: int
    equal: int
    within_5: int
    within_25: int
    least: Fraction
    middle: Fraction
    most: Fraction


def spread(found: Sequence[Measured], tool: str = COMPILED) -> Spread:
    """Summarise the ratios of points; a relative error is a ratio less 1."""
    ratios = [ratio for point in found if (ratio := point.ratio(tool)) is not None]
    return Spread(
        points=len(ratios),
        equal=sum(ratio == 1 for ratio in ratios),
        within_5=sum(abs(ratio - 1) <= Fraction(1, 20) for ratio in ratios),
        within_25=sum(abs(ratio - 1) <= Fraction(1, 4) for ratio in ratios),
        least=min(ratios, default=Fraction(1)),
        middle=median(ratios) if ratios else Fraction(1),
        most=max(ratios, default=Fraction(1)),
    )


def several_functions(found: Sequence[Measured]) -> list[Measured]:
    """Return the points at which two counts could differ: all that are not trivial."""
    return [point for point in found if not point.trivial]


def answer_table(found: Sequence[Measured]) -> ReportTable:
    """Make a table with one line for each class, and one for all."""
    about = (
        "The ratio of EOPs to XLA's compiled count (flops and transcendentals), by class of "
        "operators; *as written* is XLA's count before it compiles. A point is an operator at one "
        "shape; the relative error is the ratio less 1. A point is trivial where the operator applies"
        " no function, or a single one at most once to each element: any two counts agree there."
    )
    kinds = sorted({point.kind for point in found})
    groups = [
        *((kind, [p for p in found if p.kind == kind]) for kind in kinds),
        ("all", list(found)),
        ("all but trivial points", several_functions(found)),
        ("trivial points", [p for p in found if p.trivial]),
    ]
    rows = tuple(_answer_row(kind, group) for kind, group in groups)
    return ReportTable(ANSWER_COLUMNS, rows, "answer", "The relative error by class", about, PEERS_MADE)


def _answer_row(kind: str, group: Sequence[Measured]) -> tuple[Cell, ...]:
    """Return how near EOPs come to XLA's count in a class of operators, compiled and as written."""
    compiled, written = spread(group), spread(group, WRITTEN)
    return (
        kind,
        len(by_operator(group)),
        compiled.points,
        compiled.equal,
        compiled.within_5,
        compiled.within_25,
        compiled.least,
        compiled.middle,
        compiled.most,
        written.equal,
        written.within_5,
    )


# ---- stored measurements ---------------------------------------------------------------------


class Reasons(Struct, frozen=True):
    """Reasons why counts differ: texts by kind, and the kinds that apply to each operator."""

    kinds: Mapping[str, str]
    operators: Mapping[str, tuple[str, ...]]


def read_conformance(reports: Path) -> Report:
    """Read the stored outcome of ``tolcost verify``."""
    return conformance_of(_read(reports / CONFORMANCE, CONFORMANCE_COMMAND))


def read_recorded(reports: Path) -> Report:
    """Read the stored outcome of the cases that were recorded of onnxruntime."""
    return conformance_of(_read(reports / RECORDED, RECORDED_COMMAND))


def read_general(reports: Path) -> GeneralForms:
    """Read the stored general forms."""
    return general_of(_read(reports / GENERAL, GENERAL_COMMAND))


def read_peers(reports: Path, name: str = PEERS, command: str = PEERS_COMMAND) -> tuple[Peer, ...]:
    """Read the counts of other tools."""
    text = _read(reports / name, command)
    try:
        return tuple(map(peer_of, csv.DictReader(io.StringIO(text))))
    except (ValueError, KeyError, TypeError) as error:
        raise _unusable(name, command, error) from None


def read_reasons(reports: Path) -> Reasons:
    """Read the reasons why other counts differ, which are written by hand."""
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
        # Without the folder, no command can make the file: more is needed that only a checkout has.
        kept = "tolcost's repository has what was measured: run it there, or name its reports with --folder"
        hint = f"make it with `{command}`" if path.parent.is_dir() else kept
        raise Rejected(Diagnostic("T0681", f"cannot read {path}: {unreadable(error)}", hint=hint)) from None


def _unusable(name: str, command: str, error: Exception) -> Rejected:
    return Rejected(Diagnostic("T0681", f"{name} cannot be used: {error}", hint=f"make it with `{command}`"))
