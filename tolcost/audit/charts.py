"""The charts of the reports: ratios by operator, EOPs against FLOPs, and how costs grow."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fractions import Fraction

from tolcost.algebra import evaluate
from tolcost.audit.instances import OperatorInstance, analyse_instance
from tolcost.audit.peers import COMPILED, Measured, by_operator
from tolcost.catalogue.specs import Library
from tolcost.platform import specs_root
from tolcost.show.svg import Dot, Scale, curves, scatter, strip

_SIZES = tuple(2**k for k in range(2, 13))


def ratio_chart(found: Sequence[Measured]) -> str:
    """EOPs over XLA's compiled count, a line for each operator that is not always equal.

    Where EOPs are 0 and XLA counts something, the ratio is 0, which has no place on the axis.
    """
    rows = []
    for op, group in by_operator(found).items():
        ratios = [ratio for point in group if (ratio := point.ratio()) is not None]
        if all(ratios) and any(ratio != 1 for ratio in ratios):
            rows.append((op, group[0].kind, sorted(map(float, ratios))))
    rows.sort(key=lambda row: (row[1], row[2][0], row[0]))
    low = min((values[0] for _, _, values in rows), default=0.1)
    axis = Scale("EOPs / XLA's compiled count; 1 is equal", min(low / 1.2, 0.05), 2.0)
    return strip(rows, axis, "Ratio of EOPs to FLOPs by operator")


def scatter_chart(found: Sequence[Measured]) -> str:
    """EOPs against XLA's count, a dot for each operator and shape; equal is on the diagonal."""
    marks = []
    for point in found:
        total = point.total(COMPILED)
        if total and point.eops:
            label = f"{point.op}: EOPs {point.eops}, XLA {_plain(total)}"
            marks.append(Dot(float(total), float(point.eops), point.kind, label))
    low = min(min(mark.x, mark.y) for mark in marks) / 1.5
    high = max(max(mark.x, mark.y) for mark in marks) * 1.5
    across, up = Scale("XLA flops + transcendentals", low, high), Scale("EOPs", low, high)
    return scatter(marks, across, up, "EOPs against FLOPs")


def _plain(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else str(float(value))


def growth_chart(library: Library) -> str:
    """How the costs of a few operators grow with one length n."""
    listed = tomllib.loads(specs_root().joinpath("paper", "growth.toml").read_text(encoding="utf-8"))
    lines = []
    for op, at in listed.items():
        instance = OperatorInstance(op, at["shapes"], {}, at.get("outputs"))
        form = analyse_instance(instance, library).eops
        costs = [evaluate(form, dict.fromkeys(form.free, n)) for n in _SIZES]
        lines.append((instance.op, list(zip(map(float, _SIZES), map(float, costs), strict=True))))
    top = max(y for _, points in lines for _, y in points)
    across, up = Scale("n", float(_SIZES[0]), float(_SIZES[-1])), Scale("EOPs", 1.0, top)
    return curves(lines, across, up, "Growth of EOPs with a length n")
