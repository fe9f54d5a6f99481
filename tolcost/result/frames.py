"""Costs for a notebook: as pandas frames with typed columns, and as pictures.

A column of numbers has the type int64 if all of them fit, Int64 if some are not known, and Python's
integers if some are larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from msgspec import Struct

from tolcost.algebra import Poly, Symbol, atom, evaluate, substitute
from tolcost.diagnostics import Diagnostic, Rejected, quoted, refuse
from tolcost.result.cost import FigureValue, Points
from tolcost.result.crossings import crossings_of
from tolcost.result.metrics import NAMES, TITLES, keys_in
from tolcost.result.study import Figures, Located, broken_condition, locate_study
from tolcost.result.view import CostView, figure_data
from tolcost.show.document import Form, text_of

if TYPE_CHECKING:
    from typing import TypeAlias

    import pandas
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from tolcost.algebra.vectorised import Ints

    Frame: TypeAlias = pandas.DataFrame

_INT64 = 2**63


def frame_of(cost: Located) -> pandas.DataFrame:
    """Return a frame with a row for every figure and part; numbers are Python's exact integers."""
    import pandas

    rows = [
        (NAMES.get(metric, metric), item, space, None if form is None else text_of(form), _exact(value), said)
        for metric, item, space, form, value, said in figure_data(cost, CostView())
    ]
    columns = ["metric", "item", "space", "form", "value", "status"]
    return pandas.DataFrame(rows, columns=columns, dtype=object)


def _exact(value: Form | None) -> object:
    return value if isinstance(value, int) or value is None else text_of(value)


def frame_by(cost: Located, by: str, form: Callable[[Form], object]) -> pandas.DataFrame:
    """Return a frame with a row for every group: numbers if every length is known, else ``form`` of each."""
    import pandas

    groups = cost.groups(by)
    known = cost.point.complete
    found: dict[str, object] = {
        by: pandas.Series([group.title for group in groups], dtype="str"),
        "nodes": pandas.Series([group.nodes for group in groups], dtype="int64"),
    }
    for name in _columns(by):
        forms = [group.figures.told[name] for group in groups]
        if known:
            found[name] = typed([cost.number(one) for one in forms])
        else:
            found[name] = pandas.Series([None if one is None else form(one) for one in forms], dtype=object)
    if known:
        shares = (cost.share(group.figures) for group in groups)
        found["share"] = pandas.Series([None if s is None else float(s) for s in shares], dtype="float64")
    found["status"] = pandas.Series([group.figures.status for group in groups], dtype="category")
    return pandas.DataFrame(found)


def _columns(by: str) -> tuple[str, ...]:
    """Return the figures of parts; bytes and MACs do not belong to a single line of a program."""
    return keys_in("lines" if by == "line" else "columns")


def frame_at(points: Points, forms: Mapping[str, Form | None], metrics: Iterable[str]) -> pandas.DataFrame:
    """Return a frame with a row for every point; ``outside`` names the condition that fails, if any."""
    import pandas

    found: dict[str, object] = {name: typed(column.tolist()) for name, column in points.dims.items()}
    for name in metrics:
        found[name] = typed(points.figure(name, forms[name]))
    if any(isinstance(other, Rejected) for other in points.others.values()):
        told = (points.others.get(n) for n in range(points.size))
        outside = [one.hint or one.message if isinstance(one, Rejected) else "" for one in told]
        found["outside"] = pandas.Series(outside, dtype="str")
    return pandas.DataFrame(found)


def frame_in(columns: Mapping[str, Sequence[str | float | int | None]]) -> pandas.DataFrame:
    """Return a frame of columns that are texts, rounded numbers, or exact ones."""
    import pandas

    found: dict[str, object] = {}
    for name, column in columns.items():
        kinds = {type(value) for value in column}
        if kinds == {str} or kinds == {float}:
            found[name] = pandas.Series(list(column), dtype="str" if str in kinds else "float64")
        else:
            found[name] = typed(column)  # type: ignore[arg-type]  # texts are apart
    return pandas.DataFrame(found)


