"""Many models in one table, with a summary of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from tolcost.diagnostics import quoted, refuse
from tolcost.result.metrics import keys_in, metrics_in
from tolcost.result.model import ModelStudy, Wanted, of_model
from tolcost.result.study import Located
from tolcost.show.document import (
    UNKNOWN,
    Caution,
    Cell,
    Code,
    Column,
    Json,
    Lines,
    ReportTable,
    ShortForm,
    Verdict,
    document,
    number,
    text_of,
    write,
)
from tolcost.show.fit import cut_form
from tolcost.show.tables import csv_text

_ADDED = tuple(metric.key for metric in metrics_in("fleet") if metric.of is not None)
"""What adds up over nodes, and so over the models of a fleet."""


class Summary(Struct, frozen=True):
    """A row of the table: closed forms as text, numbers if every length is known, or a problem."""

    file: str
    nodes: int = 0
    costed: int = 0
    totals: Mapping[str, str] = field(default_factory=dict)
    """A closed form for each metric of a fleet, by key."""
    status: str = ""
    numbers: Mapping[str, int] = field(default_factory=dict)
    """Numbers of those that add up over nodes, where every length is known."""
    symbols: tuple[str, ...] = ()
    uncosted: tuple[str, ...] = ()
    lengths: tuple[str, ...] = ()
    """The lengths that can be given, by name and by position."""
    assumed: tuple[str, ...] = ()
    """The assumptions about its lengths, without those about other models' lengths."""
    problem: str = ""


def summary_of(cost: Located) -> Summary:
    """Summarise a model in one row."""
    study, found = of_model(cost), cost.coverage
    forms = {metric.key: metric.form(study) for metric in metrics_in("fleet")}
    added = [cost.number(forms[key]) if cost.point.complete else None for key in _ADDED]
    return Summary(
        file=study.file,
        nodes=found.nodes,
        costed=found.costed,
        totals={key: UNKNOWN if form is None else text_of(form) for key, form in forms.items()},
        status=cost.total.status,
        numbers={key: number for key, number in zip(_ADDED, added, strict=True) if number is not None},
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
    *(Column(metric.key, metric.label, "code") for metric in metrics_in("fleet")),
    Column("status", "status"),
)
_KEPT = ("file", "nodes", "costed", *keys_in("fleet"), "status", *(f"{key}_at" for key in _ADDED), "problem")


def many_written(found: Sequence[Summary], form: str, colour: bool = False, width: int | None = None) -> str:
    """Write summaries in one of the formats."""
    match form:
        case "json":
            models: list[Json] = [_record(s) for s in found]
            return document("models", {"models": models})
        case "csv":
            rows = [
                (
                    s.file,
                    *((None, None) if s.problem else (s.nodes, s.costed)),
                    *(s.totals.get(key, "") for key in keys_in("fleet")),
                    s.status,
                    *(s.numbers.get(key) for key in _ADDED),
                    s.problem,
                )
                for s in found
            ]
            return csv_text(ReportTable(tuple(Column(key, key) for key in _KEPT), rows))
        case "md":
            return write((ReportTable(_SHOWN, [tuple(map(_coded, _SHOWN, _row(s))) for s in found]),), "md")
        case _:
            table = ReportTable(_SHOWN, [_screen_row(s) for s in found])
            problems = Lines(tuple(map(Caution, _problems(found))))
            return write((table, problems), "text", colour, width)


def _problems(found: Sequence[Summary]) -> Iterator[str]:
    yield from (f"{s.file}: {s.problem}" for s in found if s.problem)
    yield from (f"{s.file}: not costed: {', '.join(s.uncosted)}" for s in found if s.uncosted)


def _row(s: Summary) -> tuple[str, ...]:
    if s.problem:
        return (s.file, *("" for _ in _SHOWN[1:-1]), s.problem)
    told = {key: str(s.numbers.get(key, s.totals.get(key, ""))) for key in keys_in("fleet")}
    cells = (f"{int(text):,}" if text.isdecimal() else text for text in told.values())
    return (s.file, f"{s.nodes:,}", f"{s.costed:,}", *cells, s.status)


def _screen_row(s: Summary) -> tuple[Cell, ...]:
    """Return a row for a terminal: names and closed forms have their usual length, numbers are whole."""
    if s.problem:
        return (Code(s.file), *("" for _ in _SHOWN[1:-1]), Verdict(s.problem, good=False))
    forms = (ShortForm(cut_form(form, _WIDEST), form) for form in _row(s)[3:-1])
    status = s.status if s.status == "exact" else Caution(s.status)
    return (Code(s.file), s.nodes, s.costed, *forms, status)


def _coded(column: Column, cell: str) -> Cell:
    return Code(cell) if cell and column.kind == "code" else cell


def _record(s: Summary) -> dict[str, Json]:
    if s.problem:
        return {"file": s.file, "problem": s.problem}
    record: dict[str, Json] = {
        "file": s.file,
        "totals": dict(s.totals),
        "coverage": {"nodes": s.nodes, "costed": s.costed, "uncosted": list(s.uncosted)},
        "symbols": list(s.symbols),
        "status": s.status,
    }
    if len(s.numbers) == len(_ADDED):
        record["at"] = {key: number(value) for key, value in s.numbers.items()}
    return record
