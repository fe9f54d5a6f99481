"""A model on a screen: its figures and its table, as numbers at a point or as closed forms.

Forms are cut to their leading terms, and recurring parts of them get names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from tolcost.algebra import Poly
from tolcost.cost.device import Duration
from tolcost.cost.record import FormRatio
from tolcost.result.metrics import AMOUNTS, HELD, IN_BYTES, LEADING, TITLES, Measure, keys_in
from tolcost.result.rows import TableRow, chosen, flat
from tolcost.result.study import Located, size
from tolcost.show.document import (
    UNKNOWN,
    Caution,
    Cell,
    CellKind,
    Code,
    Column,
    Fact,
    Form,
    MoreNote,
    Remark,
    ReportTable,
    Section,
    Verdict,
    cut,
    lengths_text,
)
from tolcost.show.shorten import MORE, Subterms, duration_text, percent_text, short_form, si, subterms

BY = ("node", "op", "scope")
COLUMNS = ("op", "type", "shape", "nodes", *AMOUNTS, "intensity", "share", "cumulative", "form")
SORTS = ("name", "nodes", *AMOUNTS)
_TITLES = {**TITLES, "intensity": "FLOPs/byte"}
_FIRST = {"op": ("operator", "operators"), "node": ("node", "nodes"), "scope": ("scope", "scopes")}
_OF = {
    "op": ("nodes", "eops", "share", "macs", "bytes", "parameters", "intensity"),
    "node": ("op", "type", "shape", "eops", "share", "macs", "bytes", "parameters"),
    "scope": ("nodes", "eops", "share", "macs", "bytes", "parameters", "intensity"),
}
_DROPPED = {"form": 1, "intensity": 2, "parameters": 3}
"""The columns of a usual table that are left out on a narrow terminal, in this order."""
_FORM, _TITLE = 44, 36
"""The widest form and the widest title in a cell, in characters."""
DEPTH = 2


class TableView(Struct, frozen=True):
    """The settings of a table: parts, columns, order and depth; ``columns`` None selects those that fit.

    ``metrics`` are those that were asked for.  If parts have any of them, the first decides the order and the
    share, and others have no column.
    """

    by: str = "op"
    columns: tuple[str, ...] | None = None
    sort: str | None = None
    top: int | None = None
    depth: int = DEPTH
    exact: bool = False
    symbolic: bool = False
    metrics: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[str, ...]:
        """The metrics of parts that were asked for; all if there are none."""
        asked = (HELD if name == "params" else name for name in self.metrics)
        return tuple(name for name in asked if name in AMOUNTS) or AMOUNTS

    @property
    def measure(self) -> str:
        """The metric of the share, the closed form and the usual order."""
        return self.sort if self.sort in AMOUNTS else self.asked[0]


def shown_rows(cost: Located, at: Located | None, view: TableView) -> list[TableRow]:
    """Return the rows of a model's table: sorted, cut to the top, with those that cost nothing in one row."""
    rows = cost.study.rows(view.by, view.depth)
    sort = view.sort or (view.measure if view.by == "op" or view.top is not None else None)
    return chosen(rows, sort, view.top, _sizes(rows, sort, at or cost), _FIRST[view.by][1])


def model_table(
    cost: Located, at: Located | None, view: TableView, rows: Sequence[TableRow], named: Subterms
) -> ReportTable:
    """Return the table of a model: numbers at a point; closed forms without a point, or if ``symbolic``."""
    measure = view.measure
    names = columns_of(cost, at, view)
    cells = _Cells(at, view, measure, _total(rows, measure, at), named)
    columns = (Column(view.by, _FIRST[view.by][0], "code"), *(cells.column(name) for name in names))
    made = []
    for level, row in flat(rows):
        cells.passed += cells.amount(row, measure) or 0 if not level else 0
        title = Code(_end("  " * level + row.shown))
        made.append((title, *(cells.cell(name, row, level) for name in names)))
    return ReportTable(columns, made)


