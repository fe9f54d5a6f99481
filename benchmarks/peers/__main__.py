"""Count every case with every tool, and write the table that ``tolcost report`` reads.

python -m peers OUTPUT.csv         with this folder's parent on the path; see ``make peers``
"""

from __future__ import annotations

import csv
import io
import json
import sys
from importlib.metadata import version
from pathlib import Path

from peers import with_jax, with_onnx_tool
from peers.cases import Case, all_cases

HEADER = (
    "operator", "class", "shapes", "attrs", "tool", "version", "flops", "transcendentals", "macs", "remark",
)  # fmt: skip


def main(output: str) -> None:
    """Write the table, whole or not at all."""
    rows: dict[tuple[str, ...], None] = {}
    for case in all_cases():
        for row in rows_of(case):
            rows.setdefault(row)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(sorted(rows, key=lambda row: (row[0], row[4], row[2], row[3])))
    beside = Path(output + ".tmp")
    beside.write_text(out.getvalue(), encoding="utf-8")
    beside.replace(output)


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
    main(sys.argv[1])
