"""One analysis as it was asked for: which metrics, which cost models, at which lengths.

``Study.figures`` is the list that the writers for people share: every figure with its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tolcost.algebra import (
    Eq,
    NotInteger,
    Poly,
    Symbol,
    UnboundSymbol,
    cond_text,
    evaluate,
    evaluate_cond,
    substitute,
    symbols_of_cond,
)
from tolcost.atoms.nodes import Condition
from tolcost.cost.record import Analysis
from tolcost.cost.weights import Weighed
from tolcost.diagnostics import Diagnostic, Rejected, quoted
from tolcost.report.forms import Form

METRICS = ("eops", "flops", "macs", "bytes", "span", "index", "atoms")
_TREES = "associative reduces as trees"


@dataclass(frozen=True, slots=True)
class Point:
    """Lengths by name, what each symbol then stands for, and whether that is every length."""

    dims: Mapping[str, int]
    values: Mapping[Symbol, int]
    missing: tuple[Symbol, ...]

    @property
    def complete(self) -> bool:
        """Whether every length has a value; what only data decides may still be open."""
        return not self.missing


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


# ---- points ------------------------------------------------------------------------------


def locate(analysis: Analysis, dims: Mapping[str, int]) -> Point:
    """Put an analysis at lengths given by name; checks bounds and conditions.

    Names that the analysis does not mention are left out: they may belong to another program.
    """
    values = {s: dims[s.name] for s in analysis.symbols if s.name in dims}
    _solve(analysis, values)
    problems = [*_out_of_bounds(values), *_broken(analysis, values)]
    if problems:
        raise Rejected(*problems)
    missing = tuple(s for s in analysis.symbols if s.kind == "length" and s not in values)
    shown = {symbol.name: value for symbol, value in values.items()}
    return Point(shown, values, missing)


def _solve(analysis: Analysis, values: dict[Symbol, int]) -> None:
    """Work out lengths that the conditions leave no choice for: ``share*parts == n``."""
    equations = [c.condition.p for c in analysis.conditions if isinstance(c.condition, Eq)]
    for _ in equations:
        for equation in equations:
            left = substitute(equation, dict(values))
            if len(left.free) == 1:
                (symbol,) = left.free
                root = _root(left, symbol)
                if root is not None:
                    values[symbol] = root


def _root(p: Poly, symbol: Symbol) -> int | None:
    """Give the integer at which a linear expression in one symbol is 0."""
    at_0, at_1 = (evaluate(substitute(p, {symbol: n}) * p.den, {}) for n in (0, 1))
    slope = at_1 - at_0
    if slope == 0 or at_0 % slope:
        return None
    root = -at_0 // slope
    return root if substitute(p, {symbol: root}) == 0 else None


def _out_of_bounds(values: Mapping[Symbol, int]) -> Iterable[Diagnostic]:
    for symbol, value in values.items():
        low, high = _bound(symbol.lo, values), _bound(symbol.hi, values)
        if (low is not None and value < low) or (high is not None and value > high):
            ends = f"{'' if low is None else f'{low:,}'}..{'' if high is None else f'{high:,}'}"
            yield Diagnostic("T0323", f"{quoted(symbol.name)} = {value:,} is outside its range {ends}")


def _bound(bound: Poly | None, values: Mapping[Symbol, int]) -> int | None:
    try:
        return None if bound is None else evaluate(bound, values)
    except UnboundSymbol:
        return None


def _broken(analysis: Analysis, values: Mapping[Symbol, int]) -> Iterable[Diagnostic]:
    for condition in analysis.conditions:
        if symbols_of_cond(condition.condition) <= values.keys() and not _holds(condition, values):
            message = f"these lengths break a condition of the program: {condition.reason}"
            yield Diagnostic(
                "T0324", message, condition.span, hint=f"it needs {cond_text(condition.condition)}"
            )


def _holds(condition: Condition, values: Mapping[Symbol, int]) -> bool:
    try:
        return evaluate_cond(condition.condition, values)
    except NotInteger:  # it divides by something that is 0 here
        return False
