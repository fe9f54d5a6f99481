"""A cost as a document: its subject, its figures, their parts, and the conditions that they rely on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import (
    LARGEST_LENGTH,
    AlgebraBudget,
    Ge,
    NotInteger,
    Poly,
    Symbol,
    contradict,
    prove,
    substitute_cond,
)
from tolcost.certainty import FROM_ABOVE, INCOMPLETE
from tolcost.cost.device import UNIT, Device
from tolcost.cost.engine import engine_of, engines, not_fitted, run_by
from tolcost.diagnostics import visible
from tolcost.result.assumptions import offered, partitions
from tolcost.result.metrics import IN_BYTES, LEADING, Measure, is_asked, keys_in
from tolcost.result.model_table import (
    COMMAND_HINTS,
    PYTHON_HINTS,
    Hints,
    TableView,
    model_blocks,
    model_table,
    point_fact,
    shown_rows,
)
from tolcost.result.point import Point, Requirement
from tolcost.result.study import Growth, Located, MissingNode, Show, form_json
from tolcost.result.time import LimitChange, Times, error_of
from tolcost.show.document import (
    UNKNOWN,
    Bar,
    Caution,
    Cell,
    CellKind,
    Code,
    Column,
    Document,
    Fact,
    Facts,
    FigureList,
    FigureRow,
    Form,
    Heading,
    Json,
    Lines,
    ReportTable,
    Section,
    Valuation,
    cut,
    document_formats,
    lengths_text,
    number,
    text_of,
    write,
)
from tolcost.show.document import document as json_document
from tolcost.show.shorten import Subterms, duration_text, si
from tolcost.show.tables import csv_text

_USUAL = ("text", "json", "md", "csv")
FORMATS = (*_USUAL, *(form for form in document_formats() if form not in _USUAL))
_MOST_MISSING, _MOST_CONDITIONS, _MOST_GIVEN = 20, 12, 4
_MEANINGS = {
    "turns": "the turns of that loop",
    "kept": "how many entries are kept",
    "range": "how long a range is",
    "total": "its sum over all steps",
    "some": "the steps at which it is not 0",
    "squares": "the sum of its squares over all steps",
    "most": "its largest at any step",
    "entry": "a number that is given",
}
_LONG, _LONGEST_REASON, _LONGEST_CONDITION = 96, 60, 160
_MOST_CHANGES = 20
_TABLE = TableView()


class CostView(Struct, frozen=True, eq=False):
    """The selection to show of a cost: metrics (None for all), closed forms in full, the table, sweeps."""

    metrics: frozenset[str] | None = None
    symbolic: bool = True
    table: TableView = _TABLE
    growths: tuple[Growth, ...] = ()


def written(
    costs: Sequence[Located],
    form: str,
    view: CostView | None = None,
    colour: bool = False,
    width: int | None = None,
) -> str:
    """Write costs in one of the formats: programs one after another, or a single model."""
    asked = view or CostView(
        symbolic=not any(cost.point.dims or cost.study.kind == "model" for cost in costs)
    )
    match form:
        case "json":
            return _json(costs, asked)
        case "csv":
            return csv_text(csv_table(costs, asked))
        case _:
            documents = (tuple(_document(cost, asked, form)) for cost in costs)
            return "\n".join(write(document, form, colour, width) for document in documents)


def _json(costs: Sequence[Located], view: CostView) -> str:
    sweeps: list[Json] = [growth_record(grown) for grown in view.growths]
    swept: dict[str, Json] = {"sweep": sweeps[0]} if len(sweeps) == 1 else {"sweeps": sweeps}
    records = [
        {**cost.study.record(cost, view.metrics), **time_record(cost), **(swept if sweeps else {})}
        for cost in costs
    ]
    if costs and costs[0].study.kind == "model":
        return json_document("model", records[0])
    programs: list[Json] = [*records]
    return json_document("analysis", {"programs": programs})


def _document(cost: Located, view: CostView, form: str) -> Iterator[Section]:
    """Yield the blocks of a report; the status comes first, but in text near the end."""
    study = cost.study
    status = (Fact("status", _standing_of(cost)),) if form != "text" else ()
    shown = _forms_shown(cost, view)
    types = study.types((lambda form: form) if shown else cost.value)
    yield Heading(study.name, study.file)
    known = [Fact(way, Code(f"{name}: {kind}")) for way, name, kind in types]
    known += [Fact("assuming", text) for text in study.assumed.texts]
    if study.kind == "model":
        at = cost.example
        hints = PYTHON_HINTS if form == "fragment" else COMMAND_HINTS
        yield Facts((*study.head(), *known, *status, point_fact(cost, at, hints)))
        yield from _model_blocks(cost, at, view, hints)
        yield from study.extra(at, view.table.exact)
    else:
        yield Facts((*study.head(), *known, *status))
        yield _figures(cost, view)
        yield Facts(tuple(_absent(cost, view)))
    if cost.times is not None:
        yield from time_blocks(cost, cost.times, view)
    yield Facts(tuple(_standing(cost, view, form)))
    for grown in view.growths:
        exact = cost.study.kind != "model" or view.table.exact
        yield from growth_blocks(grown, bars=form == "text", exact=exact)


def _model_blocks(cost: Located, at: Located | None, view: CostView, hints: Hints) -> Iterator[Section]:
    """Yield closed forms in full if they were asked for, else an extract that fits a screen."""
    if view.symbolic:
        table = replace(view.table, symbolic=True)
        yield _figures(at or cost, view)
        yield model_table(cost, at, table, shown_rows(cost, at, table), Subterms())
    else:
        yield from model_blocks(cost, at, tuple(measures_shown(cost, view)), view.table, hints)


def _forms_shown(cost: Located, view: CostView) -> bool:
    """Whether closed forms are shown: of a model if it has symbols, else if asked for or without a point."""
    return (
        bool(cost.study.symbols)
        if cost.study.kind == "model"
        else view.symbolic or not _point_shown(cost, view)
    )


def _point_shown(cost: Located, view: CostView) -> bool:
    """Whether figures at a point are shown: if lengths are given, or if there are none to give."""
    if cost.study.kind == "model":
        return cost.located
    return bool(cost.point.dims) or (cost.point.complete and not view.symbolic)


# ---- figures -------------------------------------------------------------------------------


def measures_shown(cost: Located, view: CostView) -> Iterator[Measure]:
    """Yield the figures that were asked for."""
    for measure in cost.measures:
        if measure.key in ("weights", "time") or is_asked(measure.key, view.metrics):
            yield measure


def _absent(cost: Located, view: CostView) -> Iterator[Fact]:
    """Yield the metrics that were asked for and of which the program has no figure."""
    for name in sorted(view.metrics or ()):
        if not any(is_asked(measure.key, frozenset((name,))) for measure in cost.measures):
            yield Fact(name, "none")


def _standing_of(cost: Located) -> str:
    """Return the status, marked as a caution unless figures are exact."""
    return cost.status if cost.status == "exact" else Caution(cost.status)


def _figures(cost: Located, view: CostView) -> FigureList:
    at, column = _titles(cost.point)
    return FigureList(
        cost.study.name,
        tuple(_rows(cost, view)),
        _forms_shown(cost, view),
        at if _point_shown(cost, view) else None,
        column,
        wrapped=cost.study.kind == "model",
    )


def _titles(point: Point) -> tuple[str, str]:
    """Write a point in words, and in short."""
    dims = sorted(point.dims.items())
    open_ = f" ({', '.join(symbol.name for symbol in point.missing)} open)" if point.missing else ""
    if not dims:
        return "in numbers", "number"
    return f"at {lengths_text(dims)}{open_}", f"at {', '.join(f'{name} = {value}' for name, value in dims)}"


def _rows(cost: Located, view: CostView) -> Iterator[FigureRow]:
    value = cost.value if _point_shown(cost, view) else _no_value
    for measure in measures_shown(cost, view):
        strong = measure.key == LEADING
        at = value(measure.form)
        yield FigureRow(measure.label, measure.form, at, measure.remark, strong=strong, headed=measure.headed)
        leading = cost.study.leading if strong else None
        if leading is not None and len(text_of(leading)) < max(_LONG, len(text_of(cost.total.eops)) // 2):
            yield FigureRow("grows as", leading, level=1, general=True)
        most = cost.study.at_most if strong else None
        least = cost.study.at_least if strong else None
        if least is not None:
            yield FigureRow("at least", least, value(least), "between powers of 2", level=1)
        told = cost.point.values if _point_shown(cost, view) else {}
        if most is not None and any(s.kind == "data" and s not in told for s in cost.total.eops.free):
            yield FigureRow("at most", most, value(most), "whatever data decides", level=1)
        for part in measure.parts:
            label = f"{part.name} {part.space}".rstrip()
            yield FigureRow(label, part.form, value(part.form), part.remark, level=1)


def _no_value(form: Form | None) -> None:
    return None


# ---- status, conditions and coverage -------------------------------------------------------


def _standing(cost: Located, view: CostView, form: str) -> Iterator[Fact]:
    """Yield the status, and the conditions that the figures rely on."""
    study, text = cost.study, form == "text"
    known = {} if _forms_shown(cost, view) else cost.point.values
    if text:
        yield Fact("status", _standing_of(cost))
    ones = [s for s in study.symbols if s.kind == "length" and s not in known and s.lo == 1]
    if ones and study.kind == "program":
        yield Fact("lengths", f"{', '.join(s.name for s in ones)} >= 1")
    yield from (
        Fact("by data", _range(cost, s, bool(known)))
        for s in study.symbols
        if s.kind == "data" and s not in known
    )
    kept = [s for s in study.symbols if s.role == "kept" and s not in known]
    told = (*known, *study.assumed.put)
    yield from (Fact("by data", said) for said in (partitions(kept, told) if kept else ()))
    yield from study.remarks()
    if _forms_shown(cost, view) or not cost.point.complete:
        yield from _requirements(cost, "holds where", "needed", _MOST_CONDITIONS if text else None, known)
        yield from _offer(cost, known)
    yield from _requirements(cost, "checked when run", "checked", _MOST_CONDITIONS if text else None)
    yield from _missing(cost, _MOST_MISSING if text else None)


def _offer(cost: Located, known: Valuation) -> Iterator[Fact]:
    """Suggest assumptions about open lengths that remove the floors from forms, if there are any."""
    study, total = cost.study, cost.total
    every = (total.eops, total.macs, total.bytes)
    forms = [f for form in every if isinstance(f := cost.value(form) if known else form, Poly)]
    if study.requirements or any(form.height for form in forms):
        found = offered(forms, study.requirements, (symbol.name for symbol in study.symbols))
        yield from () if found is None else (Fact(found),)


def _requirements(
    cost: Located, heading: str, kind: str, most: int | None, known: Valuation | None = None
) -> Iterator[Fact]:
    """Yield conditions on the open lengths; those that the known lengths fulfil are left out."""
    every = [one for one in cost.study.requirements if one.kind == kind and not one.assumed]
    found = _strongest([one for one in map(partial(_left, known or {}), every) if one is not None])
    if found:
        yield Fact(heading)
    for one in found[:most]:
        where = one.place(cost.study.file)
        text, reason = one.text, visible(one.reason)
        if most is not None:  # a screen shows the beginning of both
            text, reason = cut(text, _LONGEST_CONDITION), cut(reason, _LONGEST_REASON)
        yield Fact(text, remark=reason + (f" ({where})" if where else ""), level=1)
    if most is not None and len(found) > most:
        yield Fact(f"and {len(found) - most:,} more: --format json", level=1)
    if kind == "needed" and len(found) > 1 and contradict(one.condition for one in found):
        yield Fact("these contradict each other: there are no lengths that fulfil all of them", level=1)


def _left(known: Valuation, one: Requirement) -> Requirement | None:
    """Return the rest of a requirement at known lengths; None if they fulfil it."""
    if not known:
        return one
    try:
        left = substitute_cond(one.condition, known)
    except (NotInteger, ZeroDivisionError, AlgebraBudget):
        return one
    return None if prove(left) else replace(one, condition=left)


def _strongest(found: Sequence[Requirement]) -> list[Requirement]:
    """Drop requirements that follow from others: ``n >= 2`` is not shown beside ``n >= 5``."""
    least: dict[Poly, int] = {}
    bounds = [_bound(one) for one in found]
    for form, besides in filter(None, bounds):
        least[form] = min(besides, least.get(form, besides))
    kept = [
        one for one, bound in zip(found, bounds, strict=True) if bound is None or bound[1] == least[bound[0]]
    ]
    for one in reversed(kept) if len(kept) <= _MOST_CONDITIONS else ():
        others = [other for other in kept if other is not one]
        if isinstance(one.condition, Ge) and prove(one.condition, tuple(other.condition for other in others)):
            kept = others
    return kept


def _bound(one: Requirement) -> tuple[Poly, int] | None:
    """Return the form that a condition bounds, and the constant to add to it: the sum must be at least 0."""
    if not isinstance(one.condition, Ge) or one.condition.p.den != 1:
        return None
    besides = one.condition.p.terms.get((), 0)
    return one.condition.p - besides, besides


def _missing(cost: Located, most: int | None) -> Iterator[Fact]:
    found = cost.coverage.missing
    if found:
        yield Fact(Caution("not costed"))
    for item in found[:most]:
        waiting = "1 more node waits" if item.behind == 1 else f"{item.behind:,} more nodes wait"
        behind = f"; {waiting} for what it gives" if item.behind else ""
        yield Fact(f"{item.op} {item.name}", remark=visible(item.why) + behind, level=1)
    if most is not None and len(found) > most:
        yield Fact(f"and {len(found) - most:,} more nodes", level=1)
    yield from _start(next((item for item in found if item.start), None))


def _start(item: MissingNode | None) -> Iterator[Fact]:
    """Explain how to go on without a definition of an operator: begin one, or give shapes of its outputs."""
    if item is None:
        return
    domain, _, name = visible(item.op).rpartition(".")
    place = f"DIR/{domain or 'onnx'}/{name}.tol"
    yield Fact(f"a definition of {visible(item.op)} begins like this, in {place} for --specs DIR")
    yield from (Fact(visible(line), level=1) for line in item.start.splitlines())
    if item.behind:
        shapes = " ".join(f"--shape {visible(name)}=..." for name in item.gives[:_MOST_GIVEN])
        yield Fact(f"or say the shapes of what it gives: {shapes}")


def _range(cost: Located, symbol: Symbol, put: bool) -> str:
    ends = (cost.value(end) if put else end for end in (symbol.lo, symbol.hi))
    low, high = ("" if end in (None, LARGEST_LENGTH) else text_of(end) for end in ends)
    meaning = f"  {_MEANINGS[symbol.role]}" if symbol.role in _MEANINGS else ""
    return f"{low} <= {visible(symbol.name)}" + (f" <= {high}" if high else "") + meaning


# ---- tables --------------------------------------------------------------------------------


def growth_blocks(growth: Growth, bars: bool, exact: bool) -> Document:
    """Write the rows of a sweep, with bars in text, and where parts overtake each other.

    Figures have their units; with ``exact`` every digit of integers, as for programs, and else three.
    """
    crossed = tuple(f"{c.later} overtakes {c.earlier} at {growth.name} = {c.at:,}" for c in growth.crossings)
    fixed = lengths_text(growth.fixed.items())
    head = [Lines((f"at {fixed}",))] if fixed else []
    return (*head, _growth_table(growth, bars, exact), Lines(crossed))


def _growth_table(growth: Growth, bars: bool, exact: bool) -> ReportTable:
    """Write the rows of a sweep; the last column has a violated condition, or a bar for the first figure."""
    columns = ((growth.name, growth.name), *growth.columns.items())
    first = [next(iter(row.figures.values()), None) for row in growth.rows]
    most = max((found for found in first if isinstance(found, int)), default=None)
    rows = []
    for row, found in zip(growth.rows, first, strict=True):
        bar = Bar(found if isinstance(found, int) else None, most)
        cells = [
            _swept(key, growth.columns[key], n, exact) if n is not None or row.outside else UNKNOWN
            for key, n in row.figures.items()
        ]
        rows.append((row.value, *cells, f"outside of {row.outside}" if row.outside else bar))
    shown = bars or any(row.outside for row in growth.rows)
    titles = [title.removesuffix(_IN_TIME) for _, title in columns]
    said = f"{titles[1]}, on a logarithmic scale" if most and bars else ""
    numbers = [Column(key, title, "number") for (key, _), title in zip(columns, titles, strict=True)]
    return ReportTable((*numbers, Column("outside", said, shown=shown)), rows)


_IN_TIME = f", {UNIT}"
"""The end of the titles of times, which are written in the unit that suits them."""


def _swept(key: str, title: str, value: Form | None, exact: bool) -> Cell:
    if not isinstance(value, int | Fraction):
        return value
    if title.endswith(_IN_TIME):
        return duration_text(value)
    if exact:
        return value
    return si(value, "B" if key in IN_BYTES else "")


def csv_table(costs: Sequence[Located], view: CostView) -> ReportTable:
    """Return costs as data: all figures and parts of programs, groups of a model, or rows of a sweep."""
    if view.growths:
        first = view.growths[0]
        fixed = tuple(first.fixed)
        bounded = {"status": costs[0].status} if costs[0].status in FROM_ABOVE | INCOMPLETE else {}
        rows = [
            (*g.fixed.values(), r.value, *r.figures.values(), *bounded.values(), r.outside)
            for g in view.growths
            for r in g.rows
        ]
        keys = (*fixed, first.name, *first.columns, *bounded, "outside")
        return ReportTable(tuple(Column(key, key) for key in keys), rows)
    if costs and costs[0].study.kind == "model":
        return _group_data(costs[0], view.table.by)
    header = ("program", "file", "metric", "item", "space", "form", "value", "status")
    found = [(cost.study.name, cost.study.file, *row) for cost in costs for row in figure_data(cost, view)]
    return ReportTable(tuple(Column(key, key) for key in header), found)


FigureData: TypeAlias = tuple[str, str, str, Form | None, Form | None, str]
"""Metric, item, space, closed form, value at the point if there is one, and certainty."""


def figure_data(cost: Located, view: CostView) -> Iterator[FigureData]:
    """Yield every figure and part."""
    for measure in measures_shown(cost, view):
        metric = measure.label if measure.key in ("weights", "time") else measure.key
        value = cost.value if cost.located else _no_value
        if measure.headed:
            said = cost.standing(measure, measure.form)
            yield metric, "", "", measure.form, value(measure.form), said
        for part in measure.parts:
            said = cost.standing(measure, part.form)
            yield metric, part.name, part.space, part.form, value(part.form), said


def _group_data(cost: Located, by: str) -> ReportTable:
    metrics, known = keys_in("columns"), cost.located
    keys = (
        "model",
        by,
        "nodes",
        *metrics,
        *(f"{metric}_at" for metric in metrics if known),
        "status",
        "bytes_status",
    )
    rows: list[tuple[Cell, ...]] = []
    timed_alone = _times_by_title(cost, by)
    for group in cost.groups(by):
        found = group.figures
        forms = tuple(found.told.values())
        values = map(cost.value, forms) if known else ()
        times = () if timed_alone is None else _time_cells(cost, timed_alone.get(group.title))
        said = (found.status, cost.certainty("bytes", found))
        rows.append((cost.study.name, group.title, group.nodes, *forms, *values, *said, *times))
    timed = ("arithmetic_bound_us", "predicted_us") if cost.device is not None else ()
    return ReportTable(tuple(Column(key, key) for key in (*keys, *timed)), rows)


def growth_record(growth: Growth) -> dict[str, Json]:
    """Return a sweep for a JSON document."""
    rows: list[Json] = [
        {
            growth.name: row.value,
            **{
                key: number(found) if isinstance(found, int | Fraction) else form_json(found)
                for key, found in row.figures.items()
            },
            "outside": row.outside or None,
        }
        for row in growth.rows
    ]
    crossed: list[Json] = [
        {"at": c.at, "overtakes": c.later, "overtaken": c.earlier} for c in growth.crossings
    ]
    fixed: dict[str, Json] = {name: number(value) for name, value in growth.fixed.items()}
    found: dict[str, Json] = {"name": growth.name, "rows": rows, "crossings": crossed}
    return {**found, "fixed": fixed} if fixed else found


# === Time on a device as tables, lines and records.


def time_blocks(cost: Located, times: Times, view: CostView) -> Iterator[Section]:
    """Yield times by operator or node, the longest first, and the lengths at which their bottlenecks change.

    Times of a model are numbers at its point, or at an example.
    """
    if cost.study.kind == "model":
        by = view.table.by
        own = times if by != "node" else cost.study.times(times.device, by)
        shown = cost if view.symbolic else cost.example or cost
        yield _time_table(shown, own)
        if times.predicted is not None:
            yield Lines(_kernels(shown, times.device))
    elif (limit := _limits(times, cost.point.values)) and cost.point.complete:
        yield Lines((f"bound by {limit} there",))
    alike = Counter[str]()
    for step in times.steps:
        alike[step.title] += step.nodes
    changes = [_change_text(change, alike[change.title]) for change in cost.limit_changes]
    more = len(changes) - _MOST_CHANGES
    yield Lines((*changes[:_MOST_CHANGES], *([f"… and {more:,} more: --format json"] if more > 0 else [])))
    if times.unlike:
        yield Lines((f"{times.device.name} predicted  {cost.error}",))
    if times.unbounded:
        spaces = ", ".join(times.unbounded)
        yield Lines((f"{times.device.name} has no peak for products in {spaces}: bytes alone bound them",))


def _kernels(cost: Located, device: Device) -> tuple[str, ...]:
    """State the kernels that a prediction assumes, and what it is with those of other engines."""
    others = [e for e in engines().values() if e.name != device.engine and not not_fitted(e, device)]
    times = [cost.value(cost.study.times(run_by(one, device)).predicted) for one in others]
    said = [
        f"{one.name} {duration_text(time)}"
        for one, time in zip(others, times, strict=True)
        if isinstance(time, int | Fraction)
    ]
    return (engine_of(device.engine).assumed, *([f"with --engine {', '.join(said)}"] if said else []))


def _change_text(change: LimitChange, alike: int) -> str:
    here = f"{change.name} = {change.at:,}"
    who = change.title if change.nodes == alike else f"{change.nodes:,} of {alike:,} {change.title}"
    verb = "is" if change.nodes in (1, alike) else "are"
    return f"{who} {verb} bound by {change.before} below {here}, by {change.after} from there on"


def _time_table(cost: Located, times: Times) -> ReportTable:
    known = cost.point.complete
    kind: CellKind = "number" if known else "form"
    unit = "" if known else f", {UNIT}"
    fitted = times.device.fitted is not None
    columns = (
        Column("op", "on " + times.device.name, "code"),
        Column("nodes", "nodes", "number"),
        Column("bound", f"at least for this arithmetic{unit}", kind),
        *([Column("predicted", f"predicted{unit}", kind)] if fitted else []),
        Column("by", "bound by"),
        *([Column("error", "tested", drop=1)] if fitted else []),
    )
    rows = [_time_row(cost, title, own) for title, own in times.by_title().items()]
    rows.sort(key=lambda row: row[0], reverse=True)
    return ReportTable(columns, [cells for _, cells in rows])


def _time_row(cost: Located, title: str, own: Times) -> tuple[Fraction, tuple[Cell, ...]]:
    """Return the cells of a row, and the number that rows are sorted by; 0 while lengths are open."""
    fitted = own.device.fitted is not None
    forms: tuple[Form | None, ...] = (own.bound, own.predicted) if fitted else (own.bound,)
    values = [cost.value(form) for form in forms]
    at_point = [duration_text(one) if isinstance(one, int | Fraction) else one for one in values]
    cells = at_point if cost.point.complete else forms
    limits = _limits(own, cost.point.values)
    tested = (error_of(own),) if fitted else ()
    longest = Fraction(last) if isinstance(last := values[-1], int | Fraction) else Fraction(0)
    return longest, (Code(title), sum(step.nodes for step in own.steps), *cells, limits, *tested)


def _limits(times: Times, values: Mapping[Symbol, int]) -> str:
    found = times.limits(values)
    if len(found) == 1:
        return next(iter(found))
    return ", ".join(f"{limit} {nodes:,}" for limit, nodes in found.most_common())


def _times_by_title(cost: Located, by: str) -> Mapping[str, Times] | None:
    """Return the times of operators or nodes by title; None without a device."""
    if cost.times is None:
        return None
    times = cost.times if by != "node" else cost.study.times(cost.times.device, by)
    return times.by_title()


def _time_cells(cost: Located, own: Times | None) -> tuple[Form | None, ...]:
    """Return the bound and the prediction of a group."""
    return (None, None) if own is None else tuple(cost.value(form) for form in (own.bound, own.predicted))


def time_record(cost: Located) -> dict[str, Json]:
    """Return the times on a device for a JSON document, in microseconds; empty without a device."""
    times = cost.times
    if times is None:
        return {}
    forms = {
        "arithmetic_bound": times.bound,
        "fused_arithmetic_bound": times.whole,
        "predicted": times.predicted,
    }
    record: dict[str, Json] = {
        "device": times.device.name,
        "description": times.device.description,
        "engine": times.device.engine,
        **{key: form_json(form) for key, form in forms.items()},
        "tested": ", ".join(filter(None, (UNIT, cost.error))),
        "groups": [_time_group(cost, title, own) for title, own in times.by_title().items()],
        "changes": [
            {
                "op": c.title,
                "nodes": c.nodes,
                "length": c.name,
                "at": c.at,
                "before": c.before,
                "after": c.after,
            }
            for c in cost.limit_changes
        ],
    }
    if cost.located:
        show = Show(cost, at_point=True)
        record["at"] = {key: show(form) for key, form in forms.items()}
    return {"time": record}


def _time_group(cost: Located, title: str, own: Times) -> dict[str, Json]:
    found: dict[str, Json] = {
        "op": title,
        "nodes": sum(step.nodes for step in own.steps),
        "arithmetic_bound": form_json(own.bound),
        "predicted": form_json(own.predicted),
        "bound_by": dict(own.limits(cost.point.values)),
        "tested": error_of(own),
    }
    if cost.point.complete:
        show = Show(cost, at_point=True)
        found["at"] = {"arithmetic_bound": show(own.bound), "predicted": show(own.predicted)}
    return found
