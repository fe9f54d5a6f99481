"""What ``tolcost verify`` found, read back: the outcome of ONNX's node tests, and the forms behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tolcost.catalogue.conformance import FAILED, Result
from tolcost.catalogue.suite import Report
from tolcost.dataclass import dataclass, field
from tolcost.diagnostics import Diagnostic, Rejected, visible

CONFORMANCE = "data/conformance.json"
CONFORMANCE_COMMAND = f"tolcost verify --format json --output reports/{CONFORMANCE}"

Stored: TypeAlias = "int | float | bool | str | list[Stored]"
"""A shape of names and numbers, several of them, or a value, as JSON has it."""


@dataclass(frozen=True, slots=True)
class Tested:
    """What became of one node test, and the closed forms behind it.

    ``since`` is the version of the definition, ``shapes`` and ``values`` are what the forms are for.
    ``unrolled`` are the atoms that were run one by one, and ``decided`` what of them only data decided.
    """

    case: str
    op: str
    status: str
    cause: str
    eops: str | None
    macs: str | None
    certainty: str
    concrete: tuple[str, ...]
    functions: tuple[str, ...]
    since: int | None = None
    shapes: Mapping[str, Stored] = field(default_factory=dict)
    values: Mapping[str, Stored] = field(default_factory=dict)
    unrolled: Mapping[str, int] | None = None
    decided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conformance:
    """The outcome of a whole run of ONNX's node tests."""

    onnx: str
    cases: tuple[Tested, ...]

    def of(self, op: str) -> tuple[Tested, ...]:
        """The cases of one operator."""
        return tuple(case for case in self.cases if case.op == op)


def conformance_of(text: str) -> Conformance:
    """Read the JSON that ``tolcost verify`` writes."""
    try:
        record: Mapping[str, Any] = json.loads(text)
        if record["tolcost"] != 1 or record["kind"] != "verify":
            raise ValueError("it is of another kind or version")
        cases = tuple(map(_tested, record["cases"]))
        broken = next((case for case in cases if case.status == "crash"), None)
        if broken is not None:
            raise ValueError(f"in that run tolcost itself failed: {broken.cause}")
        return Conformance(str(record["onnx"]), cases)
    except (ValueError, KeyError, TypeError) as error:
        message = f"{CONFORMANCE} cannot be used: {error}"
        raise Rejected(Diagnostic("T0681", message, hint=f"make it with `{CONFORMANCE_COMMAND}`")) from None


def _tested(case: Mapping[str, Any]) -> Tested:
    return Tested(
        str(case["name"]),
        str(case["op"]),
        str(case["status"]),
        str(case["cause"] or ""),
        case["eops"],
        case["macs"],
        str(case["certainty"] or ""),
        tuple(map(str, case["concrete"])),
        tuple(map(str, case["functions"])),
        case.get("since"),
        dict(case.get("shapes") or {}),
        dict(case.get("values") or {}),
        case.get("unrolled"),
        tuple(map(str, case.get("decided", ()))),
    )


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
        if all_operators or any(r.status in FAILED for r in found)
    ]
    figures = report.figures()
    judged = figures["pass"] + figures["fail"]
    tests = f"node tests of onnx {report.onnx}" if report.domain is None else f"cases of {report.domain}"
    lines.append(
        f"{figures['pass']:,} of {judged:,} {tests} pass in value, shape and count; "
        f"{figures['outside']:,} more are outside the model"
    )
    return "\n".join(lines) + "\n"


def _figure(results: Sequence[Result]) -> str:
    if results[0].status == "outside":
        return f"outside the model, {len(results)} tests"
    passed = sum(result.status == "pass" for result in results)
    fixed = sum(bool(result.concrete) for result in results)
    return f"{passed} of {len(results)}" + (f", {fixed} with numbers for some lengths" if fixed else "")
