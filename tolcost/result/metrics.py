"""The metrics: one row each, from which reports, comparisons, limits and stored figures take their lists.

A new metric is a new row of ``METRICS``.  The row gives the source of its form, its basis, which decides how
certain it is, and the places where it stands.  Reports, tables, documents, frames, sweeps, the gate, budgets
and fleets read the rows; each names only metrics that it treats specially.

This module imports nothing that reads programs or models: the gate looks up names of metrics before it
loads those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from tolcost.algebra import Poly
from tolcost.certainty import (
    FROM_ABOVE,
    INCOMPLETE,
    Certainty,
    certainty_of_quotient,
    certainty_of_sum,
)
from tolcost.diagnostics import quoted, visible

if TYPE_CHECKING:
    from tolcost.cost.count import CountKey
    from tolcost.cost.weights import Weighed
    from tolcost.result.study import Figures, Show, Study
    from tolcost.show.document import Form, Json

Weighings: TypeAlias = "Sequence[tuple[str, Weighed]]"
"""Cost models by name, each with its weighted total."""
Reaches: TypeAlias = "Callable[[Sequence[Poly]], bool]"
"""Tells whether none of some forms is negative: then every range has an element, and bounds may be exact."""


def is_anywhere(full: Sequence[Poly]) -> bool:
    """Assume that every range has an element, whatever the lengths."""
    return True


class MeasuredStudy(Struct, frozen=True, eq=False):
    """A study as a report reads it: with the totals of cost models, and where its ranges have elements."""

    study: Study
    weighed: Weighings = ()
    reaches: Reaches = is_anywhere

    def certainty(self, metric: Metric) -> Certainty:
        """Return how certain a metric of the whole is."""
        return certainty_of(metric.basis, self.study, self.study.total, self.reaches)


# === Measures: the figures of a whole study in a report.


class Portion(Struct, frozen=True, eq=False):
    """A part of a measure: a function in a space, an atom, bytes of a space."""

    name: str
    space: str
    form: Form
    remark: str = ""


class Measure(Struct, frozen=True, eq=False):
    """A figure: its key, its label for people, its closed form (None if not known), and its parts."""

    key: str
    label: str
    form: Form | None
    unit: str = ""
    parts: tuple[Portion, ...] = ()
    headed: bool = True
    """False where only the parts are figures, as with the five atoms."""
    certainty: Certainty = "exact"
    said: str = ""
    """Its certainty in words, unless the status of the report implies it."""
    about: str = ""
    """A remark on the metric, shown after the unit."""

    @property
    def remark(self) -> str:
        """The unit, and whether the figure is a bound; empty if the figure is not known."""
        if self.form is None and self.headed:
            return ""
        return ", ".join(filter(None, (self.unit, self.about, self.said)))

    @property
    def number_remark(self) -> str:
        """The remark after a number: that of a time has its own unit, as 4.35 ms."""
        return replace(self, unit="").remark if self.key == "time" else self.remark


def functions_json(counts: Mapping[CountKey, Poly], show: Callable[[Form | None], Json]) -> dict[str, Json]:
    """Write counts by function and space for a JSON document."""
    return {f"{name}:{space}": show(form) for (name, space), form in sorted(counts.items())}


# === Rows.


Place: TypeAlias = Literal[
    "program",
    "model",
    "runs",
    "training",
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
"""The places where a metric stands.

- ``program``, ``model``, ``runs``, ``training``: reports on a program, a model, all runs of a model that is
  run again and again (``--generate``), or a step of its training (``--train``), in every format
- ``model document``, ``runs document``: their JSON alone
- ``groups``: JSON of operators, scopes and nodes
- ``columns``: their columns in frames, pages and CSV, and what ``--columns`` takes; which columns a table has
  if nobody chooses is listed in ``result/model_table.py``
- ``lines``: lines of a source; only for metrics that add up over applications of functions
- ``sweep``, ``lock``: sweeps and lock files, if no metrics are chosen
- ``gate``: the metrics that the settings of the gate and budgets may choose
- ``diff of programs``, ``diff of models``: comparisons
- ``diff of operators``: operators in a comparison of models, and in a table without numbers; a part in which
  all of these metrics are 0 costs nothing
