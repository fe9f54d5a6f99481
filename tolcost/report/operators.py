"""The outcome of ONNX's tests as text."""

from __future__ import annotations

from collections.abc import Sequence

from tolcost.catalogue.conformance import Result
from tolcost.catalogue.suite import Report
from tolcost.diagnostics import visible


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
