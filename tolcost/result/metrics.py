"""The metrics: one row each, from which all that shows, compares, limits or stores figures takes its list.

A new metric is a new row of ``METRICS``.  It says where its form comes from, how sure that is, and in which
kinds of report it stands; reports, tables, documents, frames, sweeps, the gate, budgets and fleets go through
the rows, and none of them names a metric that it does not treat in a way of its own.

Nothing that reads programs or models is imported here: the gate looks up names of metrics before it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from tolcost.algebra import Poly
from tolcost.cost.certainty import FROM_ABOVE, INCOMPLETE, Certainty

if TYPE_CHECKING:
    from tolcost.cost.count import CountKey
    from tolcost.cost.weights import Weighed
    from tolcost.result.study import Figures, Show, Study
    from tolcost.show.document import Form, Json

Weighings: TypeAlias = "Sequence[tuple[str, Weighed]]"
"""Cost models by name, each with what it makes of a total."""

# === What a report says of a whole study.


class Portion(Struct, frozen=True, eq=False):
    """A part of a measure: a function in a space, an atom, bytes of a space."""

    name: str
    space: str
    form: Form
    remark: str = ""


MeasureBound: TypeAlias = Literal["at most", "at least", "perhaps more", "no bound", "one bound over another"]


class Measure(Struct, frozen=True, eq=False):
    """A figure: its key for programs, its name for people, its closed form (None: not known), its parts."""

    key: str
    label: str
    form: Form | None
    unit: str = ""
    parts: tuple[Portion, ...] = ()
    headed: bool = True
    """False where only the parts are figures, as with the five atoms."""
    full: tuple[Poly, ...] = ()
    """Where none of them is negative it is exact; elsewhere, and where that is open, at most that."""
    bound: MeasureBound | None = None
    """What it is, where it may be less or more."""

    @property
    def remark(self) -> str:
        """The unit, and whether it is a bound; nothing of what is not known."""
        if self.form is None and self.headed:
            return ""
        return ", ".join(filter(None, (self.unit, self.bound)))


def bound_of(key: str, status: Certainty) -> MeasureBound:
    """Name what a measure is where it, or what it is divided by, is a bound from above.

    >>> bound_of("bytes", "exact"), bound_of("intensity", "exact"), bound_of("parallelism", "upper bound")
    ('at most', 'at least', 'one bound over another')
    """
    if status in INCOMPLETE:
        return "no bound"
    if key not in ("intensity", "parallelism"):
        return "at most"
    return "one bound over another" if status == "upper bound" else "at least"


def functions_json(counts: Mapping[CountKey, Poly], show: Callable[[Form | None], Json]) -> dict[str, Json]:
    """Write counts by function and space for a JSON document."""
    return {f"{name}:{space}": show(form) for (name, space), form in sorted(counts.items())}


# === Rows.


Place: TypeAlias = Literal[
    "program",
    "model",
    "runs",
    "model document",
    "runs document",
    "groups",
    "columns",
    "lines",
    "sweep",
    "gate",
    "lock",
    "diff of programs",
    "diff of models",
    "diff of operators",
    "fleet",
]
"""Where a metric stands.

