"""Write charts as SVG: points on logarithmic axes; equal data gives equal bytes.

Axes and text use ``currentColor``, so that a chart is readable on a light and on a dark background.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

from msgspec import Struct

from tolcost.diagnostics import visible

PALETTE = ("#3b78c3", "#c8553d", "#4d9a57", "#8a5fb0", "#b58a1b", "#3a9ba8", "#b04f86", "#7a7a7a")
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 20, 44


class Dot(Struct, frozen=True):
    """A point, the group that gives its colour, and the label shown when the pointer is over it."""

    x: float
    y: float
    group: str
    label: str


class Scale(Struct, frozen=True):
    """A logarithmic axis: its title, and the lowest and highest value."""

    title: str
    low: float
    high: float

    def place(self, value: float) -> float:
        """Return the position of a value along the axis, from 0 to 1."""
        value, low, high = (math.log10(v) for v in (value, self.low, self.high))
        return (value - low) / (high - low) if high > low else 0.5

    def ticks(self) -> list[tuple[float, str]]:
        """Return the values to mark, with their labels."""
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        if last - first < 3:  # too few powers of ten to read the axis by: mark 2 and 5 as well
            fine = (step * 10.0**n for n in range(first - 1, last + 1) for step in (1, 2, 5))
            return [(value, f"{value:g}") for value in fine if self.low <= value <= self.high]
        every = max(1, math.ceil((last - first + 1) / 8))
        powers = range(first, last + 1, every)
        return [(10.0**n, f"{10.0**n:g}" if -3 <= n <= 3 else f"1e{n}") for n in powers]


def colour(groups: Sequence[str], group: str) -> str:
    """Return the colour of a group, given all groups of a chart."""
    return PALETTE[groups.index(group) % len(PALETTE)]


def scatter(marks: Sequence[Dot], across: Scale, up: Scale, title: str) -> str:
    """Draw points on two axes, with a diagonal where both values are equal."""
    width, height = 680, 420
    groups = sorted({mark.group for mark in marks})
    parts = [*_frame(width, height, across, up)]
    low, high = max(across.low, up.low), min(across.high, up.high)
    x1, y1 = _spot(across.place(low), up.place(low), width, height)
    x2, y2 = _spot(across.place(high), up.place(high), width, height)
    parts.append(_line(x1, y1, x2, y2, "0.4"))
    for mark in marks:
        x, y = _spot(across.place(mark.x), up.place(mark.y), width, height)
        parts.append(_dot(x, y, colour(groups, mark.group), mark.label))
    parts += _legend(groups, width)
    return _svg(width, height, title, parts)


def strip(rows: Sequence[tuple[str, str, Sequence[float]]], axis: Scale, title: str) -> str:
    """Draw a line for each name with dots for its values; a row is a name, its group and the values."""
    step, width = 13, 680
    height = TOP + step * len(rows) + BOTTOM
    left = 150
    groups = sorted({group for _, group, _ in rows})
    inner = width - left - RIGHT
    parts: list[str] = []
    for value, text in axis.ticks():
        x = left + inner * axis.place(value)
        parts.append(_line(x, TOP - 6, x, height - BOTTOM + 4, "0.5" if value == 1 else "0.15"))
        parts += [_text(x, y, text, "middle") for y in (TOP - 10, height - BOTTOM + 18)]
    for n, (name, group, values) in enumerate(rows):
        y = TOP + step * (n + 0.5)
        parts.append(_text(left - 8, y + 3.5, name, "end", 10))
        spots = [left + inner * axis.place(value) for value in values]
        if spots and max(spots) > min(spots):
            parts.append(_line(min(spots), y, max(spots), y, "0.5", colour(groups, group)))
        parts += [_dot(x, y, colour(groups, group), name) for x in dict.fromkeys(spots)]
    parts.append(_text(left + inner / 2, height - 6, axis.title, "middle"))
    return _svg(width, height + 16, title, [*parts, *_legend(groups, width, height + 8)])


def curves(
    lines: Sequence[tuple[str, Sequence[tuple[float, float]]]], across: Scale, up: Scale, title: str
) -> str:
    """Draw lines through points, each with its name at its end."""
    width, height = 680, 420
    parts = [*_frame(width, height, across, up, right=150)]
    drawn = [
        (name, [_spot(across.place(x), up.place(y), width, height, 150) for x, y in points])
        for name, points in lines
    ]
    heights = _apart([spots[-1][1] for _, spots in drawn])
    for n, (name, spots) in enumerate(drawn):
        path = " ".join(f"{_n(x)},{_n(y)}" for x, y in spots)
        shade = PALETTE[n % len(PALETTE)]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{shade}" stroke-width="2"/>')
        parts.append(_text(spots[-1][0] + 6, heights[n] + 4, name, "start", 11, shade))
    return _svg(width, height, title, parts)


def _apart(heights: Sequence[float]) -> list[float]:
    """Move the heights of labels up until no label overlaps another."""
    placed = list(heights)
    lowest = math.inf
    for n in sorted(range(len(placed)), key=lambda n: -placed[n]):
        placed[n] = lowest = min(placed[n], lowest - 13)
    return placed


def _frame(width: int, height: int, across: Scale, up: Scale, right: int = RIGHT) -> Iterable[str]:
    inner = width - LEFT - right
    for value, text in across.ticks():
        x = LEFT + inner * across.place(value)
        yield _line(x, TOP, x, height - BOTTOM, "0.15")
        yield _text(x, height - BOTTOM + 16, text, "middle")
    for value, text in up.ticks():
        y = height - BOTTOM - (height - TOP - BOTTOM) * up.place(value)
        yield _line(LEFT, y, width - right, y, "0.15")
        yield _text(LEFT - 8, y + 4, text, "end")
    yield _text(LEFT + inner / 2, height - 8, across.title, "middle")
    middle = (height - BOTTOM + TOP) / 2
    yield _text(16, middle, up.title, "middle", turned=True)


def _spot(x: float, y: float, width: int, height: int, right: int = RIGHT) -> tuple[float, float]:
    return LEFT + (width - LEFT - right) * x, height - BOTTOM - (height - TOP - BOTTOM) * y


def _legend(groups: Sequence[str], width: int, y: float = 12) -> Iterable[str]:
    """Name the colours of groups in a row; a narrow page lays them out in several."""
    needed = sum(_room(group) for group in groups)
    x = max((width - needed) / 2, 8)
    yield '<g class="legend">'
    for group in groups:
        yield _dot(x, y - 3.5, colour(groups, group), group)
        yield _text(x + 7, y, group, "start", 9)
        x += _room(group)
    yield "</g>"


def _room(group: str) -> float:
    """Estimate the width of an entry of the legend from the number of its letters."""
    return 4.9 * len(group) + 22


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _line(x1: float, y1: float, x2: float, y2: float, opacity: str, stroke: str = "currentColor") -> str:
    ends = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
    return f'<line {ends} stroke="{stroke}" stroke-opacity="{opacity}"/>'


def _text(
    x: float,
    y: float,
    text: str,
    anchor: str,
    size: int = 11,
    fill: str = "currentColor",
    turned: bool = False,
) -> str:
    turn = f' transform="rotate(-90 {_n(x)} {_n(y)})"' if turned else ""
    place = f'x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}" font-size="{size}" fill="{fill}"'
    return f"<text {place}{turn}>{escape(visible(text))}</text>"


def _dot(x: float, y: float, fill: str, label: str) -> str:
    title = f"<title>{escape(visible(label))}</title>"
    return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="3.4" fill="{fill}" fill-opacity="0.8">{title}</circle>'


def _svg(width: int, height: float, title: str, parts: Iterable[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_n(height)}" role="img" '
        f'font-family="system-ui, sans-serif" color="#757575"><title>{escape(visible(title))}</title>'
    )
    return "\n".join([head, *parts, "</svg>", ""])