- ``fleet``: tables of many models
"""

Basis: TypeAlias = Literal[
    "counts", "bytes", "depth", "stored", "held", "peak", "counts over bytes", "counts over depth", "time"
]
"""The basis of a metric, which decides how certain it is: counts of functions, the distinct bytes that move,
the depth of a program, tensors that the file of a model stores, all tensors that it holds, those of them that
it holds at once, quotients of these, or time.  Stored tensors are known whether or not nodes are costed.
"""

REPORTS: frozenset[Place] = frozenset(("program", "model", "runs", "training"))
PARTS: frozenset[Place] = frozenset(("groups", "columns"))
DIFFS: frozenset[Place] = frozenset(("diff of programs", "diff of models"))
GATED: frozenset[Place] = frozenset(("gate", "lock"))
EVERYWHERE: frozenset[Place] = frozenset(
    (*REPORTS, *PARTS, *DIFFS, *GATED, "lines", "sweep", "diff of operators", "fleet")
)


class MetricDetail(Struct, frozen=True, kw_only=True, eq=False):
    """A detail beside a metric in a JSON document: its key, its content, and where it stands."""

    key: str
    of: Callable[[Figures, Show], Json]
    stands: frozenset[Place]
    nodes: bool = False
    """Whether single nodes have it as well as operators and scopes."""


class Metric(Struct, frozen=True, kw_only=True, eq=False):
    """A metric: its key, its label for people, the source of its form, and the places where it stands.

    A metric with ``of`` applies to any part of the work, and adds up over nodes; any other has a form of the
    ``whole`` alone.
    """

    key: str
    label: str
    about: str
    of: Callable[[Figures], Poly | None] | None = None
    """Its form for some work; ``Figures.applications`` counts functions by name."""
    whole: Callable[[Study], Form | None] | None = None
    stands: frozenset[Place] = REPORTS | PARTS | DIFFS | {"gate"}
    basis: Basis = "counts"
    asked: str = ""
    """The name of another metric that ``--metric`` takes for it, if it has none of its own."""
    short: str = ""
    """Its title over a column of a sweep, if its label is too long."""
    unit: str = ""
    amount: str = ""
    """The unit of its budgets; the first metric with a unit needs no name there, as in ``2.5 GFLOP``.

    It is in the singular.
    """
    column: str = ""
    """Its name as a column of parts, if that is not its key."""
    python: str = ""
    """Its name in Python, if that is not its key."""
    measured: Callable[[Metric, MeasuredStudy], Iterable[Measure]] | None = None
    """Its figures in a report on the whole, if they are more than its form."""
    document: Callable[[Study, Show], Json] | None = None
    """Its content in a JSON document on the whole, if that is not its form."""
    details: tuple[MetricDetail, ...] = ()

    def form(self, study: Study) -> Form | None:
        """Return the closed form of the whole; None if it is not known."""
        if self.whole is not None:
            return self.whole(study)
        return None if self.of is None else self.of(study.total)

    def measures(self, reading: MeasuredStudy) -> Iterable[Measure]:
        """Yield the figures of a report on the whole."""
        if self.measured is not None:
            return self.measured(self, reading)
        return (self.measure(reading, self.form(reading.study)),)

    def measure(
        self,
        reading: MeasuredStudy,
        form: Form | None,
        parts: tuple[Portion, ...] = (),
        headed: bool = True,
        label: str = "",
    ) -> Measure:
        """Return a figure of the whole with its certainty, in words unless the status implies it."""
        sure = reading.certainty(self)
        said = _SAID.get(self.basis, {}).get(sure, "")
        if form is None and headed:  # an unknown figure has the status alone
            sure, said = reading.study.total.status, ""
        return Measure(self.key, label or self.label, form, self.unit, parts, headed, sure, said)


# ---- how sure metrics are ----------------------------------------------------------------------------


_LACKING: Mapping[Certainty, str] = {"lower bound": "at least", "no bound": "no bound", "invalid": "no bound"}
_QUOTIENT: Mapping[Certainty, str] = {"lower bound": "at least", "no bound": "one bound over another"}
_SAID: Mapping[Basis, Mapping[Certainty, str]] = {
    "counts": _LACKING,
    "bytes": {"upper bound": "at most", **_LACKING},
    "depth": {"upper bound": "at most"},
    "peak": {"lower bound": "perhaps more"},
    "counts over bytes": _QUOTIENT,
    "counts over depth": _QUOTIENT,
}
"""Words for certainties beside figures; counts need none for an upper bound, which is the report's status."""