def typed(values: Sequence[FigureValue] | Ints) -> pandas.Series[object]:
    """Return numbers as a column of the narrowest type that holds all of them exactly."""
    import pandas

    listed = values if isinstance(values, Sequence) else values.tolist()
    known = [value for value in listed if value is not None]
    if not all(isinstance(value, int) and abs(value) < _INT64 for value in known):
        return pandas.Series(listed, dtype=object)
    return pandas.Series(listed, dtype="int64" if len(known) == len(listed) else "Int64")


# ---- plots: the growth of a cost with a length, or its parts at a point ----------------------


_DOUBLINGS = 18
"""Without other values, a length takes this many powers of two, from 1 to 131,072."""


def plotted(
    cost: Located,
    over: str | None,
    metric: str,
    by: str,
    values: Sequence[int] | None,
    top: int,
    label: str | None,
    axes: Axes | None,
) -> Axes:
    """Draw onto axes; without any, onto new ones."""
    if metric not in TITLES:
        refuse("T0412", f"there is no figure {quoted(metric)} to draw", hint=", ".join(TITLES))
    if metric not in _columns(by):
        known = " and ".join(TITLES[name] for name in _columns(by))
        refuse("T0412", f"a line has no {TITLES[metric]}", hint=f"{known} go by line")
    if cost.total.amounts[metric] is None:
        refuse("T0412", f"{TITLES[metric]} of {quoted(cost.study.name)} are not known")
    drawn = _axes() if axes is None else axes
    if cost.point.complete and over is None:
        _bars(cost, metric, by, top, drawn)
    else:
        _growth(cost, _open(cost, over), metric, by, values, top, label, drawn)
    drawn.set_title("" if label else cost.study.name)
    return drawn


def _axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError:
        message = "pictures are drawn with matplotlib, which is not installed"
        raise Rejected(Diagnostic("T0006", message, hint="pip install 'tolcost[plot]'")) from None
    return pyplot.subplots()[1]


def _open(cost: Located, over: str | None) -> str:
    """Return the length to draw over: the one that was asked for, or else the only open length."""
    open_ = [symbol.name for symbol in cost.point.missing]
    others = [name for name in open_ if name != over]
    if over is not None and not others:
        return over
    if len(open_) != 1:
        message = f"a picture is over one length, and {', '.join(map(quoted, open_))} are open"
        refuse("T0345", message, hint="give the others with `subs`, or as `dims`")
    return open_[0]


def _bars(cost: Located, metric: str, by: str, top: int, axes: Axes) -> None:
    sizes = _sizes(cost, metric, by)
    largest = sorted(sizes, key=lambda title: sizes[title])[-top:]
    axes.barh(largest, [float(sizes[title]) for title in largest])
    axes.set_xlabel(TITLES[metric])


