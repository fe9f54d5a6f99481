"""An analysis as text for a terminal: figures with their parts indented below, then conditions.

Closed forms are never wrapped, so that they can be copied; numbers are grouped and aligned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tolcost.algebra import Symbol
from tolcost.cost.record import NamedType
from tolcost.diagnostics import visible
from tolcost.report.point import Point
from tolcost.report.study import Figure, Study, figures
from tolcost.result.conditions import Given, given_conditions
from tolcost.result.forms import Form, Values, form_at, text_of

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_WIDEST = 60
"""A longer condition does not push the reasons of the others further right."""
UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Row:
    """One line: how far in, its label, its value, and a remark behind it."""

    indent: int
    label: str
    value: str = ""
    remark: str = ""
    number: bool = False
    strong: bool = False


def text_report(studies: Sequence[Study], colour: bool = False) -> str:
    """All programs, an empty line between them."""
    return "\n".join(_program(study, colour) for study in studies)


def _program(study: Study, colour: bool) -> str:
    analysis = study.analysis
    name = visible(analysis.name)
    file = visible(analysis.file)
    title = f"{_BOLD}{name}{_PLAIN}  {_DIM}{file}{_PLAIN}" if colour else f"{name}  {file}"
    blocks = [_types(study)]
    if study.forms_shown:
        blocks.append(_figures(study, _unchanged))
    if study.point_shown:
        blocks.append([Row(0, _heading(study.point)), *_figures(study, at_point(study.point))])
    blocks.append(_standing(study))
    return title + "\n" + "\n".join(_lines(blocks, colour))


def _types(study: Study) -> list[Row]:
    analysis = study.analysis
    concrete = not study.forms_shown
    shape = at_point(study.point) if concrete else _unchanged
    given = [Row(0, "input", f"{visible(t.name)}: {type_text(t, shape)}") for t in analysis.inputs]
    made = [Row(0, "output", f"{visible(t.name)}: {type_text(t, shape)}") for t in analysis.outputs]
    return given + made


def _unchanged(form: Form) -> Form:
    return form


def type_text(tensor: NamedType, at: Callable[[Form], Form | None]) -> str:
    """Give spaces and shapes, as in ``R [n, k]``; a numeric is just its space."""
    parts = []
    for part in tensor.type:
        shape = ", ".join(text_of(found) for d in part.shape if (found := at(d)) is not None)
        parts.append(f"{part.space} [{shape}]" if part.shape else part.space)
    return ", ".join(parts)


def at_point(point: Point) -> Callable[[Form], Form | None]:
    """Give the function that puts a form at a point."""
    return lambda form: form_at(form, point.values)


def _heading(point: Point) -> str:
    pairs = ", ".join(f"{visible(name)} = {value:,}" for name, value in sorted(point.dims.items()))
    open_ = f" ({', '.join(visible(s.name) for s in point.missing)} open)" if point.missing else ""
    return f"at {pairs}{open_}" if pairs else "in numbers"


def _figures(study: Study, at: Callable[[Form], Form | None]) -> list[Row]:
    rows: list[Row] = []
    for figure in figures(study):
        rows.append(_figure(figure, at) if figure.headed else Row(0, figure.label))
        for part in figure.parts:
            label = f"{part.name} {part.space}".rstrip()
            rows.append(_valued(1, label, at(part.form), part.remark))
    return rows


def _figure(figure: Figure, at: Callable[[Form], Form | None]) -> Row:
    if figure.form is None:
        return Row(0, figure.label, UNKNOWN)
    row = _valued(0, figure.label, at(figure.form), figure.unit)
    strong = figure.metric == "eops"
    return Row(row.indent, row.label, row.value, row.remark, row.number, strong)


def _valued(indent: int, label: str, form: Form | None, unit: str = "") -> Row:
    if form is None:
        return Row(indent, label, "not defined here")
    remark = unit
    text = text_of(form, grouped=True)
    if isinstance(form, Fraction) and "/" in text:
        remark = f"{unit}{', ' if unit else ''}about {_about(form)}"
    return Row(indent, label, text, remark, isinstance(form, int | Fraction))


def _about(value: Fraction) -> str:
    """A number for the eye; the exact one stands beside it."""
    return f"{round(value):,}" if abs(value) >= 1000 else f"{float(value):.4g}"


def _standing(study: Study) -> list[Row]:
    """The status, and what the figures rely on."""
    analysis = study.analysis
    known = {} if study.forms_shown else study.point.values
    rows = [Row(0, "status", analysis.status)]
    lengths = [s for s in analysis.symbols if s.kind == "length" and s not in known and _least(s) == 1]
    if lengths:
        rows.append(Row(0, "lengths", f"{', '.join(visible(s.name) for s in lengths)} >= 1"))
    data = [s for s in analysis.symbols if s.kind == "data" and s not in known]
    rows += [Row(0, "by data", _range(s, known)) for s in data]
    if study.forms_shown or not study.point.complete:
        rows += _conditions("holds where", given_conditions(analysis.conditions, analysis.file))
    return rows + _conditions("checked when run", given_conditions(analysis.unproved, analysis.file))


def _least(symbol: Symbol) -> int | None:
    return None if symbol.lo is None else symbol.lo.constant


def _range(symbol: Symbol, known: Values) -> str:
    ends = (None if end is None else form_at(end, known) for end in (symbol.lo, symbol.hi))
    low, high = ("" if end is None else text_of(end) for end in ends)
    return f"{low} <= {visible(symbol.name)}" + (f" <= {high}" if high else "")


def _conditions(heading: str, conditions: Iterable[Given]) -> list[Row]:
    rows = [Row(1, c.text, remark=c.reason + (f" ({c.place})" if c.place else "")) for c in conditions]
    return [Row(0, heading), *rows] if rows else []


def _lines(blocks: Iterable[list[Row]], colour: bool) -> Iterable[str]:
    for block in blocks:
        values = [row for row in block if row.value]
        figures = max((_width(row) for row in values), default=0)
        remarks = max((w for row in block if not row.value and (w := _width(row)) <= _WIDEST), default=0)
        digits = max(len(row.value) for row in values) if values and all(row.number for row in values) else 0
        for row in block:
            yield _line(row, figures if row.value else remarks, digits, colour)
        yield ""


def _width(row: Row) -> int:
    return 2 * row.indent + len(row.label)


def _line(row: Row, width: int, digits: int, colour: bool) -> str:
    label = ("  " * row.indent + row.label).ljust(width)
    value = row.value.rjust(digits) if row.number else row.value
    if colour:
        value = f"{_BOLD}{value}{_PLAIN}" if row.strong else value
        remark = f"  {_DIM}{row.remark}{_PLAIN}" if row.remark else ""
    else:
        remark = f"  {row.remark}" if row.remark else ""
    gap = "  " if value else ""
    return f"  {label}{gap}{value}{remark}".rstrip()