def certainty_of(basis: Basis, study: Study, figures: Figures, reaches: Reaches) -> Certainty:
    """Return how certain a metric is for some of the work of a study."""
    status, lacking, moved = figures.status, figures.status in INCOMPLETE, figures.traffic
    match basis:
        case "counts":
            return status
        case "bytes":
            return certainty_of_sum(moved.open or not reaches(moved.full), lacking)
        case "depth":
            deep = study.depth
            return certainty_of_sum(deep is not None and not (deep.exact and reaches(deep.full)), False)
        case "stored":
            return "exact"
        case "held":
            return certainty_of_sum(False, lacking)
        case "peak":
            peak = study.peak
            return certainty_of_sum(False, lacking or (peak is not None and not peak.exact))
        case "counts over bytes":
            return certainty_of_quotient(status, certainty_of("bytes", study, figures, reaches))
        case "counts over depth":
            return certainty_of_quotient(status, certainty_of("depth", study, figures, reaches))
        case "time":
            fewer = certainty_of("bytes", study, figures, reaches) in FROM_ABOVE
            return certainty_of_sum(status in FROM_ABOVE or fewer, lacking)


def _portions(counts: Mapping[CountKey, Poly]) -> tuple[Portion, ...]:
    return tuple(Portion(name, space, form) for (name, space), form in sorted(counts.items()))


# ---- how single metrics are shown ------------------------------------------------------------------


def _eops(metric: Metric, reading: MeasuredStudy) -> Iterator[Measure]:
    """Yield the EOPs; for a program with parts by function and space."""
    total = reading.study.total
    parts = _portions(total.histogram) if reading.study.report == "program" else ()
    yield metric.measure(reading, total.eops, parts)


_MOST_LEFT_OUT = 3
"""The most functions without a weight that are named beside a total."""


def _macs(metric: Metric, reading: MeasuredStudy) -> Iterator[Measure]:
    """Yield the MACs, and the totals of cost models."""
    macs = metric.measure(reading, reading.study.total.macs)
    yield macs
    for name, value in reading.weighed:
        sure, said = macs.certainty, macs.said
        if value.left_out:
            sure = certainty_of_sum(sure in FROM_ABOVE, lacking=True)
            names = list(dict.fromkeys(quoted(name.split()[0]) for name in value.left_out))
            more = len(names) - _MOST_LEFT_OUT
            few = ", ".join((*names[:_MOST_LEFT_OUT], *([f"{more:,} more"] if more > 0 else [])))
            said = f"{_LACKING[sure]}: no weight for {few}"
        yield Measure("weights", name, value, value.unit, certainty=sure, said=said)


def _bytes(metric: Metric, reading: MeasuredStudy) -> Iterator[Measure]:
    """Yield the bytes, an upper bound if fewer may move once lengths are numbers."""
    moved = reading.study.total.traffic
    if reading.study.report != "program":
        yield metric.measure(reading, moved.total, label=f"{metric.label}, node by node")
        return
    ways = (("read", moved.read), ("written", moved.written))
    parts = tuple(Portion(way, space, form) for way, spaces in ways for space, form in spaces.items())
    yield metric.measure(reading, moved.total, parts)


def _intensity(metric: Metric, reading: MeasuredStudy) -> Iterator[Measure]:
    """Yield the FLOPs per byte, a lower bound where the bytes are an upper bound."""
    ratio = reading.study.total.intensity
    if ratio is not None or reading.study.report != "program":
        yield metric.measure(reading, ratio)


