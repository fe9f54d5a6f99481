"""How far EOPs are from FLOPs: the distribution of the relative error by class of operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

from tolcost.report.audit.evidence import PEERS_MADE
from tolcost.report.audit.peers_table import COMPILED, WRITTEN, Point, by_operator
from tolcost.report.audit.table import Cell, Column, Table

COLUMNS = (
    Column("class", "class"),
    Column("operators", "operators", "number"),
    Column("points", "points", "number"),
    Column("equal", "equal", "number"),
    Column("within_5", "within 5 %", "number"),
    Column("within_25", "within 25 %", "number"),
    Column("least", "least EOPs / XLA", "number"),
    Column("middle", "median", "number"),
    Column("most", "greatest", "number"),
    Column("equal_written", "equal before compilation", "number"),
    Column("within_5_written", "within 5 % before compilation", "number"),
)


@dataclass(frozen=True, slots=True)
class Spread:
    """How the ratios of some points are spread."""

    points: int
    equal: int
    within_5: int
    within_25: int
    least: Fraction
    middle: Fraction
    most: Fraction


def spread(found: Sequence[Point], tool: str = COMPILED) -> Spread:
    """Sum up the ratios of some points; a relative error is a ratio less 1."""
    ratios = [ratio for point in found if (ratio := point.ratio(tool)) is not None]
    return Spread(
        points=len(ratios),
        equal=sum(ratio == 1 for ratio in ratios),
        within_5=sum(abs(ratio - 1) <= Fraction(1, 20) for ratio in ratios),
        within_25=sum(abs(ratio - 1) <= Fraction(1, 4) for ratio in ratios),
        least=min(ratios, default=Fraction(1)),
        middle=median(ratios) if ratios else Fraction(1),
        most=max(ratios, default=Fraction(1)),
    )


def answer_table(found: Sequence[Point]) -> Table:
    """One line for each class, and one for all."""
    about = (
        "The ratio of EOPs to XLA's compiled count (flops and transcendentals), by class of operators. "
        "A point is an operator at one shape; the relative error is the ratio less 1."
    )
    kinds = sorted({point.kind for point in found})
    groups = [(kind, [p for p in found if p.kind == kind]) for kind in kinds]
    rows = tuple(_row(kind, group) for kind, group in [*groups, ("all", list(found))])
    return Table("answer", "The relative error by class", about, PEERS_MADE, COLUMNS, rows)


def _row(kind: str, group: Sequence[Point]) -> tuple[Cell, ...]:
    compiled, written = spread(group), spread(group, WRITTEN)
    return (
        kind,
        len(by_operator(group)),
        compiled.points,
        compiled.equal,
        compiled.within_5,
        compiled.within_25,
        compiled.least,
        compiled.middle,
        compiled.most,
        written.equal,
        written.within_5,
    )
