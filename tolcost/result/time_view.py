"""Time on a device as tables, lines and records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from tolcost.algebra import Symbol
from tolcost.result.records import form_json, value_json
from tolcost.result.study import Located
from tolcost.result.time import LimitChange, Times, error_of
from tolcost.show.document import Cell, CellKind, Code, Column, Form, Lines, ReportTable, Section
from tolcost.show.json import Json


def time_blocks(cost: Located, times: Times, by: str) -> Iterator[Section]:
    """Times by operator or node, the longest first, and where they come to be bound by something else."""
    if cost.study.kind == "model":
        yield _table(cost, times if by != "node" else cost.study.times(times.device, by))
    elif (limit := _limits(times, cost.point.values)) and cost.point.complete:
        yield Lines((f"bound by {limit} there",))
    changes = times.changes(cost.point.values, cost.point.missing)
    yield Lines(tuple(map(_sentence, changes)))


def _sentence(change: LimitChange) -> str:
    here = f"{change.name} = {change.at:,}"
    return f"{change.title} is bound by {change.before} below {here}, by {change.after} from there on"


def _table(cost: Located, times: Times) -> ReportTable:
    known = cost.point.complete
    kind: CellKind = "number" if known else "form"
    columns = (
        Column("op", "on " + times.device.name, "code"),
        Column("nodes", "nodes", "number"),
        Column("bound", "at least, µs", kind),
        Column("predicted", "predicted, µs", kind),
        Column("by", "bound by"),
        Column("error", "tested"),
    )
    rows = [_row(cost, title, own) for title, own in times.by_title().items()]
    rows.sort(key=lambda row: -(row[3] if isinstance(row[3], int | Fraction) else 0))
    return ReportTable(columns, rows)


def _row(cost: Located, title: str, own: Times) -> tuple[Cell, ...]:
    forms: tuple[Form | None, ...] = (own.bound, own.predicted)
    cells = [_short(cost.value(form)) if cost.point.complete else form for form in forms]
    limits = _limits(own, cost.point.values)
    return Code(title), sum(step.nodes for step in own.steps), *cells, limits, error_of(own)


def _short(value: Form | None) -> Form | None:
    """Microseconds to three places; small ones to three digits."""
    if not isinstance(value, Fraction) or value >= 1:
        return round(value, 3) if isinstance(value, Fraction) else value
    return Fraction(f"{float(value):.3g}")


def _limits(times: Times, values: Mapping[Symbol, int]) -> str:
    found = times.limits(values)
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{limit} {nodes:,}" for limit, nodes in found.most_common())


def time_cells(cost: Located, title: str, by: str) -> tuple[Form | None, ...]:
    """The bound and the prediction of a group; nothing where there is no device."""
    if cost.times is None:
        return ()
    times = cost.times if by != "node" else cost.study.times(cost.times.device, by)
    own = times.by_title().get(title)
    if own is None:
        return None, None
    return tuple(cost.value(form) for form in (own.bound, own.predicted))


def time_record(cost: Located) -> dict[str, Json]:
    """What a JSON document says of the time on a device, if there is one; microseconds."""
    times = cost.times
    if times is None:
        return {}
    forms = {"bound": times.bound, "fused": times.whole, "predicted": times.predicted}
    record: dict[str, Json] = {
        "device": times.device.name,
        "description": times.device.description,
        **{key: form_json(form) for key, form in forms.items()},
        "tested": cost.error,
        "groups": [_group_json(cost, title, own) for title, own in times.by_title().items()],
        "changes": [
            {"op": c.title, "length": c.name, "at": c.at, "before": c.before, "after": c.after}
            for c in times.changes(cost.point.values, cost.point.missing)
        ],
    }
    if cost.located:
        show = value_json(cost)
        record["at"] = {key: show(form) for key, form in forms.items()}
    return {"time": record}


def _group_json(cost: Located, title: str, own: Times) -> dict[str, Json]:
    found: dict[str, Json] = {
        "op": title,
        "nodes": sum(step.nodes for step in own.steps),
        "bound": form_json(own.bound),
        "predicted": form_json(own.predicted),
        "bound_by": dict(own.limits(cost.point.values)),
        "tested": error_of(own),
    }
    if cost.point.complete:
        show = value_json(cost)
        found["at"] = {"bound": show(own.bound), "predicted": show(own.predicted)}
    return found