def _peak(metric: Metric, reading: MeasuredStudy) -> Iterator[Measure]:
    """Yield the peak, which is a lower bound if the sizes of some values are not known."""
    found = metric.measure(reading, metric.form(reading.study))
    yield replace(found, unit=f"{metric.unit}, with the cache") if reading.study.report == "runs" else found


def _train_peak(metric: Metric, reading: MeasuredStudy) -> Iterator[Measure]:
    """Yield the memory of a step, and at which node it is the most."""
    peak = reading.study.train_peak
    found = metric.measure(reading, None if peak is None else peak.bytes)
    if peak is not None:
        found = replace(found, about=f"at {visible(peak.node)}")
    more = peak is not None and not peak.exact
    yield replace(found, certainty="lower bound", said="perhaps more") if more else found


_TREES = "associative reduces as trees"


def _span(metric: Metric, reading: MeasuredStudy) -> Iterator[Measure]:
    """Yield the depth of a program with reduces as chains, and beside it the depth with trees."""
    span = reading.study.span
    differs = span is not None and span.tree != span.chain
    tree: tuple[Portion, ...] = ()
    if span is not None and differs:
        tree = (Portion("tree", "", span.tree, _TREES if span.tree.exact else f"at most, {_TREES}"),)
    yield metric.measure(reading, None if span is None else span.chain, tree)


def _parallelism(metric: Metric, reading: MeasuredStudy) -> Iterator[Measure]:
    study = reading.study
    span, chain, tree = study.span, study.parallelism, study.parallelism_tree
    if span is None or chain is None or tree is None or study.total.eops == 0:
        return
    wide = (Portion("tree", "", tree),) if span.tree != span.chain else ()
    yield metric.measure(reading, chain, wide)


def _index(metric: Metric, reading: MeasuredStudy) -> Iterator[Measure]:
    if reading.study.total.index:
        yield metric.measure(reading, None, _portions(reading.study.total.index), headed=False)


def _atoms(metric: Metric, reading: MeasuredStudy) -> Iterator[Measure]:
    parts = tuple(Portion(name, "", form) for name, form in reading.study.total.atoms.items())
    yield metric.measure(reading, None, parts, headed=False)


def _traffic_json(figures: Figures, show: Show) -> Json:
    moved = figures.traffic
    return {
        "read": {space: show(form) for space, form in moved.read.items()},
        **({"certain": {s: show(form) for s, form in moved.least.items()}} if moved.least else {}),
        "written": {space: show(form) for space, form in moved.written.items()},
    }


def _moves_all(figures: Figures, show: Show) -> bool:
    """Whether the bytes that move are exact."""
    return certainty_of("bytes", show.cost.study, figures, show.reaches) == "exact"


