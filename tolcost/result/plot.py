"""A cost as a picture: how it grows with a length, or which parts it has at a point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tolcost.algebra import Poly
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.result.study import Figures, Located, locate_study

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DOUBLINGS = 18
_TITLES = {"eops": "EOPs", "flops": "FLOPs", "macs": "MACs", "bytes": "bytes"}


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
    """Draw onto axes, new ones if none are given."""
    if metric not in _TITLES:
        raise Rejected(
            Diagnostic("T0412", f"there is no figure {quoted(metric)} to draw", hint=", ".join(_TITLES))
        )
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
    """The length to draw over: the one that is asked for, or the only one that is open."""
    open_ = [symbol.name for symbol in cost.point.missing]
    others = [name for name in open_ if name != over]
    if over is not None and not others:
        return over
    if len(open_) != 1:
        message = f"a picture is over one length, and {', '.join(map(quoted, open_))} are open"
        raise Rejected(Diagnostic("T0345", message, hint="give the others with `subs`, or as `dims`"))
    return open_[0]


def _bars(cost: Located, metric: str, by: str, top: int, axes: Axes) -> None:
    sizes = _sizes(cost, metric, by)
    largest = sorted(sizes, key=lambda title: sizes[title])[-top:]
    axes.barh(largest, [float(sizes[title]) for title in largest])
    axes.set_xlabel(_TITLES[metric])


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
    points = list(_points(cost, over, values or [2**n for n in range(_DOUBLINGS)]))
    if not points:
        raise Rejected(Diagnostic("T0344", f"no value of {quoted(over)} that was tried is allowed"))
    last = _sizes(points[-1][1], metric, by)
    largest = sorted(last, key=lambda title: -last[title])[:top]
    lengths = [value for value, _ in points]
    rows = [_sizes(there, metric, by) for _, there in points]
    parts = [title for title in largest if last[title]] if len(last) > 1 and label is None else []
    for title in parts:
        axes.plot(lengths, [float(row.get(title, 0)) for row in rows], label=title)
    totals = [float(_number(there, there.total, metric)) for _, there in points]
    axes.plot(lengths, totals, color="black" if parts else None, label=label or "total")
    axes.set_xscale("log", base=2)
    axes.set(yscale="log", xlabel=over, ylabel=_TITLES[metric])
    axes.legend()


def _points(cost: Located, over: str, values: Sequence[int]) -> Iterator[tuple[int, Located]]:
    """The cost at every value that the conditions allow."""
    for value in values:
        try:
            there = locate_study(Located, cost.study, {**cost.point.given, over: value})
        except Rejected:
            continue
        yield value, there


def _sizes(cost: Located, metric: str, by: str) -> Mapping[str, int]:
    return {group.title: _number(cost, group.figures, metric) for group in cost.groups(by)}


def _number(cost: Located, figures: Figures, metric: str) -> int:
    form: Poly | None = getattr(figures, metric)
    return cost.number(form) or 0