def _end(title: str) -> str:
    """Shorten a title from its beginning: names differ at their ends."""
    room = _TITLE - (len(title) - len(title.lstrip()))
    return title if len(title) <= _TITLE else f"{title[: _TITLE - room]}…{title[1 - room :]}"


def columns_of(cost: Located, at: Located | None, view: TableView) -> tuple[str, ...]:
    """Return the columns that were asked for, or those that fit."""
    if view.columns is not None:
        return tuple(name for name in view.columns if name != view.by)
    if at is None or view.symbolic:
        return ("nodes", *(keys_in("diff of operators") if view.asked == AMOUNTS else view.asked))
    names = _OF[view.by]
    names = names if cost.point.complete or view.by == "node" else (*names[:-1], "form")
    if view.asked == AMOUNTS:
        return names
    others = [name for name in names if name not in (*AMOUNTS, "share", "intensity")]
    place = next((k for k, name in enumerate(names) if name in AMOUNTS))
    return (*others[:place], view.asked[0], "share", *view.asked[1:], *others[place:])


def _sizes(rows: Sequence[TableRow], sort: str | None, at: Located) -> Mapping[int, int]:
    """Return a number to sort each row by, at all depths."""
    if sort == "nodes":
        return {id(row): row.nodes for _, row in flat(rows)}
    if sort is None or sort == "name":
        return {}
    return {
        id(row): 0
        if (form := row.amounts[sort]) is None
        else size(form, {**at.study.typical, **at.point.values})
        for _, row in flat(rows)
    }


def _total(rows: Sequence[TableRow], measure: str, at: Located | None) -> int | None:
    costed = [row for row in rows if not row.partly or row.amounts[measure] is not None]
    numbers = [None if at is None else at.number(row.amounts[measure]) for row in costed]
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(costed) else None


class _Cells(Struct):
    """Makes cells; ``passed`` is the sum of the measure over the top rows so far."""

    at: Located | None
    view: TableView
    measure: str
    whole: int | None
    named: Subterms
    passed: int = 0

    def column(self, name: str) -> Column:
        """Return the heading of a column."""
        numbers = self.at is not None and not self.view.symbolic
        kind: CellKind = "text" if name in ("op", "type", "shape", "form") or not numbers else "number"
        of = f" of {_TITLES.get(self.measure, self.measure)}" if self.measure != LEADING else ""
        title = f"{name}{of}" if name in ("share", "cumulative") else _TITLES.get(name, name)
        title = f"{_TITLES.get(self.measure, self.measure)} in closed form" if name == "form" else title
        drop = _DROPPED.get(name, 0) if self.view.columns is None else 0
        is_name = name in ("op", "type")
        return Column(name, title, "number" if name == "nodes" else kind, drop=drop, is_name=is_name)

    def amount(self, row: TableRow, name: str) -> int | None:
        """Return an amount at the point."""
        return None if self.at is None else self.at.number(row.amounts[name])

    def cell(self, name: str, row: TableRow, level: int) -> Cell:
        """Return the cell of a row in a column."""
        match name:
            case "op" | "type" | "shape":
                return Code(str(getattr(row, name)))
            case "nodes":
                return row.nodes
            case "form":
                return self._form(row.amounts[self.measure])
            case "share":
                return self._percent(self.amount(row, self.measure), is_drawn=True)
            case "cumulative":
                return "" if level else self._percent(self.passed)
            case "intensity":
                return self._number(row.intensity)
            case _:
                return self._number(row.amounts[name], "B" if name == "bytes" else "")

    def _percent(self, part: int | None, is_drawn: bool = False) -> str:
        if part is None or not self.whole:
            return ""
        share = Fraction(part, self.whole)
        return Verdict(percent_text(share), share=float(share) if is_drawn else None)

    def _form(self, form: Form | None) -> Cell:
        return Caution(UNKNOWN) if form is None else short_form(self.named.put(form), _FORM)

    def _number(self, form: Form | None, unit: str = "") -> Cell:
        if form is None:
            return ""
        if self.view.symbolic:
            return form
        if self.at is None:
            return self._form(form)
        value = self.at.value(form)
        if isinstance(value, int | Fraction):
            return si(value, unit, self.view.exact)
        return Caution(UNKNOWN) if value is None else short_form(value, _FORM)


