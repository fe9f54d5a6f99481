"""A model on a screen: figures and a table at a point, forms cut to what leads, names for what recurs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from tolcost.algebra import Poly
from tolcost.cost.device import Duration
from tolcost.cost.record import FormRatio
from tolcost.result.model_table import TableView, columns_of, model_table, shown_rows
from tolcost.result.rows import flat
from tolcost.result.study import Located, Measure
from tolcost.show.document import UNKNOWN, Cell, Code, Column, Fact, Lines, ReportTable, Section, cut
from tolcost.show.forms import Form
from tolcost.show.shorten import MORE, Subterms, shortened, subterms
from tolcost.show.units import si

_BYTES = ("bytes", "model_bytes", "param_bytes", "peak_bytes", "cache_bytes", "memory_bytes")
_WIDTH, _WIDEST = 78, 104
_CUT = f"{MORE} is more than fits: --symbolic gives closed forms in full, --format json all"


def point_fact(cost: Located, at: Located | None) -> Fact:
    """Where the numbers are from: the lengths given, or an example."""
    if at is None:
        return Fact("figures", "closed forms only: no simple lengths fulfil all conditions, see below")
    shown = {symbol.name for symbol in at.study.symbols} | cost.point.given.keys()
    lengths = ", ".join(f"{n} = {value:,}" for n, value in sorted(at.point.dims.items()) if n in shown)
    if not lengths:
        return Fact("figures", "every length is fixed by the file")
    example = "for example: --dim sets open lengths" if cost.point.missing and len(lengths) <= _WIDTH else ""
    return Fact("figures at", cut(lengths, _WIDEST), example)


def model_blocks(
    cost: Located, at: Located | None, measures: Sequence[Measure], view: TableView
) -> Iterator[Section]:
    """The figures and the table of a model, then what names in them stand for."""
    rows = shown_rows(cost, at, view)
    forms = [measure.form for measure in measures]
    if "form" in columns_of(cost, at, view):
        forms += [row.amounts["eops"] for _, row in flat(rows)]
    named = subterms([form for form in forms if isinstance(form, Poly)])
    figures = _figures(cost, at, measures, named, view.exact)
    table = model_table(cost, at, view, rows, named)
    cut = any(
        isinstance(c, Code) and MORE in c.text for part in (figures, table) for r in part.rows for c in r
    )
    yield from (figures, table)
    yield Lines((*named.lets(), *([_CUT] if cut else [])))


def _figures(
    cost: Located, at: Located | None, measures: Sequence[Measure], named: Subterms, exact: bool
) -> ReportTable:
    open_ = bool(cost.study.symbols)
    rows = []
    for measure in measures:
        value = None if at is None else _value(measure, at.value(measure.form), exact)
        rows.append((measure.label, value, _form(measure.form, named) if open_ else None, measure.unit))
    columns = (
        Column("figure", "figure"),
        Column("value", "value", "number", shown=at is not None),
        Column("form", "closed form", "code", shown=open_),
        Column("unit", ""),
    )
    return ReportTable(columns, rows)


def _value(measure: Measure, value: Form | None, exact: bool) -> Cell:
    if measure.form is None:
        return UNKNOWN
    if isinstance(value, int | Fraction):
        return si(value, "B" if measure.key in _BYTES else "", exact)
    return "not defined here" if value is None else Code(shortened(value, _WIDTH // 2))


def _form(form: Form | None, named: Subterms) -> Cell:
    """A form that fits; quotients and times are numbers, and long forms of what stands elsewhere."""
    if form is None or isinstance(form, FormRatio | Duration):
        return None
    return Code(shortened(named.put(form), _WIDTH))
