"""The operator catalogue and the outcome of its tests, as text and as data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tolcost.catalogue.conformance import Result
from tolcost.catalogue.listing import Entry
from tolcost.catalogue.suite import Report
from tolcost.diagnostics import visible
from tolcost.report.json_form import Json, document
from tolcost.report.tables import markdown_code, markdown_text

_MOST_FORMS = 6


def verify_text(report: Report, all_operators: bool) -> str:
    """Failures one by one, operators that do not fully pass (or all), and the figures."""
    lines = [f"FAIL {r.name} ({r.op}): {visible(r.cause or 'no cause given')}" for r in report.failures]
    if all_operators:
        details = (r.detail for r in report.failures if r.detail)
        lines += [f"    {line}" for detail in details for line in detail.splitlines()]
    lines += [""] if lines else []
    by_name: dict[str, list[Result]] = {}
    for result in report.results:
        by_name.setdefault(result.op, []).append(result)
    lines += [
        f"{name}: {_figure(found)}"
        for name, found in sorted(by_name.items())
        if all_operators or any(r.status == "fail" for r in found)
    ]
    figures = report.figures()
    judged = figures["pass"] + figures["fail"]
    lines.append(
        f"{figures['pass']:,} of {judged:,} node tests of onnx {report.onnx} pass in value, shape and count; "
        f"{figures['outside']:,} more are outside the model"
    )
    return "\n".join(lines) + "\n"


def _figure(results: Sequence[Result]) -> str:
    if results[0].status == "outside":
        return f"outside the model, {len(results)} tests"
    passed = sum(result.status == "pass" for result in results)
    fixed = sum(bool(result.concrete) for result in results)
    return f"{passed} of {len(results)}" + (f", {fixed} with numbers for some lengths" if fixed else "")


# ---- the catalogue -----------------------------------------------------------------------


def ops_text(entries: Sequence[Entry]) -> str:
    """One line for each operator, and how many there are of each standing."""
    rows = [(e.name, _since(e), _conformance(e), _summary(e)) for e in entries]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = [
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True)), row[3]]
        ).rstrip()
        for row in rows
    ]
    counts = {kind: sum(e.standing == kind for e in entries) for kind in ("defined", "outside", "missing")}
    figures = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count or kind == "defined")
    return "\n".join([*lines, "", f"{len(entries)} operators: {figures}"]) + "\n"


def _since(entry: Entry) -> str:
    return ", ".join(map(str, entry.since)) if entry.since else entry.standing


def _conformance(entry: Entry) -> str:
    return "" if entry.tested is None else f"{entry.tested.passed}/{entry.tested.cases}"


def _summary(entry: Entry) -> str:
    if entry.standing != "defined":
        return visible(entry.about)
    form = entry.tested.forms[0][1] if entry.tested and entry.tested.forms else None
    return visible(entry.signature) + (f"  EOPs {form}" if form is not None else "")


def ops_detail(entry: Entry) -> str:
    """Everything about one operator: its forms in the tests, and its definition."""
    lines = [visible(entry.signature or entry.name)]
    lines += [f"  {visible(entry.about)}"] if entry.about else []
    lines.append(f"  {entry.standing}" + (f", since version {_since(entry)}" if entry.since else ""))
    if entry.tested is not None:
        lines.append(f"  {entry.tested.passed} of {entry.tested.cases} node tests pass")
        lines += ["", "EOPs, with every length of a test a symbol:"] if entry.tested.forms else []
        lines += [f"  {form}  ({name})" for name, form in _distinct(entry.tested.forms)]
    if entry.spec is not None:
        lines += ["", f"{entry.spec.source.name}:"]
        lines += [f"  {visible(line)}".rstrip() for line in entry.spec.source.text.splitlines()]
    return "\n".join(lines) + "\n"


def _distinct(forms: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for name, form in forms:
        found.setdefault(form, name)
    return [(name, form) for form, name in list(found.items())[:_MOST_FORMS]]


def ops_json(entries: Sequence[Entry]) -> str:
    """Give the document of ``ops``."""
    return document("ops", {"operators": [_record(entry) for entry in entries]})


def _record(entry: Entry) -> dict[str, Json]:
    record: dict[str, Json] = {
        "name": entry.name,
        "standing": entry.standing,
        "since": list(entry.since),
        "signature": entry.signature,
        "about": entry.about,
        "spec": None if entry.spec is None else entry.spec.source.name,
    }
    if entry.tested is not None:
        record["tests"] = {"cases": entry.tested.cases, "pass": entry.tested.passed}
        record["eops"] = [{"case": name, "form": form} for name, form in entry.tested.forms]
    return record


def ops_markdown(entries: Sequence[Entry]) -> str:
    """Give the catalogue as a table."""
    rows = ["| operator | since | tests | signature or reason |", "| --- | --- | --- | --- |"]
    for entry in entries:
        last = markdown_code(entry.signature) if entry.signature else markdown_text(entry.about)
        rows.append(f"| {markdown_text(entry.name)} | {_since(entry)} | {_conformance(entry)} | {last} |")
    return "\n".join(rows) + "\n"