def _growth(
    cost: Located,
    over: str,
    metric: str,
    by: str,
    values: Sequence[int] | None,
    top: int,
    label: str | None,
    axes: Axes,
) -> None:
    tried = sorted(values or [2**n for n in range(_DOUBLINGS)])
    points, outside = _points(cost, over, tried)
    if not points:
        refuse("T0344", f"no value of {quoted(over)} that was tried is allowed")
    rows = {value: _sizes(there, metric, by) for value, there in points.items()}
    last = rows[max(rows)]
    largest = sorted(last, key=lambda title: -last[title])[:top]
    parts = [title for title in largest if last[title]] if len(last) > 1 and label is None else []
    for title in parts:
        axes.plot([*rows], [float(row.get(title, 0)) for row in rows.values()], label=title)
    totals = [float(_number(there, there.total, metric)) for there in points.values()]
    (line,) = axes.plot([*rows], totals, color="black" if parts else None, label=label or "total")
    axes.set_xscale("log", base=2)
    axes.set(yscale="log", xlabel=over, ylabel=TITLES[metric])
    others = cost.study.locate({name: value for name, value in cost.point.given.items() if name != over})
    symbol = next((one for one in others.missing if one.name == over or len(others.missing) == 1), None)
    if symbol is not None:
        groups = {group.title: group.figures for group in cost.groups(by)}
        at_point = ((title, _form(groups[title], metric, others.values)) for title in parts)
        forms = {title: form for title, form in at_point if form is not None}
        for found in crossings_of(forms, symbol, [*rows]):
            for there in _points(cost, over, [found.at])[0].values():
                size = _sizes(there, metric, by).get(found.later, 0)
                _mark(axes, found.at, size, f"{over} = {found.at:,}")
        whole = _form(cost.total, metric, others.values)
        sure = cost.certainty(metric) in ("exact", "depends on data")
        if sure and whole is not None and whole.free <= {symbol}:
            own = _Drawn(label or cost.study.name, metric, symbol, whole, (*rows,))
            _mark_costs(axes, own)
            _DRAWN[line] = own
    beyond = next((value for value in outside if value > max(rows)), None)
    if beyond is not None:
        axes.axvspan(max(rows), beyond, color="0.9")
        axes.annotate(
            outside[beyond], (max(rows), 0.02), xycoords=("data", "axes fraction"), fontsize="small"
        )
    axes.legend()


class _Drawn(Struct, frozen=True):
    """The figure that a line shows, as a form in the length that it is drawn over."""

    label: str
    metric: str
    over: Symbol
    form: Poly
    values: tuple[int, ...]


_DRAWN: WeakKeyDictionary[Line2D, _Drawn] = WeakKeyDictionary()
"""The figures of lines that still exist: a cost drawn onto the same axes later is compared with them."""


def _mark_costs(axes: Axes, own: _Drawn) -> None:
    """Mark where a cost crosses the same figure of the costs that the axes already show."""
    for other in [_DRAWN[line] for line in axes.lines if line in _DRAWN]:
        if (other.metric, other.over.name) != (own.metric, own.over.name):
            continue
        names = (other.label, own.label) if other.label != own.label else ("the first", "the second")
        forms = dict(
            zip(names, (substitute(other.form, {other.over: atom(own.over)}), own.form), strict=True)
        )
        low = max(other.values[0], own.values[0])
        high = min(other.values[-1], own.values[-1])
        values = [value for value in sorted({*other.values, *own.values}) if low <= value <= high]
        for found in crossings_of(forms, own.over, values):
            size = evaluate(forms[found.later], {own.over: found.at})
            said = f"{found.later} overtakes {found.earlier} at {own.over.name} = {found.at:,}"
            _mark(axes, found.at, size, said)


def _mark(axes: Axes, at: int, size: int, text: str) -> None:
    axes.plot([at], [size], "o", color="black", markersize=4)
    axes.annotate(text, (at, size), (4, -10), textcoords="offset points", fontsize="small")


def _form(figures: Figures, metric: str, known: Mapping[Symbol, int]) -> Poly | None:
    """Return a figure at the known lengths; None if it has no form there."""
    form = figures.amounts[metric]
    try:
        return None if form is None else substitute(form, known)
    except ZeroDivisionError:  # a divisor is 0 at the known lengths, in a part that is empty there
        return None


def _points(cost: Located, over: str, values: Sequence[int]) -> tuple[dict[int, Located], dict[int, str]]:
    """Return the cost at every value that the conditions allow, and why the others are not."""
    found: dict[int, Located] = {}
    outside: dict[int, str] = {}
    for value in values:
        try:
            found[value] = locate_study(Located, cost.study, {**cost.point.given, over: value})
        except Rejected as rejected:
            outside[value] = broken_condition(cost.study, rejected)
    return found, outside


def _sizes(cost: Located, metric: str, by: str) -> Mapping[str, int]:
    return {group.title: _number(cost, group.figures, metric) for group in cost.groups(by)}


def _number(cost: Located, figures: Figures, metric: str) -> int:
    return cost.number(figures.amounts[metric]) or 0
