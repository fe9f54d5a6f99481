"""Results of ``tolcost verify``, read back and written as text: node tests and general forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tolcost.algebra import to_text
from tolcost.catalogue.conformance import FAILED, Report, Result
from tolcost.catalogue.general.record import (
    GeneralForms,
    GeneralRow,
    OperatorForms,
    digest,
    from_record,
    shown,
)
from tolcost.catalogue.specs import Spec
from tolcost.diagnostics import Diagnostic, Rejected, visible
from tolcost.platform import stored_general
from tolcost.show.document import Json

CONFORMANCE = "data/conformance.json"
CONFORMANCE_COMMAND = f"tolcost verify --format json --output reports/{CONFORMANCE}"

_T = TypeVar("_T")


def conformance_of(text: str) -> Report:
    """Read the JSON that ``tolcost verify`` writes."""
    return _read_back(text, "verify", CONFORMANCE, CONFORMANCE_COMMAND, _conformance)


def _read_back(text: str, kind: str, file: str, command: str, read: Callable[[Mapping[str, Any]], _T]) -> _T:
    try:
        record: Mapping[str, Any] = json.loads(text)
        if record["tolcost"] != 1 or record["kind"] != kind:
            raise ValueError("it is of another kind or version")
        return read(record)
    except (ValueError, KeyError, TypeError) as error:
        message = f"{file} cannot be used: {error}"
        raise Rejected(Diagnostic("T0681", message, hint=f"make it with `{command}`")) from None


def _conformance(record: Mapping[str, Any]) -> Report:
    results = tuple(map(_result, record["cases"]))
    broken = next((one for one in results if one.status == "crash"), None)
    if broken is not None:
        raise ValueError(f"in that run tolcost itself failed: {broken.cause}")
    return Report(str(record["onnx"]), results, record.get("domain"))


def _result(case: Mapping[str, Any]) -> Result:
    said: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in case.items()}
    return Result(**said)


def verify_text(report: Report, all_operators: bool) -> str:
    """Write the failures, the operators that have some (or all, with their forms), and the totals."""
    lines = [f"FAIL {r.name} ({r.op}): {visible(r.cause or 'no cause given')}" for r in report.failures]
    if all_operators:
        details = (r.detail for r in report.failures if r.detail)
        lines += [f"    {line}" for detail in details for line in detail.splitlines()]
    lines += [""] if lines else []
    by_name: dict[str, list[Result]] = {}
    for result in report.results:
        by_name.setdefault(result.op, []).append(result)
    for name, found in sorted(by_name.items()):
        if all_operators or any(r.status in FAILED for r in found):
            lines.append(f"{name}: {_figure(found)}")
        if all_operators:
            lines += [f"  {r.name}: {visible(r.eops)}{_numbers(r)}" for r in found if r.eops is not None]
    figures = report.figures()
    judged = figures["pass"] + figures["fail"]
    tests = f"node tests of onnx {report.onnx}" if report.domain is None else f"cases of {report.domain}"
    lines.append(
        f"{figures['pass']:,} of {judged:,} {tests} pass in value, shape and count; "
        f"{figures['outside']:,} more are outside the model"
    )
    return "\n".join(lines) + "\n"


def _numbers(result: Result) -> str:
    """List the lengths of a test that had to be numbers."""
    return f"  (numbers: {', '.join(result.concrete)})" if result.concrete else ""


def _figure(results: Sequence[Result]) -> str:
    if results[0].status == "outside":
        return f"outside the model, {len(results)} tests"
    passed = sum(result.status == "pass" for result in results)
    fixed = sum(bool(result.concrete) for result in results)
    return f"{passed} of {len(results)}" + (f", {fixed} with numbers for some lengths" if fixed else "")


# ---- general forms: the cost of an operator at any rank, and the checks of it ----------------


GENERAL = "data/general.json"
GENERAL_COMMAND = f"tolcost verify --general --format json --output reports/{GENERAL}"


def general_of(text: str) -> GeneralForms:
    """Read the JSON that ``tolcost verify --general`` writes."""
    return _read_back(text, "general forms", GENERAL, GENERAL_COMMAND, from_record)


def stored_forms(spec: Spec) -> OperatorForms | None:
    """Return the forms that come with tolcost for a definition, if they were made from exactly its text."""
    text = stored_general()
    found = None if text is None else general_of(text).of(spec.domain, spec.name)
    return found if found is not None and found.digest == digest(spec) else None


def general_text(found: GeneralForms) -> str:
    """Write the forms of each operator, any disagreement, and the totals."""
    lines = [line for one in found.operators for line in (f"{one.op}", *operator_lines(one), "")]
    held = sum(len(row.tests) for one in found.operators for row in one.rows)
    tests = sum(one.tests for one in found.operators)
    lines.append(
        f"{found.count:,} of {len(found.operators):,} operators have general forms; "
        f"these give the counts of {held:,} of {tests:,} node tests of onnx {found.onnx}"
    )
    return "\n".join(lines) + "\n"


def operator_lines(one: OperatorForms) -> Iterator[str]:
    """Yield the forms of one operator, and the checks that they passed."""
    if not one.rows:
        yield f"  no general form: {one.reason}"
    for row in one.rows:
        yield f"  EOPs   {eops_text(row)}"
        if row.flops != row.eops:
            yield f"  FLOPs  {shown(row.flops)}"
        yield f"  {held_text(row)}"
    yield from (f"  WRONG {problem}" for problem in one.problems)


def eops_text(row: GeneralRow) -> str:
    """Write the form of EOPs, followed by the case in which it holds."""
    return shown(row.eops) + (f"   where {row.when}" if row.when else "")


def held_text(row: GeneralRow) -> str:
    """Write the tests and cases that a row was checked against."""
    near = row.instances - len(row.tests)
    held = f"held to {len(row.tests)} node tests, and to {near} cases near them"
    return f"{held}; proved at all lengths of {row.proved}"


def operator_json(one: OperatorForms | None) -> Json:
    """Return the general forms of an operator as data; null if there are none."""
    if one is None or not one.is_general:
        return None
    return [
        {
            "when": row.when or None,
            "eops": to_text(row.eops),
            "flops": to_text(row.flops),
            "tests": len(row.tests),
            "instances": row.instances,
            "proved": row.proved,
        }
        for row in one.rows
    ]
