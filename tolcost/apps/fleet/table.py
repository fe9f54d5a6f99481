"""Many models in one table, with a summary of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from tolcost.algebra import to_text
from tolcost.diagnostics import quoted, refuse
from tolcost.result.model import ModelStudy, Wanted, of_model
from tolcost.result.study import Located
from tolcost.show.document import Cell, Code, Column, Json, Lines, ReportTable, cut, document, number, write
from tolcost.show.tables import csv_text


class Summary(Struct, frozen=True):
    """A row of the table: closed forms as text, numbers if every length is known, or a problem."""

    file: str
    nodes: int = 0
    costed: int = 0
    eops: str = ""
    macs: str = ""
    params: str = ""
    status: str = ""
    eops_at: int | None = None
    macs_at: int | None = None
    symbols: tuple[str, ...] = ()
    uncosted: tuple[str, ...] = ()
    lengths: tuple[str, ...] = ()
    """The lengths that can be given, by name and by position."""
    assumed: tuple[str, ...] = ()
    """The assumptions about its lengths, without those about other models' lengths."""
    problem: str = ""


def summary_of(cost: Located) -> Summary:
    """Summarise a model in one row."""
    study, total, found, known = of_model(cost), cost.total, cost.coverage, cost.point.complete
    return Summary(
        file=study.file,
        nodes=found.nodes,
        costed=found.costed,
        eops=to_text(total.eops),
        macs=to_text(total.macs),
        params=to_text(study.holdings.parameters),
        status=total.status,
        eops_at=cost.number(total.eops) if known else None,
        macs_at=cost.number(total.macs) if known else None,
        symbols=tuple(symbol.name for symbol in study.symbols),
        uncosted=tuple(found.operators),
        lengths=tuple(_lengths(study)),
        assumed=study.assumed.texts,
    )


def _lengths(study: ModelStudy) -> Iterator[str]:
    yield from study.cost.dimensions
    for given in study.model.graph.inputs:
        yield from (f"{given.name}[{n}]" for n in range(len(given.shape or ())))


def check_lengths(found: Sequence[Summary], wanted: Wanted) -> None:
    """Refuse lengths that none of several models has, and assumptions about such lengths."""
    if all(summary.problem for summary in found):
        return
    known = {name for summary in found for name in summary.lengths}
    for name in wanted.dims:
        if name not in known:
            refuse("T0412", f"none of the models has a length {quoted(name)}")
    assumed = {text for summary in found for text in summary.assumed}
    for text in wanted.assume:
        if text not in assumed:
            refuse("T0696", f"none of the models has the lengths of {quoted(text)}")


# ---- one table -----------------------------------------------------------------------------

_WIDEST = 48
_SHOWN = (
    Column("model", "model", "code"),
    Column("nodes", "nodes", "number"),
    Column("costed", "costed", "number"),
    Column("eops", "EOPs", "code"),
    Column("macs", "MACs", "code"),
    Column("params", "parameters", "code"),
    Column("status", "status"),
)
_KEPT = ("file", "nodes", "costed", "eops", "macs", "params", "status", "eops_at", "macs_at", "problem")


def many_written(found: Sequence[Summary], form: str) -> str:
    """Write summaries in one of the formats."""
    match form:
        case "json":
            models: list[Json] = [_record(s) for s in found]
            return document("models", {"models": models})
        case "csv":
            rows = [
                tuple(None if s.problem and key in ("nodes", "costed") else getattr(s, key) for key in _KEPT)
                for s in found
            ]
            return csv_text(ReportTable(tuple(Column(key, key) for key in _KEPT), rows))
        case "md":
            return write((ReportTable(_SHOWN, [tuple(map(_coded, _SHOWN, _row(s))) for s in found]),), "md")
        case _:
            short = [(_tail(s.file), *(cut(cell, _WIDEST, "…") for cell in _row(s)[1:])) for s in found]
            return write((ReportTable(_SHOWN, short), Lines(tuple(_problems(found)))), "text")


def _problems(found: Sequence[Summary]) -> Iterator[str]:
    yield from (f"{s.file}: {s.problem}" for s in found if s.problem)
    yield from (f"{s.file}: not costed: {', '.join(s.uncosted)}" for s in found if s.uncosted)


def _row(s: Summary) -> tuple[str, ...]:
    if s.problem:
        return (s.file, "", "", "", "", "", s.problem)
    eops = f"{s.eops_at:,}" if s.eops_at is not None else s.eops
    macs = f"{s.macs_at:,}" if s.macs_at is not None else s.macs
    params = f"{int(s.params):,}" if s.params.isdecimal() else s.params
    return (s.file, f"{s.nodes:,}", f"{s.costed:,}", eops, macs, params, s.status)


def _coded(column: Column, cell: str) -> Cell:
    return Code(cell) if cell and column.kind == "code" else cell


def _tail(file: str) -> str:
    """Return the end of a path, which distinguishes files."""
    return file if len(file) <= _WIDEST else f"…{file[1 - _WIDEST :]}"


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
