"""One analysis as it was asked for: which metrics, which cost models, at which lengths.

``Study.figures`` is the list that the writers for people share: every figure with its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tolcost.algebra import Poly
from tolcost.cost.record import Analysis
from tolcost.cost.weights import Weighed
from tolcost.report.point import Point
from tolcost.result.forms import Form

METRICS = ("eops", "flops", "macs", "bytes", "span", "index", "atoms")
_TREES = "associative reduces as trees"


@dataclass(frozen=True, slots=True)
class Study:
    """An analysis and what to show of it."""

    analysis: Analysis
    point: Point
    metrics: frozenset[str] = frozenset(METRICS)
    weighed: tuple[tuple[str, Weighed], ...] = ()
    symbolic: bool = True

    @property
    def forms_shown(self) -> bool:
        """Whether general closed forms are shown: when asked for, or when no length is given."""
        return self.symbolic or not self.point_shown

    @property
    def point_shown(self) -> bool:
        """Whether figures at a point are shown: when lengths are given, or when there are none to give."""
        return bool(self.point.dims) or (self.point.complete and not self.symbolic)


@dataclass(frozen=True, slots=True)
class Part:
    """One line of a breakdown: a function in a space, an atom, bytes of a space."""

    name: str
    space: str
    form: Form
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: what it is called, its closed form (None: not known), and what it is made of."""

    metric: str
    label: str
    form: Form | None
    parts: tuple[Part, ...] = ()
    unit: str = ""
    headed: bool = True
    """False where only the parts are figures, as with the five atoms."""


def figures(study: Study) -> tuple[Figure, ...]:
    """Everything asked for, in the order of a report."""
    analysis, wanted = study.analysis, study.metrics
    found: list[Figure] = []
    if "eops" in wanted:
        found.append(Figure("eops", "EOPs", analysis.eops, _counted(analysis.histogram)))
    if "flops" in wanted:
        found.append(Figure("flops", "FLOPs", analysis.flops))
    if "macs" in wanted:
        found.append(Figure("macs", "MACs", analysis.macs))
    found.extend(Figure("weights", name, weighed, unit=weighed.unit) for name, weighed in study.weighed)
    if "bytes" in wanted:
        found.extend(_traffic(analysis))
    if "span" in wanted:
        found.extend(_span(analysis))
    if "index" in wanted and analysis.index:
        found.append(Figure("index", "index", None, _counted(analysis.index), headed=False))
    if "atoms" in wanted:
        parts = tuple(Part(name, "", form) for name, form in analysis.atoms.items())
        found.append(Figure("atoms", "atoms", None, parts, headed=False))
    return tuple(found)


def _counted(counts: Mapping[tuple[str, str], Poly]) -> tuple[Part, ...]:
    return tuple(Part(name, space, form) for (name, space), form in sorted(counts.items()))


def _traffic(analysis: Analysis) -> Iterable[Figure]:
    moved = analysis.traffic
    ways = (("read", moved.read), ("written", moved.written))
    parts = tuple(Part(way, space, form) for way, spaces in ways for space, form in spaces.items())
    yield Figure("bytes", "bytes", moved.total, parts)
    if analysis.intensity is not None and moved.total != 0:
        yield Figure("intensity", "intensity", analysis.intensity, unit="FLOPs per byte")


def _span(analysis: Analysis) -> Iterable[Figure]:
    depth = analysis.span
    if depth is None:
        yield Figure("span", "depth", None)
        return
    differs = depth.tree != depth.chain
    tree = (Part("tree", "", depth.tree, _TREES),) if differs else ()
    yield Figure("span", "depth", depth.chain, tree, "" if depth.chain.exact else "at most")
    if analysis.parallelism is None or analysis.parallelism_tree is None or analysis.eops == 0:
        return
    wide = (Part("tree", "", analysis.parallelism_tree),) if differs else ()
    yield Figure("parallelism", "parallelism", analysis.parallelism, wide)
