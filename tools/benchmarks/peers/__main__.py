"""Count every case with every tool, and write the table that ``tolcost report`` reads.

python -m peers PEERS.csv WITNESSES.csv     with this folder's parent on the path; see ``make peers``

The second table says whether each twin computes what ONNX's reference does, and has what jax's roofline rules
add up to, what onnxsim says, and what is counted for a witness only.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import version

from peers import with_jax, with_onnx_tool, with_onnxsim
from peers.cases import Case, all_cases, further_cases
from peers.rows import HEADER, write
from peers.values import held


def main(output: str, witnesses: str) -> None:
    """Write both tables, each whole or not at all."""
    write(output, HEADER, (row for case in all_cases() for row in rows_of(case)))
    rows = (row for told in told_cases() for row in (*witness_rows(told), *onnxsim_rows(told[0])))
    write(witnesses, (*HEADER, "values"), rows)


def told_cases() -> Iterator[tuple[Case, bool]]:
    """The cases of the second table; whether XLA and onnx-tool are asked here too."""
    yield from ((case, False) for case in all_cases())
    yield from ((replace(case, kind="witness only"), True) for case in further_cases())


def witness_rows(told: tuple[Case, bool]) -> list[tuple[str, ...]]:
    """What jax's rules say, with whether the twin computes the operator; the others where asked."""
    case, others = told
    function = with_jax.function_of(case)
    if function is None:
        return []
    values = held(case, function)
    what = (case.op, case.kind, json.dumps(case.shapes), json.dumps(case.attrs))
    try:
        flops = with_jax.count(case, rules=True)["jax roofline"][0]
        rows = [(*what, "jax roofline", version("jaxlib"), _text(flops), "", "", "", values)]
    except Exception as error:  # some primitives cannot be traced by it
        rows = [(*what, "jax roofline", version("jaxlib"), "", "", "", type(error).__name__, values)]
    return rows + ([(*row, values) for row in rows_of(case)] if others else [])


def onnxsim_rows(case: Case) -> list[tuple[str, ...]]:
    """What onnxsim says of an operator that it has a rule for."""
    macs = with_onnxsim.count(case)
    what = (case.op, case.kind, json.dumps(case.shapes), json.dumps(case.attrs))
    return [] if macs is None else [(*what, "onnxsim", version("onnxsim"), "", "", str(macs), "", "")]


def rows_of(case: Case) -> list[tuple[str, ...]]:
    """One row for each count."""
    what = (case.op, case.kind, json.dumps(case.shapes), json.dumps(case.attrs))
    macs, remark = with_onnx_tool.count(case)
    rows = [(*what, "onnx-tool", version("onnx-tool"), "", "", _text(macs), remark)]
    for tool, (flops, others) in with_jax.count(case).items():
        rows.append((*what, tool, version("jaxlib"), _text(flops), _text(others), "", ""))
    return rows


def _text(value: float | None) -> str:
    return "" if value is None else str(int(value)) if value == int(value) else repr(value)


if __name__ == "__main__":
    main(*sys.argv[1:3])