def _is_deep(figures: Figures, show: Show) -> bool:
    """Whether the depth is exact."""
    study = show.cost.study
    return study.depth is not None and certainty_of("depth", study, figures, show.reaches) == "exact"


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
                key="at_least",
                of=lambda _, show: show(show.cost.study.at_least),
                stands=frozenset(("program",)),
            ),
            MetricDetail(
                key="at_most",
                of=lambda _, show: show(show.cost.study.at_most),
                stands=frozenset(("program",)),
            ),
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
        stands=REPORTS | PARTS | GATED | DIFFS | {"lines"},
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
        stands=frozenset(("model", "runs", "training", "groups")),
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
        basis="stored",
        column="parameters",
        stands=frozenset(("model", "runs", "training", "diff of models", "gate", "fleet")),
    ),
    Metric(
        key="param_bytes",
        label="parameter bytes",
        about="Bytes of the parameters of a model.",
        whole=lambda study: None if study.holdings is None else study.holdings.parameter_bytes,
        basis="stored",
        asked="params",
        amount="B",
        stands=frozenset(("model", "runs", "training", "diff of models", "gate")),
    ),
    Metric(
        key="gradient_bytes",
        label="gradients",
        about="Bytes of the gradients of the parameters that a step trains.",
        whole=lambda study: study.gradient_bytes,
        basis="held",
        unit="bytes",
        amount="B",
        stands=frozenset(("training", "diff of models", "gate")),
    ),
    Metric(
        key="state_bytes",
        label="optimiser state",
        about="Bytes that an optimiser holds from step to step, with a copy of the parameters if it has one.",
        whole=lambda study: study.state_bytes,
        basis="held",
        unit="bytes",
        amount="B",
        stands=frozenset(("training", "diff of models", "gate")),
    ),
    Metric(
        key="kept",
        label="activations kept",
        about="Bytes of the activations that forward keeps for backward; None where they are not known.",
        whole=lambda study: study.kept_bytes,
        basis="held",
        unit="bytes",
        amount="B",
        stands=frozenset(("training", "diff of models", "gate")),
    ),
    Metric(
        key="train_peak",
        label="memory of a step",
        about="The most memory that a step of training takes at once; None where it is not known.",
        whole=lambda study: None if study.train_peak is None else study.train_peak.bytes,
        measured=_train_peak,
        basis="peak",
        unit="bytes",
        amount="B",
        stands=frozenset(("training", "gate")),
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
        basis="peak",
        asked="peak",
        short="peak",
        unit="bytes",
        amount="B",
        stands=frozenset(("model", "runs", "sweep", "diff of models", "gate")),
    ),
    Metric(
        key="memory_bytes",
        label="memory at most",
        about="Bytes of the parameters of a model and its peak together, in any run.",
        whole=lambda study: study.memory,
        basis="peak",
        unit="bytes: parameters and peak",
        stands=frozenset(("runs",)),
    ),
    Metric(
        key="depth",
        label="depth",
        about="The longest chain of functions; None where it is not known.",
        whole=lambda study: study.depth,
        basis="depth",
        stands=frozenset(("model", "diff of models")),
    ),
    Metric(
        key="intensity",
        label="intensity",
        about="FLOPs over bytes.",
        whole=lambda study: study.total.intensity,
        measured=_intensity,
        basis="counts over bytes",
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
        stands=frozenset(("program", "diff of programs", "gate")),
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
        basis="counts over depth",
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
    Metric(  # of a program by function and space, where that of a model is a number
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


# ---- lists of metrics --------------------------------------------------------------------------------


def metrics_in(place: Place) -> tuple[Metric, ...]:
    """Return the metrics that stand at a place, in the order of reports.

    >>> [metric.key for metric in metrics_in("columns")]
    ['eops', 'flops', 'macs', 'bytes']
    """
    return tuple(metric for metric in METRICS if place in metric.stands)


def keys_in(place: Place) -> tuple[str, ...]:
    """Return the keys of the metrics that stand at a place."""
    return tuple(metric.key for metric in metrics_in(place))


LEADING = METRICS[0].key
"""The metric that represents a cost where there is room for one: shares and the order of parts use it."""
COLUMNS = metrics_in("columns")
"""The metrics of every part of the work, which add up over parts."""
HELD = next(metric.column for metric in METRICS if metric.key == "params")
"""The column of the parameters that parts hold: it adds up as well, but is not work."""
IN_BYTES = (
    "bytes", "model_bytes", "param_bytes", "peak_bytes", "cache_bytes", "memory_bytes",
    "gradient_bytes", "state_bytes", "kept", "train_peak",
)  # fmt: skip
"""Metrics that count bytes: their numbers have the unit B."""
AMOUNTS: tuple[str, ...] = (*(metric.key for metric in COLUMNS), HELD)
TITLES: Mapping[str, str] = {metric.key: metric.label for metric in COLUMNS}
BASES: Mapping[str, Basis] = {metric.key: metric.basis for metric in METRICS}
"""The basis of each metric, by key."""
NAMES: Mapping[str, str] = {metric.key: metric.python for metric in METRICS if metric.python}
"""The Python names of metrics, if they are not their keys."""
LABELS: Mapping[str, str] = {metric.key: metric.label for metric in reversed(METRICS)}
"""The label of each metric for people, by key."""
PYTHON: frozenset[str] = frozenset(metric.python or metric.key for metric in METRICS)
"""All names that a figure may have in Python, whether or not a study has the figure."""
_BELONGS: Mapping[str, str] = {
    **{detail.key: metric.asked or metric.key for metric in METRICS for detail in metric.details},
    **{metric.key: metric.asked or metric.key for metric in METRICS},
}


def asked_by(*places: Place) -> tuple[str, ...]:
    """Return the names that ``--metric`` takes for reports of some kinds.

    >>> asked_by("program")
    ('eops', 'flops', 'macs', 'bytes', 'depth', 'index', 'atoms')
    """
    found = (metric for metric in METRICS if metric.stands.intersection(places))
    return tuple(dict.fromkeys(NAMES.get(name := _BELONGS[metric.key], name) for metric in found))


def metric_named(name: str, *places: Place) -> str | None:
    """Return what ``--metric`` means by a name in reports of some kinds; None if they have no such metric.

    A name is a key, a name in Python, a label, or the name of a group of metrics.  A metric of the same label
    stands in for one that these reports do not have.

    >>> metric_named("depth", "program"), metric_named("EOPs", "program"), metric_named("span", "model")
    ('span', 'eops', 'depth')
    >>> metric_named("intensity", "program"), metric_named("params", "program")
    ('intensity', None)
    """
    there = [metric for metric in METRICS if metric.stands.intersection(places)]
    if name in (_BELONGS[metric.key] for metric in there):
        return name
    low = name.lower()
    label = next((metric.label.lower() for metric in METRICS if low == metric.key), low)
    meant = (metric.key for metric in there if label in _names_of(metric) or low in _names_of(metric))
    return next(meant, None)


def _names_of(metric: Metric) -> tuple[str, ...]:
    return metric.key, metric.python, metric.label.lower()


def not_there(name: str, known: Sequence[str]) -> str:
    """Explain why reports have no metric of a name: it is of other reports, or there is none."""
    low = name.lower()
    other = next((m for m in METRICS if low in (*_names_of(m), m.asked, m.column)), None)
    place = next((place for place in _WHERE if other is not None and place in other.stands), None)
    return f"is none of {', '.join(known)}" if place is None else f"is a figure of {_WHERE[place]}"


_WHERE: Mapping[Place, str] = {
    "program": "programs: tolcost analyze has it",
    "model": "models: tolcost model has it",
    "runs": "all runs of a model together: tolcost model --generate has it",
    "training": "a step of training: tolcost model --train has it",
}
"""The kinds of reports, and the command for each."""


def is_asked(key: str, metrics: frozenset[str] | None) -> bool:
    """Whether a measure was asked for, by itself or with its group; None asks for all."""
    return metrics is None or key in metrics or _BELONGS.get(key, key) in metrics


GATE: Mapping[str, Metric] = {metric.key: metric for metric in METRICS if "gate" in metric.stands}
"""The metrics that the gate checks, by key."""


def gated() -> tuple[Metric, ...]:
    """Return the metrics that the gate checks: counts first, and metrics of held tensors last."""
    order: tuple[Basis, ...] = ("counts", "bytes", "depth", "stored", "held", "peak")
    return tuple(sorted(GATE.values(), key=lambda metric: order.index(metric.basis)))


# ---- documents -----------------------------------------------------------------------------------------


def whole_json(study: Study, show: Show, metrics: frozenset[str] | None) -> dict[str, Json]:
    """Return the metrics of a whole that were asked for, with their details, as data."""
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
    """Return the metrics of a part that were asked for, as data; if it is not costed, null instead of 0."""
    found: dict[str, Json] = {}
    for metric in metrics_in("groups"):
        if not is_asked(metric.key, metrics):
            continue
        found[metric.key] = show(figures.told_of(metric))
        for one in metric.details:
            if "groups" in one.stands and (one.nodes or not node):
                found[one.key] = one.of(figures, show)
    return found
