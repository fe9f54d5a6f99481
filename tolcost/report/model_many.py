"""Many models as one table."""

from __future__ import annotations

from collections.abc import Sequence

from tolcost.diagnostics import visible
from tolcost.models.many import Summary
from tolcost.report.model_tables import csv_text, markdown_table
from tolcost.report.model_text import columns
from tolcost.show.escape import markdown_code, markdown_text
from tolcost.show.json import Json, document, number

_HEAD = ("model", "nodes", "costed", "EOPs", "MACs", "parameters", "status")
_WIDEST = 48


def many_text(found: Sequence[Summary]) -> str:
    """The table for a terminal, and what went wrong below it."""
    rows = [list(_HEAD), *([_tail(file), *map(_short, rest)] for file, *rest in map(_row, found))]
    text = columns(rows, {1, 2})
    problems = [f"{visible(s.file)}: {visible(s.problem)}" for s in found if s.problem]
    missing = [
        f"{visible(s.file)}: not costed: {visible(', '.join(s.uncosted))}" for s in found if s.uncosted
    ]
    return "\n".join([text, *([""] if problems or missing else []), *problems, *missing]) + "\n"


def _short(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= _WIDEST else f"{shown[: _WIDEST - 1]}…"


def _tail(file: str) -> str:
    """The end of a path: what tells files apart."""
    shown = visible(file)
    return shown if len(shown) <= _WIDEST else f"…{shown[1 - _WIDEST :]}"


def _row(s: Summary) -> list[str]:
    if s.problem:
        return [s.file, "", "", "", "", "", s.problem]
    eops = f"{s.eops_at:,}" if s.eops_at is not None else s.eops
    macs = f"{s.macs_at:,}" if s.macs_at is not None else s.macs
    params = f"{int(s.params):,}" if s.params.isdecimal() else s.params
    return [s.file, f"{s.nodes:,}", f"{s.costed:,}", eops, macs, params, s.status]


def many_markdown(found: Sequence[Summary]) -> str:
    """The table as Markdown."""
    return markdown_table([list(_HEAD), *([*map(_marked, range(len(_HEAD)), _row(s))] for s in found)]) + "\n"


def _marked(column: int, cell: str) -> str:
    return markdown_code(cell) if cell and column in (0, 3, 4, 5) else markdown_text(cell)


def many_csv(found: Sequence[Summary]) -> str:
    """The table as CSV."""
    head = ["file", "nodes", "costed", "eops", "macs", "params", "status", "eops_at", "macs_at", "problem"]
    rows = [
        [
            s.file,
            str(s.nodes),
            str(s.costed),
            s.eops,
            s.macs,
            s.params,
            s.status,
            _at(s.eops_at),
            _at(s.macs_at),
            s.problem,
        ]
        for s in found
    ]
    return csv_text([head, *rows])


def _at(value: int | None) -> str:
    return "" if value is None else str(value)


def many_json(found: Sequence[Summary]) -> str:
    """The table as a document: a model for each file, with totals, coverage or a problem."""
    return document("models", {"models": [_record(s) for s in found]})


def _record(s: Summary) -> dict[str, Json]:
    if s.problem:
        return {"file": s.file, "problem": s.problem}
    record: dict[str, Json] = {
        "file": s.file,
        "totals": {"eops": s.eops, "macs": s.macs, "params": s.params},
        "coverage": {"nodes": s.nodes, "costed": s.costed, "uncosted": list(s.uncosted)},
        "symbols": list(s.symbols),
        "status": s.status,
    }
    if s.eops_at is not None and s.macs_at is not None:
        record["at"] = {"eops": number(s.eops_at), "macs": number(s.macs_at)}
    return record
