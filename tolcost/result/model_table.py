"""A model's table: which columns, in which order, in numbers at a point or in closed forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tolcost.dataclass import dataclass
from tolcost.result.rows import AMOUNTS, Choice, TableRow, chosen, flat
from tolcost.result.study import Located, size
from tolcost.show.document import UNKNOWN, Cell, CellKind, Code, Column, ReportTable
from tolcost.show.forms import Form
from tolcost.show.shorten import Subterms, shortened
from tolcost.show.units import si

BY = ("node", "op", "scope")
COLUMNS = ("op", "type", "shape", "nodes", *AMOUNTS, "intensity", "share", "cumulative", "form")
SORTS = ("name", "nodes", *AMOUNTS)
_TITLES = {
    "eops": "EOPs",
    "flops": "FLOPs",
    "macs": "MACs",
    "intensity": "FLOPs/byte",
    "form": "EOPs in closed form",
}
_FIRST = {"op": ("operator", "operators"), "node": ("node", "nodes"), "scope": ("scope", "scopes")}
_OF = {
    "op": ("nodes", "eops", "share", "macs", "bytes", "parameters", "intensity"),
    "node": ("op", "type", "shape", "eops", "share", "macs", "bytes", "parameters"),
    "scope": ("nodes", "eops", "share", "macs", "bytes", "parameters", "intensity"),
}
_FORM, _TITLE = 44, 36
DEPTH = 2


@dataclass(frozen=True, slots=True)
class TableView:
    """What the table is by, and what is shown of it; ``columns`` None: those that fit."""

    by: str = "op"
    columns: tuple[str, ...] | None = None
    sort: str | None = None
    top: int | None = None
    depth: int = DEPTH
    exact: bool = False
    symbolic: bool = False


def shown_rows(cost: Located, at: Located | None, view: TableView) -> list[TableRow]:
    """The rows of a model's table: sorted, cut to the top, with those that cost nothing as one."""
    rows = cost.study.rows(view.by, view.depth)
    sort = view.sort or ("eops" if view.by == "op" or view.top is not None else None)
    return chosen(rows, Choice(sort, view.top), _sizes(rows, sort, at or cost), _FIRST[view.by][1])


def model_table(
    cost: Located, at: Located | None, view: TableView, rows: Sequence[TableRow], named: Subterms
) -> ReportTable:
    """The table of a model: numbers at a point; closed forms where there is none, or they are asked for."""
    measure = view.sort if view.sort in AMOUNTS else "eops"
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
    """A title that leaves room for figures; names tell apart at their ends."""
    room = _TITLE - (len(title) - len(title.lstrip()))
    return title if len(title) <= _TITLE else f"{title[: _TITLE - room]}…{title[1 - room :]}"


def columns_of(cost: Located, at: Located | None, view: TableView) -> tuple[str, ...]:
    """The columns asked for, or those that fit."""
    if view.columns is not None:
        return tuple(name for name in view.columns if name != view.by)
    if at is None or view.symbolic:
        return ("nodes", "eops", "macs")
    names = _OF[view.by]
    return names if cost.point.complete or view.by == "node" else (*names[:-1], "form")


def _sizes(rows: Sequence[TableRow], sort: str | None, at: Located) -> Mapping[int, int]:
    """A number for each row to be sorted by, however deep it stands."""
    if sort == "nodes":
        return {id(row): row.nodes for _, row in flat(rows)}
    if sort is None or sort == "name":
        return {}
    return {
        id(row): 0 if (form := row.amounts[sort]) is None else size(form, at.point.values)
        for _, row in flat(rows)
    }


def _total(rows: Sequence[TableRow], measure: str, at: Located | None) -> int | None:
    numbers = [None if at is None else at.number(row.amounts[measure]) for row in rows]
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(rows) else None


@dataclass(slots=True)
class _Cells:
    """Makes cells; ``passed`` is how much of the measure stands in the rows so far."""

    at: Located | None
    view: TableView
    measure: str
    whole: int | None
    named: Subterms
    passed: int = 0

    def column(self, name: str) -> Column:
        """The head of a column."""
        numbers = self.at is not None and not self.view.symbolic
        kind: CellKind = "text" if name in ("op", "type", "shape", "form") or not numbers else "number"
        of = f" of {_TITLES.get(self.measure, self.measure)}" if self.measure != "eops" else ""
        title = f"{name}{of}" if name in ("share", "cumulative") else _TITLES.get(name, name)
        return Column(name, title, "number" if name == "nodes" else kind)

    def amount(self, row: TableRow, name: str) -> int | None:
        """An amount at the point."""
        return None if self.at is None else self.at.number(row.amounts[name])

    def cell(self, name: str, row: TableRow, level: int) -> Cell:
        """What stands in a column."""
        match name:
            case "op" | "type" | "shape":
                return Code(str(getattr(row, name)))
            case "nodes":
                return row.nodes
            case "form":
                return self._form(row.amounts["eops"])
            case "share":
                return self._percent(self.amount(row, self.measure))
            case "cumulative":
                return "" if level else self._percent(self.passed)
            case "intensity":
                return self._number(row.intensity)
            case _:
                return self._number(row.amounts[name], "B" if name == "bytes" else "")

    def _percent(self, part: int | None) -> str:
        return "" if part is None or not self.whole else f"{float(Fraction(part, self.whole)) * 100:.1f} %"

    def _form(self, form: Form | None) -> Cell:
        return UNKNOWN if form is None else Code(shortened(self.named.put(form), _FORM))

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
        return UNKNOWN if value is None else Code(shortened(value, _FORM))
