"""Scatter plots on logarithmic axes, as SVG, without a library; readable on light and on dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 740, 440, 78, 52, 14, 190
COLOURS = (
    "#1b6ca8", "#d1495b", "#2e933c", "#8e5ea2", "#e08e0b", "#8c8c8c",
    "#17a2b8", "#a0522d", "#4a7fb5", "#ff7f9f", "#8bbf3f",
)  # fmt: skip
_FAINT = 'stroke="currentColor" stroke-opacity="0.25"'
Points = Sequence[tuple[float, float]]


class _Axes:
    """Where values lie on the picture."""

    def __init__(self, xs: Sequence[float], ys: Sequence[float]) -> None:
        self.x0, self.x1 = floor(log10(min(xs))), ceil(log10(max(xs)))
        self.y0, self.y1 = floor(log10(min(ys))), ceil(log10(max(ys)))

    def x(self, value: float) -> float:
        """The place of a value on the horizontal axis."""
        share = (log10(value) - self.x0) / (self.x1 - self.x0)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """The place of a value on the vertical axis."""
        share = (log10(value) - self.y0) / (self.y1 - self.y0)
        return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)


def scatter(
    title: str, labels: tuple[str, str], groups: Mapping[str, Points], lines: Mapping[str, Points]
) -> str:
    """Points by group, and lines over them; every value is above 0."""
    every = [p for points in (*groups.values(), *lines.values()) for p in points]
    axes = _Axes([x for x, _ in every], [y for _, y in every])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="12" color="#757575" fill="currentColor">',
        f"<title>{escape(title)}</title>",
        *_grid(axes),
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 12}" text-anchor="middle">'
        f"{escape(labels[0])}</text>",
        f'<text transform="translate(16 {HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">'
        f"{escape(labels[1])}</text>",
    ]
    keys: list[str] = []
    for number, (name, points) in enumerate(groups.items()):
        colour = COLOURS[number % len(COLOURS)]
        parts += [
            f'<circle cx="{axes.x(x):.1f}" cy="{axes.y(y):.1f}" r="2.6" fill="{colour}" fill-opacity="0.65"/>'
            for x, y in points
        ]
        keys += _key(number, name, colour)
    for points in lines.values():
        path = " ".join(f"{axes.x(x):.1f},{axes.y(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="currentColor" stroke-dasharray="5 3"/>')
    return "\n".join([*parts, '<g class="legend">', *keys, "</g>", "</svg>", ""])


def _key(number: int, name: str, colour: str) -> list[str]:
    y = TOP + 14 + 18 * number
    return [
        f'<circle cx="{WIDTH - RIGHT + 16}" cy="{y - 4}" r="4" fill="{colour}"/>',
        f'<text x="{WIDTH - RIGHT + 26}" y="{y}">{escape(name)}</text>',
    ]


def _grid(axes: _Axes) -> list[str]:
    parts = []
    for power in range(axes.x0, axes.x1 + 1):
        x = axes.x(10.0**power)
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{HEIGHT - BOTTOM}" {_FAINT}/>')
        parts.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{_power(power)}</text>'
        )
    for power in range(axes.y0, axes.y1 + 1):
        y = axes.y(10.0**power)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" {_FAINT}/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{_power(power)}</text>')
    return parts


def _power(power: int) -> str:
    return f"{10.0**power:g}" if -3 <= power <= 3 else f"1e{power}"
