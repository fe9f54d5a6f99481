"""General forms in words: what an operator costs at any rank, where that holds, and what it was held to."""

from __future__ import annotations

from collections.abc import Iterator

from tolcost.catalogue.general.record import GeneralForms, GeneralRow, OperatorForms, shown


def general_text(found: GeneralForms) -> str:
    """The forms of each operator, what does not agree, and the figures."""
    lines = [line for one in found.operators for line in (f"{one.op}", *operator_lines(one), "")]
    general = sum(one.is_general for one in found.operators)
    held = sum(len(row.tests) for one in found.operators for row in one.rows)
    tests = sum(one.tests for one in found.operators)
    lines.append(
        f"{general:,} of {len(found.operators):,} operators have general forms; "
        f"these give the counts of {held:,} of {tests:,} node tests of onnx {found.onnx}"
    )
    return "\n".join(lines) + "\n"


def operator_lines(one: OperatorForms) -> Iterator[str]:
    """The forms of one operator, and what it was held to."""
    if not one.rows:
        yield f"  no general form: {one.reason}"
    for row in one.rows:
        yield f"  EOPs   {shown(row.eops)}" + (f"   where {row.when}" if row.when else "")
        if row.flops != row.eops:
            yield f"  FLOPs  {shown(row.flops)}"
        yield f"  {_held(row)}"
    yield from (f"  WRONG {problem}" for problem in one.problems)


def _held(row: GeneralRow) -> str:
    return f"held to {len(row.tests)} node tests, and to {row.instances - len(row.tests)} cases near them"