In reports on a program, a model or all runs of a model, and in JSON documents on them alone; in JSON of
operators, scopes and nodes ("groups"), and as a column of these in tables, frames and pages; by lines of a
source; in sweeps and lock files that do not say which metrics they want; in the gate at all; in comparisons;
in fleets."""

Basis: TypeAlias = Literal["counts", "bytes", "depth", "held"]
"""What a metric rests on, which decides how sure it is: how often functions are applied, which bytes are told
apart, how deep a program is, or only what a model holds."""

REPORTS: frozenset[Place] = frozenset(("program", "model", "runs"))
PARTS: frozenset[Place] = frozenset(("groups", "columns"))
DIFFS: frozenset[Place] = frozenset(("diff of programs", "diff of models"))
GATED: frozenset[Place] = frozenset(("gate", "lock"))
EVERYWHERE: frozenset[Place] = frozenset(
    (*REPORTS, *PARTS, *DIFFS, *GATED, "lines", "sweep", "diff of operators", "fleet")
)


class MetricDetail(Struct, frozen=True, kw_only=True, eq=False):
    """What a JSON document says beside a metric: its key, its content, and where it stands."""

    key: str
    of: Callable[[Figures, Show], Json]
    stands: frozenset[Place]
    nodes: bool = False
    """Whether single nodes have it, and not only operators and scopes."""


class Metric(Struct, frozen=True, kw_only=True, eq=False):
    """A metric: its key for programs, its name for people, where its form comes from, and where it stands.

    A metric with ``of`` is one of any part of the work, and adds up over nodes; any other has a form of the
    ``whole`` alone.
    """

    key: str
    label: str
    about: str
    of: Callable[[Figures], Poly | None] | None = None
    whole: Callable[[Study], Form | None] | None = None
    stands: frozenset[Place] = REPORTS | PARTS | DIFFS | {"gate"}
    basis: Basis = "counts"
    asked: str = ""
    """The name that ``--metric`` asks for it by, where that is the name of another."""
    short: str = ""
    """Its title over a column of a sweep, where its label is too long."""
    unit: str = ""
    amount: str = ""
    """The unit of a budget that needs no name of a metric, as in ``2.5 GFLOP``."""
    column: str = ""
    """Its name as a column of parts, where that is not its key."""
    python: str = ""
    """Its name in Python, where that is not its key."""
    measured: Callable[[Metric, Study, Weighings], Iterable[Measure]] | None = None
    """How a report on the whole shows it, where that is more than its form."""
    document: Callable[[Study, Show], Json] | None = None
    """What a JSON document says of the whole, where that is not its form."""
    details: tuple[MetricDetail, ...] = ()

    def form(self, study: Study) -> Form | None:
        """Return the closed form of the whole; None where it is not known."""
        if self.whole is not None:
            return self.whole(study)
        return None if self.of is None else self.of(study.total)

    def measures(self, study: Study, weighed: Weighings) -> Iterable[Measure]:
        """Yield what a report on the whole says of it."""
        if self.measured is not None:
            return self.measured(self, study, weighed)
        return (Measure(self.key, self.label, self.form(study), self.unit, bound=_lacking(self, study)),)


def _lacking(metric: Metric, study: Study) -> MeasureBound | None:
    """Say that a sum over nodes lacks some of them."""
    status = study.total.status
    if metric.of is None or status not in INCOMPLETE:
        return None
    return "no bound" if status in FROM_ABOVE else "at least"


def _portions(counts: Mapping[CountKey, Poly]) -> tuple[Portion, ...]:
    return tuple(Portion(name, space, form) for (name, space), form in sorted(counts.items()))


# ---- how single metrics are shown ------------------------------------------------------------------


def _eops(metric: Metric, study: Study, weighed: Weighings) -> Iterator[Measure]:
    """Yield the EOPs, of a program by function and space."""
    total = study.total
    parts = _portions(total.histogram) if study.report == "program" else ()
    yield Measure(metric.key, metric.label, total.eops, parts=parts, bound=_lacking(metric, study))


def _macs(metric: Metric, study: Study, weighed: Weighings) -> Iterator[Measure]:
    """Yield the MACs, and what cost models make of all counts."""
    lacking = _lacking(metric, study)
    yield Measure(metric.key, metric.label, study.total.macs, bound=lacking)
    yield from (Measure("weights", name, value, value.unit, bound=lacking) for name, value in weighed)


def _bytes(metric: Metric, study: Study, weighed: Weighings) -> Iterator[Measure]:
    """Yield the bytes: at most those, where lengths would tell elements apart that a closed form does not."""
    moved, status = study.total.traffic, study.total.status
    label = f"{metric.label}, node by node"
    parts: tuple[Portion, ...] = ()
    if study.report == "program":
        ways = (("read", moved.read), ("written", moved.written))
        label = metric.label
        parts = tuple(Portion(way, space, form) for way, spaces in ways for space, form in spaces.items())
    bound = bound_of("bytes", status) if moved.open else "at least" if status in INCOMPLETE else None
    yield Measure(metric.key, label, moved.total, "", parts, full=moved.full, bound=bound)


def _intensity(metric: Metric, study: Study, weighed: Weighings) -> Iterator[Measure]:
    """Yield the functions for each byte: at least that, where bytes are at most those."""
    ratio, moved = study.total.intensity, study.total.traffic
    bound = bound_of("intensity", study.total.status) if moved.open and ratio is not None else None
    if ratio is not None or study.report != "program":
        yield Measure(metric.key, metric.label, ratio, metric.unit, full=moved.full, bound=bound)


def _peak(metric: Metric, study: Study, weighed: Weighings) -> Iterator[Measure]:
    peak = study.peak
    unit = "bytes, with the cache" if study.report == "runs" else metric.unit
    bound: MeasureBound | None = None if peak is None or peak.exact else "perhaps more"
    yield Measure(metric.key, metric.label, None if peak is None else peak.bytes, unit, bound=bound)


_TREES = "associative reduces as trees"


def _span(metric: Metric, study: Study, weighed: Weighings) -> Iterator[Measure]:
    """Yield the depth of a program, in which reduces are chains, and beside it that with trees."""
    span = study.span
    if span is None:
        yield Measure(metric.key, metric.label, None)
        return
    tree = (Portion("tree", "", span.tree, _TREES),) if span.tree != span.chain else ()
    bound = None if span.chain.exact else bound_of("span", study.total.status)
    yield Measure(metric.key, metric.label, span.chain, "", tree, full=span.chain.full, bound=bound)


def _parallelism(metric: Metric, study: Study, weighed: Weighings) -> Iterator[Measure]:
    span, chain, tree = study.span, study.parallelism, study.parallelism_tree
    if span is None or chain is None or tree is None or study.total.eops == 0:
        return
    wide = (Portion("tree", "", tree),) if span.tree != span.chain else ()
    bound = None if span.chain.exact else bound_of("parallelism", study.total.status)
    yield Measure(metric.key, metric.label, chain, "", wide, full=span.chain.full, bound=bound)


def _index(metric: Metric, study: Study, weighed: Weighings) -> Iterator[Measure]:
    if study.total.index:
        yield Measure(metric.key, metric.label, None, parts=_portions(study.total.index), headed=False)


def _atoms(metric: Metric, study: Study, weighed: Weighings) -> Iterator[Measure]:
    parts = tuple(Portion(name, "", form) for name, form in study.total.atoms.items())
    yield Measure(metric.key, metric.label, None, parts=parts, headed=False)


def _traffic_json(figures: Figures, show: Show) -> Json:
    moved = figures.traffic
    return {
        "read": {space: show(form) for space, form in moved.read.items()},
        **({"certain": {s: show(form) for s, form in moved.least.items()}} if moved.least else {}),
        "written": {space: show(form) for space, form in moved.written.items()},
    }


def _moves_all(figures: Figures, show: Show) -> bool:
    """Whether no fewer bytes move than are told."""
    moved = figures.traffic
    return not moved.open and show.reaches(moved.full) and figures.status not in INCOMPLETE


def _is_deep(figures: Figures, show: Show) -> bool:
    """Whether a depth is known to be no less than is told."""
    span = show.cost.study.span
    return span is not None and span.chain.exact and show.reaches(span.chain.full)


# ---- the table ---------------------------------------------------------------------------------------


METRICS: tuple[Metric, ...] = (
    Metric(
        key="eops",
        label="EOPs",
        about="Elementary functions applied to data.",
        of=lambda figures: figures.eops,
        measured=_eops,
        amount="EOP",
        stands=EVERYWHERE,
        details=(
            MetricDetail(
                key="histogram",
                of=lambda figures, show: functions_json(figures.histogram, show),
                stands=REPORTS | {"groups"},
            ),
        ),
    ),
    Metric(
        key="flops",
        label="FLOPs",
        about="Floating-point operations.",
        of=lambda figures: figures.flops,
        amount="FLOP",
        stands=REPORTS | PARTS | GATED | {"lines", "diff of programs"},
    ),
    Metric(
        key="macs",
        label="MACs",
        about="Multiplications whose product is added up.",
        of=lambda figures: figures.macs,
        measured=_macs,
        amount="MAC",
        stands=REPORTS | PARTS | DIFFS | GATED | {"sweep", "diff of operators", "fleet"},
    ),
    Metric(
        key="index",
        label="index functions",
        about="Functions that compute coordinates; not EOPs.",
        of=lambda figures: figures.index_ops,
        stands=frozenset(("model", "runs", "groups")),
    ),
    Metric(
        key="bytes",
        label="bytes",
        about="Bytes in and out, node by node; None where something that moves has no size.",
        of=lambda figures: figures.bytes,
        measured=_bytes,
        basis="bytes",
        short="bytes",
        amount="B",
        stands=REPORTS | PARTS | DIFFS | GATED | {"sweep"},
        details=(
            MetricDetail(
                key="bytes_exact", of=_moves_all, stands=frozenset(("program", "model", "groups")), nodes=True
            ),
            MetricDetail(key="traffic", of=_traffic_json, stands=frozenset(("program",))),
        ),
    ),
    Metric(
        key="model_bytes",
        label="bytes of the model",
        about="Bytes of the parameters, inputs and outputs of a model.",
        whole=lambda study: None if study.holdings is None else study.holdings.bytes,
        basis="held",
        asked="bytes",
        unit="parameters, inputs and outputs",
        stands=frozenset(("model",)),
    ),
    Metric(
        key="params",
        label="parameters",
        about="Parameters of a model, however they are stored.",
        whole=lambda study: None if study.holdings is None else study.holdings.parameters,
        basis="held",
        column="parameters",
        stands=frozenset(("model", "runs", "diff of models", "gate", "fleet")),
    ),
    Metric(
        key="param_bytes",
        label="parameter bytes",
        about="Bytes of the parameters of a model.",
        whole=lambda study: None if study.holdings is None else study.holdings.parameter_bytes,
        basis="held",
        asked="params",
        stands=frozenset(("model", "runs")),
    ),
    Metric(
        key="cache_bytes",
        label="cache at the end",
        about="Bytes of the inputs that grow from run to run, after the last.",
        whole=lambda study: study.cache,
        basis="held",
        unit="bytes",
        stands=frozenset(("runs",)),
    ),
    Metric(
        key="peak_bytes",
        label="peak activations",
        about="The most memory that activations of a model take at once; None where it is not known.",
        whole=lambda study: None if study.peak is None else study.peak.bytes,
        measured=_peak,
        basis="held",
        asked="peak",
        short="peak",
        unit="bytes",
        stands=frozenset(("model", "runs", "sweep")),
    ),
    Metric(
        key="memory_bytes",
        label="memory at most",
        about="Bytes of the parameters of a model and its peak together, in any run.",
        whole=lambda study: study.memory,
        basis="held",
        unit="bytes: parameters and peak",
        stands=frozenset(("runs",)),
    ),
    Metric(
        key="depth",
        label="depth",
        about="The longest chain of functions; None where it is not known.",
        whole=lambda study: study.depth,
        measured=lambda metric, study, _: (Measure(metric.key, metric.label, study.depth, bound="at most"),),
        basis="depth",
        stands=frozenset(("model",)),
    ),
    Metric(
        key="intensity",
        label="intensity",
        about="FLOPs over bytes.",
        whole=lambda study: study.total.intensity,
        measured=_intensity,
        asked="bytes",
        unit="FLOPs per byte",
        stands=REPORTS,
    ),
    Metric(
        key="span",
        label="depth",
        about="The longest chain of functions of a program; None where it is not known.",
        whole=lambda study: study.depth,
        measured=_span,
        basis="depth",
        python="depth",
        stands=frozenset(("program", "gate")),
        details=(
            MetricDetail(
                key="span_tree",
                of=lambda _, show: show(None if (span := show.cost.study.span) is None else span.tree),
                stands=frozenset(("program",)),
            ),
            MetricDetail(key="span_exact", of=_is_deep, stands=frozenset(("program",))),
        ),
    ),
    Metric(
        key="parallelism",
        label="parallelism",
        about="EOPs over the depth of a program.",
        whole=lambda study: study.parallelism,
        measured=_parallelism,
        asked="span",
        stands=frozenset(("program",)),
        details=(
            MetricDetail(
                key="parallelism_tree",
                of=lambda _, show: show(show.cost.study.parallelism_tree),
                stands=frozenset(("program",)),
            ),
        ),
    ),
    Metric(
        key="index",
        label="index",
        about="Functions that compute coordinates, by function and space; not EOPs.",
        measured=_index,
        document=lambda study, show: functions_json(study.total.index, show),
        stands=frozenset(("program",)),
    ),
    Metric(
        key="atoms",
        label="atoms",
        about="Counts of the five atoms.",
        measured=_atoms,
        document=lambda study, show: {name: show(form) for name, form in study.total.atoms.items()},
        stands=frozenset(("program", "model document", "runs document")),
    ),
)


# ---- lists of it -------------------------------------------------------------------------------------


def metrics_in(place: Place) -> tuple[Metric, ...]:
    """Return the metrics that stand somewhere, in the order of reports.

    >>> [metric.key for metric in metrics_in("columns")]
    ['eops', 'flops', 'macs', 'bytes']
    """
    return tuple(metric for metric in METRICS if place in metric.stands)


def keys_in(place: Place) -> tuple[str, ...]:
    """Return the keys of the metrics that stand somewhere."""
    return tuple(metric.key for metric in metrics_in(place))


LEADING = METRICS[0].key
"""What a cost is told by where there is room for one metric: parts have a share of it, and go by it."""
COLUMNS = metrics_in("columns")
"""What every part of the work has, and what adds up over parts."""
HELD = next(metric.column for metric in METRICS if metric.key == "params")
"""The column of what parts hold: it adds up, too, but is no work."""
AMOUNTS: tuple[str, ...] = (*(metric.key for metric in COLUMNS), HELD)
TITLES: Mapping[str, str] = {metric.key: metric.label for metric in COLUMNS}
NAMES: Mapping[str, str] = {metric.key: metric.python for metric in METRICS if metric.python}
"""What metrics are called in Python, where that is not their key."""
PYTHON: frozenset[str] = frozenset(metric.python or metric.key for metric in METRICS)
"""What a figure may be called in Python, whether or not a study has it."""
_BELONGS: Mapping[str, str] = {
    **{detail.key: metric.asked or metric.key for metric in METRICS for detail in metric.details},
    **{metric.key: metric.asked or metric.key for metric in METRICS},
}


def asked_by(place: Place) -> tuple[str, ...]:
    """Return the names that ``--metric`` takes for reports of a kind.

    >>> asked_by("program")
    ('eops', 'flops', 'macs', 'bytes', 'span', 'index', 'atoms')
    """
    return tuple(dict.fromkeys(_BELONGS[metric.key] for metric in metrics_in(place)))


def is_asked(key: str, metrics: frozenset[str] | None) -> bool:
    """Tell whether a measure is among those asked for; None asks for all."""
    return metrics is None or _BELONGS.get(key, key) in metrics


GATE: Mapping[str, Metric] = {metric.key: metric for metric in METRICS if "gate" in metric.stands}
"""What the gate can hold, by key."""


def gated() -> tuple[Metric, ...]:
    """Return the metrics that the gate can hold: counts first, and what is only held last."""
    order: tuple[Basis, ...] = ("counts", "bytes", "depth", "held")
    return tuple(sorted(GATE.values(), key=lambda metric: order.index(metric.basis)))


# ---- documents -----------------------------------------------------------------------------------------


def whole_json(study: Study, show: Show, metrics: frozenset[str] | None) -> dict[str, Json]:
    """Write the metrics of a whole that are asked for, each with its details."""
    found: dict[str, Json] = {}
    places: set[Place] = {study.report, _DOCUMENTS.get(study.report, study.report)}
    for metric in METRICS:
        if places.isdisjoint(metric.stands) or not is_asked(metric.key, metrics):
            continue
        told = metric.document
        found[metric.key] = show(metric.form(study)) if told is None else told(study, show)
        found |= {one.key: one.of(study.total, show) for one in metric.details if study.report in one.stands}
    return found


_DOCUMENTS: Mapping[Place, Place] = {"model": "model document", "runs": "runs document"}


def part_json(figures: Figures, show: Show, metrics: frozenset[str] | None, node: bool) -> dict[str, Json]:
    """Write the metrics of a part that are asked for; what is not costed is not known to cost nothing."""
    found: dict[str, Json] = {}
    for metric in metrics_in("groups"):
        if not is_asked(metric.key, metrics):
            continue
        found[metric.key] = show(figures.told_of(metric))
        for one in metric.details:
            if "groups" in one.stands and (one.nodes or not node):
                found[one.key] = one.of(figures, show)
    return found
