"""General forms in words: what an operator costs at any rank, where that holds, and what it was held to."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tolcost.algebra import to_text
from tolcost.catalogue.general.record import (
    GeneralForms,
    GeneralRow,
    OperatorForms,
    digest,
    from_record,
    shown,
)
from tolcost.catalogue.specs import Spec
from tolcost.diagnostics import Diagnostic, Rejected
from tolcost.library import stored_general
from tolcost.show.json import Json

GENERAL = "data/general.json"
GENERAL_COMMAND = f"tolcost verify --general --format json --output reports/{GENERAL}"


def general_of(text: str) -> GeneralForms:
    """Read the JSON that ``tolcost verify --general`` writes."""
    try:
        record = json.loads(text)
        if record["tolcost"] != 1 or record["kind"] != "general forms":
            raise ValueError("it is of another kind or version")
        return from_record(record)
    except (ValueError, KeyError, TypeError) as error:
        message = f"{GENERAL} cannot be used: {error}"
        raise Rejected(Diagnostic("T0681", message, hint=f"make it with `{GENERAL_COMMAND}`")) from None


def stored_forms(spec: Spec) -> OperatorForms | None:
    """The forms that come with tolcost for a definition, as long as they are those of its very text."""
    text = stored_general()
    found = None if text is None else general_of(text).of(spec.domain, spec.name)
    return found if found is not None and found.digest == digest(spec) else None


def general_text(found: GeneralForms) -> str:
    """The forms of each operator, what does not agree, and the figures."""
    lines = [line for one in found.operators for line in (f"{one.op}", *operator_lines(one), "")]
    held = sum(len(row.tests) for one in found.operators for row in one.rows)
    tests = sum(one.tests for one in found.operators)
    lines.append(
        f"{found.count:,} of {len(found.operators):,} operators have general forms; "
        f"these give the counts of {held:,} of {tests:,} node tests of onnx {found.onnx}"
    )
    return "\n".join(lines) + "\n"


def operator_lines(one: OperatorForms) -> Iterator[str]:
    """The forms of one operator, and what it was held to."""
    if not one.rows:
        yield f"  no general form: {one.reason}"
    for row in one.rows:
        yield f"  EOPs   {with_condition(shown(row.eops), row)}"
        if row.flops != row.eops:
            yield f"  FLOPs  {shown(row.flops)}"
        yield f"  {held_text(row)}"
    yield from (f"  WRONG {problem}" for problem in one.problems)


def with_condition(form: str, row: GeneralRow) -> str:
    """A form, followed by where it holds."""
    return f"{form}   where {row.when}" if row.when else form


def held_text(row: GeneralRow) -> str:
    """What a row was held to."""
    near = row.instances - len(row.tests)
    held = f"held to {len(row.tests)} node tests, and to {near} cases near them"
    return f"{held}; proved at all lengths of {row.proved}"


def operator_json(one: OperatorForms | None) -> Json:
    """The general forms of an operator as data; null where there are none."""
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