# ---- the whole screen ------------------------------------------------------------------------


_WIDTH, _WIDEST = 78, 104


class Hints(Struct, frozen=True):
    """How to set open lengths, and where what was shortened is whole: at a terminal, or in Python."""

    open_lengths: str
    cut: str


COMMAND_HINTS = Hints("--dim sets open lengths", "--symbolic gives closed forms in full, --format json all")
PYTHON_HINTS = Hints("subs(...) sets open lengths", "eops, macs and the like are closed forms in full")


def point_fact(cost: Located, at: Located | None, hints: Hints = COMMAND_HINTS) -> Fact:
    """State where the numbers hold: at the given lengths, or at an example."""
    if at is None:
        return Fact("figures", "closed forms only: no simple lengths fulfil all conditions, see below")
    shown = {symbol.name for symbol in at.study.symbols} | cost.point.given.keys()
    lengths = lengths_text((n, value) for n, value in sorted(at.point.dims.items()) if n in shown)
    if not lengths:
        return Fact("figures", "every length is fixed by the file")
    is_example = cost.point.missing and len(lengths) <= _WIDTH
    example = f"for example: {hints.open_lengths}" if is_example else ""
    return Fact("figures at", cut(lengths, _WIDEST), example)


def model_blocks(
    cost: Located, at: Located | None, measures: Sequence[Measure], view: TableView, hints: Hints
) -> Iterator[Section]:
    """Yield the figures and the table of a model, then the meanings of the names in them."""
    rows = shown_rows(cost, at, view)
    forms = [measure.form for measure in measures]
    if "form" in columns_of(cost, at, view):
        forms += [row.amounts[view.measure] for _, row in flat(rows)]
    named = subterms([form for form in forms if isinstance(form, Poly)])
    figures = _figures(cost, at, measures, named, view.exact)
    table = model_table(cost, at, view, rows, named)
    cells = (cell for part in (figures, table) for row in part.rows for cell in row)
    cut = any(isinstance(cell, Code) and MORE in cell.text for cell in cells)
    yield from (figures, table)
    note = f"{MORE} is more than fits: {hints.cut}"
    yield MoreNote((*named.lets(), *([note] if cut else [])), named.lets(), note)


def _figures(
    cost: Located, at: Located | None, measures: Sequence[Measure], named: Subterms, exact: bool
) -> ReportTable:
    open_ = bool(cost.study.symbols)
    rows = []
    for measure in measures:
        found = None if at is None else at.value(measure.form)
        value = None if at is None else _value(measure, found, exact)
        form = _form(measure.form, named) if open_ else None
        remark = measure.number_remark if isinstance(found, int | Fraction) else measure.remark
        rows.append((measure.label, value, form, Remark(remark, measure.said)))
    columns = (
        Column("figure", "figure"),
        Column("value", "value", "number", shown=at is not None),
        Column("form", "closed form", "code", shown=open_),
        Column("unit", ""),
    )
    return ReportTable(columns, rows)


def _value(measure: Measure, value: Form | None, exact: bool) -> Cell:
    if measure.form is None:
        return Caution(UNKNOWN)
    if isinstance(value, int | Fraction):
        return duration_text(value) if measure.key == "time" else si(value, _unit(measure), exact)
    return Caution("not defined here") if value is None else short_form(value, _WIDTH // 2)


def _unit(measure: Measure) -> str:
    return "B" if measure.key in IN_BYTES else ""


def _form(form: Form | None, named: Subterms) -> Cell:
    """Write a form that fits; None for quotients and times, whose forms repeat those of other figures."""
    if form is None or isinstance(form, FormRatio | Duration):
        return None
    return short_form(named.put(form), _WIDTH)
