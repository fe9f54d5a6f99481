"""Write the outcome of a check in a format given by name; the formats that programs read are defined here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from tolcost import __version__
from tolcost.check.records import CostChange, CostlierRegion, Example, GateReport, HeldBudget
from tolcost.check.text import RULES, Finding, findings, gate_markdown, gate_text, headline, verdict
from tolcost.diagnostics import visible
from tolcost.show.document import Json, document, number

_MOST_ANNOTATIONS = 10
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


# ---- GitHub ---------------------------------------------------------------------------------------


def gate_github(report: GateReport) -> str:
    """Write workflow commands that become annotations: at most ten, because GitHub shows ten per step."""
    found = list(findings(report))
    shown = found if len(found) <= _MOST_ANNOTATIONS else found[: _MOST_ANNOTATIONS - 1]
    lines = [_annotation(finding) for finding in shown]
    if len(found) > len(shown):
        lines.append(f"::error title=tolcost::{_data(f'{len(found) - len(shown):,} more findings')}")
    return "\n".join([*lines, _plain(headline(report))]) + "\n"


def _annotation(finding: Finding) -> str:
    level = "notice" if finding.level == "note" else finding.level
    where = f"file={_property(visible(finding.file))},line={finding.line},title={_property(finding.title)}"
    return f"::{level} {where}::{_data(finding.message)}"


def _data(text: str) -> str:
    r"""Escape the text after ``::``, where a line break would end the command.

    >>> _data("50 %\n::error::x")
    '50 %25%0A::error::x'
    """
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _plain(text: str) -> str:
    """Return a line that GitHub does not run as a command, whatever the names in it."""
    return visible(text).replace("::", ": :")


# ---- GitLab ---------------------------------------------------------------------------------------

_SEVERITY = {"error": "major", "warning": "minor", "note": "info"}


def gate_gitlab(report: GateReport) -> str:
    """Write a GitLab code quality report."""
    issues = [
        {
            "description": f"{finding.title}: {finding.message}",
            "check_name": f"tolcost/{finding.rule}",
            "fingerprint": finding.fingerprint,
            "severity": _SEVERITY[finding.level],
            "location": {"path": finding.file, "lines": {"begin": finding.line}},
        }
        for finding in findings(report)
    ]
    return json.dumps(issues, indent=2) + "\n"


# ---- SARIF ----------------------------------------------------------------------------------------


def gate_sarif(report: GateReport) -> str:
    """Write a SARIF 2.1.0 log with one run."""
    rules: list[Json] = [{"id": rule, "shortDescription": {"text": text}} for rule, text in RULES.items()]
    driver: Json = {"name": "tolcost", "version": __version__, "rules": rules}
    results: list[Json] = [_result(finding) for finding in findings(report)]
    run: Json = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _result(finding: Finding) -> Json:
    result: dict[str, Json] = {
        "ruleId": finding.rule,
        "ruleIndex": list(RULES).index(finding.rule),
        "level": finding.level,
        "message": {"text": f"{finding.title}: {finding.message}"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(finding.file, errors="replace")},
                    "region": {"startLine": finding.line},
                }
            }
        ],
        "partialFingerprints": {"tolcost/v1": finding.fingerprint},
    }
    if finding.why is not None:
        result["suppressions"] = [{"kind": "external", "justification": finding.why}]
    return result


# ---- JUnit ----------------------------------------------------------------------------------------


def gate_junit(report: GateReport) -> str:
    """Write a test suite with a case for each program, and for any other name that a finding is about."""
    by_program: dict[str, list[Finding]] = {name: [] for name in report.programs}
    for finding in findings(report):
        by_program.setdefault(finding.program, []).append(finding)
    cases = [_case(name, found) for name, found in by_program.items()]
    bad = [[f for f in found if f.level != "note"] for found in by_program.values()]
    errors = sum(any(f.rule == "broken" for f in found) for found in bad)
    failures = sum(bool(found) for found in bad) - errors
    suite = f'name="tolcost check" tests="{len(cases)}" failures="{failures}" errors="{errors}" skipped="0"'
    inside = f"<testsuite {suite}>\n{''.join(cases)}</testsuite>"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n{inside}\n</testsuites>\n'


def _case(name: str, found: list[Finding]) -> str:
    opening = f"  <testcase classname={_attribute('tolcost.check')} name={_attribute(name)}"
    notes = "\n".join(f"{f.title}: {f.message}" for f in found if f.level == "note")
    bad = [finding for finding in found if finding.level != "note"]
    inside = f"    <system-out>{_content(notes)}</system-out>\n" if notes else ""
    if bad:  # at most one element per case: readers of JUnit files disagree on the meaning of several
        tag = "error" if bad[0].rule == "broken" else "failure"
        text = "\n".join(f"{finding.title}: {finding.message}" for finding in bad)
        message = _attribute(bad[0].message)
        inside = (
            f"    <{tag} type={_attribute(bad[0].rule)} message={message}>{_content(text)}</{tag}>\n{inside}"
        )
    return f"{opening}>\n{inside}  </testcase>\n" if inside else f"{opening}/>\n"


def _attribute(text: str) -> str:
    return quoteattr(visible(text))


def _content(text: str) -> str:
    shown = "\n".join(map(visible, text.split("\n")))
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# ---- JSON -----------------------------------------------------------------------------------------


def gate_json(report: GateReport) -> str:
    """Write the JSON document of ``check``."""
    return document(
        "check",
        {
            "against": report.against,
            "exit": report.exit_code,
            "summary": headline(report),
            "programs": len(report.programs),
            "unchanged": list(report.unchanged),
            "changes": [_change(change, report) for change in report.changes],
            "budgets": [_held(held) for held in report.budgets],
            "notes": list(report.notes),
            "written": report.written,
        },
    )


def _change(change: CostChange, report: GateReport) -> Json:
    place = change.place
    return {
        "name": change.name,
        "file": change.file,
        "metric": change.metric or None,
        "kind": change.kind,
        "verdict": verdict(change, report),
        "old": change.old or None,
        "new": change.new or None,
        "difference": change.difference or None,
        "region": _region(change.region),
        "example": _example(change.example),
        "other": _example(change.other),
        "place": None if place is None else {"file": place.file, "line": place.line, "remark": place.remark},
        "tried": change.tried,
        "accepted": change.why,
        "notes": list(change.notes),
        "points": [_example(one) for one in change.points],
        "figures": [_figure(one) for one in change.figures],
    }


def _figure(new: CostChange) -> Json:
    return {"metric": new.metric, "new": new.new, "points": [_example(one) for one in new.points]}


def _region(region: CostlierRegion | None) -> Json:
    return None if region is None else {"text": region.text, "exact": region.exact}


def _example(example: Example | None) -> Json:
    if example is None:
        return None
    dims: dict[str, Json] = {name: number(value) for name, value in example.dims}
    return {"dims": dims, "old": number(example.old), "new": number(example.new)}


def _held(held: HeldBudget) -> Json:
    return {
        "name": held.name,
        "budget": held.budget,
        "metric": held.metric,
        "kind": held.kind,
        "actual": held.actual or None,
        "limit": held.limit or None,
        "region": _region(held.region),
        "example": _example(held.example),
        "tried": held.tried,
    }


# ---- badges ---------------------------------------------------------------------------------------

_COLOURS = {0: "#2a7d4f", 1: "#b3372b", 2: "#b3372b", 3: "#8a5a00"}
"""By exit code: white text on each has a contrast of 4.5 to 1 at least."""
_LABEL, _LABEL_COLOUR = "cost", "#444c56"
_LETTER, _ROOM_AROUND = 7, 12
"""Pixels for a letter, and around a text."""


def gate_badge(report: GateReport) -> str:
    """Write what the endpoint of shields.io reads to draw a badge."""
    colour = _COLOURS[report.exit_code]
    said = {"schemaVersion": 1, "label": _LABEL, "message": _badge_text(report), "color": colour}
    return json.dumps(said) + "\n"


def gate_svg(report: GateReport) -> str:
    """Write a badge as a picture."""
    said = _badge_text(report)
    left, right = (_LETTER * len(text) + _ROOM_AROUND for text in (_LABEL, said))
    title = _content(f"{_LABEL}: {said}")
    middle = (_LABEL, left / 2), (said, left + right / 2)
    texts = "".join(f'<text x="{x:g}" y="14">{_content(text)}</text>' for text, x in middle)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f"aria-label={_attribute(f'{_LABEL}: {said}')}><title>{title}</title>"
        f'<rect width="{left}" height="20" fill="{_LABEL_COLOUR}"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLOURS[report.exit_code]}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{texts}</g></svg>\n"
    )


def _badge_text(report: GateReport) -> str:
    """Return the outcome and how many programs it is of, in a few words."""
    word, _, _ = headline(report).partition(": ")
    changed = {change.name for change in report.changes if change.kind != "gone"}
    touched = len(changed | {held.name for held in report.budgets if held.kind != "within"})
    count = len(report.programs)
    programs = f"{count:,} program{'' if count == 1 else 's'}"
    return f"{word}, {touched:,} of {programs}" if report.exit_code else f"ok, {programs}"


# ---- by name --------------------------------------------------------------------------------------

_WRITERS: Mapping[str, Callable[[GateReport], str]] = {
    "text": gate_text,
    "md": gate_markdown,
    "github": gate_github,
    "gitlab": gate_gitlab,
    "sarif": gate_sarif,
    "junit": gate_junit,
    "json": gate_json,
    "badge": gate_badge,
    "svg": gate_svg,
}


def write_report(report: GateReport, form: str) -> str:
    """Write a report in one of the formats."""
    return _WRITERS[form](report)
