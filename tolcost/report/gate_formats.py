"""The formats of a check by name."""

from __future__ import annotations

from importlib import import_module

from tolcost.check.records import GateReport

GATE_FORMATS = ("text", "md", "github", "gitlab", "sarif", "junit", "json")


def write_report(report: GateReport, form: str, version: str, colour: bool = False) -> str:
    """The report in one of the formats; only the writer that is used gets loaded."""
    match form:
        case "text":
            from tolcost.report.gate_text import gate_text

            return gate_text(report, colour)
        case "md":
            from tolcost.report.gate_markdown import gate_markdown

            return gate_markdown(report)
        case "sarif":
            from tolcost.report.gate_machine import gate_sarif

            return gate_sarif(report, version)
        case _:
            writer = getattr(import_module("tolcost.report.gate_machine"), f"gate_{form}")
            text: str = writer(report)
            return text
