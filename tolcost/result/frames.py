"""Costs as pandas frames with typed columns: exact integers, closed forms, names.

A column of numbers is int64 where all of them fit, Int64 where some are not known, and one of Python's
integers where some are larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tolcost.algebra.vectorised import Ints
from tolcost.diagnostics import Rejected
from tolcost.result.numbers import Number, Points
from tolcost.result.study import Figures, Located
from tolcost.result.view import CostView, figure_data
from tolcost.show.forms import Form, text_of

if TYPE_CHECKING:
    import pandas

_INT64 = 2**63


def frame_of(cost: Located) -> pandas.DataFrame:
    """Every figure and part as a row; numbers are Python's exact integers."""
    import pandas

    rows = [
        (metric, item, space, None if form is None else text_of(form), _exact(value))
        for metric, item, space, form, value in figure_data(cost, CostView())
    ]
    return pandas.DataFrame(rows, columns=["metric", "item", "space", "form", "value"], dtype=object)


def _exact(value: Form | None) -> object:
    return value if isinstance(value, int) or value is None else text_of(value)


def frame_by(cost: Located, by: str, form: Callable[[Form], object]) -> pandas.DataFrame:
    """Every group as a row: numbers where every length is known, else what ``form`` makes of closed forms."""
    import pandas

    groups = cost.groups(by)
    known = cost.point.complete
    found: dict[str, object] = {
        by: pandas.Series([group.title for group in groups], dtype="str"),
        "nodes": pandas.Series([group.nodes for group in groups], dtype="int64"),
    }
    for name, take in _COLUMNS.items():
        forms = [take(group.figures) for group in groups]
        if known:
            found[name] = typed([cost.number(one) for one in forms])
        else:
            found[name] = pandas.Series([None if one is None else form(one) for one in forms], dtype=object)
    if known:
        shares = (cost.share(group.figures) for group in groups)
        found["share"] = pandas.Series([None if s is None else float(s) for s in shares], dtype="float64")
    found["status"] = pandas.Series([group.figures.status for group in groups], dtype="category")
    return pandas.DataFrame(found)


_COLUMNS: Mapping[str, Callable[[Figures], Form | None]] = {
    "eops": lambda figures: figures.eops,
    "flops": lambda figures: figures.flops,
    "macs": lambda figures: figures.macs,
    "bytes": lambda figures: figures.bytes,
}


def frame_at(points: Points, forms: Mapping[str, Form | None], metrics: Iterable[str]) -> pandas.DataFrame:
    """Every point as a row; where a condition fails there are no figures, and ``outside`` says which."""
    import pandas

    found: dict[str, object] = {name: typed(column.tolist()) for name, column in points.dims.items()}
    for name in metrics:
        found[name] = typed(points.figure(name, forms[name]))
    if any(isinstance(other, Rejected) for other in points.others.values()):
        told = (points.others.get(n) for n in range(points.size))
        outside = [one.hint or one.message if isinstance(one, Rejected) else "" for one in told]
        found["outside"] = pandas.Series(outside, dtype="str")
    return pandas.DataFrame(found)


def typed(values: Sequence[Number] | Ints) -> pandas.Series[object]:
    """Numbers as a column of the narrowest type that holds all of them exactly."""
    import pandas

    listed = values if isinstance(values, Sequence) else values.tolist()
    known = [value for value in listed if value is not None]
    if not all(isinstance(value, int) and abs(value) < _INT64 for value in known):
        return pandas.Series(listed, dtype=object)
    return pandas.Series(listed, dtype="int64" if len(known) == len(listed) else "Int64")
